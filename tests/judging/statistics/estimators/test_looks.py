"""Figures that may be watched while labels arrive: intervals and p-values that hold at every look."""

from __future__ import annotations

import numpy as np
import pytest

from judging.statistics.estimates import (
    Inference,
    MeanKind,
    look_multiplier,
    look_p_value,
    make_stratum,
    people_only,
    shown_mean,
)
from judging.statistics.estimators.agreement import ComparedItem, share_equal, shown_kappa
from judging.statistics.estimators.boards import BoardData, paired_difference, system_mean
from judging.statistics.estimators.debates import DebatedPair, ranked_by_people, win_rate

LOOKS = (30, 50, 80, 120, 160, 200)


@pytest.mark.parametrize("n", [20, 60, 200])
def test_look_p_value_is_05_where_the_interval_ends_at_zero(n: int) -> None:
    reach = look_multiplier(n, 100)

    assert look_p_value(reach, 1.0, n=n, planned=100) == pytest.approx(0.05, abs=1e-9)
    assert look_p_value(-reach, 1.0, n=n, planned=100) == pytest.approx(0.05, abs=1e-9)
    assert look_p_value(2 * reach, 1.0, n=n, planned=100) < 0.001
    assert look_p_value(0.0, 1.0, n=n, planned=100) == 1.0
    assert (look_p_value(0.0, 0.0, n=n, planned=100), look_p_value(0.1, 0.0, n=n, planned=100)) == (1.0, 0.0)


def test_shown_mean_at_every_look_is_wider_and_starts_as_late() -> None:
    strata = [make_stratum([1.0, 0.0] * 25, [1.0, 0.0] * 20 + [0.0, 1.0] * 5, [1.0, 0.0] * 100)]

    once, always = shown_mean(strata), shown_mean(strata, planned=100)

    assert isinstance(once, Inference)
    assert isinstance(always, Inference)
    assert (always.point, always.error) == (once.point, once.error)
    assert 1.5 <= (always.high - always.low) / (once.high - once.low) <= 1.75  # 1.57 at n = 50 by the specification
    assert shown_mean([people_only([1.0] * 19)], planned=100) == shown_mean([people_only([1.0] * 19)])


def test_differences_of_equal_systems_are_told_apart_at_any_look_in_5_percent_of_boards() -> None:
    # 400 audits of 200 cases looked at six times, both systems right in 80%: with p-values for one look 15% are told
    # apart at some look. 3 standard errors of .05 are .033.
    random = np.random.default_rng(2)
    once = always = 0
    for _ in range(400):
        gaps = (random.random(200) < 0.8).astype(float) - (random.random(200) < 0.8)
        differences = [
            [paired_difference([people_only(gaps[:n], others=1000 - n)], planned=planned) for n in LOOKS]
            for planned in (0, 200)
        ]
        p_values = [min(look.p_value for look in row if isinstance(look, Inference)) for row in differences]
        once, always = once + (p_values[0] <= 0.05), always + (p_values[1] <= 0.05)

    assert once / 400 > 0.083
    assert always / 400 <= 0.083


def test_means_over_two_strata_hold_at_every_look_while_labels_arrive() -> None:
    # 300 audits, looked at eight times, of half of 120 cases, 70% of which a system gets right, and of 60 later ones,
    # 40% of which it gets right; so 60% of all. The judge is right in 90%. One look is not enough.
    random = np.random.default_rng(8)
    strata = np.repeat([0, 1], (120, 60))
    none = np.zeros((1, 180), dtype=bool)
    covered: dict[tuple[MeanKind, int], int] = {}
    for _ in range(300):
        people = (random.random(180) < np.array([0.7, 0.4])[strata]).astype(float)
        judge = np.where(random.random(180) < 0.1, 1 - people, people)
        drawn = np.concatenate([random.permutation(120)[:60], 120 + random.permutation(60)[:30]])
        order, is_drawn = random.permutation(drawn), np.isin(np.arange(180), drawn)
        for mode, planned in ((MeanKind.HUMAN, 0), (MeanKind.HUMAN, 90), (MeanKind.CORRECTED, 90)):
            means = []
            for n in range(20, 91, 10):
                labels = np.where(np.isin(np.arange(180), order[:n]), people, np.nan)
                data = BoardData(judge[None], labels[None], is_drawn[None], none, planned=planned, strata=strata)
                means.append(system_mean(data, 0, mode).estimate)
            holds = all((mean.low or 0) <= 0.6 <= (mean.high or 0) for mean in means)
            covered[mode, planned] = covered.get((mode, planned), 0) + holds

    # 3 standard errors of .05 are .038
    assert covered[MeanKind.HUMAN, 0] / 300 < 0.95 - 0.038
    assert min(covered[MeanKind.HUMAN, 90], covered[MeanKind.CORRECTED, 90]) / 300 > 0.95 - 0.038


def test_agreement_and_kappa_are_wider_at_every_look() -> None:
    items = [
        ComparedItem(case, case % 2, case % 2 if case % 9 else 1 - case % 2, is_routed=False) for case in range(60)
    ]

    share = [share_equal(items, planned=planned).estimate for planned in (0, 60)]
    kappa = [shown_kappa(items, labels=2, planned=planned).estimate for planned in (0, 60)]

    for once, always in (share, kappa):
        assert always.value == once.value
        assert (always.low or 0) < (once.low or 0)


def test_rankings_by_people_are_wider_at_every_look() -> None:
    debates = []
    for case in range(40):
        for first, second in (("ant", "bee"), ("bee", "cow"), ("ant", "cow")):
            points = float(case % 10 != 0)
            debates.append(DebatedPair(case, first, second, points, points if case < 30 else None))

    once, always = ranked_by_people(debates), ranked_by_people(debates, planned=30)
    rates = [
        win_rate([debate for debate in debates if debate.first == "ant"], planned=planned).estimate
        for planned in (0, 30)
    ]

    for (name, strength, ranks), (same, wider, more) in zip(once.systems, always.systems, strict=True):
        assert (same, wider.value) == (name, strength.value)
        assert (wider.low or 0) < (strength.low or 0)
        assert more.last - more.first >= ranks.last - ranks.first
    assert (rates[1].low or 0) < (rates[0].low or 0)
