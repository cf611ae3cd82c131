"""Pages of queues and of adjudication: who may, what they show, what they change, and how many queries they take."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.review.models import Adjudication, PausedPerson, Queue, Quota, ReviewItem
from evalsite.review.selectors.annotation_exports import MATERIAL_COLUMNS
from evalsite.review.services.annotation_store import GivenAnnotation, record_annotation
from evalsite.review.services.claims import claim_next, repeat_item
from evalsite.review.states import ItemStatus
from evalsite.review.tables.annotations import COLUMNS
from tests import factories
from tests.debate import rows
from tests.evalsite.review.views.clients import HTMX, send, take
from tests.factories import NOON

pytestmark = pytest.mark.django_db
MEMBER_BOX = r'<input type="checkbox"\s+name="members"\s+value="(\d+)"( checked)?>'


def signed_in(name: str, role: Role) -> tuple[Client, User]:
    person = factories.user(name, role)
    client = Client()
    client.force_login(person)
    return client, person


def answer(queue: Queue, *labels: str) -> None:
    for label in labels:
        person = factories.user("", Role.ANNOTATOR)
        claim = claim_next(queue=queue, annotator=person, at=NOON)
        record_annotation(
            item_id=claim.item_id,
            annotator=person,
            token=str(claim.token),
            answer=GivenAnnotation(label, "=why"),
            at=NOON,
        )


@pytest.mark.parametrize("count", [1, 3])
def test_queue_list_has_a_fixed_number_of_queries(count: int, django_assert_num_queries: Any) -> None:
    for _ in range(count):
        factories.review_item(queue=factories.queue())
    client, _ = signed_in("rita", Role.RESEARCHER)

    with django_assert_num_queries(8):
        page = client.get(reverse("review:queue-list"))

    assert page.status_code == 200
    assert [waiting for _, waiting, *_ in page.context["table"]] == [1] * count


@pytest.mark.parametrize("count", [1, 3])
def test_queue_detail_has_a_fixed_number_of_queries(count: int, django_assert_num_queries: Any) -> None:
    queue = factories.queue()
    for _ in range(count):
        factories.review_item(queue=queue, scenario="coding")
        answer(queue, "1", "-1")
    client, _ = signed_in("rita", Role.RESEARCHER)
    cache.clear()  # the scenarios of a queue are remembered

    with django_assert_num_queries(39):
        page = client.get(reverse("review:queue-detail", args=[queue.slug]))

    assert page.status_code == 200
    assert len(page.context["rows"]) == count


@pytest.mark.parametrize("count", [1, 3])
def test_adjudication_list_has_a_fixed_number_of_queries(count: int, django_assert_num_queries: Any) -> None:
    queue = factories.queue()
    for _ in range(count):
        factories.review_item(queue=queue)
        answer(queue, "1", "-1")
    client, _ = signed_in("rita", Role.RESEARCHER)

    with django_assert_num_queries(7):
        page = client.get(reverse("review:adjudication-list"))

    assert [row["votes"] for row in page.context["rows"]] == [["A is better", "B is better"]] * count


def test_a_second_adjudicator_is_told_that_the_decision_is_not_stored() -> None:
    item = factories.review_item()
    answer(item.queue, "1", "-1")
    url = reverse("review:item-adjudicate", args=[item.pk])
    adopted = item.annotations.earliest("pk")
    (rita, _), (rob, _) = signed_in("rita", Role.RESEARCHER), signed_in("rob", Role.RESEARCHER)
    rita.post(url, {"decision": f"a{adopted.pk}", "reason": "It names the flag."})

    late = rob.post(url, {"decision": "parts", "part-label": "-1", "reason": "It does not."})

    assert Adjudication.objects.get().reason == "It names the flag."
    assert "This item has been adjudicated." in late.text
    assert "Your decision is not stored. Your reason: It does not." in late.text


def test_queue_detail_filters_items() -> None:
    queue = factories.queue()
    coding = factories.review_item(queue=queue, scenario="coding", reason="audit")
    factories.review_item(queue=queue, scenario="law")
    client, _ = signed_in("rita", Role.RESEARCHER)
    url = reverse("review:queue-detail", args=[queue.slug])

    def shown(query: str) -> list[int]:
        return sorted(row["item"].pk for row in client.get(f"{url}?{query}").context["rows"])

    everything = sorted(queue.items.values_list("pk", flat=True))
    assert shown("scenario=coding") == [coding.pk]
    assert shown("reason=audit") == [coding.pk]
    assert shown("status=settled") == []
    assert shown("status=nonsense&reason=drop table") == everything
    assert shown("flagged=1") == []
    assert '<option value="jury_split">Judges disagree</option>' in client.get(url).text


def test_queues_of_others_are_not_found() -> None:
    queue = factories.queue()
    factories.review_item(queue=queue)
    queue.members.add(factories.user("bob", Role.ANNOTATOR))
    client, ada = signed_in("ada", Role.ANNOTATOR)
    detail, following = (reverse(f"review:{name}", args=[queue.slug]) for name in ("queue-detail", "item-next"))

    assert (client.get(detail).status_code, client.post(following).status_code) == (404, 404)
    queue.members.add(ada)
    assert (client.get(detail).status_code, client.post(following).status_code) == (200, 302)


def test_annotators_may_not_change_or_export_queues() -> None:
    item = factories.review_item()
    client, _ = signed_in("ada", Role.ANNOTATOR)
    slug = item.queue.slug

    assert client.get(reverse("review:queue-update", args=[slug])).status_code == 403
    assert client.post(reverse("act", args=["queue", item.queue.pk, "pause"])).status_code == 403
    assert client.get(reverse("review:queue-export", args=[slug, "csv"])).status_code == 403
    assert client.get(reverse("review:adjudication-list")).status_code == 403
    assert client.post(reverse("review:item-reopen", args=[item.pk])).status_code == 403
    assert client.post(reverse("review:item-ask-more", args=[item.pk])).status_code == 403


def test_queue_update_changes_the_quorum_of_untouched_items_only() -> None:
    queue = factories.queue(quorum=2)
    for _ in range(2):
        factories.review_item(queue=queue)
    answer(queue, "1")
    client, _ = signed_in("rita", Role.RESEARCHER)
    people = [factories.user(name, Role.ANNOTATOR) for name in ("ada", "ben", "cleo")]
    members = [person.pk for person in people]

    response = client.post(
        reverse("review:queue-update", args=[queue.slug]),
        {"name": "New name", "guidelines": "*Read*", "mode": "debate", "quorum": "3", "members": members},
    )

    queue.refresh_from_db()
    assert response.status_code == 302
    assert (queue.name, queue.guidelines, queue.mode, queue.quorum) == ("New name", "*Read*", "debate", 3)
    assert list(queue.members.order_by("username")) == people
    assert sorted(queue.items.values_list("answer_count", "quorum")) == [(0, 3), (1, 2)]


def crowd(count: int) -> list[User]:
    people = [factories.user(f"person-{number:03}", Role.ANNOTATOR) for number in range(count)]
    User.objects.update(first_name="Ada", last_name="Byron")
    return people


@pytest.mark.parametrize("count", [1, 60])
def test_queue_update_lists_few_people_and_who_is_ticked_in_a_fixed_number_of_queries(
    count: int, django_assert_num_queries: Any
) -> None:
    queue, people = factories.queue(), crowd(count)
    queue.members.set(people[-1:])
    client, rita = signed_in("rita", Role.RESEARCHER)

    with django_assert_num_queries(10 + (count == 60)):
        page = client.get(reverse("review:queue-update", args=[queue.slug])).content.decode()

    boxes = re.findall(MEMBER_BOX, page)
    expected = [people[-1], *[*people[:-1], rita][:20]]
    assert [int(key) for key, _ in boxes] == [person.pk for person in expected]
    assert [bool(ticked) for _, ticked in boxes] == [True, *[False] * (len(expected) - 1)]
    assert ("40 more people." in page) == (count == 60)


@pytest.mark.parametrize("sent", [{"search": "1", "member_searched": "057"}, {"member_searched": ""}])
def test_queue_update_searches_people_and_stores_nothing(sent: dict[str, str]) -> None:
    queue, people = factories.queue(name="Before"), crowd(60)
    client, _ = signed_in("rita", Role.RESEARCHER)
    typed = {"name": "", "guidelines": "*Read*", "mode": "debate", "quorum": "3", "members": [people[2].pk, "x"]}

    page = client.post(
        reverse("review:queue-update", args=[queue.slug]), typed | {"member_search": "BYRON 057"} | sent
    ).content.decode()

    queue.refresh_from_db()
    assert (queue.name, list(queue.members.all())) == ("Before", [])
    boxes = re.findall(MEMBER_BOX, page)
    assert boxes == [(str(people[2].pk), " checked"), (str(people[57].pk), "")]
    assert "Ada Byron (person-057)" in page
    assert ("*Read*" in page, "field-error" in page) == (True, False)


def test_item_adjudicate_adopts_an_answer_and_goes_on() -> None:
    queue = factories.queue()
    first, second = (factories.review_item(queue=queue, shuffle=number) for number in (1, 2))
    answer(queue, "1", "-1", "1", "0")
    client, rita = signed_in("rita", Role.RESEARCHER)
    url = reverse("review:item-adjudicate", args=[first.pk])
    chosen = first.annotations.get(label="-1")

    page = client.get(url).content.decode()
    refused = client.post(url, {"decision": f"a{chosen.pk}", "reason": ""}).content.decode()
    response = client.post(url, {"decision": f"a{chosen.pk}", "reason": "B is complete"})

    first.refresh_from_db()
    assert "Person 1" in page
    assert chosen.annotator.username not in page
    assert "Give a reason" in refused
    assert response["Location"] == reverse("review:item-adjudicate", args=[second.pk])
    assert (first.status, first.label, first.adjudication.adopted, first.adjudication.adjudicator) == (
        ItemStatus.ADJUDICATED,
        "-1",
        chosen,
        rita,
    )


def test_item_adjudicate_prints_each_annotation_once() -> None:
    queue = factories.queue()
    item = factories.review_item(queue=queue)
    for label, note in (("1", "The first is complete."), ("-1", "The second is shorter.")):
        person = factories.user("", Role.ANNOTATOR)
        claim = claim_next(queue=queue, annotator=person, at=NOON)
        given = GivenAnnotation(label, note)
        record_annotation(item_id=item.pk, annotator=person, token=str(claim.token), answer=given, at=NOON)
    client, _ = signed_in("rita", Role.RESEARCHER)

    page = client.get(reverse("review:item-adjudicate", args=[item.pk])).content.decode()

    assert [page.count(note) for note in ("The first is complete.", "The second is shorter.")] == [1, 1]


def test_item_reopen_and_ask_more_by_a_researcher() -> None:
    item = factories.review_item()
    answer(item.queue, "1", "1")
    client, _ = signed_in("rita", Role.RESEARCHER)

    statuses = []
    for name, data in (("reopen", {"reason": ""}), ("reopen", {"reason": "misread"}), ("ask-more", {})):
        client.post(reverse(f"review:item-{name}", args=[item.pk]), data)
        statuses.append(ReviewItem.objects.get(pk=item.pk).status)

    assert statuses == [ItemStatus.DECIDED, ItemStatus.NEEDS_ADJUDICATION, ItemStatus.OPEN]


def test_queue_list_says_once_what_queue_and_debates_are_both_called() -> None:
    for name, of in (("Alder vs Birch", "Alder vs Birch"), ("Comparisons 2", "Alder vs Cedar")):
        factories.review_item(queue=factories.queue(name=name, debate_set=rows.debate_set(name=of)))
    client, _ = signed_in("rita", Role.RESEARCHER)

    page = client.get(reverse("review:queue-list")).text

    beside = [page.count(f'<span class="muted">{name}</span>') for name in ("Alder vs Birch", "Alder vs Cedar")]
    assert beside == [0, 1]


def test_item_adjudicate_begins_a_new_draft_once_the_item_was_reopened() -> None:
    item = factories.review_item()
    answer(item.queue, "1", "0")
    client, _ = signed_in("rita", Role.RESEARCHER)
    address = reverse("review:item-adjudicate", args=[item.pk])
    draft_keys = []

    draft_keys += re.findall(r'data-draft-key="([^"]+)"', client.get(address).text)
    client.post(address, {"decision": f"a{item.annotations.get(label='1').pk}", "reason": "read again"})
    draft_keys += re.findall(r'data-draft-key="([^"]+)"', client.get(address).text)  # decided: nothing to enter
    client.post(reverse("review:item-reopen", args=[item.pk]), {"reason": "misread"})
    draft_keys += re.findall(r'data-draft-key="([^"]+)"', client.get(address).text)

    # What a browser keeps under the first key is not brought back under the second.
    assert ReviewItem.objects.get(pk=item.pk).status == ItemStatus.NEEDS_ADJUDICATION
    assert len(set(draft_keys)) == len(draft_keys) == 2


def test_queue_export_sends_the_same_rows_in_every_format() -> None:
    item = factories.review_item(criterion="helpfulness", scenario="coding")
    answer(item.queue, "1")
    client, _ = signed_in("rita", Role.RESEARCHER)

    sent = {
        kind: client.get(reverse("review:queue-export", args=[item.queue.slug, kind])).getvalue()
        for kind in ("csv", "jsonl", "xlsx")
    }

    table = list(csv.DictReader(io.StringIO(sent["csv"].decode("utf-8-sig"), newline="")))
    line = json.loads(sent["jsonl"])
    assert item.response_a is not None
    wanted = {"queue": item.queue.slug, "blind_label": "1", "criterion": "helpfulness", "scenario": "coding"}
    assert {name: line[name] for name in wanted} == {name: table[0][name] for name in wanted} == wanted
    assert list(line) == list(table[0]) == [*COLUMNS, *MATERIAL_COLUMNS, "comments"]
    assert (line["question"], line["blind_label_text"]) == (item.response_a.prompt.text, "A is better")
    assert (line["note"], table[0]["note"]) == ("=why", "'=why")
    assert line["system_a"] == item.response_a.system.name
    assert sent["xlsx"].startswith(b"PK")
    assert AuditEntry.objects.filter(action="annotations.exported").count() == 3
    assert client.get(reverse("review:queue-export", args=[item.queue.slug, "exe"])).status_code == 404


def test_queue_detail_says_on_how_many_items_all_annotators_agree(client: Client) -> None:
    queue = factories.queue(quorum=3)
    for labels in (("1", "1"), ("1", "-1"), ("0", "0", "0"), ("1",)):
        item = factories.review_item(queue=queue)
        for label in labels:
            factories.annotation(item=item, label=label)
    client.force_login(factories.user("rita", Role.RESEARCHER))

    page = " ".join(client.get(queue.get_absolute_url()).content.decode().split())

    assert '<span class="stat-value">66.7%</span> <span class="stat-hint">3 items have two or more annotations' in page


def test_queue_detail_says_that_a_queue_is_paused(client: Client) -> None:
    queue = factories.queue(status="paused")
    factories.review_item(queue=queue)
    texts = []
    for name, role in (("rosa", Role.RESEARCHER), ("ada", Role.ANNOTATOR)):
        client.force_login(factories.user(name, role))
        texts.append(client.get(queue.get_absolute_url()).content.decode())

    assert "This queue is paused: no items are handed out until it is resumed. 1 item waits." in texts[0]
    assert "This queue is paused. No items are handed out until its owner resumes it; 1 item waits for you." in texts[1]


@pytest.mark.parametrize(
    ("in_training", "why"),
    [(False, "Your work in this queue is paused."), (True, "You did not pass the training of this queue.")],
)
def test_queue_mine_says_why_nothing_is_handed_out_to_a_person(client: Client, in_training: bool, why: str) -> None:
    ada, queue = factories.user("ada", Role.ANNOTATOR), factories.queue()
    factories.review_item(queue=queue)
    PausedPerson.objects.create(queue=queue, person=ada, right=1, answered=10, paused_at=NOON, in_training=in_training)
    client.force_login(ada)

    page = client.get(queue.get_absolute_url()).content.decode()

    assert why in page
    assert 'id="start-button"' not in page
    assert "Your progress" not in page


def test_queue_mine_says_what_a_person_is_asked_for_and_that_the_last_day_has_passed(client: Client) -> None:
    ada = factories.user("ada", Role.ANNOTATOR)
    queue = factories.review_item().queue
    client.force_login(ada)
    until = timezone.localdate()
    quota = Quota.objects.create(queue=queue, person=ada, items=3, until=until)
    asked = " ".join(client.get(queue.get_absolute_url()).text.split())
    yesterday = until - timedelta(days=1)
    quota.until = yesterday
    quota.save()

    lapsed = " ".join(client.get(queue.get_absolute_url()).text.split())

    assert f"You are asked for 3 items until {until.day} {until:%B %Y}." in asked
    assert ("start-button" in asked, "start-button" in lapsed) == (True, False)
    assert f"were handed to you until {yesterday.day} {yesterday:%B %Y}. Ask its owner for more time." in lapsed


def test_queue_mine_offers_to_go_on_only_where_something_waits() -> None:
    item = factories.review_item()
    client, ada = signed_in("ada", Role.ANNOTATOR)
    Quota.objects.create(queue=item.queue, person=ada, items=1)
    before = client.get(item.queue.get_absolute_url()).text
    send(client, take(client, item.queue), HTMX)

    after = client.get(item.queue.get_absolute_url()).text
    asked = client.post(reverse("review:item-next", args=[item.queue.slug]), follow=True).text

    assert ("start-button" in before, "start-button" in after) == (True, False)
    assert "You have annotated the item that you were asked for. Thank you." in asked


def test_queue_mine_lists_annotations_by_their_question(client: Client) -> None:
    ada = factories.user("ada", Role.ANNOTATOR)
    item = factories.review_item()
    factories.annotation(item=item, label="1", annotator=ada)
    client.force_login(ada)

    page = client.get(item.queue.get_absolute_url()).content.decode()

    assert item.response_a is not None
    assert f">{item.response_a.prompt.text}</a>" in page


def test_queue_mine_lists_an_item_that_came_back_once(client: Client) -> None:
    ada = factories.user("ada", Role.ANNOTATOR)
    item = factories.review_item()
    factories.annotation(item=item, label="1", annotator=ada)
    again = repeat_item(item, queue=item.queue, person_id=ada.pk, at=NOON)
    factories.annotation(item=again, label="0", annotator=ada)
    client.force_login(ada)

    page = client.get(item.queue.get_absolute_url())

    assert [row["answer"].item_id for row in page.context["answers"]] == [item.pk]


def test_chosen_items_are_excluded_asked_more_or_taken_back_at_once() -> None:
    queue = factories.queue()
    disputed = factories.review_item(queue=queue)
    answer(queue, "1", "-1")
    others = [factories.review_item(queue=queue) for _ in range(3)]
    client, rita = signed_in("rita", Role.RESEARCHER)
    ReviewItem.objects.filter(pk=others[0].pk).update(sent_by=rita)
    elsewhere = factories.review_item()

    def act(name: str, *items: ReviewItem, reason: str = "") -> list[str]:
        form = {"items": [item.pk for item in items], "reason": reason}
        url = reverse(f"review:queue-{name}-items", args=[queue.slug])
        page = client.post(url, form, follow=True).context
        wrong = [error for errors in page["form"].errors.values() for error in errors] if "form" in page else []
        return [*wrong, *map(str, page["messages"])]

    assert act("exclude", *others[:2]) == ["Give a reason."]
    assert act("ask-more", disputed, others[2]) == ["One more annotation asked for 2 items."]
    assert act("take-back", others[0], others[1]) == [
        "1 item taken back. This item was not sent by hand, so it cannot be withdrawn. You can pause its queue."
    ]
    assert act("exclude", others[1], reason="cut off") == ["1 item excluded; the annotations are kept."]
    assert act("exclude", reason="cut off") == ["Choose at least one item and at most 2,000."]
    assert act("exclude", elsewhere, reason="x")[0].startswith("Select a valid choice.")
    assert [(item.pk, item.status, item.quorum) for item in ReviewItem.objects.order_by("pk")] == [
        (disputed.pk, ItemStatus.OPEN, 3),
        (others[1].pk, ItemStatus.EXCLUDED, 2),
        (others[2].pk, ItemStatus.OPEN, 3),
        (elsewhere.pk, ItemStatus.OPEN, 2),
    ]


def test_the_remaining_time_leaves_out_what_nobody_can_give() -> None:
    queue = factories.queue(quorum=3)
    items = [factories.review_item(queue=queue, quorum=quorum) for quorum in (3, 2)]
    client, _ = signed_in("rita", Role.RESEARCHER)
    people = [factories.user("", Role.ANNOTATOR) for _ in range(2)]
    queue.members.set(people)
    factories.annotation(item=items[0], label="1", annotator=people[0], seconds=10.0)
    ReviewItem.objects.filter(pk=items[0].pk).update(answer_count=1)

    page = client.get(reverse("review:queue-detail", args=[queue.slug]))

    # two of three and two of two are missing; the third of the first item has nobody: 3 annotations of 10 s
    workload = page.context["workload"]
    assert (workload.answers_left, workload.answers_stuck, workload.seconds_left) == (4, 1, 30.0)
    assert "without 1 that nobody is left to give" in page.text


def test_a_quorum_above_the_members_is_refused_and_one_above_everybody_warned_of() -> None:
    queue = factories.queue(quorum=2)
    factories.review_item(queue=queue)
    answer(queue, "1", "1")
    client, _ = signed_in("rita", Role.RESEARCHER)
    members = [person.pk for person in User.objects.filter(annotations__queue=queue)]
    form, page = {"name": "Tone", "mode": "blind", "quorum": 4}, reverse("review:queue-update", args=[queue.slug])

    refused = client.post(page, form | {"members": members})
    saved = client.post(page, form, follow=True)
    commanded = json.loads(_printed("queue", "change", queue.slug, "--quorum", "4", "--json"))
    named = client.post(page, form | {"members": members, "quorum": 2}, follow=True)

    few = "4 annotators per item are more than the members chosen (2). Add members or ask fewer."
    assert (refused.status_code, refused.context["form"].errors) == (400, {"quorum": [few]})
    warning = "Each item asks 4 people, and only 3 people can annotate in this queue: no item can be completed."
    assert [str(message) for message in saved.context["messages"]] == ["Queue saved", warning]
    assert commanded["warning"] == warning
    assert "4 annotations per item (items begun before: 2)" in " ".join(saved.text.split())
    assert [str(message) for message in named.context["messages"]] == ["Queue saved"]


def test_the_page_of_a_decided_item_offers_to_reopen_it() -> None:
    item = factories.review_item()
    answer(item.queue, "1", "1")
    client, _ = signed_in("rita", Role.RESEARCHER)
    url = reverse("review:item-reopen", args=[item.pk])

    decided = client.get(item.get_absolute_url()).text
    client.post(url, {"reason": "misread"})
    reopened = client.get(item.get_absolute_url()).text

    assert (f'action="{url}"' in decided, f'action="{url}"' in reopened) == (True, False)


def _printed(name: str, *arguments: str) -> str:
    out = io.StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def test_a_queue_changes_though_a_member_left_the_site_and_keeps_its_members() -> None:
    ada, ben = factories.user("ada", Role.ANNOTATOR), factories.user("ben", Role.ANNOTATOR)
    queue = factories.queue(quorum=1)
    queue.members.set([ada, ben])
    User.objects.filter(pk=ben.pk).update(is_active=False)

    _printed("queue", "change", queue.slug, "--guidelines", "Read slowly.", "--json")

    queue.refresh_from_db()
    assert (queue.guidelines, set(queue.members.all())) == ("Read slowly.", {ada, ben})
