"""Stores rubrics as immutable versions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Max
from django.utils.text import slugify

from judging import signals
from judging.models import Benchmark, Prompt, Rubric, RubricItem
from judging.services.staging import Keys, StagedRubric, Watch, stage_rubric, unwatched
from judging.specs.types import RubricSpec

BATCH = 1000
KEYS_LISTED = 12
CACHE_KIB = 8192
_COLUMNS = ("rubric_id", "case_key", "position", "digest", "tree", "metadata", "source")


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


@dataclass(frozen=True, slots=True)
class StoredRubric:
    """The version that holds the content now, and whether this call made it."""

    rubric: Rubric
    created: bool


def plan_rubric(*, staged: StagedRubric, benchmark: Benchmark | None) -> RubricPlan:
    """Return what `store_staged` would create and what differs from the latest version, without storing anything."""
    latest = Rubric.objects.filter(slug=rubric_slug_of(staged.head.name)).order_by("-version").first()
    before = latest.items.order_by("position", "pk").values_list("case_key", "digest") if latest else None
    staged.compare(before.iterator(chunk_size=BATCH) if before is not None else ())
    unknown = Keys(0, ())
    if benchmark is not None:
        known = Prompt.objects.filter(benchmark=benchmark).values_list("key", flat=True)
        unknown = staged.unknown(known.iterator(chunk_size=BATCH), KEYS_LISTED)
    return RubricPlan(
        rubric=_same_content(staged, benchmark),
        latest=latest,
        added=staged.added(KEYS_LISTED),
        changed=staged.changed(KEYS_LISTED),
        removed=staged.removed(KEYS_LISTED),
        unknown_cases=unknown,
    )


def _same_content(staged: StagedRubric, benchmark: Benchmark | None) -> Rubric | None:
    """Return the version of that name, or of that benchmark under whatever name, with just this content."""
    same = Rubric.objects.filter(content_hash=staged.content_hash)
    named = same.filter(slug=rubric_slug_of(staged.head.name)).first()
    if named is not None or benchmark is None:
        return named
    return same.filter(benchmark=benchmark).order_by("pk").first()


def store_rubric(
    *, spec: RubricSpec, benchmark: Benchmark | None, source_name: str, actor: User | None, at: datetime
) -> StoredRubric:
    """Store a rubric that is in memory, as `store_staged` does."""
    with closing(stage_rubric(spec)) as staged:
        return store_staged(staged=staged, benchmark=benchmark, origin=RubricOrigin(source_name, actor, at))


@dataclass(frozen=True, slots=True)
class RubricOrigin:
    """Where a rubric comes from."""

    source_name: str
    actor: User | None
    at: datetime


@transaction.atomic
def store_staged(
    *, staged: StagedRubric, benchmark: Benchmark | None, origin: RubricOrigin, watch: Watch = unwatched
) -> StoredRubric:
    """Store a rubric as a new version of its name; a version with equal content is returned as it is."""
    same = _same_content(staged, benchmark)
    if same is not None:
        return StoredRubric(same, created=False)
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
    _store_items(rubric, staged, watch)
    signals.acted.send(
        sender=Rubric,
        actor_id=actor.pk if actor else None,
        action="rubric.imported",
        subject=str(rubric),
        subject_id=rubric.pk,
        detail={"items": staged.item_count, "shape": spec.shape},
    )
    if benchmark is not None and last:
        transaction.on_commit(lambda: signals.content_changed.send_robust(sender=Rubric, benchmark_id=benchmark.pk))
    return StoredRubric(rubric, created=True)


def _store_items(rubric: Rubric, staged: StagedRubric, watch: Watch) -> None:
    """Insert the JSON texts as they were hashed. The ORM would parse, copy and write each of them once more."""
    quote = connection.ops.quote_name
    names = ", ".join(map(quote, _COLUMNS))
    values = ", ".join(["%s"] * len(_COLUMNS))
    statement = f"INSERT INTO {quote(RubricItem._meta.db_table)} ({names}) VALUES ({values})"  # noqa: S608 own names
    items = staged.items()
    with connection.cursor() as cursor, _small_cache(cursor):
        while batch := [
            (rubric.pk, item.case_key, item.position, item.digest, item.tree, item.metadata, item.source[:100])
            for item in islice(items, BATCH)
        ]:
            watch("storing", batch[0][2], staged.item_count)
            cursor.executemany(statement, batch)


@contextmanager
def _small_cache(cursor: CursorWrapper) -> Iterator[None]:
    """Keep SQLite from holding back a share of what is only written: its cache is as large as many rows."""
    if connection.vendor != "sqlite":
        yield
        return
    before = cursor.execute("PRAGMA cache_size").fetchone()[0]
    cursor.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    try:
        yield
    finally:
        cursor.execute(f"PRAGMA cache_size = {int(before)}")


def rubric_slug_of(name: str) -> str:
    """Return the address part of a rubric's name; "rubric" where the name has no letters for one."""
    return slugify(name)[:80] or "rubric"
