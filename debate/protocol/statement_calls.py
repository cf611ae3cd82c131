"""Which calls a statement rests on, out of all calls of its debate in the order asked."""

from __future__ import annotations

from collections.abc import Sequence

from debate.protocol.setups import Method, RoundMode, StatementResult


def calls_by_statement(
    statements: Sequence[StatementResult], call_ids: Sequence[int], *, method: Method, mode: RoundMode
) -> list[tuple[int, ...]]:
    """Return the calls of each statement: the question, and after it the one that asked again.

    A step asks for all its statements and then once more for those without a verdict (see `debate.protocol.debate`).
    Where the number of calls is not what that takes, nothing is known and every statement has none.
    """
    if len(call_ids) != len(statements) + sum(statement.reasked for statement in statements):
        return [()] * len(statements)
    calls: list[tuple[int, ...]] = []
    rest = iter(call_ids)
    for step in _steps(statements, method, mode):
        first = [next(rest) for _ in step]
        calls += [(pk, next(rest)) if statement.reasked else (pk,) for pk, statement in zip(first, step, strict=True)]
    return calls


def _steps(statements: Sequence[StatementResult], method: Method, mode: RoundMode) -> list[list[StatementResult]]:
    """Return the statements that were asked for at once: all of a vote, a round, or a single turn in sequence."""
    if method is not Method.DEBATE:
        return [list(statements)]
    steps: dict[tuple[int, int], list[StatementResult]] = {}
    for statement in statements:
        alone = mode is RoundMode.SEQUENTIAL and statement.round > 0
        steps.setdefault((statement.round, statement.agent_number if alone else 0), []).append(statement)
    return list(steps.values())
