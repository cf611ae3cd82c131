"""What a speaker may read before it speaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from debate.protocol.setups import RoundMode, StatementResult, Visibility


@dataclass(frozen=True, slots=True)
class VisibleStatements:
    """What one seat reads in one round, oldest first; statements without text are left out."""

    own: tuple[StatementResult, ...]
    others: tuple[StatementResult, ...]


def heard_by(
    seat: int, *, round_number: int, statements: Sequence[StatementResult], mode: RoundMode, visibility: Visibility
) -> VisibleStatements:
    """Return what `seat` reads in `round_number`, of everything said so far.

    The opening is blind. Later, a seat reads the round before (or all earlier rounds, `full`); in sequential mode also
    what was said before it in the same round. A mirrored opening vote is about swapped submissions and is never read.
    """
    if round_number == 0:
        return VisibleStatements((), ())
    earliest = 0 if visibility is Visibility.FULL else round_number - 1
    latest = round_number if mode is RoundMode.SEQUENTIAL else round_number - 1
    readable = [
        statement
        for statement in statements
        if earliest <= statement.round <= latest and statement.text.strip() and not statement.mirrored
    ]
    return VisibleStatements(
        own=tuple(statement for statement in readable if statement.seat == seat),
        others=tuple(statement for statement in readable if statement.seat != seat),
    )
