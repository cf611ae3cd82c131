"""Stores rubrics as immutable versions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils.text import slugify

from judging import signals
from judging.models import Benchmark, Prompt, Rubric, RubricItem
from judging.services.collecting import calm_collector
from judging.services.hashing import RubricContent, item_digest, rubric_content
from judging.services.trees import tree_to_json
from judging.specs.types import RubricSpec

BATCH = 1000


@dataclass(frozen=True, slots=True)
class RubricPlan:
    """What storing a rubric would do, compared with its latest version."""

    rubric: Rubric | None  # the version with the same content, where there is one
    latest: Rubric | None
    added: tuple[str, ...]  # case keys; an empty key stands for the whole benchmark
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unknown_cases: tuple[str, ...]  # keys that the benchmark does not have
    content: RubricContent

    @property
    def changes_nothing(self) -> bool:
        return self.rubric is not None


@dataclass(frozen=True, slots=True)
class StoredRubric:
    """The version that holds the content now, and whether this call made it."""

    rubric: Rubric
    created: bool
    plan: RubricPlan


@calm_collector()
def plan_rubric(*, spec: RubricSpec, benchmark: Benchmark | None, content: RubricContent | None = None) -> RubricPlan:
    """Return what `store_rubric` would create and what differs from the latest version, without storing anything.

    `content` is the rubric's own, where the caller has it already.
    """
    slug = rubric_slug_of(spec.name)
    versions = Rubric.objects.filter(slug=slug)
    latest = versions.order_by("-version").first()
    rows = latest.items.values_list("case_key", "tree").iterator(chunk_size=BATCH) if latest else ()
    before = {key: item_digest(key, tree) for key, tree in rows}
    content = content or rubric_content(spec)
    now = content.digests
    known = set(Prompt.objects.filter(benchmark=benchmark).values_list("key", flat=True)) if benchmark else None
    return RubricPlan(
        rubric=_same_content(spec.name, content.content_hash, benchmark),
        latest=latest,
        added=tuple(key for key in now if key not in before),
        changed=tuple(key for key in now if key in before and before[key] != now[key]),
        removed=tuple(key for key in before if key not in now),
        unknown_cases=tuple(key for key in now if key and known is not None and key not in known),
        content=content,
    )


def _same_content(name: str, content_hash: str, benchmark: Benchmark | None) -> Rubric | None:
    """Return the version of that name, or of that benchmark under whatever name, with just this content."""
    same = Rubric.objects.filter(content_hash=content_hash)
    named = same.filter(slug=rubric_slug_of(name)).first()
    if named is not None or benchmark is None:
        return named
    return same.filter(benchmark=benchmark).order_by("pk").first()


def _rows(rubric: Rubric, spec: RubricSpec, start: int) -> list[RubricItem]:
    return [
        RubricItem(
            rubric=rubric,
            case_key=item.case_key,
            position=position,
            tree=tree_to_json(item.root),
            metadata=dict(item.metadata),
            source=item.source[:100],
        )
        for position, item in enumerate(spec.items[start : start + BATCH], start)
    ]


@transaction.atomic
@calm_collector()
def store_rubric(
    *,
    spec: RubricSpec,
    benchmark: Benchmark | None,
    source_name: str,
    actor: User | None,
    at: datetime,
    content: RubricContent | None = None,
) -> StoredRubric:
    """Store a rubric as a new version of its name; a version with equal content is returned as it is.

    `content` is what a plan of the same rubric found, so that a large one is hashed once.
    """
    plan = plan_rubric(spec=spec, benchmark=benchmark, content=content)
    if plan.rubric is not None:
        return StoredRubric(plan.rubric, created=False, plan=plan)
    slug = rubric_slug_of(spec.name)
    last = Rubric.objects.filter(slug=slug).aggregate(last=Max("version"))["last"] or 0
    rubric = Rubric.objects.create(
        slug=slug,
        version=last + 1,
        name=spec.name[:200],
        benchmark=benchmark,
        content_hash=plan.content.content_hash,
        shape=spec.shape,
        scope=spec.scope,
        contract=spec.contract,
        options=dict(spec.options),
        benchmark_aggregate=dict(spec.benchmark_aggregate),
        licence=spec.licence[:200],
        source_name=source_name[:300],
        item_count=len(spec.items),
        created_at=at,
        created_by=actor,
    )
    for start in range(0, len(spec.items), BATCH):  # rows are made as they are written, never all at once
        RubricItem.objects.bulk_create(_rows(rubric, spec, start))
    signals.acted.send(
        sender=Rubric,
        actor_id=actor.pk if actor else None,
        action="rubric.imported",
        subject=str(rubric),
        subject_id=rubric.pk,
        detail={"items": len(spec.items), "shape": spec.shape},
    )
    if benchmark is not None and plan.latest is not None:
        transaction.on_commit(lambda: signals.content_changed.send_robust(sender=Rubric, benchmark_id=benchmark.pk))
    return StoredRubric(rubric, created=True, plan=plan)


def rubric_slug_of(name: str) -> str:
    """Return the address part of a rubric's name; "rubric" where the name has no letters for one."""
    return slugify(name)[:80] or "rubric"
