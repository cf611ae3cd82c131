"""The character alignment behind blank filling: a longest common subsequence with the quirks of InfiBench's grader.

Tables over template index i and response index j: f (length) and s (response index of the last matched character). On
the border (i = 0 or j = 0): equal characters give f = 1, s = j; others f = 0, s = 0; the border does not inherit from
its neighbours. Inside, equal: f = f(i-1, j-1) + 1, s = j. Inside, different: the larger f of left and above with its
s; on a tie the larger s. So a cell is the larger of its neighbours by (f, s), and one integer key f * 2^bits + s
holds both: a row is a running maximum of the row above that starts again at every equal character.

The new starts matter in the first rows only. Once f does not fall along row i-1, f(i, j) <= f(i-1, j) + 1 for every j,
by induction over j: an equal cell has f(i-1, j-1) + 1 <= f(i-1, j) + 1, and any other the larger of f(i, j-1) <=
f(i-1, j-1) + 1 and f(i-1, j). So no equal cell is below its left neighbour, which has f(i, j-1) <= f(i-1, j-1) + 1: row
i does not fall either, and the plain running maximum gives the same keys in a third of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[Any]  # int64, or int32 for keys that fit

DEPTH = 8
DEEP_FROM = 4000  # columns; fewer are done sooner one by one
NARROW_BELOW = 2**31  # the largest key must be below this to be held in 32 bits
FILLER = "\0"


@dataclass(frozen=True, slots=True)
class Alignment:
    """`length` of the common subsequence; `positions`: one response index per template character."""

    length: int
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Columns:
    """The responses laid end to end, each from one of `starts` to the next, and filled up to a multiple of `depth`.

    Column c is kept at place (c % depth) * width + c // depth, so that `depth` columns that follow each other stand
    below each other: a running maximum then takes `depth` steps over whole vectors instead of one step per column.
    """

    codes: NDArray[Any]  # by column
    starts: _Ints  # columns; the last one is the end of the last response
    floors: _Ints  # by column: added to its keys, so that those of a response are above all of the one before
    bits: int  # the low bits of a key hold s
    span: int  # larger than any key before its floor is added
    depth: int
    width: int

    @property
    def end(self) -> int:
        """Return a number larger than any key."""
        return self.span * (len(self.starts) - 1)

    def place(self, column: Any) -> Any:
        """Return where a column, or each of several, is kept."""
        return column % self.depth * self.width + column // self.depth

    def kept(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values by column in the order in which columns are kept."""
        return np.ascontiguousarray(values.reshape(self.width, self.depth).T).ravel()


@dataclass(frozen=True, slots=True)
class _Letter:
    """Where one template character stands in the columns."""

    equal: NDArray[np.bool_]  # by column; true for the first column of every response, where a row starts again as well
    inside: _Ints  # places of the columns where it stands, not counting the first of a response
    before: _Ints  # places of the columns left of those
    gain: _Ints  # what a match adds to f's part of the key, plus its own response index as s
    border: _Ints  # keys for the first column of each response


def align(template: str, response: str) -> Alignment:
    """Return the alignment of one response. Both texts must have at least one character."""
    return align_many(template, [response])[0]


def align_many(template: str, responses: Sequence[str]) -> list[Alignment]:
    """Return the alignment of each response with `template`; faster together than one by one.

    Memory: 4 bytes per template character and response character, 8 for very long texts.
    """
    columns = _lay_out(template, responses)
    keys = _fill(template, columns)
    starts = columns.starts.tolist()
    return [
        _back_track(template, response, keys, columns, (start, end))
        for response, start, end in zip(responses, starts, starts[1:], strict=False)
    ]


def _lay_out(template: str, responses: Sequence[str]) -> _Columns:
    lengths = np.array([len(response) for response in responses])
    starts = np.concatenate(([0], np.cumsum(lengths)))
    count = int(starts[-1])
    depth = DEPTH if count >= DEEP_FROM else 1
    width = -(-count // depth)
    filled = width * depth - count
    codes = np.frombuffer(("".join(responses) + FILLER * filled).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    bits = int(lengths.max()).bit_length()
    span = (len(template) + 1) << bits
    lengths[-1] += filled
    return _Columns(codes, starts, np.repeat(np.arange(len(lengths)) * span, lengths), bits, span, depth, width)


def _locate(character: str, columns: _Columns, kind: type[np.signedinteger[Any]]) -> _Letter:
    starts = columns.starts[:-1]
    equal = columns.codes == ord(character)
    equal[columns.starts[-1] :] = False
    at_start = equal[starts]
    equal[starts] = False
    inside = np.flatnonzero(equal)
    equal[starts] = True
    unit = 1 << columns.bits
    offsets = inside - starts[columns.floors[inside] // columns.span]
    return _Letter(
        equal=equal,
        inside=columns.place(inside),
        before=columns.place(inside - 1),
        gain=(offsets + unit).astype(kind),
        border=(np.where(at_start, unit, 0) + columns.floors[starts]).astype(kind),
    )


def _fill(template: str, columns: _Columns) -> _Ints:
    """Return the keys, one row per template character, in the order in which columns are kept."""
    kind = np.int32 if columns.end < NARROW_BELOW else np.int64
    letters = {character: _locate(character, columns, kind) for character in set(template)}
    keys = np.empty((len(template), len(columns.codes)), dtype=kind)
    starts = columns.place(columns.starts[:-1])
    first = letters[template[0]]
    keys[0] = columns.kept(columns.floors)
    keys[0, first.inside] += first.gain
    keys[0, starts] = first.border
    rows_filled = _fill_restarting(template, columns, letters, keys)
    length_part = -1 << columns.bits
    above = keys[rows_filled - 1]
    for row, character in zip(keys[rows_filled:], template[rows_filled:], strict=True):
        letter = letters[character]
        row[:] = above
        row[starts] = letter.border
        row[letter.inside] = (above[letter.before] & length_part) + letter.gain
        _run_maximum(row.reshape(columns.depth, columns.width))
        above = row
    return keys


def _fill_restarting(template: str, columns: _Columns, letters: dict[str, _Letter], keys: _Ints) -> int:
    """Fill rows from the second on, up to the first that falls in no response; return how many are filled then.

    An offset that grows at every restart lets one running maximum start again there; it is taken off afterwards.
    """
    starts = columns.place(columns.starts[:-1])
    length_part = -1 << columns.bits
    offsets: dict[str, _Ints] = {}
    above = keys[0].astype(np.int64)
    for rows_filled, character in enumerate(template[1:], start=2):
        letter = letters[character]
        if character not in offsets:
            offsets[character] = columns.kept(np.cumsum(letter.equal, dtype=np.int64) * columns.end)
        offset = offsets[character]
        row = above + offset
        row[starts] = letter.border + offset[starts]
        row[letter.inside] = (above[letter.before] & length_part) + letter.gain + offset[letter.inside]
        _run_maximum(row.reshape(columns.depth, columns.width))
        row -= offset
        keys[rows_filled - 1] = above = row
        if (row[letter.before] <= row[letter.inside]).all():
            return rows_filled
    return len(template)


def _run_maximum(columns: _Ints) -> None:
    """Replace each value by the largest of those in the columns up to its own."""
    above = columns[0]
    for row in columns[1:]:
        np.maximum(above, row, out=row)
        above = row
    if len(columns) == 1:
        np.maximum.accumulate(above, out=above)
    else:
        so_far = np.maximum.accumulate(above)
        np.maximum(columns[:, 1:], so_far[:-1], out=columns[:, 1:])


def _back_track(template: str, response: str, keys: _Ints, columns: _Columns, ends: tuple[int, int]) -> Alignment:
    """Return positions by walking up from the last cell; column -1 is the last one, as in InfiBench."""
    start, end = ends
    depth, width = columns.depth, columns.width
    low = (1 << columns.bits) - 1
    last = int(keys[-1, columns.place(end - 1)]) % columns.span
    position = last & low
    positions = [0] * len(template)
    for index in range(len(template) - 1, -1, -1):
        if template[index] != response[position]:
            positions[index] = position + 1
            continue
        positions[index] = position
        if index:
            cell = start + position - 1 if position else end - 1  # its place is spelt out: a call costs a quarter here
            position = int(keys[index - 1, cell % depth * width + cell // depth]) & low
    return Alignment(last >> columns.bits, tuple(positions))
