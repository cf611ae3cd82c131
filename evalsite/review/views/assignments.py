"""What pages show beside the forms that move items: who holds an item, and what a person holds in a queue."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone

from evalsite.base.http import PageRequest, whole_number
from evalsite.base.json_types import JsonDict
from evalsite.review.models import Assignment, Queue, ReviewItem
from evalsite.review.selectors.screens import waiting_items
from evalsite.review.services.items import claims


def claims_on_item(_request: PageRequest, item: ReviewItem) -> JsonDict:
    """Return who has or had an item."""
    return {"queue": item.queue, "claims": waiting_items.claims_on(item.pk, at=timezone.now())}


def show_claims(_request: PageRequest, claim: Assignment) -> HttpResponse:
    """Go to who has the item of a claim."""
    return redirect("review:item-give", claim.item_id)


def held_by_person(request: PageRequest, queue: Queue) -> JsonDict:
    """Return what the person of the address holds in a queue."""
    person = get_object_or_404(User, pk=whole_number(request.GET.get("holder", "")))
    held = waiting_items.claims_held(queue=queue, person=person, at=timezone.now(), most=claims.MOST_AT_ONCE)
    return {"person": person, "held": held}
