"""Reads rubrics: their items, their versions and what changed between two."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from judging.models import Rubric, RubricItem

MOST_CHANGES = 200


def rubric_items(rubric: Rubric, *, query: str = "") -> QuerySet[RubricItem]:
    """Return a rubric's trees in the order of its file."""
    rows = RubricItem.objects.filter(rubric=rubric)
    if query:
        rows = rows.filter(case_key__icontains=query)
    return rows.order_by("position", "pk")


def versions_of(rubric: Rubric) -> list[Rubric]:
    """Return all versions of a rubric, newest first."""
    return list(Rubric.objects.filter(slug=rubric.slug).select_related("created_by").order_by("-version"))


@dataclass(frozen=True, slots=True)
class ItemChange:
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
    shown: tuple[ItemChange, ...]

    @property
    def total(self) -> int:
        return self.added + self.changed + self.removed


def rubric_diff(*, before: Rubric, after: Rubric) -> RubricDiff:
    """Return the differences between two versions by case, in the order of the later one."""
    old = {item.case_key: item for item in rubric_items(before)}
    new = {item.case_key: item for item in rubric_items(after)}
    changes = [ItemChange(key, old.get(key), item) for key, item in new.items() if _differs(old.get(key), item)]
    gone = [ItemChange(key, item, None) for key, item in old.items() if key not in new]
    added = sum(change.before is None for change in changes)
    return RubricDiff(added, len(changes) - added, len(gone), tuple([*changes, *gone][:MOST_CHANGES]))


def _differs(before: RubricItem | None, after: RubricItem) -> bool:
    return before is None or before.tree != after.tree
