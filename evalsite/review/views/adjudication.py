"""Adjudication of disagreements: all answers with their reasons, and the final label."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from evalsite.base.actions.declarations import ActionCall
from evalsite.base.actions.pages import action_page
from evalsite.base.http import PageRequest, form_view, get_view, page_of
from evalsite.review.actions.items import adjudicate, revise
from evalsite.review.forms import RevisionForm
from evalsite.review.models import ReviewItem
from evalsite.review.questions.scales import labels_from_json
from evalsite.review.selectors.labels.subjects import texts_seen
from evalsite.review.selectors.screens import pages
from evalsite.review.selectors.screens.content import CANNOT_JUDGE, ItemPanel, in_order, read_adjudication
from evalsite.review.selectors.screens.waiting_items import has_seen_verdicts
from evalsite.review.services.items.given_labels import agreed_so_far
from evalsite.review.services.items.looks import check_may_look, note_look
from evalsite.review.states import ErrorKind, ItemStatus, ReviewRefused
from evalsite.review.views.next_items import form_parts, material_of, parts_of


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
        rows.append({"item": item, "votes": votes})
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
        "is_decided": panel.item.status in {ItemStatus.DECIDED, ItemStatus.ADJUDICATED},
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


def show_list(_request: PageRequest, _item: ReviewItem) -> HttpResponse:
    """Go to the items that need adjudication."""
    return redirect("review:adjudication-list")
