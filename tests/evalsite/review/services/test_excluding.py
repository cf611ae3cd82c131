"""Dead ends: items that nobody is left to answer are told, decided or excluded."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.reports.services.people import compute_agreement
from evalsite.review.models import Annotation, Assignment, Notice
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.pages import ItemFilters, full_agreement_of, items_of, my_queues
from evalsite.review.selectors.waiting_items import queues_to_answer, read_waiting, stuck_items, workload_of
from evalsite.review.services.claims import claim_next, flag_item, note_look, record_heartbeat, skip_item
from evalsite.review.services.decisions import FinalWord, adjudicate_item, exclude_item, reopen_item
from evalsite.review.services.queues import update_queue
from evalsite.review.states import ItemStatus, QueueMode, ReviewRefused
from evalsite.views import annotator_home
from tests import factories
from tests.evalsite.review.views.clients import send, signed_in, take
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def test_skip_item_tells_owners_where_nobody_is_left() -> None:
    rita, ada = factories.user("rita", Role.RESEARCHER), factories.user("ada", Role.ANNOTATOR)
    queue = factories.queue(quorum=1)
    queue.members.set([ada])
    item = factories.review_item(queue=queue)
    other = factories.review_item(queue=queue)
    claim = claim_next(queue=queue, annotator=ada, at=NOON)

    skip_item(item_id=claim.item_id, annotator=ada, token=str(claim.token), reason="cannot be read", at=NOON)

    assert claim.item_id == item.pk
    assert list(Notice.objects.values_list("person", "kind")) == [(rita.pk, "stuck")]
    assert list(stuck_items(queue)) == [item]
    assert list(items_of(queue=queue, filters=ItemFilters.read({"stuck": "1"}), at=NOON)) == [item]
    decided = adjudicate_item(item_id=item.pk, adjudicator=rita, word=FinalWord("1", "A is plainly right"), at=NOON)
    queue.refresh_from_db()
    assert (decided.status, queue.open_count, other.is_open) == (ItemStatus.ADJUDICATED, 1, True)


def test_who_has_left_takes_nobody_elses_place_among_those_who_are_left_for_an_item() -> None:
    queue, eve = factories.queue(quorum=2), factories.user("eve")
    queue.members.set([factories.user("ada", Role.ANNOTATOR), eve])
    answered, untouched = factories.review_item(queue=queue, answer_count=1), factories.review_item(queue=queue)
    factories.annotation(item=answered, label="1", annotator=eve)

    # Ada gives the label that the first lacks; the second lacks two
    assert list(stuck_items(queue)) == [untouched]


def test_nobody_is_left_for_an_item_that_the_only_member_saw_as_an_owner() -> None:
    rita, queue = factories.user("rita", Role.RESEARCHER), factories.queue(quorum=1)
    queue.members.set([rita])
    seen, answered, _ = (factories.review_item(queue=queue) for _ in range(3))
    factories.annotation(item=answered, label="1", annotator=rita)

    note_look(item=seen, person=rita, at=NOON)
    note_look(item=answered, person=rita, at=NOON)  # which they are done with
    waiting, [mine] = read_waiting(rita)[0], queues_to_answer(user=rita)

    assert list(stuck_items(queue)) == [seen]
    assert (waiting, mine.open_count - mine.my_touched) == (1, 1)  # of three


def test_exclude_item_leaves_the_queue_and_the_reports_until_it_is_brought_back() -> None:
    rita, queue = factories.user("rita", Role.RESEARCHER), factories.queue()
    item = factories.review_item(queue=queue)
    factories.review_item(queue=queue)
    factories.annotation(item=item, label="1")

    exclude_item(item_id=item.pk, actor=rita, reason="the answer is empty", at=NOON)
    queue.refresh_from_db()
    excluded = (queue.open_count, queue.total_count, compute_agreement(queue.pk, {}).content.summary.answers)
    with pytest.raises(ReviewRefused, match="cannot become excluded"):
        exclude_item(item_id=item.pk, actor=rita, reason="again", at=NOON)
    back = reopen_item(item_id=item.pk, actor=rita, reason="it is not", at=NOON)
    queue.refresh_from_db()

    assert excluded == (1, 1, 0)
    assert (back.status, back.excluded_because) == (ItemStatus.OPEN, "")
    assert (queue.open_count, queue.total_count, compute_agreement(queue.pk, {}).content.summary.answers) == (
        2,
        2,
        1,
    )


def test_an_excluded_item_is_none_of_those_on_which_all_agree() -> None:
    items = [factories.review_item(queue=factories.queue()) for _ in range(2)]
    queue = items[0].queue
    for item in items:
        factories.annotation(item=item, label="1", queue=queue)
        factories.annotation(item=item, label="1", queue=queue)
    before = full_agreement_of(queue.pk)

    exclude_item(item_id=items[0].pk, actor=None, reason="cut off", at=NOON)

    assert [(count.items, count.agreed) for count in (before, full_agreement_of(queue.pk))] == [(2, 2), (1, 1)]


def test_habits_count_nothing_of_an_excluded_item_and_times_leave_idle_time_out() -> None:
    item, ada, ben = factories.review_item(), factories.user("ada"), factories.user("ben")
    queue = item.queue
    again = factories.review_item(queue=queue, arm="retest", retest_of=item, only_for=ada, quorum=1)
    for one in (item, again):
        factories.annotation(item=one, label="1", annotator=ada, seconds=600.0, active_seconds=20.0, slot=0)
    claim = claim_next(queue=queue, annotator=ben, at=NOON)
    skip_item(item_id=item.pk, annotator=ben, token=str(claim.token), reason="cut off", at=NOON)
    before = compute_agreement(queue.pk, {}).content

    exclude_item(item_id=item.pk, actor=None, reason="cut off", at=NOON)

    after = compute_agreement(queue.pk, {}).content
    assert [[row.name for row in report.retests] for report in (before, after)] == [["ada"], []]
    assert [sum(row.skips for row in report.paces) for report in (before, after)] == [1, 0]
    times = (workload_of(queue=queue), my_queues(user=ada, at=NOON)[0], annotator_home(user=ada, at=NOON))
    assert [row.median_seconds for row in times] == [20.0] * 3


def test_exclude_item_refuses_what_the_audit_drew() -> None:
    item = factories.review_item(arm=ItemArm.AUDIT)

    with pytest.raises(ReviewRefused, match="belongs to the random audit"):
        exclude_item(item_id=item.pk, actor=factories.user(), reason="odd", at=NOON)


def test_flags_and_reasons_reach_the_owner() -> None:
    client, rita = signed_in("rita", Role.RESEARCHER)
    ada, ben = factories.user("ada", Role.ANNOTATOR), factories.user("ben", Role.ANNOTATOR)
    item = factories.review_item()
    claim_next(queue=item.queue, annotator=ada, at=NOON)
    flag_item(item_id=item.pk, annotator=ada, text="Answer B is cut off", at=NOON)
    claim = claim_next(queue=item.queue, annotator=ben, at=NOON)
    skip_item(item_id=item.pk, annotator=ben, token=str(claim.token), reason="Not my field", at=NOON)

    pages = [
        client.get(reverse(name, args=arguments)).content.decode()
        for name, arguments in (
            ("review:item-detail", [item.pk]),
            ("review:queue-detail", [item.queue.slug]),
            ("review:item-adjudicate", [item.pk]),
        )
    ]

    assert [("Answer B is cut off" in page, "Not my field" in page) for page in pages[:2]] == [(True, True)] * 2
    assert "1 flagged" in client.get(reverse("review:queue-list")).content.decode()
    assert set(Notice.objects.filter(person=rita).values_list("kind", flat=True)) == {"flagged"}


def test_beat_keeps_no_slot_for_a_page_on_which_nothing_moves() -> None:
    item, ada = factories.review_item(), factories.user("ada")
    claim = claim_next(queue=item.queue, annotator=ada, at=NOON)
    later = NOON + timedelta(minutes=1)

    assert record_heartbeat(item_id=item.pk, annotator=ada, token=str(claim.token), at=later, idle_seconds=1_199)
    kept = Assignment.objects.get().expires_at
    assert record_heartbeat(
        item_id=item.pk, annotator=ada, token=str(claim.token), at=later + timedelta(minutes=1), idle_seconds=1_200
    )

    assert kept == later + timedelta(minutes=2)
    assert Assignment.objects.get().expires_at == kept


def test_annotations_keep_the_mode_and_the_guidelines_they_were_given_under() -> None:
    queue, rita = factories.queue(quorum=3), factories.user("rita", Role.RESEARCHER)
    factories.review_item(queue=queue)
    for name in ("ada", "ben"):
        client, _ = signed_in(name)
        send(client, take(client, queue))
        fields = {"guidelines": "Read twice.", "mode": QueueMode.DEBATE}
        update_queue(queue=queue, fields=fields, members=None, actor=rita, at=NOON)

    content = compute_agreement(queue.pk, {}).content
    assert list(Annotation.objects.order_by("pk").values_list("mode", "guidelines_version")) == [
        ("blind", 1),
        ("debate", 2),
    ]
    assert (content.modes, content.guidelines) == ({"blind": 1, "debate": 1}, {"1": 1, "2": 1})
