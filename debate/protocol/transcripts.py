"""A debate laid out for reading: rounds, who changed their mind and toward whom, and which statements moved someone.

Verdicts here are in system space (1: A is better, 0: neither, -1: B). A change of mind is a move from one verdict to
another between two rounds in a row, as in `conformity`; finding or losing a verdict is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from debate.protocol.setups import RoundMode, StatementResult, Visibility
from debate.protocol.verdicts import consensus, majority
from judging.judges.subjects import failure_in_words

_NUMBER = re.compile(r"[\W_]*\d[\W_]*")
SNIPPET = 140  # characters
LETTERS = {1: "A", -1: "B", 0: "=", None: "–"}
WORDS = {1: "A is better", -1: "B is better", 0: "neither is better", None: "no verdict"}


@dataclass(frozen=True, slots=True)
class ShownStatement:
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

    @property
    def failure(self) -> str:
        """Why there was no reply, in words; "" where there was one."""
        return failure_in_words(self.error_kind)


@dataclass(frozen=True, slots=True)
class Turn:
    """A statement with what it did."""

    statement: ShownStatement
    before: int | None  # the verdict given up in this turn
    changed: bool
    toward: tuple[int, ...]  # agents that held the new verdict in the round before
    moved: tuple[int, ...]  # agents that took this verdict over in the next round
    is_open: bool  # worth reading without being asked for
    toward_names: tuple[str, ...] = ()
    moved_names: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        return f"statement-{self.statement.round}-{self.statement.agent_number}"

    @property
    def letter(self) -> str:
        return LETTERS[self.statement.verdict]

    @property
    def words(self) -> str:
        return WORDS[self.statement.verdict]

    @property
    def before_letter(self) -> str:
        return LETTERS[self.before]

    @property
    def is_bare(self) -> bool:
        """Whether the text is a verdict and nothing else."""
        return self.statement.verdict is not None and _NUMBER.fullmatch(self.statement.text) is not None

    @property
    def snippet(self) -> str:
        """The beginning of the text in one line; a bare number in words."""
        line = " ".join(self.statement.text.split())
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
class Transcript:
    """A debate as it is shown."""

    rounds: tuple[Round, ...]
    strip: list[tuple[int, str, list[Turn | None]]]  # number, name and turn of each round; None without a statement
    is_heard: bool = True  # the agents read each other; the rounds of a baseline are samples

    @property
    def changes(self) -> int:
        return sum(debate_round.changes for debate_round in self.rounds)

    @property
    def first_change(self) -> Turn | None:
        """The first change of mind: by round, then by agent."""
        changed = (turn for debate_round in self.rounds for turn in debate_round.turns if turn.changed)
        return min(changed, key=lambda turn: (turn.statement.round, turn.statement.agent_number), default=None)


def transcript(statements: Sequence[ShownStatement], *, is_heard: bool = True) -> Transcript:
    """Return statements, in any order, as rounds and stances.

    Where nobody heard anybody, as in the samples of a baseline, another verdict is no change of mind and moves nobody.
    """
    by_place = {(statement.round, statement.agent_number): statement for statement in statements}
    numbers = sorted({statement.round for statement in statements})
    turns = {key: _turn(statement, by_place, is_heard=is_heard) for key, statement in by_place.items()}
    if turns and not any(turn.is_open for turn in turns.values()):
        first = min(turns)
        turns[first] = replace(turns[first], is_open=True)
    agents = {statement.agent_number: statement.name for statement in statements}
    return Transcript(
        rounds=tuple(_round(number, turns) for number in numbers),
        strip=[
            (agent, name, [turns.get((number, agent)) for number in numbers]) for agent, name in sorted(agents.items())
        ],
        is_heard=is_heard,
    )


def shown_statements(results: Sequence[StatementResult]) -> list[ShownStatement]:
    """Return what a running debate has heard so far; the vote on swapped responses goes with its statement."""
    swapped = {(result.round, result.agent_number): result for result in results if result.mirrored}
    statements = []
    for result in results:
        if result.mirrored:
            continue
        mirrored = swapped.get((result.round, result.agent_number))
        statements.append(
            ShownStatement(
                round=result.round,
                agent_number=result.agent_number,
                name=result.endpoint,
                text=result.text,
                verdict=result.system_verdict,
                status=str(result.how),
                reasked=result.reasked,
                first_text=result.first_text,
                mirrored_text=mirrored.text if mirrored else "",
                mirrored_verdict=mirrored.system_verdict if mirrored else None,
                error_kind=result.error_kind,
            )
        )
    return statements


def _turn(statement: ShownStatement, by_place: dict[tuple[int, int], ShownStatement], *, is_heard: bool) -> Turn:
    earlier = by_place.get((statement.round - 1, statement.agent_number)) if is_heard else None
    before = earlier.verdict if earlier else None
    changed = before is not None and statement.verdict is not None and before != statement.verdict
    round_votes = [other.verdict for (number, _), other in by_place.items() if number == statement.round]
    prevailing = majority(round_votes)
    moved = _moved(statement, by_place) if is_heard else ()
    toward = _holders(statement, by_place) if changed else ()
    return Turn(
        statement=statement,
        before=before if changed else None,
        changed=changed,
        toward=toward,
        moved=moved,
        is_open=changed or bool(moved) or statement.verdict is None or statement.verdict != prevailing,
        toward_names=_names(toward, by_place),
        moved_names=_names(moved, by_place),
    )


def _names(agents: Iterable[int], by_place: dict[tuple[int, int], ShownStatement]) -> tuple[str, ...]:
    """Return the names of these agents; with the number where one endpoint stands for several."""
    names = {agent: statement.name for (_, agent), statement in by_place.items()}
    all_names = list(names.values())
    return tuple(
        names[agent] if all_names.count(names[agent]) == 1 else f"{names[agent]} (agent {agent})" for agent in agents
    )


def _holders(statement: ShownStatement, by_place: dict[tuple[int, int], ShownStatement]) -> tuple[int, ...]:
    """Return the other agents that held a statement's verdict in the round before."""
    return tuple(
        sorted(
            agent
            for (number, agent), other in by_place.items()
            if number == statement.round - 1 and agent != statement.agent_number and other.verdict == statement.verdict
        )
    )


def _moved(statement: ShownStatement, by_place: dict[tuple[int, int], ShownStatement]) -> tuple[int, ...]:
    """Return the agents that had another verdict in the round of the statement and took it over in the next."""
    if statement.verdict is None:
        return ()
    others = {agent: later for (number, agent), later in by_place.items() if number == statement.round + 1}
    before = {agent: earlier.verdict for (number, agent), earlier in by_place.items() if number == statement.round}
    return tuple(
        agent
        for agent, later in sorted(others.items())
        if later.verdict == statement.verdict and before.get(agent) not in (None, statement.verdict)
    )


def _round(number: int, turns: dict[tuple[int, int], Turn]) -> Round:
    round_turns = [turn for (at, _), turn in sorted(turns.items()) if at == number]
    return Round(
        number=number,
        turns=tuple(sorted(round_turns, key=lambda turn: (not turn.moved, turn.statement.agent_number))),
        agreed=consensus([turn.statement.verdict for turn in round_turns]),
    )


def heard_by(
    agent_number: int,
    *,
    round_number: int,
    statements: Sequence[StatementResult],
    mode: RoundMode,
    visibility: Visibility,
) -> tuple[tuple[StatementResult, ...], tuple[StatementResult, ...]]:
    """Return what an agent reads in `round_number` of its own and of others, oldest first, of everything said so far.

    The independent round is blind. Later, an agent reads the round before (or all earlier rounds, `full`), and in
    sequential mode what was said before it in the same round. A mirrored vote is about swapped responses: never read.
    """
    if round_number == 0:
        return ((), ())
    earliest = 0 if visibility is Visibility.FULL else round_number - 1
    latest = round_number if mode is RoundMode.SEQUENTIAL else round_number - 1
    readable = [
        statement
        for statement in statements
        if earliest <= statement.round <= latest and statement.text.strip() and not statement.mirrored
    ]
    return (
        tuple(statement for statement in readable if statement.agent_number == agent_number),
        tuple(statement for statement in readable if statement.agent_number != agent_number),
    )


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One statement of a recorded debate."""

    agent_number: int  # from 1
    judge: str
    text: str | None
    score: str | int | float | None  # as in the file, by position; "4", 0 and None occur


@dataclass(frozen=True, slots=True)
class RecordedItem:
    """One recorded debate, with the orders recovered from its texts."""

    id: int  # as in the file: 1-based line number of the responses; never a position in the debate file
    question: str
    response_a: str
    response_b: str
    response_order: int  # 0: A was shown as response 1; 1: B was
    stages: tuple[tuple[RecordedTurn, ...], ...]  # independent round first; each in agent order

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(turn.judge for turn in self.stages[0])


@dataclass(frozen=True, slots=True)
class SingleScore:
    """One row of a single-judge file."""

    id: int
    score: str | int | float | None
    text: str | None


@dataclass(frozen=True, slots=True)
class RecordedCell:
    """All recorded debates over one pair of systems, criterion and scenario."""

    pair: str  # as the folder is called, e.g. "gpt3.5_vs_claude"; its first system is A
    criterion: str
    scenario: str
    system_a: str
    system_b: str
    judges: tuple[str, ...]  # in the configured order
    items: tuple[RecordedItem, ...]  # by id
    singles: Mapping[str, tuple[SingleScore, ...]] = field(default_factory=dict)  # judge -> its file's rows
    criterion_key: str = ""  # name in the criteria files, e.g. "helpfulness-1"; empty where none was found

    @property
    def key(self) -> str:
        return f"{self.pair}/{self.criterion}/{self.scenario}"
