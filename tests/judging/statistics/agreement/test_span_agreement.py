"""Alpha over the characters of marked texts, worked out by hand and against the package krippendorff."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest

from judging.specs.types import Mark
from judging.statistics.agreement import (
    against_the_other_labels,
    character_alpha,
    character_coincidences,
)
from judging.statistics.estimates import ONE_UNIT, undefined
from tests.judging.statistics.texts.test_marked_texts import FIRST, SECOND

LABELS = ("minor", "major")


def test_alpha_of_one_text_by_hand() -> None:
    counts = character_coincidences((FIRST, SECOND), length=10, labels=LABELS)

    # unmarked by both 3 characters, minor by both 2, major by both 2, unmarked beside minor 2, beside major 1
    assert counts.tolist() == [[6, 2, 1], [2, 4, 0], [1, 0, 4]]
    # n = 20, totals 9 6 5; 1 - 19 * (20 - 14) / (400 - 81 - 36 - 25) = 1 - 114 / 258
    alpha = character_alpha([counts])
    assert alpha.value == pytest.approx(1 - 114 / 258)
    assert (alpha.low, alpha.high, alpha.n, alpha.reason) == (None, None, 1, ONE_UNIT)
    # minor against all else: 12 2 / 2 4, totals 14 6; 1 - 19 * 4 / (400 - 196 - 36)
    assert against_the_other_labels(counts, 1).tolist() == [[12, 2], [2, 4]]
    assert character_alpha([against_the_other_labels(counts, 1)]).value == pytest.approx(1 - 76 / 168)


def test_alpha_of_nothing_and_of_one_label_is_undefined() -> None:
    nothing = character_coincidences(((), ()), length=10, labels=LABELS)

    assert character_alpha([]) == undefined("No text was marked by two people or more.")
    assert character_alpha([nothing]) == undefined(
        "Every character has the same label, so agreement beyond chance has no meaning.", n=1
    )


def test_alpha_equals_the_package_over_characters_on_fifty_tables() -> None:
    random = np.random.default_rng(5)
    for _ in range(50):
        texts, columns = [], []
        for _ in range(int(random.integers(1, 5))):
            length, people = int(random.integers(5, 40)), int(random.integers(2, 5))
            marked = [tuple(marks_drawn(random, length)) for _ in range(people)]
            texts.append(character_coincidences(marked, length=length, labels=LABELS))
            table = np.full((4, length), np.nan)
            for row, marks in enumerate(marked):
                table[row] = 0
                for mark in marks:
                    table[row, mark.start : mark.end] = 1 + LABELS.index(mark.label)
            columns.append(table)
        expected = krippendorff.alpha(np.hstack(columns), value_domain=[0, 1, 2], level_of_measurement="nominal")
        assert character_alpha(texts).value == pytest.approx(expected, abs=1e-12)


def marks_drawn(random: np.random.Generator, length: int) -> list[Mark]:
    ends = sorted(random.choice(length, size=4, replace=False).tolist())
    return [Mark(start, end, LABELS[int(random.integers(2))]) for start, end in (ends[:2], ends[2:])]


def test_the_interval_is_of_resampled_texts() -> None:
    same = character_coincidences((FIRST, FIRST), length=10, labels=LABELS)
    other = character_coincidences((FIRST, ()), length=10, labels=LABELS)

    alpha = character_alpha([same] * 5 + [other] * 5)

    # texts alone: all alike 1; all unlike n = 20, agreed 8, totals 14 4 2: 1 - 19 * 12 / (400 - 216)
    assert alpha.low is not None
    assert alpha.high is not None
    assert alpha.value is not None
    assert 1 - 19 * 12 / 184 < alpha.low < alpha.value < alpha.high < 1
    assert character_alpha([same] * 5 + [other] * 5) == alpha  # the same texts are drawn
