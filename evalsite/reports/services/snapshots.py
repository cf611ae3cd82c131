"""Finds a stored report, computes one, and throws away what it replaces.

A snapshot's fingerprint is the options' 32 hex digits, eight of the code that made it and 24 of the data's version.
So the last report with the same options is found even when the data changed, but not when the code did.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from evalsite.reports.models import Snapshot
from evalsite.reports.selectors import options as chosen_options
from evalsite.reports.selectors.data_versions import LABEL_CLOCK, code_version
from evalsite.reports.selectors.options import Options
from evalsite.reports.services.report_content import ReportContent

logger = logging.getLogger(__name__)

INLINE_ROWS = 3000  # a report over fewer rows is computed while its reader waits


@dataclass(frozen=True, slots=True)
class ComputedReport:
    """A report with the rows behind its figures."""

    content: ReportContent
    rows: bytes = b""


@dataclass(frozen=True, slots=True)
class ReportKind:
    """How one kind of report is made. Every page view asks for `data_version` and `rows`, so they read by key only."""

    name: str
    data_version: Callable[[int, Options], str]  # differs once the report would differ
    rows: Callable[[int, Options], int]  # about how many rows it has to read
    compute: Callable[[int, Options], ReportContent | ComputedReport]


@dataclass(frozen=True, slots=True)
class CachedReport:
    """A stored report; `is_current` says whether the data has stayed the same since."""

    content: ReportContent
    computed_at: datetime
    seconds: float
    is_current: bool
    rows: bytes = b""  # empty where they were not asked for


def find(kind: ReportKind, *, subject_id: int, options: Options, with_rows: bool = False) -> CachedReport | None:
    """Return the newest stored answer to these options, None where there is none."""
    current = _fingerprint(kind, subject_id, options)
    stored = Snapshot.objects.filter(kind=kind.name, subject_id=subject_id, fingerprint__startswith=current[:40])
    if with_rows:
        stored = stored.exclude(rows=None)
    else:
        stored = stored.defer("rows")
    row = stored.order_by("-computed_at", "-pk").first()
    if row is None:
        return None
    rows = bytes(row.rows or b"") if with_rows else b""
    return CachedReport(row.content, row.computed_at, row.seconds, row.fingerprint == current, rows)


def newest_content(kind: ReportKind, *, subject_id: int) -> ReportContent | None:
    """Return the newest stored report of a kind, whatever its options and whatever has changed since."""
    stored = Snapshot.objects.filter(kind=kind.name, subject_id=subject_id).order_by("-computed_at", "-pk")
    return stored.values_list("content", flat=True).first()


def is_small(kind: ReportKind, *, subject_id: int, options: Options) -> bool:
    """Whether the report can be computed while its reader waits."""
    return kind.rows(subject_id, options) <= INLINE_ROWS


def compute(kind: ReportKind, *, subject_id: int, options: Options, at: datetime) -> CachedReport:
    """Compute a report and store it in place of older ones with the same options.

    The version is read before the data: what changes meanwhile makes the snapshot look old, never new.
    """
    current = _fingerprint(kind, subject_id, options)
    started = time.perf_counter()
    computed = kind.compute(subject_id, options)
    report = computed if isinstance(computed, ComputedReport) else ComputedReport(computed)
    seconds = time.perf_counter() - started
    with transaction.atomic():
        Snapshot.objects.update_or_create(
            kind=kind.name,
            subject_id=subject_id,
            fingerprint=current,
            defaults={"content": report.content, "rows": report.rows or None, "computed_at": at, "seconds": seconds},
        )
        older = Snapshot.objects.filter(kind=kind.name, subject_id=subject_id, fingerprint__startswith=current[:32])
        older.exclude(fingerprint=current).delete()
    logger.info("reports.computed kind=%s subject_id=%s seconds=%.3f", kind.name, subject_id, seconds)
    return CachedReport(report.content, at, seconds, True, report.rows)


@transaction.atomic
def tick_labels(*, at: datetime) -> None:
    """Let every report know that a label which was there before has changed."""
    clock, _ = Snapshot.objects.select_for_update().get_or_create(
        kind=LABEL_CLOCK, subject_id=0, fingerprint="", defaults={"content": {"ticks": 0}, "computed_at": at}
    )
    clock.content, clock.computed_at = {"ticks": clock.content["ticks"] + 1}, at
    clock.save(update_fields=["content", "computed_at"])


def _fingerprint(kind: ReportKind, subject_id: int, options: Options) -> str:
    data_version = hashlib.sha256(kind.data_version(subject_id, options).encode()).hexdigest()[:24]
    return chosen_options.fingerprint(options) + code_version() + data_version
