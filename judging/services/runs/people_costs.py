"""The annotations that a run or a set of debates will request. The app that requests them registers the computation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Count

from judging.specs.people_choices import AskedPeople, AskedWork

if TYPE_CHECKING:  # an app above registers its computation at every start, and few processes plan runs
    from judging.services.runs.run_plans import EvaluatorChoice, RunPlan


@dataclass(frozen=True, slots=True)
class PeopleQuestion:
    """What is to be judged or debated, as far as it tells what people could be asked."""

    choice: AskedPeople
    cases: int
    subjects: int  # responses under criteria, or debates
    share: float | None = None  # of the cases, drawn for the audit; None: the benchmark's or the site's
    benchmark_id: int | None = None
    is_pair: bool = False  # whether people compare two responses
    evaluators: Sequence[EvaluatorChoice] = ()  # of a run
    responses: int = 0  # that each of these judges
    agents: Sequence[str] = ()  # names of the endpoints of debates


@dataclass(frozen=True, slots=True)
class PeopleCost:
    """What people are asked when a run or a set of debates ends: the audit, and what machines leave open."""

    choice: AskedPeople
    cases: int  # drawn for the audit
    population: int  # cases
    subjects: int  # responses under criteria, or debates, that the audit draws
    annotations: int  # of the audit, at most: what has its label is not asked again
    work: AskedWork  # all together

    @property
    def words(self) -> str:
        """The cost in one sentence."""
        audit = (
            f"{self.annotations:,} of them for the random audit of {self.cases:,} of {self.population:,} cases"
            if self.cases
            else "none of them for a random audit"
        )
        rest = ", the others for results left open" if self.choice is AskedPeople.OPEN else ""
        return f"People are asked for {self.work.numbers}. At most {audit}{rest}."


Quote = Callable[[PeopleQuestion], PeopleCost]
_quotes: list[Quote] = []


def use_people_quote(quote: Quote) -> None:
    """Work out by this from now on what people are asked."""
    _quotes[:] = [quote]


def people_cost(question: PeopleQuestion) -> PeopleCost | None:
    """Return what people are asked; None: nobody is asked anything."""
    is_nobody = question.choice is AskedPeople.NOBODY
    return _quotes[0](question) if _quotes and question.cases and not is_nobody else None


def people_cost_of_plan(plan: RunPlan) -> PeopleCost | None:
    """Return the same for a run that is to be; None where it sends nothing to people."""
    from judging.services.runs.run_plans import count_asked_prompts, with_drawn_cases

    criteria = len({plan.criterion_of(choice) for choice in plan.evaluators})
    if plan.people is AskedPeople.NOBODY or not criteria:
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
    question = PeopleQuestion(
        choice=plan.people,
        cases=cases,
        subjects=count * criteria,
        share=plan.audit_share,
        benchmark_id=plan.suite.benchmark_id,
        is_pair=bool(plan.baseline),
        evaluators=plan.evaluators,
        responses=count,
    )
    return people_cost(question)


def check_agreed(cost: PeopleCost | None, agreed: int | None, *, how: str) -> None:
    """Pass unless more than a day of people's work is asked for that nobody has agreed to; see `AskedWork`.

    Raises:
        PeopleNotAsked: says what it takes, and `how` to agree.
    """
    if cost is not None:
        cost.work.check_agreed(agreed, how=how)


def total_cost(costs: Iterable[PeopleCost | None]) -> PeopleCost | None:
    """Return what several sets ask together; None where none asks anything."""
    actual = [cost for cost in costs if cost is not None]
    if not actual:
        return None
    expected = [cost.work.expected for cost in actual if cost.work.expected is not None]
    work = AskedWork(
        most=sum(cost.work.most for cost in actual),
        expected=sum(expected) if len(expected) == len(actual) else None,
        basis=actual[0].work.basis,
        pace=actual[0].work.pace,
    )
    return PeopleCost(
        choice=actual[0].choice,
        cases=sum(cost.cases for cost in actual),
        population=sum(cost.population for cost in actual),
        subjects=sum(cost.subjects for cost in actual),
        annotations=sum(cost.annotations for cost in actual),
        work=work,
    )
