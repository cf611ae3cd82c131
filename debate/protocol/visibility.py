"""What an agent may read before it speaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from debate.protocol.setups import RoundMode, StatementResult, Visibility


@dataclass(frozen=True, slots=True)
class VisibleStatements:
    """What one agent reads in one round, oldest first; statements without text are left out."""

    own: tuple[StatementResult, ...]
    others: tuple[StatementResult, ...]


def heard_by(
    agent_number: int,
    *,
    round_number: int,
    statements: Sequence[StatementResult],
    mode: RoundMode,
    visibility: Visibility,
) -> VisibleStatements:
    """Return what an agent reads in `round_number`, of everything said so far.

    The independent round is blind. Later, an agent reads the round before (or all earlier rounds, `full`), and in
    sequential mode what was said before it in the same round. A mirrored vote is about swapped responses: never read.
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
        own=tuple(statement for statement in readable if statement.agent_number == agent_number),
        others=tuple(statement for statement in readable if statement.agent_number != agent_number),
    )
