"""Where two answers differ, word by word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_WORDS = 6_000  # of both together; comparing takes time that grows with the square
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text."""

    text: str
    differs: bool


@dataclass(frozen=True, slots=True)
class Differences:
    """Two texts as stretches that are the same in both or only in one."""

    a: tuple[Piece, ...]
    b: tuple[Piece, ...]


def compare(a: str, b: str) -> Differences | None:
    """Return where two texts differ, or None where they are too long to compare."""
    words_a, words_b = _WORD.findall(a), _WORD.findall(b)
    if len(words_a) + len(words_b) > MOST_WORDS:
        return None
    pieces_a: list[Piece] = []
    pieces_b: list[Piece] = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, words_a, words_b, autojunk=False).get_opcodes():
        if a2 > a1:
            pieces_a.append(Piece("".join(words_a[a1:a2]), tag != "equal"))
        if b2 > b1:
            pieces_b.append(Piece("".join(words_b[b1:b2]), tag != "equal"))
    return Differences(tuple(pieces_a), tuple(pieces_b))
