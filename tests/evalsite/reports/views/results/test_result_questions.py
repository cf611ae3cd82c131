"""The page that sends rows of results to people."""

from __future__ import annotations

import re

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.base.rows import BadInput
from evalsite.reports.services.leaderboards import compute_leaderboard
from evalsite.reports.views import results
from evalsite.review.models import Queue, Referral, ReviewItem
from evalsite.review.services.run_referrals import open_items_for_run
from judging.specs import people_choices
from tests import factories
from tests.evalsite.reports.conftest import Scored
from tests.evalsite.reports.services.test_audited_leaderboards import decide_all, drawn_of, judge_of

pytestmark = pytest.mark.django_db


def page(scored: Scored, query: str = "") -> str:
    return reverse("reports:results-send", args=[scored.suite.pk]) + query


def test_page_says_what_it_would_send_and_sends_it_once(scored: Scored, researcher: Client) -> None:
    address = page(scored, f"?show=low&system={scored.bob.pk}")

    before = researcher.get(address)
    assert not Queue.objects.exists()
    sent = researcher.post(address, follow=True)
    again = researcher.post(address, follow=True)

    (unsent,), (after,) = before.context["runs"], sent.context["runs"]
    queue = Queue.objects.get(run=scored.run)
    assert (
        unsent.run,
        unsent.queue,
        unsent.total,
        unsent.asked,
        unsent.labelled,
        unsent.new,
    ) == (scored.run, None, 3, 0, 0, 3)
    assert "Ask for 6 annotations of 3 responses" in before.text
    assert "every annotator" in before.text
    assert [str(message) for message in sent.context["messages"]] == [
        f"Sent 3 items (6 annotations) to the queue “{queue}”."
    ]
    assert (after.queue, after.total, after.asked, after.new) == (queue, 3, 3, 0)
    assert [str(message) for message in again.context["messages"]] == [
        "Nothing was sent: all of this is in review or has a label already."
    ]
    items = ReviewItem.objects.order_by("response_a__prompt__key")
    assert list(items.values_list("response_a__prompt__key", "response_a__system__name", "reason", "arm")) == [
        (key, "bob", "sent_by_hand", "routed") for key in ("case-1", "case-3", "case-4")
    ]
    assert set(Referral.objects.values_list("evaluator", "reason", "arm")) == {
        (scored.rules.pk, "sent_by_hand", "routed")
    }
    assert list(AuditEntry.objects.filter(action="queue.chosen_sent").values_list("detail__items", flat=True)) == [
        3,
        0,
    ]


def test_page_of_results_leads_to_sending_with_its_filters(scored: Scored, researcher: Client) -> None:
    answer = researcher.get(reverse("reports:results-detail", args=[scored.suite.pk]) + "?show=differ&row=1")

    assert f'href="{page(scored)}?show=differ"' in answer.text
    assert "Send these: up to 20 annotations" in answer.text  # 10 scores of the 4 cases that differ, 2 people each


def test_low_scores_send_the_low_responses_and_not_the_others_of_the_case(scored: Scored, researcher: Client) -> None:
    """Every response of a case with one low score was sent, also those with 90%."""
    answer = researcher.get(reverse("reports:results-detail", args=[scored.suite.pk]) + "?show=low")
    low = scored.rules.scores.filter(share__lt=0.5)

    (run,) = researcher.get(page(scored, "?show=low")).context["runs"]
    researcher.post(page(scored, "?show=low"))

    assert run.total == low.count() > 0
    assert f"Send these: up to {2 * low.count()} annotations" in answer.text
    sent = ReviewItem.objects.order_by("response_a").values_list("response_a", flat=True)
    assert list(sent) == list(low.order_by("response").values_list("response", flat=True))


def test_more_than_a_day_of_work_is_sent_once_somebody_agrees(
    scored: Scored, researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people_choices, "DAY_SECONDS", 5 * 60)  # 3 responses, two people each, a minute each
    address = page(scored, f"?show=low&system={scored.bob.pk}")

    refused = researcher.post(address, follow=True)
    with pytest.raises(BadInput, match=r"at most 6 annotations .* \(commands and the API: agreed\)"):
        call_command("run", "send-results", "--suite", "sums", "--query", address.partition("?")[2], "--by", "rita")

    assert not ReviewItem.objects.exists()
    assert "This asks people for at most 6 annotations (6 min 00 s" in refused.text
    assert re.search(r'name="agreed"\s+value="6"', refused.text)
    researcher.post(address, {"agreed": "6"})
    assert ReviewItem.objects.count() == 3


def test_judges_side_by_side_ask_about_a_response_once(scored: Scored, researcher: Client) -> None:
    judge = factories.evaluator(run=scored.run, position=2, kind="judge", name="Strict", total=2, done=2)
    response = scored.rules.scores.filter(response__system=scored.bob).earliest("pk").response
    factories.verdict(evaluator=judge, response=response, share=1.0)

    (run,) = researcher.get(page(scored, "?columns=judges&show=differ")).context["runs"]

    assert run.total == 1


def test_too_many_rows_are_not_sent(scored: Scored, researcher: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MOST_CHOSEN", 2)

    answer = researcher.get(page(scored))

    assert "Too many responses" in answer.text
    assert answer.context["runs"] == []


def test_annotators_send_nothing(scored: Scored, client: Client) -> None:
    client.force_login(factories.user("ann", Role.ANNOTATOR))

    assert client.post(page(scored)).status_code == 403


@pytest.mark.parametrize("is_routed", [True, False])
def test_labels_of_rows_chosen_by_score_leave_corrected_figures_as_they_are(
    is_routed: bool, researcher: Client, settings: object
) -> None:
    # People call every chosen row, all of which the judge fails, wrong: in a random sample they would lower the mean.
    settings.REVIEW_AUDIT_SHARE, settings.REVIEW_AUDIT_MINIMUM = 0.5, 0  # type: ignore[attr-defined]
    judge = judge_of(factories.suite(cases=40), factories.system())

    def route_and_decide() -> dict[str, object]:
        open_items_for_run(run=judge.run, at=factories.NOON)
        decide_all(judge)
        return figures()

    def figures() -> dict[str, object]:
        (row,) = compute_leaderboard(judge.pk, {})["rows"]
        return {name: row["figures"][name] for name in ("corrected", "human")}

    before = route_and_decide() if is_routed else figures()
    researcher.post(reverse("reports:results-send", args=[judge.run.suite_id]) + f"?show=low&grader={judge.pk}")
    decide_all(judge)

    assert Referral.objects.filter(arm="routed", reason="sent_by_hand").count() == 30
    assert figures() == before
    if not is_routed:
        assert not Referral.objects.filter(arm="audit").exists()
        after = route_and_decide()
        assert after["corrected"]["value"] == pytest.approx(0.125)  # type: ignore[index]  # half of 10 / 40
        assert len(drawn_of(judge)[0]) == 20
