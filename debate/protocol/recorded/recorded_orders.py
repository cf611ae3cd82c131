"""The two orders that the original never wrote down, recovered by equality of texts: never by guessing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from debate.protocol.recorded.recorded_files import ResponseLine

MAX_AGENTS = 6  # 720 orders to try


@dataclass(frozen=True, slots=True)
class FoundOrder:
    """Which response was shown first."""

    response_order: int  # 0: A first; 1: B first
    line: int  # of the responses files, from 1
    text_a: str
    text_b: str


@dataclass(frozen=True, slots=True)
class RecoveredAgents:
    """Who sat where."""

    agents: tuple[str, ...]
    matched: int  # agents whose independent text stands verbatim in the judge's own file


def recover_response_order(
    *,
    item_id: int,
    question: str,
    shown: tuple[str, str],
    responses_a: Sequence[ResponseLine],
    responses_b: Sequence[ResponseLine],
) -> FoundOrder | None:
    """Return the order in which `shown` repeats two responses verbatim, or None.

    The line with the item's own number is tried first; only then another line with the same prompt (prompts repeat).
    Nothing is stripped: some responses differ in leading spaces alone.
    """
    last = min(len(responses_a), len(responses_b))
    candidates = [item_id, *(number for number in range(1, last + 1) if number != item_id)]
    for number in candidates:
        if not 1 <= number <= last:
            continue
        a, b = responses_a[number - 1], responses_b[number - 1]
        if question not in (a.prompt, b.prompt) or a.response == b.response:
            continue
        if shown == (a.response, b.response):
            return FoundOrder(0, number, a.response, b.response)
        if shown == (b.response, a.response):
            return FoundOrder(1, number, a.response, b.response)
    return None


def recover_agents(texts: Sequence[str | None], own_texts: Mapping[str, str | None]) -> RecoveredAgents | None:
    """Return the one order of the agents in which most independent texts stand in the judges' own files, or None.

    `own_texts` has the judges in the configured order. All agents, or all but one, must match by a text that is there;
    the last one follows. Where several orders match equally well, a rotation of the configured order is taken if it
    is the only one among them, as ScaleEval orders its agents by rotation.
    """
    judges = tuple(own_texts)
    if not 2 <= len(judges) == len(texts) <= MAX_AGENTS:
        return None
    matches = {
        agents: sum(text is not None and text == own_texts[judge] for text, judge in zip(texts, agents, strict=True))
        for agents in permutations(judges)
    }
    best = max(matches.values())
    if best < len(judges) - 1:
        return None
    best_orders = [agents for agents, count in matches.items() if count == best]
    if len(best_orders) > 1:
        rotations = {(*judges[start:], *judges[:start]) for start in range(len(judges))}
        best_orders = [agents for agents in best_orders if agents in rotations]
    return RecoveredAgents(best_orders[0], best) if len(best_orders) == 1 else None
