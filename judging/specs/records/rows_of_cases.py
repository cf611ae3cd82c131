"""What several rows of one case say together: ranks of its responses, and details that tell its responses apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from evalsite.base.types import JsonObject, as_text
from judging.specs.files.findings import Findings
from judging.specs.records import names
from judging.specs.records.columns import CHOSEN, Mapping, question
from judging.specs.records.names import Holds
from judging.specs.records.neutral import Choice, Giver, PreferenceRecord
from judging.specs.records.parts import Part, Row

MOST_COMPARED = 1000  # cases and systems, of which further rows are compared with the first
_OF_ONE_RESPONSE = (*names.ATTEMPTS, Holds.RATER, Holds.JUDGE, Holds.CRITERION, Holds.LABELS_OF)  # tell its rows apart


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


@dataclass(slots=True)
class ComparedRows:
    """Rows of one case and system, some of which are compared: a detail may tell them apart, as a method does."""

    mapping: Mapping
    details: list[str] = field(init=False)  # those of few short values
    first: dict[tuple[int, str], list[object]] = field(default_factory=dict)  # case and system -> its first row
    apart: Counter[str] = field(default_factory=Counter)  # details -> in how many later rows they differ
    again: int = 0  # later rows

    def __post_init__(self) -> None:
        is_answered = self.mapping.has(Holds.RESPONSE, Holds.RESPONSE_TURNS, Holds.RESPONSES_OF)
        is_open = is_answered or names.rank(self.mapping.one(Holds.REFERENCE), Holds.ANSWER) is not None
        details = self.mapping.all(Holds.DETAIL) if is_open and not self.mapping.has(*_OF_ONE_RESPONSE) else []
        columns = [self.mapping.columns[name] for name in details if self.mapping.why.get(name) != CHOSEN]
        few = [each for each in columns if each.is_labels and 2 * len(each.distinct) <= len(each.values)]
        self.details = [each.name for each in few]

    def add(self, case: int | None, fields: JsonObject) -> None:
        """Compare a row with the first one of its case and system."""
        if case is None or not self.details:
            return
        key, said = (case, as_text(fields.get(self.mapping.one(Holds.SYSTEM)))), list(map(fields.get, self.details))
        if key in self.first:
            self.again += 1
            pairs = zip(self.details, said, self.first[key], strict=True)
            self.apart.update(name for name, value, known in pairs if value != known)
        elif len(self.first) < MOST_COMPARED:
            self.first[key] = said

    def ask(self, part: Part, findings: Findings) -> None:
        """Ask what a detail is that tells all rows apart, unless one counts repeated runs."""
        found = [name for name, count in self.apart.items() if count == self.again > 1]
        for name in [] if any(map(names.counts_attempts, found)) else found[:1]:
            message = f"{name} tells the rows of one case and system apart, and nothing says what it is."
            is_named, is_labelled = self.mapping.has(Holds.SYSTEM), self.mapping.has(Holds.LABEL)
            roles = [Holds.SYSTEM] * (not is_named) + [Holds.RATER] * is_labelled + [Holds.DETAIL]
            hint = f"If they are of different systems, {'write it behind their name' if is_named else '{}'}; "
            hint += f"{'if by who labels, {}; ' * is_labelled}if not, {{}}."
            answers = [(role, [name]) for role in roles]
            findings.extend([question(part, "unknown-apart", message, hint, answers, self.mapping.columns)])
