"""Creates runs from plans, with everything frozen that their results depend on.

An anchor run judges the same responses again, with new replies only. One judge on one response is a run of one task, so
that ledger, budget and limits apply as for any other.

Runs are tagged, archived, restored and deleted here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Sum

from evalsite.accounts.audit import record
from evalsite.base.actions.declarations import delete_with_dependents, dependents_of
from evalsite.base.rows import batches, lock_row
from evalsite.base.types import JsonDict
from judging.judges.judge_kinds import changes_between
from judging.judges.registry import judge_kind
from judging.models import (
    EvaluatorKind,
    Response,
    Run,
    RunEvaluator,
    RunKind,
    RunTag,
    RunTask,
    Suite,
    System,
)
from judging.models.runs import ACTIVE, RunRefused, RunStatus
from judging.selectors.judges import is_baseline, needs_of, needs_rubric, versions_of
from judging.services.evaluator_tasks import SEES_IMAGES, freeze, frozen_baseline, subject_of, trees_of, words_of_needs
from judging.services.runs.estimates import RunEstimate, estimate_run
from judging.services.runs.run_plans import (
    INDEX_NAME,
    EvaluatorChoice,
    RunNotPossible,
    RunPlan,
    check_plan,
    count_asked_prompts,
    missing_asks,
    responses_of,
    with_drawn_cases,
    write_asks,
    write_items,
)
from judging.services.systems import system_of, worker_of
from judging.specs.selections import selection_from_json

TASK_BATCH = 1000
TASKS_AT_ONCE = 2000  # that one transaction writes

Piece = Callable[[int], None]  # writes some tasks of the run of this key, which is locked meanwhile


class TaskPlanner:
    """One worker's way through the tasks of a run that are to be written, in short transactions.

    Nobody else can write during one on SQLite, and a worker has other runs to see to. What a lost worker has written
    stays, and the next goes on from there; several may plan the same run.
    """

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        self._pieces: Iterator[Piece] | None = None
        self._piece: Piece | None = None

    def step(self, *, at: datetime) -> bool:
        """Write some tasks; return whether none is left to write, or the run is not to be worked on."""
        try:
            return self._write(at)
        except Exception:
            self._pieces = None  # what is missing is then read again
            raise

    def _write(self, at: datetime) -> bool:
        if self._pieces is None:
            run = Run.objects.select_related("suite").get(pk=self.run_id)
            if run.planned_at is not None:
                return True
            self._pieces = _missing_tasks(run) if run.kind == RunKind.GRADING else iter(())
            self._piece = next(self._pieces, None)
        if self._piece is None:
            _end_planning(self.run_id, _count_cases(self.run_id), at)  # counted before: it takes a while
            return True
        if not _write_piece(self.run_id, self._piece):
            return True
        self._piece = next(self._pieces, None)
        return False


def plan_tasks(*, run_id: int, at: datetime) -> None:
    """Write the tasks of a run, once; later calls do nothing."""
    planner = TaskPlanner(run_id)
    while not planner.step(at=at):
        pass


def _missing_tasks(run: Run) -> Iterator[Piece]:
    """Yield what writes the asks that are missing, then the tasks of graders and judges for stored responses."""
    asked_systems = run.asked_systems
    if asked_systems:
        for ask_keys in missing_asks(run):
            yield partial(write_asks, ask_keys)
    responses = responses_of(
        suite=run.suite,
        systems=list(run.systems.exclude(pk__in=asked_systems)),
        first_attempts=run.options.get("first_attempts"),
        selection=selection_from_json(run.options.get("selection", {})),
    )
    rows = list(responses.values_list("pk", "system_id"))
    for evaluator in list(run.evaluators.order_by("position")):
        written = set(RunTask.objects.filter(evaluator=evaluator).values_list("response_id", flat=True))
        baseline_id = evaluator.compared_with_id  # a baseline is not compared with itself
        missing = [pk for pk, system_id in rows if pk not in written and system_id != baseline_id]
        for some in batches(missing, TASKS_AT_ONCE):
            yield partial(_write_tasks, evaluator.pk, some)


@transaction.atomic
def _write_piece(run_id: int, piece: Piece) -> bool:
    """Write some tasks; False where the run was stopped, or another worker has planned it meanwhile."""
    run = lock_row(Run, run_id, no_key=True)
    if run.planned_at is not None or run.status not in ACTIVE:
        return False
    piece(run_id)
    return True


def _write_tasks(evaluator_id: int, response_ids: Sequence[int], run_id: int) -> None:
    tasks = [RunTask(run_id=run_id, evaluator_id=evaluator_id, response_id=pk) for pk in response_ids]
    RunTask.objects.bulk_create(tasks, batch_size=TASK_BATCH, ignore_conflicts=True)


def _count_cases(run_id: int) -> int:
    """Return how many cases the tasks of a run are about; a run that asks is about all that it asks of."""
    run = Run.objects.select_related("suite").get(pk=run_id)
    if run.asked_systems:
        selection = selection_from_json(run.options.get("selection", {}))
        return count_asked_prompts(suite=run.suite, selection=selection)
    cases = RunTask.objects.filter(run=run_id, response__isnull=False).order_by()
    return cases.values("response__prompt").distinct().count()


@transaction.atomic
def _end_planning(run_id: int, cases: int, at: datetime) -> None:
    """Note that every task is written, how many each evaluator has or will have, and how many cases they are about."""
    run = lock_row(Run, run_id)
    if run.planned_at is not None:
        return
    run.planned_at = at
    if run.kind == RunKind.GRADING:  # others wrote their tasks with the run
        counts = dict(run.tasks.values_list("evaluator").annotate(n=Count("pk")).order_by())
        asks = counts.pop(None, 0)  # each is to bring every evaluator a task
        run.total, run.case_count = asks, cases
        for evaluator in run.evaluators.all():
            total = counts.get(evaluator.pk, 0) + asks
            RunEvaluator.objects.filter(pk=evaluator.pk).update(total=total)
            run.total += total
    run.save(update_fields=["total", "case_count", "planned_at"])


def write_chosen_tasks(*, run: Run, response_ids: Sequence[int], kind: RunKind, at: datetime) -> Run:
    """Give a new run a task of every evaluator for each of these responses alone, and its kind; return it."""
    evaluators = list(run.evaluators.order_by("position"))
    RunTask.objects.bulk_create(
        (RunTask(run=run, evaluator=evaluator, response_id=pk) for evaluator in evaluators for pk in response_ids),
        batch_size=TASK_BATCH,
    )
    run.evaluators.update(total=len(response_ids))
    run.total, run.planned_at, run.kind = len(response_ids) * len(evaluators), at, kind
    run.save(update_fields=["total", "planned_at", "kind"])
    return run


A_DAY = timedelta(hours=24)


@transaction.atomic
def judge_once(
    *, response: Response, choice: EvaluatorChoice, budget: Decimal | None = None, actor: User | None, at: datetime
) -> Run:
    """Make a run of this one task, under the newest suite that has the response's case; it still has to be worked.

    Raises:
        RunNotPossible: the person's trials have cost what a day's may, no suite has the case, the case lacks what the
            judge needs, or the budget cannot be kept.
    """
    if actor is not None:
        _check_spent(actor, at)
    judge = choice.judge
    assert judge is not None
    suite = Suite.objects.filter(cases__prompt=response.prompt_id).order_by("-number", "-pk").first()
    if suite is None:
        raise RunNotPossible("No suite has the case of this response.")
    if "pair" in needs_of(judge):
        raise RunNotPossible(f"{judge.name} compares two responses; it cannot judge a single one.")
    if choice.options.get("prompt_text") and judge_kind(judge.kind).asks_members:
        raise RunNotPossible(f"{judge.name} is a panel: its members send their own prompts. Try a member instead.")
    if needs_rubric(judge) and choice.rubric is None:
        raise RunNotPossible(f"{judge.name} needs a rubric.")
    if response.superseded_at is not None:
        raise RunNotPossible("This response was replaced by a newer one.")
    plan = RunPlan(
        suite=suite,
        systems=[response.system],
        evaluators=[choice],
        name=f"{judge.name} on one response",
        budget=budget,
        only=[response.pk],
        without_images=True,  # the verdict says so
    )
    run = create_run(plan=plan, actor=actor, at=at)
    evaluator = run.evaluators.get()
    _check_needs(suite, response, evaluator)
    RunTask.objects.create(run=run, evaluator=evaluator, response=response)
    run.planned_at = at
    run.kind = RunKind.SINGLE  # reports leave such runs out
    run.save(update_fields=["planned_at", "kind"])
    return run


def _check_spent(actor: User, at: datetime) -> None:
    """Pass while a person's trials of the last day have cost less than they may."""
    runs = Run.objects.filter(kind=RunKind.SINGLE, created_by=actor, created_at__gt=at - A_DAY)
    sums = runs.aggregate(spent=Sum("spent"), unheard=Sum("unheard"))
    spent = sum((amount for amount in sums.values() if amount is not None), Decimal(0))
    if spent >= settings.TRIAL_BUDGET:
        raise RunNotPossible(
            f"Your trials in the last 24 hours cost ${spent:.2f}; the limit of this site is ${settings.TRIAL_BUDGET} "
            "per day. Try again later, or start a run with its own budget."
        )


def _check_needs(suite: Suite, response: Response, evaluator: RunEvaluator) -> None:
    case = suite.cases.get(prompt=response.prompt_id)
    trees = trees_of(evaluator.rubric, [case])
    tree = trees.get(case.key) or trees.get("")
    subject = subject_of(case=case, response=response, tree=tree, evaluator=evaluator)
    frozen = evaluator.options
    missing = judge_kind(frozen["judge_kind"]).missing_needs(subject, frozen["judge_options"])
    if missing:
        raise RunNotPossible(f"This judge needs {' and '.join(words_of_needs(missing))} for the case.")


@transaction.atomic
def create_anchor_run(
    *, evaluator: RunEvaluator, responses: Sequence[Response], budget: Decimal | None, actor: User | None, at: datetime
) -> Run:
    """Make a run in which the evaluator's judge is asked about these responses; it still has to be worked.

    Raises:
        RunNotPossible: the judge is retired or no longer the version that the evaluator froze, or see `check_plan`.
    """
    if evaluator.judge is None:
        raise RunNotPossible("Rule graders always give the same result; only judges can be checked again.")
    plan = RunPlan(
        suite=evaluator.run.suite,
        systems=list(System.objects.filter(pk__in={response.system_id for response in responses})),
        evaluators=[
            EvaluatorChoice(
                judge=evaluator.judge,
                rubric=evaluator.rubric,
                criterion=evaluator.criterion,
                options=dict(evaluator.options["judge_options"]),
            )
        ],
        name=f"{evaluator.name}: anchor round, {at:%d %b %Y %H:%M}",
        fresh=True,
        budget=budget,
        baseline=System.objects.filter(name=evaluator.compared_with).first(),
        without_images=True,  # the verdict says so
    )
    run = create_run(plan=plan, actor=actor, at=at)
    new_evaluator = run.evaluators.get()
    versions = versions_of([evaluator, new_evaluator])
    changes = changes_between(versions[evaluator.pk], versions[new_evaluator.pk])
    if changes:
        raise RunNotPossible(f"The judge has changed. {' '.join(changes)} Create a new anchor set for it.")
    run.evaluators.update(name=evaluator.name)
    return write_chosen_tasks(run=run, response_ids=[response.pk for response in responses], kind=RunKind.ANCHOR, at=at)


JUDGES_NAMED = 3  # in the name of a run


def _frozen_of_plan(plan: RunPlan, choice: EvaluatorChoice) -> JsonDict:
    """Return what an evaluator freezes of its baseline, and of whether it sees, where there is something to see."""
    endpoint = choice.judge.endpoint if choice.judge and plan.esi is None else None
    sees = endpoint is not None and endpoint.sees_images and plan.image_count
    return frozen_baseline(choice.baseline) | ({SEES_IMAGES: True} if sees else {})


def estimate_new_run(*, plan: RunPlan, threads: int, at: datetime) -> RunEstimate:
    """Return what a run would ask and cost, and what its judges would not see.

    Raises:
        RunNotPossible: it cannot be made; the message says what to change.
    """
    check_plan(plan)
    estimate = estimate_run(plan=plan, threads=threads, at=at)
    blind = plan.blind
    return replace(estimate, blind=tuple(blind), unseen=plan.image_count if blind else 0)


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
        systems = [system if system.pk else system_of(worker_of(system), at) for system in plan.asks.systems]
        plan = replace(plan, asks=replace(plan.asks, systems=systems))
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
    record(actor, "run.created", run, tasks=run.total, budget=plan.budget)
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


TAG_LENGTH = 40
MAX_TAGS = 10


def tags_in(text: str) -> list[str]:
    """Return the tags of a comma-separated text, each once whatever its case, in their order.

    Raises:
        RunRefused: one is too long, or there are too many.
    """
    by_key: dict[str, str] = {}
    for part in text.split(","):
        name = " ".join(part.split())
        by_key.setdefault(name.casefold(), name)
    tags = [name for name in by_key.values() if name]
    if any(len(tag) > TAG_LENGTH for tag in tags):
        raise RunRefused(f"A tag has at most {TAG_LENGTH} characters.")
    if len(tags) > MAX_TAGS:
        raise RunRefused(f"A run has at most {MAX_TAGS} tags.")
    return tags


@transaction.atomic
def tag_run(*, run_id: int, tags: Iterable[str], actor: User | None) -> Run:
    """Give a run these tags in place of those it has; the audit log keeps the former ones."""
    run = lock_row(Run, run_id)
    former, new = sorted(run.tags.values_list("name", flat=True)), sorted(tags)
    if former == new:
        return run
    run.tags.exclude(name__in=new).delete()
    RunTag.objects.bulk_create(RunTag(run=run, name=name) for name in new if name not in former)
    record(actor, "run.tagged", run, **{"tags": ", ".join(new), "former tags": ", ".join(former)})
    return run


@transaction.atomic
def archive_run(*, run_id: int, actor: User | None, at: datetime) -> Run:
    """Take a run that has ended or is paused out of lists and the choices of leaderboards.

    Raises:
        RunRefused: it is still at work, or belongs to a set of debates.
    """
    run = lock_row(Run, run_id)
    if run.kind == RunKind.DEBATE:
        raise RunRefused("The run of a set of debates cannot be archived.")
    if run.status in ACTIVE:
        raise RunRefused("The run is still at work; pause or cancel it before you archive it.")
    if run.archived_at is None:
        run.archived_at = at
        run.save(update_fields=["archived_at"])
        record(actor, "run.archived", run)
    return run


@transaction.atomic
def restore_run(*, run_id: int, actor: User | None) -> Run:
    """List an archived run again."""
    run = lock_row(Run, run_id)
    if run.archived_at is not None:
        run.archived_at = None
        run.save(update_fields=["archived_at"])
        record(actor, "run.restored", run)
    return run


@transaction.atomic
def delete_run(*, run_id: int, actor: User | None) -> Run:
    """Delete a run that has ended or is paused, with its verdicts and scores. Its calls stay for the costs.

    Raises:
        RunRefused: it is still at work.
        InUse: something rests on it.
    """
    run = lock_row(Run, run_id)
    if run.status in ACTIVE:
        raise RunRefused("The run is still at work; cancel it before you delete it.")
    found = dependents_of(run)
    record(actor, "run.deleted", str(run), run=run.pk, **found.counts(found.gone))
    delete_with_dependents(run)
    return run
