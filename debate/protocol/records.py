"""Debates that were held elsewhere, as read from their files: scores and texts exactly as recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    criterion_levels: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.pair}/{self.criterion}/{self.scenario}"
