"""What the list behind a figure is called, and what its total counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from judging.statistics.coefficients.item_lists import Cell

ITEMS, ANSWERS, PAIRS = "item", "answer", "pair of answers"

HEADINGS = {
    "answers": ("Items with an answer", ANSWERS),
    "single": ("Items with one answer so far", ITEMS),
    "pairable": ("Items with two answers or more", ITEMS),
    "unanimous": ("Items on which all agree", ITEMS),
    "no-majority": ("Items without a majority", ITEMS),
    "disputed": ("Items on which people differ", ITEMS),
    "off-scale": ("Answers whose label is no longer on the scale", ANSWERS),
    "person": ("Items that {first} answered", ITEMS),
    "pair": ("Items that {first} and {second} both answered", ITEMS),
    "pair-differs": ("Items on which {first} and {second} differ", ITEMS),
    "together": ("Items on which “{one}” meets “{other}”", PAIRS),
    "rest": ("Items of {first} on which the others have a majority", ITEMS),
    "rest-differs": ("Items on which {first} differs from the majority of the others", ITEMS),
    "skipped": ("Items that {first} skipped", ITEMS),
    "retest": ("Items that came back to {first}", ITEMS),
    "retest-differs": ("Items that {first} answered differently when they came back", ITEMS),
    "revealed": ("Answers whose author then saw the verdicts", ANSWERS),
    "revised": ("Answers revised after the verdicts were shown", ANSWERS),
    "differed": ("Answers that differed from the machine", ANSWERS),
    "toward": ("Answers that differed from the machine, then followed it", ANSWERS),
    "agreed": ("Answers that agreed with the machine", ANSWERS),
    "away": ("Answers that agreed with the machine, then left it", ANSWERS),
}


@dataclass(frozen=True, slots=True)
class CellWords:
    """The heading of a list, and the unit of its total in the singular."""

    heading: str
    unit: str

    @property
    def counts_items(self) -> bool:
        """Whether every item of the list counts once."""
        return self.unit == ITEMS

    @property
    def units(self) -> str:
        """The unit in the plural."""
        return "pairs of answers" if self.unit == PAIRS else f"{self.unit}s"


def words_of(cell: Cell, texts: Mapping[str, str]) -> CellWords:
    """Return what the list behind a cell is called; `texts` are the words of the labels."""
    heading, unit = HEADINGS.get(cell.show, ("Items", ITEMS))
    if cell.show == "pair" and (cell.one or cell.other):
        heading = "Items on which {first} said “{one}” and {second} “{other}”"
    said = heading.format(
        first=cell.first or "people",
        second=cell.second,
        one=texts.get(cell.one, cell.one),
        other=texts.get(cell.other, cell.other),
    )
    return CellWords(said + _group(cell), unit)


def _group(cell: Cell) -> str:
    if cell.by == "period":
        return f", last answered from {cell.name}"
    return f", {cell.by} {cell.name or '(none)'}" if cell.by else ""
