"""May this judge stand in for a person? The alternative annotator test."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy

from evalsite.reports.statistics.estimates import Floats, Ints
from evalsite.reports.statistics.ratings import MISSING, RatingTable

PEOPLE_NEEDED = 3
ITEMS_NEEDED = 30
FALSE_DISCOVERY_RATE = 0.05
WINNING_RATE_NEEDED = 0.5


class Annotators(StrEnum):
    """Who the people are; the more they cost, the larger the advantage that they must show over the judge."""

    EXPERTS = "experts"
    SKILLED = "skilled"
    CROWD = "crowd"

    @property
    def margin(self) -> float:
        """The epsilon of the test."""
        return {"experts": 0.2, "skilled": 0.15, "crowd": 0.1}[self.value]


class Closeness(StrEnum):
    """How near an answer is to the remaining people's."""

    EQUAL_LABELS = "equal labels"  # share of the remaining people who gave the same label
    NEAR_VALUES = "near values"  # minus the root mean squared distance to their values


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The judge against one person, both compared with everyone else."""

    person: str
    n: int
    judge_wins: float  # share of items on which the judge is at least as close as the person
    person_wins: float
    p_value: float
    replaced: bool  # the judge is at least as good, less the margin, after Benjamini-Yekutieli


@dataclass(frozen=True, slots=True)
class StandIn:
    """`passed` is None when the test could not be held; `reason` says why, or what the result means."""

    passed: bool | None
    winning_rate: float | None  # share of people whom the judge may replace
    advantage: float | None  # chance that the judge is at least as close as a person drawn at random
    people: tuple[LeftOut, ...]
    reason: str


def alternative_annotator_test(
    table: RatingTable,
    judge: Sequence[str | None],
    annotators: Annotators,
    closeness: Closeness = Closeness.EQUAL_LABELS,
) -> StandIn:
    """Return whether the judge passes against the people of `table` (one judge label per item, None = no verdict).

    For each person j and item that j, the judge and someone else answered: W_f = 1 when the judge is at least as close
    to the others as j, W_h the other way round. H0: mean(W_h - W_f) >= margin, one-sided t-test; Benjamini-Yekutieli at
    0.05 over people; the judge passes when it may replace at least half. Needs 3 people with 30 items each.
    Source: Calderon, Reichart and Dror 2025, "The Alternative Annotator Test".

    Raises:
        ValueError: the judge did not label as many items as the table has, or a label is off the scale.
    """
    judged = np.array([MISSING if label is None else table.labels.index(label) for label in judge], dtype=np.int64)
    if len(judged) != len(table.items):
        raise ValueError(f"{len(judged)} verdicts for {len(table.items)} items")
    if closeness is Closeness.NEAR_VALUES and table.values is None:
        return StandIn(None, None, None, (), "The labels are not numbers, so distances between them mean nothing.")
    wins = {person: _wins(table, judged, index, closeness) for index, person in enumerate(table.raters)}
    able = {person: pair for person, pair in wins.items() if pair.shape[1] >= ITEMS_NEEDED}
    if not table.raters_known or len(able) < PEOPLE_NEEDED:
        return StandIn(None, None, None, (), _too_few(len(able)))
    p_values = [_p_value(pair[1] - pair[0], annotators.margin) for pair in able.values()]
    replaced = benjamini_yekutieli(p_values, rate=FALSE_DISCOVERY_RATE)
    people = tuple(
        LeftOut(person, pair.shape[1], float(pair[0].mean()), float(pair[1].mean()), p_value, won)
        for (person, pair), p_value, won in zip(able.items(), p_values, replaced, strict=True)
    )
    rate = sum(replaced) / len(people)
    advantage = sum(person.judge_wins for person in people) / len(people)
    passed = rate >= WINNING_RATE_NEEDED
    words = "may stand in" if passed else "may not stand in"
    reason = f"The judge {words} for {annotators.value}: it may replace {sum(replaced)} of {len(people)} people."
    return StandIn(passed, rate, advantage, people, reason)


def _too_few(able: int) -> str:
    return (
        f"The test needs {PEOPLE_NEEDED} people who each share {ITEMS_NEEDED} items with the judge and someone else; "
        f"so far {able} {'does' if able == 1 else 'do'}."
    )


def _wins(table: RatingTable, judged: Ints, person: int, closeness: Closeness) -> Floats:
    """Return W_f and W_h over the items that can be compared, shape (2, items)."""
    own = table.codes[:, person]
    others = np.delete(table.codes, person, axis=1)
    usable = (own != MISSING) & (judged != MISSING) & (others != MISSING).any(axis=1)
    own, others, verdicts = own[usable], others[usable], judged[usable]
    near = _share_equal if closeness is Closeness.EQUAL_LABELS else _nearness
    judge_score, person_score = near(verdicts, others, table), near(own, others, table)
    # Scores that are equal in exact arithmetic must tie although their sums were rounded differently.
    tie = np.isclose(judge_score, person_score, rtol=0, atol=1e-12)
    return np.stack([tie | (judge_score > person_score), tie | (person_score > judge_score)]).astype(np.float64)


def _share_equal(answers: Ints, others: Ints, _table: RatingTable) -> Floats:
    present = others != MISSING
    share: Floats = ((others == answers[:, None]) & present).sum(axis=1) / present.sum(axis=1)
    return share


def _nearness(answers: Ints, others: Ints, table: RatingTable) -> Floats:
    values = np.array(table.values, dtype=np.float64)
    present = others != MISSING
    squares = np.where(present, (values[others] - values[answers][:, None]) ** 2, 0.0)
    nearness: Floats = -np.sqrt(squares.sum(axis=1) / present.sum(axis=1))
    return nearness


def _p_value(differences: Floats, margin: float) -> float:
    """Return the chance of a mean this small if the true mean were the margin."""
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if spread == 0:
        return 0.0 if mean < margin else 1.0
    statistic = (mean - margin) / (spread / math.sqrt(len(differences)))
    return float(scipy.special.stdtr(len(differences) - 1, statistic))


def benjamini_yekutieli(p_values: Sequence[float], *, rate: float) -> tuple[bool, ...]:
    """Return which hypotheses are rejected with a false discovery rate of at most `rate` under any dependence.

    Reject the k smallest for the largest k with p_(k) <= k rate / (m sum_{i<=m} 1/i). Benjamini, Yekutieli 2001.
    """
    m = len(p_values)
    allowed = rate / (m * sum(1 / i for i in range(1, m + 1))) if m else 0.0
    ranked = sorted(range(m), key=lambda i: p_values[i])
    last = max((k for k, i in enumerate(ranked, start=1) if p_values[i] <= k * allowed), default=0)
    rejected = set(ranked[:last])
    return tuple(i in rejected for i in range(m))


def certificate_key(*, model: str, prompt: str, rubric: str) -> str:
    """Return the SHA-256 that binds a passed test to the judge it was held with; any change makes it lapse."""
    digest = hashlib.sha256()
    for part in (model, prompt, rubric):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)  # the length keeps "ab" + "c" apart from "a" + "bc"
    return digest.hexdigest()
