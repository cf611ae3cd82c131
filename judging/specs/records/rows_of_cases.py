"""What several rows of one case say together: the ranks of its responses, and which is the best or the worst."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from evalsite.base.types import as_text
from judging.specs.records.neutral import Choice, Giver, PreferenceRecord
from judging.specs.records.parts import Row


@dataclass(slots=True)
class Ranks:
    """The ranks of a table, by the case, who gave them and the criterion: of each two the lower one is better."""

    given: dict[tuple[int, str, str], list[tuple[float, PreferenceRecord]]] = field(default_factory=dict)

    def add(self, case: int, rank: float, said: PreferenceRecord) -> None:
        """Take the rank of the first response of a record, which says who gave it."""
        self.given.setdefault((case, said.by, said.criterion), []).append((rank, said))

    def preferences(self) -> Iterator[PreferenceRecord]:
        """Yield which of each two responses is better, in the order of the table; equal ranks are a tie."""
        for ranked in self.given.values():
            for (first, said), (second, other) in combinations(ranked, 2):
                if said.a != other.a:
                    choice = Choice.TIE if first == second else Choice.A if first < second else Choice.B
                    yield replace(said, b=other.a, choice=choice)


def of_best_and_worst(
    numbers: dict[str, int], best: str, worst: str, said: PreferenceRecord
) -> Iterator[PreferenceRecord]:
    """Yield, of several responses by header, that the best is better than each other, and each than the worst."""
    for first, second in combinations(numbers, 2):
        is_first = first == best or second == worst
        if is_first or second == best or first == worst:
            choice = Choice.A if is_first else Choice.B
            yield replace(said, a=numbers[first], b=numbers[second], choice=choice)


def say_the_same(rows: Sequence[Row], others: Sequence[Row], columns: Sequence[str]) -> bool:
    """Return whether rows have the same in these columns, one by one."""
    texts = (([as_text(row.fields.get(name)) for name in columns] for row in each) for each in (rows, others))
    return len(rows) == len(others) and all(text == other for text, other in zip(*texts, strict=True))


def giver_of(rater: str, judge: str) -> Giver:
    """Return who gave the preference of a row that names a person, a judge, or neither."""
    return Giver.PERSON if rater else Giver.JUDGE if judge else Giver.GOLD
