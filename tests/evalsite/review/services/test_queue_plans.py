"""Partial overlap, quotas and last days of people, and items that come later."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from evalsite.accounts.roles import Role
from evalsite.review.models import Annotation, OrderPolicy, Queue, ReviewItem
from evalsite.review.selectors.waiting_items import Progress, read_waiting, standing_of
from evalsite.review.services.annotation_store import GivenAnnotation, record_annotation
from evalsite.review.services.claims import NoItemAvailable, claim_next
from evalsite.review.services.label_tables import add_items, create_queue
from evalsite.review.services.queues import recount, set_quota, update_queue
from evalsite.review.states import ReviewRefused
from evalsite.review.tables.queue_files import MaterialFile, read_materials
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def materials(*numbers: int, answer: str = "So") -> MaterialFile:
    rows = "".join(f"p{number},Why {number}?,{answer} {number}.\n" for number in numbers)
    parsed = read_materials(f"id,question,response\n{rows}".encode(), "rows.csv")
    assert parsed.value is not None
    return parsed.value


def made(count: int, **options: float) -> Queue:
    plan = Queue(name="Why", source_file="rows.csv", retest_share=0.0, order=OrderPolicy.GIVEN, **options)
    rows = materials(*range(count))
    return create_queue(new_queue=plan, labels=(), material_file=rows, members=[], actor=None, at=NOON)


def quorums(queue: Queue) -> Counter[int]:
    return Counter(queue.items.values_list("quorum", flat=True))


def test_overlap_asks_several_people_about_a_share_of_the_items() -> None:
    queue = made(400, quorum=3, overlap=0.2)
    drawn = sum(item.shuffle % 1000 < 200 for item in queue.items.all())

    assert quorums(queue) == {3: drawn, 1: 400 - drawn}
    assert 56 <= drawn <= 104  # 80 by a binomial of 400 and 0.2, three standard deviations of 8 either way

    update_queue(queue=queue, fields={"overlap": 0.5}, members=None, actor=None, at=NOON)
    more = sum(item.shuffle % 1000 < 500 for item in queue.items.all())
    assert quorums(queue) == {3: more, 1: 400 - more}


def test_a_quota_ends_the_work_of_one_person_and_no_total_promises_more() -> None:
    queue, ada, ben = made(5, quorum=2), factories.user("ada", Role.ANNOTATOR), factories.user("ben", Role.ANNOTATOR)
    set_quota(queue=queue, person=ada, items=2, until=None, actor=None)
    before = read_waiting(ada)[0], standing_of(queue=queue, user=ada).progress, read_waiting(ben)[0]

    for _ in range(2):
        claim = claim_next(queue=queue, annotator=ada, at=NOON)
        answer = GivenAnnotation(claim.item.subject.labels[0]["value"], "")
        record_annotation(item_id=claim.item_id, annotator=ada, token=str(claim.token), answer=answer, at=NOON)

    assert before == (2, Progress(done=0, waiting=2), 5)
    assert (read_waiting(ada)[0], standing_of(queue=queue, user=ada).progress) == (0, Progress(done=2, waiting=0))
    with pytest.raises(NoItemAvailable, match="You have annotated all 2 items that you were asked for"):
        claim_next(queue=queue, annotator=ada, at=NOON)
    assert claim_next(queue=queue, annotator=ben, at=NOON).item_id
    set_quota(queue=queue, person=ada, items=None, until=None, actor=None)
    assert claim_next(queue=queue, annotator=ada, at=NOON).item_id
    assert Annotation.objects.count() == 2


def test_nothing_is_handed_out_after_the_last_day() -> None:
    queue, ada = made(2), factories.user("ada", Role.ANNOTATOR)
    set_quota(queue=queue, person=ada, items=None, until=NOON.date(), actor=None)

    assert claim_next(queue=queue, annotator=ada, at=NOON).item_id
    with pytest.raises(NoItemAvailable, match="were handed to you until"):
        claim_next(queue=queue, annotator=ada, at=NOON + timedelta(days=1))


@pytest.mark.parametrize("items", [None, 2])
def test_nothing_waits_for_a_person_whose_last_day_has_passed(items: int | None) -> None:
    queue, ada = made(5), factories.user("ada", Role.ANNOTATOR)
    today = timezone.localdate()
    waiting = []

    for until in (today, today - timedelta(days=1)):
        set_quota(queue=queue, person=ada, items=items, until=until, actor=None)
        waiting.append((read_waiting(ada)[0], standing_of(queue=queue, user=ada).progress.waiting))

    assert waiting == [(items or 5, items or 5), (0, 0)]


def test_add_items_leaves_what_is_there_and_refuses_other_rows_of_the_same_key() -> None:
    queue = made(2, quorum=2)

    added = add_items(queue=queue, material_file=materials(1, 2, 3), file_name="more.csv", actor=None, at=NOON)

    assert (added.rows, added.repeated, added.items) == (3, 1, 2)
    assert (added.queue.total_count, added.queue.open_count) == (4, 4)
    assert sorted(queue.materials.values_list("key", flat=True)) == ["p0", "p1", "p2", "p3"]
    with pytest.raises(ReviewRefused, match="other rows with these keys: p1"):
        add_items(queue=queue, material_file=materials(1, answer="No"), file_name="x.csv", actor=None, at=NOON)
    with pytest.raises(ReviewRefused, match="queues that came from a file"):
        add_items(queue=factories.queue(), material_file=materials(1), file_name="x.csv", actor=None, at=NOON)
    recount(queue_id=queue.pk)
    assert ReviewItem.objects.filter(queue=queue, status="open").count() == 4
