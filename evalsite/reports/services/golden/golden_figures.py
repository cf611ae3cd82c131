"""Versions of judges against people on the parts of a golden set."""

from __future__ import annotations

from evalsite.reports.selectors.data_versions import work_version
from evalsite.reports.selectors.judges.golden_tests import as_audited
from evalsite.reports.selectors.options import Options
from evalsite.reports.services.judges.judge_records import rows_of_judge
from evalsite.reports.services.judges.judge_trust import figures_against_people
from evalsite.reports.services.report_content import ReportContent
from evalsite.reports.services.snapshots import ReportKind
from evalsite.review.models import GoldenRun, GoldenSet
from evalsite.review.sampling import GoldenPart
from evalsite.review.selectors.golden.golden_verdicts import GoldenVersion, golden_answers, golden_versions
from judging.judges.replies.reply_rows import record_of
from judging.judges.versions import changes_between
from judging.selectors.judges.judge_versions import versions_of


def compute_golden(subject_id: int, options: Options) -> ReportContent:
    """Return the versions on development, and on the test those that it was opened for."""
    golden_set = GoldenSet.objects.get(pk=subject_id)
    return {
        "development": _versions(golden_set, GoldenPart.DEVELOPMENT),
        "test": _versions(golden_set, GoldenPart.TEST),
    }


def _versions(golden_set: GoldenSet, part: GoldenPart) -> list[ReportContent]:
    versions = golden_versions(golden_set, part)
    evaluators = [version.evaluator for version in versions]
    answers = golden_answers(golden_set, part, evaluators)
    rows = rows_of_judge(evaluators)
    judge_versions = versions_of(evaluators)
    openings = list(golden_set.runs.filter(part=GoldenPart.TEST).order_by("pk").values_list("pk", flat=True))
    rows_shown = []
    for index, version in enumerate(versions):
        spent = record_of([rows[version.evaluator.pk]]).spent
        before = versions[index + 1] if index + 1 < len(versions) else None
        cost, total = spent.known_cost, version.evaluator.total
        key = version.evaluator.pk
        changes = changes_between(judge_versions[before.evaluator.pk], judge_versions[key]) if before else ()
        rows_shown.append(
            _about(version, version.golden_run)
            | figures_against_people(as_audited(answers[version.evaluator.pk]))
            | {
                "changes": list(changes),
                "cost": cost,
                "cost_per_verdict": cost / total if cost is not None and total else None,
                "seconds_mean": spent.seconds_mean,
                "seconds_p95": spent.seconds_p95,
                "opened_before": openings.index(version.golden_run.pk) if part == GoldenPart.TEST else None,
            }
        )
    return rows_shown


def _about(version: GoldenVersion, golden_run: GoldenRun) -> ReportContent:
    evaluator = version.evaluator
    return {
        "key": version.key,
        "name": evaluator.name,
        "evaluator_id": evaluator.pk,
        "judge_id": evaluator.judge_id,
        "run_id": evaluator.run_id,
        "at": golden_run.started_at.isoformat(),
        "by": str(golden_run.started_by) if golden_run.started_by is not None else "",
    }


def _data_version(subject_id: int, options: Options) -> str:
    moved = GoldenSet.objects.get(pk=subject_id).items.filter(moved_at__isnull=False).count()
    return f"{work_version()}.{moved}"


def _rows(subject_id: int, options: Options) -> int:
    return sum(
        golden_run.run.done for golden_run in GoldenRun.objects.filter(golden_set=subject_id).select_related("run")
    )


GOLDEN = ReportKind("golden-set", _data_version, _rows, compute_golden)
