"""Stores responses: equal text changes nothing, another text supersedes the one before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import connection, transaction

from evalsite.accounts.audit import record
from judging import signals
from judging.models import BatchResponse, Benchmark, ImportBatch, Prompt, Response, Suite, System
from judging.services.content_hashes import prompt_hash, response_hash
from judging.services.file_imports.import_batches import ROWS, BatchWriter, copy_rows, moment, quoted, table
from judging.services.file_imports.staged_rubrics import Watch, unwatched
from judging.specs.types import ResponseSpec, SuiteSpec

MAX_DIGITS = 10  # of a number of tokens: the column holds 2,147,483,647


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


@dataclass(frozen=True, slots=True)
class PromptKey:
    """A prompt with responses: its hash, and its row where it is stored."""

    content_hash: str
    pk: int | None = None


def plan_responses(*, specs: Sequence[ResponseSpec], suite: Suite) -> ResponsePlan:
    """Return what storing responses to a suite would create, supersede and leave, without storing anything."""
    prompts = {key: prompt.pk for key, prompt in prompts_of(suite).items()}
    return plan_prompt_responses(specs=specs, benchmark=suite.benchmark, prompts=prompts)


def plan_prompt_responses(
    *, specs: Sequence[ResponseSpec], benchmark: Benchmark | None, prompts: Mapping[str, int | None]
) -> ResponsePlan:
    """Return the plan for responses to prompts by case key; None stands for a prompt that is still to be stored."""
    current = _current(benchmark, specs) if benchmark else {}
    system_names = set(System.objects.values_list("name", flat=True))
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
        elif stored.text_hash != response_hash(spec):
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
        new_systems=tuple(sorted({spec.system for spec in specs} - system_names)),
        unknown_cases=tuple(unknown),
        outdated=tuple(outdated),
    )


def write_responses(
    *,
    batch: ImportBatch,
    specs: Sequence[ResponseSpec],
    benchmark: Benchmark | None,
    prompts: Mapping[str, PromptKey],
    owner: str,
    watch: Watch = unwatched,
) -> ResponsePlan:
    """Write responses that change something into a batch; `use_responses` takes them into use.

    Raises:
        UnknownCases: a response names a case that `prompts`, which are those of `owner`, does not have.
    """
    plan = plan_prompt_responses(
        specs=specs, benchmark=benchmark, prompts={key: prompt.pk for key, prompt in prompts.items()}
    )
    if plan.unknown_cases:
        raise UnknownCases(_unknown_message(plan, owner))
    new = (*plan.new, *plan.changed)
    writer = BatchWriter(batch, watch, len(new) + len(plan.amended))
    writer.add(BatchResponse, (_batch_row(batch, spec, prompts[spec.case_key].content_hash) for spec in new))
    writer.add(BatchResponse, _amended_rows(batch, plan, prompts))
    return plan


@transaction.atomic
def use_responses(*, batch: ImportBatch, plan: ResponsePlan, suite: Suite, actor: User | None, at: datetime) -> None:
    """Make the responses that a batch holds the current ones of a suite's benchmark; those before are superseded."""
    if plan.changes_nothing:
        return
    rows = BatchResponse.objects.filter(batch=batch)
    systems = sorted(set(rows.order_by().values_list("system", flat=True).distinct()))
    System.objects.bulk_create([System(name=name, created_at=at) for name in systems], ignore_conflicts=True)
    _use_amended(batch)
    _use_new(batch, suite.benchmark_id, at)
    record(
        actor,
        "responses.imported",
        suite,
        new=len(plan.new),
        changed=len(plan.changed),
        amended=len(plan.amended),
        systems=systems,
    )
    if plan.changed:
        benchmark_id = suite.benchmark_id
        transaction.on_commit(lambda: signals.content_changed.send_robust(sender=Response, benchmark_id=benchmark_id))


def _use_amended(batch: ImportBatch) -> None:
    """Give stored responses the details that a batch holds for them."""
    details = "(SELECT b.{} FROM {} b WHERE b.batch_id = %s AND b.amends_id = {}.id)"
    fields = ("completion_tokens", "metadata")
    assignments = ", ".join(
        f"{name} = {details.format(name, table(BatchResponse), table(Response))}" for name in fields
    )
    amended_ids = f"SELECT b.amends_id FROM {table(BatchResponse)} b WHERE b.batch_id = %s AND b.amends_id IS NOT NULL"  # noqa: S608 own names
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table(Response)} SET {assignments} WHERE id IN ({amended_ids})",  # noqa: S608 own names
            [batch.pk, batch.pk, batch.pk],
        )


def _use_new(batch: ImportBatch, benchmark_id: int, at: datetime) -> None:
    """Supersede the current responses that have another text now, and copy what has no current one."""
    batch_rows = (
        f"FROM {table(BatchResponse)} b"
        f" JOIN {table(Prompt)} p ON p.benchmark_id = %s AND p.{quoted('key')} = b.case_key"
        f" AND p.content_hash = b.prompt_hash JOIN {table(System)} s ON s.name = b.system"
    )
    current = "r.prompt_id = p.id AND r.system_id = s.id AND r.attempt = b.attempt AND r.superseded_at IS NULL"
    is_new = "b.batch_id = %s AND b.amends_id IS NULL"
    outdated = (
        f"SELECT r.id {batch_rows} JOIN {table(Response)} r ON {current} WHERE {is_new} AND r.text_hash <> b.text_hash"
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table(Response)} SET superseded_at = %s WHERE id IN ({outdated})",  # noqa: S608 own names
            [moment(at), benchmark_id, batch.pk],
        )
    names = ("attempt", "text", "text_hash", "images", "messages", "completion_tokens", "metadata", "source")
    copy_rows(
        Response,
        {"imported_at": "%s", "prompt": "p.id", "system": "s.id", **{name: f"b.{quoted(name)}" for name in names}},
        f"{batch_rows} WHERE {is_new} AND NOT EXISTS (SELECT 1 FROM {table(Response)} r WHERE {current}) ORDER BY b.id",  # noqa: S608 own names
        [moment(at), benchmark_id, batch.pk],
    )


def _unknown_message(plan: ResponsePlan, owner: str) -> str:
    first = plan.unknown_cases[0]
    keys = sorted({spec.case_key for spec in plan.unknown_cases})
    shown = ", ".join(keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
    location = f"{first.source}: " if first.source else ""
    return f"{location}{owner} has no case {shown}. First import the suite that has it, or choose that suite."


def prompts_of(suite: Suite) -> dict[str, PromptKey]:
    """Return the prompts of a stored suite by the keys of their cases."""
    rows = Prompt.objects.filter(cases__suites=suite).values_list("key", "content_hash", "pk")
    return {key: PromptKey(digest, pk) for key, digest, pk in rows}


def coming_prompts(suite: SuiteSpec | None, benchmark: Benchmark | None) -> dict[str, PromptKey]:
    """Return the prompts of a suite that is still to be stored by the keys of its cases."""
    stored = {
        (key, digest): pk
        for key, digest, pk in Prompt.objects.filter(benchmark=benchmark).values_list("key", "content_hash", "pk")
    }
    digests = {case.key: prompt_hash(case) for case in (suite.cases if suite else ())}
    return {key: PromptKey(digest, stored.get((key, digest))) for key, digest in digests.items()}


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


def _amended_rows(batch: ImportBatch, plan: ResponsePlan, prompts: Mapping[str, PromptKey]) -> Iterator[BatchResponse]:
    """Yield the details that stored responses are to have."""
    for start in range(0, len(plan.to_amend), ROWS):
        stored = Response.objects.in_bulk(plan.to_amend[start : start + ROWS])
        for pk, spec in zip(plan.to_amend[start : start + ROWS], plan.amended[start : start + ROWS], strict=True):
            _amend(stored[pk], spec)
            row = _batch_row(batch, spec, prompts[spec.case_key].content_hash)
            row.amends, row.text = stored[pk], ""
            row.completion_tokens, row.metadata = stored[pk].completion_tokens, stored[pk].metadata
            yield row


def token_count(number: object) -> int | None:
    """Return a number of tokens, also one that a table holds as text; None for anything else."""
    text = str(number).strip().removesuffix(".0") if not isinstance(number, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < MAX_DIGITS else None


def _batch_row(batch: ImportBatch, spec: ResponseSpec, digest: str) -> BatchResponse:
    return BatchResponse(
        batch=batch,
        case_key=spec.case_key,
        prompt_hash=digest,
        system=spec.system,
        attempt=spec.attempt,
        text=spec.text,
        text_hash=response_hash(spec),
        images=[asdict(image) for image in spec.images],
        messages=list(spec.messages),
        completion_tokens=token_count(spec.metadata.get("completion_tokens")),
        metadata=dict(spec.metadata),
        source=spec.source[:300],
    )
