"""An evaluator's scores of a suite's cases, attempt by attempt, and what each case comes to.

Columns of numbers instead of an object for each response: half a million of them take 20 megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

import numpy as np
from django.db.models import FloatField, Q, Value

from evalsite.reports.selectors.options import Options, chosen
from judging.grading.aggregates import reduce_scores
from judging.models import Ask, RunEvaluator, RunTask, Score, SuiteCase, System, TaskStatus
from judging.specs.selections import selection_from_json
from judging.statistics.estimates import Floats, Ints

CHUNK = 5000
FILTERS = ("scenario", "lang", "type")


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """A case of the suite. `null_share` is what a system without a response to it gets."""

    pk: int
    key: str
    prompt_id: int
    scenario: str
    lang: str
    question_type: str
    full_score: float
    null_share: float
    max_score: float | None = None
    min_score: float | None = None

    def matches(self, options: Options) -> bool:
        """Whether the filters of a report keep this case."""
        values = (self.scenario, self.lang, self.question_type)
        return all(chosen(options, name) in ("", value) for name, value in zip(FILTERS, values, strict=True))


ATTEMPT = np.dtype([("system", "i8"), ("prompt", "i8"), ("number", "i8"), ("response", "i8"), ("share", "f8")])
AttemptRow = tuple[int, int, int, int, float]  # as ATTEMPT, with the places of a system and a prompt; share NaN: none


@dataclass(frozen=True, slots=True, eq=False)
class SuiteScores:
    """Every score of one evaluator over the chosen cases; arrays have the shape (systems, cases) where none is told."""

    cases: tuple[CaseFacts, ...]
    systems: dict[int, str]  # by name
    shares: Floats  # of the case's points, reduced over attempts; NaN where an attempt has no score, which is no zero
    missing: np.ndarray  # whether the system has no response at all; its share is then the null share, or NaN
    firsts: Ints  # key of the first attempt's response; 0: no response
    attempts: np.ndarray  # of ATTEMPT, by system, prompt and number
    prompts: Ints  # the place of each case's prompt, shape (cases,)
    reduce_mode: str

    def among(self, response_ids: Collection[int]) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield the cells, by row and column, that have one of these responses, each with all its attempts."""
        has_response = np.isin(self.attempts["response"], np.fromiter(response_ids, dtype=np.int64))
        keys = self.attempts["system"] * len(self.cases) + self.attempts["prompt"]
        cells = np.unique(keys[has_response])
        starts, ends = np.searchsorted(keys, cells), np.searchsorted(keys, cells, side="right")
        columns: dict[int, list[int]] = {}
        for column, prompt in enumerate(self.prompts.tolist()):
            columns.setdefault(prompt, []).append(column)
        for key, start, end in zip(cells.tolist(), starts.tolist(), ends.tolist(), strict=True):
            row, prompt = divmod(key, len(self.cases))
            for column in columns.get(prompt, ()):
                yield row, column, self.attempts[start:end]


def suite_cases(evaluator: RunEvaluator) -> list[CaseFacts]:
    """Return all cases of the evaluator's suite in their order. One query; `evaluator.run.suite` is loaded."""
    suite = evaluator.run.suite
    links = SuiteCase.objects.filter(suite=suite).order_by("position")
    rows = links.values_list(
        "case_id",
        "case__key",
        "case__prompt_id",
        "case__scenario",
        "case__lang",
        "case__question_type",
        "case__full_score",
        "case__null_score",
        "case__grading__max_score",
        "case__grading__min_score",
    )
    cases = []
    for pk, key, prompt_id, scenario, lang, kind, full, null, most, least in rows.iterator(chunk_size=CHUNK):
        points = suite.full_score if full is None else full
        nothing = suite.null_score if null is None else null
        share = nothing / points if points else 0.0
        cases.append(CaseFacts(pk, key, prompt_id, scenario, lang, kind, points, share, _number(most), _number(least)))
    return cases


def read_scores(evaluator: RunEvaluator, options: Options) -> SuiteScores:
    """Return the evaluator's scores under the options scenario, lang, type, missing ("skip") and systems (keys).

    Five queries, streamed. Responses that wait, failed or could not be decided are attempts without a share.
    """
    return _read([evaluator], options, Q())


def read_newest_scores(
    evaluators: Sequence[RunEvaluator], options: Options, *, whole_suite: bool = False
) -> SuiteScores:
    """Return the newest score of each response by several evaluators of one suite, the newest of which comes first.

    The options are those of `read_scores`. Responses that were replaced are left out; one without a score keeps that
    of an earlier run. With `whole_suite` the cases that no run is about are there too, so that the cases of several
    evaluators are the same.
    """
    return _read(evaluators, options, Q(response__superseded_at__isnull=True), whole_suite=whole_suite)


def _read(evaluators: Sequence[RunEvaluator], options: Options, only: Q, *, whole_suite: bool = False) -> SuiteScores:
    newest = evaluators[0]
    is_asked = _every_case if whole_suite else _asked_cases(evaluators)
    cases = tuple(case for case in suite_cases(newest) if case.matches(options) and is_asked(case))
    runs = [evaluator.run_id for evaluator in evaluators]
    named = System.objects.filter(runs__in=runs).distinct().order_by("name", "pk")
    named = named.exclude(name=newest.compared_with)  # a baseline is not compared with itself
    system_ids = options.get("systems")
    if system_ids:
        named, only = named.filter(pk__in=system_ids), only & Q(response__system_id__in=system_ids)
    systems = dict(named.values_list("pk", "name"))
    rows, prompts = {pk: row for row, pk in enumerate(systems)}, _prompt_places(cases)
    attempts = np.concatenate([_attempts(evaluator, rows, prompts, only) for evaluator in evaluators])
    if len(evaluators) > 1:
        attempts = attempts[np.argsort(np.isnan(attempts["share"]), kind="stable")]
        _, firsts = np.unique(attempts["response"], return_index=True)
        attempts = attempts[firsts]
    scores = _suite_scores(newest, cases, systems, _in_order(attempts))
    scores.missing[_without_reply(evaluators, scores)] = False
    if chosen(options, "missing") == "skip":
        return scores
    return replace(
        scores, shares=np.where(scores.missing, np.array([case.null_share for case in cases]), scores.shares)
    )


def _asked_cases(evaluators: Sequence[RunEvaluator]) -> Callable[[CaseFacts], bool]:
    """Return whether one of the runs is about a case: what a run leaves out of its suite is no missing response."""
    parts = [selection_from_json(evaluator.run.options.get("selection") or {}) for evaluator in evaluators]
    if any(part.is_all for part in parts):
        return _every_case
    named = [(frozenset(part.keys), frozenset(part.scenarios)) for part in parts]
    return lambda case: any(
        (not keys or case.key in keys) and (not scenarios or case.scenario in scenarios) for keys, scenarios in named
    )


def _every_case(_case: CaseFacts) -> bool:
    return True


def _without_reply(evaluators: Sequence[RunEvaluator], scores: SuiteScores) -> np.ndarray:
    """Return the cells of which nobody can tell whether a system responds: it was not asked yet, or nobody replied."""
    unknown = np.zeros(scores.shares.shape, dtype=bool)
    runs = {evaluator.run_id for evaluator in evaluators if evaluator.run.asked_systems}
    if not runs:
        return unknown
    rows = {pk: row for row, pk in enumerate(scores.systems)}
    columns: dict[int, list[int]] = {}
    for column, case in enumerate(scores.cases):
        columns.setdefault(case.prompt_id, []).append(column)
    asks = Ask.objects.filter(run__in=runs, response__isnull=True).order_by("stop_reason")  # replies win
    for system_id, prompt_id, stop_reason in asks.values_list("system_id", "case__prompt_id", "stop_reason"):
        if system_id in rows and prompt_id in columns:
            unknown[rows[system_id], columns[prompt_id]] = not stop_reason
    return unknown


def _prompt_places(cases: Sequence[CaseFacts]) -> dict[int, int]:
    return {pk: column for column, pk in enumerate(dict.fromkeys(case.prompt_id for case in cases))}


def _suite_scores(
    evaluator: RunEvaluator, cases: tuple[CaseFacts, ...], systems: dict[int, str], attempts: np.ndarray
) -> SuiteScores:
    """Return the attempts, which are in order, reduced by the rule of the suite; what is missing has no share."""
    prompts = _prompt_places(cases)
    mode = evaluator.run.suite.attempt_reduce_mode
    shares, firsts = _reduced(attempts, len(systems), len(prompts), mode)
    columns = np.array([prompts[case.prompt_id] for case in cases], dtype=np.int64)
    shares, firsts = shares[:, columns], firsts[:, columns]
    return SuiteScores(cases, systems, shares, firsts == 0, firsts, attempts, columns, mode)


def _attempts(evaluator: RunEvaluator, systems: Mapping[int, int], prompts: Mapping[int, int], only: Q) -> np.ndarray:
    """Return the attempts of these systems at these prompts, which are given with their places."""
    fields = ("response__system_id", "response__prompt_id", "response__attempt", "response_id")

    def read(rows: Iterator[tuple[Any, ...]]) -> Iterator[AttemptRow]:
        for system_id, prompt_id, number, response_id, share in rows:
            if system_id in systems and prompt_id in prompts:
                yield systems[system_id], prompts[prompt_id], number, response_id, nan if share is None else share

    scored = Score.objects.filter(only, evaluator=evaluator).values_list(*fields, "share")
    open_tasks = RunTask.objects.filter(only, evaluator=evaluator).exclude(status=TaskStatus.DONE)
    without = open_tasks.annotate(share=Value(None, FloatField())).values_list(*fields, "share")
    scored_attempts, waiting = (
        np.fromiter(read(rows.iterator(chunk_size=CHUNK)), ATTEMPT) for rows in (scored, without)
    )
    return np.concatenate([scored_attempts, waiting[~np.isin(waiting["response"], scored_attempts["response"])]])


def _in_order(attempts: np.ndarray) -> np.ndarray:
    """Return attempts by system, prompt and number."""
    return attempts[np.lexsort((attempts["number"], attempts["prompt"], attempts["system"]))]


def _reduced(attempts: np.ndarray, systems: int, prompts: int, mode: str) -> tuple[Floats, Ints]:
    """Return by system and prompt the share reduced over attempts, and the first response."""
    keys = attempts["system"] * prompts + attempts["prompt"]
    cells, starts, counts = np.unique(keys, return_index=True, return_counts=True)
    reduced = attempts["share"][starts]
    for index in np.flatnonzero(counts > 1):
        shares = attempts["share"][starts[index] : starts[index] + counts[index]]
        reduced[index] = nan if np.isnan(shares).any() else reduce_scores(shares.tolist(), mode).score
    values = np.full(systems * prompts, nan)
    firsts = np.zeros(systems * prompts, dtype=np.int64)
    values[cells] = reduced
    firsts[cells] = attempts["response"][starts]
    shape = (systems, prompts)
    return values.reshape(shape), firsts.reshape(shape)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
