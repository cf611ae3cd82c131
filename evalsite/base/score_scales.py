"""The numbers in which a grader's scores are shown: scores are stored as shares of a full score. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isclose
from typing import Any

from evalsite.base import formats
from evalsite.base.json_types import JsonDict, JsonObject

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
            return formats.number(self.number(share), self.places)
        if self.kind is ScaleKind.COEFFICIENT:
            return formats.number(share, COEFFICIENT_PLACES)
        return formats.percent(share, places)

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


def in_numbers(content: Any) -> Any:
    """Return the content of a report with its figures as numbers of their scales, and the scales in words."""
    if isinstance(content, list | tuple):
        return [in_numbers(part) for part in content]
    if not isinstance(content, Mapping):
        return content
    scale = content.get("scale", "")
    if not isinstance(scale, str):
        content = (
            figure_in_numbers(content) if "value" in content else {**content, "scale": read_scale(scale).range_words}
        )
    return {key: in_numbers(part) for key, part in content.items()}
