"""How fast a run is, from the points that its workers leave."""

from __future__ import annotations

import pytest

from judging.selectors.runs import rate_per_minute
from tests.factories import NOON

pytestmark = pytest.mark.backend_free

START = NOON.timestamp() - 40


@pytest.mark.parametrize(
    ("points", "rate"),
    [
        ([], None),
        ([(0, 5)], None),
        ([(0, 5), (10, 5)], None),
        ([(0, 10), (30, 40)], 60.0),
        # 96 tasks of rules and 73 reused replies at once, then one call in two seconds
        ([(0, 0), (1, 96), (2, 169), (4, 170), (6, 171), (8, 172), (10, 173), (12, 174)], 30.0),
        ([(0, 1), (20, 2), (21, 3), (22, 4)], 60.0),  # a wait of 20 seconds
        ([(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 2), (6, 3)], 20.0),  # three calls a task
        ([(0, 0), (0, 4), (4, 6)], 30.0),  # two points of one moment
        ([(0, 480), (5, 470), (8, 471), (11, 472)], 20.0),  # ten were retried
        ([(-60, 0), (-50, 400), (0, 500), (4, 502)], 30.0),  # only the last minute counts
    ],
)
def test_rate_per_minute_is_that_of_most_of_the_last_minute(
    points: list[tuple[float, int]], rate: float | None
) -> None:
    pace = [(START + second, ended) for second, ended in points]

    assert rate_per_minute(pace, at=NOON) == rate
