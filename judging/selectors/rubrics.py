"""Reads rubrics: their items, their versions and what changed between two."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import QuerySet

from judging.models import Case, Rubric, RubricItem

MAX_CHANGES = 200


def rubric_items(rubric: Rubric, *, query: str = "") -> QuerySet[RubricItem]:
    """Return a rubric's trees in the order of its file."""
    rows = RubricItem.objects.filter(rubric=rubric)
    if query:
        rows = rows.filter(case_key__icontains=query)
    return rows.order_by("position", "pk")


def newest_cases(rubric: Rubric, *, keys: Collection[str]) -> dict[str, Case]:
    """Return the newest revision of each case of the rubric's benchmark that has one of these keys."""
    if rubric.benchmark_id is None:
        return {}
    cases = Case.objects.filter(prompt__benchmark=rubric.benchmark_id, key__in=keys)
    return {case.key: case for case in cases.order_by("pk").only("key")}


def versions_of(rubric: Rubric) -> list[Rubric]:
    """Return all versions of a rubric, newest first."""
    return list(Rubric.objects.filter(slug=rubric.slug).select_related("created_by").order_by("-version"))


@dataclass(frozen=True, slots=True)
class TreeChange:
    """One tree that differs between two versions; a side is None where the tree is not there."""

    case_key: str
    before: RubricItem | None
    after: RubricItem | None

    @property
    def word(self) -> str:
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


@dataclass(frozen=True, slots=True)
class RubricDiff:
    """What a version changed. `shown` holds the first of all changes."""

    added: int
    changed: int
    removed: int
    shown: tuple[TreeChange, ...]

    @property
    def total(self) -> int:
        return self.added + self.changed + self.removed


def rubric_diff(*, before: Rubric, after: Rubric) -> RubricDiff:
    """Return the differences between two versions by case, in the order of the later one.

    Trees are compared by their stored digests; only those that are shown are loaded.
    """
    old, new = _digests(before), _digests(after)
    changed = [key for key, item in new.items() if key not in old or old[key].digest != item.digest]
    gone = [key for key in old if key not in new]
    added = sum(key not in old for key in changed)
    shown = [*changed, *gone][:MAX_CHANGES]
    trees = RubricItem.objects.in_bulk([side[key].pk for key in shown for side in (old, new) if key in side])
    changes = (TreeChange(key, *(trees[side[key].pk] if key in side else None for side in (old, new))) for key in shown)
    return RubricDiff(added, len(changed) - added, len(gone), tuple(changes))


class _Stored(NamedTuple):
    pk: int
    digest: str


def _digests(rubric: Rubric) -> dict[str, _Stored]:
    rows = rubric_items(rubric).values_list("case_key", "pk", "digest")
    return {key: _Stored(pk, digest) for key, pk, digest in rows.iterator(chunk_size=10_000)}
