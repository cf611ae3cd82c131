"""Which leaderboards there are and who graded them, and the versions of the data behind reports.

With it what a run's evaluators failed at and paid for.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from django.db.models import Count, Exists, Max, OuterRef, QuerySet, Sum

from debate.models import Debate, DebateSet
from evalsite.base.rows import grouped
from evalsite.base.types import JsonDict, JsonObject
from evalsite.reports.models import OfficialBoard, Snapshot
from evalsite.review.models import Adjudication, Annotation, Queue
from judging.judges.judge_kinds import HASH_SHOWN
from judging.models import SCORED_KINDS, Call, EvaluatorKind, Run, RunEvaluator, RunTask, Suite, TaskStatus
from judging.models.runs import RunStatus
from judging.statistics.estimates import Ints

LABEL_CLOCK = "label-clock"  # ticks when a label, response or name that exists is another; new ones have new keys

SITE = Path(__file__).resolve().parents[3]
APPS = ("debate", "evalsite", "judging")  # whose code reports are made by: they read labels, verdicts and debates


@cache
def code_version() -> str:
    """Return eight hex digits that differ once the site's code does, which may compute something else then."""
    code = hashlib.sha256()
    for path in sorted(path for app in APPS for path in (SITE / app).rglob("*.py")):
        code.update(path.read_bytes())
    return code.hexdigest()[:8]


_LABELS = ContextVar[str | None]("labels", default=None)


@contextmanager
def labels_read_once() -> Iterator[None]:
    """Read the version of all labels once for all reports that are requested inside."""
    outside = _LABELS.set(label_version())
    try:
        yield
    finally:
        _LABELS.reset(outside)


def label_version(queue: Queue | None = None) -> str:
    """Return a text that differs once a label (of the queue) was given, or the clock ticked. Three reads by key."""
    stored = _LABELS.get() if queue is None else None
    if stored is not None:
        return stored
    annotations = Annotation.objects.all() if queue is None else Annotation.objects.filter(queue=queue)
    annotation = annotations.order_by("-pk").values_list("pk", flat=True).first()
    adjudication = Adjudication.objects.order_by("-pk").values_list("pk", flat=True).first()
    clock = Snapshot.objects.filter(kind=LABEL_CLOCK).values_list("content", flat=True).first()
    return f"{annotation}.{adjudication}.{(clock or {}).get('ticks')}"


def evaluators_version(evaluators: Sequence[RunEvaluator]) -> str:
    """Return a text that differs once a run of these evaluators progressed or a label was added. Runs are loaded."""
    runs = [evaluator.run_id for evaluator in evaluators]
    routed_at = Queue.objects.filter(run__in=runs).order_by("run").values_list("routed_at", flat=True)  # audits grow
    versions = ".".join(results_version(evaluator) for evaluator in evaluators)
    return f"{versions}.{list(routed_at)}.{label_version()}"


def results_version(evaluator: RunEvaluator) -> str:
    """Return a text that differs once an evaluator's run progressed or was scored again. `evaluator.run` is loaded."""
    run = evaluator.run
    rescored = len(evaluator.options.get("history", ()))
    counted = f"{run.pk}.{run.status}.{evaluator.done}.{evaluator.failed}.{run.done}.{run.failed}.{rescored}"
    return f"{counted}.{run.finished_at}"


def queue_version(queue: Queue) -> str:
    """Return a text that differs once a queue's items or their labels have changed."""
    return f"{queue.pk}.{queue.open_count}.{queue.total_count}.{queue.routed_at}.{label_version(queue)}"


def work_version() -> str:
    """Return a text that differs once any run, debate or label has changed or gone, or a run was scored again."""
    runs = Run.objects.aggregate(last=Max("pk"), done=Sum("done"), failed=Sum("failed"), ended=Max("finished_at"))
    sets = DebateSet.objects.aggregate(last=Max("pk"), count=Count("pk"))  # an import may be undone
    debates = Debate.objects.order_by("-pk").values_list("pk", flat=True).first()
    histories = RunEvaluator.objects.filter(options__has_key="history").values_list("options__history", flat=True)
    rescored = sum(len(history) for history in histories)
    routed_at = Queue.objects.aggregate(last=Max("routed_at"))["last"]
    counted = f"{runs['last']}.{runs['done']}.{runs['failed']}.{runs['ended']}.{rescored}.{routed_at}"
    return f"{counted}.{sets}.{debates}.{label_version()}"


Options = JsonObject  # JSON values only


def fingerprint(options: Options) -> str:
    """Return 32 hex digits that equal options share, whatever the order of their keys."""
    text = json.dumps(dict(options), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def chosen(options: Options, name: str) -> str:
    """Return one option as text, empty where it was not chosen."""
    return str(options.get(name) or "")


CHOICES_SHOWN = 200
CHUNK = 5000


@dataclass(frozen=True, slots=True)
class EvaluatorBoard:
    """The leaderboard of one evaluator, and how much of the suite its run covers."""

    evaluator: RunEvaluator
    system_count: int  # systems that its run asked about
    known_count: int  # systems that any run of the suite asked about

    @property
    def version(self) -> str:
        """Return the head of the judge's prompt hash, which tells two versions of one judge apart; rules have none."""
        return str(self.evaluator.options.get("prompt_hash") or "")[:12]

    @property
    def is_partial(self) -> bool:
        return self.system_count < self.known_count


@dataclass(frozen=True, slots=True)
class EvaluatorChoices:
    """The fullest board of each evaluator's name, all boards, newest run first, and those of archived runs."""

    fullest: tuple[EvaluatorBoard, ...]
    every: tuple[EvaluatorBoard, ...]
    archived: tuple[EvaluatorBoard, ...] = ()

    def pick(self, evaluator_id: str) -> EvaluatorBoard | None:
        """Return the one asked for, else the default: a real judge or rules before a baseline, then the fullest."""
        boards = (*self.every, *self.archived)
        chosen = next((board for board in boards if str(board.evaluator.pk) == evaluator_id), None)
        return chosen or next(iter(self.fullest), None)

    def named(self, evaluator_id: str) -> EvaluatorBoard | None:
        """Return the one asked for, the default where none is; None where what is asked for is not there."""
        board = self.pick(evaluator_id)
        return board if board is None or evaluator_id in ("", str(board.evaluator.pk)) else None


def scored_suites() -> QuerySet[Suite]:
    """Return suites that a run has scored which is not archived, the newest first."""
    runs = Run.objects.filter(suite=OuterRef("pk"), kind__in=SCORED_KINDS, done__gt=0, archived_at__isnull=True)
    return Suite.objects.filter(Exists(runs)).select_related("benchmark").order_by("-created_at", "-pk")


def evaluators_of(suite_ids: Sequence[int]) -> dict[int, EvaluatorChoices]:
    """Return the evaluators with results by suite: of each name the fullest board first, then all of them."""
    rows = list(
        RunEvaluator.objects.filter(run__suite__in=suite_ids, run__kind__in=SCORED_KINDS, done__gt=0)
        .select_related("run__suite__benchmark")
        .order_by("-run__created_at", "-run_id", "position")
    )
    systems: dict[int, set[int]] = {row.run_id: set() for row in rows}
    links = Run.systems.through.objects.filter(run__in=list(systems))
    for run_id, system_id in links.values_list("run_id", "system_id"):
        systems[run_id].add(system_id)
    by_suite: dict[int, list[RunEvaluator]] = {suite_id: [] for suite_id in suite_ids}
    for row in rows:
        if len(by_suite[row.run.suite_id]) < CHOICES_SHOWN:  # of each suite, or old ones had none
            by_suite[row.run.suite_id].append(row)
    return {suite_id: _choices(evaluators, systems) for suite_id, evaluators in by_suite.items()}


def evaluators_with_run(evaluator_ids: Sequence[int]) -> list[RunEvaluator]:
    """Return evaluators in this order with run, suite and benchmark loaded. Raises: KeyError where one is gone."""
    rows = RunEvaluator.objects.select_related("run__suite__benchmark", "rubric").in_bulk(list(evaluator_ids))
    return [rows[pk] for pk in evaluator_ids]


MAX_HISTORY = 24  # runs


def history_of(evaluator: RunEvaluator) -> list[RunEvaluator]:
    """Return the evaluators of this name and criterion in every version of the suite, the newest runs, oldest first.

    Run, suite and benchmark are loaded, here and in the result.
    """
    rows = RunEvaluator.objects.filter(
        name=evaluator.name,
        criterion=evaluator.criterion,
        kind=evaluator.kind,
        run__suite__benchmark=evaluator.run.suite.benchmark_id,
        run__kind__in=SCORED_KINDS,
        run__archived_at__isnull=True,
        done__gt=0,
    )
    newest = rows.select_related("run__suite__benchmark", "rubric").order_by("-run__created_at", "-pk")[:MAX_HISTORY]
    return list(newest)[::-1]


def _choices(rows: Sequence[RunEvaluator], systems: dict[int, set[int]]) -> EvaluatorChoices:
    suite_systems = set().union(*(systems[row.run_id] for row in rows if row.run.archived_at is None))
    boards = [EvaluatorBoard(row, len(systems[row.run_id]), len(suite_systems)) for row in rows]
    every = [board for board in boards if board.evaluator.run.archived_at is None]
    archived = [board for board in boards if board.evaluator.run.archived_at is not None]
    fullest: dict[str, EvaluatorBoard] = {}
    for board in sorted(every, key=_fullness):  # stable: of two that are equally full the newer one
        fullest.setdefault(board.evaluator.name, board)
    return EvaluatorChoices(tuple(fullest.values()), tuple(every), tuple(archived))


def _fullness(board: EvaluatorBoard) -> tuple[bool, bool, int, int]:
    """Return what orders boards: a baseline last, a run at work after finished ones, then systems and responses."""
    row = board.evaluator
    return (row.is_baseline, row.run.status != RunStatus.FINISHED, -board.system_count, -row.done)


def evaluators_of_run(run_id: int) -> list[RunEvaluator]:
    """Return a run's graders and judges in their order, each with the run and its suite loaded. One query."""
    rows = RunEvaluator.objects.filter(run=run_id).select_related("run__suite__benchmark", "rubric")
    return list(rows.order_by("position"))


def task_count(run_id: int) -> int:
    """Return how many tasks a run has, from its counter."""
    return Run.objects.values_list("total", flat=True).get(pk=run_id)


def calls_paid_by(run_id: int) -> Ints:
    """Return the keys of the calls that this run was the first to make; others that it used were reused."""
    keys = Call.objects.filter(run=run_id).order_by().values_list("pk", flat=True)
    return np.fromiter(keys.iterator(chunk_size=CHUNK), dtype=np.int64)


def failures_by_evaluator(run_id: int) -> dict[int, list[tuple[str, int]]]:
    """Return the kinds of failure of each evaluator's tasks with their numbers, the most frequent first."""
    failed = RunTask.objects.filter(run=run_id, status=TaskStatus.FAILED, evaluator__isnull=False).order_by()
    failures = grouped(
        (evaluator_id, (kind, count))
        for evaluator_id, kind, count in failed.values_list("evaluator_id", "failure_kind").annotate(n=Count("pk"))
    )
    return {key: sorted(kinds, key=lambda kind: (-kind[1], kind[0])) for key, kinds in failures.items()}


def judges_among(evaluators: list[RunEvaluator]) -> list[RunEvaluator]:
    """Return those that are judges: rules and what is computed from judges ask nobody."""
    return [evaluator for evaluator in evaluators if evaluator.kind == EvaluatorKind.JUDGE]


MAX_COLUMNS = 8  # side by side on a page


@dataclass(frozen=True, slots=True)
class Grader:
    """A rule grader or one version of a judge, with what its runs made of it, the newest first."""

    evaluators: tuple[RunEvaluator, ...]
    label: str

    @property
    def newest(self) -> RunEvaluator:
        return self.evaluators[0]

    @property
    def key(self) -> int:
        """Its key in addresses: the id of its evaluator in the newest run."""
        return self.newest.pk

    @property
    def options(self) -> JsonDict:
        """The options of the reports about it: which evaluators count."""
        return {"evaluators": [evaluator.pk for evaluator in self.evaluators]}

    def holds(self, evaluator_id: int) -> bool:
        """Whether one of its evaluators has this key."""
        return any(evaluator.pk == evaluator_id for evaluator in self.evaluators)


def graders_of(suite_id: int) -> tuple[Grader, ...]:
    """Return who scored a suite, in the order of its leaderboards: real judges and rules before baselines."""
    from judging.selectors.judges import versions_of  # every kind of judge, which commands of boards do not need

    choices = evaluators_of([suite_id])[suite_id]
    keys = {pk: version.key for pk, version in versions_of([board.evaluator for board in choices.every]).items()}
    grouped: dict[tuple[bool, str, str], list[RunEvaluator]] = {}
    for board in choices.every:
        row = board.evaluator
        grouped.setdefault((row.is_baseline, row.name, keys[row.pk]), []).append(row)
    ranks = {board.evaluator.name: rank for rank, board in enumerate(choices.fullest)}
    ordered = sorted(grouped.items(), key=lambda entry: (ranks[entry[0][1]], -entry[1][0].pk))
    version_counts = Counter((name, rows[0].criterion) for (_, name, _), rows in ordered)
    prompts = Counter((name, rows[0].criterion, _prompt(rows[0])) for (_, name, _), rows in ordered)
    criteria = Counter(name for name, _ in version_counts)
    graders = []
    for (_, name, key), rows in ordered:
        criterion, prompt = rows[0].criterion, _prompt(rows[0])
        label = f"{name}, {criterion}" if criteria[name] > 1 and criterion else name
        if version_counts[name, criterion] > 1:
            is_told_apart = prompt and prompts[name, criterion, prompt] == 1
            label += f" (prompt {prompt})" if is_told_apart else f" ({key[:HASH_SHOWN]})"
        graders.append(Grader(tuple(rows), label))
    return tuple(graders)


def first_graders(graders: Sequence[Grader], official: OfficialBoard | None) -> list[Grader]:
    """Return whom a suite's board shows first: those that were pinned, by any of their evaluators, else all."""
    return (graders_named(graders, official.evaluators if official is not None else ()) or list(graders))[:MAX_COLUMNS]


def graders_named(graders: Sequence[Grader], evaluator_ids: Collection[int]) -> list[Grader]:
    """Return those that hold one of these evaluators, in their own order."""
    return [grader for grader in graders if any(grader.holds(pk) for pk in evaluator_ids)]


def grader_named(graders: Sequence[Grader], evaluator_ids: Sequence[int]) -> Grader | None:
    """Return the one that holds the first known of these evaluators, else the first one; None where there is none."""
    named = (grader for pk in evaluator_ids for grader in graders if grader.holds(pk))
    return next(named, next(iter(graders), None))


def board_options(graders: Sequence[Grader]) -> JsonDict:
    """Return the options of the board of these graders."""
    return {"graders": [[row.pk for row in grader.evaluators] for grader in graders]}


def _prompt(evaluator: RunEvaluator) -> str:
    """Return the head of the hash of a judge's prompt; empty without one."""
    return str(evaluator.options.get("prompt_hash") or "")[:HASH_SHOWN] if evaluator.kind == EvaluatorKind.JUDGE else ""
