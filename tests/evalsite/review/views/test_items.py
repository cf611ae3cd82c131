"""The item page over HTTP: one request from an answer to the next item."""

from __future__ import annotations

import json
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
from evalsite.review.models import Annotation, Assignment, Queue
from evalsite.review.services.claims import claim_next
from evalsite.review.states import UNDO_GRACE, ItemStatus, QueueMode
from tests import factories
from tests.debate import rows
from tests.evalsite.review.views.clients import HTMX, send, signed_in, take

pytestmark = pytest.mark.django_db
PERSON_BUTTON = r'<input type="radio"\s+name="person"\s+value="(\d+)"( checked)?>'


def test_item_annotate_answers_htmx_with_the_next_item_in_one_request() -> None:
    queue = factories.queue()
    first, second = (factories.review_item(queue=queue, shuffle=number) for number in (1, 2))
    client, ada = signed_in("ada")
    claim = take(client, queue)

    response = send(client, claim, HTMX, note="because")

    page = response.content.decode()
    assert response.status_code == 200
    assert response["HX-Push-Url"] == reverse("review:item-detail", args=[second.pk])
    assert json.loads(response["HX-Trigger"])["toast"]["text"] == "Saved"
    assert f'action="{reverse("review:item-annotate", args=[second.pk])}"' in page
    assert f'data-draft-done="item-{first.address}-{ada.pk}"' in page
    assert "2 of 2" in page
    assert page.strip().startswith('<section id="item-panel"')


def test_item_annotate_without_javascript_redirects_to_the_next_item() -> None:
    queue = factories.queue()
    factories.review_item(queue=queue, shuffle=1)
    second = factories.review_item(queue=queue, shuffle=2)
    client, _ = signed_in("ada")

    response = send(client, take(client, queue))

    assert response.status_code == 302
    assert response["Location"] == reverse("review:item-detail", args=[second.pk])


def test_item_annotate_says_why_there_is_no_next_item() -> None:
    item = factories.review_item()
    client, _ = signed_in("ada")
    ben, _ = signed_in("ben")

    page = send(client, take(client, item.queue), HTMX).content.decode()

    assert "You have annotated or skipped the only open item. It is waiting for other people." in page
    assert '<section id="item-panel"' in page
    skipped = take(ben, item.queue)
    reason = {"token": str(skipped.token), "reason": "I do not know this field"}
    ben.post(reverse("review:item-skip", args=[skipped.item_id]), reason)
    alone = client.post(reverse("review:item-next", args=[item.queue.slug]), headers=HTMX).content.decode()
    assert "Nobody is left to annotate it: the owner of the queue decides." in alone


@pytest.mark.parametrize("shuffle", range(1, 7))
def test_item_annotate_stores_labels_in_system_space(shuffle: int) -> None:
    item = factories.review_item(shuffle=shuffle)
    client, ada = signed_in("ada")
    claim = take(client, item.queue)

    send(client, claim, label="1")

    stored = Annotation.objects.get(item=item, annotator=ada)
    assert stored.label == ("-1" if claim.swapped else "1")


def test_item_annotate_keeps_the_text_of_a_refused_answer() -> None:
    queue = factories.queue(quorum=1)
    item = factories.review_item(queue=queue)
    (late, _), (quick, _) = signed_in("late"), signed_in("quick")
    claim = take(late, queue)
    Assignment.objects.filter(pk=claim.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    send(quick, take(quick, queue), label="0")

    response = send(late, claim, HTMX, note="a long thought")

    claim.refresh_from_db()
    page = response.content.decode()
    assert response.status_code == 200
    assert "This item is decided. Your annotation was not stored" in page
    assert "a long thought" in page
    assert claim.draft == {"label": "1", "note": "a long thought"}
    assert item.annotations.count() == 1


def test_item_annotate_keeps_the_text_when_the_item_has_been_taken_back() -> None:
    item = factories.review_item()
    client, _ = signed_in("ada")
    claim = take(client, item.queue)
    item.delete()

    fragment = send(client, claim, HTMX, note="because <b>")
    page = send(client, claim, note="because <b>")

    sentence = "This item was withdrawn, so your annotation was not stored. Copy the text you want to keep."
    toast = json.loads(fragment["HX-Trigger"])["toast"]
    assert (fragment.status_code, fragment.content, toast["text"], toast["level"]) == (204, b"", sentence, "warning")
    assert page.status_code == 410
    assert sentence in page.content.decode()
    assert "because &lt;b&gt;</textarea>" in page.content.decode()


def test_item_annotate_refuses_a_label_off_the_scale() -> None:
    item = factories.review_item()
    client, ada = signed_in("ada")
    claim = take(client, item.queue)

    page = send(client, claim, HTMX, label="9", note="because").content.decode()

    claim.refresh_from_db()
    assert "“9” is not on this item&#x27;s scale: 1, 0, -1." in page
    assert claim.draft == {"label": "9", "note": "because"}
    assert not Annotation.objects.filter(annotator=ada).exists()


def test_item_annotate_without_a_choice_keeps_the_note() -> None:
    item = factories.review_item()
    client, _ = signed_in("ada")
    claim = take(client, item.queue)

    page = send(client, claim, label="", note="half a thought").content.decode()

    assert "Choose a label first." in page
    assert "half a thought" in page
    assert item.annotations.count() == 0


def test_item_draft_survives_a_reload() -> None:
    item = factories.review_item()
    client, _ = signed_in("ada")
    claim = take(client, item.queue)

    saved = client.post(reverse("review:item-draft", args=[item.pk]), {"label": "0", "note": "so far"})
    page = client.get(reverse("review:item-detail", args=[item.pk])).content.decode()

    assert saved.status_code == 204
    assert "so far" in page
    assert str(claim.token) in page


def test_item_heartbeat_stops_once_the_claim_is_lost() -> None:
    queue = factories.queue(quorum=1)
    factories.review_item(queue=queue)
    (late, _), (quick, _) = signed_in("late"), signed_in("quick")
    claim = take(late, queue)
    url, token = reverse("review:item-heartbeat", args=[claim.item_id]), {"token": str(claim.token)}

    alive = late.post(url, token)
    Assignment.objects.filter(pk=claim.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    take(quick, queue)
    lost = late.post(url, token)

    assert (alive.status_code, lost.status_code) == (204, 286)
    assert "another person has it, or you opened it again" in lost["HX-Trigger"]


def test_item_skip_goes_on_and_undo_comes_back() -> None:
    item = factories.review_item()
    client, _ = signed_in("ada")
    claim = take(client, item.queue)

    skipped = client.post(
        reverse("review:item-skip", args=[item.pk]), {"token": str(claim.token), "reason": "not my field"}, headers=HTMX
    )
    back = client.post(reverse("review:item-undo", args=[item.pk]), headers=HTMX)

    assert "annotated or skipped" in skipped.content.decode()
    assert f'action="{reverse("review:item-annotate", args=[item.pk])}"' in back.content.decode()


def test_item_skip_offers_reasons_for_what_is_shown() -> None:
    pair, single = factories.queue(), factories.queue()
    factories.review_item(queue=pair)
    verdict = factories.verdict(status="unparsed", value=None)
    factories.review_item(queue=single, verdict=verdict)
    client, _ = signed_in("ada")

    pages = [
        client.get(reverse("review:item-detail", args=[take(client, queue).item_id])).content.decode()
        for queue in (pair, single)
    ]

    assert ["The responses cannot be compared" in page for page in pages] == [True, False]
    assert ["The response is cut off or illegible" in page for page in pages] == [False, True]


def test_item_undo_brings_the_answer_back_as_a_draft() -> None:
    item = factories.review_item()
    client, _ = signed_in("ada")
    claim = take(client, item.queue)
    send(client, claim, label="-1", note="my reasons")

    page = client.post(reverse("review:item-undo", args=[item.pk]), headers=HTMX).content.decode()

    item.refresh_from_db()
    claim.refresh_from_db()
    assert (item.answer_count, item.annotations.count()) == (0, 0)
    assert claim.draft == {"label": "-1", "note": "my reasons"}
    assert "my reasons" in page


def test_item_flag_keeps_the_person_on_the_item() -> None:
    item = factories.review_item()
    client, _ = signed_in("ada")
    claim = take(client, item.queue)

    response = client.post(reverse("review:item-flag", args=[item.pk]), {"text": "no question"}, headers=HTMX)

    claim.refresh_from_db()
    assert claim.flag == "no question"
    assert response["HX-Push-Url"] == reverse("review:item-detail", args=[item.pk])


def test_items_of_others_are_not_to_be_touched() -> None:
    item = factories.review_item()
    signed_in("ada")
    client, _ = signed_in("bob")

    for name in ("annotate", "skip", "flag", "undo", "reveal", "revise"):
        assert client.post(reverse(f"review:item-{name}", args=[item.pk]), {"token": "x"}).status_code == 404
    assert client.get(reverse("review:item-detail", args=[item.pk]))["Location"] == reverse("review:queue-list")
    assert client.get(reverse("review:item-adjudicate", args=[item.pk])).status_code == 403


def test_item_revise_stores_both_answers_and_undo_is_refused_after_the_reveal() -> None:
    item = factories.review_item()
    client, ada = signed_in("ada")
    claim = take(client, item.queue)
    send(client, claim, label="1")
    client.post(reverse("review:item-reveal", args=[item.pk]))

    refused = client.post(reverse("review:item-undo", args=[item.pk]), headers=HTMX)
    client.post(reverse("review:item-revise", args=[item.pk]), {"label": "0", "reason": "the debate convinced me"})
    twice = client.post(reverse("review:item-revise", args=[item.pk]), {"label": "1", "reason": "again"}, headers=HTMX)

    stored = Annotation.objects.get(item=item, annotator=ada)
    assert "so your blind annotation is final" in refused["HX-Trigger"]
    assert "already revised" in twice.content.decode()
    assert (stored.label, stored.revised_label, stored.revision_note) == (
        "-1" if claim.swapped else "1",
        "0",
        "the debate convinced me",
    )


@pytest.mark.parametrize("count", [1, 3])
def test_item_detail_has_a_fixed_number_of_queries(count: int, django_assert_num_queries: Any) -> None:
    queue = factories.queue()
    for _ in range(count):
        factories.statement(debate=factories.review_item(queue=queue).referrals.get().debate)
    client, _ = signed_in("ada")
    claim = take(client, queue)
    url = reverse("review:item-detail", args=[claim.item_id])

    with django_assert_num_queries(9):
        assert client.get(url).status_code == 200


@pytest.mark.parametrize("count", [2, 4])
def test_item_annotate_has_a_fixed_number_of_queries(count: int, django_assert_num_queries: Any) -> None:
    queue = factories.queue()
    for _ in range(count):
        factories.review_item(queue=queue)
    client, _ = signed_in("ada")
    claim = take(client, queue)

    with django_assert_num_queries(21):
        assert send(client, claim, HTMX).status_code == 200


def test_hostile_text_is_shown_as_text() -> None:
    debate = factories.debate()
    debate.response_a.text = "<script>alert(1)</script> <b hx-get='/x'>bold</b> ![i](http://evil.example/x.png)"
    debate.response_a.save()
    item = factories.review_item(debate=debate)
    client, _ = signed_in("ada")
    take(client, item.queue)

    page = client.get(reverse("review:item-detail", args=[item.pk])).content.decode()

    assert "<script>alert" not in page
    assert "<b hx-get" not in page
    assert "evil.example" not in page


def test_who_settled_an_item_takes_the_answer_back_for_a_while() -> None:
    queue = factories.queue(quorum=1)
    item = factories.review_item(queue=queue)
    client, _ = signed_in("ada")
    saved = send(client, take(client, queue), headers=HTMX)

    client.post(reverse("review:item-undo", args=[item.pk]), headers=HTMX)

    item.refresh_from_db()
    queue.refresh_from_db()
    claim = Assignment.objects.get()
    assert reverse("review:item-undo", args=[item.pk]) in saved["HX-Trigger"]
    assert (item.status, item.answer_count, item.label, queue.open_count) == (ItemStatus.OPEN, 0, "", 1)
    assert (claim.status, claim.item_open, claim.draft) == ("leased", True, {"label": "1", "note": ""})


def test_settled_items_refuse_undo_with_a_sentence() -> None:
    queue = factories.queue(quorum=1)
    item = factories.review_item(queue=queue)
    client, _ = signed_in("ada")
    send(client, take(client, queue))
    Annotation.objects.update(created_at=timezone.now() - UNDO_GRACE - timedelta(seconds=1))

    response = client.post(reverse("review:item-undo", args=[item.pk]), headers=HTMX)

    item.refresh_from_db()
    assert item.status == ItemStatus.DECIDED
    assert "This item is decided" in response["HX-Trigger"]


def test_item_annotate_brings_the_number_in_the_rail_up_to_date() -> None:
    queue = factories.queue()
    for _ in range(3):
        factories.review_item(queue=queue)
    client, _ = signed_in("ada")
    claim = take(client, queue)

    page = send(client, claim, HTMX).content.decode()

    badge = page[page.index('<span class="rail-badge" id="rail-badge" hx-swap-oob="true">') :]
    assert badge.startswith('<span class="rail-badge" id="rail-badge" hx-swap-oob="true">2<')


def test_item_annotate_says_where_else_work_waits() -> None:
    queue, fuller, other = factories.queue(), factories.queue(name="Fuller"), factories.queue(name="Other")
    for where in (queue, fuller, fuller, other):
        factories.review_item(queue=where)
    client, _ = signed_in("ada")

    page = send(client, take(client, queue), HTMX)

    assert [(row.name, row.left) for row in page.context["elsewhere"]] == [("Fuller", 2), ("Other", 1)]
    assert f'action="{reverse("review:item-next", args=[fuller.slug])}"' in page.content.decode()


def test_item_detail_shows_the_text_as_written() -> None:
    queue = factories.queue()
    item = factories.review_item(queue=queue)
    assert item.response_a is not None
    item.response_a.text = "**bold** <br> [unused]: x"
    item.response_a.save()
    client, _ = signed_in("ada")
    take(client, queue)

    page = client.get(reverse("review:item-detail", args=[item.pk]), {"written": "1"}).content.decode()

    assert "**bold** &lt;br&gt; [unused]: x" in page
    assert "<strong>bold</strong>" not in page


def test_undo_takes_back_a_skip_where_that_was_the_last_act() -> None:
    queue = factories.queue()
    for _ in range(3):
        factories.review_item(queue=queue)
    client, ada = signed_in("ada")
    answered = take(client, queue)
    send(client, answered)
    skipped = Assignment.objects.get(annotator=ada, status="leased")
    values = {"token": str(skipped.token), "reason": "not my field"}

    page = client.post(reverse("review:item-skip", args=[skipped.item_id]), values, headers=HTMX).content.decode()
    client.post(reverse("review:item-undo", args=[skipped.item_id]), headers=HTMX)

    assert f'action="{reverse("review:item-undo", args=[skipped.item_id])}"' in page
    assert reverse("review:item-undo", args=[answered.item_id]) not in page
    assert dict(Assignment.objects.values_list("item", "status"))[skipped.item_id] == "leased"
    assert Annotation.objects.get().item_id == answered.item_id


def test_debate_page_and_item_page_agree_that_losing_and_finding_a_verdict_is_no_change_of_mind() -> None:
    """Agent 1 goes from A to no verdict to B; agent 2 from A to B, which is a change of mind."""
    debate = rows.debate(votes=((1, 1), (None, -1), (-1, -1)))
    queue = factories.queue(mode=QueueMode.DEBATE, debate_set=debate.debate_set)
    item = factories.review_item(queue=queue, debate=debate)
    annotator, _ = signed_in("ada")
    claim = take(annotator, queue)
    Assignment.objects.filter(pk=claim.pk).update(swapped=False)
    researcher, _ = signed_in("rea", Role.RESEARCHER)

    pages = [researcher.get(debate.get_absolute_url()), annotator.get(reverse("review:item-detail", args=[item.pk]))]

    strips = [re.findall(r'class="stance-link[^>]*title="([^"]*)"', page.content.decode()) for page in pages]
    changes = [re.findall(r'id="(statement-\d-\d)"[^>]*data-change', page.content.decode()) for page in pages]
    one, two = ["A is better", "no verdict", "B is better"], ["A is better", "B is better, before: A", "B is better"]
    assert strips == [one + two] * 2
    assert changes == [["statement-1-2"]] * 2


def test_the_reason_about_a_rubric_is_offered_where_there_is_one() -> None:
    debates = factories.debate_set(rubric=rows.criteria())
    with_rubric = factories.review_item(debate=factories.debate(debate_set=debates))
    without = factories.review_item()
    client, _ = signed_in("ada")

    panels = [client.get(take(client, item.queue).item.get_absolute_url()) for item in (with_rubric, without)]

    offered = ["The rubric does not fit this question" in panel.text for panel in panels]
    assert (offered, [bool(panel.context["content"].rubric) for panel in panels]) == ([True, False], [True, False])


@pytest.mark.parametrize(("count", "shown"), [(20, "1 of 20"), (45, "1 of about 50")])
def test_the_total_is_about_where_items_may_come_back(count: int, shown: str) -> None:
    queue = factories.queue(retest_share=0.2)
    for _ in range(count):
        factories.review_item(queue=queue)
    client, _ = signed_in("ada")

    page = client.get(take(client, queue).item.get_absolute_url())

    # of 45 items 15 have 30 others after them, the mean gap: 3 are expected, half as many more are kept in reserve
    assert shown in " ".join(page.text.split())


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
    told = "1 item assigned to ada; they stay reserved for one day. 1 not: This person has already annotated this item."
    assert told in page
    assert nothing == {"items": ["Choose at least one item and at most 2,000."]}
    assert list(others) == ["items"]
