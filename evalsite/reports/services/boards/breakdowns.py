"""A rule grader's points by language, type and metric, per system: mean and deviation over groups of attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evalsite.base.json_types import JsonObject
from evalsite.reports.selectors.criterion_shares import metric_of
from evalsite.reports.selectors.leaderboards import evaluators_with_run
from evalsite.reports.selectors.options import Options
from evalsite.reports.selectors.results.case_scores import CaseFacts, suite_cases
from evalsite.reports.services.boards.leaderboards import LEADERBOARD
from evalsite.reports.services.report_content import ReportContent
from evalsite.reports.services.snapshots import ReportKind
from judging.grading.reports import METRIC_ROWS_NOTE, SHARE_ROWS_NOTE, CaseAttempts, suite_report
from judging.models import RunEvaluator, Score
from judging.selectors.figures import group_size

GROUPED_AS_THE_RUN = "groups-1"  # part of the version: tables of other groups are computed again

Points = dict[str, tuple[float, float]]  # got and total by metric


def compute_breakdown(evaluator_id: int, options: Options) -> ReportContent:
    """Return the rows of the grading report for each system."""
    [evaluator] = evaluators_with_run([evaluator_id])
    cases = suite_cases(evaluator)
    run = evaluator.run
    size = group_size(mode=run.suite.attempt_reduce_mode, compat=bool(run.options.get("compat")))
    tables = []
    for pk, name in evaluator.run.systems.order_by("name", "pk").values_list("pk", "name"):
        points = _points_of(evaluator, pk)
        undecided = [case.key for case in cases if None in points.get(case.prompt_id, [])]
        report = suite_report(_attempts(cases, points), group_size=size)
        rows = [
            {
                "dimension": row.dimension,
                "name": row.name,
                "mean": row.mean,
                "std": row.std,
                "full": row.full_score,
                "share": row.share,
                "cases": row.cases,
            }
            for row in report.rows
        ]
        left_out = [*undecided, *report.left_out]
        tables.append({"system_id": pk, "system": name, "groups": report.groups, "left_out": left_out, "rows": rows})
    is_best_of_all = run.suite.attempt_reduce_mode == "max" and not run.options.get("compat")
    return {
        "group_size": size,
        "is_best_of_all": is_best_of_all,
        "notes": [SHARE_ROWS_NOTE, METRIC_ROWS_NOTE],
        "tables": tables,
    }


def _points_of(evaluator: RunEvaluator, system_id: int) -> dict[int, list[Points | None]]:
    """Return the points of each attempt in order, by prompt; None where an attempt was not decided."""
    scores = (
        Score.objects.filter(evaluator=evaluator, response__system_id=system_id)
        .order_by("response__prompt_id", "response__attempt")
        .values_list("response__prompt_id", "share", "detail")
    )
    points_by_prompt: dict[int, list[Points | None]] = {}
    for prompt_id, share, detail in scores.iterator(chunk_size=2000):
        points_by_prompt.setdefault(prompt_id, []).append(None if share is None else _points(detail))
    return points_by_prompt


def _points(detail: JsonObject) -> Points:
    points: Points = {}
    for criterion in detail.get("criteria", ()):
        points[metric_of(criterion)] = (float(criterion.get("got") or 0.0), float(criterion["total"]))
    return points


def _attempts(cases: list[CaseFacts], points: Mapping[int, list[Points | None]]) -> Iterator[CaseAttempts]:
    for case in cases:
        attempts = points.get(case.prompt_id, [])
        decided = [attempt for attempt in attempts if attempt is not None]
        if len(decided) == len(attempts):
            yield CaseAttempts(
                key=case.key,
                lang=case.lang,
                question_type=case.question_type,
                attempts=decided,
                full_score=case.full_score,
                max_score=case.max_score,
                min_score=case.min_score,
            )


def _data_version(evaluator_id: int, options: Options) -> str:
    return f"{LEADERBOARD.data_version(evaluator_id, options)}.{GROUPED_AS_THE_RUN}"


BREAKDOWN = ReportKind("breakdown", _data_version, LEADERBOARD.rows, compute_breakdown)
