"""Recorded debates are stored in short transactions that nobody sees the rows of before the last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from debate.models import Agent, BatchDebate, BatchStatement, Debate, DebateSet, Statement
from debate.services.record_imports import open_written
from judging.models import BatchResponse, ImportBatch, Response
from judging.services.file_imports.import_batches import BatchLost
from judging.services.file_imports.staged_rubrics import unwatched
from tests.debate.recorded import store_records, use
from tests.debate.services.record_process import DEBATES, records
from tests.debate.services.test_record_imports import read
from tests.judging.services.file_imports.test_import_batches import writes_of_each_transaction
from tests.judging.services.own_site import OwnSite, own_site

MODULE = "tests.debate.services.record_process"
WHOLE = {
    "Suite": 1,
    "Response": 2 * DEBATES,
    "Rubric": 1,
    "DebateSet": 1,
    "Debate": DEBATES,
    "Agent": 3 * DEBATES,
    "Statement": 3 * DEBATES,
}


@pytest.fixture
def site(tmp_path: Path, own_database: str) -> Iterator[OwnSite]:
    with own_site(tmp_path, own_database) as made:
        yield made


@pytest.mark.backend_free  # as with other imports
def test_an_import_of_records_that_is_killed_shows_nothing_and_the_next_one_stores_it_whole(site: OwnSite) -> None:
    # Told to go on at cases 0 and 500, at responses 0, 500 and 1000, at the tree, at debates 0 and 500, and at
    # statements 0, 500, 1000 and 1500: killed at the third of these of statements.
    left = {"BatchCase": DEBATES, "BatchResponse": 1200, "BatchRubricItem": 1, "BatchDebate": DEBATES}
    with pytest.raises(AssertionError):  # no answer comes from a process that was killed
        site.ask("store", 11, module=MODULE)
    site.close()

    killed = site.ask("state", module=MODULE)
    sets = site.ask("store", 0, module=MODULE)

    assert killed == {"shown": {}, "unseen": {"ImportBatch": 1, "BatchStatement": 1000, **left}}
    assert sets == ["x vs y: reasoning, math"]
    assert site.ask("state", module=MODULE) == {"shown": WHOLE, "unseen": {}}


@pytest.mark.django_db(transaction=True)
def test_others_may_write_while_records_are_stored() -> None:
    found, open_transactions = records(), []

    def watch(*_: object) -> None:
        open_transactions.append(connection.in_atomic_block)

    with CaptureQueriesContext(connection) as captured:
        store_records(found, watch)

    assert open_transactions == [False] * 12
    assert max(writes_of_each_transaction(captured)) < 40  # the last one copies, however many debates there are
    assert Debate.objects.count() == DEBATES


@pytest.mark.django_db
def test_use_stores_nothing_where_the_responses_compared_were_replaced() -> None:
    with open_written(records=read(), watch=unwatched) as written:
        BatchResponse.objects.filter(system="x", case_key="math-2").update(text_hash="another")
        with pytest.raises(BatchLost, match="were replaced during the import"):
            use(written)

    shown = (DebateSet, Debate, Agent, Statement, Response)
    assert [model._default_manager.count() for model in shown] == [0] * 5
    assert [model._default_manager.count() for model in (ImportBatch, BatchDebate, BatchStatement)] == [0] * 3


@pytest.mark.django_db
def test_use_leaves_sets_as_they_are_that_somebody_stored_meanwhile() -> None:
    with open_written(records=read(), watch=unwatched) as written:
        first = store_records(read())
        second = use(written)

    assert (len(first), second["sets"]) == (1, 0)
    assert (DebateSet.objects.count(), Debate.objects.count(), Statement.objects.count()) == (1, 3, 12)
