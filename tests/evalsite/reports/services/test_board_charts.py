"""The chart of a leaderboard: where each mean stands, what it says, and what is left out."""

from __future__ import annotations

from typing import Any

from evalsite.reports.services.snapshots import figure
from evalsite.reports.services.suite_boards import LEFT, MAX_SYSTEMS, RIGHT, WIDTH, board_chart, rank_words
from judging.statistics.estimates import Estimate, MeanKind, undefined


def row(name: str, raw: float, *, corrected: Estimate | None = None) -> dict[str, Any]:
    few = undefined("Too few: 3 of 20 audited cases.")
    figures = {
        MeanKind.RAW: Estimate(raw, raw - 0.1, raw + 0.1, 40),
        MeanKind.HUMAN: few,
        MeanKind.CORRECTED: corrected or few,
    }
    return {
        "system": name,
        "figures": {mode.value: figure(estimate) for mode, estimate in figures.items()},
        "ranks": [1, 2],
        "decided": 3,
        "drawn": 30,
    }


def test_board_chart_draws_each_known_mean_on_one_axis() -> None:
    chart = board_chart(
        [row("ada", 0.6, corrected=Estimate(0.55, 0.5, 0.6, 30)), row("bob", 0.4)],
    )

    assert chart is not None
    ada, bob = chart.rows
    assert [mode for mode, _ in ada.dots] == ["raw", "corrected"]
    assert [mode for mode, _ in bob.dots] == ["raw"]
    # the axis goes from 0.3, the lower end of bob, to 0.7, the upper end of ada
    assert (bob.dots[0][1].low, ada.dots[0][1].high) == (LEFT, WIDTH - RIGHT)
    assert ada.dots[1][1].x == round(LEFT + (0.55 - 0.3) / 0.4 * (WIDTH - LEFT - RIGHT), 1)
    assert ada.dots[1][1].says == "ada, corrected: 55.0%, 50.0% to 60.0%"
    assert ada.says == "rank 1-2, 3 audited of 30"
    assert [tick.text for tick in chart.ticks] == ["30%", "40%", "50%", "60%", "70%"]


def test_board_chart_leaves_out_what_has_no_mean_and_what_does_not_fit() -> None:
    none = row("cy", 0.5)
    none["figures"]["raw"] = figure(undefined("no score"))

    many = board_chart([row(f"system {number}", 0.5) for number in range(MAX_SYSTEMS + 2)])

    assert board_chart([none]) is None
    assert many is not None
    assert (len(many.rows), many.left_out) == (MAX_SYSTEMS, 2)


def test_rank_words_name_all_ranks_that_a_system_may_have() -> None:
    assert [rank_words(ranks) for ranks in (None, [1, 1], [2, 4])] == ["", "1", "2-4"]
