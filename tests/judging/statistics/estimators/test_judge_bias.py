"""The regression of (verdict - label), by hand, against statsmodels and by simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from statsmodels.regression.linear_model import WLS
from statsmodels.stats.multitest import multipletests

from judging.statistics.estimators.judge_bias import BiasRow, Effect, Property, judge_bias

LENGTH, POSITION, FAMILY, FORMATTING = Property


def drawn_rows(
    n: int, *, seed: int = 1, per_case: int = 1, length_effect: float = 0.0, pairs: bool = False
) -> list[BiasRow]:
    """Return verdicts that err by chance, plus `length_effect` for each 100 tokens."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        tokens = float(random.lognormal(5, 0.6))
        noise = float(random.choice([-0.25, 0.0, 0.0, 0.25]))
        rows.append(
            BiasRow(
                case=number // per_case,
                difference=noise + length_effect * tokens / 100,
                weight=float(random.choice([1.0, 4.0])),
                tokens=tokens,
                marks=float(random.poisson(4)),
                own_family=float(random.random() < 0.4),
                position=float(random.choice([-0.5, 0.5])) if pairs else None,
            )
        )
    return rows


def reference(rows: list[BiasRow], **fit: object) -> tuple[list[float], list[float], list[float]]:
    columns = [[row.tokens / 100, row.own_family, row.marks / 10] for row in rows]
    if rows[0].position is not None:
        columns = [[column[0], row.position, *column[1:]] for column, row in zip(columns, rows, strict=True)]
    design = np.column_stack([np.ones(len(rows)), np.array(columns, dtype=float)])
    model = WLS([row.difference for row in rows], design, weights=[row.weight for row in rows]).fit(**fit)
    return list(model.params[1:]), list(model.bse[1:]), list(model.pvalues[1:])


def errors_of(effects: tuple[Effect, ...], quantile: float) -> list[float]:
    return [((effect.estimate.high or 0) - (effect.estimate.low or 0)) / 2 / quantile for effect in effects]


def test_judge_bias_is_weighted_least_squares_with_hc3_errors() -> None:
    from scipy.stats import t

    rows = drawn_rows(80, pairs=True, length_effect=0.05)
    params, errors, p_values = reference(rows, cov_type="HC3", use_t=True)

    effects = judge_bias(rows)

    assert [effect.name for effect in effects] == [LENGTH, POSITION, FAMILY, FORMATTING]
    assert [effect.estimate.value for effect in effects] == pytest.approx(params, abs=1e-9)
    assert errors_of(effects, t.ppf(0.975, 75)) == pytest.approx(errors, abs=1e-9)
    assert [effect.p_value for effect in effects] == pytest.approx(p_values, abs=1e-9)
    holm = multipletests(p_values, method="holm")[1]
    assert [effect.holm_p for effect in effects] == pytest.approx(list(holm), abs=1e-9)


def test_judge_bias_leaves_cases_out_as_a_whole() -> None:
    from scipy.stats import t

    rows = drawn_rows(160, per_case=4)
    groups = [row.case for row in rows]
    kwds = {"groups": np.array(groups), "use_correction": False}
    params, errors, _ = reference(rows, cov_type="cluster-crv3", cov_kwds=kwds)

    effects = judge_bias(rows)

    assert {effect.estimate.n for effect in effects} == {40}
    assert [effect.estimate.value for effect in effects] == pytest.approx(params, abs=1e-9)
    assert errors_of(effects, t.ppf(0.975, 36)) == pytest.approx(errors, abs=1e-9)


def test_judge_bias_is_not_fooled_by_copies_of_a_case() -> None:
    rows = drawn_rows(40)

    once, copied = judge_bias(rows), judge_bias([replace(row) for row in rows for _ in range(10)])

    widths = [
        [(effect.estimate.high or 0) - (effect.estimate.low or 0) for effect in effects] for effects in (once, copied)
    ]
    assert widths[1] == pytest.approx(widths[0], rel=1e-6)


def test_judge_bias_does_not_take_twelve_faultless_verdicts_for_certain() -> None:
    # Twelve of 100 responses are formatted, and judged without a mistake, as 28% of such twelve are where the judge
    # fails a tenth of all. The others: 10 of 88. Least squares: sum of squares 10 - 100/88 = 8.864 over 98, so the
    # error of the difference is sqrt(.09045 (1/12 + 1/88)) = .0925; HC3 alone has .034, and p = .001.
    rows = [
        BiasRow(case, -1.0 if 12 <= case < 22 else 0.0, 1.0, 100.0, 10.0 if case < 12 else 0.0, None)
        for case in range(100)
    ]

    *_, formatting = judge_bias(rows)

    assert formatting.estimate.value == pytest.approx(10 / 88)
    assert errors_of((formatting,), 1.98447) == pytest.approx([0.0925], abs=1e-4)
    assert formatting.p_value == pytest.approx(0.222, abs=1e-3)


def test_judge_bias_finds_a_length_bias_and_nothing_else() -> None:
    length, *others = judge_bias(drawn_rows(300, length_effect=0.07))

    assert length.estimate.value == pytest.approx(0.07, abs=0.02)
    assert (length.holm_p or 0) < 0.001
    assert all(effect.holm_p is not None for effect in others)
    assert all((effect.holm_p or 0) > 0.01 for effect in others)


def test_judge_bias_says_too_few_below_30_cases() -> None:
    effects = judge_bias(drawn_rows(58, per_case=2))

    assert {effect.estimate.reason for effect in effects} == {"Too few: 29 of 30."}
    assert {effect.estimate.value for effect in effects} == {None}
    assert [effect.estimate.reason for effect in judge_bias([])] == ["Too few: 0 of 30."] * 3


def test_judge_bias_of_a_judge_that_is_never_wrong_has_no_zero_width() -> None:
    effects = judge_bias([replace(row, difference=0.0) for row in drawn_rows(50)])

    reason = "Judge and annotators agree on all 50 cases, so there is no difference to explain."
    assert {effect.estimate.reason for effect in effects} == {reason}


def test_judge_bias_leaves_out_what_these_responses_cannot_show() -> None:
    rows = [replace(row, own_family=float(case < 9), marks=row.tokens / 50) for case, row in enumerate(drawn_rows(60))]

    length, family, formatting = judge_bias(rows)
    unknown = judge_bias([replace(row, own_family=None) for row in rows])[1]

    assert length.estimate.is_defined
    assert family.estimate.reason == "Too few: 9 of 10 cases have a different value of this property."
    assert formatting.estimate.reason == "On these cases it cannot be separated from the other properties."
    assert unknown.estimate.reason == "The model family of the judge, or that of a system, is not known."


@pytest.mark.parametrize("per_case", [1, 5])
def test_judge_bias_intervals_cover(per_case: int) -> None:
    # Binary labels, a judge that errs in 20%, whole cases alike where they have several responses: no property has an
    # effect, so 95% of the intervals hold 0. 300 trials of three: 3 standard errors of .95 are .022.
    random = np.random.default_rng(11)
    covered = []
    for _ in range(300):
        rows = []
        for case in range(50):
            label = float(random.random() < 0.8)
            wrong, size = random.random() < 0.2, random.lognormal(5, 0.6)
            for _ in range(per_case):
                tokens = float(size * random.lognormal(0, 0.2))
                verdict = 1 - label if wrong else label
                marks, own_family = float(random.poisson(tokens / 40)), float(random.random() < 0.3)
                rows.append(BiasRow(case, verdict - label, 1.0, tokens, marks, own_family))
        covered += [
            (effect.estimate.low or 0) <= 0 <= (effect.estimate.high or 0)
            for effect in judge_bias(rows)
            if effect.estimate.is_defined
        ]

    assert np.mean(covered) >= 0.928
