"""The quick mode of the coverage bench, and that it sees intervals that are too narrow."""

from __future__ import annotations

import pytest

from judging.statistics.estimators import strata
from judging.statistics.intervals import t_quantile
from tests.bench.bench_coverage import PARTS, cells_of, measure, report

pytestmark = pytest.mark.django_db
BOARDS = 7


@pytest.mark.parametrize("part", PARTS)
def test_figures_hold_the_truth(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    missed = report(
        [measure(cell, number, boards=BOARDS, again=1) for number, cell in enumerate(cells_of(part, quick=True))]
    )

    assert missed == [], capsys.readouterr().out


def test_intervals_of_half_the_width_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strata, "t_quantile", lambda *arguments: t_quantile(*arguments) / 2)

    missed = report([measure(cells_of("boards", quick=True)[0], 0, boards=BOARDS, again=1)])

    assert any(word.startswith("Leaderboard: corrected") for word in missed)
