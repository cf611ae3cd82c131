from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from evalsite.base.row_locks import lock_row
from judging.models import Judge
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
