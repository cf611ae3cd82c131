"""Where a rule grader's scores differ from what the original program would have given, and why."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evalsite.reports.selectors.leaderboards import evaluator_with_run
from evalsite.reports.selectors.options import Options
from evalsite.reports.services.payloads import Payload
from evalsite.reports.services.snapshots import ReportKind
from judging.grading.divergences import RULES
from judging.grading.parity import Difference, ParityReport
from judging.services.evaluation.comparisons import compare_with_original

MOST_LISTED = 500


def compute_differences(evaluator_id: int, options: Options) -> Payload:
    """Return every rule that makes a difference, and the differences themselves; compat runs have none of their own."""
    evaluator = evaluator_with_run(evaluator_id)
    compat = bool(evaluator.run.options.get("compat"))
    report = ParityReport(evaluator.done + evaluator.failed, ()) if compat else compare_with_original(evaluator)
    counts = report.by_code()
    return {
        "compat": compat,
        "compared": report.compared,
        "count": len(report.differences),
        "unexplained": len(report.unexplained),
        "rules": [asdict(RULES[code]) | {"differences": counts[code]} for code in sorted(counts) if code in RULES],
        "listed": [_entry(difference) for difference in report.differences[:MOST_LISTED]],
    }


def _entry(difference: Difference) -> dict[str, Any]:
    return asdict(difference) | {"codes": list(difference.codes)}


def _mark(evaluator_id: int, options: Options) -> str:
    evaluator = evaluator_with_run(evaluator_id)
    return f"{evaluator.run.status}.{evaluator.done}.{evaluator.failed}.{evaluator.run.finished_at}"


def _rows(evaluator_id: int, options: Options) -> int:
    evaluator = evaluator_with_run(evaluator_id)
    return evaluator.done + evaluator.failed


DIFFERENCES = ReportKind("differences", _mark, _rows, compute_differences)
