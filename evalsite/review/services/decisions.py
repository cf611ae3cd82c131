"""Decides items: by majority, by adjudication, or again after a reopening; and keeps the final label of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import combinations
from statistics import fmean

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from evalsite.accounts.audit import record
from evalsite.base import signals
from evalsite.base.rows import lock_row
from evalsite.base.types import JsonDict
from evalsite.review.models import (
    LEFT_OUT,
    Adjudication,
    Annotation,
    Assignment,
    FinalLabel,
    GoldAnswer,
    Look,
    Material,
    NoticeKind,
    Provenance,
    Queue,
    ReviewItem,
)
from evalsite.review.questions.answer_forms import majority_parts
from evalsite.review.questions.form_decisions import agreed_answers
from evalsite.review.questions.forms import (
    LABEL,
    SWAPPED,
    Answer,
    Kind,
    OwnForm,
    PartsMissing,
    letters_seen,
    letters_stored,
)
from evalsite.review.questions.scales import PREFERENCE_SHARES, Label, is_preference, labels_from_json
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.gold import is_gold
from evalsite.review.selectors.subjects import form_of_item
from evalsite.review.selectors.waiting_items import has_seen_verdicts
from evalsite.review.services.claims import about, check_may_look, facts_of, lock_item, note_look
from evalsite.review.services.notices import notify_adjudicators
from evalsite.review.states import (
    FINAL,
    REASON_LIMIT,
    AssignmentStatus,
    ItemOutcome,
    ItemStatus,
    QueueMode,
    ReviewRefused,
    check_can_adjudicate,
    check_can_exclude,
    check_can_reopen,
    check_label,
    check_transition,
    outcome,
)
from judging.stored_content import turned_label

KEPT = ["subject", "provenance", "label", "share", "parts", "decided_at"]


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """A label in system space, and the answers to the form's questions that it was come to by."""

    label: str
    parts: dict[str, Answer] = field(default_factory=dict)


def given_label(item: ReviewItem, *, label: str, part_texts: Mapping[str, str], order: str = "") -> GivenLabel:
    """Return what somebody's answers to the form come to.

    `order`: in which they see the responses, and answered so. `label` is the answer of who says it in system space, in
    place of all others.

    Raises:
        ReviewRefused: a question has no answer, or one off its scale.
    """
    form = form_of_item(item, order=order)
    keys = [part.key for part in form.parts]
    unknown = part_texts.keys() - {LABEL, *keys, *(row.key for part in form.parts for row in part.rows)}
    if unknown:
        raise ReviewRefused(f"No question is called {', '.join(sorted(unknown))}. There are: {', '.join(keys)}.")
    try:
        values = form.read({LABEL: label, **part_texts})
        if order and part_texts:
            values = form.turned(values, letters_stored(order))
        return GivenLabel(form.label(values), form.stored(values))
    except PartsMissing as error:
        raise ReviewRefused(str(error)) from error


def outcome_of(item: ReviewItem, given: Iterable[GivenLabel], *, quorum: int, unable: int = 0) -> ItemOutcome:
    """Return what labels, and answers to a form, make of an item.

    By an owner's form it is decided once each required question is; by a judge's once the scores are.
    """
    every = list(given)
    decision = outcome([answer.label for answer in every], quorum=quorum, unable=unable)
    if len(every) < quorum or item.response_a_id is not None:
        return decision
    form = form_of_item(item)
    if not isinstance(form, OwnForm):
        return decision
    agreed, open_keys = agreed_answers(form, [answer.parts for answer in every])
    if open_keys:
        return replace(decision, state=ItemStatus.NEEDS_ADJUDICATION, label=None)
    return replace(decision, state=ItemStatus.DECIDED, label=form.label(agreed))


def open_questions(item: ReviewItem, answers: Iterable[Annotation]) -> tuple[str, ...]:
    """Return the keys of the questions of an owner's form on which people do not agree."""
    form = form_of_item(item) if item.queue.form and item.response_a_id is None else None
    given = [answer.parts for answer in answers if not answer.cannot_judge]
    return agreed_answers(form, given)[1] if form is not None else ()


def dispute_of(item: ReviewItem, answers: Iterable[Annotation | GivenLabel]) -> int:
    """Return how far people differ on an item, in thousandths from 0 to 1000: of each two of them, and each question
    that either answered, the share of answers that are not the same. Without a form the label is the one question.

    Free texts always differ, so that they are not compared.
    """
    texts = {row["key"] for row in item.queue.form.get("form", ()) if row["kind"] == Kind.TEXT}
    shares = []
    for first, second in combinations(answers, 2):
        questions = {key for key in {*first.parts, *second.parts} if key.partition(".")[0] not in texts}
        differing = sum(first.parts.get(key) != second.parts.get(key) for key in questions)
        shares.append(differing / len(questions) if questions else float(first.label != second.label))
    return round(1000 * fmean(shares)) if shares else 0


def agreed_so_far(item: ReviewItem) -> dict[str, Answer]:
    """Return the answers to an item's form that its people agree on."""
    form = form_of_item(item)
    answers = (form.answers(answer.label, answer.parts) for answer in item.annotations.filter(left_out_at=None))
    given = [answer for answer in answers if answer]
    return agreed_answers(form, given)[0] if given else {}


def known_answer(item: ReviewItem) -> JsonDict:
    """Return what a gold item has for its known answer: the label of a decided item, and the answers to its form."""
    word = getattr(item, "adjudication", None)
    return {"label": item.label, "parts": word.parts if word is not None else agreed_so_far(item)}


def _keep_known(item: ReviewItem) -> None:
    """Let the known answer of a gold item be what was decided on it just now."""
    gold = GoldAnswer.objects.filter(item=item)
    if (item.queue.gold_count or item.queue.training_count) and gold.exists():
        gold.update(**known_answer(item))


def agreed_parts(item: ReviewItem, answers: Sequence[Annotation], *, label: str) -> dict[str, Answer]:
    """Return the answers that people agree on: of an owner's form by its rules, of a judge's where more than half give
    each part its value and these come to the label.

    Two people may find other parts met and come to one score: then nothing is known of the parts.
    """
    given = [answer.parts for answer in answers]
    if not any(given):
        return {}
    form = form_of_item(item)
    if isinstance(form, OwnForm):
        return agreed_answers(form, given)[0]
    values = majority_parts(given)
    return values if values and form.holds(values) and form.label(values) == label else {}


def keep_final_label(
    *, item: ReviewItem, label: str, provenance: Provenance, at: datetime, parts: Mapping[str, Answer] | None = None
) -> None:
    """Store what people decided on an item as its subject's label; a retest decides nothing.

    An item has one blind label and, beside it, one informed one at most. `parts` are the values of its form's parts.
    """
    if item.retest_of_id is None:
        row = final_label_of(item, label=label, provenance=provenance, at=at, parts=parts)
        FinalLabel.objects.bulk_create(
            [row], update_conflicts=True, unique_fields=["item", "is_blind"], update_fields=KEPT
        )


def keep_majority(*, item: ReviewItem, answers: Sequence[Annotation], at: datetime) -> None:
    """Store what the labels of a decided item come to as its subject's label."""
    provenance, parts = majority_provenance(answers), agreed_parts(item, answers, label=item.label)
    keep_final_label(item=item, label=item.label, provenance=provenance, at=at, parts=parts)


def final_label_of(
    item: ReviewItem,
    *,
    label: str,
    provenance: Provenance,
    at: datetime,
    parts: Mapping[str, Answer] | None = None,
) -> FinalLabel:
    """Return the row for a label of an item whose subject is at hand, a pair in the order of its subject."""
    stored = turned_label(label, turned=item.is_turned)
    return FinalLabel(
        subject_id=item.subject_id,
        item=item,
        provenance=provenance,
        is_blind=provenance != Provenance.INFORMED,
        label=stored,
        share=share_of(stored, labels_from_json(item.subject.labels)),
        parts=parts_of_subject(item, parts or {}),
        decided_at=at,
    )


def parts_of_subject(item: ReviewItem, parts: Mapping[str, Answer]) -> dict[str, Answer]:
    """Return the answers to an item's form in the order of its subject's responses."""
    is_turned = item.is_turned and bool(parts)
    return form_of_item(item).turned(parts, letters_seen(SWAPPED)) if is_turned else dict(parts)


def share_of(label: str, labels: tuple[Label, ...]) -> float | None:
    """Return what a label is worth from 0 to 1: of a pair 1, 0.5 or 0 for the first; None for a name."""
    if is_preference(labels):
        return PREFERENCE_SHARES.get(label)
    return next((row.share for row in labels if row.value == label), None)


def drop_final_labels(*, item: ReviewItem, informed_only: bool = False) -> None:
    """Remove the labels of an item that is open again, or what people came to after a reveal."""
    labels = FinalLabel.objects.filter(item=item)
    (labels.filter(is_blind=False) if informed_only else labels).delete()


def majority_provenance(answers: Iterable[Annotation]) -> Provenance:
    """Return whether a majority is blind: nobody had looked at the item before or was shown the debate."""
    is_blind = all(answer.mode == QueueMode.BLIND and not answer.seen_before for answer in answers)
    return Provenance.MAJORITY if is_blind else Provenance.INFORMED


MOST_ANSWERS = 20
ASKS_ON = (ItemStatus.OPEN, ItemStatus.NEEDS_ADJUDICATION, ItemStatus.DECIDED)  # can ask one more person
OWN_DETAILS = {"scenario": 100, "language": 40}  # columns of the item itself, by which reports group: characters


def update_outcome(*, item: ReviewItem, answers: Iterable[Annotation], at: datetime) -> bool:
    """Bring a locked item's status and label up to date with the first answers; adjudicated and stale ones stay.

    What people came to after a reveal changes nothing here. A reopened item waits for a researcher, whatever its
    answers say. Returns whether anything of it changed; then its count of answers is stored as well.
    """
    every_answer = list(answers)
    answers = labelled(every_answer)
    item.dispute = dispute_of(item, answers)
    if item.status in {ItemStatus.ADJUDICATED, *LEFT_OUT}:
        return False
    unable = sum(bool(row.cannot_judge) and row.left_out_at is None for row in every_answer)
    given = [GivenLabel(annotation.label, annotation.parts) for annotation in answers]
    decision = outcome_of(item, given, quorum=item.quorum, unable=unable)
    if item.reopened_at is not None and decision.state is ItemStatus.DECIDED:
        decision = replace(decision, state=ItemStatus.NEEDS_ADJUDICATION, label=None)
    label = decision.label or ""
    if decision.state == item.status and label == item.label:
        return False
    if decision.state != item.status:
        check_transition(ItemStatus(item.status), decision.state)
    move_item(item=item, status=ItemStatus(decision.state.value), label=label, at=at)
    if label:
        keep_majority(item=item, answers=answers, at=at)
        _keep_known(item)
    if any(row.revised_label for row in answers):
        keep_revised_label(item=item, answers=answers, at=at)
    return True


def labelled(answers: Iterable[Annotation]) -> list[Annotation]:
    """Return the answers that give a label that counts: neither left out, nor of who cannot judge the item."""
    return [row for row in answers if not row.cannot_judge and row.left_out_at is None]


def keep_revised_label(*, item: ReviewItem, answers: Iterable[Annotation], at: datetime) -> None:
    """Store, beside the blind label of a locked item, the majority that its annotators came to after the reveal."""
    answers = labelled(answers)
    given = [GivenLabel(annotation.final_label, annotation.final_parts) for annotation in answers]
    majority = outcome_of(item, given, quorum=item.quorum)
    if item.status not in {ItemStatus.DECIDED, ItemStatus.NEEDS_ADJUDICATION}:
        return
    if majority.label and majority.label != item.label:
        keep_final_label(item=item, label=majority.label, provenance=Provenance.INFORMED, at=at)
    elif majority_provenance(answers) is Provenance.MAJORITY:
        drop_final_labels(item=item, informed_only=True)


def move_item(*, item: ReviewItem, status: ItemStatus, label: str, at: datetime) -> None:
    """Store a locked item's new status and label, and bring the counters with it.

    The queue's row comes last: everybody who decides an item of it waits for that row.
    """
    was_open, is_open = item.is_open, status == ItemStatus.OPEN
    had_labels = item.status in (*FINAL, ItemStatus.NEEDS_ADJUDICATION)  # there: what people came to after a reveal
    is_adjudicated = (item.status, status) == (ItemStatus.NEEDS_ADJUDICATION, ItemStatus.ADJUDICATED)
    if had_labels and not is_adjudicated and status != ItemStatus.STALE:  # a label outlives the item's question
        drop_final_labels(item=item)
    item.status, item.label = status, label
    item.decided_at = at if status in FINAL else None
    if status == ItemStatus.ADJUDICATED:
        item.reopened_at = None
    item.save(update_fields=["status", "label", "decided_at", "reopened_at", "quorum", "answer_count", "dispute"])
    if was_open != is_open and item.retest_of_id is None:
        Assignment.objects.filter(item=item).update(item_open=is_open)
        if status == ItemStatus.NEEDS_ADJUDICATION:
            notify_adjudicators(queue=item.queue, kind=NoticeKind.NEEDS_ADJUDICATION, at=at)
        Queue.objects.filter(pk=item.queue_id).update(open_count=F("open_count") + (1 if is_open else -1))
        if not is_open:
            _tell_if_done(item.queue_id, at)
    signals.item_changed.send(sender=ReviewItem)
    if item.decided_at is not None:
        signals.item_decided.send(sender=ReviewItem, item_id=item.pk)


def end_filling(*, queue: Queue, at: datetime, **kept: object) -> None:
    """Store that all items of a run's or of debates' queue are there, and tell who waits for the last of them.

    `kept`: other fields. Who decides an item meanwhile waits for the queue's row, so one of both tells.
    """
    with transaction.atomic():
        Queue.objects.filter(pk=queue.pk).update(routed_at=at, **kept)
        if not queue.is_filled:
            _tell_if_done(queue.pk, at)


def _tell_if_done(queue_id: int, at: datetime) -> None:
    """Say that no item of a queue waits for annotators, where that is so and no job is still adding items."""
    queue = Queue.objects.filter(pk=queue_id, open_count=0, total_count__gt=0).first()
    if queue is not None and queue.is_filled:
        notify_adjudicators(queue=queue, kind=NoticeKind.DONE, at=at)
        signals.queue_done.send(sender=Queue, queue_id=queue.pk)


@dataclass(frozen=True, slots=True)
class FinalWord:
    """What an adjudicator decided; `adopted_id` names the answer they took over.

    Without one the label is the score that what they said of the form's parts comes to, where they said something.
    """

    label: str
    reason: str
    adopted_id: int | None = None
    parts: Mapping[str, str] = field(default_factory=dict)  # key -> what they said
    errors: Sequence[str] = ()  # values of ErrorKind: why people disagreed


@transaction.atomic
def adjudicate_item(*, item_id: int, adjudicator: User, word: FinalWord, at: datetime) -> ReviewItem:
    """Store the final human word on an item that people disagree about, or that nobody is left to answer.

    The label is blind where the adjudicator has been shown no machine verdict of the item, and no annotation that began
    with a model's answers.

    Raises:
        ReviewRefused: it is closed, they annotated it or hold it themselves, no reason, or a label off the scale.
    """
    item = lock_row(ReviewItem, item_id, "queue", "subject")
    has_answered = item.annotations.filter(annotator=adjudicator).exists()
    check_can_adjudicate(replace(facts_of(item), has_answered=has_answered), reason=word.reason)
    adopted = item.annotations.filter(pk=word.adopted_id, label=word.label).first() if word.adopted_id else None
    decided = _decided(item, word, adopted)
    check_label(facts_of(item), decided.label)
    is_led = item.queue.mode == QueueMode.DEBATE or item.annotations.filter(mode=QueueMode.PREFILLED).exists()
    is_blind = not is_led and not has_seen_verdicts(item=item, person=adjudicator)
    check_may_look(item=item, person=adjudicator)
    note_look(item=item, person=adjudicator, at=at, saw_verdicts=False)
    Adjudication.objects.create(
        item=item,
        adjudicator=adjudicator,
        label=decided.label,
        parts=decided.parts,
        adopted=adopted,
        reason=word.reason.strip(),
        errors=list(word.errors),
        is_blind=is_blind,
        created_at=at,
    )
    move_item(item=item, status=ItemStatus.ADJUDICATED, label=decided.label, at=at)
    provenance = Provenance.ADJUDICATION if is_blind else Provenance.INFORMED
    keep_final_label(item=item, label=decided.label, provenance=provenance, at=at, parts=decided.parts)
    _keep_known(item)
    record(adjudicator, "item.adjudicated", about(item), label=decided.label)
    return item


def _decided(item: ReviewItem, word: FinalWord, adopted: Annotation | None) -> GivenLabel:
    """Return what an adjudicator decided, with the parts of the answer that they adopted, or their own."""
    if adopted is not None:
        return GivenLabel(adopted.label, adopted.parts)
    return given_label(item, label=word.label, part_texts=word.parts)


@transaction.atomic
def reveal_adjudication(*, item_id: int, person: User, at: datetime) -> Look:
    """Note that somebody sees the machine verdicts of a decided item now; an adjudication of theirs is fixed by it.

    Raises:
        ReviewRefused: the item is not decided yet.
    """
    item = lock_row(ReviewItem, item_id, "queue", "subject")
    if item.decided_at is None:
        raise ReviewRefused("Decide first. The machine verdicts are shown afterwards.")
    Adjudication.objects.filter(item=item, adjudicator=person, revealed_at=None).update(revealed_at=at)
    return note_look(item=item, person=person, at=at)


@transaction.atomic
def revise_adjudication(
    *, item_id: int, adjudicator: User, label: str, reason: str, at: datetime, parts: Mapping[str, str] | None = None
) -> Adjudication:
    """Store what the adjudicator thinks after the reveal, beside the label they decided on.

    Raises:
        ReviewRefused: it is not their adjudication, revised already, not revealed, no reason, or a label off the scale.
    """
    item = lock_row(ReviewItem, item_id, "queue", "subject")
    word = Adjudication.objects.filter(item=item, adjudicator=adjudicator).first()
    if word is None or word.revealed_at is None or item.status != ItemStatus.ADJUDICATED:
        raise ReviewRefused("Only the adjudicator can revise the decision, after seeing the machine verdicts.")
    if word.revised_at is not None:
        raise ReviewRefused("You have already revised this decision once.")
    if not reason.strip():
        raise ReviewRefused("Give a reason for the revision.")
    revised = given_label(item, label=label, part_texts=parts or {})
    check_label(facts_of(item), revised.label)
    word.revised_label, word.revised_parts = revised.label, revised.parts
    word.revision_note, word.revised_at = reason.strip(), at
    word.save(update_fields=["revised_label", "revised_parts", "revision_note", "revised_at"])
    if word.is_blind:
        keep_final_label(item=item, label=revised.label, provenance=Provenance.INFORMED, at=at, parts=revised.parts)
    record(adjudicator, "item.revised", about(item), **{"from": word.label, "to": revised.label})
    return word


@transaction.atomic
def reopen_item(*, item_id: int, actor: User | None, reason: str, at: datetime) -> ReviewItem:
    """Send a decided item back to adjudication, an excluded one back to where its answers leave it.

    The former word is kept in the audit log.

    Raises:
        ReviewRefused: it is not decided, or no reason.
    """
    item = lock_row(ReviewItem, item_id, "queue", "subject")
    check_can_reopen(facts_of(item), reason=reason)
    if item.status == ItemStatus.EXCLUDED:
        return _bring_back(item, actor=actor, reason=reason, at=at)
    detail = {"reason": reason.strip(), "label": item.label}
    former = Adjudication.objects.filter(item=item).first()
    if former is not None:
        detail |= {"former_reason": former.reason, "former_adjudicator": str(former.adjudicator_id)}
        former.delete()
    item.reopened_at = at
    move_item(item=item, status=ItemStatus.NEEDS_ADJUDICATION, label="", at=at)
    record(actor, "item.reopened", about(item), **detail)
    return item


@transaction.atomic
def ask_more(*, item_id: int, actor: User | None, at: datetime) -> ReviewItem:
    """Ask one more person about an item, whether people disagree about it, decided it, or are at work on it.

    Raises:
        ReviewRefused: it was adjudicated or left out, asks one person only, or people were asked too often.
    """
    item = lock_row(ReviewItem, item_id, "queue", "subject")
    if item.status not in ASKS_ON or item.retest_of_id is not None:
        raise ReviewRefused("Only an item that is open, decided or disputed can get one more annotator.")
    if item.quorum >= MOST_ANSWERS:
        raise ReviewRefused(f"{MOST_ANSWERS} people have annotated this item. Decide it yourself.")
    item.quorum, item.reopened_at = max(item.quorum, item.answer_count) + 1, None
    move_item(item=item, status=ItemStatus.OPEN, label="", at=at)
    record(actor, "item.asked_again", about(item), quorum=item.quorum)
    return item


@transaction.atomic
def requeue_item(*, item_id: int, actor: User | None, reason: str, at: datetime) -> ReviewItem:
    """Send an item back to annotators: what was said of it so far counts no more, and who skipped it is asked again.

    Those labels stay stored, in no figure, decision or export; who gave one is not asked again.

    Raises:
        ReviewRefused: it is left out, a gold item or a copy for one person, or nobody has said anything of it.
    """
    locked = lock_item(item_id)
    item = locked.item
    if item.status in LEFT_OUT or item.retest_of_id is not None or is_gold(item):
        raise ReviewRefused("An item that is stale, excluded, a gold item or a copy cannot go back to annotators.")
    given_back = item.assignments.filter(status=AssignmentStatus.SKIPPED)
    skipped = given_back.update(status=AssignmentStatus.LAPSED, skip_reason="")
    counted = [annotation.pk for annotation in locked.answers if annotation.left_out_at is None]
    if not skipped and not counted and item.is_open:
        raise ReviewRefused("Nobody has annotated or skipped this item, so it waits for annotators already.")
    Annotation.objects.filter(pk__in=counted).update(left_out_at=at, slot=None)
    Adjudication.objects.filter(item=item).delete()
    detail = {"reason": reason.strip()[:REASON_LIMIT], "status": item.status, "label": item.label}
    item.answer_count, item.dispute, item.reopened_at = 0, 0, None
    move_item(item=item, status=ItemStatus.OPEN, label="", at=at)
    record(actor, "item.requeued", about(item), annotations=len(counted), skipped=skipped, **detail)
    return item


def set_precedence(*, item: ReviewItem, precedence: int, actor: User | None) -> ReviewItem:
    """Let an item come before others, or behind them, whatever the order of its queue."""
    record(actor, "item.prioritised", about(item), before=item.precedence, precedence=precedence)
    item.precedence = precedence
    item.save(update_fields=["precedence"])
    return item


@transaction.atomic
def set_detail(*, item: ReviewItem, name: str, value: str, actor: User | None) -> ReviewItem:
    """Store what an owner says of an item in a column: scenario, language, or one that the file has or not yet.

    No annotator sees it. An empty value takes a column of the file away.

    Raises:
        ReviewRefused: the item did not come in a file, or the value is too long.
    """
    if name in OWN_DETAILS:
        if len(value) > OWN_DETAILS[name]:
            raise ReviewRefused(f"At most {OWN_DETAILS[name]} characters.", field="value")
        before = getattr(item, name)
        setattr(item, name, value)
        item.save(update_fields=[name])
    elif item.material is None:
        raise ReviewRefused("Items of runs and debates have a scenario and a language only.", field="name")
    else:
        material = lock_row(Material, item.material.pk)
        before = str(material.details.get(name, ""))
        material.details = {key: held for key, held in material.details.items() if key != name}
        material.details |= {name: value} if value else {}
        material.save(update_fields=["details"])
    signals.item_changed.send(sender=ReviewItem)
    record(actor, "item.described", about(item), column=name, before=before[:REASON_LIMIT], value=value[:REASON_LIMIT])
    return item


def _bring_back(item: ReviewItem, *, actor: User | None, reason: str, at: datetime) -> ReviewItem:
    if GoldAnswer.objects.filter(item=item, is_training=True).exists():
        raise ReviewRefused("This item is in the training round. Take it out first: No gold item.")
    detail = {"reason": reason.strip(), "excluded_because": item.excluded_because}
    item.excluded_because = ""
    item.save(update_fields=["excluded_because"])
    _count_in(item, 1)
    move_item(item=item, status=ItemStatus.OPEN, label="", at=at)
    update_outcome(item=item, answers=item.annotations.all(), at=at)
    record(actor, "item.brought_back", about(item), **detail)
    return item


@transaction.atomic
def exclude_item(*, item_id: int, actor: User | None, reason: str, at: datetime) -> ReviewItem:
    """Take a broken item out of its queue and all reports; its answers are kept. The audit keeps what it drew.

    Raises:
        ReviewRefused: no reason, out of date already, or drawn for the audit.
    """
    item = lock_row(ReviewItem, item_id, "queue", "subject")
    check_can_exclude(facts_of(item), reason=reason, is_audited=item.arm == ItemArm.AUDIT)
    Adjudication.objects.filter(item=item).delete()
    detail = {"reason": reason.strip()[:REASON_LIMIT], "label": item.label, "status": item.status}
    item.excluded_because = reason.strip()[:REASON_LIMIT]
    item.save(update_fields=["excluded_because"])
    move_item(item=item, status=ItemStatus.EXCLUDED, label="", at=at)
    _count_in(item, -1)
    record(actor, "item.excluded", about(item), **detail)
    return item


def _count_in(item: ReviewItem, difference: int) -> None:
    """Count an item among those of its queue, or no more: counting all of them for each of many takes too long."""
    if item.arm != ItemArm.RETEST:
        Queue.objects.filter(pk=item.queue_id).update(total_count=F("total_count") + difference)
