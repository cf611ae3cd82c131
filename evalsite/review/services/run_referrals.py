"""Refers what a run's judges and rules left undecided, and what its audit drew, to people. Safe to repeat."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, pairwise
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Avg, Count, Exists, OuterRef, Prefetch, Q, QuerySet

from debate.models import Debate, DebateSet, DebateSource, DebateStatus, Statement
from evalsite.accounts.audit import record
from evalsite.base.formats import SHARE
from evalsite.base.rows import batches, grouped, row_pages
from evalsite.base.types import JsonDict
from evalsite.review.models import AuditPlan, FinalLabel, LabelTable, Provenance, Queue, Referral, ReviewItem, Subject
from evalsite.review.questions.answer_forms import scale_of
from evalsite.review.questions.scales import COMPARED, PREFERENCE, Label, joined_scale, labels_to_json, nearest_label
from evalsite.review.routing import (
    ALL_REASONS,
    AUDITED,
    TEXT_LIMIT,
    Facts,
    ItemArm,
    Reason,
    RoutingDecision,
    RoutingPolicy,
    cut,
    draw_strata,
    route,
    uniform_number,
)
from evalsite.review.selectors.audits import (
    NOT_FOR_PEOPLE,
    AuditSubject,
    asks_by_itself,
    asks_people,
    default_size,
    drawn_share,
    keys_of_debates,
    may_ask_people,
    plan_of,
    sends_open,
    share_to_draw,
    strata_of_run,
)
from evalsite.review.selectors.subjects import (
    ContentLabels,
    KnownLabel,
    RubricParts,
    SubjectFacts,
    first_cases,
    others_of,
    own_parts_of,
    own_scale_of,
    pair_facts,
    part_for,
    subject_facts,
    subjects_by_key,
)
from evalsite.review.selectors.verdict_reviews import FLIP_FLAGS, thresholds_of
from evalsite.review.services import queues
from evalsite.review.services.decisions import end_filling, move_item, share_of
from evalsite.review.states import WAITING, ItemStatus, QueueStatus, ReviewRefused
from judging.grading.rubric_tree import ScoreStatus
from judging.judges.judge_kinds import kind_asked
from judging.judges.kinds.panel import DISPUTED
from judging.judges.subjects import doubts_in_words
from judging.models import Case, EvaluatorKind, Response, Run, RunEvaluator, Score, Verdict
from judging.selectors.judges import score_scale_of
from judging.specs.people_choices import AskedPeople
from judging.stored_content import tree_from_json

T = TypeVar("T")

BATCH = 500

NO_CASES = "There are no cases to sample yet."


@dataclass(slots=True)
class ReferredSubject:
    """A subject that a run or a debate set refers: the item to open for it, and the reasons; neither is stored yet."""

    facts: SubjectFacts
    item: ReviewItem
    referrals: list[Referral]

    @property
    def is_drawn(self) -> bool:
        """Whether the audit drew it; then only a blind label will do."""
        return any(referral.arm == ItemArm.AUDIT for referral in self.referrals)


@transaction.atomic
def refer(*, queue: Queue, referred: Sequence[ReferredSubject], at: datetime) -> None:
    """Store referrals, and open an item for each subject that has no label and is with nobody. Safe to repeat."""
    subjects = store_subjects(facts=[referred_item.facts for referred_item in referred], at=at)
    ids = [subject.pk for subject in subjects.values()]
    take_labels_of_files(facts=[referred_item.facts for referred_item in referred], subjects=subjects, at=at)
    labelled = dict[int, bool]()  # whether a label of the subject is blind
    for subject_id, is_blind in FinalLabel.objects.filter(subject__in=ids).values_list("subject_id", "is_blind"):
        labelled[subject_id] = is_blind or labelled.get(subject_id, False)
    items_by_subject = {item.subject_id: item for item in [*_asked_elsewhere(queue, ids), *_asked_here(queue, ids)]}
    fresh: dict[int, ReviewItem] = {}
    for referred_item in referred:
        subject_id = subjects[referred_item.facts.key].pk
        has_label = labelled.get(subject_id, False) if referred_item.is_drawn else subject_id in labelled
        if not has_label and subject_id not in items_by_subject:
            referred_item.item.subject_id, referred_item.item.is_turned = subject_id, referred_item.facts.is_turned
            referred_item.item.content_hash = referred_item.facts.content_hash
            fresh.setdefault(subject_id, referred_item.item)
    ReviewItem.objects.bulk_create(fresh.values(), ignore_conflicts=True)
    items_by_subject |= {item.subject_id: item for item in _asked_here(queue, list(fresh))}
    rows = list[Referral]()
    for referred_item in referred:
        for referral in referred_item.referrals:
            referral.subject_id, referral.created_at = subjects[referred_item.facts.key].pk, at
            referral.item = items_by_subject.get(referral.subject_id)
            rows.append(referral)
    Referral.objects.bulk_create(rows, ignore_conflicts=True)
    lost = list(Referral.objects.filter(subject__in=list(fresh), item=None).order_by("pk"))
    for referral in lost:
        referral.item = items_by_subject[referral.subject_id]
    Referral.objects.bulk_update(lost, ["item"], batch_size=BATCH)


def standing(referrals: QuerySet[Referral]) -> QuerySet[Referral]:
    """Leave out referrals that ask nobody though their subject has no label any more: they are to be made again."""
    labels = FinalLabel.objects.filter(subject=OuterRef("subject"))
    return referrals.exclude(Q(item=None) & ~Exists(labels))


def store_subjects(*, facts: Iterable[SubjectFacts], at: datetime) -> dict[str, Subject]:
    """Return the stored subjects by key, the new ones stored now."""
    facts_by_key = {content.key: content for content in facts}
    subjects = subjects_by_key(facts_by_key)
    fresh = [
        Subject(
            key=content.key,
            is_pair=content.is_pair,
            criterion=content.criterion,
            case_id=content.case_id,
            rubric_item_id=content.rubric_item_id,
            judge=content.judge,
            labels=labels_to_json(content.labels),
            content_key=content.content_key,
            created_at=at,
        )
        for content in facts_by_key.values()
        if content.key not in subjects
    ]
    Subject.objects.bulk_create(fresh, ignore_conflicts=True)
    for key, subject in subjects.items():
        if facts_by_key[key].content_key and not subject.content_key:
            subject.content_key = facts_by_key[key].content_key
            subject.save(update_fields=["content_key"])
    return subjects | subjects_by_key(row.key for row in fresh)


def take_labels_of_files(*, facts: Iterable[SubjectFacts], subjects: Mapping[str, Subject], at: datetime) -> None:
    """Give subjects without a label the one that a file has for their content, where it has a place on their scale.

    Nobody is asked about them then. It goes with the file's table.
    """
    of_files = ContentLabels()
    wanted = {row.key: keys for row in facts if (keys := of_files.keys_of(row.content, row.criterion))}
    if not wanted:
        return
    labels, scales = of_files.first_of(wanted), {row.key: row.labels for row in facts}
    tables = LabelTable.objects.in_bulk({label.table_id for label in labels.values()})
    ids = {subjects[key].pk for key in labels}
    decided = FinalLabel.objects.filter(subject__in=ids, is_blind=True)
    has_label = set(decided.values_list("subject_id", flat=True))
    FinalLabel.objects.bulk_create(
        (
            FinalLabel(
                subject=subjects[key],
                provenance=Provenance.IMPORTED,
                is_blind=True,
                label=value,
                share=share_of(value, scales[key]),
                source=tables[label.table_id or 0].source,
                table_id=label.table_id,
                decided_at=at,
            )
            for key, label in labels.items()
            if subjects[key].pk not in has_label and (value := _on_scale(label, scales[key]))
        ),
        ignore_conflicts=True,
    )


def _on_scale(label: KnownLabel, scale: Sequence[Label]) -> str:
    """Return the value of a scale that a label of another one stands for: the same, or the nearest in worth; or ""."""
    if any(label.label == row.value for row in scale):
        return label.label or ""
    return nearest_label(label.share, scale) if label.share is not None else ""


def _asked_here(queue: Queue, subject_ids: Sequence[int]) -> Iterable[ReviewItem]:
    return ReviewItem.objects.filter(queue=queue, subject__in=subject_ids, retest_of=None).order_by("pk")


def _asked_elsewhere(queue: Queue, subject_ids: Sequence[int]) -> Iterable[ReviewItem]:
    """Return the items that wait for people in other queues with the same terms: mode, guidelines and question."""
    items = ReviewItem.objects.filter(subject__in=subject_ids, retest_of=None, status__in=WAITING).exclude(queue=queue)
    items = items.exclude(queue__status=QueueStatus.ARCHIVED)
    same = items.filter(queue__mode=queue.mode, queue__guidelines=queue.guidelines, queue__question=queue.question)
    return same.order_by("-pk")


def policy(*, sends_open: bool = True) -> RoutingPolicy:
    """Return what the site's settings send to people; without what is left open, the audit alone."""
    reasons = ALL_REASONS if sends_open else frozenset[Reason]()
    return RoutingPolicy(confidence_threshold=settings.REVIEW_CONFIDENCE_THRESHOLD, reasons=reasons)


def draw_of(
    strata: Sequence[Sequence[str]], *, seed: int, plan: AuditPlan | None, drawn: float, share: float | None = None
) -> Mapping[str, float]:
    """Return the sample of the plan, or else of the share, None: the site's; never smaller than what was drawn."""
    cases = sum(len(keys) for keys in strata)
    size = min(cases, plan.size) if plan is not None else default_size(cases, share=share)
    return draw_strata(strata, seed=seed, share=max(size / cases, drawn) if cases else 0.0)


def known_arms(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], frozenset[str]]:
    """Return the arms of the referrals there are, by what they are about: all but the last column."""
    arms: dict[tuple[Any, ...], frozenset[str]] = {}
    for *about, arm in rows:
        arms[tuple(about)] = arms.get(tuple(about), frozenset()) | {arm}
    return arms


def new_referral(decision: RoutingDecision, arm: str, **fields: Any) -> Referral:
    """Return a referral in one arm of a decision, not stored yet."""
    chance = decision.inclusion_probability if arm == ItemArm.AUDIT else None
    return Referral(arm=arm, inclusion_probability=chance, **fields)


def shuffle_of(queue: Queue, key: str) -> int:
    """Return the random number of an item, the same at every routing."""
    return int(uniform_number("item", queue.pk, key) * 2**53)


def new_item(queue: Queue, decision: RoutingDecision, shuffle: int, at: datetime) -> ReviewItem:
    """Return an item for a decision, without what it is about, not stored yet."""
    return ReviewItem(
        queue=queue,
        reason=decision.reasons[0].value,
        reason_text=decision.text,
        arm=decision.arm.value if decision.arm else "",
        inclusion_probability=decision.inclusion_probability,
        priority=decision.priority,
        shuffle=shuffle,
        quorum=queue.quorum_of(shuffle),
        created_at=at,
    )


def refer_all(queue: Queue, referred: Iterable[ReferredSubject], at: datetime) -> int:
    """Refer batch by batch, then bring the counters up to date; an outage in the middle is repaired by a repeat."""
    before = ReviewItem.objects.filter(queue=queue).count()
    for batch in batches(referred, BATCH):
        refer(queue=queue, referred=batch, at=at)
    with transaction.atomic():
        queues.recount(queue_id=queue.pk)
    return ReviewItem.objects.filter(queue=queue).count() - before


ChosenQuestions = Mapping[tuple[int, str], int]  # response and criterion, with the evaluator whose score was seen
NOTHING_CHOSEN: ChosenQuestions = {}


@dataclass(slots=True)
class _Finding:
    """What was found about one response under one criterion by all evaluators of a run."""

    response_id: int
    criterion: str
    labels: tuple[Label, ...] = ()  # of the criterion's scale
    verdicts: list[Verdict] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)  # of rules only

    @property
    def key(self) -> str:
        return f"{self.response_id}:{self.criterion}"

    @property
    def rows(self) -> list[Verdict | Score]:
        return [*self.verdicts, *self.scores]

    @property
    def evaluator(self) -> RunEvaluator:
        """The first that found something; all of one criterion compare with one baseline, or none does."""
        return self.rows[0].evaluator

    def by_evaluator(self) -> list[_Finding]:
        """Return what each evaluator found alone."""
        about = (self.response_id, self.criterion, self.labels)
        judged = [_Finding(*about, verdicts=[row]) for row in self.verdicts]
        return judged + [_Finding(*about, scores=[row]) for row in self.scores]


@dataclass(frozen=True, slots=True)
class _Routing:
    """What the routing of one run needs to know."""

    queue: Queue
    rules: RoutingPolicy
    draw: Mapping[str, float]
    ends: list[int]  # the last prompt of each stratum of the draw
    close: frozenset[int]  # systems whose rank one answer could change
    parts: RubricParts
    cases: dict[int, Case]  # by prompt
    thresholds: dict[int, float]  # of confidence, by evaluator
    at: datetime
    sent_by: User | None = None  # who asked for it; None: the rules alone
    only: ChosenQuestions = field(default_factory=dict)  # what somebody sends, whatever the rules say; none: by rules


def open_items_for_run(*, run: Run, at: datetime, sent_by: User | None = None) -> int:
    """Refer each response that a run's judges or rules left undecided or the audit drew; return how many items are new.

    People are asked once per response and criterion, however many judges there were. The audit draws from the run's
    cases, which are fixed when it starts, so that a retry changes nobody's chance. What is left open is referred where
    the run was to send it, or somebody sends it now.
    """
    routing = _routing_of(run, at, sent_by=sent_by)
    opened = refer_all(routing.queue, _run_referred(run, routing), at)
    keep_draw(queue=routing.queue, draw=routing.draw)
    end_filling(queue=routing.queue, at=at, audit_strata=routing.ends)
    return opened


def open_chosen_items(*, run: Run, chosen: ChosenQuestions, sent_by: User, at: datetime) -> tuple[Queue, int]:
    """Refer what somebody chose, whatever the rules say; return the run's queue and how many of its items are new.

    Whoever chose may have looked at scores, so nothing of it enters the random audit here; the routing draws that.
    """
    routing = _routing_of(run, at, sent_by=sent_by, only=chosen)
    return routing.queue, refer_all(routing.queue, _run_referred(run, routing), at)


def _routing_of(run: Run, at: datetime, *, sent_by: User | None, only: ChosenQuestions = NOTHING_CHOSEN) -> _Routing:
    evaluators, parts = list(run.evaluators.order_by("position")), RubricParts()
    queue = queues.queue_for_run(run=run, labels=_labels_of(evaluators, parts), at=at)
    (strata, ends), seed = strata_of_run(run, queue), run.suite.benchmark_id
    choice, plan = AskedPeople.of(run.options), plan_of(run=run)
    share = share_to_draw(run) if sent_by is not None or choice is not AskedPeople.NOBODY else 0.0
    return _Routing(
        queue=queue,
        rules=policy(sends_open=sent_by is not None or choice is AskedPeople.OPEN),
        draw=draw_of(strata, seed=seed, plan=plan, drawn=drawn_share(run=run), share=share),
        ends=ends,
        close=close_systems(run),
        parts=parts,
        cases=first_cases(run.suite_id),
        thresholds=thresholds_of(evaluators),
        at=at,
        sent_by=sent_by,
        only=only,
    )


def _labels_of(evaluators: Sequence[RunEvaluator], parts: RubricParts) -> tuple[Label, ...]:
    """Return the scale of a run's queue; where judges compare beside others, each item's own tells of them."""
    single = [evaluator for evaluator in evaluators if not evaluator.compared_with]
    if evaluators and not single:
        return COMPARED
    evaluators = single
    scales = [scale_of(None, judge=kind) for evaluator in evaluators if (kind := own_parts_of(evaluator))]
    own_scales = {evaluator.pk: own_scale_of(evaluator) for evaluator in evaluators}
    scales += [
        scale_of(tree_from_json(tree), criterion=evaluator.criterion)
        for evaluator in evaluators
        if evaluator.rubric_id is not None and evaluator.kind == EvaluatorKind.JUDGE
        if not own_parts_of(evaluator) and not own_scales[evaluator.pk]
        for tree in parts.trees_of(evaluator.rubric_id)
    ]
    return joined_scale([*scales, *filter(None, own_scales.values())])


def close_systems(run: Run) -> frozenset[int]:
    """Return the systems that one response could bring past a neighbour: their means differ by at most 1/n."""
    rows = Score.objects.filter(run=run, share__isnull=False).values("evaluator_id", "response__system_id")
    means = sorted(
        (row["evaluator_id"], row["mean"], row["response__system_id"], row["n"])
        for row in rows.annotate(mean=Avg("share"), n=Count("pk")).order_by()
    )
    system_ids: set[int] = set()
    for lower, higher in pairwise(means):
        if lower[0] == higher[0] and higher[1] - lower[1] <= 1 / min(lower[3], higher[3]):
            system_ids |= {lower[2], higher[2]}
    return frozenset(system_ids)


def _run_referred(run: Run, routing: _Routing) -> Iterator[ReferredSubject]:
    referrals = standing(Referral.objects.filter(run=run))
    existing_arms = known_arms(referrals.values_list("response_id", "subject__criterion", "arm"))
    for findings in batches(_findings(run, routing.only), BATCH):
        responses = Response.objects.select_related("prompt").in_bulk([finding.response_id for finding in findings])
        others = _others(findings)
        for finding in findings:
            shown = [responses[finding.response_id]]
            if finding.evaluator.compared_with:
                other = others.get(finding.key)
                if other is None:
                    continue  # nothing to compare it with, which its verdict says
                shown.append(other)
            yield from _referred(
                finding, shown, routing, existing_arms.get((finding.response_id, finding.criterion), frozenset())
            )


def _others(findings: Sequence[_Finding]) -> dict[str, Response]:
    """Return what responses were compared with, by finding."""
    by_evaluator: dict[int, list[_Finding]] = {}
    for finding in findings:
        if finding.evaluator.compared_with:
            by_evaluator.setdefault(finding.evaluator.pk, []).append(finding)
    by_finding: dict[str, Response] = {}
    for group in by_evaluator.values():
        others = others_of(group[0].evaluator, [finding.response_id for finding in group])
        by_finding |= {finding.key: others[finding.response_id] for finding in group if finding.response_id in others}
    return by_finding


def _findings(run: Run, only: ChosenQuestions) -> Iterator[_Finding]:
    """Yield what was found, response by response, page by page (see `row_pages`). `only`: about these alone."""
    verdicts = Verdict.objects.filter(run=run).select_related("evaluator", "score").defer("rationale")
    scores = Score.objects.filter(run=run, verdict__isnull=True).exclude(evaluator__kind=EvaluatorKind.INDEX)
    scores = scores.select_related("evaluator")
    response_ids = {response_id for response_id, _ in only} or {
        *verdicts.values_list("response_id", flat=True),
        *scores.values_list("response_id", flat=True),
    }
    for page in batches(sorted(response_ids), BATCH):
        by_key: dict[tuple[int, str], _Finding] = {}
        for verdict in verdicts.filter(response__in=page).order_by("evaluator__position"):
            key = (verdict.response_id, verdict.evaluator.criterion)
            by_key.setdefault(key, _Finding(*key)).verdicts.append(verdict)
        for score in scores.filter(response__in=page).order_by("evaluator__position"):
            key = (score.response_id, score.evaluator.criterion)
            by_key.setdefault(key, _Finding(*key)).scores.append(score)
        findings = sorted(by_key.items(), key=lambda pair: pair[0][0])  # stable: evaluators keep their order
        yield from (finding for key, finding in findings if not only or key in only)


def _referred(
    finding: _Finding, shown: Sequence[Response], routing: _Routing, existing_arms: frozenset[str]
) -> Iterator[ReferredSubject]:
    """Yield the subject of one response, or of it and what it was compared with, unless it was referred before."""
    shuffle, response = shuffle_of(routing.queue, finding.key), shown[0]
    case_key = response.prompt.key
    part = part_for(finding.evaluator, routing.parts, case_key=case_key)
    finding.labels = part.labels
    facts = replace(
        _run_facts(finding, routing),
        can_flip_rank=response.system_id in routing.close,
        shuffle=shuffle,
        audit_probability=None if routing.only else routing.draw.get(case_key),
    )
    decision = route(facts, routing.rules)
    if decision.arms <= existing_arms:
        return
    item = new_item(routing.queue, decision, shuffle, routing.at)
    item.sent_by = routing.sent_by if routing.only or item.arm == ItemArm.ROUTED else None
    item.response_a, item.criterion = response, finding.criterion
    item.response_b = shown[1] if len(shown) == 2 else None
    case = routing.cases.get(response.prompt_id)
    if case is not None:
        item.scenario, item.language = case.scenario, case.lang
    subject = subject_facts(responses=shown, case=case, part=part, criterion=finding.criterion, labels=part.labels)
    yield ReferredSubject(subject, item, _referrals(finding, decision, routing))


def _referrals(finding: _Finding, decision: RoutingDecision, routing: _Routing) -> list[Referral]:
    """Return why one response is referred: an entry of the audit, and one of each evaluator that is in doubt."""
    about: JsonDict = {"run_id": routing.queue.run_id, "response_id": finding.response_id}
    referrals = []
    if ItemArm.AUDIT in decision.arms:
        referrals.append(new_referral(decision, ItemArm.AUDIT, reason=Reason.AUDIT, **about))
    if ItemArm.ROUTED not in decision.arms:
        return referrals
    if routing.only:
        reasons = {routing.only[finding.response_id, finding.criterion]: Reason.SENT_BY_HAND}
    else:
        reasons = {
            alone.rows[0].evaluator_id: decision_alone.reasons[0]
            for alone in finding.by_evaluator()
            if (decision_alone := route(_run_facts(alone, routing), routing.rules)).is_routed
        }
    joint = decision.reason_of(ItemArm.ROUTED)
    reasons = reasons or {row.evaluator_id: joint for row in finding.rows}  # a disagreement of judges is everybody's
    for evaluator_id, reason in reasons.items():
        referrals.append(new_referral(decision, ItemArm.ROUTED, reason=reason, evaluator_id=evaluator_id, **about))
    return referrals


def _run_facts(finding: _Finding, routing: _Routing) -> Facts:
    worst = next((row.status for row in finding.verdicts if row.status in {"failed", "refused", "unparsed"}), "")
    panel = next((row for row in finding.verdicts if _disputed_votes(row)), None)
    confidence, threshold = _least_sure(finding, routing.thresholds)
    without = (row for row in finding.scores if row.status != ScoreStatus.COMPLETE)
    undecided = next((row for row in without if row.value is None), None)  # a value on an unknown scale is decided
    return Facts(
        key=finding.key,
        verdict_status=worst,
        doubts=doubts_in_words(flag for row in finding.verdicts for flag in row.flags),
        confidence=confidence,
        own_threshold=threshold,
        order_flipped=any(FLIP_FLAGS.intersection(row.flags) for row in finding.verdicts),
        judge_labels=_judge_labels(finding),
        panel=_disputed_votes(panel) if panel is not None else (),
        panel_scale=score_scale_of(panel.evaluator) if panel is not None else SHARE,
        grader_problem=_problem(undecided) if undecided is not None else "",
        sent=bool(routing.only),
    )


def _least_sure(finding: _Finding, thresholds: dict[int, float]) -> tuple[float | None, float | None]:
    """Return confidence and threshold of the verdict that falls short by most; None where none was measured."""
    rows = ((row.confidence, thresholds[row.evaluator_id]) for row in finding.verdicts)
    measured = [(confidence, threshold) for confidence, threshold in rows if confidence is not None]
    return min(measured, key=lambda pair: pair[0] - pair[1], default=(None, None))


def _disputed_votes(verdict: Verdict) -> tuple[float, ...]:
    """Return the votes of a panel that lie beyond its margin, or have no majority; nothing where they decide it."""
    score: Score | None = getattr(verdict, "score", None)
    if score is None or not DISPUTED.intersection(score.flags):
        return ()
    return tuple(share for share in score.detail["votes"].values() if share is not None)


def _judge_labels(finding: _Finding) -> tuple[str, ...]:
    """Return the labels of the judges that answered one question and disagree, else of the first such judges.

    Judges by one rubric are a panel; two rubrics, or two kinds of judge without one, ask different questions.
    """
    by_question: dict[tuple[int | None, str], list[str]] = {}
    for row in finding.verdicts:
        score = getattr(row, "score", None)
        label = nearest_label(score.share, finding.labels) if score is not None and score.share is not None else ""
        if label:
            evaluator = row.evaluator
            kind = "" if evaluator.rubric_id is not None else kind_asked(evaluator.options)
            by_question.setdefault((evaluator.rubric_id, kind), []).append(label)
    panels = [tuple(labels) for labels in by_question.values()]
    return next((labels for labels in panels if len(set(labels)) > 1), next(iter(panels), ()))


def _problem(score: Score) -> str:
    text = score.detail.get("reason") or score.detail.get("error") or ", ".join(map(str, score.flags))
    return str(text or score.get_status_display().lower())


RETRIED = "The debate had failed, was retried and ended with a verdict."
ENDED = (DebateStatus.AGREED, DebateStatus.UNRESOLVED, DebateStatus.FAILED)


def open_items_for_debates(*, debate_set: DebateSet, at: datetime, sent_by: User | None = None) -> int:
    """Refer each unresolved or audited debate of a set to people, and return how many items are new.

    People are not asked about baselines, nor where the criterion was perturbed to see what that does. Unresolved ones
    are referred where the set was to send them, or somebody sends them now.
    """
    if not (may_ask_people(debate_set) if sent_by is not None else asks_people(debate_set)):
        return 0
    rules = policy(sends_open=sent_by is not None or sends_open(debate_set))
    queue = queues.queue_for_debates(debate_set=debate_set, labels=PREFERENCE, at=at)
    benchmark_id, keys = keys_of_debates(debate_set)
    plan, drawn = plan_of(debate_set=debate_set), drawn_share(debate_set=debate_set)
    is_drawn = sent_by is not None or asks_by_itself(debate_set) or debate_set.source == DebateSource.IMPORT
    draw = draw_of([keys], seed=benchmark_id, plan=plan, drawn=drawn, share=None if is_drawn else 0.0)
    _follow_retries(queue, debate_set, draw, at)
    opened = refer_all(queue, _debates_referred(debate_set, queue, draw, rules, at, sent_by), at)
    keep_draw(queue=queue, draw=draw)
    end_filling(queue=queue, at=at)
    return opened


def _debates_referred(
    debate_set: DebateSet,
    queue: Queue,
    draw: Mapping[str, float],
    rules: RoutingPolicy,
    at: datetime,
    sent_by: User | None,
) -> Iterator[ReferredSubject]:
    parts = RubricParts()
    referrals = standing(Referral.objects.filter(debate_set=debate_set))
    existing_arms = known_arms(referrals.values_list("debate_id", "arm"))
    ended = debate_set.debates.filter(status__in=ENDED).select_related(
        "case", "response_a__prompt", "response_b__prompt"
    )
    ended = ended.prefetch_related(Prefetch("agents__statements", Statement.objects.only("agent", "round", "verdict")))
    for debate in chain.from_iterable(row_pages(ended, BATCH)):
        shuffle = shuffle_of(queue, f"debate:{debate.pk}")
        decision = route(_debate_facts(debate, draw, shuffle), rules)
        if decision.arms <= existing_arms.get((debate.pk,), frozenset()):
            continue
        item = new_item(queue, decision, shuffle, at)
        item.sent_by = sent_by if item.arm == ItemArm.ROUTED else None
        item.response_a, item.response_b = debate.response_a, debate.response_b
        item.criterion, item.scenario, item.language = debate_set.criterion, debate.scenario, debate.case.lang
        new_referrals = [
            new_referral(decision, arm, debate_set=debate_set, debate=debate, reason=decision.reason_of(arm))
            for arm in sorted(decision.arms)
        ]
        yield ReferredSubject(pair_facts(debate, parts), item, new_referrals)


@transaction.atomic
def _follow_retries(queue: Queue, debate_set: DebateSet, draw: Mapping[str, float], at: datetime) -> None:
    """Bring the items of debates that failed and were tried again up to date; what people have begun stays theirs."""
    failed = Q(status=ItemStatus.OPEN, reason=Reason.FAILED_VERDICT.value)
    items = queue.items.filter(failed | Q(status=ItemStatus.EXCLUDED, excluded_because=RETRIED), retest_of=None)
    of_debates = Q(debate_set=debate_set) & ~Q(debate=None)
    for item in items.select_for_update(of=("self",)).select_related("queue").order_by("pk"):
        referral = item.referrals.filter(of_debates).select_related("debate__case").order_by("pk").first()
        debate = referral.debate if referral is not None else None
        if debate is None or debate.status not in ENDED or (item.is_open and debate.status == DebateStatus.FAILED):
            continue
        decision = route(_debate_facts(debate, draw, item.shuffle), policy())
        if decision.is_routed:
            item.reason, item.reason_text, item.priority = decision.reasons[0].value, decision.text, decision.priority
            item.excluded_because = ""
            item.save(update_fields=["reason", "reason_text", "priority", "excluded_because"])
            item.referrals.filter(of_debates, arm=ItemArm.ROUTED).update(reason=item.reason)
            if not item.is_open:
                move_item(item=item, status=ItemStatus.OPEN, label="", at=at)
        elif item.is_open and not item.assignments.exists() and not item.referrals.exclude(of_debates).exists():
            item.excluded_because = RETRIED
            item.save(update_fields=["excluded_because"])
            move_item(item=item, status=ItemStatus.EXCLUDED, label="", at=at)


def _debate_facts(debate: Debate, draw: Mapping[str, float], shuffle: int) -> Facts:
    key = debate.case.key
    agents = sorted(debate.agents.all(), key=lambda agent: agent.number)
    last_statements = [
        max(agent.statements.all(), key=lambda statement: statement.round, default=None) for agent in agents
    ]
    return Facts(
        key=key,
        is_debate=True,
        debate_rounds=debate.round_count if debate.status == DebateStatus.UNRESOLVED else None,
        votes=tuple(statement.verdict for statement in last_statements if statement is not None),
        verdict_status="failed" if debate.status == DebateStatus.FAILED else "",
        audit_probability=draw.get(key),
        shuffle=shuffle,
    )


@transaction.atomic
def plan_audit(*, subject: AuditSubject, size: int, actor: User | None, at: datetime) -> AuditPlan:
    """Store how large the sample shall be; the next routing of the run or the debates draws it.

    Raises:
        ReviewRefused: there is nothing to draw from, or the size is out of reach or below what was drawn.
    """
    if not subject.population:
        raise ReviewRefused(NO_CASES)
    if subject.debate_set is not None and not may_ask_people(subject.debate_set):
        raise ReviewRefused(NOT_FOR_PEOPLE)
    if not 0 <= size <= subject.population:
        raise ReviewRefused(f"Choose between 0 and {subject.population:,}.")
    if size < subject.drawn:
        raise ReviewRefused(
            f"{subject.drawn:,} cases have been drawn and may be annotated already. A sample can only grow."
        )
    plan, _ = AuditPlan.objects.update_or_create(
        run=subject.run,
        debate_set=subject.debate_set,
        defaults={"size": size, "chosen_by": actor, "chosen_at": at},
    )
    record(
        actor,
        "audit.planned",
        subject.about,
        of=subject.noun,
        size=size,
        population=subject.population,
        **{"drawn before": subject.drawn},
    )
    return plan


@transaction.atomic
def keep_draw(*, queue: Queue, draw: Mapping[str, float]) -> None:
    """Bring the referrals and items of a run or debate set in step with a draw, whoever has answered what.

    What an earlier, smaller draw took gets the chance of the larger one; what a draw of another kind took leaves the
    sample. An item that a rule sent becomes part of the sample, or else the sample would lack what rules find.
    """
    drawn = Referral.objects.filter(run=queue.run_id, debate_set=queue.debate_set_id, arm=ItemArm.AUDIT)
    drawn.filter(pk__in=drawn.exclude(_inside(draw.keys())).values("pk")).delete()
    by_chance = grouped((chance, key) for key, chance in draw.items())
    for chance, keys in by_chance.items():
        of_chance = drawn.filter(_inside(keys)) if len(by_chance) > 1 else drawn
        of_chance.filter(pk__in=of_chance.values("pk")).update(inclusion_probability=chance)
        _bring_in(queue.items.filter(pk__in=of_chance.values("item"), retest_of=None), chance)


def _inside(keys: Collection[str]) -> Q:
    return Q(response__prompt__key__in=keys) | Q(debate__case__key__in=keys)


def _bring_in(items: QuerySet[ReviewItem], chance: float) -> None:
    changed = list(items.exclude(arm=ItemArm.AUDIT, inclusion_probability=chance).order_by("pk"))
    for item in changed:
        if item.arm != ItemArm.AUDIT:
            item.reason_text = cut(f"{item.reason_text} {AUDITED}".strip(), TEXT_LIMIT)
        item.arm, item.inclusion_probability = ItemArm.AUDIT, chance
    ReviewItem.objects.bulk_update(changed, ["arm", "inclusion_probability", "reason_text"], batch_size=BATCH)
