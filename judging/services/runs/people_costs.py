"""The annotations that a run will request when it ends. The app that requests them registers the computation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.db.models import Count

from judging.services.runs.ask_plans import count_asked_prompts
from judging.services.runs.run_plans import RunPlan, with_drawn_cases


@dataclass(frozen=True, slots=True)
class PeopleCost:
    """The random audit that a run draws at its end, in the cases drawn and the annotations that they take."""

    cases: int
    population: int  # cases
    subjects: int  # responses under criteria, or debates, that people are asked about
    annotations: int  # at most: what has its label is not asked again
    seconds: float | None  # of people's time; None while nobody's time per annotation is known

    @property
    def words(self) -> str:
        """The cost in one sentence."""
        if not self.cases:
            return "No case is drawn for the random audit."
        return (
            f"The random audit draws {self.cases:,} of {self.population:,} cases when the run ends and needs "
            f"at most {self.annotations:,} annotations, in addition to results that judges and rules leave open."
        )


# of cases, subjects, the share to draw (None: the benchmark's or the site's) and the benchmark
Quote = Callable[[int, int, float | None, int | None], PeopleCost]
_quotes: list[Quote] = []


def use_people_quote(quote: Quote) -> None:
    """Work out by this from now on what people are asked."""
    _quotes[:] = [quote]


def people_cost(
    *, cases: int, subjects: int, share: float | None = None, benchmark_id: int | None = None
) -> PeopleCost | None:
    """Return what the audit of so many cases, which come to so many subjects, asks of people; None: nobody asks any."""
    return _quotes[0](cases, subjects, share, benchmark_id) if _quotes and cases else None


def people_cost_of_plan(plan: RunPlan) -> PeopleCost | None:
    """Return the same for a run that is to be; None where it sends nothing to people."""
    criteria = len({plan.criterion_of(choice) for choice in plan.evaluators})
    if not plan.asks_people or not criteria:
        return None
    if plan.esi is not None and plan.workers:
        cases, count = plan.suite.case_count, plan.response_count
    elif plan.asks is not None:
        plan = with_drawn_cases(plan)
        cases, count = count_asked_prompts(suite=plan.suite, selection=plan.selection), plan.response_count
    else:
        responses = with_drawn_cases(plan).responses.order_by()
        counted = responses.aggregate(cases=Count("prompt__key", distinct=True), responses=Count("pk", distinct=True))
        cases, count = counted["cases"], counted["responses"]
    return people_cost(
        cases=cases, subjects=count * criteria, share=plan.audit_share, benchmark_id=plan.suite.benchmark_id
    )


def total_cost(costs: Iterable[PeopleCost | None]) -> PeopleCost | None:
    """Return what several sets ask together; None where none asks anything."""
    actual_costs = [cost for cost in costs if cost is not None]
    if not actual_costs:
        return None
    seconds = [cost.seconds for cost in actual_costs if cost.seconds is not None]
    return PeopleCost(
        cases=sum(cost.cases for cost in actual_costs),
        population=sum(cost.population for cost in actual_costs),
        subjects=sum(cost.subjects for cost in actual_costs),
        annotations=sum(cost.annotations for cost in actual_costs),
        seconds=sum(seconds) if len(seconds) == len(actual_costs) else None,
    )
