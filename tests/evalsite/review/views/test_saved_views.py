"""Filters of a queue's items that are kept under a name."""

from __future__ import annotations

import pytest
from django.test import Client

from evalsite.accounts.roles import Role
from evalsite.review.models import Queue
from evalsite.review.selectors.pages import listed_items
from tests import factories
from tests.evalsite.api.doors import api_client

pytestmark = pytest.mark.django_db


def test_a_filter_is_saved_from_the_page_and_leads_back_to_its_items(client: Client) -> None:
    queue = factories.queue(slug="pairs")
    split, _ = factories.review_item(queue=queue, status="split"), factories.review_item(queue=queue)
    client.force_login(factories.user("rosa", Role.ADMIN))

    offered = client.get("/review/queues/pairs/?status=split&page=1").content.decode()
    address = "/review/queues/pairs/save-view/?query=status%3Dsplit"
    asked = client.get(address)
    saved = client.post(address, {"name": "To settle", "query": asked.context["form"]["query"].value()}, follow=True)

    assert address in offered
    assert Queue.objects.get().views == {"To settle": "status=split"}
    assert saved.redirect_chain == [("/review/queues/pairs/?status=split#items", 302)]
    page = " ".join(saved.content.decode().split())
    assert '<a class="chip" href="?status=split#items" aria-current="true">To settle</a>' in page
    assert list(listed_items(queue=Queue.objects.get(), view="To settle")) == [split]


def test_a_list_of_items_has_no_copies_whose_labels_would_count_twice() -> None:
    item = factories.review_item(queue=factories.queue(slug="pairs"))
    factories.review_item(queue=item.queue, retest_of=item, only_for=factories.user("ada"), arm="retest")
    api = api_client(factories.user("rosa", Role.ADMIN))

    rows = api.get("/api/v1/items?queue=pairs").json()["rows"]

    assert [row["id"] for row in rows] == [item.pk]


def test_a_list_refuses_a_view_that_the_queue_does_not_have() -> None:
    factories.queue(slug="pairs", views={"To settle": "status=split"})
    api = api_client(factories.user("rosa", Role.ADMIN))

    answers = [api.get(f"/api/v1/items?{query}") for query in ("queue=pairs&view=mine", "view=mine")]

    assert [(answer.status_code, answer.json()["errors"]) for answer in answers] == [
        (422, {"view": ["The queue has no view of this name. There are: To settle."]}),
        (422, {"queue": ["Name the queue that the view is kept with."]}),
    ]


def test_a_list_takes_a_queue_by_number_or_name_and_refuses_one_that_there_is_not() -> None:
    queue = factories.queue(slug="pairs", name="Pairs")
    item, _ = factories.review_item(queue=queue), factories.review_item()
    api = api_client(factories.user("rosa", Role.ADMIN))

    found = [api.get(f"/api/v1/items?queue={name}").json()["rows"] for name in (queue.pk, "pairs", "Pairs")]
    refused = api.get("/api/v1/items?queue=pears&person=nobody")

    assert [[row["id"] for row in rows] for rows in found] == [[item.pk]] * 3
    assert (refused.status_code, refused.json()["errors"].keys()) == (422, {"queue", "person"})
    assert refused.json()["errors"]["queue"][0].startswith("There is no queue “pears”. There are: ")
