"""How far judges agree with the outcome of debates, and what their votes show about them.

Labels are in system space (1: A, 0: tie, -1: B), never by position, except where position bias itself is counted.
Shares come with their counts; a share of nothing is None.

Meta-evaluation and conformity count the votes of debates, freed of their texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from debate.protocol.transcripts import RecordedCell
from debate.protocol.verdicts import VerdictReading, consensus, majority, read_verdict, to_system_space

Vote = int | None


@dataclass(frozen=True, slots=True)
class DebateVotes:
    """All votes of one debate, by position as shown: 1 | 2 | 0, or None for no verdict."""

    item: int | str
    response_order: int  # 0: A was shown as response 1; 1: B was
    rounds: tuple[Mapping[str, Vote], ...]  # judge -> vote; the independent round first

    def by_system(self, round_number: int) -> dict[str, Vote]:
        """Return the votes of a round in system space; negative numbers count from the last round."""
        return {
            judge: to_system_space(vote, response_order=self.response_order)
            for judge, vote in self.rounds[round_number].items()
        }


def recorded_votes(cell: RecordedCell, reading: VerdictReading) -> tuple[DebateVotes, ...]:
    """Return the votes of a recorded cell under one reading, by item id."""
    return tuple(
        DebateVotes(
            item=item.id,
            response_order=item.response_order,
            rounds=tuple(
                {turn.judge: read_verdict(reading, text=turn.text, score=turn.score) for turn in stage}
                for stage in item.stages
            ),
        )
        for item in sorted(cell.items, key=lambda item: item.id)
    )


def debate_votes(
    *, item: int | str, response_order: int, judges: Sequence[str], rounds: Sequence[Sequence[Vote]]
) -> DebateVotes:
    """Return the votes of a debate held here, from its votes per round and agent in system space."""
    names = agent_names(judges)
    positions = {1: 1 + response_order, -1: 2 - response_order, 0: 0, None: None}
    return DebateVotes(
        item, response_order, tuple({n: positions[v] for n, v in zip(names, votes, strict=True)} for votes in rounds)
    )


def agent_names(judges: Sequence[str]) -> tuple[str, ...]:
    """Return one name per agent: the judge's own, with #2, #3 behind where it sits more than once."""
    counts: Counter[str] = Counter()
    names = []
    for judge in judges:
        counts[judge] += 1
        names.append(judge if counts[judge] == 1 else f"{judge}#{counts[judge]}")
    return tuple(names)


class OutcomeRule(StrEnum):
    """What counts as the outcome of a debate."""

    UNANIMOUS = "unanimous"  # all agents of the last round, else none
    MAJORITY = "majority"  # more than half of the agents of the last round, else none
    MAJORITY_TIE0 = "majority_tie0"  # the majority, and a tie where there is none
    ADJUDICATED = "adjudicated"  # all agents of the last round, and people's label where these do not agree
    HUMAN = "human"  # people's label, by item id, where there is one


@dataclass(frozen=True, slots=True)
class Share:
    """A count out of a number, with its interval."""

    count: float  # ties may count a half
    n: int

    @property
    def value(self) -> float | None:
        return self.count / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval, in 0..1; None of one or nothing."""
        # Imported late: it brings scipy along, which no page needs to start.
        from judging.statistics.estimates import share_of

        share = share_of(self.count, self.n)
        return None if share.low is None or share.high is None else (share.low, share.high)


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each label was given."""

    a: int
    b: int
    tie: int
    missing: int

    @property
    def mode(self) -> Vote:
        """The most frequent label; None when two are equally frequent or there is none (seed paper eq. 5)."""
        return mode({1: self.a, -1: self.b, 0: self.tie})

    @property
    def win_rate_a(self) -> Share:
        """A's wins with ties half, of all labels given."""
        return Share(self.a + self.tie / 2, self.a + self.b + self.tie)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How one judge's independent votes compare with the outcomes."""

    matches: int
    n_with_outcome: int
    n: int
    judge: Tally
    outcome: Tally

    @property
    def of_all(self) -> Share:
        return Share(self.matches, self.n)

    @property
    def of_resolved(self) -> Share:
        return Share(self.matches, self.n_with_outcome)

    @property
    def system_level(self) -> bool | None:
        """Whether judge and outcomes have the same mode (eq. 5); None where either mode is tied."""
        if self.judge.mode is None or self.outcome.mode is None:
            return None
        return self.judge.mode == self.outcome.mode

    @property
    def same_direction(self) -> bool | None:
        """Whether both put the same system ahead by wins, or both none; None without labels."""
        if not self.judge.win_rate_a.n or not self.outcome.win_rate_a.n:
            return None
        return _sign(self.judge.a - self.judge.b) == _sign(self.outcome.a - self.outcome.b)


def outcome_of(debate: DebateVotes, rule: OutcomeRule, human: Mapping[int | str, int] | None = None) -> Vote:
    """Return the outcome of a debate in system space under `rule`, or None where it has none."""
    if rule is OutcomeRule.HUMAN:
        return (human or {}).get(debate.item)
    votes = tuple(debate.by_system(-1).values())
    if rule is OutcomeRule.UNANIMOUS:
        return consensus(votes)
    if rule is OutcomeRule.ADJUDICATED:
        agreed = consensus(votes)
        return (human or {}).get(debate.item) if agreed is None else agreed
    most = majority(votes)
    return 0 if most is None and rule is OutcomeRule.MAJORITY_TIE0 else most


def agreement(labels: Sequence[Vote], outcomes: Sequence[Vote]) -> Agreement:
    """Return how labels compare with outcomes, item by item: both in system space, both in the same order.

    Raises:
        ValueError: not as many labels as outcomes.
    """
    pairs = list(zip(labels, outcomes, strict=True))
    return Agreement(
        matches=sum(label == outcome for label, outcome in pairs if outcome is not None),
        n_with_outcome=sum(outcome is not None for _, outcome in pairs),
        n=len(pairs),
        judge=tally(labels),
        outcome=tally(outcomes),
    )


def independent_votes(all_votes: Iterable[DebateVotes], judge: str) -> list[Vote]:
    """Return a judge's independent votes in system space: what it says on its own."""
    return [votes.by_system(0).get(judge) for votes in all_votes]


def leave_one_out(all_votes: Sequence[DebateVotes], judge: str) -> Agreement:
    """Return how a judge's independent votes compare with the agreement of the OTHER agents in the last round.

    The judge takes part in the debate it is compared with; this takes its own vote out of the outcome.
    """
    others = [consensus([vote for name, vote in votes.by_system(-1).items() if name != judge]) for votes in all_votes]
    return agreement(independent_votes(all_votes, judge), others)


def tally(labels: Iterable[Vote]) -> Tally:
    """Count labels in system space."""
    counts = Counter(labels)
    return Tally(a=counts[1], b=counts[-1], tie=counts[0], missing=counts[None])


def mode(counts: Mapping[int, int]) -> Vote:
    """Return the most frequent label, or None when the highest count is shared or zero."""
    highest = max(counts.values(), default=0)
    winners = [label for label, count in counts.items() if count == highest]
    return winners[0] if highest and len(winners) == 1 else None


def position_bias(all_votes: Iterable[DebateVotes], judge: str) -> tuple[int, int]:
    """Return how many of a judge's independent votes prefer the first place, and the second; ties prefer none."""
    counts = Counter(votes.rounds[0].get(judge) for votes in all_votes)
    return (counts[1], counts[2])


def rounds_held(all_votes: Iterable[DebateVotes]) -> Counter[int]:
    """Count debates by the number of discussion rounds they held."""
    return Counter(len(votes.rounds) - 1 for votes in all_votes)


def consensus_by_round(all_votes: Iterable[DebateVotes]) -> Counter[int | None]:
    """Count debates by the first round in which all votes were valid and equal; None: in no round."""
    return Counter(first_consensus(votes) for votes in all_votes)


def first_consensus(debate: DebateVotes) -> int | None:
    """Return the first round in which all votes were valid and equal, or None."""
    for number, votes in enumerate(debate.rounds):
        if consensus(tuple(votes.values())) is not None:
            return number
    return None


def for_people(all_votes: Iterable[DebateVotes]) -> tuple[int | str, ...]:
    """Return the items without a unanimous last round: what goes to people."""
    return tuple(votes.item for votes in all_votes if outcome_of(votes, OutcomeRule.UNANIMOUS) is None)


def missing_by_round(all_votes: Sequence[DebateVotes], judge: str, *, rounds: int) -> tuple[int, ...]:
    """Count a judge's turns without a verdict, per round."""
    return tuple(
        sum(len(votes.rounds) > number and votes.rounds[number].get(judge) is None for votes in all_votes)
        for number in range(rounds)
    )


def changed_by_the_end(all_votes: Iterable[DebateVotes], judge: str) -> int:
    """Count debates whose last vote by a judge is not its independent vote; finding or losing a verdict counts too."""
    return sum(votes.rounds[0].get(judge) != votes.rounds[-1].get(judge) for votes in all_votes)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
