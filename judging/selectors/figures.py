"""Reads the results of a run in numbers: the suite's table for rule graders, means for judges."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import fmean, stdev

from evalsite.base.types import JsonObject
from judging.grading.reports import (
    CaseAttempts,
    Points,
    ReportRow,
    SuiteReport,
    metric_points,
    reduce_scores,
    suite_report,
)
from judging.models import SCORED_KINDS, Ask, Case, EvaluatorKind, Run, RunEvaluator, Score, Suite, System, TaskStatus
from judging.selectors.benchmarks import case_filters
from judging.selectors.runs import tasks_of
from judging.specs.selections import selection_from_json

ORIGINAL_GROUP = 10  # attempts whose best counts, in the original program's table
Clip = tuple[float, float]
_AVG_MAX = re.compile(r"avg_max_([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Figures:
    """One system's results by one grader or judge. Rows of rule graders count points, those of judges shares."""

    evaluator: str
    system: str
    is_baseline: bool
    scored: int  # responses with a score
    unscored: int  # responses without one; they count nowhere
    rows: tuple[ReportRow, ...]
    left_out: tuple[str, ...] = ()  # cases without a figure, by key


def run_figures(run: Run) -> list[Figures]:
    """Return the figures of every grader and judge, system by system."""
    systems, cases = list(run.systems.order_by("name")), run_cases(run)
    return [
        _figures_of(evaluator, system, cases)
        for evaluator in run.evaluators.select_related("rubric").order_by("position")
        for system in systems
    ]


def run_cases(run: Run) -> list[Case]:
    """Return the cases that a run is about in their order: what it leaves out of its suite is no missing response."""
    part = case_filters(selection_from_json(run.options.get("selection") or {}))
    return list(Case.objects.filter(links__suite=run.suite_id, **part).order_by("links__position"))


def _figures_of(evaluator: RunEvaluator, system: System, cases: Sequence[Case]) -> Figures:
    by_prompt = _shares_by_prompt(evaluator, system.pk)
    shares = [share for prompt_shares in by_prompt.values() for share in prompt_shares]
    complete = sum(share is not None for share in shares)
    head = (evaluator.name, system.name, evaluator.is_baseline, complete, len(shares) - complete)
    if system.name == evaluator.compared_with:  # a baseline is not compared with itself
        return Figures(*head, ())
    if evaluator.kind != EvaluatorKind.GRADER or evaluator.imported_from:
        return Figures(*head, *_judge_rows(evaluator, cases, by_prompt))
    report = rule_report(evaluator, system_id=system.pk, cases=cases)
    return Figures(*head, report.rows, report.left_out)


def clip_of(evaluator: RunEvaluator) -> Clip | None:
    """Return the range to which the evaluator's rubric cuts the mean over a benchmark, never one item; None: none."""
    clip = evaluator.rubric.benchmark_aggregate.get("clip") if evaluator.rubric is not None else None
    return (float(clip[0]), float(clip[1])) if clip else None


def _shares_by_prompt(evaluator: RunEvaluator, system_id: int) -> dict[int, list[float | None]]:
    """Return the shares of a system's attempts in their order; None: one waits, failed or has no score.

    So is a case that the system was not asked for yet, or to which it never replied.
    """
    scores = Score.objects.filter(evaluator=evaluator, response__system=system_id)
    fields = ("response__attempt", "response_id", "response__prompt_id")
    open_tasks = tasks_of(evaluator).filter(response__system=system_id).exclude(status=TaskStatus.DONE)
    attempts: dict[tuple[int, int, int], float | None] = dict.fromkeys(open_tasks.values_list(*fields))
    attempts |= {(number, pk, prompt): share for number, pk, prompt, share in scores.values_list(*fields, "share")}
    by_prompt: dict[int, list[float | None]] = defaultdict(list)
    for (_, _, prompt_id), share in sorted(attempts.items(), key=lambda attempt: attempt[0]):
        by_prompt[prompt_id].append(share)
    asks = Ask.objects.filter(run=evaluator.run_id, system=system_id, response=None).order_by("-stop_reason")
    for prompt_id, reason in asks.values_list("case__prompt_id", "stop_reason"):  # replies first: they win
        by_prompt.setdefault(prompt_id, [] if reason else [None])
    return by_prompt


def group_size(*, mode: str, compat: bool) -> int:
    """Return how many attempts make a group whose best counts: as the suite says, or always ten as the original did."""
    if compat:
        return ORIGINAL_GROUP
    if grouped := _AVG_MAX.fullmatch(mode):
        return int(grouped[1])
    return 10**9 if mode == "max" else 1


def rule_report(evaluator: RunEvaluator, *, system_id: int, cases: Sequence[Case]) -> SuiteReport:
    """Return the table of a rule grader for one system; cases without rules, or a score of an attempt, are left out. A
    system none of whose responses was scored has no rows.

    A log has scores and no points by metric, and is about the cases that it has: its rows are those of judges.
    """
    run = evaluator.run
    if evaluator.imported_from:
        rows, left_out = _judge_rows(evaluator, cases, _shares_by_prompt(evaluator, system_id))
        return SuiteReport(rows, 1, left_out)
    scores = Score.objects.filter(evaluator=evaluator, response__system=system_id).order_by("response__attempt", "pk")
    by_prompt: dict[int, list[Points | None]] = defaultdict(list)
    stored = scores.filter(share__isnull=False).values_list("response__prompt_id", "detail")
    for prompt_id, detail in stored.iterator(chunk_size=2000):
        by_prompt[prompt_id].append(metric_points(detail.get("criteria", ())))
    for prompt_id, shares in _shares_by_prompt(evaluator, system_id).items():
        by_prompt[prompt_id] += [None] if None in shares else []
    graded, ungraded = list[CaseAttempts](), list[str]()
    compat = bool(run.options.get("compat"))
    for case in cases:
        attempts = by_prompt.get(case.prompt_id, [])
        decided = [points for points in attempts if points is not None]
        if run.suite.attempt_reduce_mode == "min" and not compat:
            decided = sorted(decided, key=lambda points: sum(got for got, _ in points.values()))[:1]
        if None in attempts or not (attempts or case.grading):
            ungraded.append(case.key)
        else:
            graded.append(_attempts(case, decided, suite=run.suite))
    if not any(case.attempts for case in graded):
        graded, ungraded = [], [case.key for case in cases]
    size = group_size(mode=run.suite.attempt_reduce_mode, compat=compat)
    report = suite_report(graded, group_size=size, compat=compat)
    return replace(report, left_out=(*ungraded, *report.left_out))


def _attempts(case: Case, attempts: Sequence[Points], *, suite: Suite) -> CaseAttempts:
    full_score, null_score = suite.points(case.full_score, case.null_score)
    return CaseAttempts(
        key=case.key,
        lang=case.lang,
        question_type=case.question_type,
        attempts=attempts,
        full_score=full_score,
        max_score=_bound(case.grading, "max_score"),
        min_score=_bound(case.grading, "min_score"),
        null_score=null_score,
    )


def _bound(grading: JsonObject, name: str) -> float | None:
    value = grading.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _judge_rows(
    evaluator: RunEvaluator, cases: Sequence[Case], by_prompt: Mapping[int, Sequence[float | None]]
) -> tuple[tuple[ReportRow, ...], tuple[str, ...]]:
    """Return means of shares over cases, as boards have them, with the deviation between cases, and what is left out.

    A case without a response has its null score, but where no response of the system has a score; a log is about its
    own cases, and a trial, anchors and golden sets about the responses that were chosen.
    """
    suite, (low, high) = evaluator.run.suite, clip_of(evaluator) or (-inf, inf)
    has_own_cases = evaluator.imported_from or evaluator.run.kind not in SCORED_KINDS
    is_unread = {share for shares in by_prompt.values() for share in shares} == {None}
    shares, left_out = defaultdict[tuple[str, str], list[float]](list), list[str]()
    for case in cases:
        attempts = by_prompt.get(case.prompt_id, ())
        decided = [share for share in attempts if share is not None]
        if not attempts and has_own_cases:
            continue
        if is_unread or len(decided) < len(attempts):
            left_out.append(case.key)
            continue
        full, null = suite.points(case.full_score, case.null_score)
        share = reduce_scores(decided, suite.attempt_reduce_mode)[0] if decided else null / full if full else 0.0
        for row in (("overall", ""), ("language", case.lang), ("type", case.question_type)):
            shares[row].append(share)
    rows = (
        ReportRow(*key, min(max(fmean(values), low), high), stdev(values) if len(values) > 1 else 0.0, 1.0, len(values))
        for key, values in shares.items()
    )
    return tuple(rows), tuple(left_out)
