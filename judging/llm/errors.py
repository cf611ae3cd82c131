"""The classification of an error: pass it over and retry, leave a field out, fail the request, or stop the endpoint.

Rules are tried in order and the first that knows the error decides, whatever the status: providers use the same status
for different things, and different ones for the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from judging.llm.chat import Attempt, AttemptOutcome

DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?", re.ASCII)
NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)
UNITS = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
LONGEST_WAIT = 86_400.0  # a day: what asks for more is mistaken, or means it no better
EPOCH_YEAR_2000 = 946_684_800.0  # a bigger number is a point in time, not a length of it
AMOUNT = r"\d{1,9}(?:\.\d{1,9})? ?(?:milliseconds?|ms|seconds?|s|minutes?|m|hours?|h)"
PROSE = re.compile(rf"(?:retry|try again) (?:after|in) ((?:{AMOUNT} ?)+)(?![a-z])", re.ASCII | re.IGNORECASE)
PROSE_UNITS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0}
RESET_HEADER = re.compile(r"(?:x-|anthropic-)?ratelimit-(?:.*-)?reset(?:-.*)?")
DAILY_RESET_HOUR = 8  # UTC: midnight of Pacific standard time, when Google renews daily quotas


def requested_wait(headers: Mapping[str, str], *, at: datetime, words: str = "", delay: str = "") -> float | None:
    """Return the seconds the server asks to wait after a refusal, 0 to a day; None when it does not say.

    The longest of `Retry-After` (RFC 9110 10.2.3: seconds or an HTTP date), `retry-after-ms`, `delay` (Google's
    RetryInfo, such as "12.77s") and "retry after 7 seconds" in the error's `words`; without any of these the longest
    `*ratelimit*reset*` header whose `remaining` twin is 0 or absent.
    """
    milliseconds = headers.get("retry-after-ms", "").strip()
    requested = [
        _after_seconds(headers.get("retry-after", "").strip(), at),
        float(milliseconds) / 1000 if NUMBER.fullmatch(milliseconds) else None,
        duration_seconds(delay, at=at),
        _in_prose(words),
    ]
    waits = [seconds for seconds in requested if seconds is not None] or _resets(headers, at)
    return min(max(waits), LONGEST_WAIT) if waits else None


def until_daily_reset(at: datetime) -> float:
    """Return the seconds until daily quotas are renewed."""
    reset = at.astimezone(UTC).replace(hour=DAILY_RESET_HOUR, minute=0, second=0, microsecond=0)
    return ((reset if reset > at else reset + timedelta(days=1)) - at).total_seconds()


def _after_seconds(text: str, at: datetime) -> float | None:
    if NUMBER.fullmatch(text):
        return float(text)
    try:
        due = parsedate_to_datetime(text)
        return max(0.0, (due.replace(tzinfo=due.tzinfo or UTC) - at).total_seconds())
    except OverflowError:  # a year that no clock reaches
        return LONGEST_WAIT
    except ValueError:
        return None


def _in_prose(words: str) -> float | None:
    match = PROSE.search(words)
    if match is None:
        return None
    parts = re.findall(r"([\d.]+) ?(ms|milli|s|m|h)", match.group(1).lower())
    return sum(float(number) * PROSE_UNITS[unit] for number, unit in parts)


def _resets(headers: Mapping[str, str], at: datetime) -> list[float]:
    waits = []
    for name, value in headers.items():
        lowered = name.lower()
        if RESET_HEADER.fullmatch(lowered):
            remaining = headers.get(lowered.replace("reset", "remaining"), "0").strip()
            seconds = duration_seconds(value.strip(), at=at)
            if seconds is not None and remaining in ("0", ""):
                waits.append(seconds)
    return waits


def duration_seconds(text: str, *, at: datetime) -> float | None:
    """Return the seconds that "20", "1.5s", "6m0s", "200ms", a Unix time (s or ms) or an ISO time stand for."""
    if NUMBER.fullmatch(text):
        number = float(text)
        if number > EPOCH_YEAR_2000 * 1000:
            number /= 1000
        return max(0.0, number - at.timestamp()) if number > EPOCH_YEAR_2000 else number
    match = DURATION.fullmatch(text)
    if text and match is not None:
        return sum(float(part) * unit for part, unit in zip(match.groups(), UNITS, strict=True) if part)
    try:
        due = datetime.fromisoformat(text)
        return max(0.0, (due.replace(tzinfo=due.tzinfo or UTC) - at).total_seconds())
    except OverflowError:
        return LONGEST_WAIT
    except ValueError:
        return None


MOST_WORDS = 4_000  # characters that are searched
MOST_SENTENCE = 300  # characters of the provider's own sentence
DEEPEST = 8
# What repeats the request or the model's text, never the server's own words.
NOT_WORDS = frozenset({"input", "failed_generation", "body", "ctx", "url", "help", "request_id", "flagged_input"})
MESSAGE_NAMES = ("message", "msg", "error", "detail", "error_description")
KEY_LIKE = re.compile(
    r"bearer\s+\S+|\S*\*{3,}\S*|(?<![\w-])(?:sk|pk|rk|gsk|xai|hf|aiza|key|token)[-_][\w.-]{8,}|(?<!\w)aiza[\w-]{20,}",
    re.IGNORECASE,
)
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """What an error's body says."""

    words: str = ""  # everything the server wrote itself, in lower case, to be searched
    codes: frozenset[str] = frozenset()  # its codes, types and reasons, in lower case
    param: str = ""  # the field that it names as wrong
    message: str = ""  # its own sentence, as `sentence` cleans it
    status: int | None = None  # a numeric code inside the body
    is_moderated: bool = False  # it says for which reasons this one prompt was flagged, as OpenRouter does
    delay: str = ""  # Google's RetryInfo, such as "12.77s"


def read_error(content: bytes) -> ErrorPage:
    """Return what an error's body says; empty for a page that is not JSON, such as a proxy's."""
    try:
        payload = json.loads(content)
    except (ValueError, RecursionError):
        return ErrorPage()
    return page_of(payload)


def page_of(payload: object) -> ErrorPage:
    """Return what a decoded error says."""
    payload = payload[0] if isinstance(payload, list) and payload else payload
    if not isinstance(payload, dict):
        return ErrorPage(message=sentence(payload) if isinstance(payload, str) else "")
    pairs = list(_strings(payload, "", 0))
    error = payload.get("error")
    numbers = [holder.get("code") for holder in (error, payload) if isinstance(holder, dict)]
    return ErrorPage(
        words=" ".join(text for _, text in pairs)[:MOST_WORDS].lower(),
        codes=frozenset(text.lower()[:100] for name, text in pairs if name in CODE_NAMES),
        param=next((text.lower()[:100] for name, text in pairs if name == "param"), ""),
        message=sentence(next((text for name, text in pairs if name in MESSAGE_NAMES), "")),
        status=next((number for number in numbers if type(number) is int), None),
        is_moderated=any(_was_flagged(holder) for holder in (error, payload)),
        delay=next((text for name, text in pairs if name == "retryDelay"), ""),
    )


def _was_flagged(holder: object) -> bool:
    metadata = holder.get("metadata") if isinstance(holder, dict) else None
    return isinstance(metadata, dict) and ("flagged_input" in metadata or bool(metadata.get("reasons")))


CODE_NAMES = frozenset({"code", "type", "status", "reason", "error_code", "error_type"})


def _strings(value: object, name: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield every text in the page with the name of the field that holds it, outermost first."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list) and depth < DEEPEST:
        for item in value:
            yield from _strings(item, name, depth + 1)
    elif isinstance(value, dict) and depth < DEEPEST:
        for key, item in value.items():
            if key not in NOT_WORDS:
                yield from _strings(item, key, depth + 1)


def sentence(text: str) -> str:
    """Return a provider's sentence fit to be shown: one line, printable, cut, and without anything like a key."""
    cut = text[: 4 * MOST_SENTENCE]
    line = " ".join(UNPRINTABLE.sub(" ", cut).split())
    return KEY_LIKE.sub("[key]", line)[:MOST_SENTENCE]


UNSUPPORTED = re.compile(
    r"unsupported|not supported?|n.t support|unrecogni[sz]ed|unknown|not permitted|not allowed|unexpected|"
    r"extra (?:inputs|fields)|extra_forbidden|unavailable|not available|not enabled|deprecated|"
    r"only [\w.'\"]+ is allowed|may only be set|cannot both be|can ?not be used|not one of|must be set to|must be '|"
    r"must contain the word|invalid schema|invalid \S+ and \S+ value|roles are supported|additionalproperties|"
    r"no endpoints found that (?:can handle|support)"
)
SPELLINGS = {
    "json_schema": ("response_format", "json_schema", "response_schema", "response_json_schema"),
    "json_object": ("response_format", "json_object"),
    "logprobs": ("logprobs", "top_logprobs", "response_logprobs"),
}
ROLE = re.compile(r"\brole|(?:developer|system) (?:instruction|message|prompt)")
LIMITS = frozenset({"max_tokens", "max_completion_tokens"})
# Where an error says only that no server takes all that was asked, this is left out first.
DISPENSABLE = ("logprobs", "json_schema", "json_object", "random_seed", "seed", "top_p", "temperature")


def refused_fields(page: ErrorPage, *, sent: frozenset[str]) -> frozenset[str]:
    """Return which of the fields that were sent this error refuses.

    `system_role` stands for a message with the role of the system, and so for any other role.
    """
    at_param = frozenset(name for name in sent if _stands_for(name, _tokens(page.param)))
    if not UNSUPPORTED.search(page.words):
        return at_param - LIMITS  # "max_tokens is too large" is no refusal of the field
    named_fields = at_param or frozenset(name for name in sent if _is_named(name, page.words))
    if "cannot both be" in page.words and "top_p" in named_fields:
        return frozenset({"top_p"})
    return named_fields


def _tokens(words: str) -> frozenset[str]:
    return frozenset(token.replace("_", "") for token in re.findall(r"[a-z_]+", words))


def _stands_for(name: str, tokens: frozenset[str]) -> bool:
    spellings = SPELLINGS.get(name, (name,))
    return any(spelling.replace("_", "") in tokens for spelling in spellings)


def _is_named(name: str, words: str) -> bool:
    if name.endswith("_role"):
        role = name.removesuffix("_role")
        others_only = "only user and assistant roles" in words
        return ROLE.search(words) is not None and (role in _tokens(words) or "developer" in words or others_only)
    return _stands_for(name, _tokens(words))


LONG_WAIT = 60.0  # seconds; a daily quota that names a shorter wait means another limit


@dataclass(frozen=True, slots=True)
class RequestFields:
    """What a request relied on: optional fields that we chose, and those that the endpoint's settings add."""

    used: frozenset[str] = frozenset()
    extra: frozenset[str] = frozenset()
    is_streamed: bool = False  # asked for as a stream


@dataclass(frozen=True, slots=True)
class ProviderError:
    """An error to classify."""

    status: int
    page: ErrorPage
    sent: RequestFields
    headers: Mapping[str, str]
    at: datetime


QUOTA_CODES = frozenset(
    [
        "billing_hard_limit_reached",
        "billing_not_active",
        "billing_error",
        "credit_balance_exhausted",
        "enforced_spend_limit_reached",
        "exceeded_current_quota_error",
        "insufficient_balance",
        "insufficient_quota",
        "organization_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
        "project_spend_limit_exceeded",
    ]
)
NO_MONEY = re.compile(r"api usage limits|spend(?:ing)? limit|credit balance|insufficient balance|arrearage|spend cap")
NO_MONEY_AT_PAYMENT = re.compile(r"\bcredits?\b|\bbalance\b|\bbudget\b(?!_)")
OWN_BUDGET = re.compile(r"\b[a-z]+_budget\b")  # OpenRouter: `limit_source` of a 403, such as workspace_budget
THROTTLE_CALLED_QUOTA = "allocated quota exceeded"  # DashScope's words for too many tokens a minute
TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context (?:length|size|window)|n_keep|model token limit|"
    r"`inputs` tokens|request too large for model|max_tokens must be at least 1, got -|prompt is too long|"
    r"input is too long"
)
FILTERED = re.compile(
    r"content_filter|content_policy_violation|responsibleaipolicyviolation|data_?inspection_?failed|high risk|"
    r"safety_check"
)
MODERATED = re.compile(r"\bmoderat(?:ion|ed)\b|\bflagged\b")
DAILY = re.compile(r"per_?day|\btpd\b|\brpd\b|\bper day\b|\bdaily\b")
PASSING_STATUSES = frozenset({408, 409, 423, 424, 425, 499})
NEEDS_STREAM = re.compile(
    r"only supports? stream|non-?stream(?:ing|ed)? (?:calls?|mode|requests?)|must be streamed|enable the stream param|"
    r"stream(?:ing)? (?:is required|must be (?:set to )?true)|set `?stream`? to true"
)
NO_MODEL = re.compile(r"\bmodel\b|deploymentnotfound|\bdeployment\b")


def classify_error(
    status: int, page: ErrorPage, *, sent: RequestFields, headers: Mapping[str, str], at: datetime
) -> Attempt:
    """Return the attempt that an error stands for."""
    error = ProviderError(status, page, sent, headers, at)
    attempt = next(classified for rule in RULES if (classified := rule(error)) is not None)
    return replace(attempt, status_code=status, provider_text=page.message)


def _out_of_money(error: ProviderError) -> Attempt | None:
    page, status = error.page, error.status
    if THROTTLE_CALLED_QUOTA in page.words:
        return None
    waits = status == 402 and "retry-after" in error.headers  # OpenRouter: a budget that calls in flight hold
    coded = not page.codes.isdisjoint(QUOTA_CODES)
    worded = status < 500 and NO_MONEY.search(page.words)
    capped = status == 403 and OWN_BUDGET.search(page.words)
    paying = status in (402, 403, 429) and NO_MONEY_AT_PAYMENT.search(page.words) and not waits
    if coded or worded or capped or paying or status == 412 or (status == 402 and not waits):
        return Attempt(
            AttemptOutcome.QUOTA, error_kind="quota", error_text="The account of this endpoint has no credit left."
        )
    return None


def _too_long(error: ProviderError) -> Attempt | None:
    if TOO_LONG.search(error.page.words):
        return Attempt(
            AttemptOutcome.CLIENT_ERROR,
            error_kind="context",
            error_text="The request is longer than the context of the model.",
        )
    if error.status == 413:
        return _request_refused(error, "The request is too large for this endpoint.")
    return None


def _filtered(error: ProviderError) -> Attempt | None:
    moderated = error.status == 403 and (error.page.is_moderated or MODERATED.search(error.page.words))
    if error.status in (400, 403, 422) and (FILTERED.search(error.page.words) or moderated):
        return Attempt(
            AttemptOutcome.REFUSED,
            error_kind="content-filter",
            error_text="The provider's content filter stopped the request.",
        )
    return None


def _json_failed(error: ProviderError) -> Attempt | None:
    if error.status != 400 or "json_validate_failed" not in error.page.codes:
        return None
    return Attempt(
        AttemptOutcome.UNUSABLE,
        error_kind="json-failed",
        error_text="The model did not write valid JSON.",
        retry_once=True,
        json_at_fault=True,
    )


def _rate_limited(error: ProviderError) -> Attempt | None:
    slowed = "slow_down" in error.page.codes
    if not (slowed or error.status in (402, 429, 498)):
        return None
    wait = _wait(error)
    if error.status == 429 and DAILY.search(error.page.words):
        wait = wait if wait is not None and wait > LONG_WAIT else until_daily_reset(error.at)
        return Attempt(
            AttemptOutcome.RATE_LIMITED,
            error_kind="daily-quota",
            error_text="The endpoint's quota for today is used up.",
            retry_after_seconds=wait,
        )
    return Attempt(
        AttemptOutcome.RATE_LIMITED,
        error_kind="rate-limited",
        error_text="The endpoint accepts no more calls for now.",
        retry_after_seconds=wait,
    )


def _passing(error: ProviderError) -> Attempt | None:
    status = error.status
    if status in PASSING_STATUSES:
        outcome = AttemptOutcome.PASSING
    elif status >= 500 and status != 501:
        outcome = AttemptOutcome.SERVER_ERROR
    else:
        return None
    if status == 524:
        text = "A proxy in front of the endpoint timed out (HTTP 524); switch streaming on."
        return Attempt(outcome, error_kind="http-524", error_text=text, retry_once=True)
    return Attempt(
        outcome, error_kind=f"http-{status}", error_text=_status_sentence(error), retry_after_seconds=_wait(error)
    )


def _bad_key(error: ProviderError) -> Attempt | None:
    if error.status == 401 or "api_key_invalid" in error.page.codes:
        return _setup("key", "The endpoint does not accept the key.")
    return None


def _not_there(error: ProviderError) -> Attempt | None:
    words, status = error.page.words, error.status
    if "unsupported_country_region_territory" in error.page.codes:
        return _setup("access", "The provider does not serve the country of this site.")
    if "supported on this route" in words:
        return _setup("address", "This address does not serve the model.")
    if status == 404 and "no endpoints found that" in words:
        first = [name for name in DISPENSABLE if name in error.sent.used][:1]
        refused = refused_fields(error.page, sent=error.sent.used) or frozenset(first)
        return _field_refused(error, refused) if refused else None
    if status in (404, 405, 410) and not NO_MODEL.search(words + " ".join(error.page.codes)):
        return _setup("address", f"The address of the endpoint has no chat completions API (HTTP {status}).")
    if status in (404, 405, 410) or (status == 400 and re.search(r"model\b.{0,80}\bdoes not exist", words)):
        return _setup("model", "The endpoint does not have this model.")
    return None


def _names_a_field(error: ProviderError) -> Attempt | None:
    if error.status not in (400, 403, 422):
        return None
    if not error.sent.is_streamed and NEEDS_STREAM.search(error.page.words):
        return _field_refused(error, frozenset({"unstreamed"}))
    refused = refused_fields(error.page, sent=error.sent.used)
    if refused:
        return _field_refused(error, refused)
    extra_fields = refused_fields(error.page, sent=error.sent.extra)
    if extra_fields:
        names = ", ".join(sorted(extra_fields))
        return _setup("config", f"The endpoint refuses its extra fields: {names}.")
    return None


def _no_access(error: ProviderError) -> Attempt | None:
    if error.status == 403:
        return _setup("access", "The endpoint refuses access (HTTP 403).")
    if 300 <= error.status < 400:
        return _setup("redirect", "The endpoint redirects; redirects are not followed.")
    return None


def _request_refused(error: ProviderError, text: str = "") -> Attempt:
    return Attempt(
        AttemptOutcome.CLIENT_ERROR,
        error_kind=f"http-{error.status}",
        error_text=text or _status_sentence(error),
        retry_once=error.status == 422,  # at Groq also the model's own failure
    )


RULES: tuple[Callable[[ProviderError], Attempt | None], ...] = (
    _out_of_money,
    _too_long,
    _filtered,
    _json_failed,
    _rate_limited,
    _passing,
    _bad_key,
    _not_there,
    _names_a_field,
    _no_access,
    _request_refused,
)


def _setup(kind: str, text: str) -> Attempt:
    return Attempt(AttemptOutcome.SETUP, error_kind=kind, error_text=text)


def _field_refused(error: ProviderError, refused: frozenset[str]) -> Attempt:
    return Attempt(
        AttemptOutcome.PARAMETER_REFUSED,
        error_kind=f"http-{error.status}",
        error_text=_status_sentence(error),
        refused=refused,
    )


def _status_sentence(error: ProviderError) -> str:
    return f"The endpoint returned HTTP {error.status}."


def _wait(error: ProviderError) -> float | None:
    return requested_wait(error.headers, at=error.at, words=error.page.words, delay=error.page.delay)
