"""People at the item page: signed in, with an item in hand, answering it."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.review.models import Assignment, Queue
from tests import factories

HTMX = {"HX-Request": "true"}


def signed_in(name: str, role: Role = Role.ANNOTATOR) -> tuple[Client, User]:
    person = factories.user(name, role)
    client = Client()
    client.force_login(person)
    return client, person


def take(client: Client, queue: Queue) -> Assignment:
    client.post(reverse("review:item-next", args=[queue.slug]))
    return Assignment.objects.filter(queue=queue).latest("pk")


def send(client: Client, claim: Assignment, headers: dict[str, str] | None = None, **data: str) -> Any:
    values = {"token": str(claim.token), "label": "1"} | data
    return client.post(reverse("review:item-annotate", args=[claim.item_id]), values, headers=headers or {})
