"""Makes ESI runs: who answers with which prompt, who judges, and the items to work through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import record
from judging.grading.esi import EsiOptions
from judging.judges.answer_prompts import ResponseSettings
from judging.judges.kinds.esi_items import JUDGES, ReplyReading
from judging.judges.registry import judge_kind
from judging.models import (
    Case,
    EsiItem,
    EvaluatorKind,
    Judge,
    ModelEndpoint,
    Run,
    RunEvaluator,
    RunKind,
    RunStatus,
    RunTask,
    Suite,
    System,
)
from judging.selectors.targets import target_of
from judging.services.calls.frozen_endpoints import FROZEN, freeze_endpoints
from judging.services.content_hashes import content_hash
from judging.services.evaluation.esi_options import options_to_json
from judging.services.evaluation.evaluator_tasks import freeze
from judging.services.runs.run_plans import RunNotPossible, responses_of

BATCH = 1000
INDEX_NAME = "ESI"


@dataclass(frozen=True, slots=True)
class Worker:
    """A model that answers, with the prompt that it is asked with."""

    endpoint: ModelEndpoint
    asking: ResponseSettings

    @property
    def system_name(self) -> str:
        """The name of its system where no other system has it."""
        return f"{self.endpoint.model[:100]} · {self.asking.prompt_version}"[:120]

    @property
    def key(self) -> str:
        """A hash of the server, the model and everything that it is asked with: another one is another system."""
        server = {"base_url": self.endpoint.base_url, "model": self.endpoint.model, "extra": self.endpoint.extra}
        return content_hash({**server, **self.asking.as_json()})


@dataclass(frozen=True, slots=True)
class ChosenJudge:
    """A judge with options that override its own in this run."""

    judge: Judge
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EsiPlan:
    """What an ESI run is to be: `workers` answer, or the answers of `systems` are judged as they are."""

    suite: Suite
    accuracy: ChosenJudge
    integrity: ChosenJudge
    workers: Sequence[Worker] = ()
    systems: Sequence[System] = ()
    options: EsiOptions = field(default_factory=EsiOptions)
    reading: ReplyReading = ReplyReading.CAREFUL
    name: str = ""
    budget: Decimal | None = None  # USD
    fresh: bool = False  # ask for every reply again, also where an earlier run has one
    input_problems: Sequence[dict[str, Any]] = ()  # lines of the data set that hold no item, for the export

    @property
    def endpoints(self) -> list[ModelEndpoint]:
        found = [worker.endpoint for worker in self.workers]
        found += [self.accuracy.judge.endpoint, self.integrity.judge.endpoint]
        return list({endpoint.pk: endpoint for endpoint in found}.values())


def default_judge_name(kind: str, endpoint: ModelEndpoint) -> str:
    """Return what the judge of this kind on an endpoint as shipped is called."""
    return f"{judge_kind(kind).title} ({endpoint.name})"[:120]


def default_judge(*, kind: str, endpoint: ModelEndpoint) -> Judge:
    """Return the judge of this kind on an endpoint as shipped; where there is none yet, one to be stored with a run."""
    name = default_judge_name(kind, endpoint)
    there = Judge.objects.select_related("endpoint").filter(name=name, kind=kind).first()
    return there or Judge(name=name, kind=kind, endpoint=endpoint, options=judge_kind(kind).new_options())


def check_esi_plan(plan: EsiPlan) -> None:
    """Pass where the run can be made.

    Raises:
        RunNotPossible: nobody to answer, nothing to judge, the wrong judges, or a budget that cannot be kept.
    """
    if bool(plan.workers) == bool(plan.systems):
        raise RunNotPossible("Choose models that answer, or systems whose answers are judged, not both.")
    _check_judges(plan)
    if any(worker.endpoint.is_baseline for worker in plan.workers):
        raise RunNotPossible("A lexical baseline cannot answer; choose a language model.")
    keys = [worker.key for worker in plan.workers]
    twice = next((worker.system_name for worker in plan.workers if keys.count(worker.key) > 1), "")
    if twice:
        raise RunNotPossible(f"{twice} was chosen twice, perhaps on two endpoints for the same model of one server.")
    if not plan.suite.case_count:
        raise RunNotPossible("The suite has no cases.")
    if plan.systems and not responses_of(suite=plan.suite, systems=plan.systems, first_attempts=None).exists():
        raise RunNotPossible("These systems have no responses to this suite. Import some first, or generate them.")
    _check_prices(plan)


def _check_judges(plan: EsiPlan) -> None:
    for name in JUDGES:
        chosen: ChosenJudge = getattr(plan, name)
        if chosen.judge.kind != name:
            raise RunNotPossible(f"{chosen.judge} is no {name} judge.")
        if not chosen.judge.is_active:
            raise RunNotPossible(f"{chosen.judge} is retired. Bring it back on its page, or choose another judge.")


def _check_prices(plan: EsiPlan) -> None:
    if plan.budget is None:
        return
    targets = [target_of(endpoint) for endpoint in plan.endpoints]
    unpriced = [target.config.name for target in targets if target.price is None and not target.is_lexical]
    if unpriced:
        raise RunNotPossible(
            f"A budget needs to know what a call costs, and the price of {', '.join(unpriced)} is unknown. "
            "Enter its prices on its page, or leave the budget empty."
        )


@transaction.atomic
def create_esi_run(*, plan: EsiPlan, actor: User | None, at: datetime) -> Run:
    """Make an ESI run with its systems, its three evaluators, its items and their tasks.

    Raises:
        RunNotPossible: see `check_esi_plan`.
    """
    check_esi_plan(plan)
    systems = [_system(worker, at) for worker in plan.workers] or list(plan.systems)
    run = Run.objects.create(
        kind=RunKind.ESI,
        name=plan.name[:200],
        suite=plan.suite,
        options={
            "esi": options_to_json(plan.options),
            "reading": plan.reading.value,
            "fresh": plan.fresh,
            "mode": "generate" if plan.workers else "existing",
            "workers": {
                str(system.pk): {"endpoint": worker.endpoint.name, **worker.asking.as_json()}
                for system, worker in zip(systems, plan.workers, strict=False)
            },
            "input_problems": list(plan.input_problems),
            FROZEN: freeze_endpoints(plan.endpoints),
        },
        status=RunStatus.QUEUED,
        budget=plan.budget,
        created_at=at,
        created_by=actor,
    )
    run.systems.set(systems)
    index = _evaluators(run, plan)
    run.total = _write_items(run, index, plan, systems)
    run.planned_at = at
    run.name = run.name or f"#{run.pk} ESI, {len(systems)} system{'' if len(systems) == 1 else 's'}"
    run.save(update_fields=["total", "planned_at", "name"])
    run.evaluators.update(total=run.total)
    record(actor, "run.created", run, tasks=run.total, budget=str(plan.budget) if plan.budget is not None else None)
    return run


def _system(worker: Worker, at: datetime) -> System:
    """Return the system that this server, model and asking make up, under a name that no other system has."""
    there = System.objects.filter(asking_key=worker.key).first() or _system_before_keys(worker)
    if there is not None:
        return there
    name, endpoint = worker.system_name, worker.endpoint
    names = (name, f"{name[:60]} · {endpoint.name[:57]}", f"{name[:107]} · {worker.key[:10]}")
    free = next(one for one in names if not System.objects.filter(name=one).exists())
    fields = {"model": endpoint.model[:120], "prompt_version": worker.asking.prompt_version}
    return System.objects.create(name=free, asking_key=worker.key, created_at=at, **fields)


def _system_before_keys(worker: Worker) -> System | None:
    """Return a system made before systems had keys, where its last run asked the same endpoint in the same way."""
    system = System.objects.filter(name=worker.system_name, asking_key="").first()
    if system is None:
        return None
    frozen = Run.objects.filter(kind=RunKind.ESI, systems=system).order_by("-pk").values_list("options", flat=True)
    asked: dict[str, Any] = next(
        (options["workers"][str(system.pk)] for options in frozen if str(system.pk) in options["workers"]), {}
    )
    asking = worker.asking.as_json()
    if asked.get("endpoint") != worker.endpoint.name or any(asked.get(name) != asking[name] for name in asking):
        return None
    system.asking_key = worker.key
    system.save(update_fields=["asking_key"])
    return system


def _evaluators(run: Run, plan: EsiPlan) -> RunEvaluator:
    """Make the two judges and the index of a run; return the index, to which its tasks belong."""
    baseline = False
    for position, name in enumerate(JUDGES):
        chosen: ChosenJudge = getattr(plan, name)
        baseline = baseline or chosen.judge.endpoint.is_baseline
        if chosen.judge.pk is None:
            chosen.judge.save()
        RunEvaluator.objects.create(
            run=run,
            position=position,
            kind=EvaluatorKind.JUDGE,
            name=chosen.judge.name,
            judge=chosen.judge,
            criterion=name,
            is_baseline=chosen.judge.endpoint.is_baseline,
            options=freeze(judge=chosen.judge, options=chosen.options),
        )
    return RunEvaluator.objects.create(
        run=run,
        position=len(JUDGES),
        kind=EvaluatorKind.INDEX,
        name=INDEX_NAME,
        is_baseline=baseline,
        options={"esi": run.options["esi"], "reading": run.options["reading"]},
    )


def _write_items(run: Run, index: RunEvaluator, plan: EsiPlan, systems: Sequence[System]) -> int:
    items = EsiItem.objects.bulk_create(_items(run, plan, systems), batch_size=BATCH)
    tasks = (RunTask(run=run, evaluator=index, response_id=item.response_id, subject_id=item.pk) for item in items)
    RunTask.objects.bulk_create(tasks, batch_size=BATCH)
    return len(items)


def _items(run: Run, plan: EsiPlan, systems: Sequence[System]) -> Iterator[EsiItem]:
    """Yield one item for each case and worker, system by system, or for each response there is."""
    cases = list(
        Case.objects.filter(links__suite=plan.suite).order_by("links__position").values_list("pk", "prompt_id")
    )
    if plan.workers:
        pairs = [(system.pk, case_id) for system in systems for case_id, _ in cases]
        for position, (system_id, case_id) in enumerate(pairs):
            yield EsiItem(run=run, system_id=system_id, case_id=case_id, position=position)
        return
    by_prompt = {prompt_id: case_id for case_id, prompt_id in cases}
    found = responses_of(suite=plan.suite, systems=systems, first_attempts=None)
    rows = sorted(found.values_list("system_id", "prompt_id", "pk"), key=lambda row: row[0])  # stable: by case within
    for position, (system_id, prompt_id, pk) in enumerate(rows):
        yield EsiItem(run=run, system_id=system_id, case_id=by_prompt[prompt_id], response_id=pk, position=position)
