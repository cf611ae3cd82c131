"""The results of a suite as an address asks for them: columns side by side, the wanted rows in order, their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from django.urls import reverse
from django.utils.text import Truncator

from evalsite.base.json_types import JsonDict
from evalsite.base.tables import Row
from evalsite.reports.selectors.graders import MAX_COLUMNS, Grader
from evalsite.reports.selectors.results.result_texts import case_words, first_words, matching, read_cells, score_words
from evalsite.reports.services import shown_rows
from evalsite.reports.services.charts import Chart, Point, Series, draw, percent_axis
from evalsite.reports.services.results.cells import ResultCells, grid_of_graders, grid_of_systems
from evalsite.reports.services.results.choices import Columns, ResultsChoice
from evalsite.reports.services.results.comparisons import ColumnComparison, compare_columns
from evalsite.reports.services.results.row_order import SAME, RowChoice, choose_rows, spread_of
from judging.judges.kinds.panel import votes_in_words
from judging.specs.suites.case_rows import media_fields
from judging.statistics.estimates import Ints

AXIS_LETTERS = 30  # of a column's label that stand at an axis
MAX_ROW_SYSTEMS = 200  # of a suite whose rows are responses


@dataclass(frozen=True, slots=True)
class StoredResults:
    """The stored report of one grader's results."""

    systems: tuple[tuple[int, str], ...]  # keys and names
    scenarios: tuple[str, ...]
    languages: tuple[str, ...]
    cells: ResultCells

    @classmethod
    def of(cls, content: Any, rows: bytes) -> StoredResults:
        """Return the results in a report's content and rows."""
        systems = tuple((system["id"], system["name"]) for system in content["systems"])
        return cls(systems, tuple(content["scenarios"]), tuple(content["languages"]), ResultCells.unpack(rows))

    def places_of(self, system_ids: Sequence[int]) -> Ints:
        """Return the place of each system; -1: this grader knows nothing of it."""
        row_by_system = {pk: row for row, (pk, _) in enumerate(self.systems)}
        return np.array([row_by_system.get(pk, -1) for pk in system_ids], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class GridColumn:
    """One column: a system under the one grader, or a grader of every row's system."""

    label: str
    grader: Grader
    system_id: int | None  # None: that of the row

    @property
    def evaluators(self) -> list[int]:
        return [evaluator.pk for evaluator in self.grader.evaluators]


def column_graders(graders: Sequence[Grader], choice: ResultsChoice) -> list[Grader]:
    """Return the graders whose reports the choice needs, the chosen ones first; none where nothing has a score.

    Systems stand side by side under one grader. Judges are the chosen ones, else all that are no baseline. Runs are
    those of the first chosen grader: the chosen ones where they are several, else all, its own before the others.
    """
    named = (next((grader for grader in graders if grader.holds(pk)), None) for pk in choice.graders)
    picked = list(dict.fromkeys(grader for grader in named if grader is not None)) or list(graders[:1])
    if choice.columns == Columns.SYSTEMS or not graders:
        return picked[:1]
    if choice.columns == Columns.RUNS:
        by_id = {evaluator.pk: evaluator for evaluator in picked[0].evaluators}
        chosen_runs = [by_id[pk] for pk in choice.graders if pk in by_id]
        others = [evaluator for evaluator in by_id.values() if evaluator not in chosen_runs]
        runs = chosen_runs if len(chosen_runs) > 1 else [*chosen_runs, *others]
        return [Grader((evaluator,), f"{evaluator.run.name} #{evaluator.run_id}") for evaluator in runs[:MAX_COLUMNS]]
    if len(choice.graders) < 2:  # one alone has nothing beside it: the others come with it
        real = [grader for grader in graders if not grader.newest.is_baseline]
        chosen = picked if choice.graders else []
        picked = [*chosen, *(grader for grader in (real if len(real) > 1 else graders) if grader not in chosen)]
    return picked[:MAX_COLUMNS]


class SuiteResults:
    """The chosen columns, and the rows in order."""

    def __init__(self, suite_id: int, choice: ResultsChoice, stored: Sequence[tuple[Grader, StoredResults]]) -> None:
        self._suite_id = suite_id
        self._choice = choice
        first = stored[0][1]
        self.cells, self.scenarios, self.languages = first.cells, first.scenarios, first.languages
        names = {pk: name for _, results in stored for pk, name in results.systems}
        self.systems = sorted(names.items(), key=lambda system: (system[1].lower(), system[0]))
        chosen = [pk for pk in choice.systems if pk in names] or [pk for pk, _ in self.systems]
        if choice.columns == Columns.SYSTEMS:
            self.chosen = chosen[:MAX_COLUMNS]
            self.columns = [GridColumn(names[pk], stored[0][0], pk) for pk in self.chosen]
            self.grid = grid_of_systems(first.cells, first.places_of(self.chosen))
        else:
            self.chosen = chosen[:MAX_ROW_SYSTEMS]
            self.columns = [GridColumn(grader.label, grader, None) for grader, _ in stored]
            self.grid = grid_of_graders([(results.cells, results.places_of(self.chosen)) for _, results in stored])
        self.names = names
        self.hidden_systems = len(chosen) - len(self.chosen)
        self._slice = RowChoice(
            scenario=_place(self.scenarios, choice.scenario), language=_place(self.languages, choice.language)
        )
        self.rows = self._places(
            replace(
                self._slice,
                shown=choice.shown,
                other=choice.other,
                least=choice.least,
                most=choice.most,
                matches=self._matching_rows() if choice.search else None,
                sort=choice.order,
            )
        )

    def _places(self, choice: RowChoice) -> Ints:
        return choose_rows(self.grid, choice, scenarios=self.cells.scenarios, languages=self.cells.languages)

    def comparisons(self) -> list[JsonDict]:
        """Return the first column against the others, over all rows of the chosen scenario and language."""
        return [
            {
                "column": self.columns[comparison.other],
                "figures": comparison,
                "confusion": shown_rows.square([f"{level:.0%}" for level in comparison.levels], comparison.counts),
                "scatter": self._scatter(comparison),
            }
            for comparison in compare_columns(self.grid.rows(self._places(self._slice)))
        ]

    def _scatter(self, comparison: ColumnComparison) -> Chart | None:
        """Return the scores of two columns as dots; None where they are on a scale of few levels, or too few."""
        if len(comparison.pairs) <= 1:
            return None
        first, other = (Truncator(self.columns[column].label).chars(AXIS_LETTERS) for column in (0, comparison.other))
        dots = [Point(x, y, says=f"{x:.0%} and {y:.0%}: {n:,} row{'s' * (n > 1)}") for x, y, n in comparison.pairs]
        equal = Series("equal", [Point(0, 0), Point(1, 1)], tone="guide")
        rows = Series("rows", dots, has_dots=True, has_line=False)
        return draw(f"{first} and {other}", percent_axis(first), percent_axis(other), [rows, equal])

    def _matching_rows(self) -> np.ndarray:
        cases, responses = matching(self._choice.search, suite_id=self._suite_id)
        of_case = np.isin(self.cells.cases, cases)[self.grid.cases]
        return np.asarray(of_case | np.isin(self.grid.responses, responses).any(axis=0))

    def key_of(self, row: int) -> str:
        """Return what stands for a row in the address: its case, and its system where rows are responses."""
        case, system = int(self.cells.cases[self.grid.cases[row]]), int(self.grid.systems[row])
        return str(case) if system < 0 else f"{case}-{self.chosen[system]}"

    def place_of(self, key: str) -> int | None:
        """Return the index of the row of a key among the rows in order; None where it is not shown."""
        case, _, system = key.partition("-")
        if not case.isdigit() or (system and not system.isdigit()):
            return None
        is_case = self.cells.cases[self.grid.cases[self.rows]] == int(case)
        if system:
            chosen = np.array([*self.chosen, -1])  # the last stands for -1, which is no system
            is_case &= chosen[self.grid.systems[self.rows]] == int(system)
        matching = np.flatnonzero(is_case)
        return int(matching[0]) if len(matching) else None

    def system_of(self, row: int) -> str:
        """Return the name of a row's system; empty where systems are the columns."""
        index = int(self.grid.systems[row])
        return "" if index < 0 else self.names[self.chosen[index]]

    def shown(self, rows: Sequence[int]) -> list[JsonDict]:
        """Return what a table shows of these rows. Three queries."""
        cases = case_words(self.cells.cases[self.grid.cases[list(rows)]].tolist())
        grid = self.grid.rows(np.array(rows, dtype=np.int64))
        ids = set(grid.responses.ravel().tolist()) - {0}
        texts = first_words(ids)
        words_by_score = score_words([pk for column in self.columns for pk in column.evaluators], ids)
        shown, spreads = [], spread_of(grid.shares).tolist()
        for index, row in enumerate(rows):
            cells = []
            for number, column in enumerate(self.columns):
                response, share = int(grid.responses[number, index]), _number(grid.shares[number, index])
                label = _number(grid.labels[number, index])
                words = next(
                    (words_by_score[pk, response] for pk in column.evaluators if (pk, response) in words_by_score), None
                )
                cells.append(
                    {
                        "response": response,
                        "share": share,
                        "shade": shown_rows.shade(share),
                        "label": label,
                        "is_overruled": label is not None and share is not None and abs(label - share) > SAME,
                        "attempts": int(grid.attempts[number, index]),
                        "text": texts.get(response, "") if column.system_id is not None else words and words.reasons,
                        "flags": words.flags if words else (),
                    }
                )
            case = cases[int(self.cells.cases[grid.cases[index]])]
            row_facts = {"key": self.key_of(row), "case": case, "system": self.system_of(row), "spread": spreads[index]}
            shown.append(row_facts | {"text": texts.get(int(grid.responses[:, index].max()), ""), "cells": cells})
        return shown

    def opened(self, row: int) -> list[JsonDict]:
        """Return every column of one row with the response, its score and the verdict. Four queries."""
        requested = [(column.evaluators, int(self.grid.responses[n, row])) for n, column in enumerate(self.columns)]
        return [
            {"column": column, "cell": cell, "label": _number(self.grid.labels[number, row])}
            for number, (column, cell) in enumerate(zip(self.columns, read_cells(requested), strict=True))
        ]

    def judged_cells(self, *, most: int) -> list[tuple[list[int], int]]:
        """Return evaluators and response of what a grader judged in the rows in order, `most` of it at the most.

        Where several columns judged one response, the first of them counts, so that people are asked once.
        """
        evaluators_by_response: dict[int, list[int]] = {}
        for row in self.rows[:most].tolist():
            for column, response in zip(self.columns, self.grid.responses[:, row].tolist(), strict=True):
                if response:
                    evaluators_by_response.setdefault(response, column.evaluators)
        return [(evaluators, response) for response, evaluators in islice(evaluators_by_response.items(), most)]

    def exported(self, *, site: str) -> Iterator[Row]:
        """Yield a line for each cell of the rows in order, with texts, reasons and addresses that begin with `site`."""
        for start in range(0, len(self.rows), EXPORT_CHUNK):
            rows = self.rows[start : start + EXPORT_CHUNK].tolist()
            cases = case_words(self.cells.cases[self.grid.cases[rows]].tolist())
            requested = [
                (column.evaluators, int(self.grid.responses[number, row]))
                for row in rows
                for number, column in enumerate(self.columns)
            ]
            cells = iter(read_cells(requested))
            for row in rows:
                case = cases[int(self.cells.cases[self.grid.cases[row]])]
                for number, column in enumerate(self.columns):
                    cell = next(cells)
                    if cell is None:
                        continue
                    yield {
                        "case": case.key,
                        "scenario": case.scenario,
                        "language": case.language,
                        "system": cell.response.system.name,
                        "grader": column.grader.label,
                        "score": _number(self.grid.shares[number, row]),
                        "label": _number(self.grid.labels[number, row]),
                        "attempts": int(self.grid.attempts[number, row]),
                        "status": cell.score.status if cell.score else cell.verdict.status if cell.verdict else "",
                        "flags": ", ".join(map(str, cell.score.flags)) if cell.score else "",
                        "confidence": cell.verdict.confidence if cell.verdict else None,
                        "reasons": cell.verdict.rationale if cell.verdict else "",
                        "votes": votes_in_words(cell.verdict.votes, cell.score.detail if cell.score else {})
                        if cell.verdict
                        else "",
                        "cost": cell.cost,
                        "prompt": cell.response.prompt.text,
                        "response": cell.response.text,
                        **media_fields("prompt", cell.response.prompt.images, cell.response.prompt.messages),
                        **media_fields("response", cell.response.images, cell.response.messages),
                        "address": site + reverse("judging:response-detail", args=[cell.response.pk]),
                        "verdict": site + reverse("judging:verdict-detail", args=[cell.verdict.pk])
                        if cell.verdict
                        else "",
                    }


EXPORT_CHUNK = 200
EXPORT_COLUMNS = (
    *("case", "scenario", "language", "system", "grader", "score", "label", "attempts", "status", "flags"),
    *("confidence", "reasons", "votes", "cost", "prompt", "response", "address", "verdict"),
    *("prompt_images", "prompt_messages", "response_images", "response_messages"),
)


def _place(names: Sequence[str], name: str | None) -> int | None:
    """Return the place of a name; -1, which nothing has, for one that is not there."""
    return None if name is None else names.index(name) if name in names else -1


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)
