"""The scores of a suite response by response: packed, filtered and put in order, and read with their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from itertools import islice
from typing import Any

import numpy as np
from django.utils.text import Truncator

from evalsite.base.actions.reports import BASELINE
from evalsite.base.formats import ScoreScale
from evalsite.base.types import JsonDict
from evalsite.reports.selectors.leaderboards import MAX_COLUMNS, Grader, Options, evaluators_with_run
from evalsite.reports.selectors.results import (
    CaseWords,
    ResultCell,
    SuiteScores,
    case_words,
    first_words,
    matching,
    read_cells,
    read_scores,
    score_words,
)
from evalsite.reports.services.charts import Chart, Point, Series, draw, score_axis, shade, square
from evalsite.reports.services.snapshots import ComputedReport, ReportContent, figure, kind_over
from evalsite.review.selectors.final_labels import LabelReader
from judging.judges.subjects import flag_in_words
from judging.models import RunEvaluator, Suite
from judging.selectors.judges import score_scale_of
from judging.statistics.estimates import Ints
from judging.statistics.estimators.boards import SAME, ColumnComparison, compare_columns

Shares = np.ndarray  # of float32, from 0 to 1; NaN: none
MAX_ATTEMPTS = 255
SMALL_KEYS = 2**32  # below it, four bytes hold the key of a response


@dataclass(frozen=True, slots=True, eq=False)
class ResultCells:
    """Arrays of the shape (systems, cases), and three of the shape (cases,)."""

    shares: Shares  # the score of all attempts; NaN: no response, or one without a score
    labels: Shares  # what people finally said of the first attempt; NaN: nothing
    responses: Ints  # the key of the first attempt's response; 0: none
    attempts: np.ndarray
    cases: Ints  # keys, in the order of the suite
    scenarios: np.ndarray  # the place of each case's scenario in a list
    languages: np.ndarray

    def pack(self) -> bytes:
        """Return what `unpack` reads: 9 bytes a cell and 8 a label, as long as keys are small."""
        labelled = np.flatnonzero(~np.isnan(self.labels))
        is_small = not self.responses.size or int(self.responses.max()) < SMALL_KEYS
        head = np.array([*self.shares.shape, len(labelled), is_small], dtype="<i8")
        columns = (head, self.shares, self.responses, self.attempts, labelled, self.labels.reshape(-1)[labelled])
        kinds = ("<i8", *_kinds(is_small=is_small))
        arrays = zip((*columns, self.cases, self.scenarios, self.languages), kinds, strict=True)
        return b"".join(np.ascontiguousarray(array, dtype=kind).tobytes() for array, kind in arrays)

    @classmethod
    def unpack(cls, packed: bytes) -> ResultCells:
        """Return what `pack` packed; most arrays are views of the bytes and cannot be written to."""
        systems, cases, labelled, is_small = np.frombuffer(packed, dtype="<i8", count=4).tolist()
        size, start, arrays = systems * cases, 32, []
        counts = (size, size, size, labelled, labelled, cases, cases, cases)
        for kind, count in zip(_kinds(is_small=bool(is_small)), counts, strict=True):
            arrays.append(np.frombuffer(packed, dtype=kind, count=count, offset=start))
            start += arrays[-1].nbytes
        shares, responses, attempts = (array.reshape(systems, cases) for array in arrays[:3])
        labels = np.full(size, np.nan, dtype=np.float32)
        labels[arrays[3]] = arrays[4]
        return cls(shares, labels.reshape(systems, cases), responses, attempts, *arrays[5:])


def _kinds(*, is_small: bool) -> tuple[str, ...]:
    """Return how the arrays are packed, in their order behind the four numbers at the head."""
    return ("<f4", "<u4" if is_small else "<i8", "u1", "<i8", "<f4", "<i8", "<i2", "<i2")


@dataclass(frozen=True, slots=True, eq=False)
class ResultGrid:
    """What stands side by side: arrays of the shape (columns, rows), and two of the shape (rows,)."""

    shares: Shares
    labels: Shares
    responses: Ints
    attempts: np.ndarray
    cases: Ints  # the place of each row's case
    systems: Ints  # the place of each row's system; -1 where systems are the columns

    def rows(self, places: np.ndarray) -> ResultGrid:
        """Return the grid of these rows alone, in their order."""
        if len(places) == len(self.cases) and (places == np.arange(len(places))).all():
            return self
        return ResultGrid(**{field.name: getattr(self, field.name)[..., places] for field in fields(self)})


def grid_of_systems(cells: ResultCells, systems: Ints) -> ResultGrid:
    """Return the grid whose rows are cases and whose columns are these systems, given by their places."""
    count = len(cells.cases)
    return ResultGrid(
        shares=cells.shares[systems],
        labels=cells.labels[systems],
        responses=cells.responses[systems],
        attempts=cells.attempts[systems],
        cases=np.arange(count),
        systems=np.full(count, -1),
    )


def grid_of_graders(columns: list[tuple[ResultCells, Ints]]) -> ResultGrid:
    """Return the grid whose rows are responses, case by case, and whose columns are graders.

    With each grader's cells go the places of the wanted systems in them; -1: this grader knows nothing of the system.
    A row that no grader knows a response of is left out.
    """
    width, count = len(columns[0][1]), len(columns[0][0].cases)

    def stacked(name: str, absent: float) -> np.ndarray:
        """Return one array of every grader, case by case."""
        kind = np.result_type(*(getattr(cells, name) for cells, _ in columns))
        layers = np.empty((len(columns), count, width), dtype=kind)
        for layer, (cells, places) in zip(layers, columns, strict=True):
            is_known = places >= 0
            layer[:, is_known] = getattr(cells, name).T[:, places[is_known]]
            layer[:, ~is_known] = absent
        return layers.reshape(len(columns), -1)

    grid = ResultGrid(
        shares=stacked("shares", np.nan),
        labels=stacked("labels", np.nan),
        responses=stacked("responses", 0),
        attempts=stacked("attempts", 0),
        cases=np.repeat(np.arange(count), width),
        systems=np.tile(np.arange(width), count),
    )
    return grid.rows(np.flatnonzero(grid.responses.max(axis=0) > 0))


def compute_results(evaluator_id: int, options: Options) -> ComputedReport[ReportContent]:
    """Return the names of systems, scenarios and languages, and the packed cells of the option `evaluators`."""
    evaluators = evaluators_with_run(options["evaluators"])
    scores = read_scores(evaluators, {"missing": "skip"}, whole_suite=True)
    scenarios = sorted({case.scenario for case in scores.cases})
    languages = sorted({case.lang for case in scores.cases})
    cells = ResultCells(
        shares=scores.shares.astype(np.float32),
        labels=_labels(evaluators, scores),
        responses=scores.firsts,
        attempts=_attempt_counts(scores),
        cases=np.array([case.pk for case in scores.cases], dtype=np.int64),
        scenarios=np.array([scenarios.index(case.scenario) for case in scores.cases], dtype=np.int16),
        languages=np.array([languages.index(case.lang) for case in scores.cases], dtype=np.int16),
    )
    names = [{"id": pk, "name": name} for pk, name in scores.systems.items()]
    return ComputedReport({"systems": names, "scenarios": scenarios, "languages": languages}, cells.pack())


def _labels(evaluators: Sequence[RunEvaluator], scores: SuiteScores) -> np.ndarray:
    """Return people's final labels of the first attempts, whichever run these were requested for."""
    reader, shares = LabelReader(), dict[int, float]()
    for evaluator in reversed(evaluators):
        shares |= {row.response_ids[0]: row.share for row in reader.labels_of(evaluator) if row.share is not None}
    ids = np.fromiter(sorted(shares), dtype=np.int64)
    if not len(ids):
        return np.full(scores.firsts.shape, np.nan, dtype=np.float32)
    values = np.array([shares[pk] for pk in ids.tolist()], dtype=np.float32)
    places = np.minimum(np.searchsorted(ids, scores.firsts), len(ids) - 1)
    return np.where(ids[places] == scores.firsts, values[places], np.float32(np.nan))


def _attempt_counts(scores: SuiteScores) -> np.ndarray:
    shape = scores.shares.shape[0], int(scores.prompts.max(initial=-1)) + 1
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, (scores.attempts["system"], scores.attempts["prompt"]), 1)
    return np.minimum(counts[:, scores.prompts], MAX_ATTEMPTS).astype(np.uint8)


RESULTS = kind_over("results", lambda _, options: evaluators_with_run(options["evaluators"]), compute_results)


HALF = 0.5  # a score below it is a low one
CASE_ORDER = "case"
SPREAD = "spread"


class RowFilter(StrEnum):
    """Which rows are wanted."""

    ALL = ""
    DIFFER = "differ"
    LOW = "low"
    UNSCORED = "unscored"
    OVERRULED = "overruled"
    LABELLED = "labelled"
    HIGHER = "higher"  # a column above the first
    LOWER = "lower"


COMPARED = (RowFilter.HIGHER, RowFilter.LOWER)


@dataclass(frozen=True, slots=True)
class RowChoice:
    """What the reader asks for; the names of a column, scenario or language are places in lists."""

    shown: RowFilter = RowFilter.ALL
    other: int = 1  # the place of the column that HIGHER and LOWER compare with the first
    scenario: int | None = None
    language: int | None = None
    least: float | None = None  # a score that reaches it, as a share
    most: float | None = None  # and that stays at or below this
    bounded: tuple[int, ...] | None = None  # places of the columns that these are about; None: all
    matches: np.ndarray | None = None  # whether a search found the row, or the score; None: nothing was searched for
    sort: str = CASE_ORDER  # or a column: of rows by its key, of scores by its place; - in front: the other way


def spread_of(shares: Shares) -> np.ndarray:
    """Return how far the scores of each row lie apart; 0 where fewer than two columns have one. Shape (rows,)."""
    return np.asarray(np.nan_to_num(np.fmax.reduce(shares, axis=0) - np.fmin.reduce(shares, axis=0)))


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column about a whole row of Results: on the page under its label, in every file, and to sort by its key."""

    key: str
    label: str
    values: Callable[[ResultGrid], np.ndarray]  # of each row; NaN: none
    columns: int = 1  # the fewest columns of scores beside which it says something
    is_difference: bool = False  # of scores, which must be on one scale


ROW_COLUMNS = (RowColumn(SPREAD, "Difference", lambda grid: spread_of(grid.shares), columns=2, is_difference=True),)


def chosen_cells(grid: ResultGrid, choice: RowChoice) -> np.ndarray:
    """Return which scores are meant: the low ones where rows with low scores are shown. Shape (columns, rows), bool.

    Scenario and language are of rows; see `choose_rows`.
    """
    if choice.shown == RowFilter.DIFFER:
        is_chosen = (spread_of(grid.shares) > SAME) & ~np.isnan(grid.shares)
    else:
        is_chosen = _compared(grid, choice) if choice.shown in COMPARED else _FILTERS[choice.shown](grid)
    if choice.least is not None or choice.most is not None:
        least = -np.inf if choice.least is None else choice.least - SAME
        most = np.inf if choice.most is None else choice.most + SAME
        with np.errstate(invalid="ignore"):
            is_within = (grid.shares >= least) & (grid.shares <= most)
        if choice.bounded is not None:
            is_within[np.setdiff1d(np.arange(len(is_within)), choice.bounded)] = False
        is_chosen = is_chosen & is_within
    return np.asarray(is_chosen if choice.matches is None else is_chosen & choice.matches)


def choose_rows(grid: ResultGrid, choice: RowChoice, *, scenarios: np.ndarray, languages: np.ndarray) -> Ints:
    """Return the places of the wanted rows in order; `scenarios` and `languages` are those of each case."""
    is_chosen = chosen_cells(grid, choice).any(axis=0)
    for chosen, codes in ((choice.scenario, scenarios), (choice.language, languages)):
        if chosen is not None:
            is_chosen &= codes[grid.cases] == chosen
    rows = np.flatnonzero(is_chosen)
    name = choice.sort.removeprefix("-")
    turned = -1.0 if choice.sort.startswith("-") else 1.0
    of_row = next((column for column in ROW_COLUMNS if column.key == name), None)
    if of_row is None and not (name.isdigit() and int(name) < len(grid.shares)):
        return rows[:: int(turned)]
    values = grid.shares[int(name)] if of_row is None else of_row.values(grid)
    return rows[np.argsort(turned * values[rows], kind="stable")]  # NaN last, equals as in the suite


def _compared(grid: ResultGrid, choice: RowChoice) -> np.ndarray:
    """Return the two compared scores where the other is higher, or lower, than the first column's."""
    is_chosen = np.zeros(grid.shares.shape, dtype=bool)
    if 0 < choice.other < len(grid.shares):
        difference = grid.shares[choice.other] - grid.shares[0]
        with np.errstate(invalid="ignore"):
            wanted = difference > SAME if choice.shown == RowFilter.HIGHER else difference < -SAME
        is_chosen[[0, choice.other]] = wanted
    return is_chosen


def _is_low(grid: ResultGrid) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray(grid.shares < HALF)


def _is_overruled(grid: ResultGrid) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(grid.labels - grid.shares) > SAME)


_FILTERS: Mapping[RowFilter, Callable[[ResultGrid], np.ndarray]] = {
    RowFilter.ALL: lambda grid: np.ones(grid.shares.shape, dtype=bool),
    RowFilter.LOW: _is_low,
    RowFilter.UNSCORED: lambda grid: (grid.responses > 0) & np.isnan(grid.shares),
    RowFilter.OVERRULED: _is_overruled,
    RowFilter.LABELLED: lambda grid: ~np.isnan(grid.labels),
}


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
    least: float | None  # a number as people type it: percent, or of the first column's own scale
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


EXPORT_CHUNK, AXIS_LETTERS = 200, 30  # rows read together; letters of a label at an axis
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
    scale: ScoreScale  # of its scores

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


@dataclass(frozen=True, slots=True)
class ResultLine:
    """What one grader said of one response, for files; without a cell the system is the grader's baseline."""

    case: CaseWords
    system: str
    column: GridColumn
    cell: ResultCell | None
    share: float | None
    label: float | None
    attempts: int
    row_values: Mapping[str, float | None]  # of the columns of rows, by key
    site: str  # what addresses begin with


class SuiteResults:
    """The chosen columns, and the rows in order."""

    def __init__(
        self, suite: Suite, choice: ResultsChoice, stored: Sequence[tuple[Grader, StoredResults]], *, site: str = ""
    ) -> None:
        self.suite = suite
        self._choice, self._site = choice, site
        first = stored[0][1]
        self.cells, self.scenarios, self.languages = first.cells, first.scenarios, first.languages
        names = {pk: name for _, results in stored for pk, name in results.systems}
        self.systems = sorted(names.items(), key=lambda system: (system[1].lower(), system[0]))
        chosen = [pk for pk in choice.systems if pk in names] or [pk for pk, _ in self.systems]
        if choice.columns == Columns.SYSTEMS:
            self.chosen = chosen[:MAX_COLUMNS]
            scale = score_scale_of(stored[0][0].newest)
            self.columns = [GridColumn(names[pk], stored[0][0], pk, scale) for pk in self.chosen]
            self.grid = grid_of_systems(first.cells, first.places_of(self.chosen))
        else:
            self.chosen = chosen[:MAX_ROW_SYSTEMS]
            self.columns = [
                GridColumn(grader.label, grader, None, score_scale_of(grader.newest)) for grader, _ in stored
            ]
            self.grid = grid_of_graders([(results.cells, results.places_of(self.chosen)) for _, results in stored])
        self.names = names
        self.hidden_systems = len(chosen) - len(self.chosen)
        self._slice = RowChoice(
            scenario=_place(self.scenarios, choice.scenario), language=_place(self.languages, choice.language)
        )
        self._choice_of_rows = replace(
            self._slice,
            shown=choice.shown,
            other=choice.other,
            least=self._bound(choice.least),
            most=self._bound(choice.most),
            bounded=self._bounded,
            matches=self._matching_cells() if choice.search else None,
            sort=choice.order,
        )
        self.rows = self._places(self._choice_of_rows)

    @property
    def scale(self) -> ScoreScale:
        """The scale of the first column, on which scores are asked for."""
        return self.columns[0].scale

    @property
    def _bounded(self) -> tuple[int, ...]:
        """The places of the columns on that scale: numbers of one scale say nothing of scores on another."""
        return tuple(place for place, column in enumerate(self.columns) if column.scale == self.scale)

    def _bound(self, number: float | None) -> float | None:
        return None if number is None else self.scale.share_typed(number)

    @property
    def bound_note(self) -> str:
        """What the page says about the score that was asked for; empty where it holds for every column."""
        asked = [number for number in (self._choice.least, self._choice.most) if number is not None]
        if any(self._bound(number) is None for number in asked):
            low, high = self.scale.typed_ends
            return f"Scores of {self.columns[0].label} go from {low:g} to {high:g}; other numbers leave nothing out."
        if asked and len(self._bounded) < len(self.columns):
            return "Only scores of the columns on the first column's scale are asked for."
        return ""

    def _places(self, choice: RowChoice) -> Ints:
        return choose_rows(self.grid, choice, scenarios=self.cells.scenarios, languages=self.cells.languages)

    def comparisons(self) -> list[JsonDict]:
        """Return the first column against the others, over all rows of the chosen scenario and language."""
        scale, scales = self.scale, [column.scale for column in self.columns]
        grid = self.grid.rows(self._places(self._slice))
        return [
            {
                "column": self.columns[comparison.other],
                "figures": comparison,
                "difference": figure(comparison.difference, scale.differences),
                "confusion": square([scale.tick(level) for level in comparison.levels], comparison.counts),
                "scatter": self._scatter(comparison),
            }
            for comparison in compare_columns(grid.shares, grid.cases, scales)
        ]

    def _scatter(self, comparison: ColumnComparison) -> Chart | None:
        """Return the scores of two columns as dots; None where they are on a scale of few levels, or too few."""
        if len(comparison.pairs) <= 1:
            return None
        columns = [self.columns[0], self.columns[comparison.other]]
        first, other = (Truncator(column.label).chars(AXIS_LETTERS) for column in columns)
        x_scale, y_scale = (column.scale for column in columns)
        most = max(n for _, _, n in comparison.pairs)
        dots = [
            Point(
                x,
                y,
                says=f"{x_scale.whole_words(x, 0)} and {y_scale.whole_words(y, 0)}: {n:,} row{'s' * (n > 1)}",
                weight=n / most if most > 1 else 0.0,
            )
            for x, y, n in comparison.pairs
        ]
        drawn = [Series("rows", dots, has_dots=True, has_line=False)]
        if not comparison.apart:
            drawn.append(Series("equal", [Point(0, 0), Point(1, 1)], tone="guide"))
        axes = [
            score_axis(label, scale, low=min(ends), high=max(1.0, *ends))
            for label, scale, ends in (
                (first, x_scale, [dot.x for dot in dots]),
                (other, y_scale, [dot.y for dot in dots]),
            )
        ]
        return draw(f"{first} and {other}", axes[0], axes[1], drawn)

    def _matching_cells(self) -> np.ndarray:
        cases, responses = matching(self._choice.search, suite_id=self.suite.pk)
        of_case = np.isin(self.cells.cases, cases)[self.grid.cases]
        return np.asarray(of_case | np.isin(self.grid.responses, responses))

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
        shown, of_rows = [], [(column, column.values(grid)) for column in self.row_columns]
        for index, row in enumerate(rows):
            cells = []
            for number, column in enumerate(self.columns):
                response, share = int(grid.responses[number, index]), _number(grid.shares[number, index])
                label = _number(grid.labels[number, index])
                told = [words_by_score[pk, response] for pk in column.evaluators if (pk, response) in words_by_score]
                flags, reasons, _ = min(told, key=lambda words: not words[2], default=((), None, False))
                cells.append(
                    {
                        "response": response,
                        "share": share,
                        "scale": column.scale,
                        "shade": shade(share),
                        "label": label,
                        "is_overruled": label is not None and share is not None and abs(label - share) > SAME,
                        "attempts": int(grid.attempts[number, index]),
                        "text": texts.get(response, "") if column.system_id is not None else reasons,
                        "flags": list(map(flag_in_words, flags)),
                        "absence": "" if response else self._absence(column, row),
                    }
                )
            case = cases[int(self.cells.cases[grid.cases[index]])]
            scored = sum(cell["share"] is not None for cell in cells)
            row_facts = {"key": self.key_of(row), "case": case, "system": self.system_of(row)}
            row_facts["values"] = [self._row_value(column, values[index], scored) for column, values in of_rows]
            shown.append(row_facts | {"text": texts.get(int(grid.responses[:, index].max()), ""), "cells": cells})
        return shown

    @property
    def row_columns(self) -> list[RowColumn]:
        """The columns about whole rows that say something beside the chosen columns."""
        return [column for column in ROW_COLUMNS if len(self.columns) >= column.columns]

    def _row_value(self, column: RowColumn, value: float, scored: int) -> tuple[str, str]:
        """Return what stands in a column about a row of so many scores, or "" and why there is nothing."""
        reason = self._why_no_value(column, value, scored)
        if not reason and column.is_difference and self.spread_scale is not None:
            return self.spread_scale.words(value), ""
        return "" if reason else f"{value:,g}", reason

    def _why_no_value(self, column: RowColumn, value: float, scored: int) -> str:
        """Return why a column has nothing about a row of so many scores; empty where it has."""
        if column.is_difference and self.spread_scale is None:
            return "the columns are on different scales"
        if scored < column.columns or np.isnan(value):
            return "fewer than two scores" if column.columns > 1 else "no score"
        return ""

    def _row_numbers(self) -> dict[str, list[float | None]]:
        """Return what files have in the columns about rows, of each row; differences as numbers of their scale."""
        scored = np.sum(~np.isnan(self.grid.shares), axis=0).tolist()
        numbers: dict[str, list[float | None]] = {}
        for column in ROW_COLUMNS:
            scale = self.spread_scale if column.is_difference else None
            numbers[column.key] = [
                None if self._why_no_value(column, value, count) else _number(scale.number(value) if scale else value)
                for value, count in zip(column.values(self.grid).tolist(), scored, strict=True)
            ]
        return numbers

    @property
    def spread_scale(self) -> ScoreScale | None:
        """The scale of what lies between the scores of a row; None where its columns are on different scales."""
        scales = {column.scale for column in self.columns}
        return next(iter(scales)).differences if len(scales) == 1 else None

    def _absence(self, column: GridColumn, row: int) -> str:
        """Return why a column has no response in a row."""
        if column.system_id is not None:
            return "no scored response"
        return BASELINE if self.system_of(row) == column.grader.newest.compared_with else "not asked"

    def opened(self, row: int) -> list[JsonDict]:
        """Return every column of one row with the response, its score and the verdict. Four queries."""
        requested = [(column.evaluators, int(self.grid.responses[n, row])) for n, column in enumerate(self.columns)]
        return [
            {
                "column": column,
                "cell": cell,
                "label": _number(self.grid.labels[number, row]),
                "absence": "" if cell else self._absence(column, row),
            }
            for number, (column, cell) in enumerate(zip(self.columns, read_cells(requested), strict=True))
        ]

    def judged_cells(self, *, most: int) -> list[tuple[list[int], int]]:
        """Return evaluators and response of the scores that are meant in the rows in order, `most` at the most.

        Meant are the low ones where rows with low scores are shown, and so on. Where several columns judged one
        response, the first of them counts, so that people are asked once.
        """
        meant = np.where(chosen_cells(self.grid, self._choice_of_rows), self.grid.responses, 0)
        evaluators_by_response: dict[int, list[int]] = {}
        for row in self.rows[:most].tolist():
            for column, response in zip(self.columns, meant[:, row].tolist(), strict=True):
                if response:
                    evaluators_by_response.setdefault(response, column.evaluators)
        return [(evaluators, response) for response, evaluators in islice(evaluators_by_response.items(), most)]

    def count_meant(self) -> int:
        """Return how many responses have a score that is meant; see `judged_cells`."""
        meant = np.where(chosen_cells(self.grid, self._choice_of_rows), self.grid.responses, 0)[:, self.rows]
        return len(np.setdiff1d(meant, [0]))

    def lines(self) -> Iterator[ResultLine]:
        """Yield a line for each cell of the rows in order that has a response, or whose system is the baseline."""
        values = self._row_numbers()
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
                row_values = {key: of_rows[row] for key, of_rows in values.items()}
                for number, column in enumerate(self.columns):
                    cell = next(cells)
                    if cell is not None or self._absence(column, row) == BASELINE:
                        yield ResultLine(
                            case=case,
                            system=cell.response.system.name if cell is not None else self.system_of(row),
                            column=column,
                            cell=cell,
                            share=_number(self.grid.shares[number, row]),
                            label=_number(self.grid.labels[number, row]),
                            attempts=int(self.grid.attempts[number, row]),
                            row_values=row_values,
                            site=self._site,
                        )


def _place(names: Sequence[str], name: str | None) -> int | None:
    """Return the place of a name; -1, which nothing has, for one that is not there."""
    return None if name is None else names.index(name) if name in names else -1


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)
