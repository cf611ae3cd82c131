"""How steadily the people of a queue label: one label in a row, and agreement early and late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalsite.reports.selectors.annotations import QueueAnswers
from judging.statistics.coefficients.agreement import marks_of_the_rest
from judging.statistics.coefficients.ratings import MISSING
from judging.statistics.estimates import Estimate
from judging.statistics.intervals import share_of
from judging.statistics.label_runs import chance_of_run, longest_run

UNLIKELY_RUN = 0.001
FEWEST_LABELS = 20  # of one person, before their halves and runs are shown


@dataclass(frozen=True, slots=True)
class Steadiness:
    """One label many times in a row, and agreement with the others in the first and the second half of the labels.

    `chance`: of so long a run, or a longer one, where each label came with the share that it has among the others'.
    """

    name: str
    run: int
    text: str
    chance: float
    first_half: Estimate
    second_half: Estimate

    @property
    def is_suspicious(self) -> bool:
        """Whether the run is longer than chance explains."""
        return self.chance < UNLIKELY_RUN


def steadiness_of(answers: QueueAnswers, given: Mapping[str, Sequence[tuple[int, str]]]) -> list[Steadiness]:
    """Return how steadily each person labelled who gave enough labels, by name; `given` is in the order of time."""
    table = answers.table
    items, raters, found = marks_of_the_rest(table)
    marks = {
        (table.items[item], table.raters[rater]): mark == 1
        for item, rater, mark in zip(items.tolist(), raters.tolist(), found.tolist(), strict=True)
        if mark != MISSING
    }
    totals = Counter(label for rows in given.values() for _, label in rows)
    rows = []
    for name, pairs in sorted(given.items()):
        labels = [label for _, label in pairs]
        run = longest_run(labels)
        if run is None or len(labels) < FEWEST_LABELS:
            continue
        label, length = run
        others = sum(totals.values()) - len(labels)
        share = (totals[label] - labels.count(label) + 0.5) / (others + 1)
        same = [marks[str(item), name] for item, _ in pairs if (str(item), name) in marks]
        halves = (same[: len(same) // 2], same[len(same) // 2 :])
        chance = chance_of_run(len(labels), length, share)
        shares = (share_of(sum(half), len(half)) for half in halves)
        rows.append(Steadiness(name, length, answers.texts.get(label, label), chance, *shares))
    return rows
