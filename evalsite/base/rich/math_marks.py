"""Where formulas begin and end in Markdown: rules for the parser.

A single dollar is money more often than mathematics, so `$` opens a formula only where no letter or digit stands before
it and no space after it, closes it only where no space stands before and no letter or digit after; never around prose.
(The dollarmath plugin of mdit-py-plugins takes five of the eleven texts about money in our tests for formulas.)
"""

from __future__ import annotations

import re
from typing import Final

from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from evalsite.base.rich.formulas import MOST_CHARACTERS

MOST_TRIES: Final = 12  # dollars looked at for one that closes
_CLOSING: Final = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}
_WORD: Final = re.compile(r"[A-Za-z0-9_]")
_COMMAND: Final = re.compile(
    r"\\(?:text|mathrm|mathbf|textbf|textrm|operatorname|mbox|mathit|mathsf)\*?\s*\{[^{}]*\}|\\[A-Za-z]+"
)
_PROSE: Final = re.compile(r"[A-Za-z]{2,}[,;:]?\s+[A-Za-z]{2,}")
_AMOUNT: Final = re.compile(r"\s*\d[\d,.]*[,;]?\s(?:a|and|but|each|for|in|is|of|or|per|then|to)\b")


def find_formulas(state: StateInline, silent: bool) -> bool:
    """Parser rule: $ $, $$ $$, \\( \\) or \\[ \\] inside a paragraph."""
    opening = state.src[state.pos : state.pos + 2]
    if opening not in _CLOSING:
        opening = opening[:1]
    if opening != "$" and opening not in _CLOSING:
        return False
    end = _end_of_dollar(state) if opening == "$" else _end(state, opening)
    if end < 0:
        return False
    if not silent:
        _push(state, opening, end)
    state.pos = end + len(opening)
    return True


def _push(state: StateInline, opening: str, end: int) -> None:
    token = state.push("math", "", 0)
    token.markup = opening
    token.content = state.src[state.pos + len(opening) : end]
    token.meta = {"written": state.src[state.pos : end + len(opening)]}


def _end(state: StateInline, opening: str) -> int:
    """Where the closing mark stands; -1 without one, or with nothing between."""
    start = state.pos + 2
    end = state.src.find(_CLOSING[opening], start, min(state.posMax, start + MOST_CHARACTERS))
    return end if end > start and not state.src[start:end].isspace() else -1


def _end_of_dollar(state: StateInline) -> int:
    source, start = state.src, state.pos + 1
    before, after = source[state.pos - 1 : state.pos], source[start : start + 1]
    if not after or after.isspace() or _WORD.match(before) or before == "$":
        return -1
    end = start
    limit = min(state.posMax, start + MOST_CHARACTERS)
    for _ in range(MOST_TRIES):
        end = source.find("$", end + 1, limit)
        if end < 0:
            break
        if not source[end - 1].isspace() and source[end - 1] != "\\" and not _WORD.match(source, end + 1):
            return end if _is_mathematics(source[start:end]) else -1
    return -1


def _is_mathematics(text: str) -> bool:
    """Whether text between two dollars reads as a formula: no sentence, and no amount that a sentence goes on from."""
    return not _PROSE.search(_COMMAND.sub(" ", text)) and not _AMOUNT.match(text)


def find_block_formulas(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Parser rule: $$ or \\[ at the beginning of a line and its closing mark at the end of that line or a later one."""
    begin = state.bMarks[start_line] + state.tShift[start_line]
    opening = state.src[begin : begin + 2]
    if opening not in ("$$", "\\[") or state.is_code_block(start_line):
        return False
    end = state.src.find(_CLOSING[opening], begin + 2, begin + 2 + MOST_CHARACTERS)
    last = _line_that_ends(state, end + 2, start_line, end_line) if end > 0 else -1
    if last < 0 or state.src[begin + 2 : end].isspace() or end == begin + 2:
        return False
    written = state.getLines(start_line, last + 1, state.blkIndent, False).strip()
    content = written[2:-2]
    if not silent:
        token = state.push("math_block", "", 0)
        token.markup, token.content, token.meta = opening, content, {"written": written}
        token.map = [start_line, last + 1]
        state.line = last + 1
    return True


def _line_that_ends(state: StateBlock, end: int, line: int, end_line: int) -> int:
    """The line of this block on which nothing follows `end`; -1 where something does or the block is over before."""
    while line < end_line and state.sCount[line] >= state.blkIndent:
        if end <= state.eMarks[line]:
            return line if not state.src[end : state.eMarks[line]].strip() else -1
        line += 1
    return -1
