"""Who holds what, and an owner's hand in it: give an item to a person, take it back, move all that somebody holds."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from evalsite.base.http import PageRequest
from evalsite.review.forms import HandForm, ReasonForm, ReleaseForm, is_member_search
from evalsite.review.models import Queue, ReviewItem
from evalsite.review.selectors.screens import claims, pages
from evalsite.review.services.items import reassignments
from evalsite.review.states import ReviewRefused
from evalsite.review.views.queues import assign_form, chosen_items, owner_page, queue_or_404


@require_GET
@permission_required("review.change_queue", raise_exception=True)
def item_assign(request: PageRequest, item_id: int) -> HttpResponse:
    """Show who has or had an item, with the forms that move it."""
    return _item_page(request, get_object_or_404(ReviewItem.objects.select_related("queue"), pk=item_id))


def _item_page(request: PageRequest, item: ReviewItem) -> HttpResponse:
    context = {
        "item": item,
        "queue": item.queue,
        "claims": claims.claims_on(item.pk, at=timezone.now()),
        "form": _hand_form(request, item),
    }
    return render(request, "review/item_assign.html", context)


def _hand_form(request: PageRequest, item: ReviewItem) -> HandForm:
    people, search_url = pages.possible_members_of(item.queue), reverse("review:item-hand", args=[item.pk])
    form = HandForm(request.POST or None, people=people, search_url=search_url)
    if is_member_search(request.POST):
        form.errors.clear()  # nothing is sent in yet
    return form


@require_POST
@permission_required("review.change_queue", raise_exception=True)
def item_hand(request: PageRequest, item_id: int) -> HttpResponse:
    """Keep a slot of an item for a person, or search people for it."""
    item = get_object_or_404(ReviewItem.objects.select_related("queue"), pk=item_id)
    if is_member_search(request.POST):
        return _item_page(request, item)
    form = _hand_form(request, item)
    if not form.is_valid():
        return _refuse(request, "Choose a person and say why.", "review:item-assign", item.pk)
    person, reason = form.cleaned_data["person"], form.cleaned_data["reason"]

    def act() -> str:
        reassignments.hand_item(item_id=item.pk, person=person, actor=request.user, reason=reason, at=timezone.now())
        return f"{person.username} gets this item next; it waits a day for them"

    return _answer(request, act, "review:item-assign", item.pk)


@require_POST
@permission_required("review.change_queue", raise_exception=True)
def queue_assign(request: PageRequest, slug: str) -> HttpResponse:
    """Keep a slot of each chosen item for a person, or search people for them."""
    if is_member_search(request.POST):
        return owner_page(request, queue_or_404(request, slug))
    queue = get_object_or_404(Queue, slug=slug)
    form, chosen = assign_form(request, queue), chosen_items(request)
    if not form.is_valid():
        return _refuse(request, "Choose a person and say why.", "review:queue-detail", slug)
    person, reason = form.cleaned_data["person"], form.cleaned_data["reason"]

    def act() -> str:
        handed = reassignments.hand_items(
            queue=queue, item_ids=chosen, person=person, actor=request.user, reason=reason, at=timezone.now()
        )
        return f"{person.username}: {handed.words}"

    return _answer(request, act, "review:queue-detail", slug)


@require_POST
@permission_required("review.change_queue", raise_exception=True)
def item_withdraw(request: PageRequest, item_id: int, person_id: int) -> HttpResponse:
    """Take an item back from the person who holds it."""
    item, person = get_object_or_404(ReviewItem, pk=item_id), get_object_or_404(User, pk=person_id)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _refuse(request, "Say why this item is taken back.", "review:item-assign", item.pk)

    def act() -> str:
        reason = form.cleaned_data["reason"]
        reassignments.withdraw_item(item_id=item.pk, person=person, actor=request.user, reason=reason)
        return f"Taken back from {person.username}; what they typed is kept"

    return _answer(request, act, "review:item-assign", item.pk)


@require_GET
@permission_required("review.change_queue", raise_exception=True)
def queue_person(request: PageRequest, slug: str, person_id: int) -> HttpResponse:
    """Show what a person holds in a queue, with the form that moves all of it."""
    return _person_page(request, get_object_or_404(Queue, slug=slug), get_object_or_404(User, pk=person_id))


def _person_page(request: PageRequest, queue: Queue, person: User) -> HttpResponse:
    held = claims.claims_held(queue=queue, person=person, at=timezone.now(), most=reassignments.MOST_AT_ONCE)
    context = {"queue": queue, "person": person, "held": held, "form": _release_form(request, queue, person)}
    return render(request, "review/queue_person.html", context)


def _release_form(request: PageRequest, queue: Queue, person: User) -> ReleaseForm:
    others = pages.possible_members_of(queue).exclude(pk=person.pk)
    search_url = reverse("review:queue-release", args=[queue.slug, person.pk])
    form = ReleaseForm(request.POST or None, people=others, search_url=search_url)
    if is_member_search(request.POST):
        form.errors.clear()  # nothing is sent in yet
    return form


@require_POST
@permission_required("review.change_queue", raise_exception=True)
def queue_release(request: PageRequest, slug: str, person_id: int) -> HttpResponse:
    """Take back everything a person holds in a queue, and hand it to another where one is named."""
    queue, person = get_object_or_404(Queue, slug=slug), get_object_or_404(User, pk=person_id)
    if is_member_search(request.POST):
        return _person_page(request, queue, person)
    form = _release_form(request, queue, person)
    if not form.is_valid():
        return _refuse(
            request, "Say why, and choose a person of the list or nobody.", "review:queue-person", slug, person.pk
        )
    heir, reason = form.cleaned_data["person"], form.cleaned_data["reason"]

    def act() -> str:
        moved = reassignments.withdraw_all(
            queue=queue, person=person, heir=heir, actor=request.user, reason=reason, at=timezone.now()
        )
        said = f"{moved.withdrawn} item{'' if moved.withdrawn == 1 else 's'} taken back from {person.username}"
        return said if heir is None else f"{said}, {moved.handed} of them handed to {heir.username}"

    return _answer(request, act, "review:queue-person", slug, person.pk)


def _answer(request: PageRequest, act: Callable[[], str], address: str, *arguments: object) -> HttpResponse:
    try:
        messages.success(request, act())
    except ReviewRefused as refusal:
        messages.error(request, str(refusal))
    return redirect(address, *arguments)


def _refuse(request: PageRequest, why: str, address: str, *arguments: object) -> HttpResponse:
    messages.error(request, why)
    return redirect(address, *arguments)
