"""One grader's scores of a suite as columns of numbers, small enough to be read at every page view. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from judging.statistics.estimates import Ints

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
            layer[:] = getattr(cells, name).T[:, places]
            layer[:, places < 0] = absent
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
