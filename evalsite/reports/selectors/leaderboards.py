"""Which leaderboards there are: suites with scores, and the evaluators to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from judging.models import SCORED_KINDS, Run, RunEvaluator, RunStatus, Suite

CHOICES_SHOWN = 200


@dataclass(frozen=True, slots=True)
class EvaluatorChoices:
    """The newest evaluator of each name, and all of them, newest run first."""

    newest: tuple[RunEvaluator, ...]
    every: tuple[RunEvaluator, ...]

    def pick(self, evaluator_id: str) -> RunEvaluator | None:
        """Return the one asked for, else the default: a real judge or rules before a baseline, then the newest."""
        asked = next((row for row in self.every if str(row.pk) == evaluator_id), None)
        return asked or next(iter(sorted(self.newest, key=lambda row: row.is_baseline)), None)


def scored_suites() -> QuerySet[Suite]:
    """Return suites that a run has scored, the newest first."""
    runs = Run.objects.filter(suite=OuterRef("pk"), kind__in=SCORED_KINDS, done__gt=0)
    return Suite.objects.filter(Exists(runs)).select_related("benchmark").order_by("-created_at", "-pk")


def evaluators_of(suite_ids: Sequence[int]) -> dict[int, EvaluatorChoices]:
    """Return the evaluators with results by suite. A finished run comes before a newer one that is still at work."""
    rows = (
        RunEvaluator.objects.filter(run__suite__in=suite_ids, run__kind__in=SCORED_KINDS, done__gt=0)
        .select_related("run__suite__benchmark")
        .order_by("-run__created_at", "-run_id", "position")[:CHOICES_SHOWN]
    )
    by_suite: dict[int, list[RunEvaluator]] = {suite_id: [] for suite_id in suite_ids}
    for row in rows:
        by_suite[row.run.suite_id].append(row)
    return {suite_id: _choices(found) for suite_id, found in by_suite.items()}


def evaluator_with_run(evaluator_id: int) -> RunEvaluator:
    """Return one evaluator with its run, suite and benchmark loaded. Raises: RunEvaluator.DoesNotExist."""
    return RunEvaluator.objects.select_related("run__suite__benchmark").get(pk=evaluator_id)


def suite_named(name: str) -> Suite | None:
    """Return the suite of this id, or the newest of the benchmark with this slug."""
    suites = Suite.objects.select_related("benchmark").order_by("-number", "-pk")
    if name.isdecimal() and len(name) < 19:
        return suites.filter(pk=int(name)).first()
    return suites.filter(benchmark__slug=name).first() if name else None


def _choices(rows: Sequence[RunEvaluator]) -> EvaluatorChoices:
    newest: dict[str, RunEvaluator] = {}
    for row in sorted(rows, key=lambda row: row.run.status != RunStatus.FINISHED):
        newest.setdefault(row.name, row)
    return EvaluatorChoices(tuple(newest.values()), tuple(rows))
