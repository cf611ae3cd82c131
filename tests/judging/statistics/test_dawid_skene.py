"""Estimated labels and error rates, against crowd-kit 1.4.2 (300 rounds without a tolerance), and on known truths."""

from __future__ import annotations

import numpy as np
import pytest

from judging.statistics.judge_quality import dawid_skene, estimated_rates
from judging.statistics.ratings import RatingTable, from_rows


def drawn_table(items: int, people: int, labels: int, seed: int) -> RatingTable:
    """Return labels of people who err more the further right they stand; the true label of item i is i modulo labels.

    The numbers come from the generator of ANSI C, so that other programs can make the same table.
    """
    state, rows = seed, []

    def draw(n: int) -> int:
        nonlocal state
        state = (1103515245 * state + 12345) % 2**31
        return (state >> 16) % n

    for item in range(items):
        row: list[str | None] = [
            str(item % labels) if draw(10) > person + 2 else str(draw(labels)) for person in range(people)
        ]
        if item % 4 == 0:
            row[item % people] = None
        rows.append(row)
    return from_rows(rows, [str(label) for label in range(labels)])


@pytest.mark.parametrize(
    ("shape", "shares", "right", "first"),
    [
        ((40, 3, 2, 1), [0.5036241, 0.4963759], [0.9926987, 0.7344577, 0.8382658], [0.3847745, 0.0, 0.9991676, 0.0]),
        (
            (60, 4, 3, 11),
            [0.2479034, 0.3668915, 0.3852051],
            [0.8673194, 0.8467721, 0.7427523, 0.4293008],
            [0.0069699, 0.026149, 0.0224243, 0.9933619],
        ),
        (
            (80, 5, 3, 5),
            [0.2504046, 0.4629673, 0.2866281],
            [0.7153036, 0.7236461, 0.6023573, 0.6674985, 0.5155771],
            [0.9572396, 0.0, 0.0, 0.7484218],
        ),
    ],
)
def test_dawid_skene_agrees_with_crowd_kit(
    shape: tuple[int, int, int, int], shares: list[float], right: list[float], first: list[float]
) -> None:
    found = dawid_skene(drawn_table(*shape), pseudo_count=0.0, tolerance=0.0)

    assert found.shares.tolist() == pytest.approx(shares, abs=1e-6)
    assert found.right.tolist() == pytest.approx(right, abs=1e-6)
    assert found.chances[:4, 0].tolist() == pytest.approx(first, abs=1e-6)


def test_pseudo_counts_keep_people_who_always_agree_from_being_infallible() -> None:
    table = from_rows([["a", "a"], ["b", "b"]] * 5, ["a", "b"])

    found = dawid_skene(table, tolerance=0.0)

    right, chance = 1.0, 1.0
    for _ in range(1000):  # by hand: five items a label, one pseudo-label over two
        right = (5 * chance + 0.5) / 6
        chance = right**2 / (right**2 + (1 - right) ** 2)
    assert found.shares.tolist() == pytest.approx([0.5, 0.5])
    assert found.right.tolist() == pytest.approx([right, right])
    assert 0.9 < right < 0.92


def test_a_minority_of_reliable_people_outweighs_a_majority_that_answers_at_random() -> None:
    draw = np.random.default_rng(2)
    truth = draw.integers(0, 2, 400)
    codes = np.array([truth, truth, *draw.integers(0, 2, (3, 400))]).T
    table = RatingTable(tuple(map(str, range(400))), ("ada", "ben", "rex", "tim", "zoe"), ("a", "b"), codes)

    found = estimated_rates(table, seed=0)

    majority = table.counts().argmax(axis=1)
    assert (majority == truth).mean() < 0.9
    assert (found.labels.chances.argmax(axis=1) == truth).all()
    assert [round(row.value or 0, 1) for row in found.right] == [1.0, 1.0, 0.5, 0.5, 0.5]
    assert all((row.low or 0) <= (row.value or 0) <= (row.high or 0) for row in (*found.right, *found.shares))
    assert [row.n for row in found.right] == [400] * 5
    assert found.resamples == 200


def test_intervals_hold_the_share_of_right_labels_of_each_person() -> None:
    draw = np.random.default_rng(8)
    rates, inside = (0.95, 0.8, 0.65, 0.75), 0
    for trial in range(16):
        truth = draw.integers(0, 3, 150)
        wrong = (truth + draw.integers(1, 3, (4, 150))) % 3
        codes = np.where(draw.random((4, 150)) < np.array(rates)[:, None], truth, wrong).T
        table = RatingTable(tuple(map(str, range(150))), ("a", "b", "c", "d"), ("0", "1", "2"), codes)
        found = estimated_rates(table, seed=trial)
        inside += sum((row.low or 0) <= rate <= (row.high or 0) for row, rate in zip(found.right, rates, strict=True))

    assert inside / 64 > 0.88
