"""The responses of a baseline system that comparison judges are shown beside the ones they judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from evalsite.base.json_types import JsonDict
from judging.models import BASELINE, BASELINE_ID, Response, System

BASELINE_RESPONSE = "baseline_response"  # in a verdict's value: the key of what it was compared with


@dataclass(frozen=True, slots=True)
class BaselineResponses:
    """Current responses of baseline systems, by system and prompt, then by attempt."""

    rows: Mapping[tuple[int, int], Mapping[int, Response]] = field(default_factory=dict)

    def beside(self, system_id: int | None, response: Response) -> Response | None:
        """Return the system's response to the same prompt and attempt, or else its only one; None without a system."""
        attempts = self.rows.get((system_id or 0, response.prompt_id), {})
        return attempts.get(response.attempt) or (next(iter(attempts.values())) if len(attempts) == 1 else None)


def frozen_baseline(system: System | None) -> JsonDict:
    """Return what an evaluator freezes of the system that it compares with."""
    return {} if system is None else {BASELINE: system.name, BASELINE_ID: system.pk}


def read_baselines(*, system_ids: Collection[int | None], prompt_ids: Iterable[int]) -> BaselineResponses:
    """Return the responses of these systems to these prompts with one query; none without systems."""
    if not any(system_ids):
        return BaselineResponses()
    by_attempt: dict[tuple[int, int], dict[int, Response]] = {}
    rows = Response.objects.filter(
        system_id__in=[pk for pk in system_ids if pk], prompt_id__in=set(prompt_ids), superseded_at__isnull=True
    ).order_by("attempt", "pk")
    for row in rows:
        by_attempt.setdefault((row.system_id, row.prompt_id), {})[row.attempt] = row
    return BaselineResponses(by_attempt)


def why_not_compared(baseline: str, other: Response | None) -> str:
    """Return why a response has nothing to be compared with; empty where it has."""
    if other is None:
        return (
            f"{baseline} has no response to this case, or several and none of this attempt. "
            "Import it or ask the system in a run, then retry."
        )
    return "" if other.text else f"The response of {baseline} to this case is empty, so there is nothing to compare."
