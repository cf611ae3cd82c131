"""What the audit of a run or a debate set draws from, how much of it is drawn, and what answering has cost so far."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from statistics import median

from django.conf import settings
from django.db.models import Max, Min
from django.db.models.functions import Coalesce

from debate.models import DebateSet, DebateSource
from evalsite.review.models import Annotation, AuditPlan, Queue, Referral
from evalsite.review.routing import ItemArm
from evalsite.review.sampling import audit_size
from judging.models import EvaluatorKind, Run, RunKind, RunTask
from judging.services.runs.people_costs import PeopleCost
from judging.specs.selections import selection_from_json

RECENT = 200  # answers that a median rests on
RECENT_PLANS = 20  # the last choices of a benchmark's audits that are looked at
DEFAULT_QUORUM = 2


def keys_of_run(run: Run) -> tuple[int, list[str]]:
    """Return the benchmark, which seeds the draw, and the key of each case that a run asks about.

    They are fixed when it starts, whatever comes of it. All runs of a benchmark draw the same cases first, so that
    labels serve the next judge.
    """
    tasks = RunTask.objects.filter(run=run, response__isnull=False).order_by("response__prompt__key")
    return run.suite.benchmark_id, list(tasks.values_list("response__prompt__key", flat=True).distinct())


def strata_of_run(run: Run, queue: Queue) -> tuple[list[list[str]], list[int]]:
    """Return the keys of a run's cases in strata, and the last prompt of each stratum.

    The cases that were there when an earlier run of the benchmark drew its sample are a stratum, and what came later is
    one of its own, so that the labels of the former all serve again. A run keeps the strata of its first draw.
    """
    tasks = RunTask.objects.filter(run=run, response__isnull=False).order_by("response__prompt__key")
    keys = dict(tasks.values_list("response__prompt__key", "response__prompt_id").distinct())
    if not keys:
        return [], list(queue.audit_strata)
    earlier_ends = set(queue.audit_strata)
    if not earlier_ends:
        others = Queue.objects.filter(run__suite__benchmark=run.suite.benchmark_id).exclude(pk=queue.pk)
        earlier_ends = {last for ends in others.values_list("audit_strata", flat=True) for last in ends}
    newest = max(keys.values())
    ends = sorted({newest, *(last for last in earlier_ends if last < newest)})
    strata: dict[int, list[str]] = defaultdict(list)
    for key, prompt_id in keys.items():
        strata[bisect_left(ends, prompt_id)].append(key)
    return [strata[index] for index in sorted(strata)], ends


def ends_of_strata(run_ids: Iterable[int]) -> list[int]:
    """Return the last prompt of each stratum from which the samples of these runs were drawn, in order."""
    ends = Queue.objects.filter(run__in=run_ids).values_list("audit_strata", flat=True)
    return sorted({last for queue_ends in ends for last in queue_ends})


def keys_of_debates(debate_set: DebateSet) -> tuple[int, list[str]]:
    """Return the same of a set's debates."""
    benchmark = debate_set.debates.aggregate(first=Min("case__prompt__benchmark"))["first"]
    keys = debate_set.debates.order_by("case__key").values_list("case__key", flat=True)
    return benchmark or 0, list(keys.distinct())


def plan_of(*, run: Run | None = None, debate_set: DebateSet | None = None) -> AuditPlan | None:
    """Return the plan that somebody chose, if anybody did."""
    return AuditPlan.objects.select_related("chosen_by").filter(run=run, debate_set=debate_set).first()


def drawn_share(*, run: Run | None = None, debate_set: DebateSet | None = None) -> float:
    """Return the share of the cases that has been drawn, from the stored probabilities; 0 before any draw.

    Of several strata, all drawn at one rate and rounded up, it is the one that was rounded least.
    """
    drawn = Referral.objects.filter(run=run, debate_set=debate_set, arm=ItemArm.AUDIT)
    return drawn.aggregate(chance=Min("inclusion_probability"))["chance"] or 0.0


@dataclass(frozen=True, slots=True)
class AuditSubject:
    """A run or a debate set as its audit page sees it."""

    run: Run | None
    debate_set: DebateSet | None
    queue: Queue | None
    plan: AuditPlan | None
    population: int  # cases
    per_case: float  # responses under criteria, or debates, that a case comes to
    drawn: int  # cases
    quorum: int
    seconds_per_answer: float | None  # median of recent answers: of this queue, else of the site
    is_own_time: bool  # the median rests on this queue's own answers
    share: float | None = None  # drawn where nobody planned a number; None: the site's

    @property
    def about(self) -> Run | DebateSet:
        """The run or the debate set."""
        subject = self.run or self.debate_set
        if subject is None:
            raise ValueError("an audit of nothing")
        return subject

    @property
    def is_unasked(self) -> bool:
        """Whether nothing is drawn by itself: an imported record, or a run that was to send nothing, untouched."""
        if self.plan is not None or self.queue is not None:
            return False
        if self.run is not None:
            return self.run.options.get("asks_people") is False
        return self.debate_set is not None and self.debate_set.source == DebateSource.IMPORT

    @property
    def noun(self) -> str:
        """What people are asked about in a drawn case."""
        return "debates" if self.debate_set is not None else "responses"


def subject_of_run(run: Run) -> AuditSubject:
    """Return what the audit page of a run shows."""
    cases = len(keys_of_run(run)[1]) if run.case_count is None else run.case_count
    return _subject(run, None, Queue.objects.filter(run=run).first(), cases, _asked_of_run(run))


def _asked_of_run(run: Run) -> int:
    """Return how many responses under criteria a run comes to."""
    tasks = RunTask.objects.filter(run=run, response__isnull=False).order_by()
    if run.kind == RunKind.ESI:  # one task asks both judges; the index itself asks people nothing
        criteria = run.evaluators.filter(kind=EvaluatorKind.JUDGE).values("criterion").distinct().count()
        return tasks.values("response_id").distinct().count() * criteria
    if run.case_count is None:
        return tasks.values("response_id", "evaluator__criterion").distinct().count()
    most = run.evaluators.values("criterion").annotate(most=Max("total")).order_by()  # all judge the same responses
    return sum(row["most"] for row in most)


def subject_of_debates(debate_set: DebateSet) -> AuditSubject:
    """Return what the audit page of a debate set shows."""
    queue, cases = Queue.objects.filter(debate_set=debate_set).first(), len(keys_of_debates(debate_set)[1])
    return _subject(None, debate_set, queue, cases, debate_set.debates.count())


def _subject(
    run: Run | None, debate_set: DebateSet | None, queue: Queue | None, cases: int, subjects: int
) -> AuditSubject:
    queue_seconds = _median_seconds(queue) if queue is not None else None
    return AuditSubject(
        run=run,
        debate_set=debate_set,
        queue=queue,
        plan=plan_of(run=run, debate_set=debate_set),
        population=cases,
        per_case=subjects / cases if cases else 0.0,
        drawn=round(drawn_share(run=run, debate_set=debate_set) * cases),
        quorum=queue.quorum if queue is not None else DEFAULT_QUORUM,
        seconds_per_answer=queue_seconds if queue_seconds is not None else _median_seconds(None),
        is_own_time=queue_seconds is not None,
        share=share_to_draw(run) if run is not None else None,
    )


def default_size(population: int, *, share: float | None = None) -> int:
    """Return how many cases are drawn where nobody planned a number: the run's own share, else the site's."""
    if share is not None:
        return audit_size(population, share=share, minimum=0)
    return audit_size(population, share=settings.REVIEW_AUDIT_SHARE, minimum=settings.REVIEW_AUDIT_MINIMUM)


def share_to_draw(run: Run) -> float | None:
    """Return the share of its cases that a run draws where nobody planned a number; None: the site's.

    It is the share that the run was started with, else the one of the benchmark.
    """
    share = run.options.get("audit_share")
    return share_of_benchmark(run.suite.benchmark_id) if share is None else float(share)


def share_of_benchmark(benchmark_id: int) -> float | None:
    """Return the share of its cases that somebody last chose to audit in a run over a whole suite of the benchmark.

    Later runs draw at the same rate, so that new cases and systems come in as the others did and every label that was
    paid for serves again; None: nobody chose any.
    """
    plans = AuditPlan.objects.filter(run__suite__benchmark=benchmark_id, size__gt=0).select_related("run")
    for plan in plans.order_by("-chosen_at", "-pk")[:RECENT_PLANS]:
        run = plan.run
        if run is None or not selection_from_json(run.options.get("selection") or {}).is_all:
            continue
        cases = len(keys_of_run(run)[1]) if run.case_count is None else run.case_count
        if cases:
            return min(1.0, plan.size / cases)
    return None


def quote_audit(cases: int, subjects: int, share: float | None, benchmark_id: int | None) -> PeopleCost:
    """Return what the audit of a run or debate set that is to be asks of people."""
    if share is None and benchmark_id is not None:
        share = share_of_benchmark(benchmark_id)
    size, seconds = default_size(cases, share=share), _median_seconds(None)
    drawn_subjects = ceil(size * subjects / cases)
    annotations = drawn_subjects * DEFAULT_QUORUM
    return PeopleCost(size, cases, drawn_subjects, annotations, None if seconds is None else annotations * seconds)


def _median_seconds(queue: Queue | None) -> float | None:
    """Return the seconds of the newest answers of a queue, or of the site; each is read from the end of an index."""
    newest = (
        Annotation.objects.order_by("-pk")
        if queue is None
        else Annotation.objects.filter(queue=queue).order_by("-created_at")
    )
    timed = newest.exclude(label="").annotate(spent=Coalesce("active_seconds", "seconds"))
    times = [spent for spent in timed.values_list("spent", flat=True)[:RECENT] if spent is not None]
    return median(times) if times else None
