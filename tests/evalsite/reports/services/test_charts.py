"""Charts as geometry, worked out by hand."""

from __future__ import annotations

from evalsite.base.formats import SHARE, WINS, rating
from evalsite.reports.services.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Point,
    Series,
    draw,
    percent_axis,
    score_axis,
    thinned,
)


def test_percent_axis_has_round_ticks() -> None:
    assert percent_axis("Share").ticks == [(0.0, "0%"), (0.2, "20%"), (0.4, "40%")] + [
        (k * 0.2, f"{20 * k}%") for k in (3, 4, 5)
    ]
    assert [text for _, text in percent_axis("Share", high=0.23).ticks] == ["0%", "5%", "10%", "15%", "20%", "25%"]
    assert percent_axis("Share", high=0.23).high == 0.25


def test_an_axis_of_scores_begins_where_the_scale_does_unless_a_value_lies_below() -> None:
    ten, five = score_axis("Score", rating(1, 10)), score_axis("Score", rating(1, 5, zero=1))

    assert (ten.title, ten.low, ten.high) == ("Score, 1 to 10", 0.1, 1.0)
    assert ten.ticks == [(0.1, "1"), (0.2, "2"), (0.4, "4"), (0.6, "6"), (0.8, "8"), (1.0, "10")]
    assert (five.low, five.ticks) == (0.0, [(0.0, "1"), (0.25, "2"), (0.5, "3"), (0.75, "4"), (1.0, "5")])
    assert score_axis("Score", rating(1, 10), low=0.0).low == 0.0  # a case without a response
    assert score_axis("Score", SHARE) == score_axis("Score", WINS) == percent_axis("Score")
    below = score_axis("Score", SHARE, low=-0.3)  # a rubric that takes points away
    assert (below.low, below.high, [text for _, text in below.ticks][:3]) == (-0.5, 1.0, ["-50%", "0%", "50%"])


def test_draw_puts_values_between_the_margins_and_cuts_the_rest() -> None:
    points = [Point(0.0, 0.0), Point(1.0, 1.5, 0.5, 2.0, "high")]

    chart = draw("Title", percent_axis("X"), percent_axis("Y"), [Series("A", points, has_dots=True)])

    (line,) = chart.lines
    low, half, high = HEIGHT - BOTTOM, (TOP + HEIGHT - BOTTOM) / 2, TOP
    assert line.path == f"{float(LEFT)},{float(low)} {float(WIDTH - RIGHT)},{float(high)}"
    assert line.dots == (
        Point(LEFT, low, None, None, ""),
        Point(WIDTH - RIGHT, high, half, high, "high"),
    )


def test_thinned_keeps_both_ends() -> None:
    points = [Point(float(k), 0.0) for k in range(1000)]

    kept_points = thinned(points, 10)

    assert [point.x for point in kept_points] == [0.0, 111.0, 222.0, 333.0, 444.0, 555.0, 666.0, 777.0, 888.0, 999.0]
    assert thinned(points[:3], 10) == points[:3]
