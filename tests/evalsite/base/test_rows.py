"""Rows under a lock, and rows read page by page while others come and go."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from evalsite.base.rows import lock_row, row_pages
from judging.models import Judge, System
from tests import factories

pytestmark = pytest.mark.django_db


def _sql(*joined: str, no_key: bool = False) -> tuple[str, str]:
    """Return the model of a judge's endpoint, and the one query that it took to lock the judge and to read that."""
    judge = factories.judge()
    with (
        transaction.atomic(),
        CaptureQueriesContext(
            connection,
        ) as queries,
    ):
        model = lock_row(Judge, judge.pk, *joined, no_key=no_key).asked_endpoint.model
    (query,) = (entry["sql"] for entry in queries if entry["sql"].startswith("SELECT"))
    return model, query


def test_lock_row_reads_what_the_row_points_to_in_the_same_query() -> None:
    model, query = _sql("endpoint")

    assert (model, "judging_modelendpoint" in query) == (factories.endpoint().model, True)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL locks rows")
def test_lock_row_locks_the_row_alone() -> None:
    endings = [_sql("endpoint", no_key=no_key)[1].partition(" FOR ")[2] for no_key in (False, True)]

    assert endings == ['UPDATE OF "judging_judge"', 'NO KEY UPDATE OF "judging_judge"']


def test_lock_row_refuses_a_row_that_is_not_there() -> None:
    with transaction.atomic(), pytest.raises(Judge.DoesNotExist):
        lock_row(Judge, 404)


def test_row_pages_reads_each_page_when_the_one_before_is_done() -> None:
    _, second, _, fourth = (factories.system(name) for name in "abcd")
    names = []

    for page in row_pages(System.objects.exclude(pk=second.pk), 2):
        names.append([system.name for system in page])
        System.objects.filter(pk=fourth.pk).update(name="renamed")

    assert names == [["a", "c"], ["renamed"]]


def test_row_pages_ends_where_there_are_no_rows() -> None:
    assert list(row_pages(System.objects.all(), 2)) == []
