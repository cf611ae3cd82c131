"""Pages of items: the next one of a person, and one item as whoever is in charge of it sees it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest
from django.forms import Form
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache

from evalsite.base.actions.declarations import Action, ActionCall, InvalidInput
from evalsite.base.actions.pages import Page, action_page, show_refusal
from evalsite.base.formats import compare
from evalsite.base.http import PageRequest, form_view, get_view, page_of, post_view
from evalsite.base.types import JsonDict, Refused, whole_number
from evalsite.review.actions.assignments import (
    answer_training,
    assignments_of,
    compare_guidelines,
    confirm_guidelines,
    take_next,
)
from evalsite.review.actions.items import adjudicate, revise
from evalsite.review.forms import (
    PAIR_SKIP_REASONS,
    SINGLE_SKIP_REASONS,
    UNABLE_REASONS,
    UNFIT_RUBRIC,
    AnnotationForm,
    RevisionForm,
    first_annotation,
)
from evalsite.review.models import Assignment, Queue, ReviewItem
from evalsite.review.models.items import address_of
from evalsite.review.questions.answer_forms import LabelForm, ScoredForm
from evalsite.review.questions.forms import (
    LABEL,
    PREFIX,
    SEPARATOR,
    AnswerForm,
    FormQuestion,
    Kind,
    fields_of,
    part_texts_in,
    seal_of,
    segments,
)
from evalsite.review.questions.scales import TEN_KEY, Label, labels_from_json
from evalsite.review.selectors import pages, waiting_items
from evalsite.review.selectors.content import (
    ANSWERED,
    CANNOT_JUDGE,
    OVERVIEW,
    WORK,
    ItemContent,
    ItemNotAssigned,
    ItemPanel,
    claimed_panel,
    in_order,
    read_adjudication,
    read_panel,
    undoable_item,
)
from evalsite.review.selectors.gold import (
    GuidelinesChange,
    next_training,
    read_training,
    training_of,
    unread_since,
    versions_of,
)
from evalsite.review.selectors.pages import queue_to_take_from
from evalsite.review.selectors.subjects import ScoreSoFar, form_of_item, score_so_far, texts_seen
from evalsite.review.selectors.waiting_items import (
    Progress,
    has_seen_verdicts,
    queues_to_answer,
    read_waiting,
    standing_of,
)
from evalsite.review.services import claims
from evalsite.review.services.annotation_store import ItemGone
from evalsite.review.services.claims import (
    NewerDraft,
    NoItemAvailable,
    ReadFirst,
    check_may_look,
    claim_next,
    note_look,
    start_work,
)
from evalsite.review.services.decisions import agreed_so_far, open_questions
from evalsite.review.states import FINAL, ErrorKind, ItemStatus, ReviewRefused

if TYPE_CHECKING:
    from evalsite.review.selectors.waiting_items import CountedQueue

PANEL = "review/_item_panel.html"
PAGE = "review/item_detail.html"
TARGET = "#item-panel"
HEARTBEATS_PER_LEASE = 4
LEVELS = {"success": messages.SUCCESS, "info": messages.INFO, "warning": messages.WARNING, "error": messages.ERROR}


@dataclass(frozen=True, slots=True)
class Toast:
    """A short message; `undo_id` offers to take the answer to that item back."""

    text: str
    level: str = "success"
    undo_id: int | None = None

    def as_header(self) -> str:
        """Return the value of HX-Trigger."""
        shown: JsonDict = {"text": self.text, "level": self.level}
        if self.undo_id is not None:
            url = reverse("review:item-undo", args=[self.undo_id])
            shown["action"] = {"label": "Undo", "url": url, "key": "u", "target": TARGET}
        return json.dumps({"toast": shown})


def context_of(request: PageRequest, panel: ItemPanel, **extra: Any) -> JsonDict:
    """Return what the item's templates need."""
    context: JsonDict = {"panel": panel, "item": panel.item, "queue": panel.item.queue, "content": panel.content}
    context |= material_of(request, panel.content, url=panel.item.get_absolute_url())
    if panel.claim is not None and "progress" not in extra:
        context["progress"] = standing_of(queue=panel.item.queue, user=request.user).progress
        context["undo_id"] = undoable_item(item=panel.item, user=request.user, at=timezone.now())
    if panel.state == WORK and panel.claim is not None:
        context["form"] = AnnotationForm(initial=first_annotation(panel.claim))
        context["parts"] = form_parts(panel.content.form, _typed(panel, extra.get("form")), panel.prefilled)
        context["heartbeat_seconds"] = max(2, settings.REVIEW_LEASE_SECONDS // HEARTBEATS_PER_LEASE)
        if "has_new_guidelines" not in extra:
            context["has_new_guidelines"] = unread_since(panel.item.queue, request.user) is not None
        context["unable_reasons"] = (*((UNFIT_RUBRIC,) if panel.content.rubric else ()), *UNABLE_REASONS)
        context["skip_reasons"] = PAIR_SKIP_REASONS if panel.content.has_several else SINGLE_SKIP_REASONS
    if panel.state == ANSWERED:
        context["revision_form"] = RevisionForm()
        if panel.may_revise:
            context["parts"] = form_parts(panel.content.form, _typed(panel, extra.get("revision_form")))
    return context | extra


@dataclass(frozen=True, slots=True)
class PartRow:
    """One question as a page shows it: its number, what is said of it so far, its choices, their keys and meanings."""

    part: FormQuestion
    number: int
    text: str
    choices: tuple[tuple[Label, str, str], ...]
    prefilled: str = ""  # what a model answers, in words, where the form began with it

    @property
    def key_name(self) -> str:
        """What the list of keys says before a choice: the question that it answers, unless that is the item's own."""
        return "" if self.part.key == LABEL else f"{self.part.key}: "

    @property
    def chosen(self) -> list[str]:
        """The values that are said so far, of several choices each of them."""
        return self.text.split(SEPARATOR) if self.part.kind is Kind.CHOICES else [self.text]

    @property
    def segments(self) -> list[tuple[str, str, int]]:
        """The text that is marked, in parts: each with its label and which one that is, counted from 1; "", 0: none."""
        labels = ["", *self.part.scale.labels]
        parts = segments(self.part.marked or "", self.text.split(SEPARATOR))
        return [(text, label, labels.index(label)) for text, label in parts]

    @property
    def seal(self) -> str:
        """What answers call the text that is marked."""
        return seal_of(self.part.marked or "")

    @property
    def needs_answer(self) -> bool:
        """Whether an answer is required whatever else is said; the page's script knows the others."""
        return self.part.is_required and not self.part.show_if

    @property
    def conditions(self) -> str:
        """The answers to earlier questions that make this one shown, as JSON: field -> values."""
        shown = {f"{PREFIX}{condition.key}": condition.texts for condition in self.part.show_if}
        return json.dumps(shown) if shown else ""


@dataclass(frozen=True, slots=True)
class FormParts:
    """The questions about an item, and the score that their answers come to."""

    rows: tuple[PartRow, ...]
    score: ScoreSoFar
    is_scored: bool
    is_alone: bool  # one label, asked by the item's own question

    @property
    def are_checks(self) -> bool:
        """Whether each part is met or not, so that its number switches it."""
        return all(row.part.is_check for row in self.rows)

    @property
    def has_ten(self) -> bool:
        """Whether the key of 10 gives a value of some part."""
        return any(key == TEN_KEY for row in self.rows for _, key, _ in row.choices)


def form_parts(form: AnswerForm, texts: Mapping[str, str], prefilled: Mapping[str, str] | None = None) -> FormParts:
    """Return the questions of a form with what is said of each by key, and what was filled in before."""
    texts = {key: text for part in form.parts for key, text in _field_texts(part, texts).items()}
    questions = [row for part in form.parts for row in part.rows]
    rows = tuple(
        PartRow(part, number, texts.get(part.key, ""), part_choices(part), part.words_in(prefilled or {}))
        for number, part in enumerate(questions, start=1)
    )
    score = score_so_far(form, texts)
    return FormParts(rows, score, is_scored=isinstance(form, ScoredForm), is_alone=isinstance(form, LabelForm))


def _field_texts(part: FormQuestion, texts: Mapping[str, str]) -> dict[str, str]:
    """Return what the fields of a question hold, whether a page sent them or a program the whole answer."""
    answer = part.read(texts.get(part.key, "")) if part.kind in (Kind.RANKING, Kind.SPANS) else None
    return part.texts_of(answer) if answer is not None else dict(texts)


def part_choices(part: FormQuestion) -> tuple[tuple[Label, str, str], ...]:
    """Return the values offered of a question, each with the key that gives it and what it means."""
    meanings = dict(part.anchors)
    return tuple(
        (choice, part.digit(index), meanings.get(choice.value, "")) for index, choice in enumerate(part.choices)
    )


def _typed(panel: ItemPanel, form: Form | None) -> dict[str, str]:
    """Return what a person has said of the parts by key: just now, in their draft, or in their answer."""
    if form is not None:
        return part_texts_in(form.data)
    if panel.annotation is not None:
        return texts_seen(panel.content.form, panel.annotation.label, panel.annotation.parts, panel.order)
    return part_texts_in(panel.draft)


def parts_of(request: PageRequest) -> dict[str, str]:
    """Return what a sent form says of the parts, by key."""
    return part_texts_in(request.POST)


def material_of(request: PageRequest, content: ItemContent, *, url: str) -> JsonDict:
    """Return the answers as this person sees them, at the address `url`.

    `?diff=1` asks for their differences, `?written=1` for the text without any formatting.
    """
    compared = content.is_pair and request.GET.get("diff") == "1"
    differences = compare(content.sides[0].text, content.sides[1].text) if compared else None
    is_unlike = differences is not None and differences.are_everywhere
    if is_unlike:
        differences = None  # the answers stay as they read
    pieces = (differences.a, differences.b) if differences else ((),) * len(content.sides)
    sides = [
        {
            "letter": side.letter,
            "system": side.system,
            "text": side.text,
            "content": side.content,
            "pieces": side_pieces,
        }
        for side, side_pieces in zip(content.sides, pieces, strict=True)
    ]
    shown = {
        "compared": compared,
        "differences": differences is not None,
        "is_written": request.GET.get("written") == "1",
    }
    return shown | {"sides": sides, "is_unlike": is_unlike, "material_url": url}


def show_item(request: PageRequest, item_id: int, *, toast: Toast | None = None, **extra: Any) -> HttpResponse:
    """Answer with an item: the panel for htmx, with the address it now has, else the whole page."""
    panel = read_panel(item_id=item_id, user=request.user, at=timezone.now())
    if panel.state == WORK and panel.claim is not None and panel.claim.heartbeat_at is None:
        if unread_since(panel.item.queue, request.user) is not None:
            return _led_to(request, ReadFirst.page, panel.item.queue)
        start_work(claim=panel.claim, at=timezone.now())
        extra["has_new_guidelines"] = False  # or they would have been led to them
    if panel.state == OVERVIEW:
        note_look(item=panel.item, person=request.user, at=timezone.now())
    context = context_of(request, panel, **extra)
    if not request.htmx or request.htmx.history_restore_request:  # Back asks for the whole page
        _tell(request, toast)
        return render(request, PAGE, context)
    return _fragment(request, panel, context, toast)


def _fragment(request: PageRequest, panel: ItemPanel, context: JsonDict, toast: Toast | None) -> HttpResponse:
    if request.method != "POST":  # a GET is for a part of the page that the reader is on
        return _with_toast(render(request, PANEL, context), toast)
    response = render(request, PANEL, context | _after_act(request))
    response["HX-Push-Url"] = panel.item.get_absolute_url()
    return _with_toast(response, toast)


def _after_act(request: PageRequest) -> dict[str, bool | int]:
    """Return what the rest of the page has to show again once somebody has acted."""
    return {"is_act": True, "waiting_for_me": read_waiting(request.user)[0]}


def show_next(
    request: PageRequest,
    queue: Queue,
    *,
    toast: Toast | None = None,
    done_id: int = 0,
) -> HttpResponse:
    """Hand out the next item and answer with it; say why where there is none.

    `done_id` is the item just done with.
    """
    standing = standing_of(queue=queue, user=request.user)
    try:
        claim = claim_next(queue=queue, annotator=request.user, at=timezone.now(), standing=standing)
    except ReadFirst as first:
        return _led_to(request, first.page, queue)
    except NoItemAvailable as nothing:
        return _show_nothing(request, queue, str(nothing), standing.progress, toast, done_id)
    if request.htmx:
        panel = claimed_panel(claim=claim, user=request.user, at=timezone.now())
        known = {
            "progress": standing.progress,
            "undo_id": done_id or undoable_item(item=claim.item, user=request.user, at=timezone.now()),
            "done_id": _key_of(done_id),
            "has_new_guidelines": False,  # else `ReadFirst`
        }
        return _fragment(request, panel, context_of(request, panel, **known), toast)
    _tell(request, toast)
    return redirect("review:item-detail", claim.item_id)


def show_training(request: PageRequest, queue: Queue, form: Form) -> HttpResponse:
    """Answer with the next training item, or with what is right of the answered one that `?done=` names."""
    score = training_of(queue, request.user)
    answered = {address_of(answer.gold.item_id): answer.gold for answer in score.answers}
    known = answered.get(request.GET.get("done", "")) if not form.is_bound else None
    known = known or next_training(queue, request.user)
    context: JsonDict = {"queue": queue, "score": score, "form": form}
    if known is not None:
        panel = read_training(known, request.user)
        parts = form_parts(panel.content.form, part_texts_in(form.data) if form.is_bound else {})
        context |= {"panel": panel, "item": panel.item, "content": panel.content}
        context["parts"] = replace(parts, is_scored=False)
        context |= material_of(request, panel.content, url=request.get_full_path())
    return render(request, "review/training.html", context, status=400 if form.errors else 200)


def _led_to(request: PageRequest, page: str, queue: Queue) -> HttpResponse:
    """Answer with another page of a queue, where there is something to do before the next item."""
    url = reverse(page, args=[queue.slug])
    return HttpResponse(headers={"HX-Redirect": url}) if request.htmx else redirect(url)


def show_guidelines(request: PageRequest, queue: Queue, form: Form) -> HttpResponse:
    """Answer with what changed from one version of a queue's guidelines to another, and who has read which."""
    chosen = compare_guidelines.form(queue, {}, request.GET)
    if not chosen.is_valid():
        raise Http404("No such version.")
    change: GuidelinesChange = compare_guidelines.carry_out(ActionCall(queue, chosen, request.user, timezone.now()))
    since = change.unread_since
    context = {
        "queue": queue,
        "form": form,
        "change": change,
        "versions": versions_of(queue),
        "choosers": [
            ("before", "From", change.before.version),
            ("after", "to", change.after.version),
        ],
        "is_unread": since is not None,
        "shows_unread": since is not None and change.before.version <= since and not change.after.pk,
        "readings": queue.guidelines_readings.select_related("person").order_by("-version", "person__username"),
    }
    return render(request, "review/guidelines.html", context, status=400 if form.errors else 200)


def _key_of(item_id: int) -> str:
    return address_of(item_id) if item_id else ""


def show_again(request: PageRequest, item_id: int, *, toast: Toast) -> HttpResponse:
    """Answer a POST that stays with its item: the panel for htmx, else a redirect to the page."""
    if request.htmx:
        return show_item(request, item_id, toast=toast)
    _tell(request, toast)
    return redirect("review:item-detail", item_id)


def show_gone(request: PageRequest, why: str, *, note: str) -> HttpResponse:
    """Answer a POST for an item that is no more: htmx leaves the page as it is, else a page shows what was typed."""
    if request.htmx:
        return _with_toast(HttpResponse(status=204), Toast(why, "warning"))
    return render(request, "review/item_gone.html", {"why": why, "note": note}, status=410)


def _show_nothing(
    request: PageRequest, queue: Queue, why: str, progress: Progress, toast: Toast | None, done_id: int
) -> HttpResponse:
    _tell(request, None if request.htmx else toast)
    if not request.htmx:
        messages.info(request, why)
        return redirect("review:queue-detail", queue.slug)
    elsewhere = [other for other in queues_to_answer(user=request.user) if other.pk != queue.pk]
    context = {"queue": queue, "why": why, "progress": progress, "done_id": _key_of(done_id), "elsewhere": elsewhere}
    response = render(request, PANEL, context | _after_act(request))
    response["HX-Push-Url"] = queue.get_absolute_url()
    return _with_toast(response, toast)


def _tell(request: PageRequest, toast: Toast | None) -> None:
    if toast is not None:
        messages.add_message(request, LEVELS[toast.level], toast.text)


def _with_toast(response: HttpResponse, toast: Toast | None) -> HttpResponse:
    if toast is not None:
        response["HX-Trigger"] = toast.as_header()
    return response


STOP_POLLING = 286  # htmx ends a poll at this status
PRECONDITION_FAILED = 412
PAGE_LIMIT = 40  # characters of the name that a page gives itself
LOST = "This page lost the item: another person has it, or you opened it again. Your text is kept as a draft."


def _claim(request: PageRequest, item_id: int) -> Assignment:
    """Return this person's claim; 404 for items that were never handed to them."""
    return get_object_or_404(assignments_of(request.user), item_id=item_id)


@action_page(take_next)
def item_next(request: PageRequest, slug: str) -> HttpResponse:
    """Hand out the next item of a queue."""
    return show_next(request, _queue_to_take_from(request, slug))


def _queue_to_take_from(request: PageRequest, slug: str) -> Queue:
    try:
        return queue_to_take_from(slug=slug, user=request.user)
    except Queue.DoesNotExist as error:
        raise Http404("No such queue.") from error


@action_page(answer_training, form_view)
def training(request: PageRequest, slug: str) -> HttpResponse:
    """Show the next training item of a queue, or with `?done=` what is right of one that was answered."""
    queue = _queue_to_take_from(request, slug)
    form = answer_training.form(queue, {}, request.POST or None)
    if request.method == "POST":
        try:
            if form.is_valid():
                done = answer_training.carry_out(ActionCall(queue, form, request.user, timezone.now()))
                return redirect(f"{request.path}?done={done.item.address}")
        except Refused as refusal:
            show_refusal(form, refusal)
    return show_training(request, queue, form)


def queue_or_404(request: PageRequest, slug: str) -> CountedQueue:
    """Return a queue with this person's own counts; not found where they may not see it."""
    try:
        return pages.queue_for(slug=slug, user=request.user)
    except Queue.DoesNotExist as error:
        raise Http404("No such queue.") from error


@action_page(confirm_guidelines, form_view)
def guidelines(request: PageRequest, slug: str) -> HttpResponse:
    """Show what changed in the guidelines of a queue; who has to read it confirms that, and gets the next item."""
    queue = queue_or_404(request, slug)
    form = confirm_guidelines.form(queue, {}, request.POST or None)
    if form.is_valid():
        confirm_guidelines.carry_out(ActionCall(queue, form, request.user, timezone.now()))
        return show_next(request, queue)
    return show_guidelines(request, queue, form)


@get_view("review.view_queue")
@never_cache
def item_detail(request: PageRequest, item_id: int) -> HttpResponse:
    """Show one item as far as this person may see it."""
    try:
        return show_item(request, item_id)
    except ReviewItem.DoesNotExist as error:
        raise Http404("No such item.") from error
    except ItemNotAssigned as refusal:
        messages.info(request, str(refusal))
        return redirect("review:queue-list")


def item_page(
    action: Action[Assignment, Any], *, goes_on: bool = False, is_fenced: bool = False, form_name: str = ""
) -> Page:
    """Return the view of an act on an item; after it comes the item again or, where the person `goes_on`, the next one.

    `is_fenced`: the act checks the claim itself under lock, so that it is not read before. A refused form is shown on
    the item's page under its name, and what was typed is kept as a draft; who reloads that page, or comes back to it,
    gets the item. Without a name the refusal is a message.
    """

    @action_page(action, form_view if form_name else post_view)
    def view(request: PageRequest, item_id: int) -> HttpResponse:
        if request.method != "POST":
            return redirect(_claim(request, item_id).item)
        claim = Assignment(item_id=item_id, annotator=request.user) if is_fenced else _claim(request, item_id)
        form, done = action.form(claim, {}, request.POST), None
        try:
            if form.is_valid():
                done = action.carry_out(ActionCall(claim, form, request.user, timezone.now()))
        except ItemGone as refusal:
            data = form.cleaned_data
            return show_gone(request, str(refusal), note=data.get("note") or data.get("reason", ""))
        except Refused as refusal:
            show_refusal(form, refusal)
        if done is None:
            return _refused(request, item_id, form, form_name)
        toast = Toast(action.options["said"](done), undo_id=item_id if goes_on else None)
        if goes_on:
            return show_next(request, done.item.queue, toast=toast, done_id=item_id)
        return show_again(request, item_id, toast=toast)

    return view


def _refused(request: PageRequest, item_id: int, form: Form, form_name: str) -> HttpResponse:
    _claim(request, item_id)
    if not form_name:
        return show_again(request, item_id, toast=Toast(str(InvalidInput.of(form)), "error"))
    _store_draft(request, item_id)
    shown: JsonDict = {form_name: form}
    return show_item(request, item_id, **shown)


def _store_draft(request: PageRequest, item_id: int, **page_state: Any) -> bool:
    typed = {"note": request.POST.get("note", "")} | fields_of(parts_of(request))
    return claims.keep_draft(item_id=item_id, annotator=request.user, values=typed, at=timezone.now(), **page_state)


@post_view("review.view_queue")
def item_score(request: PageRequest, item_id: int) -> HttpResponse:
    """Return the score that the parts of an item's form come to so far; nothing is stored."""
    items = ReviewItem.objects.select_related("queue", "subject__rubric_item")
    if not request.user.has_perm("review.adjudicate"):
        items = items.filter(assignments__annotator=request.user)
    form = form_of_item(get_object_or_404(items, pk=item_id))
    if not isinstance(form, ScoredForm):
        raise Http404("No score is computed for this item.")
    return render(request, "review/_parts_score.html", {"score": score_so_far(form, parts_of(request))})


@post_view("review.add_annotation")
def item_draft(request: PageRequest, item_id: int) -> HttpResponse:
    """Keep what is typed, without a page: 409 where nothing is kept, 412 where newer text is stored."""
    try:
        based_on = parse_datetime(request.POST["draft_at"]) if "draft_at" in request.POST else False
        page = request.POST.get("draft_page", "")[:PAGE_LIMIT]
        is_stored = _store_draft(request, item_id, page=page, based_on=based_on)
    except ValueError as error:
        raise BadRequest("draft_at is no date and time") from error
    except NewerDraft:
        return HttpResponse(status=PRECONDITION_FAILED)
    return HttpResponse(status=204 if is_stored else 409)


@post_view("review.add_annotation")
def item_heartbeat(request: PageRequest, item_id: int) -> HttpResponse:
    """Keep a claim alive while its page is open; tell the page once it is lost."""
    token = request.POST.get("token", "")
    idle_seconds = float(whole_number(request.POST.get("idle", "")) or 0)
    if claims.record_heartbeat(
        item_id=item_id, annotator=request.user, token=token, at=timezone.now(), idle_seconds=idle_seconds
    ):
        return HttpResponse(status=204)
    response = HttpResponse(status=STOP_POLLING)
    response["HX-Trigger"] = Toast(LOST, "warning").as_header()
    return response


def claims_on_item(_request: PageRequest, item: ReviewItem) -> JsonDict:
    """Return who has or had an item."""
    return {"queue": item.queue, "claims": waiting_items.claims_on(item.pk, at=timezone.now())}


def held_by_person(request: PageRequest, queue: Queue) -> JsonDict:
    """Return what the person of the address holds in a queue."""
    person = get_object_or_404(User, pk=whole_number(request.GET.get("holder", "")))
    held = waiting_items.claims_held(queue=queue, person=person, at=timezone.now(), most=claims.MOST_AT_ONCE)
    return {"person": person, "held": held}


@get_view("review.adjudicate")
def adjudication_list(request: PageRequest) -> HttpResponse:
    """List the items that need adjudication."""
    slug = request.GET.get("queue", "")
    page = page_of(request, pages.items_to_adjudicate(queue_slug=slug))
    rows = []
    for item in page.object_list:
        texts = {label.value: label.text for label in labels_from_json(item.subject.labels)}
        answers = in_order(item.annotations.all())
        votes = [CANNOT_JUDGE if answer.cannot_judge else texts.get(answer.label, answer.label) for answer in answers]
        rows.append({"item": item, "votes": votes, "open_questions": open_questions(item, answers)})
    context = {"page_obj": page, "rows": rows, "queue_slug": slug}
    return render(request, "review/adjudication_list.html", context)


@action_page(adjudicate, form_view)
@never_cache
def item_adjudicate(request: PageRequest, key: int) -> HttpResponse:
    """Show all answers to an item and take the final label."""
    try:
        panel = _read(request, key)
    except ReviewItem.DoesNotExist as error:
        raise Http404("No such item.") from error
    except ReviewRefused as refusal:
        messages.warning(request, str(refusal))
        return redirect("review:item-detail", key)
    form = adjudicate.form(panel.item, {}, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            adjudicate.carry_out(ActionCall(panel.item, form, request.user, timezone.now()))
        except ReviewRefused as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, "Adjudicated")
            following = pages.next_to_adjudicate(item=panel.item)
            if following is None:
                return redirect("review:adjudication-list")
            return redirect("review:item-adjudicate", following)
    context = {
        "panel": panel,
        "item": panel.item,
        "queue": panel.item.queue,
        "content": panel.content,
        "form": form,
        "is_split": panel.item.status in {ItemStatus.NEEDS_ADJUDICATION, ItemStatus.OPEN},
        "is_informed": has_seen_verdicts(item=panel.item, person=request.user),
        "revision_form": _revision_form(request, panel),
        "parts": form_parts(panel.content.form, parts_of(request) or _known_parts(panel)),
        **material_of(request, panel.content, url=request.path),
        "error_words": _error_words(panel.item),
        "is_decided": panel.item.status in FINAL,
    }
    return render(request, "review/item_adjudicate.html", context)


def _read(request: PageRequest, item_id: int) -> ItemPanel:
    """Return the item with all answers, and note that this person has seen them, and what of machines they see."""
    panel = read_adjudication(item_id=item_id, user=request.user, at=timezone.now())
    check_may_look(item=panel.item, person=request.user)
    note_look(item=panel.item, person=request.user, at=timezone.now(), saw_verdicts=panel.is_revealed)
    return panel


def _error_words(item: ReviewItem) -> list[str]:
    word = getattr(item, "adjudication", None)
    return [] if word is None else [str(ErrorKind(value).label) for value in word.errors]


def _revision_form(request: PageRequest, panel: ItemPanel) -> RevisionForm | None:
    """Return the form of whoever decided the item and has looked at the machine verdicts since, once."""
    word = getattr(panel.item, "adjudication", None)
    if word is None or word.adjudicator_id != request.user.pk or not panel.is_revealed or word.revised_at is not None:
        return None
    return revise.form(panel.item, {}, None)


def _known_parts(panel: ItemPanel) -> dict[str, str]:
    """Return what an adjudication said of the parts, else what people agree on."""
    word = getattr(panel.item, "adjudication", None)
    form = panel.content.form
    return texts_seen(form, word.label, word.parts, "") if word is not None else form.texts(agreed_so_far(panel.item))
