"""Facts of runs as commands and the API show them."""

from __future__ import annotations

from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import Count

from evalsite.base.actions.declarations import columns
from evalsite.base.formats import ScoreScale, number, percent
from evalsite.base.types import JsonDict, JsonObject, Refused
from judging.grading.reports import ReportRow
from judging.models import EvaluatorKind, Response, Run, RunKind, Score, TaskStatus
from judging.selectors.runs import Figures, run_figures, verdict_of_run
from judging.specs.people_choices import AskedWork

if TYPE_CHECKING:
    from judging.services.runs.people_costs import PeopleCost
    from judging.services.runs.run_plans import PromptPreview


run_facts = columns(  # how far a run is and what it cost; its suite and tags are read beforehand
    *("pk as run", "name", "kind", "suite", "status", "status_reason", "resume_at", "archived_at"),
    *("total", "done", "failed", "calls_made", "calls_reused", "spent", "budget"),
    *("unpriced_calls", "unheard_calls", "unheard"),
    tags=lambda run: sorted(tag.name for tag in run.tags.all()),
)


def run_report(run_id: int, *, with_figures: bool) -> JsonDict:
    """Return how far a run is, what failed and what it cost, and on request what came out of it."""
    run = Run.objects.select_related("suite__benchmark").get(pk=run_id)
    failed = run.tasks.filter(status=TaskStatus.FAILED).order_by().values_list("failure_kind").annotate(n=Count("pk"))
    report = run_facts(run) | {"failures": dict(failed)}
    if with_figures:
        from judging.selectors.judges import score_scales_of

        judges = [row for row in run.evaluators.all() if row.kind != EvaluatorKind.GRADER or row.imported_from]
        scales = score_scales_of(judges)
        by_name = {judge.name: scales[judge.pk] for judge in judges}
        report["figures"] = [_shown(figures, by_name.get(figures.evaluator)) for figures in run_figures(run)]
        if run.kind == RunKind.SINGLE:
            report["verdict"] = _verdict(run)
    return report


def _verdict(run: Run) -> JsonDict | None:
    """Return the one verdict of a trial, and its score; None where the judge was not asked."""
    verdict = verdict_of_run(run)
    if verdict is None:
        return None
    from judging.selectors.judges import score_scale_of

    names = ("id", "status", "value", "rationale", "reason", "flags", "votes")
    score: Score | None = getattr(verdict, "score", None)
    share = score.share if score is not None else None
    return {name: getattr(verdict, name) for name in names} | {
        "response": verdict.response_id,
        "score": score.value if score else None,
        "full": score.full if score else None,
        "shown": None if share is None else score_scale_of(verdict.evaluator).whole_words(share),
        "calls": len(verdict.call_ids),
    }


def preview_report(preview: PromptPreview, response: Response) -> JsonDict:
    """Return what a judge would send about a response. Raises: Refused: it could not be sent."""
    if preview.problem:
        raise Refused(preview.problem)
    return {
        "response": response.pk,
        "compared_with": preview.other_system or None,
        "asked_in_both_orders": preview.asks_twice,
        "characters": preview.characters,
        "messages": preview.messages,
    }


def _shown(figures: Figures, scale: ScoreScale | None) -> JsonDict:
    """Return the figures of one system as numbers of its judge's scale, or points of rules, and as pages show them."""
    if scale is None:
        return asdict(figures) | {"rows": [asdict(row) | {"shown": _points(row)} for row in figures.rows]}
    rows = [
        asdict(row)
        | {
            "mean": scale.number(row.mean),
            "std": scale.differences.number(row.std) if row.cases > 1 else None,
            "full_score": scale.highest,
            "shown": _mean_words(row, scale),
        }
        for row in figures.rows
    ]
    return asdict(figures) | {"rows": rows}


def _mean_words(row: ReportRow, scale: ScoreScale) -> str:
    mean = f"{scale.words(row.mean)}{scale.of_top} over {row.cases} case"
    if row.cases == 1:
        return mean
    deviation, error = (scale.differences.words(value) for value in (row.std, row.std / row.cases**0.5))
    return f"{mean}s, standard deviation {deviation}, standard error {error}"


def _points(row: ReportRow) -> str:
    """Return the points of a row of rules, and their share, as in the breakdown of a leaderboard."""
    share = "" if row.share is None else f", {percent(row.share)}"
    return f"{number(row.mean, 2)} ± {number(row.std, 2)} of {number(row.full_score, 2)} points{share}"


def audit_report(cost: PeopleCost | None) -> dict[str, float | str | None]:
    """Return what people are asked when a run ends: by the audit, and in all, at most and as expected."""
    work = cost.work if cost is not None else AskedWork(0, 0)
    return {
        "audit_cases": cost.cases if cost is not None else 0,
        "audit_annotations_at_most": cost.annotations if cost is not None else 0,
        "annotations_at_most": work.most,
        "annotations_expected": work.expected,
        "expected_from": work.basis,
        "people_seconds_at_most": work.most_seconds,
        "people_seconds_per_annotation": work.pace.words,
    }


def dollars(amount: Decimal | None) -> str | None:
    """Return what an estimate tells programs of an amount in USD; None where it is unknown."""
    return None if amount is None else f"{amount:.6f}"


estimate_report = columns(  # what a run would ask and cost
    *("tasks", "calls", "reused as calls_already_made", "prompt_tokens", "unpriced", "seconds"),
    "unseen as responses_judged_without_images",
    cost=lambda estimate: dollars(estimate.cost),
    most_cost=lambda estimate: dollars(estimate.most),
    cannot_be_asked=lambda estimate: {
        part.name: {"responses": part.not_possible, "sample": part.sample}
        for part in estimate.evaluators
        if part.not_possible
    },
    judges_without_images=lambda estimate: list(estimate.blind) if estimate.unseen else [],
)


def in_lines(report: JsonDict) -> str:
    """Return a report as lines for people."""
    lines = [
        f"Run {report['run']}, {report['name']}: {report['status']}"
        + (f" ({report['status_reason']})" if report["status_reason"] else "")
        + (f", next attempt at {report['resume_at']}" if report["resume_at"] else ""),
        f"  {report['done']} of {report['total']} tasks done, {report['failed']} failed"
        + "".join(f", {count} {kind}" for kind, count in sorted(report["failures"].items())),
        f"  {report['calls_made']} calls made, {report['calls_reused']} reused, {report['spent']} USD spent"
        + (f", {report['unpriced_calls']} calls of unknown price" if report["unpriced_calls"] else "")
        + (
            f", {report['unheard_calls']} calls without a known result, at most {report['unheard']} USD more"
            if report["unheard_calls"]
            else ""
        ),
    ]
    for figures in report.get("figures", []):
        lines += _figure_lines(figures)
    return "\n".join(lines)


def _figure_lines(figures: JsonObject) -> list[str]:
    if not figures["rows"] and not figures["left_out"]:  # a judge's own baseline
        return []
    baseline = ", a baseline and not a language model" if figures["is_baseline"] else ""
    unscored = f", {figures['unscored']} without score" if figures["unscored"] else ""
    head = f"{figures['system']} by {figures['evaluator']}{baseline}: {figures['scored']} scored{unscored}"
    rows = [row for row in figures["rows"] if row["name"] or row["dimension"] == "overall"]
    left_out = figures["left_out"][:20]
    width = max(len(row["name"]) for row in rows) + 2 if rows else 0
    return [
        head,
        *(f"  {row['dimension']:<9}{row['name']:<{width}}{row['shown']}" for row in rows),
        *([f"  without a figure: {', '.join(left_out)}"] if left_out else []),
    ]
