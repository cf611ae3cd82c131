"""The call ledger in columns."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from evalsite.reports.selectors import spend
from judging.judges.replies.reply_rows import UNPRICED
from judging.judges.spend_rows import NOBODY
from judging.models import PastVerdict
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db
DAY = NOON.toordinal()


def test_read_called_returns_every_call_by_its_key() -> None:
    run = factories.run()
    paid = factories.call(run=run, cost=Decimal("0.000123"), cached_tokens=60, reasoning_tokens=4)
    failed = factories.call(status="failed", cost=None, prompt_tokens=None, completion_tokens=None)

    # the last column says whether it failed
    assert spend.read_called().tolist() == [
        (paid.pk, run.pk, paid.endpoint_id, DAY, 100, 10, 60, 4, 123, False),
        (failed.pk, NOBODY, failed.endpoint_id, DAY, 0, 0, 0, 0, UNPRICED, True),
    ]


def test_read_used_returns_the_calls_of_verdicts_and_of_their_earlier_tries() -> None:
    verdict = factories.verdict(call_ids=[7, 8])
    PastVerdict.objects.create(verdict=verdict, status="unparsed", call_ids=[5], created_at=NOON, superseded_at=NOON)

    of_verdict = (4 * verdict.pk, verdict.evaluator_id, verdict.run_id, DAY)

    assert sorted(spend.read_used().tolist()) == [(key, *of_verdict) for key in (5, 7, 8)]


def test_read_used_leaves_out_debates_without_a_run() -> None:
    factories.statement(call_ids=[7])

    assert spend.read_used().tolist() == []


def test_day_of_is_the_day_of_the_sites_zone(settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Kathmandu"  # 5:45 ahead: 18:15 is midnight there
    spend.day_of.cache_clear()
    for minute in (14, 15):
        factories.call(finished_at=datetime(2026, 1, 5, 18, minute, 59, tzinfo=UTC))

    days = spend.read_called()["days"].tolist()
    spend.day_of.cache_clear()

    assert [date.fromordinal(day) for day in days] == [date(2026, 1, 5), date(2026, 1, 6)]


def test_spend_version_differs_once_a_call_was_made_or_reused() -> None:
    versions = [spend.spend_version()]
    factories.call(finished_at=NOON)
    versions.append(spend.spend_version())
    run = factories.run()
    versions.append(spend.spend_version())
    run.calls_reused = 1
    run.save()
    versions.append(spend.spend_version())

    assert len(set(versions)) == 4
