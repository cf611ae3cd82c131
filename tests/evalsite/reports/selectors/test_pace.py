"""The pace of a queue by hand: three days, two people, one item that is asked again, one that is excluded."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.reports import jobs
from evalsite.reports.actions.agreement import PEOPLE_BY_DAY
from evalsite.reports.selectors.annotations import (
    ErrorCount,
    PersonDay,
    PersonErrors,
    errors_of_queue,
    work_of_queue,
)
from evalsite.reports.services import snapshots
from evalsite.reports.services.annotators import BurnDownDay, pace_of_queue
from evalsite.reports.services.charts import burn_down_chart
from evalsite.review.models import Adjudication, ReviewItem
from evalsite.review.services.decisions import FinalWord, adjudicate_item
from evalsite.review.states import ErrorKind
from tests import factories
from tests.evalsite.review.views.clients import signed_in
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def test_pace_of_queue_adds_up_days_and_says_when_the_queue_is_finished() -> None:
    queue = factories.queue(quorum=2)
    items = [factories.review_item(queue=queue) for _ in range(5)]
    ada, ben = factories.user("ada", Role.ANNOTATOR), factories.user("ben", Role.ANNOTATOR)
    day = NOON.date()
    for item, person, days, seconds in (
        (items[0], ada, 0, 30.0),
        (items[1], ada, 0, 42.0),
        (items[0], ben, 1, 26.0),
        (items[4], ben, 1, 10.0),
    ):
        row = factories.annotation(item=item, label="1", annotator=person, seconds=60.0, active_seconds=seconds)
        type(row).objects.filter(pk=row.pk).update(created_at=NOON + timedelta(days=days))
    ReviewItem.objects.filter(pk=items[0].pk).update(answer_count=2, status="settled")
    ReviewItem.objects.filter(pk=items[1].pk).update(answer_count=1)
    ReviewItem.objects.filter(pk=items[4].pk).update(answer_count=1, status="excluded")

    pace = pace_of_queue(queue, work_of_queue(queue.pk), at=NOON + timedelta(days=2))

    # left: one of the second item, two each of the third and the fourth; 3 annotations
    # in 3 days are one a day; that of the excluded item is work, and no item needed it
    assert pace.people == (
        PersonDay(day + timedelta(days=1), "ben", 2, 0, 0.01),
        PersonDay(day, "ada", 2, 0, 0.02),
    )
    assert pace.burn_down == (BurnDownDay(day, 2, 6), BurnDownDay(day + timedelta(days=1), 1, 5))
    assert (pace.left, pace.per_day, pace.finishes_on) == (5, 1.0, day + timedelta(days=7))
    # 8 days from the one before the first are 400 units wide, 8 annotations 204 high
    chart = burn_down_chart(pace)
    assert chart is not None
    assert [line.path for line in chart.lines] == ["58.0,30.0 108.0,81.0 158.0,106.5", "158.0,106.5 458.0,234.0"]
    words = [f"{day + timedelta(days=n):%d %b}" for n in (-1, 1, 7)]
    assert [tick.at for tick in chart.x_ticks] == [58.0, 158.0, 458.0]
    assert [tick.text for tick in chart.x_ticks] == words
    assert next(iter(PEOPLE_BY_DAY.data(pace).rows)) == {
        "day": (day + timedelta(days=1)).isoformat(),
        "person": "ben",
        "items": 2,
        "cannot_judge": 0,
        "hours": 0.01,
        "seconds_per_item": 18.0,
    }


def test_annotations_that_nobody_is_left_to_give_do_not_keep_a_queue_from_its_last_day() -> None:
    ada = factories.user("ada", Role.ANNOTATOR)
    queue = factories.queue(quorum=2)
    queue.members.add(ada)
    items = [factories.review_item(queue=queue) for _ in range(3)]
    factories.annotation(item=items[0], label="1", annotator=ada)
    ReviewItem.objects.filter(pk=items[0].pk).update(answer_count=1)

    pace = pace_of_queue(queue, work_of_queue(queue.pk), at=NOON)

    # ada is asked for one each of two items, and nobody for the second of all three
    assert (pace.left, pace.stuck, pace.per_day, pace.finishes_on) == (5, 3, 1.0, NOON.date() + timedelta(days=2))
    chart = burn_down_chart(pace)
    assert chart is not None
    assert [line.path.split(",")[-1] for line in chart.lines] == ["64.0", "132.0"]  # of 6 left, 5 and then 3


def test_pace_of_queue_says_no_day_while_nobody_works() -> None:
    queue = factories.queue()
    factories.review_item(queue=queue)

    pace = pace_of_queue(queue, work_of_queue(queue.pk), at=NOON)

    assert (pace.left, pace.per_day, pace.finishes_on, pace.people, pace.burn_down) == (2, None, None, (), ())
    assert burn_down_chart(pace) is None


def test_the_pace_of_a_large_queue_is_computed_in_a_job_and_its_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    client, _ = signed_in("rita", Role.RESEARCHER)
    item = factories.review_item()
    factories.annotation(item=item, label="1", seconds=36.0)
    monkeypatch.setattr(snapshots, "INLINE_ROWS", 0)
    monkeypatch.setattr(jobs, "launch_report", lambda *_, **__: True)
    export = reverse("reports:pace-export", args=[item.queue.slug, "people", "csv"])

    pages = [client.get(item.queue.get_absolute_url()).text, client.get(export).text]
    jobs.compute_report("work", item.queue_id, {})
    later = client.get(item.queue.get_absolute_url()).text

    assert ["Being computed." in page for page in pages] == [True, False]
    assert ["no item has two annotations yet" in page for page in (pages[0], later)] == [False, True]
    assert ["hours of work so far" in page for page in (*pages, later)] == [False, False, True]
    assert "being computed" in pages[1]


def test_errors_of_queue_counts_ticks_by_kind_and_person_and_lists_what_guidelines_leave_open() -> None:
    rita, queue = factories.user("rita", Role.RESEARCHER), factories.queue()
    ada, ben = factories.user("ada", Role.ANNOTATOR), factories.user("ben", Role.ANNOTATOR)
    items = [factories.review_item(queue=queue, status="split") for _ in range(3)]
    for item in items:
        factories.annotation(item=item, label="1", annotator=ada)
        factories.annotation(item=item, label="-1", annotator=ben)
    ticks: tuple[list[str], ...] = (["slip"], ["silent", "ambiguous"], [])
    for item, label, ticked in zip(items, ("1", "1", "-1"), ticks, strict=True):
        word = FinalWord(label, "plainly", errors=ticked)
        adjudicate_item(item_id=item.pk, adjudicator=rita, word=word, at=NOON)

    errors = errors_of_queue(queue)

    counts = {"slip": 1, "misread": 0, "silent": 1, "ambiguous": 1, "taste": 0}
    assert errors.items == 3
    assert errors.kinds == tuple(ErrorCount(k, str(ErrorKind(k).label), n, n / 3) for k, n in counts.items())
    assert errors.people == (  # Ben's first two labels were changed, and Ada's last, of which nothing was ticked
        PersonErrors("ben", 3, 2, "ambiguous: 1, silent: 1, slip: 1"),
        PersonErrors("ada", 3, 1, ""),
    )
    assert [(row.id, row.label, row.reason) for row in errors.silent] == [(items[1].pk, "1", "plainly")]


def test_the_page_of_an_adjudication_stores_and_shows_what_was_ticked() -> None:
    client, _ = signed_in("rita", Role.RESEARCHER)
    item = factories.review_item(status="split")
    factories.annotation(item=item, label="1")
    factories.annotation(item=item, label="-1")
    url = reverse("review:item-adjudicate", args=[item.pk])

    shown = client.get(url).text
    client.post(url, {"decision": "l1", "reason": "plainly", "errors_made": ["silent", "slip"]})

    assert 'name="errors_made"' in shown
    assert Adjudication.objects.get().errors == ["silent", "slip"]
    assert "The guidelines do not say" in client.get(url).text
