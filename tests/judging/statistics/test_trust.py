"""Corrected means and judge quality."""

from __future__ import annotations

import pytest

from judging.statistics.estimates import Estimate
from judging.statistics.estimators.rogan_gladen import rogan_gladen
from judging.statistics.intervals import share_of
from judging.statistics.judge_quality import (
    AnchoringEffect,
    anchoring_effect,
    position_report,
    reply_rates,
)


def test_rogan_gladen_of_a_useless_judge_is_undefined() -> None:
    found = rogan_gladen([True, False], [True, True], [True])

    assert found.estimate == Estimate(None, None, None, 2, "The judge is no better than chance.")


def test_rogan_gladen_counts_items_of_one_case_as_fewer() -> None:
    # Sensitivity 18 of 20 and specificity 16 of 20, each in ten cases of two items that go together: robust variances
    # 10/9 of .09 / 10 and .16 / 10. The 100 others are cases of their own: .24 / 100.
    human = [True] * 20 + [False] * 20
    judge = [True] * 18 + [False] * 2 + [True] * 4 + [False] * 16
    others = [True] * 60 + [False] * 40

    found = rogan_gladen(human, judge, others, cases=[item // 2 for item in range(40)], other_cases=range(100)).estimate

    error = (0.0024 + (4 / 7) ** 2 * 0.01 + (3 / 7) ** 2 * 0.16 / 9) ** 0.5 / 0.7
    reach = 1.959963984540054 * error
    assert [found.value, found.low, found.high] == pytest.approx([4 / 7, 4 / 7 - reach, 4 / 7 + reach])


def test_position_report_counts_flips_and_pull_of_the_first_place() -> None:
    # Pairs: (A, A) consistent, (A, B) flipped, (tie, tie) consistent, the last unreadable.
    # Decided verdicts: in order A A A(last) -> first place 3 of 3; swapped A B -> B is shown first: 1 of 2.
    found = position_report([1, 1, 0, 1], [1, -1, 0, None])

    # the first pair votes for the first place once of twice, the second twice of twice, the fourth once of once
    few = "Too few cases for an interval: 3 of 20."
    assert found.consistency == share_of(2, 3)
    assert found.first_position_rate == Estimate(2.5 / 3, None, None, 3, few)


def test_position_report_has_an_interval_where_every_verdict_is_for_the_first_place() -> None:
    found = position_report([1] * 20, [-1] * 20).first_position_rate

    # all 20 rise from one half: the score interval of 20 of 20, whose root is 20 / (20 + z²) = .838875, from 0 to 1
    assert found.value == found.high == 1
    assert found.low == pytest.approx((1 + 0.677750) / 2, abs=1e-6)


def test_reply_rates_share_one_denominator() -> None:
    found = reply_rates(["ok", "repaired", "refused", "unparsed", "failed", "ok"])

    assert (found.parsed, found.refused, found.unparsed, found.failed) == (share_of(3, 6), *[share_of(1, 6)] * 3)


def test_sway_counts_moves_toward_and_away_from_the_judge() -> None:
    # Moved to the judge; stayed off the judge; left the judge; no verdict but changed.
    found = anchoring_effect(["a", "a", "b", "a"], ["b", "a", "a", "b"], ["b", "b", "b", None])

    assert found == AnchoringEffect(revised=share_of(3, 4), toward=share_of(1, 2), away=share_of(1, 1))


# (blind, final, judge): every way in which an answer, its revision and a verdict can stand to each other
MOVES: dict[str, tuple[str, str, str | None]] = {
    "differed, followed the judge": ("a", "b", "b"),
    "differed, stayed": ("a", "a", "b"),
    "differed, went to a third label": ("a", "c", "b"),
    "agreed, stayed": ("b", "b", "b"),
    "agreed, left": ("b", "a", "b"),
    "no verdict, stayed": ("a", "a", None),
    "no verdict, changed": ("a", "b", None),
}


@pytest.mark.parametrize(
    ("move", "revised", "toward", "away"),
    [
        ("differed, followed the judge", (1, 1), (1, 1), (0, 0)),
        ("differed, stayed", (0, 1), (0, 1), (0, 0)),
        ("differed, went to a third label", (1, 1), (0, 1), (0, 0)),
        ("agreed, stayed", (0, 1), (0, 0), (0, 1)),
        ("agreed, left", (1, 1), (0, 0), (1, 1)),
        ("no verdict, stayed", (0, 1), (0, 0), (0, 0)),
        ("no verdict, changed", (1, 1), (0, 0), (0, 0)),
    ],
)
def test_sway_tells_every_move_apart(
    move: str, revised: tuple[int, int], toward: tuple[int, int], away: tuple[int, int]
) -> None:
    blind, final, judge = MOVES[move]

    assert anchoring_effect([blind], [final], [judge]) == AnchoringEffect(
        share_of(*revised), share_of(*toward), share_of(*away)
    )


def test_sway_of_all_moves_adds_them_up() -> None:
    blind, final, judge = zip(*MOVES.values(), strict=True)

    found = anchoring_effect(blind, final, judge)

    # 4 of 7 changed; of the 3 that differed 1 followed; of the 2 that agreed 1 left
    assert (found.revised.value, found.toward.value, found.away.value) == (4 / 7, 1 / 3, 1 / 2)
    # 1 of 3: (1 - p)^3 + 1.5 p (1 - p)² is .975 at p = .016668
    assert found.toward == share_of(1, 3)
    assert found.toward.low == pytest.approx(0.016668, abs=1e-6)


def test_sway_of_nobody_is_undefined() -> None:
    assert anchoring_effect([], [], []).toward.value is None
