"""What a run asks of people when it ends, said before it starts. Whoever asks them registers how that is worked out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.db.models import Count

from judging.judges.kinds.esi_items import JUDGES
from judging.services.runs.esi_plans import EsiPlan
from judging.services.runs.run_plans import RunPlan, responses_of, with_drawn_cases


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
            f"The random audit draws {self.cases:,} of {self.population:,} cases when the run ends and asks people for "
            f"at most {self.annotations:,} annotations, besides what judges and rules leave open."
        )


Quote = Callable[[int, int, float | None], PeopleCost]  # of cases, subjects, and the share to draw; None: the site's
_quotes: list[Quote] = []


def use_people_quote(quote: Quote) -> None:
    """Work out by this from now on what people are asked."""
    _quotes[:] = [quote]


def people_cost(*, cases: int, subjects: int, share: float | None = None) -> PeopleCost | None:
    """Return what the audit of so many cases, which come to so many subjects, asks of people; None: nobody asks any."""
    return _quotes[0](cases, subjects, share) if _quotes and cases else None


def people_cost_of_plan(plan: RunPlan) -> PeopleCost | None:
    """Return the same for a run that is to be; None where it sends nothing to people."""
    if not plan.asks_people:
        return None
    responses = with_drawn_cases(plan).responses.order_by()
    counted = responses.aggregate(cases=Count("prompt__key", distinct=True), responses=Count("pk", distinct=True))
    criteria = len({choice.criterion for choice in plan.evaluators})
    return people_cost(cases=counted["cases"], subjects=counted["responses"] * criteria, share=plan.audit_share)


def people_cost_of_esi_plan(plan: EsiPlan) -> PeopleCost | None:
    """Return the same for an ESI run that is to be, of which people are asked both judges' questions."""
    cases = plan.suite.case_count
    items = cases * len(plan.workers)
    if plan.systems:
        responses = responses_of(suite=plan.suite, systems=plan.systems, first_attempts=None).order_by()
        counted = responses.aggregate(cases=Count("prompt__key", distinct=True), items=Count("pk", distinct=True))
        cases, items = counted["cases"], counted["items"]
    return people_cost(cases=cases, subjects=items * len(JUDGES))


def total_cost(costs: Iterable[PeopleCost | None]) -> PeopleCost | None:
    """Return what several sets ask together; None where none asks anything."""
    known = [cost for cost in costs if cost is not None]
    if not known:
        return None
    seconds = [cost.seconds for cost in known if cost.seconds is not None]
    return PeopleCost(
        cases=sum(cost.cases for cost in known),
        population=sum(cost.population for cost in known),
        subjects=sum(cost.subjects for cost in known),
        annotations=sum(cost.annotations for cost in known),
        seconds=sum(seconds) if len(seconds) == len(known) else None,
    )
