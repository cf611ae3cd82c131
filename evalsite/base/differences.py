"""Where two answers differ, word by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final

from rapidfuzz.distance import Indel

MOST_WORDS: Final = 16_000  # of both together: the table of the comparison then takes 8 MB and a fraction of a second
LONG_TEXTS: Final = 600  # characters of both together
LEAST_SHARED: Final = 0.25  # of the characters of long texts, for marks to tell anything
FEWEST_SHARED: Final = 2  # words; shorter islands between differences say nothing and tear the text to pieces
_UNSPACED = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"  # scripts without spaces: each letter is a word
_WORD = re.compile(rf"(?:{_UNSPACED}|(?:(?!{_UNSPACED})\w)+|[^\w\s])\s*|\s+")


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """A stretch of text."""

    text: str
    differs: bool


@dataclass(frozen=True, slots=True)
class Differences:
    """Two texts as stretches that are the same in both or only in one."""

    a: tuple[DiffPiece, ...]
    b: tuple[DiffPiece, ...]

    @property
    def are_everywhere(self) -> bool:
        """Whether two long texts share so little that marks would stand on nearly every word."""
        pieces = self.a + self.b
        length = sum(len(piece.text) for piece in pieces)
        shared = sum(len(piece.text) for piece in pieces if not piece.differs)
        return length > LONG_TEXTS and shared < LEAST_SHARED * length


@dataclass(frozen=True, slots=True)
class MergedPiece:
    """A stretch of two texts written as one: in both, only in the first (`removed`) or only in the second (`added`)."""

    text: str
    change: str


@dataclass(frozen=True, slots=True)
class _Run:
    """Words of both texts: the same in both, or in each its own."""

    a: Sequence[str]
    b: Sequence[str]
    differs: bool


def compare(a: str, b: str) -> Differences | None:
    """Return where two texts differ, or None where they are too long to compare. Spaces alone make no difference."""
    words_a, words_b = _WORD.findall(a), _WORD.findall(b)
    if len(words_a) + len(words_b) > MOST_WORDS:
        return None
    runs = _runs(words_a, words_b)
    return Differences(_pieces([(run.a, run.differs) for run in runs]), _pieces([(run.b, run.differs) for run in runs]))


def merge(a: str, b: str) -> tuple[MergedPiece, ...]:
    """Return two texts as one, with what only the first has before what only the second has.

    Texts that are too long to compare are one removed and one added piece.
    """
    words_a, words_b = _WORD.findall(a), _WORD.findall(b)
    is_long = len(words_a) + len(words_b) > MOST_WORDS
    runs = [_Run(words_a, words_b, differs=True)] if is_long and a != b else _runs(words_a, words_b)
    pieces: list[MergedPiece] = []
    for differs, group in groupby(runs, key=attrgetter("differs")):
        found = list(group)
        removed, added = ("".join(word for run in found for word in words(run)) for words in (_FIRST, _SECOND))
        written = [(removed, "removed"), (added, "added")] if differs else [(added, "")]
        pieces += [MergedPiece(text, change) for text, change in written if text]
    return tuple(pieces)


_FIRST, _SECOND = attrgetter("a"), attrgetter("b")


def _runs(a: Sequence[str], b: Sequence[str]) -> list[_Run]:
    steps = Indel.opcodes([word.strip() for word in a], [word.strip() for word in b])
    runs = [
        _Run(a[step.src_start : step.src_end], b[step.dest_start : step.dest_end], step.tag != "equal")
        for step in steps
    ]
    return [_Run(run.a, run.b, run.differs or _is_island(runs, index)) for index, run in enumerate(runs)]


def _is_island(runs: Sequence[_Run], index: int) -> bool:
    """Whether too few words are shared here, with differences on both sides."""
    inside = 0 < index < len(runs) - 1
    return inside and sum(word[0].isalnum() for word in runs[index].a) < FEWEST_SHARED


def _pieces(stretches: Sequence[tuple[Sequence[str], bool]]) -> tuple[DiffPiece, ...]:
    """Stretches with their neighbours of the same kind made one."""
    pieces: list[DiffPiece] = []
    for words, differs in stretches:
        text = "".join(words)
        if pieces and pieces[-1].differs == differs:
            pieces[-1] = DiffPiece(pieces[-1].text + text, differs)
        elif text:
            pieces.append(DiffPiece(text, differs))
    return tuple(pieces)
