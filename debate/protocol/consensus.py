"""When a debate is over, and with what. Only valid verdicts can agree: None never equals None here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

Votes = Sequence[int | None]  # one entry per agent, all in the same space; None: no verdict


class StopReason(StrEnum):
    """Why no further round is held."""

    CONSENSUS = "consensus"
    STABILITY = "stability"  # a whole round in which every agent kept its verdict
    ROUNDS = "rounds"  # the last allowed round is over
    SAMPLES = "samples"  # all judges have been asked as often as they were to be, by a method without discussion
    FAILED = "failed"  # an agent could not be reached at all; asked again when the run resumes


@dataclass(frozen=True, slots=True)
class StopRules:
    """What ends a debate before its last allowed round."""

    on_consensus: bool = True
    on_stability: bool = False


def consensus(votes: Votes) -> int | None:
    """Return the verdict that all agents gave, or None: one missing verdict, or a single agent, agrees on nothing."""
    if len(votes) < 2 or votes[0] is None:
        return None
    return votes[0] if all(vote == votes[0] for vote in votes) else None


def majority(votes: Votes) -> int | None:
    """Return the verdict that more than half of all agents gave (missing verdicts count as agents), or None."""
    counts = Counter(vote for vote in votes if vote is not None)
    if not counts:
        return None
    verdict, count = counts.most_common(1)[0]
    return verdict if 2 * count > len(votes) else None


def most_frequent(votes: Votes) -> int | None:
    """Return the verdict given most often among the valid ones, or None where two share the lead or none is valid."""
    ranked = Counter(vote for vote in votes if vote is not None).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def is_stable(before: Votes, after: Votes) -> bool:
    """Return whether every agent gave a valid verdict in both rounds, and the same one."""
    return None not in before and tuple(before) == tuple(after)


def stop_reason(rounds: Sequence[Votes], *, max_rounds: int, rules: StopRules) -> StopReason | None:
    """Return why the debate ends after the rounds held so far (`rounds[0]`: the independent one), or None to go on."""
    if rules.on_consensus and consensus(rounds[-1]) is not None:
        return StopReason.CONSENSUS
    if len(rounds) > max_rounds:
        return StopReason.CONSENSUS if consensus(rounds[-1]) is not None else StopReason.ROUNDS
    if rules.on_stability and len(rounds) > 1 and is_stable(rounds[-2], rounds[-1]):
        return StopReason.STABILITY
    return None


def agreed_since(rounds: Sequence[Votes]) -> int | None:
    """Return the round from which on all agents agreed on one verdict until the end, or None where they do not.

    With `on_consensus` this is the last round held; without it a debate may agree early and hold on.
    """
    final = consensus(rounds[-1]) if rounds else None
    if final is None:
        return None
    first = len(rounds) - 1
    while first > 0 and consensus(rounds[first - 1]) == final:
        first -= 1
    return first
