"""Bins of a reliability diagram, by hand."""

from __future__ import annotations

import pytest

from judging.statistics.estimates import people_only
from judging.statistics.estimators.boards import shown_share
from judging.statistics.judge_quality import AuditedVerdict, ReliabilityBin, reliability


def test_reliability_bins_hold_twenty_cases_and_keep_equal_confidences_together() -> None:
    # 25 at .5 (5 right), 22 at .8 (all right), 3 at .9: too few for a bin of their own.
    verdicts = [AuditedVerdict(0.5, number < 5, number) for number in range(25)]
    verdicts += [AuditedVerdict(0.8, True, 100 + number) for number in range(22)]
    verdicts += [AuditedVerdict(0.9, False, 200 + number) for number in range(3)]

    low, high = reliability(verdicts)

    assert low == ReliabilityBin(0.5, 0.5, 0.5, shown_share([people_only([1.0] * 5 + [0.0] * 20)]).estimate)
    assert (high.low, high.high, high.agreement.value, high.agreement.n) == (0.8, 0.9, 22 / 25, 25)
    assert high.confidence == pytest.approx((22 * 0.8 + 3 * 0.9) / 25)


def test_reliability_averages_the_verdicts_of_a_case() -> None:
    verdicts = [AuditedVerdict(0.5, number % 2 == 0, number // 2) for number in range(40)]

    (only_bin,) = reliability(verdicts)

    assert (only_bin.agreement.value, only_bin.agreement.n) == (0.5, 20)


def test_reliability_of_few_cases_has_no_bins() -> None:
    assert reliability([AuditedVerdict(0.5, True, number % 19) for number in range(60)]) == ()


def test_reliability_of_many_cases_has_twenty_bins() -> None:
    bins = reliability([AuditedVerdict(number / 2000, number % 2 == 0, number) for number in range(2000)])

    assert [part.agreement.n for part in bins] == [100] * 20
