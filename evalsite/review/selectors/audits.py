"""What an audit draws from, how much of it, what answering has cost so far, and what was never routed."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from django.conf import settings
from django.db.models import Count, Exists, F, FilteredRelation, Max, Min, OuterRef, Q, QuerySet, Sum

from debate.models import Debate, DebateSet, DebateSource, DebateStatus
from debate.protocol.setups import Method, Perturbation
from evalsite.base.formats import SHARE, ScoreScale
from evalsite.base.rows import grouped
from evalsite.review.audit_plans import AuditOffer, audit_offer
from evalsite.review.models import Annotation, AuditPlan, Queue, Referral
from evalsite.review.routing import ItemArm, audit_size
from evalsite.review.selectors.subjects import blind_shares
from evalsite.review.selectors.waiting_items import RECENT, WORK_SECONDS, usual_seconds
from judging.models import SCORED_KINDS, EvaluatorKind, Run, RunKind, RunTask
from judging.models.runs import RunStatus
from judging.selectors.judges import score_scales_of
from judging.specs.people_choices import AskedPeople, AskedWork, Pace
from judging.specs.selections import selection_from_json
from judging.stored_content import is_turned

RECENT_PLANS = 20  # the last choices of a benchmark's audits that are looked at
DEFAULT_QUORUM = 2
LOOKED_AT = 2_000  # of the newest ones, where only those of one kind count
PERTURBATIONS = [perturbation.value for perturbation in Perturbation if perturbation is not Perturbation.NONE]
NOT_FOR_PEOPLE = "Baselines and debates under a perturbed criterion are not sent to review."
UNFINISHED = (DebateStatus.WAITING, DebateStatus.RUNNING)


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
    strata = grouped((bisect_left(ends, prompt_id), key) for key, prompt_id in keys.items())
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
    pace: Pace
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
            return AskedPeople.of(self.run.options) is AskedPeople.NOBODY
        return self.debate_set is not None and not asks_by_itself(self.debate_set)

    @property
    def in_force(self) -> int:
        """The size that holds now: the plan's, or the site's share, but what was drawn stays drawn."""
        if self.is_unasked:
            return 0
        default = default_size(self.population, share=self.share)
        size = min(self.plan.size, self.population) if self.plan is not None else default
        return max(size, self.drawn)

    @property
    def is_over(self) -> bool:
        """Whether a sample can be drawn now; else it is drawn when the run or the debates are over."""
        if self.run is not None:
            return self.run.status == RunStatus.FINISHED
        return not DebateSet.objects.filter(pk=self.about.pk, debates__status__in=UNFINISHED).exists()

    def offer(self, size: int, *, share: float) -> AuditOffer:
        """Return what a sample of this size costs and buys, where a mean of `share` is expected."""
        return audit_offer(
            size,
            population=self.population,
            share=share,
            per_case=self.per_case,
            quorum=self.quorum,
            seconds_per_answer=self.pace.seconds,
        )

    def work_of(self, size: int) -> AskedWork:
        """Return what a sample of this size asks of people beyond what is drawn: what has its label is not asked."""
        return AskedWork(round(max(0, size - self.drawn) * self.per_case) * self.quorum, pace=self.pace)

    @property
    def score_scale(self) -> ScoreScale:
        """The scale of what the audit corrects: that of a run's graders, shares where they have several."""
        scales = set(score_scales_of(list(self.run.evaluators.all())).values()) if self.run is not None else set()
        return scales.pop() if len(scales) == 1 else SHARE

    @property
    def noun(self) -> str:
        """What people are asked about in a drawn case."""
        return "debates" if self.debate_set is not None else "responses"


def audit_subject(about: Run | DebateSet) -> AuditSubject:
    """Return what the audit page of a run or a debate set shows."""
    return subject_of_run(about) if isinstance(about, Run) else subject_of_debates(about)


def subject_of_run(run: Run) -> AuditSubject:
    """Return what the audit page of a run shows."""
    cases = len(keys_of_run(run)[1]) if run.case_count is None else run.case_count
    return _subject(run, None, Queue.objects.filter(run=run).first(), cases, asked_of_run(run))


def asked_of_run(run: Run) -> int:
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
    return AuditSubject(
        run=run,
        debate_set=debate_set,
        queue=queue,
        plan=plan_of(run=run, debate_set=debate_set),
        population=cases,
        per_case=subjects / cases if cases else 0.0,
        drawn=round(drawn_share(run=run, debate_set=debate_set) * cases),
        quorum=queue.quorum if queue is not None else DEFAULT_QUORUM,
        pace=pace_of(queue=queue, is_pair=debate_set is not None),
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


@dataclass(frozen=True, slots=True)
class AuditedSystem:
    """The audit of one system under one criterion, or of the debates of two systems; the unit is the case."""

    name: str
    decided: int
    drawn: int
    mean: float | None  # of the decided cases, from 0 to 1; None: none, or labels without numbers
    worst: float | None  # with every undecided case at 0
    best: float | None  # with every undecided case at 1


Told = tuple[str, int, float | None, bool]  # system, case, share, whether it is decided


def audited_systems(subject: AuditSubject) -> list[AuditedSystem]:
    """Return what people have decided of each system's drawn cases, by name. At most three queries."""
    about = subject.about
    if isinstance(about, Run) and (summed := _summed_by_database(about)) is not None:
        return summed
    rows = _of_run(about) if isinstance(about, Run) else _of_debates(about)
    cases: dict[str, dict[int, list[tuple[float | None, bool]]]] = defaultdict(lambda: defaultdict(list))
    for name, case, share, is_decided in rows:
        cases[name][case].append((share, is_decided))
    return [_system(name, by_case) for name, by_case in sorted(cases.items())]


def _summed_by_database(run: Run) -> list[AuditedSystem] | None:
    """Return the same where each drawn case has one response of a system with one label at most; None: otherwise.

    It takes a fourth of the time: the rows of 20,000 drawn responses are added up where they are. Asking for a system,
    which every response has, makes inner joins of outer ones: PostgreSQL takes a fourth less for them.
    """
    blind = FilteredRelation("subject__final_labels", condition=Q(subject__final_labels__is_blind=True))
    drawn = Referral.objects.filter(run=run, arm=ItemArm.AUDIT, response__system__isnull=False)
    drawn = drawn.annotate(label=blind).order_by()
    rows = list(
        drawn.values_list("response__system__name", "subject__criterion").annotate(
            Count("pk"),
            Count("response__prompt_id", distinct=True),
            Count("label__pk"),
            Count("label__share"),
            Sum("label__share"),
        )
    )
    if any(responses != cases for _, _, responses, cases, *_ in rows):
        return None
    several = len({criterion for _, criterion, *_ in rows}) > 1
    systems = []
    for system, criterion, _, cases, decided, with_share, total in rows:
        name = _name(system, criterion, several=several)
        systems.append(_counted(name, decided, cases, (total or 0.0) if with_share == decided else None))
    return sorted(systems, key=lambda row: row.name)


def _name(system: str, criterion: str, *, several: bool) -> str:
    return f"{system}, {criterion or 'whole rubric'}" if several else system


def _of_run(run: Run) -> Iterator[Told]:
    drawn = Referral.objects.filter(run=run, arm=ItemArm.AUDIT)
    shares = blind_shares(drawn)
    fields = ("subject_id", "response__system__name", "subject__criterion", "response__prompt_id")
    rows = list(drawn.order_by().values_list(*fields))
    several = len({criterion for _, _, criterion, _ in rows}) > 1
    for subject_id, system, criterion, case in rows:
        name = _name(str(system), criterion, several=several)
        yield name, case or 0, shares.get(subject_id), subject_id in shares


def _of_debates(debate_set: DebateSet) -> Iterator[Told]:
    drawn = Referral.objects.filter(debate_set=debate_set, arm=ItemArm.AUDIT, debate__isnull=False)
    shares = blind_shares(drawn)
    texts = ("debate__response_a__text_hash", "debate__response_b__text_hash")
    name = f"{debate_set.system_a} better than {debate_set.system_b}, ties half"
    for subject_id, case, first, second in drawn.order_by().values_list("subject_id", "debate__case_id", *texts):
        share = shares.get(subject_id)
        if share is not None and is_turned((str(first), str(second))):
            share = 1.0 - share
        yield name, case or 0, share, subject_id in shares


def _system(name: str, cases: Mapping[int, list[tuple[float | None, bool]]]) -> AuditedSystem:
    """Return one row; a case of which something is undecided is undecided."""
    decided = [rows for rows in cases.values() if all(is_decided for _, is_decided in rows)]
    shares = [[share for share, _ in rows if share is not None] for rows in decided]
    has_means = all(shares)  # labels that are names have none
    total = sum(sum(case_shares) / len(case_shares) for case_shares in shares) if has_means else None
    return _counted(name, len(decided), len(cases), total)


def _counted(name: str, decided: int, drawn: int, total: float | None) -> AuditedSystem:
    """Return a row, given the sum of the means of the decided cases; None: they have none."""
    if total is None:
        return AuditedSystem(name, decided, drawn, None, None, None)
    mean = total / decided if decided else None
    return AuditedSystem(name, decided, drawn, mean, total / drawn, (total + drawn - decided) / drawn)


def pace_of(*, queue: Queue | None = None, is_pair: bool = False) -> Pace:
    """Return the median time of the newest annotations of a queue, else of all of items of a kind, else the assumed.

    Each is read from the end of an index.
    """
    if queue is not None:
        seconds = usual_seconds(queue.annotations.all())
        if seconds is not None:
            return Pace(seconds, "the median of this queue")
    newest = Annotation.objects.order_by("-pk").values_list("label", WORK_SECONDS, "item__subject__is_pair")[:LOOKED_AT]
    times = [time for label, time, row_is_pair in newest if label and time is not None and row_is_pair == is_pair]
    kind = "comparisons" if is_pair else "single responses"
    said = f"the median of the latest annotations of {kind} on this site"
    return Pace(median(times[:RECENT]), said) if times else Pace()


def unrouted_runs() -> QuerySet[Run]:
    """Return finished runs with scores that have not been routed since they finished or their audit was planned."""
    never = Q(queue__isnull=True) | Q(queue__routed_at__isnull=True) | Q(queue__routed_at__lt=F("finished_at"))
    never |= Q(queue__routed_at__lt=F("audit_plan__chosen_at"))
    asks_people = not_false("options__asks_people") | Q(queue__isnull=False) | Q(audit_plan__isnull=False)
    return Run.objects.filter(never, asks_people, kind__in=SCORED_KINDS, status=RunStatus.FINISHED).order_by("pk")


def not_false(options: str) -> Q:
    """Return rows whose options do not say no, by the path to what they hold: those of older runs may hold nothing."""
    return Q(**{f"{options}__isnull": True}) | ~Q(**{options: False})


def run_asks_people(run: Run) -> bool:
    """Return whether a run sends anything to people by itself: not where its owner chose to send nothing."""
    return AskedPeople.of(run.options) is not AskedPeople.NOBODY or _was_asked(run=run)


def unrouted_debate_sets() -> QuerySet[DebateSet]:
    """Return the sets people are asked about, over, and not routed since they ended or their audit was planned."""
    debates = Debate.objects.filter(debate_set=OuterRef("pk"))
    ended = DebateSet.objects.filter(Exists(debates), ~Exists(debates.filter(status__in=UNFINISHED)))
    unperturbed = Q(setup__perturbation__isnull=True) | ~Q(setup__perturbation__in=PERTURBATIONS)
    asks_people = ~Q(source=DebateSource.IMPORT) & not_false("run__options__asks_people")
    asks_people |= Q(audit_plan__isnull=False) | Q(queue__isnull=False)
    ended = ended.filter(unperturbed, asks_people, method=Method.DEBATE)
    ended = ended.filter(Q(run__isnull=True) | Q(run__status=RunStatus.FINISHED))
    ended = ended.annotate(ended_at=Max("debates__finished_at"))
    never = Q(queue__isnull=True) | Q(queue__routed_at__isnull=True) | Q(queue__routed_at__lt=F("ended_at"))
    never |= Q(queue__routed_at__lt=F("audit_plan__chosen_at"))
    return ended.filter(never).order_by("pk")


def asks_people(debate_set: DebateSet) -> bool:
    """Return whether a set sends anything to people: an imported record, or one that was to ask nobody, only where
    somebody asked for it."""
    return may_ask_people(debate_set) and (asks_by_itself(debate_set) or _was_asked(debate_set=debate_set))


def asks_by_itself(debate_set: DebateSet) -> bool:
    """Return whether a set sends anything to people without being told to."""
    if debate_set.source == DebateSource.IMPORT or debate_set.run is None:
        return debate_set.source != DebateSource.IMPORT
    return AskedPeople.of(debate_set.run.options) is not AskedPeople.NOBODY


def sends_open(debate_set: DebateSet) -> bool:
    """Return whether a set that asks people sends them its unresolved debates, not the audit alone."""
    if debate_set.source == DebateSource.IMPORT or debate_set.run is None:
        return True
    return AskedPeople.of(debate_set.run.options) is AskedPeople.OPEN


def _was_asked(**about: Run | DebateSet) -> bool:
    """Return whether somebody has sent something of it to people, or planned its audit."""
    return Queue.objects.filter(**about).exists() or AuditPlan.objects.filter(**about).exists()


def may_ask_people(debate_set: DebateSet) -> bool:
    """Return whether people can decide what a set leaves open: a real debate under a criterion as it was written."""
    return debate_set.method == Method.DEBATE and debate_set.setup.get("perturbation") not in PERTURBATIONS
