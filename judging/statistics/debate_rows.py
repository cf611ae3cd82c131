"""Debates behind the figures of a meta-evaluation, stored beside the report."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

Label = int | None
OUTCOME, PEOPLE = "outcome", "people"
NEVER = "never"


@dataclass(frozen=True, slots=True)
class DebateRow:
    """One debate with every label of it, in system space; `labels` holds those that were asked, by evaluator's key."""

    pk: int
    pair: str
    criterion: str
    scenario: str
    agreed_in: int | None  # the first round in which all agreed
    outcome: Label
    people: Label
    labels: dict[str, Label]


@dataclass(frozen=True, slots=True)
class DebateFigure:
    """One figure of the report; what is empty chooses nothing."""

    pair: str = ""
    criterion: str = ""
    scenario: str = ""
    round: str = ""  # a number, or `NEVER`
    evaluator: str = ""
    other: str = ""  # a second evaluator, of a paired difference
    against: str = ""  # OUTCOME or PEOPLE: what the evaluator is compared with


def pack(rows: Iterable[DebateRow]) -> bytes:
    """Return rows as bytes that `unpack` reads."""
    return zlib.compress(json.dumps([list(asdict(row).values()) for row in rows]).encode())


def unpack(data: bytes) -> list[DebateRow]:
    """Return the rows that were packed."""
    return [DebateRow(*values) for values in json.loads(zlib.decompress(data))]


def reference_of(row: DebateRow, figure: DebateFigure) -> Label:
    """Return what the evaluator's label is compared with."""
    return row.people if figure.against == PEOPLE else row.outcome


def differs(row: DebateRow, figure: DebateFigure) -> bool:
    """Whether the evaluator does not say what it is compared with; of two, whether just one of them does."""
    if not figure.evaluator or not figure.against:
        return False
    reference = reference_of(row, figure)
    says_so = row.labels.get(figure.evaluator) == reference
    return says_so != (row.labels.get(figure.other) == reference) if figure.other else not says_so


def debates_of_figure(rows: Sequence[DebateRow], figure: DebateFigure) -> list[DebateRow]:
    """Return the debates that a figure counts, those on which the two sides differ first."""
    debates = [row for row in rows if _is_in_group(row, figure) and _is_counted(row, figure)]
    return sorted(debates, key=lambda row: (not differs(row, figure), row.pk))


def _is_in_group(row: DebateRow, figure: DebateFigure) -> bool:
    agreed_in = NEVER if row.agreed_in is None else str(row.agreed_in)
    return (
        figure.pair in ("", row.pair)
        and figure.criterion in ("", row.criterion)
        and figure.scenario in ("", row.scenario)
        and figure.round in ("", agreed_in)
    )


def _is_counted(row: DebateRow, figure: DebateFigure) -> bool:
    """A missing label counts where it is compared with something, as one that equals nothing."""
    if figure.against:
        return reference_of(row, figure) is not None and all(
            key in row.labels for key in (figure.evaluator, figure.other) if key
        )
    return not figure.evaluator or row.labels.get(figure.evaluator) is not None
