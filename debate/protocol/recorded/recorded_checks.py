"""Everything unusual about recorded debates, by file and item: reported, never corrected."""

from __future__ import annotations

import re
from collections.abc import Iterator

from debate.protocol.records import RecordedCell, RecordedItem, RecordedTurn
from debate.protocol.verdicts import read_recorded, read_strict
from judging.specs.files.problems import Problem, Severity

_LAST_DIGITS = re.compile(r"([0-9]+)(?=[^0-9]*\Z)")


def check_cell(cell: RecordedCell, *, file: str) -> Iterator[Problem]:
    """Yield what is unusual about the scores and texts of a cell, item by item."""
    for item in cell.items:
        for number, stage in enumerate(item.stages):
            for turn in stage:
                yield from _check_turn(turn, file=file, place=place_of(item.id, number, turn.seat))
        yield from _check_against_singles(cell, item, file=file)


def place_of(item_id: int, stage: int, seat: int) -> str:
    """Return the place of a statement in words."""
    return f"item {item_id}, {'independent round' if stage == 0 else f'round {stage}'}, agent {seat}"


def warning(file: str, place: str, message: str, code: str, *, offending: object = "") -> Problem:
    """Return a finding about a recorded file that does not keep the rest from being read."""
    return Problem(Severity.WARNING, file, place, message, offending=str(offending)[:200], code=code)


def _check_turn(turn: RecordedTurn, *, file: str, place: str) -> Iterator[Problem]:
    recorded, strict = read_recorded(turn.score), read_strict(turn.text)
    ending = (turn.text or "").strip()[-80:]
    if recorded is None:
        message = f'The score is {turn.score!r} of {turn.judge}, not one of "0", "1" and "2": no verdict as recorded.'
        yield warning(file, place, message, "odd-score", offending=ending)
    if not (turn.text or "").strip():
        yield warning(file, place, f"The statement of {turn.judge} is empty.", "no-text")
        return
    if recorded != strict.verdict:
        message = f"Recorded as {_named(recorded)}, but the text of {turn.judge} says {_named(strict.verdict)}."
        yield warning(file, place, message, "reading-differs", offending=ending)
    digits = _LAST_DIGITS.search(turn.text or "")
    if recorded is not None and (digits is None or digits[1] != turn.score):
        message = f"The score {turn.score!r} is not the last number of its text."
        yield warning(file, place, message, "score-edited", offending=ending)


def _check_against_singles(cell: RecordedCell, item: RecordedItem, *, file: str) -> Iterator[Problem]:
    for turn in item.stages[0]:
        own = next((row for row in cell.singles.get(turn.judge, ()) if row.id == item.id), None)
        if own is None:
            continue
        place = place_of(item.id, 0, turn.seat)
        if own.score != turn.score or type(own.score) is not type(turn.score):
            message = (
                f"The single-judge file of {turn.judge} has the score {own.score!r}, the debate has {turn.score!r}."
            )
            yield warning(file, place, message, "single-score-differs")
        if own.text != turn.text:
            message = (
                f"The single-judge file of {turn.judge} has another text; its number follows from the other agents."
            )
            yield warning(file, place, message, "single-text-differs")


def _named(verdict: int | None) -> str:
    return "no verdict" if verdict is None else str(verdict)
