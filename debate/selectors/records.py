"""Stored debates as the records that figures are computed from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from debate.models import Agent, Debate, DebateSet, DebateSource, DebateStatus, Statement
from debate.protocol.meta.figures import all_figures, reading_differences
from debate.protocol.meta.votes import agent_names
from debate.protocol.records import RecordedCell, RecordedItem, RecordedTurn, SingleScore
from debate.selectors.criteria import criteria_by_case
from evalsite.base.json_types import JsonDict, JsonObject

FINISHED = (DebateStatus.AGREED, DebateStatus.UNRESOLVED)
Stages = tuple[tuple[RecordedTurn, ...], ...]


def debates_report(sets: Iterable[DebateSet]) -> JsonDict:
    """Return every figure of finished debates, in the layout of `debate.protocol.meta.figures.all_figures`.

    Imported sets are one cell each; a set held here is one cell per scenario, where the reading `recorded` is the
    verdict as counted and `strict` re-reads the text. `reading_differences` explains every statement on which the two
    differ. Five queries for each set, and their texts in memory.
    """
    cells = recorded_cells(sets)
    return {**all_figures(cells), "reading_differences": reading_differences(cells)}


def recorded_cells(sets: Iterable[DebateSet]) -> list[RecordedCell]:
    """Return the finished debates of these sets as cells; a key that repeats is marked with the set's id."""
    cells: dict[str, RecordedCell] = {}
    for debate_set in sets:
        for cell in _cells_of(debate_set):
            named = cell if cell.key not in cells else replace(cell, scenario=f"{cell.scenario} (set {debate_set.pk})")
            cells[named.key] = named
    return list(cells.values())


def _cells_of(debate_set: DebateSet) -> list[RecordedCell]:
    debates = list(
        debate_set.debates.filter(status__in=FINISHED)
        .select_related("case__prompt", "response_a", "response_b")
        .order_by("source_id", "pk")
    )
    stages = _stages(debate_set)
    by_scenario: dict[str, list[Debate]] = {}
    for debate in debates:
        if stages.get(debate.pk):
            by_scenario.setdefault(debate.scenario, []).append(debate)
    return [_cell(debate_set, scenario, group, stages) for scenario, group in sorted(by_scenario.items())]


def _cell(
    debate_set: DebateSet, scenario: str, debates: Sequence[Debate], stages: Mapping[int, Stages]
) -> RecordedCell:
    filed = debate_set.setup.get("recorded", {})
    items = tuple(_item(debate, stages[debate.pk]) for debate in debates)
    criterion = criteria_by_case(rubric=debate_set.rubric, name=debate_set.criterion, case_keys=[""])[""]
    return RecordedCell(
        pair=filed.get("pair", f"{debate_set.system_a.name}_vs_{debate_set.system_b.name}"),
        criterion=filed.get("criterion", debate_set.criterion),
        scenario=filed.get("scenario", scenario),
        system_a=debate_set.system_a.name,
        system_b=debate_set.system_b.name,
        judges=agent_names(debate_set.setup["endpoints"]),
        items=items,
        singles=_singles(filed.get("singles", {}), items),
        criterion_key=debate_set.criterion if debate_set.rubric_id else "",
        criterion_levels=criterion.levels,
    )


def _item(debate: Debate, stages: Stages) -> RecordedItem:
    return RecordedItem(
        id=debate.pk if debate.source_id is None else debate.source_id,
        question=debate.case.prompt.text,
        response_a=debate.response_a.text,
        response_b=debate.response_b.text,
        response_order=debate.response_order,
        stages=stages,
    )


def _stages(debate_set: DebateSet) -> dict[int, Stages]:
    """Return the statements of each debate by round and agent. Two queries."""
    imported = debate_set.source == DebateSource.IMPORT
    names: dict[int, list[str]] = {}
    orders: dict[int, int] = {}
    agents = Agent.objects.filter(debate__debate_set=debate_set).order_by("debate_id", "number")
    for debate_id, name, order in agents.values_list("debate_id", "name", "debate__response_order"):
        names.setdefault(debate_id, []).append(name)
        orders[debate_id] = order
    judges = {debate_id: agent_names(agents) for debate_id, agents in names.items()}
    rounds: dict[int, dict[int, list[RecordedTurn]]] = {}
    statements = Statement.objects.filter(agent__debate__debate_set=debate_set).order_by("round", "agent__number")
    for debate_id, agent_number, number, text, verdict, recorded in statements.values_list(
        "agent__debate_id", "agent__number", "round", "text", "verdict", "recorded_verdict"
    ):
        score = json.loads(recorded) if imported else _counted(verdict, orders[debate_id])
        turn = RecordedTurn(agent_number, judges[debate_id][agent_number - 1], text, score)
        rounds.setdefault(debate_id, {}).setdefault(number, []).append(turn)
    return {
        debate_id: tuple(tuple(by_round[number]) for number in sorted(by_round))
        for debate_id, by_round in rounds.items()
    }


def _counted(verdict: int | None, response_order: int) -> str | None:
    """Return a verdict in system space by position again, as a filed score would state it."""
    if verdict is None:
        return None
    return {1: str(1 + response_order), -1: str(2 - response_order), 0: "0"}[verdict]


def _singles(
    filed: Mapping[str, Sequence[JsonObject]], items: Sequence[RecordedItem]
) -> dict[str, tuple[SingleScore, ...]]:
    spoken = {(item.id, turn.judge): turn.text for item in items for turn in item.stages[0]}
    return {
        judge: tuple(
            SingleScore(row["id"], row["score"], row["text"] if "text" in row else spoken.get((row["id"], judge)))
            for row in rows
        )
        for judge, rows in filed.items()
    }
