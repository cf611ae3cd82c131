"""Means corrected for a judge's errors by Rogan and Gladen."""

from __future__ import annotations

import pytest

from judging.statistics.estimates import Estimate
from judging.statistics.estimators.judge_bias import rogan_gladen


def test_rogan_gladen_of_a_useless_judge_is_undefined() -> None:
    estimate, _, _ = rogan_gladen([True, False], [True, True], [True])

    assert estimate == Estimate(None, None, None, 2, "The judge is no better than chance.")


def test_rogan_gladen_counts_items_of_one_case_as_fewer() -> None:
    # Sensitivity 18 of 20 and specificity 16 of 20, each in ten cases of two items that go together: robust variances
    # 10/9 of .09 / 10 and .16 / 10. The 100 others are cases of their own: .24 / 100.
    human = [True] * 20 + [False] * 20
    judge = [True] * 18 + [False] * 2 + [True] * 4 + [False] * 16
    others = [True] * 60 + [False] * 40

    estimate, _, _ = rogan_gladen(human, judge, others, cases=[item // 2 for item in range(40)], other_cases=range(100))

    error = (0.0024 + (4 / 7) ** 2 * 0.01 + (3 / 7) ** 2 * 0.16 / 9) ** 0.5 / 0.7
    reach = 1.959963984540054 * error
    assert [estimate.value, estimate.low, estimate.high] == pytest.approx([4 / 7, 4 / 7 - reach, 4 / 7 + reach])


def test_rogan_gladen_tells_the_rates_of_labelled_items_where_all_items_are_labelled() -> None:
    estimate, sensitivity, specificity = rogan_gladen([True, True, False], [True, False, False], [])

    assert (sensitivity, specificity, estimate.value) == (0.5, 1.0, None)
    assert rogan_gladen([True, True], [True, False], [True])[1] == 0.5
