"""The effective number of independent judges of a panel: members that err together add little to one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judging.statistics.estimates import Floats

FEWEST = 20  # responses that both members of a pair gave a vote on, for their correlation to count
ONE_MEMBER = "A panel of one judge has no pairs."
NO_PAIRS = f"No two members have {FEWEST} responses in common on which both of them vary."


@dataclass(frozen=True, slots=True)
class EffectiveJudges:
    """The effective number, from 1 to the number of members; None with the reason where it is undefined."""

    value: float | None
    correlation: float | None  # mean over the pairs, -1..1
    pairs: int  # that it is the mean of
    n: int  # rows on which at least two members voted
    reason: str = ""


def effective_judges(votes: Floats) -> EffectiveJudges:
    """Return the effective number of judges of votes or errors; shape (responses, members), NaN where there is none.

    n_eff = k / (1 + (k - 1) r) with k members and r the mean Pearson correlation over their pairs: Kish's design effect
    of k observations that correlate by r (Kish 1965, Survey Sampling, section 5.4). Of errors (vote less people's
    label) it says how many independent judges would err as little on average; of votes it is smaller, since members
    that are right agree too. A negative r counts as 0: a panel is worth no more than its members. Pairs in which one
    member never varies, or with fewer than FEWEST common rows, have no correlation and are left out. Undefined with
    one member or without any pair left.
    """
    members = votes.shape[1]
    n = int((np.sum(~np.isnan(votes), axis=1) > 1).sum())
    if members < 2:
        return EffectiveJudges(None, None, 0, n, ONE_MEMBER)
    correlations = [value for value in _correlations(votes) if value is not None]
    if not correlations:
        return EffectiveJudges(None, None, 0, n, NO_PAIRS)
    mean = float(np.mean(correlations))
    return EffectiveJudges(members / (1 + (members - 1) * max(0.0, mean)), mean, len(correlations), n)


def _correlations(votes: Floats) -> Iterator[float | None]:
    for first, second in combinations(range(votes.shape[1]), 2):
        yield correlation_of(votes[:, first], votes[:, second])


def correlation_of(first: Floats, second: Floats) -> float | None:
    """Return Pearson's correlation over the rows that both have; None with fewer than FEWEST, or where one is constant.

    Both have the shape (responses,), NaN where there is no vote.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    first_votes, second_votes = first[both], second[both]
    if len(first_votes) < FEWEST or not np.ptp(first_votes) or not np.ptp(second_votes):
        return None
    return float(np.clip(np.corrcoef(first_votes, second_votes)[0, 1], -1.0, 1.0))
