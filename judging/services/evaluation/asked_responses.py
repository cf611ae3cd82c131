"""Responses that are given here: what a reply is as a response, and storing it in place of an earlier one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from evalsite.base.json_types import JsonObject
from judging import signals
from judging.models import Response, Run
from judging.services.content_hashes import text_hash
from judging.services.storable import storable

Place = tuple[int, int, int]  # system, prompt, attempt


@dataclass(frozen=True, slots=True)
class GivenResponse:
    """What a system said to a prompt, and how that came."""

    system_id: int
    prompt_id: int
    attempt: int
    text: str
    completion_tokens: int | None
    seconds: float | None
    stop_reason: str
    call_id: int | None
    is_truncated: bool = False

    @property
    def place(self) -> Place:
        return self.system_id, self.prompt_id, self.attempt


def store_responses(
    *, run: Run, given: Sequence[GivenResponse], frozen: Mapping[str, JsonObject], at: datetime
) -> list[Response]:
    """Return the rows of what was given, in its order: the current one where it says the same, else a new one in its
    place. `frozen` is what the run keeps of each system, by its key."""
    found = Response.objects.filter(
        system_id__in={one.system_id for one in given},
        prompt_id__in={one.prompt_id for one in given},
        attempt__in={one.attempt for one in given},
        superseded_at__isnull=True,
    )
    current = {(row.system_id, row.prompt_id, row.attempt): row for row in found}
    rows: list[Response] = []
    outdated: list[int] = []
    for one in given:
        row = _row(run, one, frozen[str(one.system_id)], at)
        there = current.get(one.place)
        if there is not None and there.text_hash == row.text_hash and there.completion_tokens == row.completion_tokens:
            rows.append(there)
            continue
        if there is not None:
            outdated.append(there.pk)
        rows.append(row)
    Response.objects.filter(pk__in=outdated).update(superseded_at=at)
    Response.objects.bulk_create([row for row in rows if row.pk is None])
    if outdated:
        benchmark_id = run.suite.benchmark_id
        transaction.on_commit(lambda: signals.content_changed.send_robust(sender=Response, benchmark_id=benchmark_id))
    return rows


def _row(run: Run, one: GivenResponse, frozen: JsonObject, at: datetime) -> Response:
    text = storable(one.text)
    return Response(
        prompt_id=one.prompt_id,
        system_id=one.system_id,
        attempt=one.attempt,
        text=text,
        text_hash=text_hash(text),
        completion_tokens=one.completion_tokens,
        call_id=one.call_id,
        stop_reason=storable(one.stop_reason)[:40],
        seconds=one.seconds,
        metadata={
            "prompt_version": frozen["prompt_version"],
            "prompt_hash": frozen["prompt_hash"],
            "run": run.pk,
            "truncated": one.is_truncated,
        },
        source=f"run {run.pk}",
        imported_at=at,
    )
