"""The buttons on pages of runs and verdicts that send to people."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from debate.models import DebateSet
from evalsite.accounts.roles import Role
from evalsite.base.rows import BadInput
from evalsite.review.actions import referrals
from evalsite.review.actions.referrals import MOST_AT_ONCE
from evalsite.review.models import Queue, ReviewItem
from evalsite.review.selectors.audits import subject_of_debates
from evalsite.review.selectors.verdict_reviews import reviews_of_verdicts
from evalsite.review.services.run_referrals import open_items_for_debates, plan_audit
from judging.models import Run, RunTask, Verdict
from judging.specs import people_choices
from tests import factories
from tests.evalsite.review.services.test_run_referrals import judged_run
from tests.factories import NOON

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_audit")]
BAD: dict[str, Any] = {"status": "unparsed", "value": None, "shares": (None,)}
HTMX = {"HX-Request": "true"}


@pytest.fixture
def ada(client: Client) -> User:
    person = factories.user("ada", Role.RESEARCHER)
    client.force_login(person)
    return person


@pytest.mark.usefixtures("ada")
def test_verdict_page_sends_to_people_and_takes_back_without_javascript(client: Client) -> None:
    judged_run({"status": "ok"})
    verdict = Verdict.objects.get()
    send, pressed = reverse("review:run-send", args=[verdict.run_id]), {"verdict": verdict.pk}

    before = client.get(verdict.get_absolute_url())
    sent = client.post(send, pressed, follow=True)
    again = client.post(send, pressed, follow=True)
    item = ReviewItem.objects.get()
    back = client.post(reverse("review:item-take-back", args=[item.pk]), {"verdict": verdict.pk}, follow=True)

    queue = Queue.objects.get()
    assert "Send to a person" in before.text
    assert [str(one) for one in sent.context["messages"]] == [f"Sent 1 item (2 annotations) to the queue “{queue}”."]
    assert f'href="{item.get_absolute_url()}"' in sent.text
    assert "Withdraw" in sent.text
    assert [str(one) for one in again.context["messages"]] == [
        "Nothing was sent: all of this is in review or has a label already."
    ]
    assert [str(one) for one in back.context["messages"]] == [f"Withdrawn from the queue “{queue}”."]
    assert "Send to a person" in back.text


@pytest.mark.usefixtures("ada")
def test_verdict_send_answers_the_row_or_the_card_that_was_pressed(client: Client) -> None:
    judged_run(BAD)
    verdict = Verdict.objects.get()
    send, pressed = reverse("review:run-send", args=[verdict.run_id]), {"verdict": verdict.pk}

    row = client.post(send, pressed, headers=HTMX | {"HX-Target": f"verdict-row-people-{verdict.pk}"})
    card = client.post(send, pressed, headers=HTMX | {"HX-Target": "verdict-people"})

    assert f'id="verdict-row-people-{verdict.pk}"' in row.text
    assert 'id="verdict-people"' in card.text
    assert "Sent 1 item" in row["HX-Trigger"].encode().decode("unicode_escape")


@pytest.mark.usefixtures("ada")
def test_run_page_sends_the_rest_and_takes_it_back(client: Client) -> None:
    run = judged_run(BAD, BAD)
    run.done = 2
    run.save()

    before = client.get(run.get_absolute_url())
    sent = client.post(reverse("review:run-send", args=[run.pk]), headers=HTMX)
    back = client.post(reverse("review:run-take-back", args=[run.pk]), follow=True)

    assert "No response of this run is in a review queue yet." in before.text
    assert "Withdraw 2 without annotations" in sent.text
    assert [str(one) for one in back.context["messages"]] == ["2 items withdrawn."]


@pytest.mark.usefixtures("ada")
def test_run_send_asks_for_more_than_a_day_of_work_only_where_somebody_agrees(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people_choices, "DAY_SECONDS", 3 * 60)  # two responses, two people each, a minute each
    run = judged_run(BAD, BAD)
    Run.objects.filter(pk=run.pk).update(done=2)
    url = reverse("review:run-send", args=[run.pk])

    fragment, page = client.post(url, headers=HTMX), client.post(url)
    with pytest.raises(BadInput, match=r"at most 4 annotations .* \(commands and the API: agreed\)"):
        call_command("run", "send", str(run.pk), "--by", "ada")

    assert (ReviewItem.objects.count(), Queue.objects.count()) == (0, 0)
    assert "This asks people for at most 4 annotations" in fragment["HX-Trigger"]
    for answer in (fragment, page):
        assert re.search(r'name="agreed"\s+value="4"\s+form="run-send"', answer.text)
    client.post(url, {"agreed": "4"})
    assert ReviewItem.objects.count() == 2


def _half_routed_set() -> DebateSet:
    """Return a set of four unresolved debates that was to send its audit alone, which is half of them."""
    options = {"asks_people": True, "asks_open": False, "audit_share": 0.5}
    owner = factories.debate_set(run=factories.run(kind="debate", status="finished", options=options))
    for _ in range(4):
        factories.debate(debate_set=owner)
    plan_audit(subject=subject_of_debates(owner), size=2, actor=None, at=NOON)
    open_items_for_debates(debate_set=owner, at=NOON)
    return owner


@pytest.mark.usefixtures("ada")
def test_the_page_of_debates_that_send_their_audit_alone_sends_the_others(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = _half_routed_set()
    url = reverse("review:debates-send", args=[owner.pk])

    before = client.get(owner.get_absolute_url())
    monkeypatch.setattr(people_choices, "DAY_SECONDS", 3 * 60)  # two debates, two people each, a minute each
    refused = client.post(url)
    with pytest.raises(BadInput, match=r"at most 4 annotations .* \(commands and the API: agreed\)"):
        call_command("debate_set", "send", str(owner.pk), "--by", "ada")
    unsent = ReviewItem.objects.count()
    sent = client.post(url, {"agreed": "4"}, follow=True)

    assert "2 debates without a verdict are not in review: this set sends its random audit alone." in before.text
    assert "Send these: up to 4 annotations" in before.text
    assert re.search(r'name="agreed"\s+value="4"\s+form="debates-send"', refused.text)
    assert unsent == 2
    assert [str(one) for one in sent.context["messages"]] == [
        f"Sent 2 items (4 annotations) to the queue “{owner.queue}”."
    ]
    assert f'action="{url}"' not in sent.text
    assert (
        sorted(owner.queue.items.values_list("arm", "sent_by__username"))
        == [("audit", None)] * 2 + [("routed", "ada")] * 2
    )


@pytest.mark.usefixtures("ada")
def test_debates_at_work_and_those_that_people_are_not_asked_about_are_not_sent(client: Client) -> None:
    at_work, single = factories.debate_set(), factories.debate_set(method="single")
    for owner in (at_work, single):
        factories.debate(debate_set=owner)
    factories.debate(debate_set=at_work, status="running")

    answers = {
        owner: client.post(reverse("review:debates-send", args=[owner.pk]), follow=True) for owner in (at_work, single)
    }

    assert {owner: [str(one) for one in answer.context["messages"]] for owner, answer in answers.items()} == {
        at_work: ["Debates of this set are not over yet. Send the rest when they are."],
        single: ["Baselines and debates under a perturbed criterion are not sent to review."],
    }
    assert not ReviewItem.objects.exists()


@pytest.mark.usefixtures("ada")
def test_run_people_asks_again_only_while_the_run_is_at_work(client: Client) -> None:
    run = judged_run(BAD)
    url = reverse("review:run-people", args=[run.pk])

    ended = client.get(url, headers=HTMX).text
    run.status = "running"
    run.save()
    live = client.get(url, headers=HTMX).text

    assert ("hx-trigger" in ended, "hx-trigger" in live) == (False, True)
    assert ("Send the rest" in live, "sent to review automatically" in live) == (False, True)


def test_run_send_leaves_a_large_run_to_a_worker(client: Client, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    run = judged_run(BAD)
    run.total = MOST_AT_ONCE + 1
    run.save()
    url = reverse("review:run-send", args=[run.pk])

    monkeypatch.setattr(
        referrals, "launch_rest", lambda **asked: asked != {"about": run, "actor": ada, "agreed": None}
    )  # no broker
    refused = client.post(url, headers=HTMX)
    monkeypatch.setattr(referrals, "launch_rest", lambda **asked: asked == {"about": run, "actor": ada, "agreed": None})
    told = client.post(url, headers=HTMX)

    assert "No worker is running" in refused["HX-Trigger"]
    assert "A worker is sending the rest to the queue" in told["HX-Trigger"]
    assert not ReviewItem.objects.exists()


@pytest.mark.usefixtures("ada")
def test_rows_offer_people_for_verdicts_that_settle_nothing(client: Client) -> None:
    run = judged_run(BAD, {"status": "ok", "confidence": 0.9}, {"status": "ok", "confidence": 0.3})
    tasks = {task.response_id: task for task in RunTask.objects.all()}
    for verdict in Verdict.objects.all():
        verdict.task = tasks[verdict.response_id]
        verdict.save()
    run.total = run.done = 3
    run.planned_at = run.created_at
    run.save()

    page = client.get(run.get_absolute_url()).text
    response = client.get(Verdict.objects.earliest("pk").response.get_absolute_url()).text

    assert page.count("Send to a person") == 2
    assert response.count("Send to a person") == 1


@pytest.mark.parametrize("count", [1, 3])
def test_people_of_verdicts_needs_one_query_for_any_number(
    count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    judged_run(*({"status": "refused", "value": None, "shares": (None,)} for _ in range(count)))
    verdicts = list(Verdict.objects.select_related("evaluator"))

    with django_assert_num_queries(1):
        found = reviews_of_verdicts(verdicts)

    assert len(found) == count
