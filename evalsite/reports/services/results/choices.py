"""What the address of a page of results chooses. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from evalsite.reports.services.results.row_order import CASE_ORDER, COMPARED, SPREAD, RowFilter


class Columns(StrEnum):
    """What the columns of the page of results are."""

    SYSTEMS = "systems"
    JUDGES = "judges"
    RUNS = "runs"


@dataclass(frozen=True, slots=True)
class ResultsChoice:
    """What the page of results shows, and the row whose texts are open."""

    columns: Columns
    graders: tuple[int, ...]  # evaluators, as their keys
    systems: tuple[int, ...]
    shown: RowFilter
    other: int  # of RowFilter.HIGHER and RowFilter.LOWER
    scenario: str | None
    language: str | None
    least: float | None  # a share
    most: float | None
    search: str
    sort: str  # as the address says it
    row: str  # "CASE" or "CASE-SYSTEM" by their keys; empty: none is open

    @property
    def order(self) -> str:
        """The order, which follows from what is shown where the address names none."""
        spread = dict.fromkeys((RowFilter.DIFFER, *COMPARED), f"-{SPREAD}")
        default = (spread | {RowFilter.LOW: "0"}).get(self.shown, CASE_ORDER)
        return self.sort or default

    @property
    def is_filtered(self) -> bool:
        """Whether a row of the suite may be hidden."""
        chosen = (self.scenario, self.language, self.least, self.most)
        return bool(self.shown or self.search) or any(value is not None for value in chosen)
