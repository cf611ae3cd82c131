"""The body of an error as OpenAI-compatible servers write it, in all their shapes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_WORDS = 4_000  # characters that are searched
MOST_SENTENCE = 300  # characters of the provider's own sentence
DEEPEST = 8
# What repeats the request or the model's text, never the server's own words.
NOT_WORDS = frozenset({"input", "failed_generation", "body", "ctx", "url", "help", "request_id"})
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
        delay=next((text for name, text in pairs if name == "retryDelay"), ""),
    )


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
