"""Items change hands by the owner's word: slots stay exact, drafts stay, late answers of the former holder do not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.review.models import Annotation, Assignment, Notice, ReviewItem
from evalsite.review.selectors.waiting_items import read_waiting, workload_of
from evalsite.review.services.annotation_store import GivenAnnotation, record_annotation, undo_annotation
from evalsite.review.services.claims import (
    HANDED_TIME,
    NoItemAvailable,
    claim_next,
    hand_item,
    keep_draft,
    take_back,
    withdraw_all,
    withdraw_item,
)
from evalsite.review.services.queues import recount, set_quota, update_queue
from evalsite.review.states import AssignmentStatus, ReviewRefused
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(hours=1)  # every lease has run out, what was handed over still waits


@pytest.fixture
def owner() -> User:
    return factories.user("rita", Role.RESEARCHER)


@pytest.fixture
def item() -> ReviewItem:
    return factories.review_item(queue=factories.queue(quorum=1))


def annotator(name: str) -> User:
    return factories.user(name, Role.ANNOTATOR)


def hand(item: ReviewItem, person: User, owner: User, reason: str = "knows the subject") -> Assignment:
    return hand_item(item_id=item.pk, person=person, actor=owner, reason=reason, at=NOON)


def withdraw(item: ReviewItem, person: User, owner: User, reason: str = "on holiday") -> Assignment:
    return withdraw_item(item_id=item.pk, person=person, actor=owner, reason=reason)


def test_a_handed_item_waits_for_its_person_and_for_nobody_else(item: ReviewItem, owner: User) -> None:
    ada, ben = annotator("ada"), annotator("ben")

    claim = hand(item, ada, owner)

    with pytest.raises(NoItemAvailable):
        claim_next(queue=item.queue, annotator=ben, at=LATER)
    assert claim.expires_at == NOON + HANDED_TIME
    assert claim_next(queue=item.queue, annotator=ada, at=LATER).pk == claim.pk


def test_a_handed_item_goes_to_anybody_after_a_day(item: ReviewItem, owner: User) -> None:
    ada, ben = annotator("ada"), annotator("ben")
    hand(item, ada, owner)

    claim = claim_next(queue=item.queue, annotator=ben, at=NOON + HANDED_TIME + timedelta(seconds=1))

    assert (claim.item_id, claim.annotator) == (item.pk, ben)


def test_hand_item_tells_the_person_and_the_audit_log(item: ReviewItem, owner: User) -> None:
    ada = annotator("ada")

    hand(item, ada, owner)

    assert [(notice.person, notice.kind) for notice in Notice.objects.all()] == [(ada, "assigned")]
    entry = AuditEntry.objects.get(action="item.handed")
    assert (entry.actor, entry.subject_id, entry.detail) == (
        owner,
        item.pk,
        {"person": "ada", "reason": "knows the subject"},
    )


def test_withdraw_item_frees_the_slot_and_keeps_the_draft(item: ReviewItem, owner: User) -> None:
    ada, ben = annotator("ada"), annotator("ben")
    claim = claim_next(queue=item.queue, annotator=ada, at=NOON)
    keep_draft(item_id=item.pk, annotator=ada, values={"note": "half a thought"}, at=NOON)

    withdraw(item, ada, owner)

    assert claim_next(queue=item.queue, annotator=ben, at=NOON).item_id == item.pk
    claim.refresh_from_db()
    assert (claim.status, claim.draft) == (AssignmentStatus.WITHDRAWN, {"note": "half a thought"})
    entry = AuditEntry.objects.get(action="item.withdrawn")
    assert (entry.actor, entry.detail) == (owner, {"person": "ada", "reason": "on holiday"})


def test_a_late_answer_of_the_former_holder_is_refused_and_its_text_kept(item: ReviewItem, owner: User) -> None:
    ada = annotator("ada")
    claim = claim_next(queue=item.queue, annotator=ada, at=NOON)
    withdraw(item, ada, owner)

    with pytest.raises(ReviewRefused, match="no longer assigned to you"):
        record_annotation(
            item_id=item.pk, annotator=ada, token=str(claim.token), answer=GivenAnnotation("1", "my reasons"), at=NOON
        )

    assert keep_draft(item_id=item.pk, annotator=ada, values={"note": "my reasons"}, at=NOON)
    assert not Annotation.objects.exists()


def test_an_item_taken_back_does_not_return_by_itself_but_by_hand(item: ReviewItem, owner: User) -> None:
    ada = annotator("ada")
    claim_next(queue=item.queue, annotator=ada, at=NOON)
    withdraw(item, ada, owner)

    with pytest.raises(NoItemAvailable):
        claim_next(queue=item.queue, annotator=ada, at=LATER)
    with pytest.raises(ReviewRefused, match="has withdrawn this item"):
        take_back(item_id=item.pk, annotator=ada, at=LATER)

    assert hand(item, ada, owner).status == AssignmentStatus.LEASED


def test_hand_item_refuses_what_would_break_the_queue(item: ReviewItem, owner: User) -> None:
    ada, ben = annotator("ada"), annotator("ben")
    hand(item, ada, owner)

    with pytest.raises(ReviewRefused, match="as many people as its quorum"):
        hand(item, ben, owner)
    with pytest.raises(ReviewRefused, match="Give a reason"):
        hand(item, ben, owner, reason="  ")
    item.queue.members.add(ada)
    with pytest.raises(ReviewRefused, match="not a member"):
        hand(item, ben, owner)


def test_hand_item_refuses_whoever_has_answered(owner: User) -> None:
    item, ada = factories.review_item(queue=factories.queue(quorum=2)), annotator("ada")
    claim = claim_next(queue=item.queue, annotator=ada, at=NOON)
    record_annotation(item_id=item.pk, annotator=ada, token=str(claim.token), answer=GivenAnnotation("1", ""), at=NOON)

    with pytest.raises(ReviewRefused, match="already annotated"):
        hand(item, ada, owner)
    with pytest.raises(ReviewRefused, match="is not assigned to this person"):
        withdraw(item, ada, owner)


def test_a_paused_queue_can_be_sorted_out_an_archived_one_not(item: ReviewItem, owner: User) -> None:
    ada = annotator("ada")
    item.queue.status = "paused"
    item.queue.save()
    hand(item, ada, owner)
    withdraw(item, ada, owner)
    item.queue.status = "archived"
    item.queue.save()

    with pytest.raises(ReviewRefused, match="archived"):
        hand(item, ada, owner)


def test_withdraw_all_moves_what_the_heir_may_answer(owner: User) -> None:
    queue, ada, ben = factories.queue(quorum=2), annotator("ada"), annotator("ben")
    items = [factories.review_item(queue=queue) for _ in range(3)]
    for item in items:
        hand(item, ada, owner)
    claim = hand(items[0], ben, owner)
    record_annotation(
        item_id=items[0].pk, annotator=ben, token=str(claim.token), answer=GivenAnnotation("1", ""), at=NOON
    )

    moved = withdraw_all(queue=queue, person=ada, heir=ben, actor=owner, reason="left the team", at=NOON)

    # ben has answered the first already
    assert moved == (3, 2)
    assert set(ada.assignments.values_list("status", flat=True)) == {AssignmentStatus.WITHDRAWN}
    held = Assignment.objects.filter(annotator=ben, status=AssignmentStatus.LEASED).order_by("item_id")
    assert list(held.values_list("item_id", flat=True)) == [items[1].pk, items[2].pk]
    assert AuditEntry.objects.filter(action="item.withdrawn").count() == 3


def test_withdraw_all_refuses_where_there_is_nothing(item: ReviewItem, owner: User) -> None:
    ada = annotator("ada")

    with pytest.raises(ReviewRefused, match="No item of this queue is assigned"):
        withdraw_all(queue=item.queue, person=ada, heir=None, actor=owner, reason="gone", at=NOON)


def test_a_test_retest_item_is_handed_to_nobody_else(owner: User) -> None:
    first, ada, ben = factories.review_item(), annotator("ada"), annotator("ben")
    again = factories.review_item(queue=first.queue, arm="retest", retest_of=first, only_for=ada, quorum=1)

    with pytest.raises(ReviewRefused, match="retest item of one person"):
        hand(again, ben, owner)


@pytest.mark.parametrize("way", ["one by one", "by the members"])
def test_a_copy_that_is_taken_back_is_no_open_item_of_its_person(owner: User, way: str) -> None:
    first, ada = factories.review_item(), annotator("ada")
    queue = first.queue
    again = factories.review_item(queue=queue, arm="retest", retest_of=first, only_for=ada, quorum=1)
    recount(queue_id=queue.pk)
    hand(again, ada, owner)
    before = read_waiting(ada)[0]

    if way == "one by one":
        withdraw(again, ada, owner)
    else:
        update_queue(queue=queue, fields={}, members=[owner], actor=owner, at=NOON)
        update_queue(queue=queue, fields={}, members=[owner, ada], actor=owner, at=NOON)

    assert again.assignments.get().status == AssignmentStatus.WITHDRAWN
    assert (before, read_waiting(ada)[0], claim_next(queue=queue, annotator=ada, at=NOON).item_id) == (
        1,
        1,
        first.pk,
    )


def test_items_beyond_a_quota_are_handed_to_nobody_and_wait_for_nobody(owner: User) -> None:
    queue, ada = factories.queue(quorum=1), annotator("ada")
    queue.members.set([ada])
    items = [factories.review_item(queue=queue) for _ in range(3)]
    set_quota(queue=queue, person=ada, items=1, until=None, actor=owner)
    claim = hand(items[0], ada, owner)

    with pytest.raises(ReviewRefused, match="The quota of this person is used up"):
        hand(items[1], ada, owner)
    before = workload_of(queue=queue).items_stuck
    hand(items[0], ada, owner)  # again
    claim.refresh_from_db()
    given = GivenAnnotation(label="1")
    record_annotation(item_id=items[0].pk, annotator=ada, token=str(claim.token), answer=given, at=NOON)

    assert (before, workload_of(queue=queue).items_stuck) == (0, 2)


def test_who_cannot_judge_an_item_takes_that_back_only_while_it_has_a_slot(item: ReviewItem, owner: User) -> None:
    ada, ben = annotator("ada"), annotator("ben")
    claim, given = claim_next(queue=item.queue, annotator=ada, at=NOON), GivenAnnotation(cannot_judge="no idea")
    record_annotation(item_id=item.pk, annotator=ada, token=str(claim.token), answer=given, at=NOON)
    claim_next(queue=item.queue, annotator=ben, at=NOON)

    with pytest.raises(ReviewRefused, match="Enough other people have annotated this item"):
        undo_annotation(item_id=item.pk, annotator=ada, at=NOON)


def test_who_has_left_a_queue_takes_nothing_back(owner: User) -> None:
    queue, ada = factories.queue(quorum=2), annotator("ada")
    item = factories.review_item(queue=queue)
    factories.annotation(item=item, label="1", annotator=ada)

    update_queue(queue=queue, fields={}, members=[owner], actor=owner, at=NOON)

    with pytest.raises(ReviewRefused, match="not a member of this queue, or your work in it is paused"):
        undo_annotation(item_id=item.pk, annotator=ada, at=NOON)
