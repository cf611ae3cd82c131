"""Who moved toward whom: how judges keep or give up their verdicts when others disagree, over many debates.

Verdicts are compared within a debate only, so their space (position or system) does not matter. A move is a change from
one verdict to another between two rounds in a row; finding or losing a verdict is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from debate.protocol.meta.metaeval import Share
from debate.protocol.meta.votes import DebateVotes, Vote


@dataclass(frozen=True, slots=True)
class JudgeConformity:
    """One judge's behaviour over all debates it sat in."""

    judge: str
    opposed: int  # turns after a round in which it had a verdict and another agent a different one
    kept: int  # of these, it gave the same verdict again
    outvoted: int  # turns after a round in which more than half of the other agents shared one other verdict
    joined: int  # of these, it took that verdict over
    unopposed: int  # turns after a round in which all other verdicts equalled its own
    strayed: int  # of these, it moved away all the same
    moved: int  # changes from one verdict to another, in all

    @property
    def stubbornness(self) -> Share:
        """The share of opposed turns in which the judge kept its verdict."""
        return Share(self.kept, self.opposed)

    @property
    def conformity(self) -> Share:
        """The share of outvoted turns in which the judge joined the majority of the others."""
        return Share(self.joined, self.outvoted)


@dataclass(frozen=True, slots=True)
class Move:
    """One change of mind."""

    item: int | str
    round: int  # in which the new verdict was given
    judge: str
    before: int  # by position
    after: int
    toward: tuple[str, ...]  # who held the new verdict in the round before


def moves(all_votes: Iterable[DebateVotes]) -> tuple[Move, ...]:
    """Return every change of mind, by debate, round and agent."""
    return tuple(
        Move(votes.item, number, judge, before, after, _holders(votes.rounds[number - 1], after, but=judge))
        for votes in all_votes
        for number in range(1, len(votes.rounds))
        for judge, after in votes.rounds[number].items()
        if after is not None and (before := votes.rounds[number - 1].get(judge)) is not None and before != after
    )


def moved_toward(all_votes: Iterable[DebateVotes]) -> dict[tuple[str, str], int]:
    """Return {(who moved, toward whom): times}; a move toward two counts for both, one toward nobody nowhere."""
    return dict(Counter((move.judge, other) for move in moves(all_votes) for other in move.toward))


def conformity(all_votes: Sequence[DebateVotes]) -> tuple[JudgeConformity, ...]:
    """Return the behaviour of every judge, by name. Turns without a verdict, or after one without, count nowhere."""
    counts: dict[str, Counter[str]] = {}
    for votes in all_votes:
        for judge in votes.rounds[0]:
            counts.setdefault(judge, Counter())
        for before, after in zip(votes.rounds, votes.rounds[1:], strict=False):
            for judge in after:
                counts.setdefault(judge, Counter()).update(_turn(judge, before, after[judge]))
    return tuple(
        JudgeConformity(
            judge=judge,
            opposed=counts_of_judge["opposed"],
            kept=counts_of_judge["kept"],
            outvoted=counts_of_judge["outvoted"],
            joined=counts_of_judge["joined"],
            unopposed=counts_of_judge["unopposed"],
            strayed=counts_of_judge["strayed"],
            moved=counts_of_judge["moved"],
        )
        for judge, counts_of_judge in sorted(counts.items())
    )


def _turn(judge: str, before: Mapping[str, Vote], now: Vote) -> Counter[str]:
    """Return what one turn counts for."""
    own = before.get(judge)
    others = [vote for name, vote in before.items() if name != judge]
    cast = [vote for vote in others if vote is not None]
    if own is None or now is None or not cast:
        return Counter()
    opposed = any(vote != own for vote in cast)
    rival = _rival(own, others)
    return Counter(
        opposed=int(opposed),
        kept=int(opposed and now == own),
        outvoted=int(rival is not None),
        joined=int(rival is not None and now == rival),
        unopposed=int(not opposed),
        strayed=int(not opposed and now != own),
        moved=int(now != own),
    )


def _rival(own: int, others: Sequence[Vote]) -> Vote:
    """Return the verdict, not the judge's own, that more than half of the other agents gave, or None."""
    verdict, count = Counter(vote for vote in others if vote is not None).most_common(1)[0]
    return verdict if 2 * count > len(others) and verdict != own else None


def _holders(votes: Mapping[str, Vote], verdict: int, *, but: str) -> tuple[str, ...]:
    return tuple(name for name, vote in votes.items() if vote == verdict and name != but)
