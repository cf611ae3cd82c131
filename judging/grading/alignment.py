"""The character alignment behind blank filling: a longest common subsequence with the original program's quirks.

Tables over template index i and response index j: f (length) and s (response index of the last matched character). On
the border (i = 0 or j = 0): equal characters give f = 1, s = j; others f = 0, s = 0; the border does not inherit from
its neighbours. Inside, equal: f = f(i-1, j-1) + 1, s = j. Inside, different: the larger f of left and above with its
s; on a tie the larger s. So a cell is the larger of its neighbours by (f, s), and one integer key f * 2^bits + s
holds both: a row is a running maximum of the row above that starts anew at every equal character.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Alignment:
    """`length` of the common subsequence; `positions`: one response index per template character."""

    length: int
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Columns:
    """The responses laid end to end, each starting at one of `starts`."""

    codes: NDArray[Any]
    starts: _Ints
    bits: int  # the low bits of a key hold s as a column number
    span: int  # larger than any key


@dataclass(frozen=True, slots=True)
class _Letter:
    """Where one template character stands in the columns."""

    inside: _Ints  # columns where it stands, not counting the first of a response
    before: _Ints  # the columns left of those
    gain: _Ints  # what a match adds to f's part of the key, plus its own column as s
    border: _Ints  # keys for the first column of each response
    offset: _Ints  # a multiple of `span` that grows at every restart of the running maximum


def align(template: str, response: str) -> Alignment:
    """Return the alignment of one response. Both texts must have at least one character."""
    return align_many(template, [response])[0]


def align_many(template: str, responses: Sequence[str]) -> list[Alignment]:
    """Return the alignment of each response with `template`; faster together than one by one.

    Memory: 8 bytes per template character and response character.
    """
    columns = _lay_out(template, responses)
    keys = _fill(template, columns)
    ends = [*columns.starts[1:].tolist(), len(columns.codes)]
    return [
        _back_track(template, response, keys[:, start:end], (start, columns.bits))
        for response, start, end in zip(responses, columns.starts.tolist(), ends, strict=True)
    ]


def _lay_out(template: str, responses: Sequence[str]) -> _Columns:
    codes = np.frombuffer("".join(responses).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    lengths = [len(response) for response in responses]
    starts = np.concatenate(([0], np.cumsum(lengths[:-1], dtype=np.int64))).astype(np.int64)
    bits = max(1, len(codes).bit_length())
    return _Columns(codes, starts, bits, 1 << (bits + (len(template) + 1).bit_length()))


def _locate(character: str, columns: _Columns) -> _Letter:
    equal = columns.codes == ord(character)
    at_start = equal[columns.starts]
    equal[columns.starts] = False
    inside = np.flatnonzero(equal)
    equal[columns.starts] = True
    one = 1 << columns.bits
    return _Letter(
        inside=inside,
        before=inside - 1,
        gain=inside + one,
        border=np.where(at_start, one, 0) + columns.starts,
        offset=np.cumsum(equal, dtype=np.int64) * columns.span,
    )


def _fill(template: str, columns: _Columns) -> _Ints:
    letters = {character: _locate(character, columns) for character in set(template)}
    keys = np.empty((len(template), len(columns.codes)), dtype=np.int64)
    length_part = -1 << columns.bits
    first = letters[template[0]]
    keys[0] = np.repeat(columns.starts, np.diff([*columns.starts.tolist(), len(columns.codes)]))
    keys[0, first.inside] = first.gain
    keys[0, columns.starts] = first.border
    above = keys[0]
    for row, character in zip(keys[1:], template[1:], strict=True):
        letter = letters[character]
        row[:] = above
        row[columns.starts] = letter.border
        row[letter.inside] = (above[letter.before] & length_part) + letter.gain
        row += letter.offset
        np.maximum.accumulate(row, out=row)
        row -= letter.offset
        above = row
    return keys


def _back_track(template: str, response: str, keys: _Ints, place: tuple[int, int]) -> Alignment:
    """Return positions by walking up from the last cell; column -1 is the last one, as in the original."""
    start, bits = place
    low = (1 << bits) - 1
    position = (int(keys[-1, -1]) & low) - start
    positions = [0] * len(template)
    for index in range(len(template) - 1, -1, -1):
        if template[index] != response[position]:
            positions[index] = position + 1
            continue
        positions[index] = position
        if index:
            position = (int(keys[index - 1, position - 1]) & low) - start
    return Alignment(int(keys[-1, -1]) >> bits, tuple(positions))
