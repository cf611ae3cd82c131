"""Agreement with people from routed and audited items, one response a case and several."""

from __future__ import annotations

import numpy as np
import pytest

from judging.statistics.estimates import Inference, TooFew, make_stratum
from judging.statistics.estimators.agreement import ComparedItem, KappaInference, share_equal, shown_kappa
from judging.statistics.estimators.boards import shown_share


def agreed(case: int, *, is_equal: bool | None, is_routed: bool = False) -> ComparedItem:
    people = None if is_equal is None else int(is_equal)
    return ComparedItem(case, 1, people, is_routed)


def test_share_equal_weights_the_audit_for_all_that_was_not_routed() -> None:
    # 90 items the judge was sure of, 30 of them drawn, 27 right; 10 routed ones, all wrong. Pooled: 67.5%.
    drawn = [agreed(n, is_equal=n >= 3) for n in range(30)]
    others = [agreed(n, is_equal=None) for n in range(30, 90)]
    routed = [agreed(n, is_equal=False, is_routed=True) for n in range(90, 100)]

    share = share_equal([*drawn, *others, *routed])

    labels = [0.0] * 3 + [1.0] * 27
    strata = [make_stratum(labels, [0.0] * 30, [0.0] * 60), make_stratum([0.0] * 10, [0.0] * 10)]
    assert share == shown_share(strata)
    assert isinstance(share, Inference)
    assert share.point == pytest.approx(0.81)


def test_share_equal_takes_the_case_as_its_unit() -> None:
    items = [agreed(case, is_equal=case % 2 == 0) for case in range(20) for _ in range(5)]

    share = share_equal(items)

    assert share == shown_share([make_stratum([1.0, 0.0] * 10, [0.0] * 20)])


def test_share_equal_leaves_out_items_without_a_verdict() -> None:
    items = [agreed(case, is_equal=True) for case in range(19)] + [ComparedItem(99, None, 1, False)]

    assert share_equal(items) == TooFew(19, 20)


def test_share_equal_of_partly_routed_cases_is_unbiased() -> None:
    # Two items a case: the first is routed and right in 30%, the second is right in 90%. Truth .6, 40 of 200 drawn.
    random = np.random.default_rng(4)
    points, covered = [], 0
    for _ in range(300):
        right = random.random((200, 2)) < (0.3, 0.9)
        items = [agreed(case, is_equal=bool(right[case, 0]), is_routed=True) for case in range(200)]
        items += [agreed(case, is_equal=bool(right[case, 1]) if case < 40 else None) for case in range(200)]
        share = share_equal(items)
        assert isinstance(share, Inference)
        points.append(share.unbounded)
        covered += share.low <= 0.6 <= share.high

    assert np.mean(points) == pytest.approx(0.6, abs=0.01)
    assert covered >= 0.93 * 300


def test_shown_kappa_needs_thirty_cases() -> None:
    assert shown_kappa([agreed(n, is_equal=True) for n in range(29)], labels=2) == TooFew(29, 30)


def test_shown_kappa_tells_nothing_of_unrouted_verdicts_without_an_audit() -> None:
    routed = [agreed(n, is_equal=n % 3 > 0, is_routed=True) for n in range(60)]
    others = [agreed(n, is_equal=None) for n in range(60, 100)]

    assert shown_kappa([*routed, *others], labels=2) == TooFew(0, 30)
    alone = shown_kappa(routed, labels=2)
    assert isinstance(alone, KappaInference)
    assert (alone.n, alone.point) == (60, 0.0)  # the judge says the same of all


def test_shown_kappa_of_one_label_is_undefined() -> None:
    kappa = shown_kappa([agreed(n, is_equal=True) for n in range(30)], labels=2)

    assert kappa.estimate.value is None
    assert kappa.estimate.reason == "Everyone chose the same label; chance-corrected agreement is undefined."
