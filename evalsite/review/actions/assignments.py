"""What annotators can do: take the next item of a queue, and say what they think of it, as blind as its page is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial

from django import forms
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils import timezone

from evalsite.base.actions.declarations import ActionCall, Filled, NoInput, Noun, PageData, Reference, columns
from evalsite.base.types import ByName, JsonDict, JsonObject, Refused, choices_of, whole_number
from evalsite.review.actions.items import comment_facts, values_by_question
from evalsite.review.actions.queues import QUEUES
from evalsite.review.forms import (
    AnnotationForm,
    CannotJudgeForm,
    CommentForm,
    ConfirmGuidelinesForm,
    FlagForm,
    GuidelinesChangeForm,
    RevisionForm,
    SkipForm,
    TrainingForm,
    first_annotation,
)
from evalsite.review.models import Assignment, GoldAnswer, GuidelinesReading, PastGuidelines, Queue
from evalsite.review.models.items import address_of
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.selectors.content import own_text, read_panel
from evalsite.review.selectors.gold import (
    GuidelinesChange,
    TrainingPanel,
    change_between,
    next_training,
    read_training,
    unread_since,
)
from evalsite.review.services import annotation_store, claims, queues
from evalsite.review.services.annotation_store import GivenAnnotation
from evalsite.review.services.gold import record_training
from evalsite.review.states import AssignmentStatus


class AssignmentFilterForm(forms.Form):
    """Which assignments are listed."""

    queue = forms.CharField(required=False, max_length=200, help_text="The slug or the number of a queue.")
    status = forms.ChoiceField(required=False, choices=[("", "All"), *choices_of(AssignmentStatus)])


def assignments_of(person: User | None) -> QuerySet[Assignment]:
    """Return the items that were handed to a person; None: to anybody."""
    rows = Assignment.objects.select_related("item__queue", "item__subject__rubric_item", "annotator", "annotation")
    return rows if person is None else rows.filter(annotator=person)


def _listed(*, queue: str, status: str) -> QuerySet[Assignment]:
    rows = assignments_of(None)
    rows = rows.filter(Q(queue__slug=queue) | Q(queue=whole_number(queue))) if queue else rows
    return rows.filter(status=status) if status else rows


def assignment_facts(claim: Assignment) -> JsonDict:
    """Return how far a person is with an item, and what they said of it."""
    annotation = getattr(claim, "annotation", None)
    labels = labels_from_json(claim.item.subject.labels)
    return {
        "id": claim.pk,
        "item": address_of(claim.item_id),
        "address": claim.item.get_absolute_url(),
        "queue": claim.item.queue.slug,
        "person": claim.annotator.username,
        "status": claim.status,
        "flag": claim.flag,
        "skip_reason": claim.skip_reason,
        "comments": comment_facts(claim),
        "annotation": own_text(annotation, labels, swapped=claim.swapped) if annotation is not None else "",
    }


def assignment_detail(claim: Assignment) -> JsonDict:
    """Return what the item's page shows its person; of an item that is reserved for them, nothing before they take it.

    Sides and labels are as they see them.
    """
    panel = read_panel(item_id=claim.item_id, user=claim.annotator, at=timezone.now())
    assert panel.claim is not None, "who has a claim has one"
    facts = assignment_facts(claim) | {"status": panel.claim.status, "annotation": panel.own_text}
    if panel.claim.heartbeat_at is None:
        return facts
    return facts | {"state": panel.state, "prefilled": panel.prefilled} | content_facts(panel.content)


content_facts = columns(  # what an item's page shows of its content to an annotator
    *("ask", "criterion", "question", "context", "reference"),
    responses=lambda content: [{"side": side.letter, "text": side.text} for side in content.sides],
    rubric=lambda content: [asdict(line) for line in content.rubric],
    labels=lambda content: ByName((label.value, label.text) for label in content.form.labels),
    verdicts=lambda content: [asdict(verdict) for verdict in content.verdicts],
    parts=lambda content: values_by_question(content.form),
)


ASSIGNMENTS: Noun[Assignment] = Noun(
    name="assignment",
    plural="assignments",
    help="Annotate items, skip or flag them, say that one cannot be judged, undo that, reveal, revise, list or show.",
    reference=Reference("assignment", fields=("pk",)),
    rows=assignments_of,
    view_permission="review.add_annotation",
    shown=assignment_facts,
    detail=assignment_detail,
    filter_form=AssignmentFilterForm,
    listed=_listed,
)
say = partial(ASSIGNMENTS.one, permission="review.add_annotation", needs_person=True)
change = partial(ASSIGNMENTS.one, permission="review.change_annotation", needs_person=True)


@QUEUES.one("next", permission="review.add_annotation", needs_person=True, shown=assignment_detail)
def take_next(act: ActionCall[Queue, NoInput]) -> Assignment:
    """Take the next item of a queue: one that was left in the middle or reserved, else a new one."""
    return claims.claim_next(queue=act.subject, annotator=act.person, at=act.at)


def _training_facts(panel: TrainingPanel) -> JsonDict:
    feedback = asdict(panel.feedback) if panel.feedback is not None else None
    return {"item": address_of(panel.item.pk), "feedback": feedback, **content_facts(panel.content)}


def _training_panel(queue: Queue, person: User, known: GoldAnswer | None) -> TrainingPanel:
    if known is None:
        raise Refused("No training item of this queue is left for you.")
    return read_training(known, person)


train = partial(QUEUES.one, permission="review.add_annotation", needs_person=True, shown=_training_facts)


@train("next-training", is_dry=True)
def next_training_item(act: ActionCall[Queue, NoInput]) -> TrainingPanel:
    """Show the next training item of a queue; everybody answers them before their first item there."""
    return _training_panel(act.subject, act.person, next_training(act.subject, act.person))


@train("train", form=TrainingForm)
def answer_training(act: ActionCall[Queue, TrainingForm]) -> TrainingPanel:
    """Answer a training item, and read at once what is right and why. It is no annotation: no figure counts it."""
    answer = record_training(
        queue=act.subject, item_id=act.data["item"], person=act.person, parts=act.data["parts"], at=act.at
    )
    return _training_panel(act.subject, act.person, answer.gold)


def _version_facts(row: PastGuidelines) -> dict[str, int | str]:
    return {"version": row.version, "until": row.replaced_at.isoformat() if row.pk else ""}


@QUEUES.one(
    "compare-guidelines",
    permission="review.add_annotation",
    form=GuidelinesChangeForm,
    is_dry=True,
    shown=columns(
        "queue.slug as queue",
        before=lambda change: _version_facts(change.before),
        after=lambda change: _version_facts(change.after),
        pieces=lambda change: [asdict(piece) for piece in change.pieces],
    ),
)
def compare_guidelines(act: ActionCall[Queue, GuidelinesChangeForm]) -> GuidelinesChange:
    """Say what changed in the guidelines of a queue from one version to another, word by word."""
    queue, since = act.subject, unread_since(act.subject, act.actor) if act.actor is not None else None
    after = act.data["after"] or queue.guidelines_version
    change = change_between(queue, act.data["before"] or since or max(1, after - 1), after)
    return replace(change, unread_since=since)


@QUEUES.one(
    "confirm-guidelines",
    permission="review.add_annotation",
    needs_person=True,
    form=ConfirmGuidelinesForm,
    about="queue",
    shown=lambda reading: {"queue": reading.queue.slug, "version": reading.version},
)
def confirm_guidelines(act: ActionCall[Queue, ConfirmGuidelinesForm]) -> GuidelinesReading:
    """Confirm that one has read the guidelines of a queue, which changed: no item is handed out before."""
    return queues.confirm_guidelines(queue=act.subject, person=act.person, version=act.data["version"], at=act.at)


def _annotation_form(claim: Assignment, _first: JsonObject, data: PageData | None) -> AnnotationForm:
    return AnnotationForm(data, initial=first_annotation(claim) if data is None else None)


@say("annotate", form=AnnotationForm, makes_form=_annotation_form, said=lambda _claim: "Saved")
def annotate(act: ActionCall[Assignment, AnnotationForm]) -> Assignment:
    """Annotate an item: with one of its labels, or with a value for each part of its form."""
    data = act.data
    answer = GivenAnnotation(note=data["note"], is_as_seen=True, parts=data["parts"])
    annotation = annotation_store.record_annotation(
        item_id=act.subject.item_id, annotator=act.person, token=data["token"], answer=answer, at=act.at
    )
    return annotation.assignment


def _with_token(form: type[Filled]) -> Callable[[Assignment, JsonObject, PageData | None], Filled]:
    return lambda claim, _first, data: form(data, initial={"token": claim.token})


@say(
    "cannot-judge",
    form=CannotJudgeForm,
    makes_form=_with_token(CannotJudgeForm),
    said=lambda _claim: "Stored as “cannot judge”",
)
def cannot_judge(act: ActionCall[Assignment, CannotJudgeForm]) -> Assignment:
    """Say that an item cannot be judged, and why. It counts as an annotation without a label."""
    annotation = annotation_store.record_annotation(
        item_id=act.subject.item_id,
        annotator=act.person,
        token=act.data["token"],
        answer=GivenAnnotation(cannot_judge=act.data["reason"]),
        at=act.at,
    )
    return annotation.assignment


@say("skip", form=SkipForm, makes_form=_with_token(SkipForm), said=lambda _claim: "Skipped")
def skip(act: ActionCall[Assignment, SkipForm]) -> Assignment:
    """Give an item back. It does not come back to this person; another one annotates it."""
    return claims.skip_item(item_id=act.subject.item_id, annotator=act.person, at=act.at, **act.data)


@say(
    "flag",
    form=FlagForm,
    makes_form=lambda claim, _first, data: FlagForm(data, initial={"text": claim.flag}),
    said=lambda claim: "Flagged for the owner of the queue" if claim.flag else "Flag removed",
)
def flag(act: ActionCall[Assignment, FlagForm]) -> Assignment:
    """Tell the owner of the queue what is wrong with an item. It can still be annotated."""
    return claims.flag_item(item_id=act.subject.item_id, annotator=act.person, text=act.data["text"], at=act.at)


@say("comment", form=CommentForm, said=lambda _claim: "Sent to the owner of the queue")
def comment(act: ActionCall[Assignment, CommentForm]) -> Assignment:
    """Write to the owner of the queue about an item. No other annotator reads it; the answer comes as a notice."""
    item_id, text = act.subject.item_id, act.data["text"]
    return claims.comment_on_item(item_id=item_id, annotator=act.person, text=text, author=act.person, at=act.at)


@change("undo", shown=assignment_detail, said=lambda _claim: "Undone; change your annotation and submit it again")
def undo(act: ActionCall[Assignment, NoInput]) -> Assignment:
    """Withdraw one's annotation, or take a skipped item again."""
    take = annotation_store.undo_annotation if hasattr(act.subject, "annotation") else claims.take_back
    return take(item_id=act.subject.item_id, annotator=act.person, at=act.at)


@change("reveal", shown=assignment_detail, said=lambda _claim: "You can revise your annotation once")
def reveal(act: ActionCall[Assignment, NoInput]) -> Assignment:
    """Show the verdicts on an item that one has annotated. The blind annotation is fixed from then on."""
    return annotation_store.reveal_item(item_id=act.subject.item_id, annotator=act.person, at=act.at).assignment


@change(
    "revise",
    form=RevisionForm,
    said=lambda _claim: "Revision saved with your blind annotation",
)
def revise(act: ActionCall[Assignment, RevisionForm]) -> Assignment:
    """Store, once, what one thinks after the verdicts were shown, beside the blind annotation."""
    annotation = annotation_store.revise_annotation(
        item_id=act.subject.item_id, annotator=act.person, label="", at=act.at, **act.data
    )
    return annotation.assignment
