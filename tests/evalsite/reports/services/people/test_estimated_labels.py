"""The estimate beside the majority and how steadily people label, from annotations to the page."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.reports.services.people import compute_agreement
from evalsite.review.models import Annotation, Queue
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db
SCALE = ("-1", "1")


def labelled_queue(items: int) -> Queue:
    """Return a queue whose first two people are right, whose third draws and whose fourth always says the same."""
    queue, draw = factories.queue(slug="crowd"), random.Random(4)
    people = [factories.user(name) for name in ("ada", "ben", "rex", "zoe")]
    for number in range(items):
        truth = SCALE[number % 2]
        item = factories.review_item(queue=queue)
        for person, label in zip(people, (truth, truth, draw.choice(SCALE), "1"), strict=True):
            annotation = factories.annotation(item=item, label=label, annotator=person)
            Annotation.objects.filter(pk=annotation.pk).update(created_at=NOON + timedelta(minutes=number))
    return queue


def test_two_who_are_right_outweigh_one_who_draws_and_one_who_always_says_the_same(researcher: Client) -> None:
    queue = labelled_queue(60)

    content = compute_agreement(queue.pk, {}).content
    page = " ".join(researcher.get(reverse("reports:agreement-detail", args=[queue.slug])).text.split())

    report = content.estimated
    assert report is not None
    assert (report.n_items, report.n_other, report.resamples) == (60, 0, 200)
    assert report.n_tied == sum(item.majority == "" for item in report.items) > 5
    # where rex and zoe agree against the other two there is no majority, and the two are believed
    assert [(person.name, round(person.right.value or 0, 1)) for person in report.people][:2] == [
        ("ada", 1.0),
        ("ben", 1.0),
    ]
    assert [person.right.value < 0.75 for person in report.people[2:] if person.right.value] == [True, True]
    assert "Labels weighed by how often each annotator errs" in page
    assert "Of 0 items another label than the majority's is the most probable" in page


def test_too_few_items_have_no_estimate(researcher: Client) -> None:
    queue = labelled_queue(29)

    assert compute_agreement(queue.pk, {}).content.estimated is None


def test_somebody_who_always_says_the_same_is_named(researcher: Client) -> None:
    queue = labelled_queue(60)

    rows = {row.name: row for row in compute_agreement(queue.pk, {}).content.steadiness}
    page = researcher.get(reverse("reports:agreement-detail", args=[queue.slug])).text

    assert {name: row.is_suspicious for name, row in rows.items()} == {
        "ada": False,
        "ben": False,
        "rex": False,
        "zoe": True,
    }
    assert (rows["zoe"].run, rows["ada"].run) == (60, 1)
    assert page.count(">unlikely<") == 1
