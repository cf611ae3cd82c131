"""Traces that programs send: spans wait until their trace is whole, and are then imported as a file of traces is.

The spans of a trace come in several requests and in any order, and senders repeat what they are not sure of. So they
are kept by their ids until the root span is there and nothing more has come for a while. A worker then stores the
traces of a benchmark together, by the code of imports. What comes later has the whole trace stored again, which
changes its one response.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.utils import timezone
from django_rq import job

from evalsite.accounts.audit import NamedSubject, record
from evalsite.api.models import BufferedSpan, BufferedTrace, TraceSource
from evalsite.base.rows import batches, lock_row
from evalsite.base.types import Refused
from judging.services.long_jobs import enqueue_once
from judging.specs.records.files.otlp import SentSpan

QUIET_FOR = timedelta(seconds=20)  # before a trace with its root is whole
STORED_EVERY = timedelta(minutes=5)  # of one benchmark, since each time makes a version of its suite
KEPT_FOR = timedelta(days=1)  # since the last span: without a root it is dropped then
MOST_SPANS_OF_A_TRACE = 10_000
MOST_WAITING = 200_000  # spans of one benchmark
STORED_AT_ONCE = 10_000  # spans
PARAMETERS = 500  # of one statement
NOTHING_ASKED = "No span of the trace says what a model was asked."
SURPLUS = f"A trace has at most {MOST_SPANS_OF_A_TRACE:,} spans."

logger = logging.getLogger(__name__)


class TooMuchWaiting(Exception):
    """More spans of a benchmark wait than are taken; later there is room again."""


def open_source(benchmark: str, *, step: str, person: User, at: datetime) -> TraceSource:
    """Return the source of a benchmark, made where it is the first time, with the step that is to be stored of a trace.

    Raises:
        Refused: no benchmark has this name, and one has a name like it.
    """
    from judging.services.file_imports.record_plans import UnknownTarget, new_target

    source = TraceSource.objects.filter(benchmark=benchmark).first()
    if source is not None:
        return source
    try:
        new_target(benchmark, benchmark)
    except UnknownTarget as refusal:
        raise Refused(str(refusal)) from None
    source, is_new = TraceSource.objects.get_or_create(
        benchmark=benchmark, defaults={"step": step, "sender": person, "received_at": at}
    )
    if is_new:
        record(person, "trace_source.made", source)
    return source


@transaction.atomic
def receive(source: TraceSource, spans: Sequence[SentSpan], *, person: User, at: datetime) -> int:
    """Keep spans that are not there yet, and return how many were too many for their traces.

    Raises:
        TooMuchWaiting: as many wait as are taken.
    """
    source = lock_row(TraceSource, source.pk)
    waiting = source.traces.aggregate(spans=Sum("span_count"))["spans"] or 0
    if waiting + len(spans) > MOST_WAITING:
        raise TooMuchWaiting
    by_trace: dict[str, dict[str, SentSpan]] = defaultdict(dict)
    for span in spans:
        by_trace[span.trace].setdefault(span.id, span)
    rows: list[BufferedSpan] = []
    changed: list[BufferedTrace] = []
    rejected = 0
    for trace in _traces(source, list(by_trace), at=at):
        fresh = by_trace[trace.trace_id]
        for id_ in _known_ids(trace, list(fresh)):
            del fresh[id_]
        room = max(0, MOST_SPANS_OF_A_TRACE - trace.span_count)
        taken = list(fresh.values())[:room]
        rejected += len(fresh) - len(taken)
        if taken:
            trace.span_count += len(taken)
            trace.has_root |= any(span.is_root for span in taken)
            trace.received_at, trace.ended_at = at, None
            changed.append(trace)
            rows += [BufferedSpan(trace=trace, span_id=span.id, line=span.line) for span in taken]
    BufferedSpan.objects.bulk_create(rows, batch_size=PARAMETERS)
    BufferedTrace.objects.bulk_update(
        changed, ["span_count", "has_root", "received_at", "ended_at"], batch_size=PARAMETERS
    )
    source.spans, source.sender, source.received_at = source.spans + len(rows), person, at
    source.save(update_fields=["spans", "sender", "received_at"])
    return rejected


def _traces(source: TraceSource, ids: Sequence[str], *, at: datetime) -> list[BufferedTrace]:
    """Return the traces of these ids, made where they are not there yet."""
    made = [BufferedTrace(source=source, trace_id=id_, received_at=at) for id_ in ids]
    BufferedTrace.objects.bulk_create(made, batch_size=PARAMETERS, ignore_conflicts=True)
    return [trace for part in batches(ids, PARAMETERS) for trace in source.traces.filter(trace_id__in=part)]


def _known_ids(trace: BufferedTrace, ids: Sequence[str]) -> list[str]:
    if not trace.span_count:
        return []
    stored = trace.spans.values_list("span_id", flat=True)
    return [id_ for part in batches(ids, PARAMETERS) for id_ in stored.filter(span_id__in=part)]


def with_counts(sources: QuerySet[TraceSource]) -> QuerySet[TraceSource]:
    """Return sources with how many of their traces wait, and how many of those for their root span."""
    waits = Q(traces__ended_at__isnull=True)
    return sources.annotate(
        waiting=Count("traces", filter=waits & Q(traces__has_root=True)),
        incomplete=Count("traces", filter=waits & Q(traces__has_root=False)),
    )


def whole_traces(source: TraceSource, *, quiet_since: datetime) -> QuerySet[BufferedTrace]:
    """Return the traces that wait, have their root, and had no new span since; the oldest first."""
    waiting = source.traces.filter(ended_at__isnull=True, has_root=True, received_at__lte=quiet_since)
    return waiting.order_by("received_at", "pk")


def due_sources(*, at: datetime) -> list[TraceSource]:
    """Return the sources with whole traces that were not stored a moment ago."""
    sources = TraceSource.objects.filter(Q(stored_at__isnull=True) | Q(stored_at__lte=at - STORED_EVERY))
    quiet = Q(traces__ended_at__isnull=True, traces__has_root=True, traces__received_at__lte=at - QUIET_FOR)
    return list(sources.filter(quiet).distinct().order_by("pk"))


@job("default")
def work_traces(source_id: int) -> None:
    """Store what is whole of a source. Safe to repeat: what is stored already is found unchanged."""
    source = TraceSource.objects.filter(pk=source_id).first()
    if source is not None:
        at = timezone.now()
        count = store_whole(source, quiet_since=at - QUIET_FOR, at=at)
        logger.info("api.traces_stored source_id=%s count=%s", source_id, count)


def launch_traces() -> int:
    """Drop what is too old, queue the job above for each source that is due, and return for how many."""
    at = timezone.now()
    drop_old(at=at)
    due = due_sources(at=at)
    for source in due:
        enqueue_once(work_traces, source.pk, job_id=f"traces-{source.pk}")
    return len(due)


def store_whole(source: TraceSource, *, quiet_since: datetime, at: datetime) -> int:
    """Store the whole traces of a source as cases with their responses, and return how many."""
    stored = 0
    waiting = list(whole_traces(source, quiet_since=quiet_since))
    while waiting:
        size = _at_once(waiting)
        stored += _store(source, waiting[:size], at=at)
        waiting = waiting[size:]
    return stored


def _at_once(traces: Iterable[BufferedTrace]) -> int:
    """Return how many traces are stored together: at least one."""
    count = spans = 0
    for trace in traces:
        spans += trace.span_count
        if count and spans > STORED_AT_ONCE:
            break
        count += 1
    return count


def _store(source: TraceSource, traces: Sequence[BufferedTrace], *, at: datetime) -> int:
    """Store traces together; where they are refused, each alone, so that one does not keep back the others."""
    from judging.services.file_imports.imports import check_import, refusal_message, store_checked
    from judging.services.file_imports.intake import ImportOptions
    from judging.services.file_imports.rubrics import RubricOrigin

    options = ImportOptions(
        kind="otlp",
        benchmark=source.benchmark,
        is_new_benchmark=True,
        adds_cases=True,
        leave_out_bad_rows=True,
        step=source.step,
    )
    checked = check_import(files=[("traces.jsonl", _file_of(traces))], options=options)
    if checked.is_refused and len(traces) > 1:
        return sum(_store(source, [trace], at=at) for trace in traces)
    told: set[str] = set()
    why = NOTHING_ASKED
    if checked.is_refused:
        why = refusal_message(checked.errors)
    elif checked.intake.collected is not None:
        told = {case.key.partition("/")[0] for _, case in checked.intake.collected.cases}
        store_checked(checked=checked, origin=RubricOrigin("traces.jsonl", source.sender, at))
    _end(source, traces, told=told, why=why, at=at)
    return len(told)


def _file_of(traces: Sequence[BufferedTrace]) -> bytes:
    """Return the spans of traces as a file of JSON Lines."""
    keys = iter(traces)
    lines: list[str] = []
    while part := [trace.pk for trace in islice(keys, PARAMETERS)]:
        lines += BufferedSpan.objects.filter(trace__in=part).order_by("trace", "pk").values_list("line", flat=True)
    return "\n".join(lines).encode()


@transaction.atomic
def _end(source: TraceSource, traces: Sequence[BufferedTrace], *, told: set[str], why: str, at: datetime) -> None:
    """Note what has become of traces; one that has got a span meanwhile goes on waiting."""
    for trace in traces:
        BufferedTrace.objects.filter(pk=trace.pk, span_count=trace.span_count).update(ended_at=at)
    left_out = sum(trace.trace_id not in told for trace in traces)
    trouble = {"trouble": why[:500]} if left_out else {}
    counts = {"stored": F("stored") + len(traces) - left_out, "left_out": F("left_out") + left_out}
    TraceSource.objects.filter(pk=source.pk).update(stored_at=at, **counts, **trouble)


@transaction.atomic
def drop_old(*, at: datetime) -> int:
    """Remove traces that got no span for a day, and return how many of them never had their root."""
    old = BufferedTrace.objects.filter(received_at__lte=at - KEPT_FOR)
    never_whole = old.filter(ended_at__isnull=True, has_root=False)
    counts = list(never_whole.values_list("source").annotate(Count("pk")))
    for source_id, count in counts:
        TraceSource.objects.filter(pk=source_id).update(dropped=F("dropped") + count)
        logger.warning("api.traces_dropped source_id=%s count=%s", source_id, count)
    never_whole.delete()
    old.filter(ended_at__isnull=False).delete()
    return sum(count for _, count in counts)


@transaction.atomic
def choose_step(*, source: TraceSource, step: str, actor: User | None) -> TraceSource:
    """Have the spans of this name stored instead of whole traces; an empty name: whole traces."""
    source.step = step
    source.save(update_fields=["step"])
    record(actor, "trace_source.step_chosen", source, step=step)
    return source


@transaction.atomic
def delete_source(*, source: TraceSource, actor: User | None) -> TraceSource:
    """Forget a source with the spans that wait; what is stored stays."""
    record(actor, "trace_source.deleted", NamedSubject(str(source), source.pk))
    source.delete()
    return source
