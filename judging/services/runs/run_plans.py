"""Makes runs: what is to be evaluated by whom, frozen, with an estimate before and the tasks after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from evalsite.accounts.audit import record
from evalsite.base.json_types import JsonDict
from judging.judges.kinds.esi_items import JUDGES
from judging.models import (
    Case,
    EvaluatorKind,
    Judge,
    ModelEndpoint,
    Prompt,
    Response,
    Rubric,
    Run,
    RunEvaluator,
    RunKind,
    Suite,
    System,
)
from judging.selectors.judges.judge_needs import is_baseline
from judging.selectors.judges.panel_members import endpoints_of, member_judges
from judging.selectors.pictures import count_with_images
from judging.selectors.selections import case_filters, check_selection
from judging.selectors.targets import target_of
from judging.services.calls.frozen_endpoints import FROZEN, freeze_endpoints
from judging.services.evaluation.comparisons import frozen_baseline
from judging.services.evaluation.evaluator_tasks import SEES_IMAGES, freeze
from judging.services.runs.ask_plans import MOST_ATTEMPTS, AskSetup, asked_cases, count_asked_prompts
from judging.services.runs.comparison_plans import Comparison, against, compares
from judging.services.runs.esi_plans import INDEX_NAME, EsiSetup, write_items
from judging.services.systems import Worker, system_of, worker_of
from judging.specs.selections import ALL_CASES, CaseSelection, SelectionRefused, draw_keys
from judging.states import RunStatus

JUDGES_NAMED = 3  # in the name of a run


class RunNotPossible(ValueError):
    """The run cannot be made as asked; the message says what to change."""


@dataclass(frozen=True, slots=True)
class EvaluatorChoice:
    """A grader (no judge) or a judge, with the rubric that it judges by."""

    judge: Judge | None = None
    rubric: Rubric | None = None
    criterion: str = ""
    options: JsonDict = field(default_factory=dict)
    baseline: System | None = None  # whose responses the judge compares with; only of one that compares

    @property
    def name(self) -> str:
        if self.judge is None:
            return "rules"
        about = self.rubric.name if self.rubric else ""
        parts = [self.judge.name, about if self.baseline else self.criterion or about]
        end = f" · {against(self.baseline)}" if self.baseline else ""
        return " · ".join(part for part in parts if part)[: 160 - len(end)] + end


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run is to be. With `esi` it computes the ESI, by an accuracy and an integrity judge in this order."""

    suite: Suite
    evaluators: Sequence[EvaluatorChoice]
    systems: Sequence[System] = ()  # whose stored responses are evaluated; none where models of an ESI run respond
    name: str = ""
    first_attempts: int | None = None  # only attempts 0..n-1; None: all
    compat: bool = False
    budget: Decimal | None = None  # USD
    fresh: bool = False  # ask for every reply again, also where an earlier run has one
    selection: CaseSelection = ALL_CASES
    asks_people: bool = True  # whether what stays open goes to people when it ends
    audit_share: float | None = None  # of the cases that people check at random; None: the site's share
    esi: EsiSetup | None = None
    only: Sequence[int] | None = None  # keys of the responses of the systems that count; None: all
    without_images: bool = False  # judges that cannot see judge without images; else such a run is refused
    asks: AskSetup | None = None  # the systems that are asked first; their responses are evaluated with the stored ones
    baseline: System | None = None  # of the judges that compare

    def __post_init__(self) -> None:
        if self.baseline is not None:
            choices = [replace(one, baseline=self.baseline) if compares(one.judge) else one for one in self.evaluators]
            object.__setattr__(self, "evaluators", choices)

    @property
    def options(self) -> JsonDict:
        """What the run freezes; the systems of models that respond have to be chosen before."""
        return {
            "first_attempts": self.first_attempts,
            "compat": self.compat,
            "fresh": self.fresh,
            "asks_people": self.asks_people,
            "audit_share": self.audit_share,
            "selection": self.selection.to_json(),
            FROZEN: freeze_endpoints(self.endpoints),
            **({} if self.esi is None else self.esi.to_json(self.systems)),
            **({} if self.asks is None else self.asks.to_json()),
        }

    @property
    def workers(self) -> Sequence[Worker]:
        """The models that respond, where the responses are not stored already."""
        if self.asks is not None:
            return self.asks.workers
        return () if self.esi is None else self.esi.workers

    @property
    def all_systems(self) -> list[System]:
        """The systems whose responses are evaluated, stored or asked for."""
        return [*self.systems, *(self.asks.systems if self.asks is not None else ())]

    @property
    def ask_count(self) -> int:
        """How many responses its systems are asked for."""
        if self.asks is None:
            return 0
        prompts = count_asked_prompts(suite=self.suite, selection=self.selection)
        return prompts * len(self.asks.systems) * self.asks.attempts

    @property
    def endpoints(self) -> list[ModelEndpoint]:
        """Every endpoint that is asked, once."""
        found = [worker.endpoint for worker in self.workers]
        found += [one for choice in self.evaluators if choice.judge for one in endpoints_of(choice.judge)]
        return list({endpoint.pk: endpoint for endpoint in found}.values())

    @property
    def responses(self) -> QuerySet[Response]:
        """What is stored to be evaluated; a number of cases has to be drawn before (see `with_drawn_cases`)."""
        return self._stored(self.systems)

    def _stored(self, systems: Sequence[System]) -> QuerySet[Response]:
        first, part = self.first_attempts, self.selection
        found = responses_of(suite=self.suite, systems=systems, first_attempts=first, selection=part)
        return found if self.only is None else found.filter(pk__in=self.only)

    @property
    def blind(self) -> list[str]:
        """The judges that cannot see: their endpoints do not, or they judge an ESI run, which is about texts."""
        judges = [choice.judge for choice in self.evaluators if choice.judge and choice.judge.endpoint]
        return [judge.name for judge in judges if self.esi is not None or not judge.asked.sees_images]

    @property
    def image_count(self) -> int:
        """How many of the responses have images, or their cases have; of models that respond, how many cases."""
        if self.workers:
            return Prompt.objects.filter(cases__links__suite=self.suite).exclude(images=[]).count()
        return count_with_images(self._stored([*self.systems, self.baseline] if self.baseline else self.systems))

    @property
    def response_count(self) -> int:
        """How many responses are to be evaluated, with those that models are still to give."""
        if self.esi is not None and self.workers:
            return len(self.workers) * self.suite.case_count
        return self.ask_count + self.responses.count()

    def count_for(self, choice: EvaluatorChoice) -> int:
        """Return how many responses an evaluator is to judge: a baseline is not compared with itself."""
        own = self.responses.filter(system=choice.baseline).count() if choice.baseline else 0
        return self.response_count - own

    def criterion_of(self, choice: EvaluatorChoice) -> str:
        """Return what an evaluator judges: that of an ESI run what its kind says, one that compares its baseline."""
        if choice.baseline is not None:
            return against(choice.baseline)
        return choice.judge.kind if self.esi and choice.judge else choice.criterion


def responses_of(
    *, suite: Suite, systems: Sequence[System], first_attempts: int | None, selection: CaseSelection = ALL_CASES
) -> QuerySet[Response]:
    """Return the current responses of these systems to the suite's cases, case by case."""
    found = Response.objects.filter(
        prompt__cases__links__suite=suite,
        system__in=systems,
        superseded_at__isnull=True,
        **case_filters(selection, prefix="prompt__cases__"),
    ).order_by("prompt__cases__links__position", "system_id", "attempt", "pk")
    return found if first_attempts is None else found.filter(attempt__lt=first_attempts)


def with_drawn_cases(plan: RunPlan) -> RunPlan:
    """Return the plan with its number of cases drawn, from those that one of its systems has answered or is asked."""
    selection = plan.selection
    if selection.limit is None or selection.drawn:
        return plan
    answered = Case.objects.filter(
        links__suite=plan.suite,
        prompt__responses__system__in=plan.systems,
        prompt__responses__superseded_at__isnull=True,
        **case_filters(selection),
    )
    if plan.asks is not None:
        answered = asked_cases(suite=plan.suite, selection=selection)
    keys = answered.order_by("links__position").values_list("key", flat=True)
    drawn = draw_keys(keys, limit=selection.limit, seed=selection.seed)
    return replace(plan, selection=replace(selection, drawn=tuple(drawn)))


def check_plan(plan: RunPlan) -> None:
    """Pass where the run can be made.

    Raises:
        RunNotPossible: nothing to evaluate, nobody to do it, or a budget that cannot be kept.
    """
    _check_systems(plan)
    if not plan.evaluators:
        raise RunNotPossible("Choose at least one grader or judge.")
    judges = [choice.judge for choice in plan.evaluators if choice.judge]
    retired = [str(one) for judge in judges for one in (judge, *member_judges(judge)) if not one.is_active]
    if retired:
        raise RunNotPossible(f"{', '.join(retired)}: retired. Restore the judge on its page, or choose another.")
    if len({choice.name for choice in plan.evaluators}) < len(plan.evaluators):
        raise RunNotPossible("The same judge was chosen twice with the same rubric.")
    if plan.esi is None or not plan.workers:
        _check_responses(plan)
    _check_comparison(plan)
    _check_images(plan)
    unpriced = _unpriced(plan.endpoints) if plan.budget is not None else []
    if unpriced:
        raise RunNotPossible(
            f"A budget needs the price of every endpoint, and the price of {', '.join(unpriced)} is unknown. "
            "Enter its prices on its page, or leave the budget empty."
        )


def _check_comparison(plan: RunPlan) -> None:
    judges = [choice.judge for choice in plan.evaluators if choice.judge and compares(choice.judge)]
    comparison = Comparison(judges, plan.baseline, plan.all_systems, plan.asks.systems if plan.asks else ())
    problem = comparison.problem(suite=plan.suite, selection=plan.selection)
    if problem:
        raise RunNotPossible(problem)


def _check_images(plan: RunPlan) -> None:
    """Refuse to judge without images what has some, unless that was chosen."""
    blind = [] if plan.without_images else plan.blind
    count = plan.image_count if blind else 0
    if count:
        raise RunNotPossible(
            f"{', '.join(blind)} cannot see images, and {count:,} of the responses have some, or their cases do. "
            "Choose judges whose endpoint has shown in its test that it sees, or choose “Judge without images”."
        )


def _frozen_of_plan(plan: RunPlan, choice: EvaluatorChoice) -> JsonDict:
    """Return what an evaluator freezes of its baseline, and of whether it sees, where there is something to see."""
    endpoint = choice.judge.endpoint if choice.judge and plan.esi is None else None
    sees = endpoint is not None and endpoint.sees_images and plan.image_count
    return frozen_baseline(choice.baseline) | ({SEES_IMAGES: True} if sees else {})


def _check_systems(plan: RunPlan) -> None:
    if plan.esi is not None:
        _check_esi(plan)
    elif not plan.all_systems:
        raise RunNotPossible("Choose at least one system.")
    if plan.asks is not None:
        _check_asks(plan, plan.asks)


def _check_responses(plan: RunPlan) -> None:
    try:
        check_selection(suite=plan.suite, selection=plan.selection)
    except SelectionRefused as refusal:
        raise RunNotPossible(str(refusal)) from refusal
    if plan.asks is None and not plan.responses.exists():
        part = "" if plan.selection.is_all else f" ({plan.selection.words})"
        raise RunNotPossible(f"These systems have no responses to this suite{part}. Import some first.")


def _check_asks(plan: RunPlan, asks: AskSetup) -> None:
    if not 1 <= asks.attempts <= MOST_ATTEMPTS:
        raise RunNotPossible(f"A system can give 1 to {MOST_ATTEMPTS} responses to a case, not {asks.attempts:,}.")
    imported = [str(system) for system in asks.systems if not system.answers_here]
    if imported:
        raise RunNotPossible(f"{', '.join(imported)}: imported, so nobody can be asked. Choose its stored responses.")
    retired = [str(system) for system in asks.systems if not system.is_active]
    if retired:
        raise RunNotPossible(f"{', '.join(retired)}: retired. Restore the system on its page, or choose another.")
    both = [str(system) for system in asks.systems if system in plan.systems]
    if both:
        raise RunNotPossible(f"{', '.join(both)}: choose either its stored responses or asking it; asking reuses them.")
    if not plan.suite.case_count:
        raise RunNotPossible("The suite has no cases.")


def _check_esi(plan: RunPlan) -> None:
    if bool(plan.workers) == bool(plan.systems):
        raise RunNotPossible("Choose either systems or models to ask, or stored responses, not both.")
    if [choice.judge and choice.judge.kind for choice in plan.evaluators] != list(JUDGES):
        raise RunNotPossible("An ESI run needs one accuracy judge and one integrity judge.")
    if any(worker.endpoint.is_baseline for worker in plan.workers):
        raise RunNotPossible("A lexical baseline cannot give responses; choose a language model.")
    keys = [worker.key for worker in plan.workers]
    twice = next((worker.system_name for worker in plan.workers if keys.count(worker.key) > 1), "")
    if twice:
        raise RunNotPossible(f"{twice} was chosen twice; two endpoints may have the same model on the same server.")
    if not plan.suite.case_count:
        raise RunNotPossible("The suite has no cases.")


def _unpriced(endpoints: Sequence[ModelEndpoint]) -> list[str]:
    """Return the names of the endpoints whose price is unknown; baselines are free."""
    targets = [target_of(endpoint) for endpoint in endpoints]
    return [target.config.name for target in targets if target.price is None and not target.is_lexical]


@transaction.atomic
def create_run(*, plan: RunPlan, actor: User | None, at: datetime) -> Run:
    """Make a run with everything its results depend on frozen.

    The tasks of a grading run are written by its first worker, those of an ESI run at once.

    Raises:
        RunNotPossible: see `check_plan`.
    """
    plan = with_drawn_cases(plan)
    check_plan(plan)
    if plan.esi is not None and plan.workers:
        plan = replace(plan, systems=[system_of(worker, at) for worker in plan.workers])
    if plan.asks is not None:  # those of plain questions may be new
        asked = [system if system.pk else system_of(worker_of(system), at) for system in plan.asks.systems]
        plan = replace(plan, asks=replace(plan.asks, systems=asked))
    counts = [plan.count_for(choice) for choice in plan.evaluators]
    run = Run.objects.create(
        kind=RunKind.GRADING if plan.esi is None else RunKind.ESI,
        name=plan.name[:200],
        suite=plan.suite,
        options=plan.options,
        status=RunStatus.QUEUED,
        budget=plan.budget,
        total=plan.ask_count + sum(counts) if plan.esi is None else plan.response_count,
        planned_at=None if plan.esi is None else at,
        created_at=at,
        created_by=actor,
    )
    if not run.name:
        run.name = default_name(plan, number=run.pk)
        run.save(update_fields=["name"])
    run.systems.set(plan.all_systems)
    for position, (choice, count) in enumerate(zip(plan.evaluators, counts, strict=True)):
        if choice.judge is not None and choice.judge.pk is None:
            choice.judge.save()
        RunEvaluator.objects.create(
            run=run,
            position=position,
            kind=EvaluatorKind.JUDGE if choice.judge else EvaluatorKind.GRADER,
            name=choice.name,
            judge=choice.judge,
            rubric=choice.rubric,
            criterion=plan.criterion_of(choice),
            is_baseline=choice.judge is not None and is_baseline(choice.judge),
            options=freeze(judge=choice.judge, options=choice.options) | _frozen_of_plan(plan, choice),
            total=count,
        )
    if plan.esi is not None:
        index = _add_index(run, plan)
        write_items(index, systems=plan.systems, responses=None if plan.workers else plan.responses)
    record(actor, "run.created", run, tasks=run.total, budget=str(plan.budget) if plan.budget is not None else None)
    return run


def _add_index(run: Run, plan: RunPlan) -> RunEvaluator:
    """Give an ESI run the evaluator that makes the index of its judges' verdicts, and return it."""
    return RunEvaluator.objects.create(
        run=run,
        position=len(plan.evaluators),
        kind=EvaluatorKind.INDEX,
        name=INDEX_NAME,
        is_baseline=any(choice.judge and is_baseline(choice.judge) for choice in plan.evaluators),
        options={"esi": run.options["esi"], "reading": run.options["reading"]},
        total=run.total,
    )


def default_name(plan: RunPlan, *, number: int) -> str:
    """Return a name that tells a run from all others: "#12 Encke + Halley, 3 systems, first 2 attempts"."""
    names = list(dict.fromkeys(choice.judge.name if choice.judge else "Rules" for choice in plan.evaluators))
    names = names if plan.esi is None else [INDEX_NAME]
    more = len(names) - JUDGES_NAMED
    graders = " + ".join(names[:JUDGES_NAMED]) + (f" and {more} more" if more > 0 else "")
    chosen = plan.all_systems
    systems = chosen[0].name if len(chosen) == 1 else f"{len(chosen)} systems"
    first = plan.first_attempts
    attempts = f"first {first} attempt{'' if first == 1 else 's'}" if first is not None else ""
    return ", ".join(filter(None, (f"#{number} {graders}", systems, plan.selection.words, attempts)))[:200]
