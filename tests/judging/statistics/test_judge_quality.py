"""Judge quality: positions, replies, and what people change after seeing a verdict."""

from __future__ import annotations

import pytest

from judging.statistics.estimates import Estimate, share_of
from judging.statistics.judge_quality import anchoring_effect, parsed_share, position_report


def test_position_report_counts_flips_and_pull_of_the_first_place() -> None:
    # Pairs: (A, A) consistent, (A, B) flipped, (tie, tie) consistent, the last unreadable.
    # Decided verdicts: in order A A A(last) -> first place 3 of 3; swapped A B -> B is shown first: 1 of 2.
    consistency, first_position = position_report([1, 1, 0, 1], [1, -1, 0, None])

    # the first pair votes for the first place once of twice, the second twice of twice, the fourth once of once
    few = "Too few cases for an interval: 3 of 20."
    assert consistency == share_of(2, 3)
    assert first_position == Estimate(2.5 / 3, None, None, 3, few)


def test_position_report_has_an_interval_where_every_verdict_is_for_the_first_place() -> None:
    _, rate = position_report([1] * 20, [-1] * 20)

    # all 20 rise from one half: the score interval of 20 of 20, whose root is 20 / (20 + z²) = .838875, from 0 to 1
    assert rate.value == rate.high == 1
    assert rate.low == pytest.approx((1 + 0.677750) / 2, abs=1e-6)


def test_parsed_share_counts_replies_of_every_status() -> None:
    assert parsed_share({"ok": 2, "repaired": 1, "refused": 1, "unparsed": 1, "failed": 1}) == share_of(3, 6)


def test_anchoring_effect_counts_moves_toward_and_away_from_the_judge() -> None:
    # Moved to the judge; stayed off the judge; left the judge; no verdict but changed.
    effect = anchoring_effect(["a", "a", "b", "a"], ["b", "a", "a", "b"], ["b", "b", "b", None])

    assert effect == (share_of(3, 4), share_of(1, 2), share_of(1, 1))


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
def test_anchoring_effect_tells_every_move_apart(
    move: str, revised: tuple[int, int], toward: tuple[int, int], away: tuple[int, int]
) -> None:
    blind, final, judge = MOVES[move]

    assert anchoring_effect([blind], [final], [judge]) == (share_of(*revised), share_of(*toward), share_of(*away))


def test_anchoring_effect_of_all_moves_adds_them_up() -> None:
    blind, final, judge = zip(*MOVES.values(), strict=True)

    revised, toward, away = anchoring_effect(blind, final, judge)

    # 4 of 7 changed; of the 3 that differed 1 followed; of the 2 that agreed 1 left
    assert (revised.value, toward.value, away.value) == (4 / 7, 1 / 3, 1 / 2)
    # 1 of 3: (1 - p)^3 + 1.5 p (1 - p)² is .975 at p = .016668
    assert toward == share_of(1, 3)
    assert toward.low == pytest.approx(0.016668, abs=1e-6)


def test_anchoring_effect_of_nobody_is_undefined() -> None:
    assert [share.value for share in anchoring_effect([], [], [])] == [None, None, None]
