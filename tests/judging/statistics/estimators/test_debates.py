"""Win rates and rankings from debates that people were asked about for different reasons."""

from __future__ import annotations

import pytest

from judging.statistics.estimates import Estimate, TooFew, make_stratum, stratified_mean
from judging.statistics.estimators.boards import RankSet
from judging.statistics.estimators.debates import (
    DebatedPair,
    Finding,
    outcome_win_rate,
    ranked_by_outcomes,
    ranked_by_people,
    robustness,
    win_rate,
)
from judging.statistics.estimators.judge_bias import drift


def test_win_rate_weights_audited_debates_for_all_that_agreed() -> None:
    # 90 agreed on A, of 30 audited people confirm 27; 30 open ones, all given to B. Pooled: 45%; truth about 67.5%.
    debates = [DebatedPair(n, "A", "B", 1.0, 1.0 if n < 27 else 0.0) for n in range(30)]
    debates += [DebatedPair(n, "A", "B", 1.0, None) for n in range(30, 90)]
    debates += [DebatedPair(n, "A", "B", None, 0.0) for n in range(90, 120)]

    rate = win_rate(debates)

    agreed = make_stratum([1.0] * 27 + [0.0] * 3, [1.0] * 30, [1.0] * 60)
    assert rate == stratified_mean([agreed, make_stratum([0.0] * 30, [0.0] * 30)])
    assert rate.estimate.value == pytest.approx(0.675)


def test_outcome_win_rate_of_few_cases_has_no_interval() -> None:
    debates = [DebatedPair(n // 2, "A", "B", 1.0, None) for n in range(30)]

    assert outcome_win_rate(debates) == Estimate(1.0, None, None, 15, "Too few cases for an interval: 15 of 20.")


def test_ranked_by_people_counts_what_people_decided() -> None:
    # 60 debates without agreement that people decided 20 : 0 for the earlier letter of each pair.
    pairs = [("A", "B"), ("B", "C"), ("A", "C")]
    debates = [DebatedPair(n, *pair, None, 1.0) for pair in pairs for n in range(20)]

    ranking = ranked_by_people(debates)

    ranks = [(name, ranks) for name, _, ranks in ranking.systems]
    assert ranks == [("A", RankSet(1, 1)), ("B", RankSet(2, 2)), ("C", RankSet(3, 3))]


def test_ranked_by_people_refuses_while_debates_wait() -> None:
    ranking = ranked_by_people([DebatedPair(n, "A", "B", None, None if n == 3 else 1.0) for n in range(30)])

    assert ranking.systems == ()
    assert (
        ranking.reason
        == "Debates without agreement that wait for annotations: 1. A ranking by human labels needs all of them."
    )


def test_ranked_by_people_refuses_agreed_debates_without_an_audit() -> None:
    ranking = ranked_by_people([DebatedPair(n, "A", "B", 1.0, None) for n in range(30)])

    assert ranking.reason == "No agreed debate was audited, so it is unknown how annotators would have decided them."


def test_ranked_by_outcomes_names_groups_that_never_met() -> None:
    debates = [DebatedPair(n, "A", "B", 1.0, None) for n in range(30)]
    debates += [DebatedPair(n, "C", "D", 1.0, None) for n in range(30)]

    ranking = ranked_by_outcomes(debates)

    assert (ranking.systems, ranking.groups) == ((), (("A", "B"), ("C", "D")))


def test_ranked_by_outcomes_of_few_cases_has_no_intervals() -> None:
    debates = [DebatedPair(n, first, second, 1.0, None) for n in range(19) for first, second in ("AB", "BC", "AC")]

    systems = ranked_by_outcomes(debates).systems

    assert [(name, ranks, strength.low) for name, strength, ranks in systems] == [
        (name, RankSet(1, 3), None) for name in "ABC"
    ]
    assert systems[0][1].reason == "Too few cases for an interval: 19 of 20."


def test_ranked_by_people_needs_twenty_audited_cases() -> None:
    debates = [DebatedPair(n, "A", "B", 1.0, 1.0 if n < 19 else None) for n in range(60)]

    assert ranked_by_people(debates).reason == "Too few: 19 of 20 audited cases of debates that agreed."


@pytest.mark.parametrize(("lost", "verdict"), [(0, Finding.HOLDS), (30, Finding.FALLS)])
def test_robustness_of_100_pairs(lost: int, verdict: Finding) -> None:
    perturbed = [0.0] * lost + [1.0] * (100 - lost)

    assert robustness([[1.0] * 100], [perturbed])[0].verdict is verdict


def test_robustness_says_nothing_of_five_pairs_that_all_fell() -> None:
    # McNemar: p = .0625, which once was shown as "Holds".
    assert robustness([[1.0] * 5], [[0.0] * 5])[0].verdict is Finding.CANNOT_TELL


def test_robustness_under_five_perturbations_needs_fifty_pairs() -> None:
    drops = robustness([[1.0] * 45] * 5, [[1.0] * 45] * 5, margin=0.5)

    assert [drop.verdict for drop in drops] == [Finding.CANNOT_TELL] * 5
    assert max(drop.p_holds for drop in drops) < 0.025


def test_drift_needs_twenty_items() -> None:
    assert drift([1.0] * 19, [0.0] * 19) == TooFew(19, 20)
