"""What the audit of a run or a debate set draws from, how much of it is drawn, and what answering has cost so far."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from django.db.models import Max
from django.db.models.functions import Coalesce

from debate.models import DebateSet
from evalsite.review.models import Annotation, AuditPlan, ItemArm, Queue
from judging.models import EvaluatorKind, Run, RunKind, RunTask

CHUNK = 2_000
RECENT = 200  # answers that a median rests on
DEFAULT_QUORUM = 2


def run_keys(run: Run) -> list[str]:
    """Return the key of each response under each criterion of a run: fixed when it starts, whatever comes of it."""
    tasks = RunTask.objects.filter(run=run, response__isnull=False).order_by("response_id")
    if run.kind == RunKind.ESI:  # one task asks both judges; the index itself asks people nothing
        ids = tasks.values_list("response_id", flat=True).distinct()
        criteria = _judged_criteria(run)
        return [f"{response_id}:{criterion}" for response_id in ids.iterator(CHUNK) for criterion in criteria]
    pairs = tasks.values_list("response_id", "evaluator__criterion").distinct()
    return [f"{response_id}:{criterion}" for response_id, criterion in pairs.iterator(CHUNK)]


def debate_keys(debate_set: DebateSet) -> list[str]:
    """Return the key of each debate of a set."""
    return [str(pk) for pk in debate_set.debates.order_by("pk").values_list("pk", flat=True)]


def _judged_criteria(run: Run) -> list[str]:
    judges = run.evaluators.filter(kind=EvaluatorKind.JUDGE).order_by("position")
    return list(judges.values_list("criterion", flat=True))


def _run_population(run: Run) -> int:
    """Return how many keys `run_keys` gives, from counters where they tell."""
    tasks = RunTask.objects.filter(run=run, response__isnull=False).order_by()
    if run.kind == RunKind.ESI:
        return tasks.values("response_id").distinct().count() * len(_judged_criteria(run))
    totals = list(run.evaluators.order_by().values_list("criterion", "total")) if run.planned_at is not None else []
    if len({total for _, total in totals}) == 1:  # all ask about the same responses
        return sum(dict(totals).values())
    return tasks.values("response_id", "evaluator__criterion").distinct().count()


def plan_of(*, run: Run | None = None, debate_set: DebateSet | None = None) -> AuditPlan | None:
    """Return the plan that somebody chose, if anybody did."""
    return AuditPlan.objects.select_related("chosen_by").filter(run=run, debate_set=debate_set).first()


def drawn_size(*, queue: Queue | None, population: int) -> int:
    """Return the size of the sample that has been drawn, from the stored probabilities; 0 before any draw."""
    if queue is None:
        return 0
    audited = queue.items.filter(arm=ItemArm.AUDIT)
    chance = audited.aggregate(chance=Max("inclusion_probability"))["chance"]
    return round((chance or 0.0) * population)


@dataclass(frozen=True, slots=True)
class AuditSubject:
    """A run or a debate set as its audit page sees it."""

    run: Run | None
    debate_set: DebateSet | None
    queue: Queue | None
    plan: AuditPlan | None
    population: int
    drawn: int
    quorum: int
    seconds_per_answer: float | None  # median of recent answers: of this queue, else of the site
    is_own_time: bool  # the median rests on this queue's own answers

    @property
    def about(self) -> Run | DebateSet:
        """The run or the debate set."""
        found = self.run or self.debate_set
        if found is None:
            raise ValueError("an audit of nothing")
        return found

    @property
    def noun(self) -> str:
        """What is drawn."""
        return "debates" if self.debate_set is not None else "verdicts"


def subject_of_run(run: Run) -> AuditSubject:
    """Return what the audit page of a run shows."""
    return _subject(run, None, Queue.objects.filter(run=run).first(), _run_population(run))


def subject_of_debates(debate_set: DebateSet) -> AuditSubject:
    """Return what the audit page of a debate set shows."""
    queue = Queue.objects.filter(debate_set=debate_set).first()
    return _subject(None, debate_set, queue, debate_set.debates.count())


def _subject(run: Run | None, debate_set: DebateSet | None, queue: Queue | None, population: int) -> AuditSubject:
    own = _median_seconds(queue) if queue is not None else None
    return AuditSubject(
        run=run,
        debate_set=debate_set,
        queue=queue,
        plan=plan_of(run=run, debate_set=debate_set),
        population=population,
        drawn=drawn_size(queue=queue, population=population),
        quorum=queue.quorum if queue is not None else DEFAULT_QUORUM,
        seconds_per_answer=own if own is not None else _median_seconds(None),
        is_own_time=own is not None,
    )


def _median_seconds(queue: Queue | None) -> float | None:
    answers = Annotation.objects.all() if queue is None else Annotation.objects.filter(queue=queue)
    timed = answers.annotate(spent=Coalesce("active_seconds", "seconds")).order_by("-created_at", "-pk")
    times = [spent for spent in timed.values_list("spent", flat=True)[:RECENT] if spent is not None]
    return median(times) if times else None
