"""Figures, money, time spans and statuses in the words of the pages. Pure; the clock arrives as `at`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

Figure = int | float | Decimal

MISSING: Final = "–"
_MINUS: Final = "−"
_CURRENCIES: Final = {"USD": "$", "EUR": "€", "GBP": "£"}
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def is_figure(value: object) -> bool:
    """True for finite numbers; booleans, None, NaN and infinities are not figures."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return math.isfinite(value)


def number(value: Figure, places: int = 0) -> str:
    """`1,234.50`: grouped by thousands, `places` decimals, a real minus sign, never `-0`."""
    text = f"{value:,.{places}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", _MINUS)


def percent(value: Figure, places: int = 1) -> str:
    """`83.2%` for the fraction 0.832 (so 1 is 100%)."""
    return f"{number(value * 100, places)}%"


def p_value(value: Figure) -> str:
    """`.032`, `< .001` or `> .999`: three decimals, since a p-value that is printed as 0.000 would claim too much."""
    if value < 0.001:
        return "< .001"
    if 0.999 < value < 1:
        return "> .999"
    return f"{value:.3f}".removeprefix("0")


def p_words(value: Figure) -> str:
    """`p = .032` or `p < .001`, for use within a sentence."""
    text = p_value(value)
    return f"p {text}" if text[0] in "<>" else f"p = {text}"


def money(value: Figure, currency: str = "USD") -> str:
    """`$12.30`; below one cent two significant digits stay (`$0.0042`); rarer currencies show their code."""
    size = -value if value < 0 else value
    places = 2 if size == 0 or size >= Decimal("0.01") else 1 - math.floor(math.log10(size))
    sign = _CURRENCIES.get(currency, f"{currency} ")
    return f"{_MINUS if value < 0 else ''}{sign}{number(size, places)}"


def duration(seconds: Figure) -> str:
    """`350 ms`, `4.2 s`, `42 s`, `3 min 05 s`, `2 h 10 min` or `3 d 4 h`: two units at most."""
    if seconds < 1:
        return f"{number(seconds * 1000)} ms"
    if seconds < 9.95:
        return f"{number(seconds, 1)} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02d} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02d} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


CLOCKS_APART = 10  # seconds by which the clocks of two machines may differ: less than that ahead is no future


def relative_time(moment: datetime, *, at: datetime) -> str:
    """`just now`, `in a moment`, `5 minutes ago`, `in 2 hours`, `12 days ago`; the date itself from 30 days on."""
    seconds = (at - moment).total_seconds()
    size = abs(seconds)
    if size < 45:
        return "just now" if seconds > -CLOCKS_APART else "in a moment"
    for unit, length, limit in (("minute", _MINUTE, _HOUR), ("hour", _HOUR, _DAY), ("day", _DAY, 30 * _DAY)):
        if size < limit - length / 2:
            count = max(1, round(size / length))
            words = f"{count} {unit}{'' if count == 1 else 's'}"
            return f"{words} ago" if seconds > 0 else f"in {words}"
    return f"{moment.day} {moment:%b %Y}"


@dataclass(frozen=True, slots=True)
class StatusLook:
    """How a status is shown: always an icon and a word, with a tone that sets the colour."""

    word: str
    icon: str
    tone: str  # ok | info | warn | bad | quiet


STATUSES: Final[dict[str, StatusLook]] = {
    "ok": StatusLook("OK", "check-circle-fill", "ok"),
    "finished": StatusLook("Finished", "check-circle-fill", "ok"),
    "done": StatusLook("Done", "check-circle-fill", "ok"),
    "settled": StatusLook("Decided", "check-circle-fill", "ok"),
    "agreed": StatusLook("Agreed", "check-circle-fill", "ok"),
    "active": StatusLook("Active", "check-circle-fill", "ok"),
    "up": StatusLook("Up", "check-circle-fill", "ok"),
    "scored": StatusLook("Scored", "check-circle-fill", "ok"),
    "right": StatusLook("Right", "check-circle-fill", "ok"),
    "running": StatusLook("Running", "arrow-repeat", "info"),
    "in_progress": StatusLook("In progress", "arrow-repeat", "info"),
    "claimed": StatusLook("Claimed", "person", "info"),
    "open": StatusLook("Open", "circle", "info"),
    "info": StatusLook("Note", "info-circle-fill", "info"),
    "repaired": StatusLook("Repaired", "magic", "warn"),
    "paused": StatusLook("Paused", "pause-circle", "warn"),
    "pausing": StatusLook("Pausing", "pause-circle", "warn"),
    "cancelling": StatusLook("Cancelling", "hourglass-split", "warn"),
    "unresolved": StatusLook("Unresolved", "signpost-split", "warn"),
    "adjudication": StatusLook("Adjudication", "people", "warn"),
    "disputed": StatusLook("Disputed", "people", "warn"),
    "unparsed": StatusLook("Unparsed", "patch-question", "warn"),
    "undecided": StatusLook("Undecided", "patch-question", "warn"),
    "split": StatusLook("Needs adjudication", "people", "warn"),
    "adjudicated": StatusLook("Adjudicated", "patch-check", "ok"),
    "stale": StatusLook("Stale", "clock", "warn"),
    "excluded": StatusLook("Excluded", "slash-circle", "quiet"),
    "warning": StatusLook("Warning", "exclamation-triangle-fill", "warn"),
    "over_budget": StatusLook("Over budget", "wallet2", "warn"),
    "refused": StatusLook("Refused", "slash-circle", "bad"),
    "failed": StatusLook("Failed", "x-circle-fill", "bad"),
    "error": StatusLook("Error", "exclamation-octagon-fill", "bad"),
    "down": StatusLook("Down", "x-circle-fill", "bad"),
    "wrong": StatusLook("Wrong", "x-circle-fill", "bad"),
    "draft": StatusLook("Draft", "pencil", "quiet"),
    "queued": StatusLook("Queued", "hourglass-split", "quiet"),
    "waiting": StatusLook("Waiting", "hourglass-split", "quiet"),
    "pending": StatusLook("Pending", "hourglass-split", "quiet"),
    "cancelled": StatusLook("Cancelled", "slash-circle", "quiet"),
    "skipped": StatusLook("Skipped", "skip-forward", "quiet"),
    "inactive": StatusLook("Inactive", "dash-circle", "quiet"),
    "archived": StatusLook("Archived", "dash-circle", "quiet"),
    "unscored": StatusLook("Unscored", "dash-circle", "quiet"),
    "missing": StatusLook("Missing", "dash-circle", "quiet"),
}


def status_look(status: str, *, word: str = "", tone: str = "") -> StatusLook:
    """The look of a status; one that is not listed is shown in its own words with a neutral mark."""
    listed = STATUSES.get(status.lower())
    plain = listed or StatusLook(status.replace("_", " ").capitalize() or "Unknown", "circle", "quiet")
    return StatusLook(word or plain.word, plain.icon, tone or plain.tone)


@dataclass(frozen=True, slots=True)
class IntervalShape:
    """Where an estimate and its interval stand on a drawn axis, in drawing units from the left."""

    low: float
    high: float
    point: float
    zero: float | None  # where 0 lies, when strictly inside the axis
    width: float

    @property
    def span(self) -> float:
        return round(self.high - self.low, 2)


def interval_shape(
    value: float, low: float, high: float, *, axis: tuple[float, float] = (0.0, 1.0), width: float = 160.0
) -> IntervalShape:
    """Place `low <= value <= high` on an axis that is `width` drawing units wide; what falls outside is cut off.

    Raises:
        ValueError: the axis has no length.
    """
    start, end = axis
    if not end > start:
        raise ValueError(f"the axis {start}..{end} has no length")

    def position(at: float) -> float:
        share = (at - start) / (end - start)
        return round(min(1.0, max(0.0, share)) * width, 2)

    return IntervalShape(
        low=position(low),
        high=position(high),
        point=position(value),
        zero=position(0.0) if start < 0 < end else None,
        width=width,
    )


@dataclass(frozen=True, slots=True)
class ProgressShape:
    """Shares of a bar out of 1000 drawing units."""

    done: int
    failed: int
    percent: int


def progress_shape(*, done: int, failed: int, total: int) -> ProgressShape:
    """How much of a bar is done and failed; anything failed keeps a visible sliver, 100% means nothing is left."""
    if total <= 0:
        return ProgressShape(done=0, failed=0, percent=0)
    done, failed = min(done, total), min(failed, total - min(done, total))
    failed_share = max(4, round(1000 * failed / total)) if failed else 0
    done_share = min(1000 - failed_share, round(1000 * done / total))
    return ProgressShape(done=done_share, failed=failed_share, percent=100 * (done + failed) // total)


def sort_value(current: str, field: str, *, descending_first: bool = False) -> str:
    """The `sort` parameter behind a column header: its first direction, or the other one when that is on already."""
    first, second = (f"-{field}", field) if descending_first else (field, f"-{field}")
    return second if current == first else first


def sort_direction(current: str, field: str) -> str:
    """`ascending`, `descending` or `none`, as aria-sort wants it."""
    return {field: "ascending", f"-{field}": "descending"}.get(current, "none")
