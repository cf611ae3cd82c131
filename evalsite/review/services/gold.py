"""Gold items, training and prefilled answers of a queue, and what becomes of people who label too few as gold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from evalsite.accounts.audit import record
from evalsite.base.rows import lock_row
from evalsite.base.types import JsonDict
from evalsite.review.models import (
    Annotation,
    GoldAnswer,
    NoticeKind,
    PausedPerson,
    Prefill,
    Queue,
    ReviewItem,
    TrainingAnswer,
)
from evalsite.review.questions.answer_forms import LabelForm
from evalsite.review.questions.form_decisions import is_below, marks
from evalsite.review.questions.forms import Answer
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.gold import GoldScore, TrainingScore, gold_scores, order_of, training_of
from evalsite.review.selectors.subjects import JOINED, form_of_item, machine_labels, texts_in_file, with_subjects
from evalsite.review.selectors.waiting_items import held_by, is_member, why_nothing_for
from evalsite.review.services.claims import about, lock_item, withdraw_held
from evalsite.review.services.decisions import (
    FinalWord,
    adjudicate_item,
    exclude_item,
    given_label,
    keep_majority,
    keep_revised_label,
    known_answer,
    labelled,
    update_outcome,
)
from evalsite.review.services.notices import notify_owners
from evalsite.review.services.researcher_referrals import BulkOutcome
from evalsite.review.states import FINAL, ItemStatus, LabelsOf, QueueMode, QueueStatus, ReviewRefused
from judging.models import EvaluatorKind, Verdict

REASON = "Its answer is known from the file."
TRAINS = "It is in the training round."


@transaction.atomic
def make_gold(
    *, item_id: int, explanation: str, tolerance: float, is_training: bool, actor: User | None, at: datetime
) -> GoldAnswer:
    """Let copies of a decided item be handed out, or let everybody answer it in training.

    Its final label, and the final answers of its form, are what is known.

    Raises:
        ReviewRefused: it is not decided, or repeats another item.
    """
    item = lock_item(item_id).item
    if item.retest_of_id is not None:
        raise ReviewRefused("This item repeats another one. Make that one a gold item.")
    if item.status not in FINAL:
        raise ReviewRefused("Only a decided item can be a gold item. Decide it first.")
    known = known_answer(item) | {
        "explanation": explanation.strip(),
        "tolerance": tolerance,
        "is_training": is_training,
        "created_by": actor,
        "created_at": at,
    }
    gold, _ = GoldAnswer.objects.update_or_create(item=item, defaults=known)
    _count(item.queue_id)
    record(actor, "item.made_gold", about(item), label=item.label, training=is_training)
    return gold


def _count(queue_id: int) -> None:
    known = GoldAnswer.objects.filter(item__queue=queue_id)
    Queue.objects.filter(pk=queue_id).update(
        gold_count=known.filter(is_training=False).count(), training_count=known.filter(is_training=True).count()
    )


@transaction.atomic
def drop_gold(*, item_id: int, actor: User | None) -> ReviewItem:
    """Hand out no more copies of a gold item, nor train on it. What people answered no longer counts for anybody.

    Raises:
        ReviewRefused: it is no gold item.
    """
    item = lock_item(item_id).item
    if not GoldAnswer.objects.filter(item=item).delete()[0]:
        raise ReviewRefused("This item is not a gold item.")
    _count(item.queue_id)
    record(actor, "item.no_longer_gold", about(item))
    return item


@dataclass(frozen=True, slots=True)
class GoldColumn:
    """Where a queue's file has the known answers and their explanations, and what they are for."""

    column: str
    explained_by: str  # "": there are no explanations
    tolerance: float
    is_training: bool


MOST_COLUMNS = 20


def _kept_columns(queue: Queue) -> str:
    """Return which columns of its file a queue has, and how another one is kept."""
    kept = sorted({name for details in queue.materials.values_list("details", flat=True) for name in details})
    return (
        f"The columns kept with its items are: {', '.join(kept[:MOST_COLUMNS]) or 'none'}. A column that was read as "
        "something else, such as the reference answer, is not among them: read it as a detail in a new queue."
    )


@transaction.atomic
def take_gold(*, queue: Queue, wanted: GoldColumn, actor: User, at: datetime) -> BulkOutcome:
    """Make gold items of all open items whose file has their answer in a column; nobody is asked about those any more.

    Training items leave the queue, its totals and its figures. Of a form the column holds the answers as JSON, or there
    is a column for each question, `column.key`.

    Raises:
        ReviewRefused: no item has an answer there, or none can be used.
    """
    explained_by = wanted.explained_by
    if explained_by and not queue.materials.filter(details__has_key=explained_by).exists():
        unkept = f"No column “{explained_by}” is kept with the items of this queue."
        raise ReviewRefused(f"{unkept} {_kept_columns(queue)}", field="explained_by")
    items = queue.items.filter(status=ItemStatus.OPEN, retest_of=None, material__isnull=False).order_by("pk")
    taken, refusals = list[int](), dict[str, None]()
    for item in items.select_related("material", "queue", "subject__rubric_item"):
        if not (texts := texts_in_file(item, wanted.column)):
            continue
        try:
            _take(item, FinalWord("", REASON, parts=texts), wanted, actor, at)
        except ReviewRefused as refusal:
            refusals[f"{item.material}: {refusal}"] = None
        else:
            taken.append(item.pk)
    if not taken:
        none = f"No open item of this queue has an answer in a column “{wanted.column}”. {_kept_columns(queue)}"
        raise ReviewRefused(" ".join(list(refusals)[:3]) or none, field="column")
    return BulkOutcome(tuple(taken), tuple(refusals))


def _take(item: ReviewItem, word: FinalWord, wanted: GoldColumn, actor: User, at: datetime) -> None:
    if item.answer_count or item.assignments.exists():
        raise ReviewRefused("Items that somebody has already been handed stay as they are.")
    adjudicate_item(item_id=item.pk, adjudicator=actor, word=word, at=at)
    why = str(item.material.details.get(wanted.explained_by, "")) if item.material is not None else ""
    make_gold(
        item_id=item.pk,
        explanation=why,
        tolerance=wanted.tolerance,
        is_training=wanted.is_training,
        actor=actor,
        at=at,
    )
    if wanted.is_training:
        exclude_item(item_id=item.pk, actor=actor, reason=TRAINS, at=at)


def judge_work(*, queue: Queue, person: User, at: datetime) -> PausedPerson | None:
    """Pause a person who has answered too few gold items right: their open work goes back, and leads are told."""
    scores = gold_scores(queue, person=person)
    if not scores or scores[0].pause is not None:
        return None
    if not is_below(scores[0].right, scores[0].answered, mark=queue.gold_mark):
        return None
    withdraw_held(held_by(queue=queue, person=person))
    return _pause(queue, scores[0], NoticeKind.PERSON_PAUSED, at)


def _pause(queue: Queue, score: GoldScore | TrainingScore, kind: NoticeKind, at: datetime) -> PausedPerson:
    """Store that somebody is handed no more items, and tell the owners of the queue."""
    in_training, name = isinstance(score, TrainingScore), score.person.username
    facts = {"right": score.right, "answered": score.answered}
    detail = f"{name}: {score.right} of {score.answered} {'training' if in_training else 'gold'} items right"
    notify_owners(queue=queue, kind=kind, at=at, detail=detail)
    verb = "queue.person_not_qualified" if in_training else "queue.person_paused"
    record(None, verb, queue, person=name, **facts)
    return PausedPerson.objects.create(queue=queue, person=score.person, in_training=in_training, paused_at=at, **facts)


@dataclass(frozen=True, slots=True)
class Resolution:
    """What an owner decides of a paused person: what becomes of their labels, whether they go on, and why."""

    labels: LabelsOf
    resumes: bool
    reason: str


@transaction.atomic
def resolve_person(
    *, queue: Queue, person: User, resolution: Resolution, actor: User | None, at: datetime
) -> PausedPerson:
    """Decide what becomes of the labels that a paused person gave, and whether they go on.

    Left out: in no figure and no decision, and their items need one annotation less, where somebody else gives one.
    Asked again: left out, and their items go to other people. What adjudicators decided stays.

    Raises:
        ReviewRefused: the person is not paused in this queue.
    """
    pause = PausedPerson.objects.select_for_update().filter(queue=queue, person=person, resumed_at=None).first()
    if pause is None:
        raise ReviewRefused(f"{person.username} is not paused in this queue.", field="person")
    count, labels = 0, resolution.labels
    if labels in (LabelsOf.LEFT_OUT, LabelsOf.ASKED_AGAIN):
        given = Annotation.objects.filter(queue=queue, annotator=person, left_out_at=None, item__retest_of=None)
        for item_id in list(given.exclude(label="").order_by("item_id").values_list("item_id", flat=True)):
            _leave_out(item_id, person, asks_again=labels is LabelsOf.ASKED_AGAIN, at=at)
            count += 1
    pause.labels, pause.resolved_by, pause.resolved_at = labels, actor, at
    pause.resumed_at = at if resolution.resumes else None
    pause.save(update_fields=["labels", "resolved_by", "resolved_at", "resumed_at"])
    detail = {"person": person.username, "labels": str(labels), "items": count, "reason": resolution.reason}
    record(actor, "queue.person_resolved", queue, **detail)
    return pause


def _leave_out(item_id: int, person: User, *, asks_again: bool, at: datetime) -> None:
    """Take a person's label out of an item's decision, and bring the item up to date."""
    locked = lock_item(item_id)
    item, annotation = locked.item, locked.answer_of(person)
    if annotation is None:
        return
    annotation.left_out_at, annotation.slot = at, None
    annotation.save(update_fields=["left_out_at", "slot"])
    item.answer_count -= 1
    if not asks_again and item.quorum > 1:
        item.quorum -= 1
    if not update_outcome(item=item, answers=locked.answers, at=at):
        item.save(update_fields=["answer_count", "quorum", "dispute"])
        if item.status == ItemStatus.DECIDED:
            keep_majority(item=item, answers=labelled(locked.answers), at=at)
    keep_revised_label(item=item, answers=locked.answers, at=at)


@transaction.atomic
def record_training(
    *, queue: Queue, item_id: int, person: User, parts: Mapping[str, str], at: datetime
) -> TrainingAnswer:
    """Store what a person answers to a training item; after the last one, who is below the mark is not let on.

    Raises:
        ReviewRefused: it is no training item of the queue, they have answered it, or they may not work there; a
            question has no answer, or one off its scale.
    """
    queue = lock_row(Queue, queue.pk)
    if queue.status != QueueStatus.OPEN or not is_member(queue=queue, user=person):
        raise ReviewRefused(why_nothing_for(queue=queue, user=person, at=at))
    known = GoldAnswer.objects.filter(item=item_id, item__queue=queue, is_training=True).first()
    if known is None:
        raise ReviewRefused("This is not a training item of the queue.")
    if known.training_answers.filter(person=person).exists():
        raise ReviewRefused("You have already answered this training item.")
    item = with_subjects(ReviewItem.objects.all()).get(pk=item_id)
    given = given_label(item, label="", part_texts=parts, order=order_of(item, person))
    found = marks(
        form_of_item(item),
        label=given.label,
        parts=given.parts,
        known_label=known.label,
        known_parts=known.parts,
        tolerance=known.tolerance,
    )
    answer = TrainingAnswer.objects.create(
        gold=known, person=person, label=given.label, parts=given.parts, by_question=found, answered_at=at
    )
    _qualify(queue, person, at)
    return answer


def _qualify(queue: Queue, person: User, at: datetime) -> None:
    """Keep a person from the queue's items who has finished the round below its mark, and tell the owners."""
    score = training_of(queue, person)
    if not score.is_done or not score.is_below(queue.training_mark):
        return
    _pause(queue, score, NoticeKind.NOT_QUALIFIED, at)


@transaction.atomic
def train_again(*, queue: Queue, person: User, reason: str, actor: User | None, at: datetime) -> Queue:
    """Let a person answer the training round of a queue from its beginning; what they answered is forgotten.

    Raises:
        ReviewRefused: they have answered nothing there.
    """
    answers = TrainingAnswer.objects.filter(gold__item__queue=queue, person=person)
    score = training_of(queue, person)
    if not answers.delete()[0]:
        raise ReviewRefused(f"{person.username} has not begun the training round of this queue.", field="person")
    pauses = PausedPerson.objects.filter(queue=queue, person=person, resumed_at=None, in_training=True)
    pauses.update(resumed_at=at, resolved_at=at, resolved_by=actor)
    detail = {"person": person.username, "right": score.right, "answered": score.answered, "reason": reason}
    record(actor, "queue.person_trains_again", queue, **detail)
    return queue


BATCH = 1_000
NOTHING = "No item of this queue has an answer there that its form takes."


@dataclass(frozen=True, slots=True)
class TakenPrefill:
    """How many items have a model's answers now; of the others the answers are missing or not on the form."""

    queue: Queue
    filled: int
    others: int


def judges_of(queue: Queue) -> list[str]:
    """Return the judges of a queue's run, the first first."""
    if queue.run is None:
        return []
    judges = queue.run.evaluators.filter(kind=EvaluatorKind.JUDGE).order_by("position")
    return list(dict.fromkeys(judges.values_list("name", flat=True)))


@transaction.atomic
def prefill_queue(
    *, queue: Queue, unfilled_share: float, actor: User | None, column: str = "", judge: str = ""
) -> TakenPrefill:
    """Let the forms of a queue's items begin with a model's answers, from the next item that somebody is handed.

    They are in a column of the queue's file, or those of a judge of its run; neither: what its debates came to. Items
    of the random audit stay blind, and so does the share of the others that is drawn: the labels of those are the
    measure of how far the answers pull people. What was filled in before is replaced where nobody has it yet.

    Raises:
        ReviewRefused: no item has an answer there.
    """
    queue = lock_row(Queue, queue.pk)
    items = queue.items.filter(Q(status=ItemStatus.OPEN) | Q(gold__is_training=False), retest_of=None)
    chosen = list(items.exclude(arm=ItemArm.AUDIT).select_related(*JOINED).order_by("pk"))
    if column:
        said = {item.pk: dict(form_of_item(item).readable(texts_in_file(item, column))) for item in chosen}
    else:
        said = _of_judge(queue, chosen, judge)
    source = column or judge or "debate"
    rows = [Prefill(item_id=pk, answers=answers, source=source) for pk, answers in said.items() if answers]
    if not rows:
        found = _found(chosen, column) if column else ""
        raise ReviewRefused(f"{NOTHING}{found}", field="column" if column else "judge")
    Prefill.objects.filter(item__in=items).delete()
    Prefill.objects.bulk_create(rows, batch_size=BATCH)
    queue.mode, queue.unfilled_share = QueueMode.PREFILLED, unfilled_share
    queue.save(update_fields=["mode", "unfilled_share"])
    record(actor, "queue.prefilled", queue, source=source, items=len(rows), without=unfilled_share)
    return TakenPrefill(queue, len(rows), len(chosen) - len(rows))


def _found(items: list[ReviewItem], column: str) -> str:
    """Return what stands in the column where the form takes none of it, and what a form of one question takes."""
    said = next((texts for item in items if (texts := texts_in_file(item, column))), None)
    if said is None:
        return f" The column {column!r} is empty, or the queue's file has none of this name."
    labels = form_of_item(items[0]).labels
    takes = f"; the form takes {', '.join(f'{label.value} ({label.text})' for label in labels)}" if labels else ""
    return f" The first has {', '.join(said.values())!r}{takes}."


def _of_judge(queue: Queue, items: list[ReviewItem], judge: str) -> dict[int, dict[str, Answer]]:
    """Return what a judge said of each part of an item's form, or of the whole as the nearest label of its scale."""
    labels = machine_labels(queue=queue, item_ids={item.pk for item in items}, judge=judge)
    verdicts = Verdict.objects.filter(run=queue.run_id, evaluator__name=judge)
    rows = verdicts.filter(response__in={item.response_a_id for item in items}).order_by("evaluator__position", "pk")
    values = {(response, criterion): value for response, criterion, value in rows.values_list(*_VALUE)}
    return {
        item.pk: _answers(item, labels.get(item.pk, ""), values.get((item.response_a_id, item.criterion)))
        for item in items
    }


_VALUE = ("response_id", "evaluator__criterion", "value")


def _answers(item: ReviewItem, label: str, value: JsonDict | None) -> dict[str, Answer]:
    form = form_of_item(item)
    if isinstance(form, LabelForm):
        return form.answers(label, {})
    nodes: Mapping[str, Answer] = (value or {}).get("nodes") or {}
    return {part.key: nodes[part.key] for part in form.parts if part.key in nodes and part.holds(nodes[part.key])}
