"""Hits of ROUGE-Lsum: for each reference line, the union of its longest common subsequences with all answer lines.

Which of several longest subsequences is taken matters for the union, so the walk back is that of rouge-score 0.1.2:
from the end, take a pair of equal tokens wherever there is one; else go up in the reference unless that shortens the
rest; else left.

All reference lines stand in one integer, one bit per token, with a guard bit above each line that swallows carries.
So one step handles all of them at once: forward, the bit-parallel recurrence of Hyyro (2004) over the tokens of an
answer line; back, the highest set bit of each line below the walk's place is where the walk goes next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

Lines = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Bit positions of a reference's tokens."""

    masks: dict[str, int]  # token -> its bits
    body: int  # every token's bit; the guards are the gaps
    shifts: tuple[tuple[int, int], ...]  # (k, bits whose k-th higher neighbour is in the same line), k = 1, 2, 4, ...


def lay_out(reference: Lines) -> Layout:
    """Return the layout of the reference's lines."""
    masks: dict[str, int] = {}
    body = offset = 0
    for line in reference:
        for index, token in enumerate(line, start=offset):
            masks[token] = masks.get(token, 0) | 1 << index
        body |= ((1 << len(line)) - 1) << offset
        offset += len(line) + 1
    longest = max(map(len, reference), default=0)
    shifts: list[tuple[int, int]] = []
    distance, within = 1, body & (body >> 1)
    while distance < longest:
        shifts.append((distance, within))
        within &= within >> distance
        distance *= 2
    return Layout(masks, body, tuple(shifts))


def union_hits(layout: Layout, answer: Lines) -> int:
    """Return how many reference tokens are hit, each word at most as often as the answer has it."""
    union = 0
    for line in answer:
        tokens = _known(layout, line)
        if any(tokens):
            union |= _walk(layout, tokens)
    if not union:
        return 0
    counts = Counter(token for line in answer for token in line)
    return sum(min((mask & union).bit_count(), counts[word]) for word, mask in layout.masks.items() if word in counts)


def _known(layout: Layout, line: Sequence[str]) -> list[int]:
    """Return the line's masks. Of unknown tokens in a row one is kept: the walk back goes up there, but only once."""
    masks = [layout.masks.get(token, 0) for token in line]
    return [mask for index, mask in enumerate(masks) if mask or not index or masks[index - 1]]


def _walk(layout: Layout, tokens: list[int]) -> int:
    """Return the bits that the subsequences of `tokens` with each reference line take."""
    level = layout.body  # a cleared bit: one more token of the line increases the length
    rises: list[int] = []
    for mask in tokens:
        hit = level & mask
        level = ((level + hit) | (level - hit)) & layout.body
        rises.append(layout.body ^ level)
    below = layout.body  # of each line, the tokens before the walk's place
    taken = 0
    for mask, rise in zip(reversed(tokens), reversed(rises), strict=True):
        filled = (rise | mask) & below
        if not filled:
            break
        for distance, within in layout.shifts:
            filled |= (filled >> distance) & within
        top = filled ^ ((filled >> 1) & layout.shifts[0][1]) if layout.shifts else filled
        hit = top & mask
        taken |= hit
        below = filled ^ hit
    return taken
