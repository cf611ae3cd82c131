"""A debate laid out for reading: rounds, who changed their mind and toward whom, and which statements moved someone.

Verdicts here are in system space (1: A is better, 0: neither, -1: B). A change of mind is a move from one verdict to
another between two rounds in a row, as in `conformity`; finding or losing a verdict is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from debate.protocol.consensus import consensus, majority
from debate.protocol.setups import StatementResult

_NUMBER = re.compile(r"[\W_]*\d[\W_]*")
SNIPPET = 140  # characters
LETTERS = {1: "A", -1: "B", 0: "=", None: "–"}
WORDS = {1: "A is better", -1: "B is better", 0: "neither is better", None: "no verdict"}


@dataclass(frozen=True, slots=True)
class Said:
    """One statement, wherever it comes from."""

    round: int  # 0: the independent round
    agent_number: int
    name: str
    text: str
    verdict: int | None
    status: str  # how it was read, or why it has no verdict
    reasked: bool = False
    first_text: str = ""
    mirrored_text: str = ""
    mirrored_verdict: int | None = None
    filed: str = ""  # imported records: the score as filed, where it is not what the text says
    error_kind: str = ""
    statement_id: int = 0  # of the stored row whose calls are known; 0: there is none


@dataclass(frozen=True, slots=True)
class Turn:
    """A statement with what it did."""

    said: Said
    before: int | None  # the verdict given up in this turn
    changed: bool
    toward: tuple[int, ...]  # agents that held the new verdict in the round before
    moved: tuple[int, ...]  # agents that took this verdict over in the next round
    is_open: bool  # worth reading without being asked for
    toward_names: tuple[str, ...] = ()
    moved_names: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        return f"statement-{self.said.round}-{self.said.agent_number}"

    @property
    def letter(self) -> str:
        return LETTERS[self.said.verdict]

    @property
    def words(self) -> str:
        return WORDS[self.said.verdict]

    @property
    def before_letter(self) -> str:
        return LETTERS[self.before]

    @property
    def is_bare(self) -> bool:
        """Whether the text is a verdict and nothing else."""
        return self.said.verdict is not None and _NUMBER.fullmatch(self.said.text) is not None

    @property
    def snippet(self) -> str:
        """The beginning of the text in one line; a bare number in words."""
        line = " ".join(self.said.text.split())
        if self.is_bare:
            return f"Only “{line}”, which means: {self.words}"
        return line if len(line) <= SNIPPET else f"{line[:SNIPPET].rstrip()}…"


@dataclass(frozen=True, slots=True)
class Round:
    """One round; statements that moved someone come first, then by agent."""

    number: int
    turns: tuple[Turn, ...]
    agreed: int | None  # the verdict of all agents

    @property
    def agreed_words(self) -> str:
        return WORDS[self.agreed] if self.agreed is not None else ""

    @property
    def changes(self) -> int:
        return sum(turn.changed for turn in self.turns)


@dataclass(frozen=True, slots=True)
class StripRow:
    """One agent's verdict in each round; None where there is no statement."""

    agent_number: int
    name: str
    turns: tuple[Turn | None, ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """A debate as it is shown."""

    rounds: tuple[Round, ...]
    strip: tuple[StripRow, ...]
    is_heard: bool = True  # the agents read each other; the rounds of a baseline are samples

    @property
    def changes(self) -> int:
        return sum(debate_round.changes for debate_round in self.rounds)

    @property
    def first_change(self) -> Turn | None:
        """The first change of mind: by round, then by agent."""
        changed = (turn for debate_round in self.rounds for turn in debate_round.turns if turn.changed)
        return min(changed, key=lambda turn: (turn.said.round, turn.said.agent_number), default=None)


def transcript(statements: Sequence[Said], *, is_heard: bool = True) -> Transcript:
    """Return statements, in any order, as rounds and stances.

    Where nobody heard anybody, as in the samples of a baseline, another verdict is no change of mind and moves nobody.
    """
    by_place = {(said.round, said.agent_number): said for said in statements}
    numbers = sorted({said.round for said in statements})
    turns = {place: _turn(said, by_place, is_heard=is_heard) for place, said in by_place.items()}
    if turns and not any(turn.is_open for turn in turns.values()):
        first = min(turns)
        turns[first] = replace(turns[first], is_open=True)
    agents = {said.agent_number: said.name for said in statements}
    return Transcript(
        rounds=tuple(_round(number, turns) for number in numbers),
        strip=tuple(
            StripRow(agent, name, tuple(turns.get((number, agent)) for number in numbers))
            for agent, name in sorted(agents.items())
        ),
        is_heard=is_heard,
    )


def said_in(results: Sequence[StatementResult]) -> list[Said]:
    """Return what a running debate has heard so far; the vote on swapped responses goes with its statement."""
    mirrored = {(result.round, result.agent_number): result for result in results if result.mirrored}
    turns = []
    for one in results:
        if one.mirrored:
            continue
        other = mirrored.get((one.round, one.agent_number))
        turns.append(
            Said(
                round=one.round,
                agent_number=one.agent_number,
                name=one.endpoint,
                text=one.text,
                verdict=one.system_verdict,
                status=str(one.how),
                reasked=one.reasked,
                first_text=one.first_text,
                mirrored_text=other.text if other else "",
                mirrored_verdict=other.system_verdict if other else None,
                error_kind=one.error_kind,
            )
        )
    return turns


def _turn(said: Said, by_place: dict[tuple[int, int], Said], *, is_heard: bool) -> Turn:
    earlier = by_place.get((said.round - 1, said.agent_number)) if is_heard else None
    before = earlier.verdict if earlier else None
    changed = before is not None and said.verdict is not None and before != said.verdict
    round_votes = [other.verdict for (number, _), other in by_place.items() if number == said.round]
    prevailing = majority(round_votes)
    moved = _moved(said, by_place) if is_heard else ()
    toward = _holders(said, by_place) if changed else ()
    return Turn(
        said=said,
        before=before if changed else None,
        changed=changed,
        toward=toward,
        moved=moved,
        is_open=changed or bool(moved) or said.verdict is None or said.verdict != prevailing,
        toward_names=_names(toward, by_place),
        moved_names=_names(moved, by_place),
    )


def _names(agents: Iterable[int], by_place: dict[tuple[int, int], Said]) -> tuple[str, ...]:
    """Return the names of these agents; with the number where one endpoint stands for several."""
    names = {agent: said.name for (_, agent), said in by_place.items()}
    held = list(names.values())
    return tuple(
        names[agent] if held.count(names[agent]) == 1 else f"{names[agent]} (agent {agent})" for agent in agents
    )


def _holders(said: Said, by_place: dict[tuple[int, int], Said]) -> tuple[int, ...]:
    """Return the other agents that held a statement's verdict in the round before."""
    return tuple(
        sorted(
            agent
            for (number, agent), other in by_place.items()
            if number == said.round - 1 and agent != said.agent_number and other.verdict == said.verdict
        )
    )


def _moved(said: Said, by_place: dict[tuple[int, int], Said]) -> tuple[int, ...]:
    """Return the agents that had another verdict than `said` in its round and took it over in the next."""
    if said.verdict is None:
        return ()
    others = {agent: later for (number, agent), later in by_place.items() if number == said.round + 1}
    before = {agent: earlier.verdict for (number, agent), earlier in by_place.items() if number == said.round}
    return tuple(
        agent
        for agent, later in sorted(others.items())
        if later.verdict == said.verdict and before.get(agent) not in (None, said.verdict)
    )


def _round(number: int, turns: dict[tuple[int, int], Turn]) -> Round:
    own = [turn for (at, _), turn in sorted(turns.items()) if at == number]
    return Round(
        number=number,
        turns=tuple(sorted(own, key=lambda turn: (not turn.moved, turn.said.agent_number))),
        agreed=consensus([turn.said.verdict for turn in own]),
    )
