"""Consensus over valid equal verdicts, and what ends a debate."""

from __future__ import annotations

import pytest

from debate.protocol.verdicts import (
    StopReason,
    agreed_since,
    consensus,
    is_stable,
    majority,
    most_frequent,
    stop_reason,
)


@pytest.mark.parametrize(
    ("votes", "agreed", "most"),
    [
        ((1, 1, 1), 1, 1),
        ((0, 0, 0), 0, 0),
        ((1, 1, None), None, 1),  # a missing verdict agrees with nothing
        ((None, None, None), None, None),
        ((1, None, None), None, None),
        ((1, 0, -1), None, None),
        ((1, 1, -1, -1), None, None),
        ((1,), None, 1),  # one agent is no debate
        ((), None, None),
    ],
)
def test_consensus_and_majority_count_only_valid_verdicts(
    votes: tuple[int | None, ...], agreed: int | None, most: int | None
) -> None:
    assert (consensus(votes), majority(votes)) == (agreed, most)


def test_is_stable_needs_every_agent_valid_and_unmoved() -> None:
    assert [is_stable((1, 0), (1, 0)), is_stable((1, 0), (1, 1)), is_stable((1, None), (1, None))] == [
        True,
        False,
        False,
    ]


def test_stop_reason_follows_the_rules() -> None:
    apart, moved, agreed = (1, 0, -1), (1, 1, -1), (1, 1, 1)

    assert [
        stop_reason([agreed], max_rounds=2),
        stop_reason([apart], max_rounds=2),
        stop_reason([apart], max_rounds=0),
        stop_reason([apart, moved, moved], max_rounds=2),
        stop_reason([apart, apart], max_rounds=2),
        stop_reason([apart, apart], max_rounds=2, on_stability=True),
        stop_reason([apart, moved], max_rounds=2, on_stability=True),
        stop_reason([agreed], max_rounds=2, on_consensus=False),
        stop_reason([agreed, agreed], max_rounds=1, on_consensus=False),
    ] == [
        StopReason.CONSENSUS,
        None,
        StopReason.ROUNDS,
        StopReason.ROUNDS,
        None,
        StopReason.STABILITY,
        None,
        None,
        StopReason.CONSENSUS,
    ]


def test_agreed_since_finds_where_the_final_agreement_began() -> None:
    assert [
        agreed_since([(1, 1)]),
        agreed_since([(1, 0), (1, 1), (1, 1)]),
        agreed_since([(1, 1), (1, 0), (1, 1)]),
        agreed_since([(1, 1), (0, 0)]),
        agreed_since([(1, 1), (1, 0)]),
        agreed_since([]),
    ] == [0, 1, 2, 1, None, None]


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ((1, 1, -1), 1),
        ((1, None, None), 1),
        ((1, -1), None),
        ((0, 0, 1, 1, -1), None),
        ((None, None), None),
        ((), None),
    ],
)
def test_most_frequent_needs_a_lead_of_its_own(votes: tuple[int | None, ...], expected: int | None) -> None:
    assert most_frequent(votes) == expected
