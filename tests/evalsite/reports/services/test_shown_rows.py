"""What the pages of reports add to kept figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evalsite.reports.services.people import PeoplePair, RaterFigures, compute_agreement, pair_matrix
from judging.statistics.estimates import Estimate, undefined
from tests import factories


def pair(first: str, second: str, n: int) -> PeoplePair:
    return PeoplePair(first, second, Estimate(0.5, None, None, n), Estimate(0.0, None, None, n))


@pytest.mark.django_db
def test_pair_matrix_marks_coefficients_of_few_shared_items() -> None:
    raters = [RaterFigures(name, 0, undefined(""), 0) for name in ("ada", "bob", "cyd")]
    pairs = [pair("ada", "bob", 2), pair("ada", "cyd", 4), pair("bob", "cyd", 5)]
    report = replace(compute_agreement(factories.queue().pk, {}).content, raters=raters, pairs=pairs)

    rows = pair_matrix(report)

    few = {(name, other): pair.is_few for name, cells in rows for other, pair in cells if pair}
    assert few == {
        ("ada", "bob"): True,
        ("ada", "cyd"): True,
        ("bob", "ada"): True,
        ("bob", "cyd"): False,
        ("cyd", "ada"): True,
        ("cyd", "bob"): False,
    }
