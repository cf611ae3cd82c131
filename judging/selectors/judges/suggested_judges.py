"""Which judges and rubrics a new run of a suite most likely needs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import F, Max, Q

from judging.judges.registry import COMPARING
from judging.models import EvaluatorKind, Judge, Rubric, Run, RunEvaluator, RunKind, Suite
from judging.selectors.endpoints import active_judges
from judging.selectors.judges.judge_needs import is_baseline, needs_of, needs_rubric, uses_rubric


@dataclass(frozen=True, slots=True)
class SuggestedJudges:
    """Keys of judges, and of the rubrics that they need."""

    judges: tuple[int, ...] = ()
    rubrics: tuple[int, ...] = ()


def suggest_judges(*, suite: Suite, rubric_ids: Collection[int] = ()) -> SuggestedJudges:
    """Return the judges that last judged this suite, else its benchmark, with the newest versions of their rubrics.

    Where none has, it is the judge used last anywhere whose needs are met: by `rubric_ids`, which were just imported,
    or by the rubrics and references that there are. Nothing, where rules grade the suite and no rubric was imported.
    """
    new = list(Rubric.objects.filter(pk__in=rubric_ids))
    last = _last_evaluators(Q(suite=suite)) or _last_evaluators(Q(suite__benchmark=suite.benchmark))
    if last:
        shapes = {rubric.shape for rubric in new}
        slugs = {
            evaluator.rubric.slug
            for evaluator in last
            if evaluator.rubric is not None and evaluator.rubric.shape not in shapes
        }
        judges = [evaluator.judge for evaluator in last if evaluator.judge is not None]
        return _paired(judges, [*new, *(rubric for slug in sorted(slugs) if (rubric := _newest(slug)))])
    if not new and suite.cases.exclude(grading={}).exists():
        return SuggestedJudges()
    rubrics = new or list(Rubric.objects.filter(benchmark=suite.benchmark).order_by("-pk")[:1])
    has_references = suite.cases.exclude(reference="").exists()
    fitting = [judge for judge in _judges_by_use() if _fits(judge, rubrics, has_references, is_asked=bool(new))]
    return _paired(fitting[:1], rubrics)


def _last_evaluators(of: Q) -> list[RunEvaluator]:
    """Return the judges still in use of the newest run that had any."""
    chosen = RunEvaluator.objects.filter(kind=EvaluatorKind.JUDGE, judge__in=active_judges())
    runs = Run.objects.filter(of, kind=RunKind.GRADING, archived_at__isnull=True, evaluators__in=chosen)
    run = runs.order_by("-pk").first()
    return list(chosen.filter(run=run).select_related("judge", "rubric").order_by("position")) if run else []


def _newest(slug: str) -> Rubric | None:
    return Rubric.objects.filter(slug=slug).order_by("-version").first()


def _judges_by_use() -> list[Judge]:
    """Return the judges that may be asked about one response: models before baselines, the one used last first."""
    by_use = F("used").desc(nulls_last=True)
    judges = active_judges().exclude(kind__in=COMPARING).annotate(used=Max("evaluators__pk")).order_by(by_use, "pk")
    return sorted(judges, key=is_baseline)


def _fits(judge: Judge, rubrics: Collection[Rubric], has_references: bool, *, is_asked: bool) -> bool:
    """Return whether a judge's needs are met; where a rubric was just imported, it must be one that uses it."""
    if "reference" in needs_of(judge) and not has_references:
        return False
    if not needs_rubric(judge):
        return not is_asked
    return any(uses_rubric(judge, rubric) for rubric in rubrics)


def _paired(judges: Collection[Judge], rubrics: Collection[Rubric]) -> SuggestedJudges:
    """Return judges with the rubrics that one of them uses; the form refuses others."""
    used = [rubric.pk for rubric in rubrics if any(uses_rubric(judge, rubric) for judge in judges)]
    return SuggestedJudges(
        tuple(dict.fromkeys(judge.pk for judge in judges)),
        tuple(dict.fromkeys(used)),
    )
