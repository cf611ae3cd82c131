"""Stores responses: equal text changes nothing, another text supersedes the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from judging import signals
from judging.models import Benchmark, Prompt, Response, Suite, System
from judging.services.hashing import text_hash
from judging.services.inserting import BATCH, Inserter
from judging.services.staging import Watch, unwatched
from judging.specs.types import ResponseSpec

MOST_DIGITS = 10  # of a number of tokens: the column holds 2,147,483,647


class UnknownCases(ValueError):
    """Responses name cases that the benchmark does not have; the message lists them."""


@dataclass(frozen=True, slots=True)
class ResponsePlan:
    """What storing responses would do."""

    new: tuple[ResponseSpec, ...]
    changed: tuple[ResponseSpec, ...]
    unchanged: int
    new_systems: tuple[str, ...]
    unknown_cases: tuple[ResponseSpec, ...]
    amended: tuple[ResponseSpec, ...] = ()  # the same text, with other details: the row stays, its details change
    to_amend: tuple[int, ...] = ()  # their rows, in their order
    outdated: tuple[int, ...] = ()  # the stored responses that the changed ones take over from, in their order

    @property
    def changes_nothing(self) -> bool:
        return not (self.new or self.changed or self.amended)


def plan_responses(*, specs: Sequence[ResponseSpec], suite: Suite) -> ResponsePlan:
    """Return what `store_responses` would create, supersede and leave, without storing anything."""
    return plan_answers(specs=specs, benchmark=suite.benchmark, prompts=_prompts_of(suite))


def plan_answers(
    *, specs: Sequence[ResponseSpec], benchmark: Benchmark | None, prompts: Mapping[str, int | None]
) -> ResponsePlan:
    """Return the plan for answers to prompts by case key; None stands for a prompt that is still to be stored."""
    current = _current(benchmark, specs) if benchmark else {}
    known = set(System.objects.values_list("name", flat=True))
    new: list[ResponseSpec] = []
    changed: list[ResponseSpec] = []
    unknown: list[ResponseSpec] = []
    outdated: list[int] = []
    amended: list[tuple[int, ResponseSpec]] = []
    for spec in specs:
        if spec.case_key not in prompts:
            unknown.append(spec)
            continue
        prompt_id = prompts[spec.case_key]
        stored = current.get((prompt_id, spec.system, spec.attempt)) if prompt_id is not None else None
        if stored is None:
            new.append(spec)
        elif stored.text_hash != text_hash(spec.text):
            changed.append(spec)
            outdated.append(stored.pk)
        elif _amend(stored, spec):
            amended.append((stored.pk, spec))
    return ResponsePlan(
        new=tuple(new),
        changed=tuple(changed),
        unchanged=len(specs) - len(new) - len(changed) - len(unknown) - len(amended),
        amended=tuple(spec for _, spec in amended),
        to_amend=tuple(pk for pk, _ in amended),
        new_systems=tuple(sorted({spec.system for spec in specs} - known)),
        unknown_cases=tuple(unknown),
        outdated=tuple(outdated),
    )


@transaction.atomic
def store_responses(
    *, specs: Sequence[ResponseSpec], suite: Suite, actor: User | None, at: datetime, watch: Watch = unwatched
) -> ResponsePlan:
    """Store responses to the cases of a suite and return what was done.

    Raises:
        UnknownCases: a response names a case that the suite does not have; nothing is stored.
    """
    plan = plan_responses(specs=specs, suite=suite)
    if plan.unknown_cases:
        raise UnknownCases(_unknown_message(plan, suite))
    if plan.changes_nothing:
        return plan
    _store_amended(plan)
    prompts = _prompts_of(suite)
    System.objects.bulk_create([System(name=name, created_at=at) for name in plan.new_systems])
    systems = dict(System.objects.filter(name__in={spec.system for spec in specs}).values_list("name", "pk"))
    for start in range(0, len(plan.outdated), BATCH):
        Response.objects.filter(pk__in=plan.outdated[start : start + BATCH]).update(superseded_at=at)
    rows = [_row(spec, prompts[spec.case_key], systems[spec.system], at) for spec in (*plan.new, *plan.changed)]
    Inserter(watch, len(rows)).insert(Response, rows)
    signals.acted.send(
        sender=Response,
        actor_id=actor.pk if actor else None,
        action="responses.imported",
        subject=str(suite),
        subject_id=suite.pk,
        detail={
            "new": len(plan.new),
            "changed": len(plan.changed),
            "amended": len(plan.amended),
            "systems": sorted(systems),
        },
    )
    if plan.changed:
        benchmark_id = suite.benchmark_id
        transaction.on_commit(lambda: signals.content_changed.send_robust(sender=Response, benchmark_id=benchmark_id))
    return plan


def _unknown_message(plan: ResponsePlan, suite: Suite) -> str:
    first = plan.unknown_cases[0]
    keys = sorted({spec.case_key for spec in plan.unknown_cases})
    shown = ", ".join(keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
    place = f"{first.source}: " if first.source else ""
    return f"{place}{suite} has no case {shown}. Import the suite that has it first, or choose that suite."


def _prompts_of(suite: Suite) -> dict[str, int]:
    return dict(Prompt.objects.filter(cases__suites=suite).values_list("key", "pk"))


def _current(benchmark: Benchmark, specs: Sequence[ResponseSpec]) -> dict[tuple[int, str, int], Response]:
    names = {spec.system for spec in specs}
    rows = Response.objects.filter(
        prompt__benchmark=benchmark, system__name__in=names, superseded_at__isnull=True
    ).select_related("system")
    rows = rows.only("prompt_id", "system__name", "attempt", "text_hash", "completion_tokens", "metadata")
    return {(row.prompt_id, row.system.name, row.attempt): row for row in rows}


def _amend(stored: Response, spec: ResponseSpec) -> bool:
    """Give a stored response the details that a file adds or changes; return whether there are any."""
    tokens, details = token_count(spec.metadata.get("completion_tokens")), {**stored.metadata, **spec.metadata}
    before = (stored.completion_tokens, stored.metadata)
    stored.completion_tokens = stored.completion_tokens if tokens is None else tokens
    stored.metadata = details
    return before != (stored.completion_tokens, details)


def _store_amended(plan: ResponsePlan) -> None:
    for start in range(0, len(plan.to_amend), BATCH):
        rows = Response.objects.in_bulk(plan.to_amend[start : start + BATCH])
        for pk, spec in zip(plan.to_amend[start : start + BATCH], plan.amended[start : start + BATCH], strict=True):
            _amend(rows[pk], spec)
        Response.objects.bulk_update(rows.values(), ["completion_tokens", "metadata"])


def token_count(given: object) -> int | None:
    """Return a number of tokens, also one that a table holds as text; None for anything else."""
    text = str(given).strip().removesuffix(".0") if not isinstance(given, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < MOST_DIGITS else None


def _row(spec: ResponseSpec, prompt_id: int, system_id: int, at: datetime) -> Response:
    return Response(
        prompt_id=prompt_id,
        system_id=system_id,
        attempt=spec.attempt,
        text=spec.text,
        text_hash=text_hash(spec.text),
        completion_tokens=token_count(spec.metadata.get("completion_tokens")),
        metadata=dict(spec.metadata),
        source=spec.source[:300],
        imported_at=at,
    )
