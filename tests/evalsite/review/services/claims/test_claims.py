"""Exactly as many answers as asked for, whoever comes, whatever they do."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection

from evalsite.accounts.roles import Role
from evalsite.review.models import Annotation, Assignment, NoticeKind, Queue
from evalsite.review.selectors.waiting_items import (
    Progress,
    QueueAccess,
    read_waiting,
    standing_of,
    workload_of,
)
from evalsite.review.services.annotation_store import GivenAnnotation, record_annotation
from evalsite.review.services.claims import (
    NewerDraft,
    NoItemAvailable,
    claim_next,
    flag_item,
    keep_draft,
    record_heartbeat,
    skip_item,
    take_back,
)
from evalsite.review.services.notices import notify, read_notices
from evalsite.review.services.queues import recount
from evalsite.review.states import AssignmentStatus, ItemStatus, QueueStatus, ReviewRefused
from tests import factories
from tests.factories import NOON

LATER = NOON + timedelta(minutes=3)  # after a lease of two minutes


def answer(claim: Assignment, label: str = "1", *, at: Any = NOON) -> Annotation:
    return record_annotation(
        item_id=claim.item_id, annotator=claim.annotator, token=str(claim.token), answer=GivenAnnotation(label), at=at
    )


@pytest.mark.django_db
def test_claim_next_follows_priority_then_shuffle() -> None:
    queue, ada = factories.queue(quorum=1), factories.user("ada")
    made = [factories.review_item(queue=queue, priority=p, shuffle=s) for p, s in ((1, 5), (2, 9), (2, 3), (1, 1))]
    queue.refresh_from_db()

    order = []
    for _ in made:
        claim = claim_next(queue=queue, annotator=ada, at=NOON)
        answer(claim)
        order.append(claim.item_id)

    assert order == [made[2].pk, made[1].pk, made[3].pk, made[0].pk]


@pytest.mark.django_db
def test_claim_next_returns_the_item_in_work_with_a_new_token() -> None:
    queue, ada = factories.queue(), factories.user("ada")
    factories.review_item(queue=queue)
    factories.review_item(queue=queue)

    first = claim_next(queue=queue, annotator=ada, at=NOON)
    again = claim_next(queue=queue, annotator=ada, at=NOON)

    assert (first.item_id, first.pk) == (again.item_id, again.pk)
    assert first.token != again.token


@pytest.mark.django_db
def test_claim_next_gives_no_more_slots_than_the_quorum() -> None:
    queue = factories.queue(quorum=2)
    factories.review_item(queue=queue)
    people = [factories.user(name) for name in ("ada", "bob", "cyd")]
    for person in people[:2]:
        claim_next(queue=queue, annotator=person, at=NOON)

    with pytest.raises(NoItemAvailable, match=r"assigned to other people\. Check again in 3 minutes"):
        claim_next(queue=queue, annotator=people[2], at=NOON)

    assert claim_next(queue=queue, annotator=people[2], at=LATER).item_id == queue.items.get().pk


@pytest.mark.django_db
def test_claim_next_says_why_there_is_nothing() -> None:
    queue, ada = factories.queue(quorum=2), factories.user("ada")

    with pytest.raises(NoItemAvailable, match="All items of this queue have their annotations"):
        claim_next(queue=queue, annotator=ada, at=NOON)

    factories.review_item(queue=queue)
    answer(claim_next(queue=queue, annotator=ada, at=NOON))
    with pytest.raises(NoItemAvailable, match=r"the only open item\. Nobody is left to annotate it"):
        claim_next(queue=queue, annotator=ada, at=NOON)

    queue.members.add(factories.user("bob"))
    with pytest.raises(NoItemAvailable, match="not a member"):
        claim_next(queue=queue, annotator=ada, at=NOON)

    queue.status = QueueStatus.PAUSED
    queue.save()
    queue.members.clear()
    with pytest.raises(NoItemAvailable, match="paused"):
        claim_next(queue=queue, annotator=ada, at=NOON)


@pytest.mark.django_db
def test_record_annotation_takes_a_late_answer_while_the_slot_is_free() -> None:
    item, ada = factories.review_item(), factories.user("ada")
    claim = claim_next(queue=item.queue, annotator=ada, at=NOON)

    annotation = answer(claim, at=LATER)

    assert (annotation.label, annotation.slot, annotation.seconds) == ("1", 0, 180.0)


@pytest.mark.django_db
def test_record_annotation_refuses_a_late_answer_after_a_takeover() -> None:
    queue = factories.queue(quorum=1)
    item = factories.review_item(queue=queue)
    ada, bob = factories.user("ada"), factories.user("bob")
    late = claim_next(queue=queue, annotator=ada, at=NOON)
    claim_next(queue=queue, annotator=bob, at=LATER)

    with pytest.raises(ReviewRefused, match=r"expired and the item went to another person\. Your text is kept"):
        answer(late, at=LATER)

    assert list(item.annotations.all()) == []


@pytest.mark.django_db
def test_record_annotation_refuses_an_old_token() -> None:
    item, ada = factories.review_item(), factories.user("ada")
    old = claim_next(queue=item.queue, annotator=ada, at=NOON)
    claim_next(queue=item.queue, annotator=ada, at=NOON)

    with pytest.raises(ReviewRefused, match="You opened this item again elsewhere"):
        answer(old)


@pytest.mark.django_db
def test_record_annotation_refuses_a_second_answer() -> None:
    item, ada = factories.review_item(), factories.user("ada")
    claim = claim_next(queue=item.queue, annotator=ada, at=NOON)
    answer(claim)

    with pytest.raises(ReviewRefused, match="already annotated"):
        answer(claim)


@pytest.mark.django_db
def test_skip_item_gives_the_slot_back_and_does_not_return() -> None:
    queue = factories.queue(quorum=1)
    item = factories.review_item(queue=queue)
    ada, bob = factories.user("ada"), factories.user("bob")
    claim = claim_next(queue=queue, annotator=ada, at=NOON)

    with pytest.raises(ReviewRefused, match="Give a reason"):
        skip_item(item_id=item.pk, annotator=ada, token=str(claim.token), reason=" ", at=NOON)
    skip_item(item_id=item.pk, annotator=ada, token=str(claim.token), reason="not my field", at=NOON)

    with pytest.raises(NoItemAvailable, match="annotated or skipped"):
        claim_next(queue=queue, annotator=ada, at=NOON)
    assert claim_next(queue=queue, annotator=bob, at=NOON).item_id == item.pk


@pytest.mark.django_db
def test_take_back_returns_a_skipped_item() -> None:
    item, ada = factories.review_item(), factories.user("ada")
    claim = claim_next(queue=item.queue, annotator=ada, at=NOON)
    skip_item(item_id=item.pk, annotator=ada, token=str(claim.token), reason="too long", at=NOON)

    back = take_back(item_id=item.pk, annotator=ada, at=NOON)

    back.refresh_from_db()
    assert (back.pk, back.status, back.skip_reason) == (claim.pk, AssignmentStatus.LEASED, "")
    with pytest.raises(ReviewRefused, match="handed out one at a time"):
        take_back(item_id=item.pk, annotator=factories.user("bob"), at=NOON)


@pytest.mark.django_db
def test_beat_keeps_a_claim_until_somebody_else_has_it() -> None:
    queue = factories.queue(quorum=1)
    item = factories.review_item(queue=queue)
    ada, bob = factories.user("ada"), factories.user("bob")
    claim = claim_next(queue=queue, annotator=ada, at=NOON)

    def alive(token: str, *, minutes: int) -> bool:
        return record_heartbeat(item_id=item.pk, annotator=ada, token=token, at=NOON + timedelta(minutes=minutes))

    assert alive(str(claim.token), minutes=1)
    assert not alive("another", minutes=1)
    with pytest.raises(NoItemAvailable):
        claim_next(queue=queue, annotator=bob, at=NOON + timedelta(minutes=2, seconds=30))
    claim_next(queue=queue, annotator=bob, at=NOON + timedelta(minutes=4))

    assert not alive(str(claim.token), minutes=4)


@pytest.mark.django_db
def test_keep_draft_keeps_the_text_of_whoever_lost_the_item() -> None:
    queue = factories.queue(quorum=1)
    item = factories.review_item(queue=queue)
    ada, bob = factories.user("ada"), factories.user("bob")
    claim = claim_next(queue=queue, annotator=ada, at=NOON)
    claim_next(queue=queue, annotator=bob, at=LATER)

    assert keep_draft(item_id=item.pk, annotator=ada, values={"label": "1", "note": "typed"}, at=LATER)
    assert not keep_draft(item_id=item.pk, annotator=factories.user("cyd"), values={"note": "x"}, at=LATER)

    claim.refresh_from_db()
    assert (claim.draft, claim.draft_at) == ({"label": "1", "note": "typed"}, LATER)


@pytest.mark.django_db
def test_flag_item_needs_a_claim() -> None:
    item, ada = factories.review_item(), factories.user("ada")
    with pytest.raises(ReviewRefused, match="assigned to you"):
        flag_item(item_id=item.pk, annotator=ada, text="broken", at=NOON)
    claim_next(queue=item.queue, annotator=ada, at=NOON)

    assert flag_item(item_id=item.pk, annotator=ada, text="  broken table ", at=NOON).flag == "broken table"


@pytest.mark.django_db
def test_read_waiting_leaves_out_what_is_done_with(django_assert_num_queries: Any) -> None:
    queue, other, closed = factories.queue(), factories.queue(), factories.queue(status=QueueStatus.PAUSED)
    ada = factories.user("ada")
    for owner in (queue, queue, queue, other, closed):
        factories.review_item(queue=owner)
    other.members.add(factories.user("bob"))
    answer(claim_next(queue=queue, annotator=ada, at=NOON))
    claim_next(queue=queue, annotator=ada, at=NOON)

    with django_assert_num_queries(1):
        waiting = read_waiting(ada)

    assert waiting == (2, 0)
    assert standing_of(queue=queue, user=ada).progress == Progress(done=1, waiting=2)


@pytest.mark.django_db
def test_read_waiting_counts_notices_until_they_are_read() -> None:
    queue, ada, ben = factories.queue(), factories.user("ada"), factories.user("ben")
    notify(people=[ada, ben], kind=NoticeKind.ASSIGNED, subject=queue, at=NOON)
    notify(people=[ada], kind=NoticeKind.DONE, subject=queue, at=NOON)

    before = [read_waiting(person)[1] for person in (ada, ben)]
    read_notices(person=ada, at=NOON)

    assert (before, read_waiting(ada), read_waiting(ben)) == ([2, 1], (0, 0), (0, 1))


@pytest.mark.django_db(transaction=True)
def test_claims_of_many_people_at_once_never_exceed_the_quorum() -> None:
    """Eight people drain twelve items at quorum 3: 36 answers, three per item, all by different people."""
    queue = factories.queue(quorum=3)
    items = [factories.review_item(queue=queue) for _ in range(12)]
    people = [factories.user(f"person-{number}") for number in range(8)]
    start = threading.Barrier(len(people))
    failures: list[BaseException] = []

    def work(person: User) -> None:
        try:
            start.wait()
            while True:
                claim = claim_next(queue=Queue.objects.get(pk=queue.pk), annotator=person, at=NOON)
                answer(claim, str(person.pk % 3 - 1))
        except NoItemAvailable:
            pass
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while True:  # whoever came away empty-handed while others held the last items comes back
        for person in people:
            try:
                answer(claim_next(queue=queue, annotator=person, at=NOON))
            except NoItemAvailable:
                continue
            break
        else:
            break

    assert failures == []
    pairs = Counter(Annotation.objects.values_list("item_id", "annotator_id"))
    assert Counter(item_id for item_id, _ in pairs.elements()) == {item.pk: 3 for item in items}
    assert set(pairs.values()) == {1}
    queue.refresh_from_db()
    assert (queue.open_count, queue.items.filter(status=ItemStatus.OPEN).count()) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_two_pages_of_one_person_never_answer_an_item_twice() -> None:
    """Two people, each with three pages open at once, drain eight items at quorum 2: 16 answers, each counted."""
    queue = factories.queue(quorum=2)
    items = [factories.review_item(queue=queue) for _ in range(8)]
    people = [factories.user(f"person-{number}") for number in range(2)]
    start = threading.Barrier(6)
    failures: list[BaseException] = []

    def work(person: User) -> None:
        try:
            start.wait()
            while True:
                claim = claim_next(queue=Queue.objects.get(pk=queue.pk), annotator=person, at=NOON)
                try:
                    answer(claim)
                except ReviewRefused:  # another page of theirs took the item over, or has answered it
                    continue
        except NoItemAvailable:
            pass
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(person,)) for person in people * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    pairs = Counter(Annotation.objects.values_list("item_id", "annotator_id"))
    assert pairs == {(item.pk, person.pk): 1 for item in items for person in people}
    assert set(Assignment.objects.values_list("status", flat=True)) == {AssignmentStatus.SUBMITTED}


@pytest.mark.django_db
def test_standing_of_tells_what_was_left_and_who_may_take_nothing(django_assert_num_queries: Any) -> None:
    queue, other = factories.queue(), factories.queue()
    ada, ben = factories.user("ada"), factories.user("ben")
    for _ in range(3):
        factories.review_item(queue=queue)
    done = claim_next(queue=queue, annotator=ada, at=NOON)
    answer(done)
    begun = claim_next(queue=queue, annotator=ada, at=NOON)

    with django_assert_num_queries(3):
        found = [standing_of(queue=one, user=person) for one, person in ((queue, ada), (queue, ben), (other, ada))]
    queue.members.add(ben)
    barred = standing_of(queue=queue, user=ada)
    Queue.objects.update(status=QueueStatus.PAUSED)
    paused = standing_of(queue=queue, user=ben)
    gone = standing_of(queue=Queue(pk=0), user=ben)

    mine = QueueAccess(may_take=True, begun=(begun.item_id,), progress=Progress(done=1, waiting=2))
    bens = QueueAccess(may_take=True, begun=(), progress=Progress(done=0, waiting=3))
    nothing = QueueAccess(may_take=True, begun=(), progress=Progress(0, 0))
    assert found == [mine, bens, nothing]
    assert barred == replace(mine, may_take=False)
    assert paused == replace(bens, may_take=False)
    assert gone == replace(nothing, may_take=False)


@pytest.mark.django_db
def test_answers_missing_go_by_each_items_own_quorum() -> None:
    queue, other, empty = (factories.queue(quorum=2) for _ in range(3))
    for quorum in (1, 2, 4):
        factories.review_item(queue=queue, quorum=quorum)
    factories.review_item(queue=other, quorum=3)
    ada = factories.user("ada")
    for _ in range(2):  # settles the first, and leaves one answer missing of the second
        answer(claim_next(queue=queue, annotator=ada, at=NOON))

    assert [workload_of(queue=one).answers_left for one in (queue, other, empty)] == [5, 3, 0]
    assert [workload_of(queue=one).answers_left for one in (queue, other, empty)] == [5, 3, 0]


@pytest.mark.django_db
def test_roles_let_annotators_answer() -> None:
    assert factories.user("ada", Role.ANNOTATOR).has_perm("review.add_annotation")


@pytest.mark.django_db
def test_keep_draft_never_replaces_newer_text_of_another_page() -> None:
    item, ada = factories.review_item(), factories.user("ada")
    claim_next(queue=item.queue, annotator=ada, at=NOON)
    keep_draft(item_id=item.pk, annotator=ada, values={"note": "old"}, at=NOON, page="one", based_on=None)
    keep_draft(item_id=item.pk, annotator=ada, values={"note": "new"}, at=LATER, page="two", based_on=NOON)

    with pytest.raises(NewerDraft):
        keep_draft(item_id=item.pk, annotator=ada, values={"note": "old, more"}, at=LATER, page="one", based_on=None)
    kept = keep_draft(item_id=item.pk, annotator=ada, values={"note": "new, more"}, at=LATER, page="two", based_on=NOON)

    assert kept
    assert item.assignments.get().draft == {"note": "new, more", "page": "two"}


@pytest.mark.django_db
def test_the_progress_reserves_what_comes_back_and_forgets_a_skipped_retest() -> None:
    queue, ada = factories.queue(retest_share=0.05), factories.user("ada")
    items = [factories.review_item(queue=queue) for _ in range(34)]  # 4 of them have the mean gap behind them
    before = standing_of(queue=queue, user=ada).progress
    answer(claim_next(queue=queue, annotator=ada, at=NOON))
    first = next(item for item in items if item.annotations.exists())
    again = factories.review_item(queue=queue, retest_of=first, only_for=ada, arm="retest")
    recount(queue_id=queue.pk)  # the factory counts every item; a retest is nobody else's work
    after = standing_of(queue=queue, user=ada).progress
    claim = Assignment.objects.create(
        item=again, queue=queue, annotator=ada, token=uuid4(), claimed_at=NOON, expires_at=NOON + timedelta(minutes=2)
    )

    skip_item(item_id=again.pk, annotator=ada, token=str(claim.token), reason="tired", at=NOON)

    assert (before.total, after.total) == (35, 35)
    assert standing_of(queue=queue, user=ada).progress.waiting == 33
