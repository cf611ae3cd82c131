"""Why annotators disagreed, counted by hand over two adjudicated items."""

from __future__ import annotations

import pytest
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.reports.selectors.adjudications import ErrorCount, PersonErrors, errors_of_queue
from evalsite.review.models import Adjudication
from evalsite.review.services.items.decisions import FinalWord, adjudicate_item
from evalsite.review.states import ErrorKind
from tests import factories
from tests.evalsite.review.views.clients import signed_in
from tests.factories import NOON

pytestmark = pytest.mark.django_db


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
