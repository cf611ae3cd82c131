"""Rows of recorded debates as typed records; rows that are none are reported and left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from debate.protocol.records import SingleScore
from evalsite.base.json_types import JsonObject
from judging.specs.files.problems import Parsed, Problem, Severity

Row = JsonObject
_STATEMENT = re.compile(r"Speaker (\d{1,3}) - (?:Initial Evaluation|Discussion Round (\d{1,3}))")


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """One statement as filed: by agent, no judge's name."""

    text: str | None
    score: str | int | float | None


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """One debate as filed."""

    id: int
    question: str
    shown: tuple[str, str]
    stages: tuple[tuple[AgentTurn, ...], ...]  # independent round first; each in agent order


def read_debate_rows(path: str, rows: Sequence[Row]) -> Parsed[tuple[RecordedRow, ...]]:
    """Return the debates in a file's rows, in order. Of rows with one id the first counts."""
    by_idx: dict[int, RecordedRow] = {}
    problems: list[Problem] = []
    for number, row in enumerate(rows, start=1):
        location = f"record {number}"
        item_id, texts = row.get("id"), [row.get(key) for key in ("Question", "Submission 1", "Submission 2")]
        if type(item_id) is not int or not all(isinstance(text, str) for text in texts):
            problems.append(_left_out(path, location, "It has no whole-number id, question or two submissions."))
            continue
        if item_id in by_idx:
            problems.append(_left_out(path, location, f"Item {item_id} occurs twice in this file."))
            continue
        stages = _stages(row)
        if not stages:
            problems.append(
                _left_out(path, f"item {item_id}", "The statements of its independent round are incomplete.")
            )
            continue
        if len(stages) < max((stage for stage, _ in _turns(row)), default=-1) + 1:
            message = f"Round {len(stages)} is incomplete; the debate was read up to the previous round."
            problems.append(Problem(Severity.WARNING, path, f"item {item_id}", message, code="round-incomplete"))
        by_idx[item_id] = RecordedRow(item_id, str(texts[0]), (str(texts[1]), str(texts[2])), stages)
    return Parsed(tuple(by_idx.values()), tuple(problems))


def read_single_rows(path: str, rows: Sequence[Row]) -> Parsed[tuple[SingleScore, ...]]:
    """Return the rows of a single-judge file, in order."""
    scores: list[SingleScore] = []
    problems: list[Problem] = []
    for number, row in enumerate(rows, start=1):
        item_id = row.get("ID")
        if type(item_id) is int:
            scores.append(SingleScore(item_id, _score(row.get("Score")), _text(row.get("Reasoning"))))
        else:
            problems.append(_left_out(path, f"record {number}", "It has no whole-number ID."))
    return Parsed(tuple(scores), tuple(problems))


def _stages(row: Row) -> tuple[tuple[AgentTurn, ...], ...]:
    """Return the leading rounds in which every agent of the independent round spoke."""
    turns = _turns(row)
    agents = sorted(agent_number for stage, agent_number in turns if stage == 0)
    if len(agents) < 2 or agents != list(range(1, len(agents) + 1)):
        return ()
    stages: list[tuple[AgentTurn, ...]] = []
    while all((len(stages), agent_number) in turns for agent_number in agents):
        stages.append(tuple(turns[len(stages), agent_number] for agent_number in agents))
    return tuple(stages)


def _turns(row: Row) -> dict[tuple[int, int], AgentTurn]:
    turns: dict[tuple[int, int], AgentTurn] = {}
    for key, value in row.items():
        match = _STATEMENT.fullmatch(key)
        if match and isinstance(value, dict):
            turn = AgentTurn(_text(value.get("reasoning")), _score(value.get("score")))
            turns[int(match[2] or 0), int(match[1])] = turn
    return turns


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _score(value: object) -> str | int | float | None:
    return value if isinstance(value, str | int | float) else None


def _left_out(path: str, location: str, message: str) -> Problem:
    return Problem(Severity.WARNING, path, location, f"{message} It was left out.", code="record-left-out")
