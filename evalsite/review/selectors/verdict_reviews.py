"""What of a run people have already, what they said, and from which confidence on judges decide alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet

from debate.models import Debate, DebateSet, DebateSource, DebateStatus
from debate.protocol.setups import Method
from evalsite.base.formats import percent
from evalsite.review.models import (
    Assignment,
    EvaluatorThreshold,
    FinalLabel,
    Queue,
    Referral,
    ReviewItem,
    ThresholdLook,
    ThresholdPlan,
)
from evalsite.review.questions.scales import Label, labels_from_json
from evalsite.review.routing import ItemArm, Reason, ThresholdTarget
from evalsite.review.selectors.audits import (
    DEFAULT_QUORUM,
    NOT_FOR_PEOPLE,
    PERTURBATIONS,
    UNFINISHED,
    asks_by_itself,
    default_size,
    may_ask_people,
    not_false,
    pace_of,
    sends_open,
    share_of_benchmark,
)
from evalsite.review.states import ItemStatus
from judging.judges.kinds.panel import DISPUTED
from judging.judges.subjects import DOUBTFUL
from judging.models import SCORED_KINDS, EvaluatorKind, Response, Run, RunEvaluator, RunKind, Score, Verdict
from judging.models.runs import ACTIVE, AGAINST, BASELINE_RESPONSE, RunStatus
from judging.selectors.judges import versions_of
from judging.services.runs.people_costs import PeopleCost, PeopleQuestion
from judging.specs.people_choices import AskedPeople, AskedWork
from judging.stored_content import is_turned, turned_label

if TYPE_CHECKING:
    from judging.services.runs.run_plans import EvaluatorChoice

FLIP_FLAGS = frozenset({"position_flip", "order_flip"})
UNUSABLE = frozenset({"failed", "refused", "unparsed"})


@dataclass(frozen=True, slots=True)
class VerdictReview:
    """The review of one verdict by people."""

    verdict: Verdict
    item: ReviewItem | None  # the newest about its response and criterion
    queue: Queue | None
    is_undecided: bool  # the rules would send it
    label: str = ""  # of its subject, where that had one before anybody was asked
    labels: tuple[Label, ...] = ()  # the scale

    @property
    def can_take_back(self) -> bool:
        """Whether a person sent it and nobody has answered it."""
        item = self.item
        if item is None or item.sent_by_id is None or not item.is_open or item.answer_count:
            return False
        return item.arm != ItemArm.AUDIT

    @property
    def answer(self) -> str:
        """The final label in the words of its scale; empty while there is none."""
        label = self.label if self.item is None else self.item.label
        return next((row.text for row in self.labels if row.value == label), label)


@dataclass(frozen=True, slots=True)
class RunReview:
    """How much of a run is with people."""

    run: Run
    queue: Queue | None
    unanswered: int  # items that somebody sent by hand and nobody has answered
    refusal: str  # why the rest cannot be sent now; empty where it can
    reuse: Reuse | None  # None: nothing has been referred

    @property
    def is_live(self) -> bool:
        """Whether the run is at work, so that this changes by itself."""
        return self.run.status in ACTIVE


def review_of_verdict(verdict: Verdict) -> VerdictReview:
    """Return where the question behind one verdict is."""
    return reviews_of_verdicts([verdict])[verdict.pk]


def reviews_of_verdicts(verdicts: Sequence[Verdict]) -> dict[int, VerdictReview]:
    """Return the same for many verdicts with their evaluators, by verdict, with two queries, and two more
    where confidence was measured, one where panels voted, and three where responses were compared.
    """
    referrals: dict[tuple[int | None, int | None, str], Referral] = {}
    for referral in _referrals(verdicts) if verdicts else ():
        referrals[referral.run_id, referral.response_id, referral.subject.criterion] = referral
    unsure, turned = unsure_verdicts(verdicts) | _disputed_verdicts(verdicts), _turned_verdicts(verdicts)
    return {
        verdict.pk: _people_of(
            verdict,
            referrals.get((verdict.run_id, verdict.response_id, verdict.evaluator.criterion)),
            is_unsure=verdict.pk in unsure,
            is_swapped=verdict.pk in turned,
        )
        for verdict in verdicts
    }


def _disputed_verdicts(verdicts: Sequence[Verdict]) -> set[int]:
    """Return the verdicts of panels whose members disagree beyond the margin, or have no majority."""
    voted = [verdict.pk for verdict in verdicts if verdict.votes]
    rows = Score.objects.filter(verdict__in=voted).values_list("verdict_id", "flags") if voted else ()
    return {pk for pk, flags in rows if pk is not None and DISPUTED.intersection(flags)}


def _turned_verdicts(verdicts: Sequence[Verdict]) -> set[int]:
    """Return the verdicts about pairs whose baseline's response comes first in their subject."""
    compared = [verdict.pk for verdict in verdicts if verdict.evaluator.criterion.startswith(AGAINST)]
    rows = Verdict.objects.filter(pk__in=compared).values_list("pk", "response_id", "value") if compared else ()
    pairs = {
        pk: (response_id, value[BASELINE_RESPONSE])
        for pk, response_id, value in rows
        if value and BASELINE_RESPONSE in value
    }
    response_ids = {pk for pair in pairs.values() for pk in pair}
    hashes = dict(Response.objects.filter(pk__in=response_ids).values_list("pk", "text_hash")) if response_ids else {}
    return {
        pk
        for pk, pair in pairs.items()
        if is_turned([hashes[response_pk] for response_pk in pair if response_pk in hashes])
    }


def _referrals(verdicts: Sequence[Verdict]) -> QuerySet[Referral]:
    referrals = Referral.objects.filter(
        response__in={verdict.response_id for verdict in verdicts}, run__in={verdict.run_id for verdict in verdicts}
    )
    referrals = referrals.select_related("item__queue", "subject").prefetch_related("subject__final_labels")
    return referrals.order_by("pk")  # the newest wins


def _people_of(verdict: Verdict, referral: Referral | None, *, is_unsure: bool, is_swapped: bool) -> VerdictReview:
    is_undecided = verdict.status in UNUSABLE or is_unsure or bool({*FLIP_FLAGS, *DOUBTFUL}.intersection(verdict.flags))
    if referral is None:
        return VerdictReview(verdict, None, None, is_undecided)
    item, labels = referral.item, labels_from_json(referral.subject.labels)
    final_labels = sorted(referral.subject.final_labels.all(), key=lambda row: (row.is_blind, row.pk))
    label = turned_label(final_labels[-1].label, turned=is_swapped) if final_labels else ""
    if referral.subject.is_pair:
        labels = _words_against(labels, verdict.evaluator.criterion.removeprefix(AGAINST))
    return VerdictReview(verdict, item, item.queue if item else None, is_undecided, label, labels)


def _words_against(labels: Sequence[Label], baseline: str) -> tuple[Label, ...]:
    """Return the scale of pairs in words about the response that was compared with a baseline's."""
    words = {"1": f"better than {baseline}", "0": f"as good as {baseline}", "-1": f"worse than {baseline}"}
    return tuple(replace(label, text=words.get(label.value, label.text)) for label in labels)


def review_of_run(run: Run) -> RunReview:
    """Return how much of a run is with people, from its queue's counters and one count."""
    queue = Queue.objects.filter(run=run).first()
    unanswered = items_to_take_back(queue).count() if queue else 0
    refusal = why_not_yet(run) or ("" if run.done + run.failed else NOTHING_ENDED)
    return RunReview(run, queue, unanswered, refusal, reuse_of(queue) if queue is not None else None)


@dataclass(frozen=True, slots=True)
class DebatesReview:
    """How much of a set of debates is with people."""

    debate_set: DebateSet
    unsent: int  # debates without a verdict that nobody was asked about; 0 while the set is at work
    annotations: int  # that these take at most
    is_audit_only: bool  # the set sends nothing else by itself
    reuse: Reuse | None  # None: nothing of it was sent


def review_of_debates(debate_set: DebateSet) -> DebatesReview:
    """Return how much of a set is with people, and what a lead may still send."""
    queue: Queue | None = getattr(debate_set, "queue", None)
    unsent = 0 if why_not_these(debate_set) else unsent_debates(debate_set).count()
    return DebatesReview(
        debate_set,
        unsent,
        unsent * (queue.quorum if queue is not None else DEFAULT_QUORUM),
        asks_by_itself(debate_set) and not sends_open(debate_set),
        reuse_of(queue) if queue is not None else None,
    )


def unsent_debates(debate_set: DebateSet) -> QuerySet[Debate]:
    """Return the debates that ended without a verdict and that nobody was asked about, nor has a label for."""
    open_debates = debate_set.debates.filter(status__in=(DebateStatus.UNRESOLVED, DebateStatus.FAILED))
    return open_debates.filter(~Exists(Referral.objects.filter(debate=OuterRef("pk"), debate_set=debate_set)))


def why_not_these(debate_set: DebateSet) -> str:
    """Return why nothing more of a set of debates can be sent now."""
    if not may_ask_people(debate_set):
        return NOT_FOR_PEOPLE
    if debate_set.debates.filter(status__in=UNFINISHED).exists():
        return "Debates of this set are not over yet. Send the rest when they are."
    return ""


@dataclass(frozen=True, slots=True)
class Reuse:
    """How many subjects of a run or debate set people had to be asked about."""

    asked: int  # newly, in its own queue
    elsewhere: int  # that wait for people in another queue
    reused: int  # that had a label


def reuse_of(queue: Queue) -> Reuse:
    """Return how many subjects of a run or debate set were asked about, and how many labels reused. One query."""
    referrals = Referral.objects.filter(run=queue.run_id, debate_set=queue.debate_set_id)
    counted = referrals.aggregate(
        elsewhere=Count("subject", filter=Q(item__isnull=False) & ~Q(item__queue=queue), distinct=True),
        reused=Count("subject", filter=Q(item=None), distinct=True),
    )
    return Reuse(asked=queue.total_count, **counted)


def items_to_take_back(queue: Queue) -> QuerySet[ReviewItem]:
    """Return the items of a queue that were sent by hand, have no answer, and that nobody has written a draft for."""
    items = ReviewItem.objects.filter(queue=queue, sent_by__isnull=False, answer_count=0, status=ItemStatus.OPEN)
    begun = Assignment.objects.filter(item=OuterRef("pk"), draft_at__isnull=False)
    others = Referral.objects.filter(item=OuterRef("pk")).exclude(run=queue.run_id)  # another run waits for it too
    return items.filter(~Exists(begun), ~Exists(others)).exclude(arm=ItemArm.AUDIT)


BY_ITSELF = "When the run ends, all undecided responses are sent to review automatically."
AT_THE_END = {
    AskedPeople.OPEN: BY_ITSELF,
    AskedPeople.AUDIT: "When the run ends, its random audit is sent to review, and undecided responses are not. Send "
    "them when it has ended.",
    AskedPeople.NOBODY: "This run was started without automatic review. Send its responses when it has ended.",
}
NOTHING_ENDED = "No task of this run has finished, so there is nothing to send."


def why_not_yet(run: Run) -> str:
    """Return why nothing more of a run can be sent now; the audit of a run at work is not drawn yet."""
    if run.kind == RunKind.SINGLE:
        return "This run has one judge and one response. Send it from the page of its verdict."
    if run.kind in (RunKind.ANCHOR, RunKind.GOLDEN):
        return "The responses of this run are labelled. A label in doubt is sent back from the page of its golden set."
    if run.status in ACTIVE:
        return AT_THE_END[AskedPeople.of(run.options)]
    if run.kind == RunKind.ESI and run.status == RunStatus.PAUSED:
        return f"{BY_ITSELF} Resume the run, or cancel it and send its responses then."
    return ""


def thresholds_of(evaluators: Sequence[RunEvaluator]) -> dict[int, float]:
    """Return the threshold in force of each evaluator by its key, with two queries."""
    keys = {pk: version.key for pk, version in versions_of(evaluators).items()}
    saved = EvaluatorThreshold.objects.filter(version_key__in=keys.values())
    chosen = dict(saved.values_list("version_key", "threshold"))
    return {pk: chosen.get(key, settings.REVIEW_CONFIDENCE_THRESHOLD) for pk, key in keys.items()}


def plan_of(version_key: str, target: ThresholdTarget) -> ThresholdPlan | None:
    """Return the plan of looks of a version at an error rate and a tolerance; None before the first look."""
    looks = ThresholdLook.objects.select_related("looked_by").order_by("number")
    plans = ThresholdPlan.objects.filter(version_key=version_key, alpha=target.alpha, tolerance=target.tolerance)
    return plans.prefetch_related(Prefetch("taken", looks)).first()


def why_no_look(plan: ThresholdPlan | None, target: ThresholdTarget, *, labels_hash: str) -> str:
    """Return why nobody may look now; empty where there is a look left and something new to see."""
    if plan is None:
        return ""
    taken = sorted(plan.taken.all(), key=lambda look: look.number)
    if len(taken) >= plan.looks:
        used = "The one look" if plan.looks == 1 else f"All {plan.looks} looks"
        return (
            f"{used} at this version and error rate {'is' if plan.looks == 1 else 'are'} used up. A changed judge is"
            " another version, which has looks of its own."
        )
    if (plan.delta, plan.looks) != (target.delta, target.looks or plan.looks):
        return (
            f"The looks at this error rate were planned with {1 - plan.delta:.0%} certainty and {plan.looks} in all;"
            " neither can change between looks."
        )
    if taken and taken[-1].labels_hash == labels_hash:
        return f"Nothing was labelled since look {taken[-1].number}: the outcome would be the same."
    return ""


def unsure_verdicts(verdicts: Sequence[Verdict]) -> frozenset[int]:
    """Return the keys of the verdicts whose measured confidence is below the threshold of their evaluator."""
    measured = [verdict for verdict in verdicts if verdict.confidence is not None]
    if not measured:
        return frozenset()
    thresholds = thresholds_of(list({verdict.evaluator_id: verdict.evaluator for verdict in measured}.values()))
    return frozenset(
        verdict.pk
        for verdict in measured
        if verdict.confidence is not None and verdict.confidence < thresholds[verdict.evaluator_id]
    )


LOOKED_AT = 2_000  # newest sets of debates
RECENT_RUNS = 20  # earlier runs or sets that an expectation rests on


@dataclass(frozen=True, slots=True)
class _History:
    """How much of what was judged before went to people by a rule."""

    judged: int
    left_open: int

    @property
    def share(self) -> float:
        return min(1.0, self.left_open / self.judged)

    @property
    def words(self) -> str:
        return f"{percent(self.share, 0)} of which were left open"


def quote_people(question: PeopleQuestion) -> PeopleCost:
    """Return what people are asked of what is to be judged or debated: the audit, and what may be left open."""
    share = question.share
    if share is None and question.benchmark_id is not None:
        share = share_of_benchmark(question.benchmark_id)
    size = default_size(question.cases, share=share)
    drawn = ceil(size * question.subjects / question.cases)
    audited = drawn * DEFAULT_QUORUM
    pace = pace_of(is_pair=question.is_pair)
    if question.choice is AskedPeople.OPEN:
        rest = question.subjects - drawn
        left_open, basis = _expected(question)
        expected = None if left_open is None else audited + ceil(rest * left_open) * DEFAULT_QUORUM
        work = AskedWork(question.subjects * DEFAULT_QUORUM, expected, basis, pace)
    else:
        work = AskedWork(audited, pace=pace)
    return PeopleCost(question.choice, size, question.cases, drawn, audited, work)


def _expected(question: PeopleQuestion) -> tuple[float | None, str]:
    """Return the share of the subjects to expect open, and in words what it rests on; None: nothing is known."""
    if question.agents:
        history = _history_of_agents(question.agents)
        if not history.judged:
            return None, ""
        return history.share, f"as in {history.judged:,} earlier debates of these agents, {history.words}"
    histories = [(asked, _history_of_evaluator(asked, question.benchmark_id)) for asked in question.evaluators]
    if not all(history.judged for _, history in histories):
        return None, ""
    left_open = sum(history.share * question.responses for _, history in histories)  # what two leave open counts twice
    parts = (f"{asked.name} on {history.judged:,} responses, {history.words}" for asked, history in histories)
    return min(1.0, left_open / question.subjects), f"as in earlier runs: {'; '.join(parts)}"


def _history_of_evaluator(asked: EvaluatorChoice, benchmark_id: int | None) -> _History:
    """Return what became of the newest runs of a judge, or of the rules in runs of the benchmark."""
    evaluators = RunEvaluator.objects.filter(
        run__kind__in=SCORED_KINDS, run__status=RunStatus.FINISHED, run__queue__routed_at__isnull=False, total__gt=0
    )
    evaluators = evaluators.filter(not_false("run__options__asks_people"), not_false("run__options__asks_open"))
    if asked.judge is None:
        evaluators = evaluators.filter(kind=EvaluatorKind.GRADER, run__suite__benchmark=benchmark_id)
    else:  # one that is not stored yet has none
        evaluators = evaluators.filter(judge=asked.judge.pk, judge__isnull=False)
    totals = dict(evaluators.order_by("-pk").values_list("pk", "total")[:RECENT_RUNS])
    routed = Referral.objects.filter(evaluator__in=totals, arm=ItemArm.ROUTED).exclude(reason=Reason.SENT_BY_HAND)
    return _History(sum(totals.values()), routed.count())


def _history_of_agents(agents: Sequence[str]) -> _History:
    """Return what became of the newest sets of debates between the same agents, whoever came first."""
    sets = DebateSet.objects.filter(method=Method.DEBATE, source=DebateSource.RUN)
    sets = sets.filter(Q(setup__perturbation__isnull=True) | ~Q(setup__perturbation__in=PERTURBATIONS))
    setups = sets.order_by("-pk").values_list("pk", "setup__endpoints")[:LOOKED_AT]
    same = [pk for pk, names in setups if sorted(names or ()) == sorted(agents)][:RECENT_RUNS]
    ended = Debate.objects.filter(debate_set__in=same)
    agreed, unresolved, failed = (
        ended.filter(status=status).count()
        for status in (DebateStatus.AGREED, DebateStatus.UNRESOLVED, DebateStatus.FAILED)
    )
    return _History(agreed + unresolved + failed, unresolved + failed)


@dataclass(frozen=True, slots=True)
class ChosenQuestion:
    """A response under the criterion of the evaluator whose newest score or verdict of it was seen."""

    evaluator: RunEvaluator
    response_id: int

    @property
    def key(self) -> tuple[int, str]:
        """What people are asked about: the response and the criterion."""
        return self.response_id, self.evaluator.criterion


@dataclass(frozen=True, slots=True)
class ChosenOfRun:
    """What was chosen of one run."""

    run: Run
    queue: Queue | None  # None: sending makes it
    total: int
    asked: int  # are in review or were decided there
    labelled: int  # have a label, so that nobody is asked

    @property
    def new(self) -> int:
        """How many items sending makes, unless an equal response has its label or waits in a queue of equal terms."""
        return self.total - self.asked - self.labelled

    @property
    def quorum(self) -> int:
        """How many people each item asks."""
        return self.queue.quorum if self.queue is not None else DEFAULT_QUORUM

    @property
    def annotations(self) -> int:
        """How many annotations its new items ask for, at most."""
        return self.new * self.quorum


def work_of_chosen(runs: Sequence[ChosenOfRun], questions: Sequence[ChosenQuestion]) -> AskedWork:
    """Return what sending these questions of runs asks of people."""
    is_pair = bool(questions) and all(question.evaluator.compared_with for question in questions)
    return AskedWork(sum(run.annotations for run in runs), pace=pace_of(is_pair=is_pair))


def most_annotations(responses: int, *, run_ids: Collection[int]) -> int:
    """Return how many annotations these responses of runs ask for at the most. One query."""
    quorums = dict(Queue.objects.filter(run__in=run_ids).values_list("run_id", "quorum"))
    return responses * max((quorums.get(pk, DEFAULT_QUORUM) for pk in run_ids), default=DEFAULT_QUORUM)


def chosen_questions(cells: Sequence[tuple[Sequence[int], int]]) -> list[ChosenQuestion]:
    """Return the questions behind cells, given as evaluators (the newest first) and a response. Four queries.

    Left out: responses that were replaced, and cells without a score or verdict.
    """
    ids, keys = {response for _, response in cells}, {pk for evaluators, _ in cells for pk in evaluators}
    current = set(Response.objects.filter(pk__in=ids, superseded_at__isnull=True).values_list("pk", flat=True))
    judged = {
        pair
        for model in (Score, Verdict)
        for pair in model.objects.filter(response__in=ids, evaluator__in=keys).values_list(
            "evaluator_id", "response_id"
        )
    }
    rows = RunEvaluator.objects.select_related("run__suite").in_bulk(keys)
    by_key = dict[tuple[int, str], ChosenQuestion]()
    for evaluators, response in cells:
        newest = next((pk for pk in evaluators if (pk, response) in judged), None)
        if newest is not None and response in current:
            question = ChosenQuestion(rows[newest], response)
            by_key.setdefault(question.key, question)
    return list(by_key.values())


def chosen_by_run(questions: Sequence[ChosenQuestion]) -> list[ChosenOfRun]:
    """Return how much of each run was chosen, and what of it people have already. Three queries."""
    runs = {question.evaluator.run.pk: question.evaluator.run for question in questions}
    chosen = {(question.evaluator.run_id, *question.key) for question in questions}
    referrals = Referral.objects.filter(
        Q(run__in=runs) & Q(response__in={question.response_id for question in questions})
    )
    rows = list(referrals.values_list("run_id", "response_id", "subject__criterion", "subject_id", "item_id"))
    labels = FinalLabel.objects.filter(subject__in={row[3] for row in rows if row[4] is None})
    labelled_subjects = set(labels.values_list("subject_id", flat=True))
    asked = {row[:3] for row in rows if row[4] is not None} & chosen
    labelled = ({row[:3] for row in rows if row[3] in labelled_subjects} & chosen) - asked
    queues = {queue.run_id: queue for queue in Queue.objects.filter(run__in=runs).prefetch_related("members")}
    return [
        ChosenOfRun(
            run,
            queues.get(pk),
            *(sum(key[0] == pk for key in keys) for keys in (chosen, asked, labelled)),
        )
        for pk, run in sorted(runs.items())
    ]
