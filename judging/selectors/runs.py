"""Runs as lists and pages show them, ESI runs among them, and their results in numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from math import inf
from statistics import fmean, median, stdev

from django.db.models import Avg, Count, FloatField, IntegerField, Q, QuerySet, Sum, When
from django.db.models import Case as CaseWhen
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Now

from evalsite.base.types import JsonObject
from judging.grading.grades import SUB_SCORES, EsiStatus
from judging.grading.reports import (
    CaseAttempts,
    Points,
    ReportRow,
    SuiteReport,
    metric_points,
    reduce_scores,
    suite_report,
)
from judging.grading.rubric_tree import ScoreStatus
from judging.judges.subjects import VerdictStatus, failure_in_words
from judging.models import (
    SCORED_KINDS,
    Ask,
    Call,
    Case,
    EsiItem,
    EvaluatorKind,
    Lease,
    ModelEndpoint,
    Response,
    Run,
    RunEvaluator,
    RunKind,
    RunTag,
    RunTask,
    Score,
    Suite,
    System,
    TaskStatus,
    Verdict,
)
from judging.models.runs import ACTIVE, RunStatus
from judging.selectors.benchmarks import case_filters
from judging.selectors.endpoints import RateState, rate_states
from judging.specs.selections import selection_from_json


@dataclass(slots=True)
class AskedSystem:
    """How far a run is with one system."""

    system: System
    requested: int = 0
    responses: int = 0
    cut_off: int = 0  # of the responses, those that ended at the token limit
    waiting: int = 0
    missing: list[tuple[str, int]] = field(default_factory=list)  # why a response is missing, with the stop reason

    @property
    def missing_count(self) -> int:
        return sum(count for _, count in self.missing)


def read_asks(run: Run) -> list[AskedSystem]:
    """Return the systems that a run asks, by name."""
    cut_off = Sum(CaseWhen(When(response__metadata__truncated=True, then=1), default=0, output_field=IntegerField()))
    groups = Ask.objects.filter(run=run).order_by("failure", "stop_reason")
    counted = list(
        groups.values("system", "failure", "stop_reason").annotate(
            n=Count("pk"), answered=Count("response"), cut_off=cut_off
        )
    )  # before the systems: a run that is just starting adds asks between two queries
    systems = System.objects.filter(pk__in={group["system"] for group in counted}).order_by("name")
    rows = {system.pk: AskedSystem(system) for system in systems}
    for group in counted:
        row = rows[group["system"]]
        row.requested += group["n"]
        row.responses += group["answered"]
        row.cut_off += group["cut_off"]
        if group["failure"]:
            row.missing.append((_words(group["failure"], group["stop_reason"]), group["n"]))
        else:
            row.waiting += group["n"] - group["answered"]
    return list(rows.values())


def _words(failure: str, stop_reason: str) -> str:
    words = failure_in_words(failure.removeprefix("answer-"))
    is_said = stop_reason.replace("_", " ").lower() in (words, "")
    return words if is_said else f"{words}, {stop_reason}"


def attach_asks(tasks: Sequence[RunTask]) -> None:
    """Give each task that asks a system its ask, since one without a reply has no response to show."""
    ask_ids = [task.subject_id for task in tasks if task.evaluator_id is None and task.subject_id is not None]
    asks = Ask.objects.select_related("case", "system").in_bulk(ask_ids) if ask_ids else {}
    for task in tasks:
        if task.evaluator_id is None:
            task.item = asks.get(task.subject_id or 0)  # type: ignore[attr-defined]  # for the template


PACE_WINDOW_SECONDS = 60
TAGS_SHOWN = 20
BULKY = (  # texts that the list of tasks does not show
    "evaluator__options",
    "response__text",
    "response__metadata",
    "response__prompt__text",
    "response__prompt__context",
    "verdict__rationale",
    "verdict__value",
    "verdict__call_ids",
)
VERDICT_PAGE = (
    "run__suite",
    "evaluator__judge__endpoint",
    "evaluator__rubric",
    "response__system",
    "response__prompt",
    "score",
)
RUN_ORDERS = {"name": "name", "status": "status", "created": "created_at", "total": "total", "spent": "spent"}


@dataclass(frozen=True, slots=True)
class FailureCount:
    """How many tasks ended without a usable result for one reason."""

    kind: str
    count: int

    @property
    def words(self) -> str:
        return failure_in_words(self.kind)


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is."""

    run: Run
    evaluators: Sequence[RunEvaluator]
    failures: Sequence[FailureCount]
    rate_per_minute: float | None  # None: nothing ended lately
    eta_seconds: float | None
    reserved: Decimal  # USD reserved for calls in flight
    workers: int  # that hold tasks of this run
    seconds: float | None = None  # from start to end, or until now; None before the start
    rates: Sequence[RateState] = ()  # of its endpoints that have rate limits, while it is live

    @property
    def is_live(self) -> bool:
        return self.run.status in ACTIVE

    @property
    def is_moving(self) -> bool:
        """Whether its figures still change: also once it was paused or cancelled, until its last calls have ended."""
        return self.is_live or self.workers > 0

    @property
    def rate_waits(self) -> list[RateState]:
        """The endpoints whose rate limits requests wait for now."""
        return [state for state in self.rates if state.wait_seconds > 0]

    @property
    def rescorable(self) -> frozenset[int]:
        """The evaluators whose scores can be computed again with other options, once nobody works on the run."""
        return (
            frozenset()
            if self.is_live
            else frozenset(evaluator.pk for evaluator in self.evaluators if can_rescore(evaluator))
        )


UNREAD_SHOWN = 3


def unread_replies(run: Run) -> list[tuple[Verdict, str]]:
    """Return the verdicts of a paused run whose replies could not be read, with the text of their last call.

    There are some only where the newest verdict is one of these.
    """
    if run.status != RunStatus.PAUSED:
        return []
    newest = list(Verdict.objects.filter(run=run).order_by("-pk")[:UNREAD_SHOWN])
    if not newest or newest[0].status != VerdictStatus.UNPARSED:
        return []
    unread = [verdict for verdict in newest if verdict.status == VerdictStatus.UNPARSED]
    calls = Call.objects.only("text").in_bulk([verdict.call_ids[-1] for verdict in unread if verdict.call_ids])
    texts = {pk: call.text for pk, call in calls.items()}
    return [(verdict, texts.get(verdict.call_ids[-1], "") if verdict.call_ids else "") for verdict in unread]


@dataclass(frozen=True, slots=True)
class RunBudget:
    """What is left of a run's budget; all amounts in USD."""

    run: Run
    budget: Decimal
    reserved: Decimal  # reserved for calls in flight
    remaining: Decimal


def open_budgets() -> list[RunBudget]:
    """Return the budgets of the runs that have one and have not ended, those with the least left first."""
    runs = Run.objects.filter(budget__isnull=False, status__in=[*ACTIVE, RunStatus.PAUSED])
    budgets = []
    for run in runs.annotate(held=Sum("leases__reserved")).order_by("pk"):
        reserved = run.held or Decimal(0)
        remaining = run.budget_left(reserved=reserved)
        if run.budget is not None and remaining is not None:
            budgets.append(RunBudget(run, run.budget, reserved, remaining))
    return sorted(budgets, key=lambda row: row.remaining)


def list_runs(
    *,
    status: str = "",
    search: str = "",
    order: str = "-created",
    single: bool = False,
    tag: str = "",
    archived: bool = False,
) -> QuerySet[Run]:
    """Return runs with their suite and tags, newest first unless ordered otherwise; or those of one response alone.

    Archived runs are listed by themselves.
    """
    runs = Run.objects.filter(archived_at__isnull=not archived)
    runs = runs.select_related("suite__benchmark", "created_by").prefetch_related("tags")
    runs = runs.filter(kind=RunKind.SINGLE) if single else runs.exclude(kind=RunKind.SINGLE)
    if status in list(RunStatus):
        runs = runs.filter(status=status)
    if search:
        runs = runs.filter(Q(name__icontains=search) | Q(suite__name__icontains=search))
    if tag:
        runs = runs.filter(tags__name=tag)
    field = RUN_ORDERS.get(order.lstrip("-"), "created_at")
    return runs.order_by(f"-{field}" if order.startswith("-") else field, "-pk")


def tags_in_use(*, archived: bool) -> list[str]:
    """Return the tags of runs that are archived or not, the most used first."""
    counted = (
        RunTag.objects.filter(run__archived_at__isnull=not archived)
        .values("name")
        .annotate(n=Count("pk"))
        .order_by("-n", "name")
    )
    return [row["name"] for row in counted[:TAGS_SHOWN]]


def is_moving(run: Run) -> bool:
    """Return whether a run is active, or calls that were in flight when it stopped still are."""
    return run.status in ACTIVE or _leases_now(run).exists()


def _leases_now(run: Run) -> QuerySet[Lease]:
    return run.leases.filter(expires_at__gte=Now())


def read_progress(*, run: Run, at: datetime) -> RunProgress:
    """Return a run's progress at `at`."""
    leases = list(_leases_now(run))
    rate = rate_per_minute(run.pace, at=at) if run.status in ACTIVE else None
    failures = (
        RunTask.objects.filter(run=run, status=TaskStatus.FAILED)
        .values("failure_kind")
        .annotate(count=Count("pk"))
        .order_by("-count", "failure_kind")
        if run.failed
        else []
    )
    evaluators = list(run.evaluators.select_related("judge__endpoint", "rubric").order_by("position"))
    rates = rate_states(_asked_endpoints(run, evaluators)) if run.status in ACTIVE else []
    return RunProgress(
        run=run,
        evaluators=evaluators,
        failures=[FailureCount(row["failure_kind"], row["count"]) for row in failures],
        rate_per_minute=rate,
        eta_seconds=_seconds_left(run, evaluators, rate, rates),
        reserved=sum((lease.reserved for lease in leases), Decimal(0)),
        workers=len(leases),
        seconds=((run.finished_at or at) - run.started_at).total_seconds() if run.started_at else None,
        rates=rates,
    )


def _asked_endpoints(run: Run, evaluators: Sequence[RunEvaluator]) -> list[ModelEndpoint]:
    """Return the endpoints that a run asks: those of its judges, and those of the models that respond."""
    judges = [row.judge.endpoint for row in evaluators if row.judge is not None and row.judge.endpoint is not None]
    names = [worker["endpoint"] for worker in run.options.get("workers", {}).values()]
    workers = list(ModelEndpoint.objects.filter(name__in=names)) if names else []
    return list({endpoint.pk: endpoint for endpoint in (*judges, *workers)}.values())


def _seconds_left(
    run: Run, evaluators: Sequence[RunEvaluator], rate: float | None, rates: Sequence[RateState]
) -> float | None:
    """Return how long the run still takes at its rate, and no less than rate limits let its judges' calls take."""
    if not rate:
        return None
    ended = run.done + run.failed
    calls_each = max(1.0, run.calls_made / ended) if ended else 1.0
    tasks_left: dict[int | None, int] = {}
    for row in evaluators:
        endpoint_id = row.judge.endpoint_id if row.judge is not None else None
        tasks_left[endpoint_id] = tasks_left.get(endpoint_id, 0) + row.total - row.done - row.failed
    limited = [60 * tasks_left.get(state.endpoint.pk, 0) * calls_each / state.calls_per_minute for state in rates]
    return max([60 * run.waiting / rate, *limited])


def rate_per_minute(pace: Sequence[Sequence[float]], *, at: datetime) -> float | None:
    """Return tasks ended per minute in the last minute of `pace`; None where fewer than two of its points differ.

    It is the median between these points: a burst, as of rules and reused replies, or a wait says little of the rest.
    """
    recent = [point for point in pace if at.timestamp() - point[0] <= PACE_WINDOW_SECONDS]
    moved = recent[:1] + [later for earlier, later in pairwise(recent) if later[1] > earlier[1]]
    steps = [(later[1] - earlier[1], later[0] - earlier[0]) for earlier, later in pairwise(moved)]
    rates = [tasks / seconds for tasks, seconds in steps if tasks > 0 and seconds > 0]  # a retry takes tasks back
    return 60 * median(rates) if rates else None


def tasks_of(evaluator: RunEvaluator) -> QuerySet[RunTask]:
    """Return the tasks in which an evaluator judges; those of an ESI run belong to its index."""
    if evaluator.run.kind == RunKind.ESI:
        return RunTask.objects.filter(run=evaluator.run_id)
    return RunTask.objects.filter(evaluator=evaluator)


def list_tasks(*, run: Run, evaluator_id: int | None, failure: str = "", status: str = "") -> QuerySet[RunTask]:
    """Return a run's tasks with what they are about, in the order they were planned.

    A task of an ESI run belongs to the index; its judges have the tasks whose answers they gave a verdict on.
    """
    tasks = (
        RunTask.objects.filter(run=run)
        .select_related("evaluator", "response__system", "response__prompt", "verdict")
        .defer(*BULKY)
    )
    if evaluator_id is not None and run.kind == RunKind.ESI:
        judged = Verdict.objects.filter(evaluator_id=evaluator_id, run=run).values("response_id")
        tasks = tasks.filter(Q(evaluator_id=evaluator_id) | Q(response_id__in=judged))
    elif evaluator_id is not None:
        tasks = tasks.filter(evaluator_id=evaluator_id)
    if failure:
        tasks = tasks.filter(status=TaskStatus.FAILED, failure_kind=failure)
    elif status in TaskStatus.values:
        tasks = tasks.filter(status=status)
    return tasks.order_by("pk")


def count_tasks(*, progress: RunProgress, evaluator_id: int | None, failure: str = "", status: str = "") -> int | None:
    """Return how many tasks `list_tasks` finds, from counters alone; None where they do not tell."""
    run = progress.run
    if run.planned_at is None:
        return 0
    if run.asked_systems and run.status in ACTIVE and evaluator_id is None and not failure and not status:
        return None  # the total counts tasks that are yet to follow
    counts = {"": run.total, TaskStatus.DONE.value: run.done, TaskStatus.FAILED.value: run.failed}
    if evaluator_id is not None:
        evaluator = next((row for row in progress.evaluators if row.pk == evaluator_id), None)
        if evaluator is None:
            return 0
        if run.kind == RunKind.ESI and evaluator.kind == EvaluatorKind.JUDGE:
            return None
        counts = {"": evaluator.total, TaskStatus.DONE.value: evaluator.done, TaskStatus.FAILED.value: evaluator.failed}
    elif failure:
        return sum(row.count for row in progress.failures if row.kind == failure)
    return None if failure else counts.get(status)


def tasks_to_retry(run: Run) -> QuerySet[RunTask]:
    """Return the failed tasks that a retry asks again: those whose verdict has no value, or that have none."""
    return RunTask.objects.filter(run=run, status=TaskStatus.FAILED).exclude(verdict__value__isnull=False)


def scores_for(tasks: Sequence[RunTask]) -> dict[tuple[int, int], Score]:
    """Return the scores of these tasks by evaluator and response."""
    evaluators = {task.evaluator_id for task in tasks if task.evaluator_id is not None}
    responses = {task.response_id for task in tasks if task.response_id is not None}
    scores = Score.objects.filter(evaluator_id__in=evaluators, response_id__in=responses)
    return {(score.evaluator_id, score.response_id): score for score in scores.defer("detail")}


def read_verdict(pk: int) -> Verdict | None:
    """Return a verdict with everything its page shows but its calls."""
    return Verdict.objects.select_related(*VERDICT_PAGE).filter(pk=pk).first()


def read_trial(*, response: Response, run_id: int) -> Run | None:
    """Return a run of this one response; None where there is none of this number."""
    runs = Run.objects.filter(kind=RunKind.SINGLE, tasks__response=response).select_related("created_by", "suite")
    return runs.filter(pk=run_id).first()


def list_trials(*, response: Response) -> QuerySet[Run]:
    """Return the runs of this one response, the newest first."""
    return Run.objects.filter(kind=RunKind.SINGLE, tasks__response=response).order_by("-pk")


def verdict_of_run(run: Run) -> Verdict | None:
    """Return the one verdict of a run of one response, once it is there."""
    return Verdict.objects.select_related(*VERDICT_PAGE).filter(run=run).first()


# Reads ESI runs: sub-scores per system, and the statuses of items.
#
# With it the options of any evaluator that change its scores and nothing that a judge is asked.


def scoring_options(evaluator: RunEvaluator) -> tuple[str, ...]:
    """Return the names of a judge's options that only scores depend on, as it was set up for its run."""
    if evaluator.kind != EvaluatorKind.JUDGE or "judge_kind" not in evaluator.options:
        return ()
    from judging.judges.registry import judge_kind  # every kind of judge, which few who ask need

    kind = judge_kind(evaluator.options["judge_kind"])
    chosen = kind.complete_options(evaluator.options["judge_options"])
    return tuple(option.name for option in kind.options if not option.affects_calls_with(chosen))


def can_rescore(evaluator: RunEvaluator) -> bool:
    """Return whether an evaluator's scores can be computed again from what is stored."""
    return evaluator.kind == EvaluatorKind.INDEX or bool(scoring_options(evaluator))


SUB_SCORE_WORDS = {
    "accuracy": "Accuracy",
    "true_integrity": "Integrity",
    "efficiency": "Efficiency",
    "safety": "Safety",
    "alignment_simple": "Alignment",
}
STATUS_WORDS = {
    EsiStatus.COMPLETED.value: "completed",
    EsiStatus.WORKER_ERROR.value: "no response",
    EsiStatus.ACCURACY_ERROR.value: "no accuracy verdict",
    EsiStatus.INTEGRITY_ERROR.value: "no integrity verdict",
    "": "waiting",
}
UNMEASURED = "incomplete, tokens not reported"


@dataclass(frozen=True, slots=True)
class EsiRow:
    """One system: averages over the items that completed, and where the others ended."""

    system: System
    scored: int
    index: float | None
    parts: tuple[float | None, ...]  # in the order of SUB_SCORES
    ended: tuple[tuple[str, int], ...]  # words and count, but for completed


def read_summary(run: Run) -> list[EsiRow]:
    """Return a run's averages by system, the best first; systems without a completed item last."""
    part = {
        name: Avg(Cast(KeyTextTransform(name, KeyTransform("sub_scores", "detail")), FloatField()))
        for name in SUB_SCORES
    }
    scores = Score.objects.filter(run=run, evaluator__kind="index", status=ScoreStatus.COMPLETE).order_by()
    means = {
        row["response__system"]: row
        for row in scores.values("response__system").annotate(n=Count("pk"), esi=Avg("value"), **part)
    }
    ended: dict[int, list[tuple[str, int]]] = {}
    others = EsiItem.objects.filter(~Q(status=EsiStatus.COMPLETED), run=run).order_by("status")
    for system_id, status, count in others.values_list("system", "status").annotate(n=Count("pk")):
        ended.setdefault(system_id, []).append((STATUS_WORDS.get(status, status), count))
    for system_id, count in _unmeasured(run):
        ended.setdefault(system_id, []).append((UNMEASURED, count))
    rows = [_row(system, means.get(system.pk, {}), ended.get(system.pk, [])) for system in run.systems.order_by("name")]
    return sorted(rows, key=lambda row: (row.index is None, -(row.index or 0)))


def weights_of(run: Run) -> list[tuple[str, float]]:
    """Return the sub-scores of an ESI run in words, each with its weight, which are scaled to a sum of 1."""
    weights = run.options["esi"]["weights"]
    total = sum(weights.values())
    return [(SUB_SCORE_WORDS[name], weights[name] / total) for name in SUB_SCORES]


def _unmeasured(run: Run) -> list[tuple[int, int]]:
    """Return how many responses of each system have verdicts of both judges and yet no index."""
    scores = Score.objects.filter(run=run, evaluator__kind="index", status=ScoreStatus.INCOMPLETE)
    completed = scores.filter(detail__ended=EsiStatus.COMPLETED.value).order_by("response__system")
    return list(completed.values_list("response__system").annotate(n=Count("pk")))


def _row(system: System, means: JsonObject, ended: Sequence[tuple[str, int]]) -> EsiRow:
    return EsiRow(
        system=system,
        scored=means.get("n", 0),
        index=means.get("esi"),
        parts=tuple(means.get(name) for name in SUB_SCORES),
        ended=tuple(ended),
    )


def attach_items(tasks: Sequence[RunTask], *, judge_id: int | None = None) -> dict[int, EsiItem]:
    """Give each task its item, since a case without a response has none to show, and its judges' verdicts (or
    those of one evaluator alone); return the items by id."""
    item_ids = [task.subject_id for task in tasks if task.subject_id is not None]
    items = EsiItem.objects.select_related("case", "system").defer("cleaned").in_bulk(item_ids)
    by_response: dict[int | None, list[Verdict]] = {}
    responses = [task.response_id for task in tasks if task.response_id is not None]
    verdicts = Verdict.objects.filter(run_id__in={task.run_id for task in tasks}, response_id__in=responses)
    if judge_id is not None and any(task.evaluator_id != judge_id for task in tasks):
        verdicts = verdicts.filter(evaluator_id=judge_id)
    for verdict in verdicts.select_related("evaluator").defer("rationale").order_by("evaluator__position"):
        by_response.setdefault(verdict.response_id, []).append(verdict)
    for task in tasks:
        task.item = items.get(task.subject_id or 0)  # type: ignore[attr-defined]  # for the template
        task.judge_verdicts = by_response.get(task.response_id, [])  # type: ignore[attr-defined]  # for the template
    return items


ORIGINAL_GROUP = 10  # attempts whose best counts, in the original program's table
Clip = tuple[float, float]
_AVG_MAX = re.compile(r"avg_max_([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Figures:
    """One system's results by one grader or judge. Rows of rule graders count points, those of judges shares."""

    evaluator: str
    system: str
    is_baseline: bool
    scored: int  # responses with a score
    unscored: int  # responses without one; they count nowhere
    rows: tuple[ReportRow, ...]
    left_out: tuple[str, ...] = ()  # cases without a figure, by key


def run_figures(run: Run) -> list[Figures]:
    """Return the figures of every grader and judge, system by system."""
    systems, cases = list(run.systems.order_by("name")), run_cases(run)
    return [
        _figures_of(evaluator, system, cases)
        for evaluator in run.evaluators.select_related("rubric").order_by("position")
        for system in systems
    ]


def run_cases(run: Run) -> list[Case]:
    """Return the cases that a run is about in their order: what it leaves out of its suite is no missing response."""
    part = case_filters(selection_from_json(run.options.get("selection") or {}))
    return list(Case.objects.filter(links__suite=run.suite_id, **part).order_by("links__position"))


def _figures_of(evaluator: RunEvaluator, system: System, cases: Sequence[Case]) -> Figures:
    by_prompt = _shares_by_prompt(evaluator, system.pk)
    shares = [share for prompt_shares in by_prompt.values() for share in prompt_shares]
    complete = sum(share is not None for share in shares)
    head = (evaluator.name, system.name, evaluator.is_baseline, complete, len(shares) - complete)
    if system.name == evaluator.compared_with:  # a baseline is not compared with itself
        return Figures(*head, ())
    if evaluator.kind != EvaluatorKind.GRADER or evaluator.imported_from:
        return Figures(*head, *_judge_rows(evaluator, cases, by_prompt))
    report = rule_report(evaluator, system_id=system.pk, cases=cases)
    return Figures(*head, report.rows, report.left_out)


def clip_of(evaluator: RunEvaluator) -> Clip | None:
    """Return the range to which the evaluator's rubric cuts the mean over a benchmark, never one item; None: none."""
    clip = evaluator.rubric.benchmark_aggregate.get("clip") if evaluator.rubric is not None else None
    return (float(clip[0]), float(clip[1])) if clip else None


def _shares_by_prompt(evaluator: RunEvaluator, system_id: int) -> dict[int, list[float | None]]:
    """Return the shares of a system's attempts in their order; None: one waits, failed or has no score.

    So is a case that the system was not asked for yet, or to which it never replied.
    """
    scores = Score.objects.filter(evaluator=evaluator, response__system=system_id)
    fields = ("response__attempt", "response_id", "response__prompt_id")
    open_tasks = tasks_of(evaluator).filter(response__system=system_id).exclude(status=TaskStatus.DONE)
    attempts: dict[tuple[int, int, int], float | None] = dict.fromkeys(open_tasks.values_list(*fields))
    attempts |= {(number, pk, prompt): share for number, pk, prompt, share in scores.values_list(*fields, "share")}
    by_prompt: dict[int, list[float | None]] = defaultdict(list)
    for (_, _, prompt_id), share in sorted(attempts.items(), key=lambda attempt: attempt[0]):
        by_prompt[prompt_id].append(share)
    asks = Ask.objects.filter(run=evaluator.run_id, system=system_id, response=None).order_by("-stop_reason")
    for prompt_id, reason in asks.values_list("case__prompt_id", "stop_reason"):  # replies first: they win
        by_prompt.setdefault(prompt_id, [] if reason else [None])
    return by_prompt


def group_size(*, mode: str, compat: bool) -> int:
    """Return how many attempts make a group whose best counts: as the suite says, or always ten as the original did."""
    if compat:
        return ORIGINAL_GROUP
    if grouped := _AVG_MAX.fullmatch(mode):
        return int(grouped[1])
    return 10**9 if mode == "max" else 1


def rule_report(evaluator: RunEvaluator, *, system_id: int, cases: Sequence[Case]) -> SuiteReport:
    """Return the table of a rule grader for one system; cases without rules, or a score of an attempt, are left out. A
    system none of whose responses was scored has no rows.

    A log has scores and no points by metric, and is about the cases that it has: its rows are those of judges.
    """
    run = evaluator.run
    if evaluator.imported_from:
        rows, left_out = _judge_rows(evaluator, cases, _shares_by_prompt(evaluator, system_id))
        return SuiteReport(rows, 1, left_out)
    scores = Score.objects.filter(evaluator=evaluator, response__system=system_id).order_by("response__attempt", "pk")
    by_prompt: dict[int, list[Points | None]] = defaultdict(list)
    stored = scores.filter(share__isnull=False).values_list("response__prompt_id", "detail")
    for prompt_id, detail in stored.iterator(chunk_size=2000):
        by_prompt[prompt_id].append(metric_points(detail.get("criteria", ())))
    for prompt_id, shares in _shares_by_prompt(evaluator, system_id).items():
        by_prompt[prompt_id] += [None] if None in shares else []
    graded, ungraded = list[CaseAttempts](), list[str]()
    compat = bool(run.options.get("compat"))
    for case in cases:
        attempts = by_prompt.get(case.prompt_id, [])
        decided = [points for points in attempts if points is not None]
        if run.suite.attempt_reduce_mode == "min" and not compat:
            decided = sorted(decided, key=lambda points: sum(got for got, _ in points.values()))[:1]
        if None in attempts or not (attempts or case.grading):
            ungraded.append(case.key)
        else:
            graded.append(_attempts(case, decided, suite=run.suite))
    if not any(case.attempts for case in graded):
        graded, ungraded = [], [case.key for case in cases]
    size = group_size(mode=run.suite.attempt_reduce_mode, compat=compat)
    report = suite_report(graded, group_size=size, compat=compat)
    return replace(report, left_out=(*ungraded, *report.left_out))


def _attempts(case: Case, attempts: Sequence[Points], *, suite: Suite) -> CaseAttempts:
    full_score, null_score = suite.points(case.full_score, case.null_score)
    return CaseAttempts(
        key=case.key,
        lang=case.lang,
        question_type=case.question_type,
        attempts=attempts,
        full_score=full_score,
        max_score=_bound(case.grading, "max_score"),
        min_score=_bound(case.grading, "min_score"),
        null_score=null_score,
    )


def _bound(grading: JsonObject, name: str) -> float | None:
    value = grading.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _judge_rows(
    evaluator: RunEvaluator, cases: Sequence[Case], by_prompt: Mapping[int, Sequence[float | None]]
) -> tuple[tuple[ReportRow, ...], tuple[str, ...]]:
    """Return means of shares over cases, as boards have them, with the deviation between cases, and what is left out.

    A case without a response has its null score, but where no response of the system has a score; a log is about its
    own cases, and a trial, anchors and golden sets about the responses that were chosen.
    """
    suite, (low, high) = evaluator.run.suite, clip_of(evaluator) or (-inf, inf)
    has_own_cases = evaluator.imported_from or evaluator.run.kind not in SCORED_KINDS
    is_unread = {share for shares in by_prompt.values() for share in shares} == {None}
    shares, left_out = defaultdict[tuple[str, str], list[float]](list), list[str]()
    for case in cases:
        attempts = by_prompt.get(case.prompt_id, ())
        decided = [share for share in attempts if share is not None]
        if not attempts and has_own_cases:
            continue
        if is_unread or len(decided) < len(attempts):
            left_out.append(case.key)
            continue
        full, null = suite.points(case.full_score, case.null_score)
        share = reduce_scores(decided, suite.attempt_reduce_mode)[0] if decided else null / full if full else 0.0
        for row in (("overall", ""), ("language", case.lang), ("type", case.question_type)):
            shares[row].append(share)
    rows = (
        ReportRow(*key, min(max(fmean(values), low), high), stdev(values) if len(values) > 1 else 0.0, 1.0, len(values))
        for key, values in shares.items()
    )
    return tuple(rows), tuple(left_out)
