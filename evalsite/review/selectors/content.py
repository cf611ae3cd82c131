"""What one person may see of one item: only what `blinding.visible` allows is read from the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Case, F, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from debate.models import Debate, DebateStatus
from debate.protocol.transcripts import Transcript
from debate.selectors import anonymous_transcript
from evalsite.base.formats import SHARE
from evalsite.base.types import JsonDict, as_text
from evalsite.review.blinding import EVERYTHING, ItemPart, Stage, Viewer, is_swapped, stage_of, viewer_of, visible
from evalsite.review.models import Annotation, Assignment, ReviewItem
from evalsite.review.questions.answer_forms import LabelForm
from evalsite.review.questions.forms import LETTERS, SWAPPED, AnswerForm, OwnForm
from evalsite.review.questions.scales import Label, labels_from_json, nearest_label, shown_label, words_about_worth
from evalsite.review.routing import uniform_number
from evalsite.review.selectors.subjects import (
    ShownSubject,
    answers_seen,
    form_of_item,
    load_subject,
    subject_of,
    with_subjects,
    words_of_answers,
)
from evalsite.review.selectors.waiting_items import Remark, has_seen_verdicts, remarks_on
from evalsite.review.states import FINAL, UNDO_GRACE, AssignmentStatus, ItemStatus, QueueMode
from judging.models import EvaluatorKind, Score, Verdict
from judging.models.runs import AGAINST
from judging.selectors.judges import score_scale_of
from judging.selectors.prepared_queries import PreparedQuery
from judging.specs.types import NodeSpec
from judging.stored_content import ShownContent, part_of, tree_from_json, turned_label

PAIR_QUESTION = "Which response is better?"
SINGLE_QUESTION = "How good is the response?"
CANNOT_JUDGE = "Cannot judge"


@dataclass(frozen=True, slots=True)
class Side:
    """One response as shown."""

    letter: str  # empty for a single response
    text: str
    content: ShownContent  # with its images and turns
    system: str = ""  # only for those who may know


@dataclass(frozen=True, slots=True)
class RubricLine:
    """One node of the rubric; `anchors` are what values of its scale mean."""

    depth: int
    title: str
    text: str
    points: float | None
    anchors: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class MachineVerdict:
    """What a judge or a debate concluded."""

    source: str
    text: str
    rationale: str
    confidence: float | None
    votes: tuple[MachineVerdict, ...] = ()  # of a panel's members


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """One person's answer as another may see it."""

    annotation_id: int
    name: str  # "Person 1", or the name for those who may know
    label: str
    text: str
    items_text: str  # what they said of each part of the form
    note: str
    blind_text: str  # the answer before a revision, where there was one
    revision_note: str
    saw_swapped: bool  # they saw the responses in another order than the reader
    at: datetime
    source_file: str = ""  # where it was imported from, if it was
    cannot_judge: str = ""  # why they cannot judge the item; then there is no label

    @property
    def pk_text(self) -> str:
        """The answer's number as text, for forms."""
        return str(self.annotation_id)


@dataclass(frozen=True, slots=True)
class ItemContent:
    """Everything of an item that this person may see; what they may not is empty."""

    question: str
    question_content: ShownContent | None  # with its images and turns
    context: str
    reference: str
    sides: tuple[Side, ...]
    rubric: tuple[RubricLine, ...]
    criterion: str
    scenario: str
    ask: str  # the question to the annotator
    form: AnswerForm
    transcript: Transcript | None
    verdicts: tuple[MachineVerdict, ...]
    reason: str
    answers: tuple[PersonAnswer, ...]
    final_label: str
    is_superseded: bool
    details: tuple[tuple[str, str], ...] = ()  # columns of a queue's file that nothing reads, by name

    @property
    def is_pair(self) -> bool:
        return len(self.sides) == 2

    @property
    def has_several(self) -> bool:
        return len(self.sides) > 1

    @property
    def labelled(self) -> tuple[PersonAnswer, ...]:
        """The answers that give a label, which an adjudicator may adopt."""
        return tuple(answer for answer in self.answers if not answer.cannot_judge)

    @property
    def unable(self) -> tuple[PersonAnswer, ...]:
        """The answers of people who cannot judge the item, with their reasons."""
        return tuple(answer for answer in self.answers if answer.cannot_judge)


def read_content(*, item: ReviewItem, parts: frozenset[ItemPart], order: str) -> ItemContent:
    """Return what may be seen of an item that `with_subjects` read, with the responses in this order."""
    subject = subject_of(item, with_names=ItemPart.SYSTEM_NAMES in parts)
    labels, swapped = labels_from_json(item.subject.labels), order == SWAPPED
    has_rubric = ItemPart.RUBRIC in parts
    rubric = rubric_lines(subject) if has_rubric else ()
    form = form_of_item(item, subject, order=order)
    ask = item.queue.question or _usual_question(form, subject)
    if isinstance(form, LabelForm):
        has_worth = any(line.points is not None or line.anchors or line.title for line in rubric)
        form = form.asked(ask, hint=words_about_worth(labels) if has_worth else "")
    return ItemContent(
        question=subject.prompt.text if ItemPart.QUESTION in parts else "",
        question_content=subject.prompt.content if ItemPart.QUESTION in parts else None,
        context=subject.prompt.context if ItemPart.QUESTION in parts else "",
        reference=subject.reference if has_rubric else "",
        sides=_sides(subject, parts, order) if ItemPart.RESPONSES in parts else (),
        rubric=rubric,
        criterion="" if _names_baseline(subject) and ItemPart.SYSTEM_NAMES not in parts else subject.criterion,
        scenario=item.scenario,
        ask=ask,
        form=form,
        transcript=_transcript(item, swapped) if ItemPart.TRANSCRIPT in parts and item.response_b_id else None,
        verdicts=_verdicts(item, parts, labels, swapped) if ItemPart.VERDICTS in parts else (),
        reason=item.reason_text if ItemPart.REASON in parts else "",
        answers=_answers(item, parts, form, labels, order) if ItemPart.OTHER_ANSWERS in parts else (),
        final_label=shown_text(item.label, labels, swapped=swapped) if ItemPart.FINAL_LABEL in parts else "",
        is_superseded=subject.is_superseded,
        details=_details(item) if ItemPart.DETAILS in parts else (),
    )


def _usual_question(form: AnswerForm, subject: ShownSubject) -> str:
    if isinstance(form, OwnForm):
        return "Your answers"
    return PAIR_QUESTION if subject.is_pair else SINGLE_QUESTION


def _details(item: ReviewItem) -> tuple[tuple[str, str], ...]:
    details = item.material.details if item.material is not None else {}
    return tuple((name, as_text(value)) for name, value in details.items())


def in_order(answers: Iterable[Annotation]) -> list[Annotation]:
    """Return the answers to one item by slot, those of people who cannot judge it last, none that were left out."""
    counted = (answer for answer in answers if answer.left_out_at is None)
    return sorted(counted, key=lambda answer: (answer.slot is None, answer.slot or 0, answer.pk))


def order_for(*, item: ReviewItem, person_id: int) -> str:
    """Return in which order this person sees three responses or more; "" for fewer, and where it is the item's own.

    A retest shows them the other way round than the first time.
    """
    size = len(item.material.responses) if item.material is not None else 0
    if size < 3:
        return ""
    first = item.retest_of or item
    letters = sorted(LETTERS[:size], key=lambda letter: uniform_number("order", first.shuffle, person_id, letter))
    return "".join(letters if first is item else reversed(letters))


def swapped_for(*, item: ReviewItem, person_id: int) -> bool:
    """Return whether this person sees system B on the left; single responses have no sides."""
    has_sides = item.response_b_id is not None
    if item.material_id is not None:
        has_sides = item.subject.is_pair
    first = item.retest_of or item
    return has_sides and is_swapped(first.shuffle, str(person_id), retest=first is not item)


def shown_text(value: str, labels: tuple[Label, ...], *, swapped: bool) -> str:
    """Return a stored label in words, for somebody who sees the sides that way round; "" for no label."""
    shown = shown_label(value, labels, swapped=swapped) if value else ""
    return next((label.text for label in labels if label.value == shown), shown)


def rubric_lines(subject: ShownSubject) -> tuple[RubricLine, ...]:
    """Return the rubric, or the criterion's part of it, as lines from the top down."""
    tree = part_of(subject.tree, subject.criterion)
    return tuple(_lines(tree_from_json(tree), 0)) if tree else ()


def _lines(node: NodeSpec, depth: int) -> list[RubricLine]:
    shown: list[RubricLine] = []
    title = node.key if node.kind in {"level", "dimension"} else ""
    text = "" if node.text == node.key else node.text
    if title or text or node.anchors:
        anchors = tuple((anchor.range_words, anchor.text) for anchor in node.anchors)
        shown.append(RubricLine(depth, title, text, node.points, anchors))
        depth += 1
    for child in node.children:
        shown.extend(_lines(child, depth))
    return shown


def _names_baseline(subject: ShownSubject) -> bool:
    """Whether the criterion is the name of the system that one of the two responses is of."""
    return subject.is_pair and subject.criterion.startswith(AGAINST)


def _sides(subject: ShownSubject, parts: frozenset[ItemPart], order: str) -> tuple[Side, ...]:
    responses = [subject.responses[LETTERS.index(letter)] for letter in order] or list(subject.responses)
    names = [response.system if ItemPart.SYSTEM_NAMES in parts else "" for response in responses]
    letters = LETTERS.upper()[: len(responses)] if len(responses) > 1 else ("",)
    shown = zip(letters, responses, names, strict=True)
    return tuple(Side(letter, row.text, row.content, name) for letter, row, name in shown)


def _transcript(item: ReviewItem, swapped: bool) -> Transcript | None:
    debates = debates_about(item)
    return anonymous_transcript(debates[0], swapped=swapped) if debates else None


def debates_about(item: ReviewItem) -> list[Debate]:
    """Return the debates that led to an item's pair, those of its own queue's set first."""
    debates = Debate.objects.filter(referrals__item=item.retest_of_id or item.pk).distinct().order_by("pk")
    about = list(debates.select_related("response_a", "debate_set"))
    return sorted(about, key=lambda debate: debate.debate_set_id != item.queue.debate_set_id)


def _verdicts(
    item: ReviewItem, parts: frozenset[ItemPart], labels: tuple[Label, ...], swapped: bool
) -> tuple[MachineVerdict, ...]:
    if item.material_id is not None:
        return ()
    debates = debates_about(item) if item.response_b_id is not None else []
    debated = [_debate_verdict(debate, item, labels, swapped) for debate in debates]
    first_id = item.retest_of_id or item.pk
    about_item = {
        "run__referrals__item": first_id,
        "response__referrals__item": first_id,
        "evaluator__criterion": item.criterion,
    }
    rows = Verdict.objects.filter(**about_item).distinct().select_related("evaluator", "score")
    shown = [
        MachineVerdict(
            source=row.evaluator.name if ItemPart.MODEL_NAMES in parts else f"Judge {number}",
            text=_value_text(row) if item.response_b_id is None else _preference_text(row, labels, swapped),
            rationale="" if row.votes else row.rationale,  # a panel's holds its members' names
            confidence=row.confidence,
            votes=_member_votes(row, with_names=ItemPart.MODEL_NAMES in parts),
        )
        for number, row in enumerate(rows.order_by("run_id", "evaluator__position", "pk"), start=1)
    ]
    ruled = Score.objects.filter(**about_item, verdict=None).exclude(evaluator__kind=EvaluatorKind.INDEX).distinct()
    for score in ruled.order_by("run_id", "evaluator__position", "pk"):
        share = score.share
        text = f"could not decide: {score.status}" if share is None else f"{share:.0%} of the points"
        shown.append(MachineVerdict("Rules", text, "", None))
    return (*debated, *shown)


def _member_votes(verdict: Verdict, *, with_names: bool) -> tuple[MachineVerdict, ...]:
    """Return the votes of a panel's members, by number for those who may not know the judges."""
    score: Score | None = getattr(verdict, "score", None)
    shares = (score.detail.get("votes") or {}) if score is not None else {}
    votes, scale = [], score_scale_of(verdict.evaluator) if verdict.votes else SHARE
    of_full = "" if scale.is_rating else " of a full score"
    for number, vote in enumerate(verdict.votes, start=1):
        share = shares.get(vote["judge"])
        text = f"no vote: {vote['status']}" if share is None else scale.whole_words(share, 0) + of_full
        source = vote["judge"] if with_names else f"Member {number}"
        votes.append(MachineVerdict(source, text, vote["rationale"], vote["confidence"]))
    return tuple(votes)


def _debate_verdict(debate: Debate, item: ReviewItem, labels: tuple[Label, ...], swapped: bool) -> MachineVerdict:
    if debate.status == DebateStatus.AGREED:
        agreed_in = "the independent round" if not debate.agreed_round else f"round {debate.agreed_round}"
        is_same = item.response_a is None or debate.response_a.text_hash == item.response_a.text_hash
        text = shown_text(turned_label(str(debate.verdict), turned=not is_same), labels, swapped=swapped)
        return MachineVerdict("The debate", f"{text}, agreed in {agreed_in}", "", None)
    return MachineVerdict("The debate", f"{debate.get_status_display()} after {debate.round_count} rounds", "", None)


def _preference_text(verdict: Verdict, labels: tuple[Label, ...], swapped: bool) -> str:
    """Return which side a judge that compares found better, as the person sees the sides."""
    score: Score | None = getattr(verdict, "score", None)
    if score is None or score.share is None:
        return f"no verdict: {verdict.status}"
    return shown_text(nearest_label(score.share, labels), labels, swapped=swapped)


def _value_text(verdict: Verdict) -> str:
    score = getattr(verdict, "score", None)
    if verdict.value is None:
        return f"no verdict: {verdict.status}"
    if score is not None and score.share is not None:
        return score_scale_of(verdict.evaluator).whole_words(score.share)
    if score is not None and score.value is not None:
        return f"{round(score.value, 2):g}"  # on a scale that nobody knows
    if verdict.votes:
        return "no score: the votes have no majority, or are too few"
    return ", ".join(f"{name}: {_brief(value)}" for name, value in verdict.value.items())[:300]


def _brief(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _answers(
    item: ReviewItem,
    parts: frozenset[ItemPart],
    form: AnswerForm,
    labels: tuple[Label, ...],
    order: str,
) -> tuple[PersonAnswer, ...]:
    swapped = order == SWAPPED
    rows = Annotation.objects.filter(item=item, left_out_at=None).select_related("assignment", "annotator")
    rows = rows.order_by(F("slot").asc(nulls_last=True), "pk")
    sees_verdicts = ItemPart.VERDICTS in parts  # a revision tells what somebody who saw them made of them
    said = [(row, row.final_label if sees_verdicts else row.label) for row in rows]
    return tuple(
        PersonAnswer(
            annotation_id=row.pk,
            name=str(row.annotator) if ItemPart.PEOPLE in parts else f"Person {number}",
            label=shown_label(label, labels, swapped=swapped),
            text=CANNOT_JUDGE if row.cannot_judge else shown_text(label, labels, swapped=swapped),
            items_text=words_of_answers(form, row.final_parts if sees_verdicts else row.parts, order=order),
            note=row.note,
            blind_text=shown_text(row.label, labels, swapped=swapped) if row.revised_label and sees_verdicts else "",
            revision_note=row.revision_note if sees_verdicts else "",
            saw_swapped=row.assignment.order != order,
            at=row.created_at,
            source_file=row.source_file if ItemPart.PEOPLE in parts else "",
            cannot_judge=row.cannot_judge,
        )
        for number, (row, label) in enumerate(said, start=1)
    )


WORK, SKIPPED, WITHDRAWN, ANSWERED = "work", "skipped", "withdrawn", "answered"
OVERVIEW, CLOSED = "overview", "closed"


class ItemNotAssigned(Exception):
    """The person never got this item, and may not look at it without."""


@dataclass(frozen=True, slots=True)
class ItemPanel:
    """One item as one person sees it."""

    item: ReviewItem
    state: str  # work | skipped | answered | overview (owners) | closed (nothing to do any more)
    content: ItemContent
    claim: Assignment | None
    annotation: Annotation | None
    order: str  # in which they see the responses
    is_revealed: bool
    may_adjudicate: bool
    at: datetime
    own_text: str = ""  # the person's answer in words
    own_blind_text: str = ""
    own_items_text: str = ""  # what they said of each part of the form
    remarks: tuple[Remark, ...] = ()  # flags and reasons for skipping, for owners and adjudicators

    @property
    def draft(self) -> JsonDict:
        return self.claim.draft if self.claim is not None else {}

    @property
    def prefilled(self) -> dict[str, str]:
        """What a model answers and the form began with, as its fields hold it, by key; nothing of a blind item."""
        if self.claim is None or not self.claim.shows_prefilled:
            return {}
        form = self.content.form
        return form.texts(answers_seen(form, self.claim.prefilled, order=self.order))

    @property
    def draft_at(self) -> str:
        """When the stored draft was kept, exactly: the page sends it back with what it keeps."""
        return self.claim.draft_at.isoformat() if self.claim is not None and self.claim.draft_at else ""

    @property
    def may_undo(self) -> bool:
        """Whether the answer may be taken back: while the item is open, and for a while after."""
        return (
            self.annotation is not None
            and not self.annotation.fixed_because
            and self.item.status in (ItemStatus.OPEN, ItemStatus.DECIDED, ItemStatus.NEEDS_ADJUDICATION)
            and (self.item.is_open or self.annotation.created_at + UNDO_GRACE >= self.at)
            and (not self.annotation.cannot_judge or self.item.answer_count < self.item.quorum)
        )

    @property
    def may_reopen(self) -> bool:
        """Whether a decision can be sent back to adjudication; an excluded item is restored by who owns the queue."""
        return self.may_adjudicate and self.item.status in FINAL and self.item.retest_of_id is None

    @property
    def may_revise(self) -> bool:
        closed = {ItemStatus.ADJUDICATED, ItemStatus.STALE}
        return (
            self.is_revealed
            and self.annotation is not None
            and not self.annotation.cannot_judge
            and not (self.annotation.revised_at or self.item.status in closed)
        )

    @property
    def may_reveal(self) -> bool:
        """Whether there is anything to show: verdicts, or what others said once nobody can answer any more."""
        if self.annotation is None or self.is_revealed:
            return False
        return self.item.material_id is None or (self.item.answer_count > 1 and not self.item.is_open)


def read_panel(*, item_id: int, user: User, at: datetime) -> ItemPanel:
    """Return an item as this person may see it.

    Raises:
        ReviewItem.DoesNotExist: there is no such item.
        ItemNotAssigned: it was not handed to them, and they do not own queues.
    """
    item = with_subjects(ReviewItem.objects.all()).get(pk=item_id)
    claim = Assignment.objects.filter(item=item, annotator=user).first()
    annotation = Annotation.objects.filter(item=item, annotator=user).first()
    viewer = viewer_of(
        is_member=False,
        has_claimed=claim is not None,
        is_adjudicating=False,
        is_owner=user.has_perm("review.change_queue"),
    )
    if viewer is Viewer.STRANGER:
        raise ItemNotAssigned("Items are handed out one at a time. Get the next one from the queue.")
    return _panel(item, user, viewer, claim, annotation, at)


def claimed_panel(*, claim: Assignment, user: User, at: datetime) -> ItemPanel:
    """Return the item of a claim that this person has been given just now; they have not answered it."""
    return _panel(load_subject(claim.item), user, Viewer.ANNOTATOR, claim, None, at)


def _panel(
    item: ReviewItem,
    user: User,
    viewer: Viewer,
    claim: Assignment | None,
    annotation: Annotation | None,
    at: datetime,
) -> ItemPanel:
    is_revealed = annotation is not None and annotation.revealed_at is not None
    parts = _parts(viewer, item, is_revealed)
    order = claim.order if claim is not None else ""
    swapped = order == SWAPPED
    labels = labels_from_json(item.subject.labels)
    content = read_content(item=item, parts=parts, order=order)
    return ItemPanel(
        item=item,
        state=_state(item, claim, annotation),
        content=content,
        claim=claim,
        annotation=annotation,
        order=order,
        is_revealed=is_revealed,
        own_text=own_text(annotation, labels, swapped=swapped) if annotation else "",
        own_blind_text=shown_text(annotation.label, labels, swapped=swapped) if annotation else "",
        own_items_text=words_of_answers(content.form, annotation.final_parts, order=order) if annotation else "",
        may_adjudicate=user.has_perm("review.adjudicate"),
        at=at,
        remarks=tuple(remarks_on([item.pk]).get(item.pk, ())) if viewer is Viewer.OWNER else (),
    )


def own_text(annotation: Annotation, labels: tuple[Label, ...], *, swapped: bool) -> str:
    """Return what somebody answered in words: their label, or why they cannot judge the item."""
    if annotation.cannot_judge:
        return f"{CANNOT_JUDGE}: {annotation.cannot_judge}"
    return shown_text(annotation.final_label, labels, swapped=swapped)


def _parts(viewer: Viewer, item: ReviewItem, is_revealed: bool) -> frozenset[ItemPart]:
    if viewer is Viewer.OWNER:
        return EVERYTHING
    stage = stage_of(has_answered=True, takes_answers=item.is_open) if is_revealed else Stage.BEFORE_ANSWER
    return visible(viewer, QueueMode(item.queue.mode), stage)


def _state(item: ReviewItem, claim: Assignment | None, annotation: Annotation | None) -> str:
    if claim is None:
        return OVERVIEW
    if annotation is not None:
        return ANSWERED
    if not item.is_open:
        return CLOSED
    if claim.status == AssignmentStatus.WITHDRAWN:
        return WITHDRAWN
    return SKIPPED if claim.status == AssignmentStatus.SKIPPED else WORK


def read_adjudication(*, item_id: int, user: User, at: datetime) -> ItemPanel:
    """Return an item with all answers and their reasons, for somebody who decides it.

    What machines said is there once the item is decided and the person has asked for it, or has annotated it.

    Raises:
        ReviewItem.DoesNotExist: there is no such item.
    """
    item = with_subjects(ReviewItem.objects.all()).get(pk=item_id)
    annotation = Annotation.objects.filter(item=item, annotator=user).select_related("assignment").first()
    viewer = viewer_of(is_member=True, has_claimed=annotation is not None, is_adjudicating=True, is_owner=False)
    order = annotation.assignment.order if annotation is not None else ""
    is_decided = item.decided_at is not None
    is_revealed = annotation is not None or (is_decided and has_seen_verdicts(item=item, person=user))
    stage = stage_of(has_answered=is_revealed, takes_answers=item.is_open)
    parts = visible(viewer, QueueMode(item.queue.mode), stage)
    return ItemPanel(
        item=item,
        state=ANSWERED,
        content=read_content(item=item, parts=parts, order=order),
        claim=None,
        annotation=annotation,
        order=order,
        is_revealed=is_revealed,
        may_adjudicate=annotation is None,
        at=at,
        remarks=tuple(remarks_on([item.pk]).get(item.pk, ())),
    )


def undoable_item(*, item: ReviewItem, user: User, at: datetime) -> int | None:
    """Return the item of the person's last act in the queue, on another one, where they may still take it back."""
    rows = _LAST.rows(queue_id=item.queue_id, user_id=user.pk, item_id=item.pk, since=at - UNDO_GRACE)
    undoable = [row[0] for row in rows if _is_undoable(*row[1:])]
    return undoable[0] if undoable else None


def _is_undoable(acted: str, item_status: str, is_recent: int, fixed_at: object) -> bool:
    if acted == AssignmentStatus.SKIPPED:
        return item_status == ItemStatus.OPEN
    closed = item_status in (ItemStatus.DECIDED, ItemStatus.NEEDS_ADJUDICATION)
    return fixed_at is None and (item_status == ItemStatus.OPEN or (closed and bool(is_recent)))


def _last_query(*, queue_id: int, user_id: int, item_id: int, since: datetime) -> QuerySet[Assignment, Any]:
    """This person's last act in the queue, on another item."""
    mine = Assignment.objects.filter(annotator=user_id, queue=queue_id, acted_at__isnull=False).exclude(item=item_id)
    mine = mine.filter(status__in=(AssignmentStatus.SUBMITTED, AssignmentStatus.SKIPPED))
    status = ReviewItem.objects.filter(pk=OuterRef("item_id")).values("status")
    said = Annotation.objects.filter(assignment=OuterRef("pk"))
    fixed = said.values(fixed_at=Coalesce("revealed_at", "left_out_at"))
    recent = Case(When(acted_at__gte=since, then=Value(1)), default=Value(0))
    rows = mine.order_by("-acted_at", "-pk").annotate(item_status=Subquery(status), fixed=Subquery(fixed))
    return rows.annotate(recent=recent).values_list("item_id", "status", "item_status", "recent", "fixed")[:1]


_LAST = PreparedQuery(_last_query)
