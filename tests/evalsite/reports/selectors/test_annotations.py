"""The annotations of a queue as rating tables."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from evalsite.reports.selectors.annotations import period_starts


def test_period_starts_are_days_of_the_sites_zone(settings: Any) -> None:
    # 23:30 UTC on the fifth is half past midnight of the sixth in Vienna
    late = datetime(2026, 1, 5, 23, 30, tzinfo=UTC)
    settings.TIME_ZONE = "Europe/Vienna"
    in_vienna = period_starts(late, late)
    settings.TIME_ZONE = "UTC"

    assert (in_vienna, period_starts(late, late)) == ((date(2026, 1, 6),), (date(2026, 1, 5),))
