"""Runs of one label, against every sequence of a few labels."""

from __future__ import annotations

from itertools import product

import pytest

from judging.statistics.label_runs import chance_of_run, longest_run


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(("n", "length"), [(1, 1), (6, 2), (9, 3), (10, 10), (7, 5)])
def test_chance_of_run_is_that_of_all_sequences(n: int, length: int, share: float) -> None:
    chance = 0.0
    for sequence in product((True, False), repeat=n):
        run = longest_run([str(place) if not is_it else "it" for place, is_it in enumerate(sequence)])
        if run is not None and run[0] == "it" and run[1] >= length:
            ones = sum(sequence)
            chance += share**ones * (1 - share) ** (n - ones)

    assert chance_of_run(n, length, share) == pytest.approx(chance)


def test_a_run_longer_than_all_labels_has_no_chance() -> None:
    assert chance_of_run(3, 4, 1.0) == 0.0


def test_longest_run_is_the_first_of_equals_and_none_of_nothing() -> None:
    assert longest_run(["a", "b", "b", "c", "c"]) == ("b", 2)
    assert longest_run([]) is None
