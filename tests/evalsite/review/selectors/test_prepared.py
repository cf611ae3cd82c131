"""A prepared query answers as the query it was made from, whatever the values, and knows when it was misread."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models import QuerySet

from evalsite.review.models import Assignment, Queue, ReviewItem
from evalsite.review.selectors.prepared import Prepared
from evalsite.review.services.claiming import claim_next
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def begun(*, queue_id: int, at: datetime) -> QuerySet[Assignment, Any]:
    return Assignment.objects.filter(queue=queue_id, claimed_at__gte=at, item_open=True).order_by("pk")


def test_rows_follow_the_values_and_not_those_of_the_first_call() -> None:
    queues = [factories.queue(), factories.queue()]
    claims = []
    for number, queue in enumerate(queues * 2):
        factories.review_item(queue=queue)
        at = NOON + timedelta(minutes=number)
        claims.append(claim_next(queue=queue, annotator=factories.user(), at=at).pk)
    prepared = Prepared(lambda **values: begun(**values).values_list("pk"))

    found = [
        [key for (key,) in prepared.rows(queue_id=queue.pk, at=NOON + timedelta(minutes=minute))]
        for queue in queues
        for minute in (0, 2, 9)
    ]

    assert found == [[claims[0], claims[2]], [claims[2]], [], [claims[1], claims[3]], [claims[3]], []]


def test_first_is_an_object_with_every_field() -> None:
    item = factories.review_item(scenario="plans")
    prepared = Prepared(lambda *, queue_id: ReviewItem.objects.filter(queue=queue_id, answer_count=0)[:1])

    found = prepared.first(ReviewItem, queue_id=item.queue_id)
    nothing = prepared.first(ReviewItem, queue_id=0)

    fields = [field.attname for field in ReviewItem._meta.concrete_fields]
    stored = ReviewItem.objects.get(pk=item.pk)
    assert {name: getattr(found, name) for name in fields} == {name: getattr(stored, name) for name in fields}
    assert nothing is None


def test_a_value_that_the_query_does_not_use_is_refused() -> None:
    prepared = Prepared(lambda **values: Queue.objects.filter(pk=values["queue_id"]))

    with pytest.raises(ValueError, match="does not use all of queue_id, user_id"):
        prepared.rows(queue_id=1, user_id=2)
