"""What can be done with review queues."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial

from django.contrib.auth.models import User

from evalsite.accounts.audit import record
from evalsite.base.actions.declarations import (
    DELETE,
    ActionCall,
    ConfirmForm,
    InvalidInput,
    NoInput,
    Noun,
    PageData,
    columns,
)
from evalsite.base.http import SentFile, table_file
from evalsite.base.tables import CONTENT_TYPES, DATA_TYPES, facts_text
from evalsite.base.types import ByName, JsonDict, JsonObject, Refused
from evalsite.review.actions.references import ITEM, QUEUE, TEAM
from evalsite.review.forms import GoldColumnForm, PrefillForm, ResolveForm, TrainAgainForm, ViewForm, ViewNameForm
from evalsite.review.models import PausedPerson, Queue, ReviewItem, Team
from evalsite.review.questions.form_files import BadForm, check_fits, written_form
from evalsite.review.queue_forms import (
    QUEUE_CHOICES,
    AnnotationsFileForm,
    AnnotationsForm,
    FormTextForm,
    MaterialFileForm,
    QueueFileForm,
    QueueFilterForm,
    QueueForm,
    QuotaForm,
)
from evalsite.review.selectors.annotation_exports import LABEL_STUDIO, annotations_table, label_studio_json
from evalsite.review.selectors.pages import listed_queues, queues_of
from evalsite.review.selectors.subjects import form_of_queue
from evalsite.review.selectors.waiting_items import (
    possible_members,
    possible_members_of,
    quorum_warning,
    warnings_of_new,
)
from evalsite.review.services import gold
from evalsite.review.services.annotation_imports import AnnotationImportRefused, check_open, import_annotations
from evalsite.review.services.annotation_plans import AnnotationPlan, PeopleChoice, plan_import
from evalsite.review.services.gold import TakenPrefill, prefill_queue
from evalsite.review.services.label_tables import AddedItems, add_items, create_queue
from evalsite.review.services.queues import delete_queue, save_view, set_queue_status, set_quota, update_queue
from evalsite.review.services.researcher_referrals import BulkOutcome
from evalsite.review.states import QueueStatus
from evalsite.review.tables.annotations import AnnotationFile, read_annotations
from evalsite.review.tables.queue_files import MaterialFile
from judging.actions.references import PERSON, declare_co_owners, itself
from judging.specs.records.file_records import ParsedFile

FILE_TYPES = (*(CONTENT_TYPES | DATA_TYPES).values(), "application/json")
ADDS_PEOPLE = "auth.add_user"
UPSIDE_DOWN = "The scale reads as if its highest label came first"
HOW_TO_MEAN_IT = "Change the order, or say that the worth is as you mean it (commands and the API: order_is_meant)."


queue_facts = columns(
    *("id", "slug as queue", "get_absolute_url as address", "status", "total_count as items", "open_count as open"),
    *("is_filled", *(name for name in QUEUE_CHOICES if name != "guidelines"), "guidelines_version"),
    "team.name as team",
    members=lambda queue: list(queue.members.order_by("username").values_list("username", flat=True)),
)


def _detail(queue: Queue) -> JsonDict:
    labels = ByName((label["value"], label["text"]) for label in queue.labels)
    asked = {"form": written_form(queue.form)} if queue.form else {}
    return queue_facts(queue) | {
        "labels": labels,
        **asked,
        "guidelines": queue.guidelines,
        "views": queue.views,
        "warning": quorum_warning(queue),
    }


QUEUES: Noun[Queue] = Noun(
    name="queue",
    plural="queues",
    help="Create queues from files, change, pause, resume, archive or restore them, list them, or show one.",
    reference=QUEUE,
    rows=queues_of,
    view_permission="review.change_queue",
    shown=lambda queue: queue_facts(queue) | {"warning": quorum_warning(queue)},
    detail=_detail,
    filter_form=QueueFilterForm,
    listed=listed_queues,
    in_list=queue_facts,
    references={User: PERSON, ReviewItem: ITEM, Team: TEAM},
)
change = partial(QUEUES.one, permission="review.change_queue", owned=itself)
declare_co_owners(QUEUES, permission="review.change_queue")


@dataclass(frozen=True, slots=True)
class FileQueue:
    """A queue that was made of a file, and what was found in the file."""

    queue: Queue
    parsed: ParsedFile[MaterialFile]

    @property
    def pk(self) -> int:
        return self.queue.pk

    def get_absolute_url(self) -> str:
        """Return the address of the queue."""
        return self.queue.get_absolute_url()


def _file_form(_subject: None, _first: JsonObject, data: PageData | None) -> QueueFileForm:
    return QueueFileForm(data, people=possible_members())


def _file_facts(form: QueueFileForm) -> JsonDict:
    """Return what is in the file of a form. Raises: InvalidInput: it cannot be used, or the scale reads upside down."""
    parsed = form.materials
    if parsed.value is None:
        raise InvalidInput({"file": map(str, parsed.errors)})
    try:
        check_fits(form.cleaned_data["form"], size=parsed.value.size)
    except BadForm as error:
        raise InvalidInput({"form": [str(error)]}) from error
    is_single, worth = parsed.value.size == 1, ByName((label.text, label.share) for label in form.cleaned_data["scale"])
    if form.is_in_doubt and is_single:
        said = ", ".join(f"{text} is worth {share or 0.0:.0%}" for text, share in worth.items())
        raise InvalidInput({"scale": [f"{UPSIDE_DOWN}: {said}. {HOW_TO_MEAN_IT}"]})
    return {
        "items": len(parsed.value.rows),
        "kind": parsed.value.kind,
        "labels": parsed.value.labels.n_labels if parsed.value.labels is not None else 0,
        "columns": parsed.roles,
        "warnings": [str(problem) for problem in parsed.warnings],
        **({"worth": worth} if worth and is_single else {}),
    }


new = partial(QUEUES.new, permission="review.add_queue", form=QueueFileForm, makes_form=_file_form)


@new(
    "create",
    shown=lambda made: (
        queue_facts(made.queue) | {"warnings": [*map(str, made.parsed.warnings), *warnings_of_new(made.queue)]}
    ),
)
def create(act: ActionCall[None, QueueFileForm]) -> FileQueue:
    """Create a review queue from a file: questions with one or two responses each, or the export of an annotation tool.

    Labels that the file has become a label table.
    """
    _file_facts(act.form)
    parsed = act.form.materials
    assert parsed.value is not None, "files that cannot be used are refused"
    queue = create_queue(
        new_queue=act.form.plan(),
        labels=act.data["scale"],
        material_file=parsed.value,
        members=list(act.data["members"]),
        actor=act.actor,
        at=act.at,
    )
    return FileQueue(queue, parsed)


@new("check", is_dry=True, shown=dict, lines=facts_text)
def check(act: ActionCall[None, QueueFileForm]) -> JsonDict:
    """Say what is in a file of questions and responses, without creating a queue."""
    return _file_facts(act.form)


def _asked(definition: JsonDict) -> JsonDict:
    return {"form": written_form(definition)}


added_columns = columns("queue.slug as queue", "rows", "repeated", "items as added")


def _add(act: ActionCall[Queue, MaterialFileForm]) -> AddedItems:
    parsed = act.form.materials
    if parsed.value is None:
        raise InvalidInput({"file": map(str, parsed.errors)})
    try:
        return add_items(
            queue=act.subject,
            material_file=parsed.value,
            file_name=act.data["file_name"],
            actor=act.actor,
            at=act.at,
        )
    except BadForm as error:
        raise InvalidInput({"file": [str(error)]}) from error


@change(
    "add-items",
    form=MaterialFileForm,
    shown=added_columns,
    said=lambda added: f"{added.items:,} items added; {added.repeated:,} of {added.rows:,} rows were there",
    button="Add items",
    icon="plus-lg",
    is_offered=lambda queue: bool(queue.source_file) and queue.status != QueueStatus.ARCHIVED,
)
def add_to_queue(act: ActionCall[Queue, MaterialFileForm]) -> AddedItems:
    """Add the rows of a file to a queue that came from one. A row that is there already is left as it is."""
    return _add(act)


@change("check-items", form=MaterialFileForm, is_dry=True, shown=added_columns)
def check_items(act: ActionCall[Queue, MaterialFileForm]) -> AddedItems:
    """Say what a file would add to a queue, without storing it."""
    return _add(act)


@change(
    "set-quota",
    form=QuotaForm,
    makes_form=lambda queue, _first, data: QuotaForm(data, people=possible_members_of(queue)),
    shown=columns(
        "slug as queue",
        quotas=lambda queue: {
            quota.person.username: {"items": quota.items, "until": str(quota.until or "")}
            for quota in queue.quotas.select_related("person").order_by("person__username")
        },
    ),
    said=lambda _queue: "Quota set",
    button="Quota of a person",
    icon="clock",
)
def limit_person(act: ActionCall[Queue, QuotaForm]) -> Queue:
    """Ask one person for so many items at most, until a last day. Neither: no limit."""
    data = act.data
    return set_quota(
        queue=act.subject, person=data["person"], items=data["items"], until=data["until"], actor=act.actor
    )


@change("save-view", form=ViewForm, shown=columns("slug as queue", "views"), said=lambda _queue: "View saved")
def keep_view(act: ActionCall[Queue, ViewForm]) -> Queue:
    """Keep a filter of a queue's items under a name, for all who lead the queue."""
    return save_view(queue=act.subject, name=act.data["name"], query=act.data["query"], actor=act.actor)


@change(
    "delete-view",
    form=ViewNameForm,
    about="queue",
    shown=columns("slug as queue", "views"),
    said=lambda _queue: "View deleted",
    button="Delete a view",
    icon="trash",
    is_offered=lambda queue: bool(queue.views),
)
def drop_view(act: ActionCall[Queue, ViewNameForm]) -> Queue:
    """Forget a view of a queue's items. The items are left as they are."""
    return save_view(queue=act.subject, name=act.data["name"], query="", actor=act.actor)


@QUEUES.new("check-form", permission="review.add_queue", form=FormTextForm, is_dry=True, shown=_asked)
def check_form(act: ActionCall[None, FormTextForm]) -> JsonDict:
    """Say what a form of questions asks, without creating a queue; errors name the line."""
    definition: JsonDict = act.data["form"]
    return definition


def _settings_form(queue: Queue, _first: JsonObject, data: PageData | None) -> QueueForm:
    return QueueForm(data, instance=copy(queue), people=possible_members(queue))  # it writes into its own instance


@change("change", form=QueueForm, makes_form=_settings_form)
def change_settings(act: ActionCall[Queue, QueueForm]) -> Queue:
    """Change the name, guidelines, mode, quorum, order or members of a queue."""
    return update_queue(
        queue=act.subject,
        fields={name: act.data[name] for name in (*QUEUE_CHOICES, "team")},
        members=list(act.data["members"]),
        actor=act.actor,
        at=act.at,
    )


def _now(queue: Queue) -> str:
    return f"The queue is now {queue.get_status_display().lower()}"


def _has(status: QueueStatus) -> Callable[[Queue], bool]:
    return lambda queue: queue.status == status


@change("pause", said=_now, button="Pause", icon="pause-fill", is_offered=_has(QueueStatus.OPEN))
def pause(act: ActionCall[Queue, NoInput]) -> Queue:
    """Pause a queue: no items are handed out until it is resumed."""
    return set_queue_status(queue=act.subject, status=QueueStatus.PAUSED, actor=act.actor)


@change("resume", said=_now, button="Resume", icon="play-fill", is_offered=_has(QueueStatus.PAUSED))
def resume(act: ActionCall[Queue, NoInput]) -> Queue:
    """Resume a paused queue."""
    return set_queue_status(queue=act.subject, status=QueueStatus.OPEN, actor=act.actor)


@change(
    "archive",
    said=_now,
    button="Archive",
    icon="archive",
    question="Archive this queue?",
    is_offered=_has(QueueStatus.PAUSED),
)
def archive(act: ActionCall[Queue, NoInput]) -> Queue:
    """Archive a queue: it accepts no more annotations and is no longer listed. Annotations and reports are kept."""
    return set_queue_status(queue=act.subject, status=QueueStatus.ARCHIVED, actor=act.actor)


def _gold_said(outcome: BulkOutcome) -> str:
    return replace(outcome, refusals=outcome.refusals[:3]).words("{} taken as gold.")


@change(
    "take-gold",
    form=GoldColumnForm,
    needs_person=True,
    shown=columns("refusals as refused", taken=lambda outcome: len(outcome.done)),
    said=_gold_said,
    button="Take gold items",
    icon="patch-check",
    is_offered=lambda queue: bool(queue.source_file) and queue.status != QueueStatus.ARCHIVED,
)
def take_gold(act: ActionCall[Queue, GoldColumnForm]) -> BulkOutcome:
    """Make gold items of the open items whose file has the right answer in a column.

    Nobody is asked about those items any more. Copies of them are handed out unawares, at most one in ten; whoever
    answers too few of them right is paused. For the training round, everybody answers them before their first item,
    and they leave the queue.
    """
    return gold.take_gold(queue=act.subject, wanted=act.form.wanted(), actor=act.person, at=act.at)


@change(
    "prefill",
    form=PrefillForm,
    about="queue",
    shown=columns("queue.slug as queue", "filled", "others", "queue.unfilled_share as without"),
    said=lambda taken: f"{taken.filled:,} items have a model's answers; {taken.others:,} have none",
    button="Fill in a model's answers",
    icon="robot",
    is_offered=lambda queue: queue.status != QueueStatus.ARCHIVED,
)
def prefill(act: ActionCall[Queue, PrefillForm]) -> TakenPrefill:
    """Let annotators begin with a model's answers, and measure how far these pull them.

    The answers are in a column of the queue's file, or those of a judge of its run, or what its debates came to.
    Annotators are told what was filled in and submit what they hold to be right. No figure or label that has to be
    blind counts such annotations. Items of the random audit stay blind. The queue's mode ends it.
    """
    return prefill_queue(queue=act.subject, actor=act.actor, **act.data)


@change(
    "train-again",
    form=TrainAgainForm,
    about="queue",
    said=lambda _queue: "The training round begins again for them",
    button="Let somebody train again",
    icon="arrow-repeat",
    is_offered=lambda queue: bool(queue.training_count),
)
def train_again(act: ActionCall[Queue, TrainAgainForm]) -> Queue:
    """Let a person answer the training round again from its beginning; what they answered is forgotten."""
    return gold.train_again(
        queue=act.subject, person=act.data["person"], reason=act.data["reason"], actor=act.actor, at=act.at
    )


def _resolved_said(pause: PausedPerson) -> str:
    goes_on = "; they may go on" if pause.resumed_at is not None else ""
    return f"The labels of {pause.person.username} are {pause.get_labels_display().lower()}{goes_on}"


@change(
    "resolve-person",
    form=ResolveForm,
    about="queue",
    shown=columns(
        *("queue.slug as queue", "person.username as person", "labels"),
        resumed=lambda pause: pause.resumed_at is not None,
    ),
    said=_resolved_said,
    button="Decide on paused people",
    icon="person-gear",
    is_offered=lambda queue: bool(queue.gold_count or queue.training_count),
)
def resolve_person(act: ActionCall[Queue, ResolveForm]) -> PausedPerson:
    """Leave the labels of a paused person in, leave them out, or ask other people again; say whether they go on."""
    return gold.resolve_person(
        queue=act.subject, person=act.data["person"], resolution=act.form.resolution(), actor=act.actor, at=act.at
    )


@change("restore", said=_now, button="Restore", icon="", is_offered=_has(QueueStatus.ARCHIVED))
def restore(act: ActionCall[Queue, NoInput]) -> Queue:
    """List an archived queue again, paused."""
    return set_queue_status(queue=act.subject, status=QueueStatus.PAUSED, actor=act.actor)


@change(
    DELETE,
    form=ConfirmForm,
    leads_to="review:queue-list",
    is_offered=_has(QueueStatus.ARCHIVED),
)
def delete(act: ActionCall[Queue, ConfirmForm]) -> Queue:
    """Delete a queue with its items, annotations and final labels for good."""
    return delete_queue(queue=act.subject, actor=act.actor)


def _annotations(act: ActionCall[Queue, AnnotationsForm]) -> AnnotationFile:
    """Return what is in the file of a form. Raises: InvalidInput."""
    upload = act.data["file"]
    parsed = read_annotations(upload.read(), upload.name, form_of_queue(act.subject))
    if parsed.value is None:
        raise InvalidInput({"file": map(str, parsed.errors)})
    return parsed.value


def _people(act: ActionCall[Queue, AnnotationsForm]) -> PeopleChoice:
    """Return who the people of the file are here. Raises: Refused: only an admin adds people."""
    create = act.data["create_people"]
    if create and act.actor is not None and not act.actor.has_perm(ADDS_PEOPLE):
        raise Refused("Only an admin can add people. Name who they are here, or ask an admin.", field="create_people")
    return PeopleChoice(act.data["people"], create)


def _plan_facts(queue: Queue, plan: AnnotationPlan) -> JsonDict:
    return {"queue": queue.slug, **plan.counts(), "warnings": list(map(str, plan.problems))}


with_file = partial(change, form=AnnotationsForm, shown=dict, lines=facts_text)


@with_file("check-annotations", is_dry=True)
def check_annotations(act: ActionCall[Queue, AnnotationsForm]) -> JsonDict:
    """Say what importing a file of annotations would bring into a queue, without storing it."""
    plan = plan_import(queue=act.subject, file=_annotations(act), people=_people(act), at=act.at)
    check_open(act.subject)
    if plan.is_refused:
        raise AnnotationImportRefused(plan.problems)
    return _plan_facts(act.subject, plan)


@with_file("import-annotations")
def take_annotations(act: ActionCall[Queue, AnnotationsForm]) -> JsonDict:
    """Import annotations that a queue exported, matched by item and content: all of a file or nothing.

    What is here already is not changed. Tasks that a queue exported for Label Studio are read as Label Studio exports
    them (JSON) if the queue has questions of its own: a control is called as the question that it answers.
    """
    plan = import_annotations(
        queue=act.subject, file=_annotations(act), people=_people(act), actor=act.actor, at=act.at
    )
    return _plan_facts(act.subject, plan) | {"people_added": [] if plan.is_empty else list(plan.unknown)}


@QUEUES.one("export", permission="review.change_queue", form=AnnotationsFileForm, sends_file=FILE_TYPES)
def export(act: ActionCall[Queue, AnnotationsFileForm]) -> SentFile:
    """Send every annotation, skip and flag of a queue: who gave it, when, what it was about, what it led to."""
    queue, format_name = act.subject, act.data["format"]
    record(act.actor, "annotations.exported", queue, format=format_name)
    if format_name == LABEL_STUDIO:
        return SentFile(f"{queue.slug}-{LABEL_STUDIO}.json", "application/json", label_studio_json(queue))
    return table_file(annotations_table(queue, with_comments=True), format_name, name=f"{queue.slug}-annotations")
