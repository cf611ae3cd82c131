"""Stores rubrics as immutable versions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils.text import slugify

from evalsite.accounts.audit import record
from evalsite.base import signals
from judging.models import BatchRubricItem, Benchmark, ImportBatch, Prompt, Rubric, RubricItem
from judging.services.file_imports.import_batches import BatchLost, BatchWriter, copy_rows, quoted, table
from judging.services.file_imports.staged_rubrics import Keys, StagedRubric, Watch, unwatched

BATCH = 1000
_COLUMNS = ("case_key", "position", "digest", "tree", "metadata", "source")


@dataclass(frozen=True, slots=True)
class RubricPlan:
    """What storing a rubric would do, compared with its latest version."""

    rubric: Rubric | None  # the version with the same content, where there is one
    latest: Rubric | None
    added: Keys  # an empty key stands for the whole benchmark
    changed: Keys
    removed: Keys
    unknown_cases: Keys  # that the benchmark does not have

    @property
    def changes_nothing(self) -> bool:
        return self.rubric is not None


def plan_rubric(*, staged: StagedRubric, benchmark: Benchmark | None) -> RubricPlan:
    """Return what storing a rubric would create and what differs from the latest version, without storing anything."""
    latest = Rubric.objects.filter(slug=rubric_slug_of(staged.head.name)).order_by("-version").first()
    before = latest.items.order_by("position", "pk").values_list("case_key", "digest") if latest else None
    found = staged.compare(before.iterator(chunk_size=BATCH) if before is not None else ())
    unknown = Keys(0, ())
    if benchmark is not None:
        known_keys = Prompt.objects.filter(benchmark=benchmark).values_list("key", flat=True)
        unknown = staged.unknown(known_keys.iterator(chunk_size=BATCH))
    return RubricPlan(_same_content(staged, benchmark), latest, *found, unknown_cases=unknown)


def _same_content(staged: StagedRubric, benchmark: Benchmark | None) -> Rubric | None:
    """Return the version of that name, or of that benchmark under whatever name, with just this content."""
    equal_rubrics = Rubric.objects.filter(content_hash=staged.content_hash)
    named = equal_rubrics.filter(slug=rubric_slug_of(staged.head.name)).first()
    if named is not None or benchmark is None:
        return named
    return equal_rubrics.filter(benchmark=benchmark).order_by("pk").first()


@dataclass(frozen=True, slots=True)
class RubricOrigin:
    """Where a rubric comes from."""

    source_name: str
    actor: User | None
    at: datetime


def write_rubric(
    *, batch: ImportBatch, staged: StagedRubric, benchmark: Benchmark | None, watch: Watch = unwatched
) -> None:
    """Write the trees of a rubric into a batch, unless they are stored already; `use_rubric` takes them into use.

    The JSON texts are inserted as they were hashed.
    """
    written = BatchRubricItem.objects.filter(batch=batch, rubric_hash=staged.content_hash)
    if _same_content(staged, benchmark) is not None or written.exists():  # under another name
        return
    head = (batch.pk, staged.content_hash)
    rows = (
        (*head, item.case_key, item.position, item.digest, item.tree, item.metadata, item.source[:100])
        for item in staged.items()
    )
    columns = ("batch", "rubric_hash", *_COLUMNS)
    BatchWriter(batch, watch, staged.item_count).add_rows(BatchRubricItem, columns, rows, BATCH)


@transaction.atomic
def use_rubric(
    *, batch: ImportBatch, staged: StagedRubric, benchmark: Benchmark | None, origin: RubricOrigin
) -> tuple[Rubric, bool]:
    """Make the trees that a batch holds a new version, unless somebody stored the same meanwhile.

    Returns the version that holds them now, and whether this made it.
    """
    equal_rubric = _same_content(staged, benchmark)
    if equal_rubric is not None:
        return equal_rubric, False
    spec, actor = staged.head, origin.actor
    slug = rubric_slug_of(spec.name)
    last = Rubric.objects.filter(slug=slug).aggregate(last=Max("version"))["last"] or 0
    rubric = Rubric.objects.create(
        slug=slug,
        version=last + 1,
        name=spec.name[:200],
        benchmark=benchmark,
        content_hash=staged.content_hash,
        shape=spec.shape,
        scope=spec.scope,
        options=dict(spec.options),
        benchmark_aggregate=dict(spec.benchmark_aggregate),
        licence=spec.licence[:200],
        source_name=origin.source_name[:300],
        item_count=staged.item_count,
        created_at=origin.at,
        created_by=actor,
    )
    copied = copy_rows(
        RubricItem,
        {"rubric": "%s", **{name: f"b.{quoted(name)}" for name in _COLUMNS}},
        f"FROM {table(BatchRubricItem)} b WHERE b.batch_id = %s AND b.rubric_hash = %s ORDER BY b.id",
        [rubric.pk, batch.pk, staged.content_hash],
    )
    if copied != staged.item_count:
        raise BatchLost(f"{copied:,} of {staged.item_count:,} trees of the import remain; nothing was stored.")
    record(actor, "rubric.imported", rubric, items=staged.item_count, shape=spec.shape)
    if benchmark is not None and last:
        transaction.on_commit(lambda: signals.content_changed.send_robust(sender=Rubric, benchmark_id=benchmark.pk))
    return rubric, True


def rubric_slug_of(name: str) -> str:
    """Return the address part of a rubric's name; "rubric" where the name has no letters for one."""
    return slugify(name)[:80] or "rubric"
