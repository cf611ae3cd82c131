"""Say where the grades of a run differ from the original program's, and which rule accounts for each difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from judging.grading.divergences import RULES
from judging.grading.parity import Difference, ParityReport
from judging.management.base import BadInput, JsonCommand
from judging.models import EvaluatorKind, RunEvaluator
from judging.services.evaluation.comparisons import (
    UnreadableRecord,
    compare_runs,
    compare_with_original,
    compare_with_results,
)

LINES_PRINTED = 100


class Command(JsonCommand):
    """compare_grades --run ID [--expected FILE ... | --other-run ID]"""

    help = (
        "Compare a run's rule grades by case and criterion: with recorded results of the original program, with "
        "another run, or (without either) with what compat mode gives for the same responses. Exit 1 where a "
        "difference is not accounted for by a rule."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--run", type=int, required=True, help="id of the run")
        parser.add_argument("--expected", type=Path, nargs="+", default=[], help="recorded results, JSON Lines")
        parser.add_argument("--other-run", type=int, help="id of a run graded with compat")

    def handle(self, *args: Any, **options: Any) -> None:
        self.unexplained = 0
        super().handle(*args, **options)
        if self.unexplained:
            raise CommandError(f"{self.unexplained} differences are not accounted for by any rule.", returncode=1)

    def run(self, **options: Any) -> dict[str, Any]:
        """Return what was compared and every difference."""
        evaluator = _grader_of(options["run"])
        about = {"run": options["run"], "compat": bool(evaluator.run.options.get("compat"))}
        if options["expected"]:
            try:
                found = compare_with_results(evaluator, _lines(options["expected"]))
            except UnreadableRecord as error:
                raise BadInput(str(error)) from error
            about |= {"cases": found.cases, "skipped": found.skipped, "missing": found.missing}
            report = found.report
        elif options["other_run"]:
            report = compare_runs(evaluator, _grader_of(options["other_run"]))
        else:
            report = compare_with_original(evaluator)
        self.unexplained = len(report.unexplained)
        return about | _as_json(report)

    def summary(self, result: dict[str, Any]) -> str:
        """Return the differences, the rules that account for them, and the sums."""
        lines = [entry["says"] for entry in result["differences"][:LINES_PRINTED]]
        more = len(result["differences"]) - len(lines)
        lines += [f"... and {more} more; --json lists all."] if more else []
        lines += [
            f"{rule['code']} {rule['title']}: {rule['differences']} differences. InfiBench: {rule['original']} "
            f"Here: {rule['default']}"
            for rule in result["rules"]
        ]
        if "cases" in result:
            lines.append(f"{result['cases']} cases, {result['missing']} results without a score in the run.")
        lines.append(
            f"{result['compared']} attempts compared, {len(result['differences'])} differences, "
            f"{result['unexplained']} not accounted for."
        )
        return "\n".join(lines)


def _as_json(report: ParityReport) -> dict[str, Any]:
    counts = report.by_code()
    rules = [asdict(RULES[code]) | {"differences": counts[code]} for code in sorted(counts) if code in RULES]
    return {
        "compared": report.compared,
        "unexplained": len(report.unexplained),
        "rules": rules,
        "differences": [_entry(difference) for difference in report.differences],
    }


def _entry(difference: Difference) -> dict[str, Any]:
    return asdict(difference) | {"says": str(difference)}


def _grader_of(run_id: int) -> RunEvaluator:
    found = RunEvaluator.objects.select_related("run__suite").filter(run_id=run_id, kind=EvaluatorKind.GRADER).first()
    if found is None:
        raise BadInput(f"There is no run {run_id} with rule graders.")
    return found


def _lines(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        try:
            yield from path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{path}: cannot be read: {error}.") from error
