"""Figures, money, times, statuses, scores and differences of texts as pages say them. Pure; the clock is `at`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from itertools import groupby
from math import isclose
from operator import attrgetter
from typing import Any, Final

from evalsite.base.types import JsonDict, JsonObject

Figure = int | float | Decimal

MISSING: Final = "–"
_MINUS: Final = "−"
_CURRENCIES: Final = {"USD": "$", "EUR": "€", "GBP": "£"}
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def finite_number(value: str | float) -> float | None:
    """Return the number that a text is; None for anything else, NaN and infinities included."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


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
    "delivered": StatusLook("Delivered", "check-circle-fill", "ok"),
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
    "question": StatusLook("Question", "patch-question", "warn"),
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


def progress_shape(*, done: int, failed: int, total: int) -> tuple[int, int, int]:
    """How much of 1000 drawing units of a bar is done and failed, and the percentage of both.

    Anything failed keeps a visible sliver, 100% means nothing is left.
    """
    if total <= 0:
        return 0, 0, 0
    done, failed = min(done, total), min(failed, total - min(done, total))
    failed_share = max(4, round(1000 * failed / total)) if failed else 0
    done_share = min(1000 - failed_share, round(1000 * done / total))
    return done_share, failed_share, 100 * (done + failed) // total


def sort_value(current: str, field: str, *, descending_first: bool = False) -> str:
    """The `sort` parameter behind a column header: its first direction, or the other one when that is on already."""
    first, second = (f"-{field}", field) if descending_first else (field, f"-{field}")
    return second if current == first else first


def sort_direction(current: str, field: str) -> str:
    """`ascending`, `descending` or `none`, as aria-sort wants it."""
    return {field: "ascending", f"-{field}": "descending"}.get(current, "none")


WIDE = 20  # above it, the number of a full score is shown with one decimal, below with two
TOLERANCE = 1e-6  # of shares that were stored with a few digits
COEFFICIENT_PLACES = 3
EXACT = 9  # decimals at which a number that is computed from its share is the one that was given


class ScaleKind(StrEnum):
    """What a figure is: a share of the points, how often a response wins, a number that a judge chose, or no score."""

    SHARE = "share"
    WINS = "wins"
    RATING = "rating"
    COEFFICIENT = "coefficient"  # a kappa, or an effect, which nobody reads as a share


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """What shares of 0 to 1 are shown as: percent, or numbers of a judge's own scale.

    A full score is the highest number. `zero` is the number of the share 0: mostly 0, also of a scale that begins at 1,
    since scores are stored as parts of the highest number.
    """

    kind: ScaleKind = ScaleKind.SHARE
    lowest: float = 0.0
    highest: float = 1.0
    zero: float = 0.0
    is_difference: bool = False  # of two scores on a scale: from minus a full score to a full score

    @property
    def is_rating(self) -> bool:
        return self.kind is ScaleKind.RATING

    @property
    def places(self) -> int:
        """How many decimals a number of a rating is shown with."""
        return 1 if self.highest - self.zero > WIDE else 2

    @property
    def of_top(self) -> str:
        """What follows a rating: " of 10"; nothing after percent."""
        return f" of {self.highest:g}" if self.is_rating and not self.is_difference else ""

    @property
    def range_words(self) -> str:
        """The scale in words, for a caption or a column: "1 to 10", "win rate", "share"."""
        if self.is_rating:
            return f"{self.lowest:g} to {self.highest:g}"
        return "win rate" if self.kind is ScaleKind.WINS else self.kind.value

    @property
    def title(self) -> str:
        """What an axis of scores adds to its name."""
        return f", {self.range_words}" if self.is_rating else ""

    def number(self, share: float) -> float:
        """Return a share as a number of the scale: of 1 to 10, 0.7 is 7; percent are shares themselves."""
        return round(self.zero + share * (self.highest - self.zero), EXACT) if self.is_rating else share

    def share(self, number: float) -> float:
        """Return the share of a number: the inverse of `number`."""
        return (number - self.zero) / (self.highest - self.zero) if self.is_rating else number

    @property
    def typed_ends(self) -> tuple[float, float]:
        """The lowest and the highest number that people type for a score: of percent 0 and 100."""
        return (self.lowest, self.highest) if self.is_rating else (0.0, 100.0)

    @property
    def unit(self) -> str:
        """What a number that people type is in: "1 to 10", "%"."""
        return self.range_words if self.is_rating else "%"

    def share_typed(self, number: float) -> float | None:
        """Return the share of a number as people type it; None where it is not on the scale."""
        low, high = self.typed_ends
        if not low <= number <= high:
            return None
        return self.share(number) if self.is_rating else number / 100

    def typed(self, share: float) -> str:
        """Return a share as people type it, for an address: the inverse of `share_typed`."""
        return f"{round(self.number(share) if self.is_rating else share * 100, EXACT):g}"

    @property
    def lowest_share(self) -> float:
        """The share of the lowest number: of 1 to 10 a tenth, of percent nothing."""
        return self.share(self.lowest) if self.is_rating else 0.0

    def number_of(self, share: float | None) -> float | None:
        """Return what `number` does, and nothing for nothing."""
        return None if share is None else self.number(share)

    @property
    def differences(self) -> ScoreScale:
        """The scale of what lies between two scores."""
        if not self.is_rating:
            return self
        width = self.highest - self.zero
        return ScoreScale(self.kind, -width, width, is_difference=True)

    def words(self, share: float, places: int = 1) -> str:
        """Return a share as pages show it beside others: "5.66", or "56.6%" with `places` decimals."""
        if self.is_rating:
            return number(self.number(share), self.places)
        if self.kind is ScaleKind.COEFFICIENT:
            return number(share, COEFFICIENT_PLACES)
        return percent(share, places)

    def whole_words(self, share: float, places: int = 1) -> str:
        """Return a share as pages show it alone: "5.66 of 10", or "56.6%"."""
        return self.words(share, places) + self.of_top

    def tick(self, share: float) -> str:
        """Return the word at the tick of an axis."""
        return f"{self.number(share):g}" if self.is_rating else f"{share * 100:g}%"

    def why_apart(self, other: ScoreScale) -> str:
        """Return why a score of another scale is never subtracted from one of this; empty where both are on one."""
        if self == other:
            return ""
        return f"No difference: the first is {self._told}, the other {other._told}."

    @property
    def _told(self) -> str:
        if self.is_rating:
            return f"a rating from {self.range_words}"
        return "a win rate" if self.kind is ScaleKind.WINS else "a share of the full score"

    def to_json(self) -> list[object] | None:
        """Return it as figures of stored reports hold it; None: percent."""
        if self == SHARE:
            return None
        return [self.kind.value, self.lowest, self.highest, self.zero, self.is_difference]


SHARE, WINS, COEFFICIENT = (ScoreScale(kind) for kind in (ScaleKind.SHARE, ScaleKind.WINS, ScaleKind.COEFFICIENT))


def rating(lowest: float, highest: float, *, zero: float = 0.0) -> ScoreScale:
    """Return a scale of numbers; from 0 to 1 they are shares."""
    if (lowest, highest, zero) == (0, 1, 0):
        return SHARE
    return ScoreScale(ScaleKind.RATING, float(lowest), float(highest), float(zero))


def scale_through(shares: Mapping[float, float]) -> ScoreScale:
    """Return the scale of numbers that are worth these shares; shares where these do not rise evenly to a full score.

    Labels such as 1 to 5 may be worth parts of the highest, a fifth to 1, or their place between the ends, 0 to 1.
    """
    lowest, highest = min(shares, default=0.0), max(shares, default=0.0)
    if lowest == highest or not isclose(shares[highest], 1.0) or isclose(shares[lowest], 1.0):
        return SHARE
    zero = (lowest - shares[lowest] * highest) / (1.0 - shares[lowest])
    is_even = all(
        isclose(zero + share * (highest - zero), number, abs_tol=TOLERANCE) for number, share in shares.items()
    )
    return rating(lowest, highest, zero=round(zero, EXACT)) if is_even else SHARE


def read_scale(stored: object) -> ScoreScale:
    """Return the scale that `to_json` wrote, or one that is no JSON yet; percent for nothing."""
    if isinstance(stored, ScoreScale):
        return stored
    if not isinstance(stored, list | tuple):
        return SHARE
    kind, *ends = stored
    return ScoreScale(ScaleKind(kind), *ends)


def scale_of_figure(figure: JsonObject) -> ScoreScale:
    """Return the scale that a figure of a report carries."""
    return read_scale(figure.get("scale"))


def figure_in_numbers(figure: JsonObject) -> JsonDict:
    """Return a figure with value, low and high as numbers of its scale, for programs and papers.

    `share` is the value as it is stored, `scale` the scale in words.
    """
    scale = scale_of_figure(figure)
    ends = {end: scale.number_of(figure[end]) for end in ("value", "low", "high")}
    return {**figure, **ends, "share": figure["value"], "scale": scale.range_words}


def _is_scale(stored: object) -> bool:
    """Return whether this is a scale of scores: an imported judge's is a pair of numbers, a rubric's an object."""
    if isinstance(stored, list):
        return bool(stored) and stored[0] in list(ScaleKind)
    return stored is None or isinstance(stored, ScoreScale)


def in_numbers(content: Any) -> Any:
    """Return the content of a report with its figures as numbers of their scales, and the scales in words."""
    if isinstance(content, list | tuple):
        return [in_numbers(part) for part in content]
    if not isinstance(content, Mapping):
        return content
    if "value" in content and "scale" in content and not isinstance(content["scale"], str):
        content = figure_in_numbers(content)
    elif _is_scale(content.get("scale", "")):
        content = {**content, "scale": read_scale(content["scale"]).range_words}
    return {key: in_numbers(part) for key, part in content.items()}


MOST_WORDS: Final = 16_000  # of both together: the table of the comparison then takes 8 MB and a fraction of a second
LONG_TEXTS: Final = 600  # characters of both together
LEAST_SHARED: Final = 0.25  # of the characters of long texts, for marks to tell anything
FEWEST_SHARED: Final = 2  # words; shorter islands between differences say nothing and tear the text to pieces
_UNSPACED = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"  # scripts without spaces: each letter is a word
_WORD = re.compile(rf"(?:{_UNSPACED}|(?:(?!{_UNSPACED})\w)+|[^\w\s])\s*|\s+")


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """A stretch of two texts: in both, only in the first (`removed`) or only in the second (`added`)."""

    text: str
    change: str


@dataclass(frozen=True, slots=True)
class Differences:
    """Two texts as stretches that are the same in both or only in one."""

    a: tuple[DiffPiece, ...]
    b: tuple[DiffPiece, ...]

    @property
    def are_everywhere(self) -> bool:
        """Whether two long texts share so little that marks would stand on nearly every word."""
        pieces = self.a + self.b
        length = sum(len(piece.text) for piece in pieces)
        shared = sum(len(piece.text) for piece in pieces if not piece.change)
        return length > LONG_TEXTS and shared < LEAST_SHARED * length


@dataclass(frozen=True, slots=True)
class _Run:
    """Words of both texts: the same in both, or in each its own."""

    a: Sequence[str]
    b: Sequence[str]
    differs: bool


def compare(a: str, b: str) -> Differences | None:
    """Return where two texts differ, or None where they are too long to compare. Spaces alone make no difference."""
    words_a, words_b = _WORD.findall(a), _WORD.findall(b)
    if len(words_a) + len(words_b) > MOST_WORDS:
        return None
    runs = _runs(words_a, words_b)
    return Differences(
        _pieces([(run.a, "removed" if run.differs else "") for run in runs]),
        _pieces([(run.b, "added" if run.differs else "") for run in runs]),
    )


def merge(a: str, b: str) -> tuple[DiffPiece, ...]:
    """Return two texts as one, with what only the first has before what only the second has.

    Texts that are too long to compare are one removed and one added piece.
    """
    words_a, words_b = _WORD.findall(a), _WORD.findall(b)
    is_long = len(words_a) + len(words_b) > MOST_WORDS
    runs = [_Run(words_a, words_b, differs=True)] if is_long and a != b else _runs(words_a, words_b)
    pieces: list[DiffPiece] = []
    for differs, group in groupby(runs, key=attrgetter("differs")):
        found = list(group)
        removed, added = ("".join(word for run in found for word in words(run)) for words in (_FIRST, _SECOND))
        written = [(removed, "removed"), (added, "added")] if differs else [(added, "")]
        pieces += [DiffPiece(text, change) for text, change in written if text]
    return tuple(pieces)


_FIRST, _SECOND = attrgetter("a"), attrgetter("b")


def _runs(a: Sequence[str], b: Sequence[str]) -> list[_Run]:
    from rapidfuzz.distance import Indel

    steps = Indel.opcodes([word.strip() for word in a], [word.strip() for word in b])
    runs = [
        _Run(a[step.src_start : step.src_end], b[step.dest_start : step.dest_end], step.tag != "equal")
        for step in steps
    ]
    return [_Run(run.a, run.b, run.differs or _is_island(runs, index)) for index, run in enumerate(runs)]


def _is_island(runs: Sequence[_Run], index: int) -> bool:
    """Whether too few words are shared here, with differences on both sides."""
    inside = 0 < index < len(runs) - 1
    return inside and sum(word[0].isalnum() for word in runs[index].a) < FEWEST_SHARED


def _pieces(stretches: Sequence[tuple[Sequence[str], str]]) -> tuple[DiffPiece, ...]:
    """Stretches with their neighbours of the same kind made one."""
    pieces: list[DiffPiece] = []
    for words, change in stretches:
        text = "".join(words)
        if pieces and pieces[-1].change == change:
            pieces[-1] = DiffPiece(pieces[-1].text + text, change)
        elif text:
            pieces.append(DiffPiece(text, change))
    return tuple(pieces)
