"""How long a server asks to wait: in headers, in the body of an error, and in its prose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

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
    requested = [
        _after_seconds(headers.get("retry-after", "").strip(), at),
        _milliseconds(headers.get("retry-after-ms", "").strip()),
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


def _milliseconds(text: str) -> float | None:
    return float(text) / 1000 if NUMBER.fullmatch(text) else None


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
