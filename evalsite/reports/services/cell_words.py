"""What the list behind a figure is called, and what its total counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from judging.statistics.coefficients.item_lists import Cell

ITEMS, ANSWERS, PAIRS = "item", "annotation", "pair of annotations"

HEADINGS = {
    "answers": ("Items with an annotation", ANSWERS),
    "single": ("Items with one annotation so far", ITEMS),
    "pairable": ("Items with two or more annotations", ITEMS),
    "unanimous": ("Items on which all agree", ITEMS),
    "no-majority": ("Items without a majority", ITEMS),
    "disputed": ("Items on which people disagree", ITEMS),
    "off-scale": ("Annotations whose label is no longer on the scale", ANSWERS),
    "person": ("Items that {first} annotated", ITEMS),
    "pair": ("Items that {first} and {second} both annotated", ITEMS),
    "pair-differs": ("Items on which {first} and {second} disagree", ITEMS),
    "together": ("Items with the labels “{one}” and “{other}”", PAIRS),
    "rest": ("Items of {first} on which the others have a majority", ITEMS),
    "rest-differs": ("Items on which {first} disagrees with the majority of the others", ITEMS),
    "skipped": ("Items that {first} skipped", ITEMS),
    "retest": ("Items that {first} annotated twice", ITEMS),
    "retest-differs": ("Items that {first} annotated differently the second time", ITEMS),
    "revealed": ("Annotations whose annotator then saw the verdicts", ANSWERS),
    "revised": ("Annotations revised after the verdicts were shown", ANSWERS),
    "differed": ("Annotations that disagreed with the verdict", ANSWERS),
    "toward": ("Annotations that disagreed with the verdict, then adopted it", ANSWERS),
    "agreed": ("Annotations that agreed with the verdict", ANSWERS),
    "away": ("Annotations that agreed with the verdict, then changed", ANSWERS),
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
        return "pairs of annotations" if self.unit == PAIRS else f"{self.unit}s"


def words_of(cell: Cell, texts: Mapping[str, str]) -> CellWords:
    """Return what the list behind a cell is called; `texts` are the words of the labels."""
    heading, unit = HEADINGS.get(cell.show, ("Items", ITEMS))
    if cell.show == "pair" and (cell.one or cell.other):
        heading = "Items that {first} labelled “{one}” and {second} “{other}”"
    title = heading.format(
        first=cell.first or "people",
        second=cell.second,
        one=texts.get(cell.one, cell.one),
        other=texts.get(cell.other, cell.other),
    )
    return CellWords(title + _group(cell), unit)


def _group(cell: Cell) -> str:
    if cell.by == "period":
        return f", last annotated from {cell.name}"
    return f", {cell.by} {cell.name or '(none)'}" if cell.by else ""
