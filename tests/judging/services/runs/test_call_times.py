"""How long calls take at a latency and within rate limits."""

from __future__ import annotations

import pytest

from judging.selectors.targets import target_of
from judging.services.runs.call_times import latency_of, seconds_at
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("limits", "calls", "tokens", "in_turn", "seconds"),
    [
        ({}, 10, 5000, 1, 9.0),  # 3 steps of 4, 4 and 2 calls, 3 s each
        ({}, 10, 5000, 5, 15.0),  # of each conversation, 5 wait for one another
        ({"requests_per_minute": 3}, 10, 5000, 1, 180.0),  # 3 at once, 3 after each of 2 minutes, the last after 3
        ({"tokens_per_minute": 1000}, 10, 5000, 1, 240.0),  # 1,000 at once, and 4,000 in 4 minutes
        ({"requests_per_minute": 3, "tokens_per_minute": 1000}, 10, 2000, 1, 180.0),  # the stricter one
        ({"requests_per_minute": 3}, 0, 0, 5, 0.0),
    ],
)
def test_seconds_at_takes_the_longest_of_steps_and_limits(
    limits: dict[str, int], calls: int, tokens: int, in_turn: int, seconds: float
) -> None:
    target = target_of(factories.endpoint(max_concurrency=4, **limits))

    estimated = seconds_at(target, latency=3.0, calls=calls, tokens=tokens, threads=50, in_turn=in_turn)

    assert estimated == seconds


@pytest.mark.parametrize(
    ("tested", "latency"),
    [({"works": True, "seconds": 2.5}, 2.5), ({"works": False, "seconds": 9.0}, None), ({}, None)],
)
def test_latency_of_falls_back_to_a_test_that_worked(tested: dict[str, object], latency: float | None) -> None:
    assert latency_of(target_of(factories.endpoint(last_test=tested))) == latency
