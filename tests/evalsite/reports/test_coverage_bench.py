"""The quick mode of the coverage bench."""

from __future__ import annotations

import pytest

from tests.bench.bench_coverage import QUICK, measure


@pytest.mark.django_db
def test_intervals_of_the_leaderboard_hold_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    missed = measure(QUICK, boards=8)

    assert missed == [], capsys.readouterr().out
