"""Marked parts of texts, and the F1 of two people over characters. It loads no numpy: pages need it at their start.

Everything is counted in characters, as code points: where one mark ends and the next begins does not matter, only which
label a character has. Marks of one person do not overlap and come in the order of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

UNMARKED = ""


class Mark(NamedTuple):
    """A marked part of a text: the characters from `start` to `end`, the end exclusive, and their label."""

    start: int
    end: int
    label: str


def stretches(people: Sequence[Sequence[Mark]], length: int = 0) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the parts of a text between any two ends of marks, with the label that each person gives them.

    `length` is that of the text; without it the part after the last mark is left out.
    """
    ends = sorted({0, length, *(end for marks in people for mark in marks for end in mark[:2])})
    places = [0] * len(people)
    for start, end in pairwise(ends):
        labels = []
        for person, marks in enumerate(people):
            while places[person] < len(marks) and marks[places[person]].end <= start:
                places[person] += 1
            mark = marks[places[person]] if places[person] < len(marks) else None
            labels.append(mark.label if mark is not None and mark.start <= start else UNMARKED)
        yield start, end, labels


def f1_of(first: Sequence[Mark], second: Sequence[Mark]) -> float:
    """Return the F1 of two people over the characters that both give the same label, in [0, 1].

    F1 = 2 c / (a + b): a and b characters marked by each, c of them with the same label. 1 where neither marks any.
    """
    marked = sum(mark.end - mark.start for marks in (first, second) for mark in marks)
    same = sum(end - start for start, end, (a, b) in stretches((first, second)) if a == b != UNMARKED)
    return 2 * same / marked if marked else 1.0


def mean_f1_of(people: Sequence[Sequence[Mark]]) -> float | None:
    """Return the mean F1 over all pairs of people; None with fewer than two."""
    values = [f1_of(first, second) for first, second in combinations(people, 2)]
    return sum(values) / len(values) if values else None
