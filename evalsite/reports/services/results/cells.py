"""One grader's scores of a suite as columns of numbers, small enough to be read at every page view. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from judging.statistics.estimates import Ints

Shares = np.ndarray  # of float32, from 0 to 1; NaN: none
LAYOUT = (  # of the packed bytes, behind the two lengths
    ("shares", "<f4"),
    ("labels", "<f4"),
    ("responses", "<i8"),
    ("attempts", "u1"),
)
CASE_LAYOUT = (("cases", "<i8"), ("scenarios", "<i2"), ("languages", "<i2"))
MOST_ATTEMPTS = 255


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
        """Return what `unpack` reads: 17 bytes a cell."""
        shape = np.array(self.shares.shape, dtype="<i8").tobytes()
        arrays = (
            np.ascontiguousarray(getattr(self, name), dtype=kind).tobytes() for name, kind in (*LAYOUT, *CASE_LAYOUT)
        )
        return b"".join((shape, *arrays))

    @classmethod
    def unpack(cls, packed: bytes) -> ResultCells:
        """Return what `pack` packed; the arrays are views of the bytes and cannot be written to."""
        systems, cases = np.frombuffer(packed, dtype="<i8", count=2).tolist()
        start, found = 16, dict[str, np.ndarray]()
        for name, kind in (*LAYOUT, *CASE_LAYOUT):
            count = cases if (name, kind) in CASE_LAYOUT else systems * cases
            array = np.frombuffer(packed, dtype=kind, count=count, offset=start)
            found[name] = array if (name, kind) in CASE_LAYOUT else array.reshape(systems, cases)
            start += array.nbytes
        return cls(**found)


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

    def laid(name: str, absent: float) -> np.ndarray:
        """Return one array of every grader, case by case."""
        by_grader = (
            np.where((places >= 0)[:, None], getattr(cells, name)[places], getattr(cells, name).dtype.type(absent))
            for cells, places in columns
        )
        return np.array([found.T.reshape(-1) for found in by_grader])

    grid = ResultGrid(
        shares=laid("shares", np.nan),
        labels=laid("labels", np.nan),
        responses=laid("responses", 0),
        attempts=laid("attempts", 0),
        cases=np.repeat(np.arange(count), width),
        systems=np.tile(np.arange(width), count),
    )
    return grid.rows(np.flatnonzero(grid.responses.max(axis=0) > 0))
