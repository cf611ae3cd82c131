"""The pages on which an owner moves items: plain forms, fixed query counts, filters by who holds what."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.roles import Role
from evalsite.review.models import Assignment, Queue
from evalsite.review.services.items.claims import claim_next
from tests import factories
from tests.evalsite.review.views.clients import signed_in

pytestmark = pytest.mark.django_db
PERSON_BUTTON = r'<input type="radio"\s+name="person"\s+value="(\d+)"( checked)?>'


@pytest.fixture
def rita() -> Client:
    client = Client()
    client.force_login(factories.user("rita", Role.RESEARCHER))
    return client


@pytest.fixture
def ada() -> User:
    return factories.user("ada", Role.ANNOTATOR)


def said(response: Any) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]


def release_url(queue: Queue, holder: User) -> str:
    return reverse("review:queue-release", args=[queue.slug]) + f"?holder={holder.pk}"


def taken(queue: Queue, person: User) -> Assignment:
    return claim_next(queue=queue, annotator=person, at=timezone.now())


def test_item_hand_and_withdraw_work_as_plain_forms(rita: Client, ada: User) -> None:
    item = factories.review_item()

    handed = rita.post(reverse("review:item-give", args=[item.pk]), {"person": ada.pk, "reason": "knows it"})
    page = rita.get(reverse("review:item-give", args=[item.pk])).content.decode()
    back = rita.post(reverse("review:item-withdraw", args=[item.pk]), {"person": ada.pk, "reason": "on holiday"})

    assert said(handed) == ["ada gets this item next; it is reserved for one day"]
    assert "Assigned, not started" in page
    assert reverse("review:item-withdraw", args=[item.pk]) in page
    assert said(back)[-1] == "Withdrawn from ada; the draft is kept"
    assert Assignment.objects.get().status == "withdrawn"


@pytest.mark.parametrize("values", [{"reason": "why"}, {"person": "x", "reason": "why"}, {"person": "1"}])
def test_item_give_says_what_is_missing(rita: Client, values: dict[str, str]) -> None:
    item = factories.review_item()

    page = rita.post(reverse("review:item-give", args=[item.pk]), values)

    assert (page.status_code, "field-error" in page.text) == (400, True)


def test_item_withdraw_shows_the_refusal(rita: Client, ada: User) -> None:
    item = factories.review_item()

    response = rita.post(reverse("review:item-withdraw", args=[item.pk]), {"person": ada.pk, "reason": "why"})

    assert said(response) == ["This item is not assigned to this person."]


def test_queue_release_takes_everything_back(rita: Client, ada: User) -> None:
    queue = factories.review_item().queue
    taken(queue, ada)
    url = release_url(queue, ada)

    held = rita.get(url).context["held"]
    response = rita.post(release_url(queue, ada), {"reason": "left"})

    assert [(holder.person, holder.words) for holder in held] == [(ada, "In progress")]
    assert said(response) == ["1 item withdrawn from ada"]
    assert rita.get(url).context["held"] == []


def test_the_withdrawn_person_is_told_and_sees_their_text(rita: Client, ada: User) -> None:
    queue = factories.review_item().queue
    claim = taken(queue, ada)
    Assignment.objects.update(draft={"note": "half a thought"})
    rita.post(reverse("review:item-withdraw", args=[claim.item_id]), {"person": ada.pk, "reason": "holiday"})
    client = Client()
    client.force_login(ada)

    page = client.get(reverse("review:item-detail", args=[claim.item_id])).content.decode()

    assert "has withdrawn this item" in page
    assert "half a thought" in page
    assert "holiday" not in page  # the reason is the owner's note for the log


def test_queue_detail_says_who_holds_what_and_filters_by_it(rita: Client, ada: User) -> None:
    queue = factories.queue(quorum=1)
    first, second, third = (factories.review_item(queue=queue, shuffle=number) for number in range(3))
    taken(queue, ada)
    taken(queue, factories.user("ben", Role.ANNOTATOR))
    Assignment.objects.filter(annotator=ada).update(expires_at=timezone.now() - timedelta(minutes=1))
    url = reverse("review:queue-detail", args=[queue.slug])

    rows = {
        held: [
            (row["item"].pk, [(holder.person.username, holder.words) for holder in row["holders"]])
            for row in rita.get(url, {"held": held}).context["rows"]
        ]
        for held in ("", "live", "lapsed")
    }

    assert rows == {
        "": [(first.pk, [("ada", "Expired")]), (second.pk, [("ben", "In progress")]), (third.pk, [])],
        "live": [(second.pk, [("ben", "In progress")])],
        "lapsed": [(first.pk, [("ada", "Expired")])],
    }


@pytest.mark.parametrize("count", [1, 3])
def test_item_assign_has_a_fixed_number_of_queries(count: int, rita: Client, django_assert_num_queries: Any) -> None:
    item = factories.review_item(queue=factories.queue(quorum=count))
    for number in range(count):
        taken(item.queue, factories.user(f"person-{number}", Role.ANNOTATOR))
    url = reverse("review:item-give", args=[item.pk])
    rita.get(url)

    with django_assert_num_queries(8):
        assert len(rita.get(url).context["claims"]) == count


@pytest.mark.parametrize("count", [1, 3])
def test_queue_person_has_a_fixed_number_of_queries(
    count: int, rita: Client, ada: User, django_assert_num_queries: Any
) -> None:
    queue = factories.queue()
    for _ in range(count):
        item = factories.review_item(queue=queue)
        rita.post(reverse("review:item-give", args=[item.pk]), {"person": ada.pk, "reason": "hers"})
    url = release_url(queue, ada)
    rita.get(url)

    with django_assert_num_queries(12):
        assert len(rita.get(url).context["held"]) == count


def crowd(count: int) -> list[User]:
    people = [factories.user(f"person-{number:03}") for number in range(count)]
    User.objects.update(first_name="Ada", last_name="Byron")
    Group.objects.get(name=Role.ANNOTATOR).user_set.add(*people)
    return people


@pytest.mark.parametrize("count", [1, 500])
@pytest.mark.parametrize(("address", "queries"), [("item-give", 8), ("queue-release", 12)])
def test_assigning_lists_few_people_in_a_fixed_number_of_queries(
    address: str, queries: int, count: int, rita: Client, django_assert_num_queries: Any
) -> None:
    item, people = factories.review_item(), crowd(count)
    holder = factories.user("zoe", Role.ANNOTATOR)
    taken(item.queue, holder)
    url = {
        "item-give": reverse("review:item-give", args=[item.pk]),
        "queue-release": release_url(item.queue, holder),
    }[address]
    rita.get(url)

    with django_assert_num_queries(queries + (count == 500)):  # one more says how many people are not listed
        page = rita.get(url).text

    others = [] if address == "queue-release" else [holder]
    expected = [*people, User.objects.get(username="rita"), *others][:20]
    assert [int(key) for key, _ in re.findall(PERSON_BUTTON, page)] == [person.pk for person in expected]
    assert ("more people." in page) == (count == 500)


@pytest.mark.parametrize("sent", [{"search": "1", "member_searched": "457"}, {"member_searched": ""}])
@pytest.mark.parametrize("address", ["item-give", "queue-release", "queue-give-items"])
def test_assigning_searches_people_and_moves_nothing(address: str, sent: dict[str, str], rita: Client) -> None:
    item, people = factories.review_item(), crowd(500)
    other = factories.review_item(queue=item.queue, shuffle=1)
    holder = factories.user("zoe", Role.ANNOTATOR)
    claim = taken(item.queue, holder)
    url = {
        "item-give": reverse("review:item-give", args=[item.pk]),
        "queue-release": release_url(item.queue, holder),
        "queue-give-items": reverse("review:queue-give-items", args=[item.queue.slug]),
    }[address]
    typed = {"person": people[2].pk, "reason": "half a reason", "items": [other.pk], "member_search": "BYRON 457"}

    page = rita.post(url, typed | sent).text
    rita.post(url, typed | {"person": people[457].pk, "member_searched": "BYRON 457"})  # found, and sent in

    assert re.findall(PERSON_BUTTON, page) == [(str(people[2].pk), " checked"), (str(people[457].pk), "")]
    assert "half a reason" in page
    assert "field-error" not in page
    if address == "queue-give-items":
        assert f'hx-post="{url}"' in page  # the other searches are sent to the page that they are on
        assert re.findall(r'name="items" value="(\d+)"', page) == [str(other.pk)]
    moved = {"item-give": item, "queue-release": claim.item, "queue-give-items": other}[address]
    assert list(Assignment.objects.filter(annotator=people[457]).values_list("item_id", flat=True)) == [moved.pk]
    assert not Assignment.objects.filter(annotator=people[2]).exists()


def test_queue_person_offers_nobody_in_particular_first(rita: Client, ada: User) -> None:
    queue = factories.review_item().queue
    taken(queue, ada)

    page = rita.get(release_url(queue, ada)).text

    assert re.findall(r'<input type="radio"\s+name="person"\s+value=""( checked)?>\s*<span>([^<]*)', page) == [
        (" checked", "No particular person")
    ]


def test_queue_give_items_hands_the_chosen_items_and_says_what_it_could_not() -> None:
    client, _ = signed_in("rita", Role.RESEARCHER)
    queue, ada = factories.queue(), factories.user("ada", Role.ANNOTATOR)
    items = [factories.review_item(queue=queue) for _ in range(3)]
    factories.annotation(item=items[1], label="1", annotator=ada)
    elsewhere = factories.review_item()
    url = reverse("review:queue-give-items", args=[queue.slug])
    values = {"person": ada.pk, "reason": "your field", "items": [one.pk for one in items[:2]]}

    page = client.post(url, values, follow=True).text
    nothing = client.post(url, values | {"items": []}).context["form"].errors
    others = client.post(url, values | {"items": [elsewhere.pk]}).context["form"].errors

    assert list(Assignment.objects.filter(annotator=ada, status="leased").values_list("item", flat=True)) == [
        items[0].pk
    ]
    told = "1 item assigned to ada; they stay reserved for one day. This person has already annotated this item."
    assert told in page
    assert nothing == {"items": ["Choose at least one item and at most 2,000."]}
    assert list(others) == ["items"]
