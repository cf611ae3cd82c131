"""The texts beside a score in a cell of results: first words, flags and reasons; and everything about one row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from django.db.models import QuerySet
from django.db.models.functions import Substr

from evalsite.base.json_types import JsonObject
from judging.models import Call, Case, Prompt, Response, Score, Verdict
from judging.selectors.text_search import prompts_with, responses_with
from judging.specs.turns import heading_of, text_of
from judging.statistics.estimates import Ints

FIRST_WORDS = 90  # characters


@dataclass(frozen=True, slots=True)
class CaseWords:
    """A case as a row shows it."""

    pk: int
    key: str
    scenario: str
    language: str
    prompt: str  # its beginning; of a conversation, that of the user's last turn


@dataclass(frozen=True, slots=True)
class ScoreWords:
    """What one evaluator's newest score of a response says beside its number."""

    flags: tuple[str, ...]
    reasons: str  # their beginning


def case_words(case_ids: Iterable[int]) -> dict[int, CaseWords]:
    """Return cases by key. One query."""
    rows = Case.objects.filter(pk__in=list(case_ids)).annotate(start=Substr("prompt__text", 1, FIRST_WORDS))
    names = ("pk", "key", "scenario", "lang", "start", "prompt__messages", "prompt__images")
    return {
        pk: CaseWords(pk, key, scenario, language, _beginning(start, messages, len(images), role="user"))
        for pk, key, scenario, language, start, messages, images in rows.values_list(*names)
    }


def first_words(response_ids: Iterable[int]) -> dict[int, str]:
    """Return the beginning of each response by key. One query."""
    rows = Response.objects.filter(pk__in=list(response_ids)).annotate(start=Substr("text", 1, FIRST_WORDS))
    return {
        pk: _beginning(start, messages, len(images), role="assistant")
        for pk, start, messages, images in rows.values_list("pk", "start", "messages", "images")
    }


def _beginning(start: str, messages: Sequence[JsonObject], images: int, *, role: str) -> str:
    """Return the first words of a text, or of a role's last turn with who speaks, behind how much there is of it."""
    further = []
    if len(messages) > 1:
        turn = next((turn for turn in reversed(messages) if turn["role"] == role), messages[-1])
        start = f"{heading_of(turn)}: {text_of(turn)}"[:FIRST_WORDS]
        further.append(f"{len(messages):,} turns")
    if images:
        further.append(f"{images} image{'' if images == 1 else 's'}")
    return " · ".join(filter(None, (*further, start)))  # tables cut off what is long


def score_words(evaluators: Sequence[int], response_ids: Iterable[int]) -> dict[tuple[int, int], ScoreWords]:
    """Return what the newest score by any of the evaluators says, by evaluator and response. One query."""
    rows = Score.objects.filter(evaluator__in=evaluators, response__in=list(response_ids)).order_by("run_id", "pk")
    rows = rows.annotate(reasons=Substr("verdict__rationale", 1, FIRST_WORDS))
    return {
        (evaluator, response): ScoreWords(tuple(dict.fromkeys(map(str, flags))), reasons or "")
        for evaluator, response, flags, reasons in rows.values_list("evaluator_id", "response_id", "flags", "reasons")
    }


def matching(text: str, *, suite_id: int) -> tuple[Ints, Ints]:
    """Return the cases of a suite whose key holds a text or whose prompt holds its words, and the current responses.

    Words are those of the site's search. Three queries: each by an index of its own.
    """
    cases = Case.objects.filter(links__suite=suite_id)
    prompts = Prompt.objects.filter(prompts_with(text), cases__links__suite=suite_id)
    suite_prompts = Prompt.objects.filter(cases__links__suite=suite_id)
    responses = Response.objects.filter(responses_with(text), prompt__in=suite_prompts.order_by())
    with_words = cases.filter(prompt__in=prompts.order_by())
    return np.union1d(_keys(cases.filter(prompt__key__icontains=text)), _keys(with_words)), _keys(responses)


def _keys(rows: QuerySet[Any]) -> Ints:
    return np.fromiter(rows.order_by().values_list("pk", flat=True), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ResultCell:
    """Everything about one grader's newest score of one response."""

    response: Response
    score: Score | None
    verdict: Verdict | None
    cost: Decimal | None  # of the verdict's calls, in USD; None: no call, or a price is not known


def read_cells(requested: Sequence[tuple[Sequence[int], int]]) -> list[ResultCell | None]:
    """Return cells, given as evaluators (the newest first) and a response; None without a response. Four queries."""
    ids = {response_id for _, response_id in requested}
    responses = Response.objects.select_related("system", "prompt").in_bulk(ids)
    evaluators = {pk for keys, _ in requested for pk in keys}
    stored_scores = Score.objects.filter(evaluator__in=evaluators, response__in=ids).select_related("evaluator", "run")
    scores = {(row.evaluator_id, row.response_id): row for row in stored_scores}
    stored_verdicts = Verdict.objects.filter(evaluator__in=evaluators, response__in=ids).select_related(
        "evaluator", "run"
    )
    verdicts = {(row.evaluator_id, row.response_id): row for row in stored_verdicts.order_by("pk")}
    calls = dict(
        Call.objects.filter(pk__in={pk for row in verdicts.values() for pk in row.call_ids}).values_list("pk", "cost")
    )
    cells: list[ResultCell | None] = []
    for keys, response_id in requested:
        scored = [scores[pk, response_id] for pk in keys if (pk, response_id) in scores]
        score = next((row for row in scored if row.share is not None), next(iter(scored), None))
        judged = [verdicts[pk, response_id] for pk in keys if (pk, response_id) in verdicts]
        verdict = next((row for row in judged if score is None or row.pk == score.verdict_id), None)
        cost = cost_of_calls(verdict.call_ids if verdict is not None else (), calls)
        response = responses.get(response_id)
        cells.append(None if response is None else ResultCell(response, score, verdict, cost))
    return cells


def cost_of_calls(call_ids: Sequence[int], costs: Mapping[int, Decimal | None]) -> Decimal | None:
    """Return what the calls of one verdict cost; None without a call, and where the price of one is unknown."""
    each = [costs.get(pk) for pk in call_ids]
    known_costs = [cost for cost in each if cost is not None]
    return sum(known_costs, Decimal(0)) if each and len(known_costs) == len(each) else None
