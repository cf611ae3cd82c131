"""What a researcher sends to people by hand, once, and takes back while nobody has answered."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.review.models import Notice, NoticeKind, Queue, ReviewItem
from evalsite.review.selectors.audits import unrouted_runs
from evalsite.review.selectors.verdict_reviews import ChosenQuestion, review_of_run, review_of_verdict
from evalsite.review.services.annotation_store import GivenAnnotation, record_annotation
from evalsite.review.services.claims import claim_next, keep_draft
from evalsite.review.services.researcher_referrals import (
    MOST_CHOSEN,
    send_chosen,
    send_rest,
    send_verdict,
    take_item_back,
    take_rest_back,
)
from evalsite.review.services.run_referrals import open_items_for_run
from evalsite.review.states import ReviewRefused
from judging.models import RunKind, Verdict
from judging.models.runs import RunStatus
from tests import factories
from tests.evalsite.review.services.test_run_referrals import judged_run
from tests.factories import NOON

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_audit")]
LATER = NOON + timedelta(minutes=1)


def test_send_verdict_opens_one_item_and_says_where_it_is_already() -> None:
    ada, ben = factories.user("ada"), factories.user("ben")
    judged_run({"status": "ok", "confidence": 0.9}, {"status": "ok"}, judges=2)
    first, same_response = Verdict.objects.order_by("response_id", "pk")[:2]

    sent = [
        send_verdict(verdict=verdict, actor=actor, at=NOON)
        for verdict, actor in ((first, ada), (first, ben), (same_response, ben))
    ]

    queue, item = Queue.objects.get(), ReviewItem.objects.get()
    assert [one.count for one in sent] == [1, 0, 0]
    assert (item.response_a, item.reason, item.reason_text, item.arm, item.sent_by) == (
        first.response,
        "sent_by_hand",
        "Sent by a researcher.",
        "routed",
        ada,
    )
    assert (queue.open_count, queue.total_count, queue.routed_at) == (1, 1, None)
    assert sent[0].words == f"Sent 1 item (2 annotations) to the queue “{queue}”."
    assert list(AuditEntry.objects.values_list("action", "actor")) == [("item.sent", ada.pk)]
    assert [review_of_verdict(verdict).can_take_back for verdict in (first, same_response)] == [True, True]


def test_send_verdict_leaves_the_rest_of_a_run_to_its_routing() -> None:
    run = judged_run({"status": "ok", "confidence": 0.9}, {"status": "unparsed", "value": None, "shares": (None,)})
    send_verdict(verdict=Verdict.objects.earliest("pk"), actor=factories.user(), at=LATER)

    assert list(unrouted_runs()) == [run]
    assert open_items_for_run(run=run, at=LATER) == 1
    assert sorted(ReviewItem.objects.values_list("reason", flat=True)) == ["sent_by_hand", "unparsed_verdict"]


def test_the_end_of_a_queue_is_told_once_and_only_when_its_run_has_been_routed() -> None:
    run = judged_run({"status": "ok", "confidence": 0.9})
    factories.user("ada", Role.RESEARCHER)
    send_verdict(verdict=Verdict.objects.get(), actor=factories.user(), at=NOON)
    for name in ("ben", "cleo"):
        person = factories.user(name, Role.ANNOTATOR)
        claim = claim_next(queue=Queue.objects.get(), annotator=person, at=NOON)
        assert claim is not None
        given = GivenAnnotation(label=Queue.objects.get().labels[0]["value"])
        record_annotation(item_id=claim.item_id, annotator=person, token=str(claim.token), answer=given, at=NOON)
    told = [Notice.objects.filter(kind=NoticeKind.DONE).count()]

    for _ in range(2):
        open_items_for_run(run=run, at=LATER)
        told.append(Notice.objects.filter(kind=NoticeKind.DONE).count())

    assert ReviewItem.objects.get().is_open is False
    assert told == [0, 1, 1]


def test_send_verdict_refuses_a_replaced_response() -> None:
    judged_run({"status": "ok"})
    verdict = Verdict.objects.get()
    verdict.response.superseded_at = NOON
    verdict.response.save()

    with pytest.raises(ReviewRefused, match="response has been replaced"):
        send_verdict(verdict=verdict, actor=factories.user(), at=NOON)


def chosen(*verdicts: Verdict) -> list[ChosenQuestion]:
    return [ChosenQuestion(verdict.evaluator, verdict.response_id) for verdict in verdicts]


def test_send_chosen_sends_what_was_chosen_of_each_run_and_can_be_taken_back() -> None:
    ada = factories.user("ada")
    runs = [judged_run({"status": "ok"}, {"status": "ok"}) for _ in range(2)]
    first, other, later = Verdict.objects.order_by("pk")[:3]

    sent = [send_chosen(questions=chosen(first, later), actor=ada, at=NOON) for _ in range(2)]

    assert [[(one.queue.run, one.count) for one in found] for found in sent] == [
        [(run, 1) for run in runs],
        [(run, 0) for run in runs],
    ]
    assert {item.response_a_id for item in ReviewItem.objects.all()} == {first.response_id, later.response_id}
    assert review_of_verdict(other).item is None
    assert [take_rest_back(run=run, actor=ada, at=LATER) for run in runs] == [1, 1]


def test_send_chosen_sends_nothing_where_it_refuses() -> None:
    judged_run({"status": "ok"})
    index = judged_run({"status": "ok"})
    index.kind, index.status = RunKind.ESI, RunStatus.RUNNING
    index.save()
    found = chosen(*Verdict.objects.all())

    with pytest.raises(ReviewRefused, match="sent to review automatically"):
        send_chosen(questions=found, actor=factories.user(), at=NOON)
    with pytest.raises(ReviewRefused, match="At most 500 responses"):
        send_chosen(questions=found[:1] * (MOST_CHOSEN + 1), actor=factories.user(), at=NOON)
    assert not ReviewItem.objects.exists()


@pytest.mark.parametrize("kind", ["anchor", "golden"])
def test_send_rest_asks_nobody_about_responses_that_are_labelled(kind: str) -> None:
    run = factories.run(status="finished", finished_at=LATER, kind=kind, done=1, total=1)

    with pytest.raises(ReviewRefused, match="The responses of this run are labelled"):
        send_rest(about=run, actor=factories.user("ada", Role.RESEARCHER), at=LATER)


def test_send_rest_sends_everything_unsettled_that_is_in_no_queue() -> None:
    ada = factories.user("ada")
    run = judged_run(
        {"status": "ok", "confidence": 0.9},
        {"status": "failed", "value": None, "shares": (None,)},
        {"status": "unparsed", "value": None, "shares": (None,)},
        {"status": "refused", "value": None, "shares": (None,)},
        {"status": "ok", "confidence": 0.2},
    )
    run.status = RunStatus.CANCELLED
    run.save()
    send_verdict(verdict=Verdict.objects.get(status="failed"), actor=ada, at=NOON)

    sent = [send_rest(about=run, actor=ada, at=LATER) for _ in range(2)]

    assert [one.count for one in sent] == [3, 0]  # unparsed, refused and unsure; the failed one is there
    assert sent[1].words == "Nothing was sent: all of this is in review or has a label already."
    assert review_of_run(run).unanswered == 4
    assert AuditEntry.objects.filter(action="queue.rest_sent").count() == 2


def test_send_rest_says_where_the_queue_is_paused() -> None:
    run = judged_run({"status": "refused", "value": None, "shares": (None,)})
    send_verdict(verdict=Verdict.objects.get(), actor=factories.user(), at=NOON)
    Queue.objects.update(status="paused")

    words = send_rest(about=run, actor=factories.user(), at=NOON).words

    assert words.endswith("The queue is paused: its items are not handed out until you resume it.")


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (RunKind.GRADING, RunStatus.QUEUED),
        (RunKind.GRADING, RunStatus.RUNNING),
        (RunKind.ESI, RunStatus.PAUSED),
    ],
)
def test_send_rest_waits_for_the_end_of_a_run_at_work(kind: RunKind, status: RunStatus) -> None:
    run = judged_run({"status": "refused", "value": None, "shares": (None,)})
    run.kind, run.status = kind, status

    with pytest.raises(ReviewRefused, match="sent to review automatically"):
        send_rest(about=run, actor=factories.user(), at=NOON)


def test_take_item_back_undoes_what_nobody_has_touched() -> None:
    ada = factories.user("ada")
    judged_run({"status": "ok"})
    verdict = Verdict.objects.get()
    send_verdict(verdict=verdict, actor=ada, at=NOON)
    item_id = ReviewItem.objects.get().pk

    queue = take_item_back(item_id=item_id, actor=ada, at=NOON)

    assert (queue.open_count, queue.total_count, ReviewItem.objects.count()) == (0, 0, 0)
    assert AuditEntry.objects.get(action="item.taken_back").subject_id == item_id
    assert send_verdict(verdict=verdict, actor=ada, at=LATER).count == 1


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"answer_count": 1}, "has been annotated"),
        ({"status": "settled"}, "has been annotated"),
        ({"sent_by": None}, "was not sent by hand"),
        ({"arm": "audit"}, "random audit"),
    ],
)
def test_take_item_back_refuses(fields: dict[str, object], says: str) -> None:
    judged_run({"status": "ok"})
    send_verdict(verdict=Verdict.objects.get(), actor=factories.user(), at=NOON)
    ReviewItem.objects.update(**fields)

    with pytest.raises(ReviewRefused, match=says):
        take_item_back(item_id=ReviewItem.objects.get().pk, actor=factories.user(), at=NOON)


def test_take_rest_back_keeps_what_somebody_is_at_work_on() -> None:
    ada, ann = factories.user("ada"), factories.user("ann")
    run = judged_run(*({"status": "refused", "value": None, "shares": (None,)} for _ in range(3)))
    send_rest(about=run, actor=ada, at=NOON)
    claim = claim_next(queue=Queue.objects.get(), annotator=ann, at=NOON)

    with pytest.raises(ReviewRefused, match="working on this item"):
        take_item_back(item_id=claim.item_id, actor=ada, at=NOON)
    taken = take_rest_back(run=run, actor=ada, at=NOON)

    assert (taken, ReviewItem.objects.get(), Queue.objects.get().open_count) == (2, claim.item, 1)
    assert take_rest_back(run=run, actor=ada, at=NOON + timedelta(hours=1)) == 1  # the claim has lapsed


def test_take_back_keeps_items_for_which_somebody_left_a_draft() -> None:
    rita, ada = factories.user("rita"), factories.user("ada")
    run = judged_run({"status": "unparsed", "value": None, "shares": (None,)})
    queue = send_rest(about=run, actor=rita, at=NOON).queue
    claim = claim_next(queue=queue, annotator=ada, at=NOON)
    keep_draft(item_id=claim.item_id, annotator=ada, values={"note": "half a thought"}, at=NOON)
    lapsed = NOON + timedelta(hours=1)

    with pytest.raises(ReviewRefused, match="Another person has begun"):
        take_item_back(item_id=claim.item_id, actor=rita, at=lapsed)
    taken = take_rest_back(run=run, actor=rita, at=lapsed)

    claim.refresh_from_db()
    assert (taken, claim.draft, review_of_run(run).unanswered) == (0, {"note": "half a thought"}, 0)
