"""Imports and deletes labels of debates that people gave elsewhere.

A table names items by debate ids or as its set has them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from debate.models import Debate, DebateSet, OutsideLabel
from debate.protocol.meta.label_tables import LabelRow, parse_labels
from debate.signals import labels_changed
from evalsite.accounts.audit import record
from judging.specs.files.problems import Parsed, Problem, Severity

BATCH = 500


@dataclass(frozen=True, slots=True)
class StoredLabels:
    """What an import of labels did."""

    new: int
    changed: int
    unchanged: int
    raters: tuple[str, ...]
    debates: int


def import_labels(
    *, data: bytes, file: str, sets: Sequence[DebateSet], is_blind: bool, actor: User | None, at: datetime
) -> Parsed[StoredLabels]:
    """Store a table of labels for debates of these sets; the same table twice changes nothing.

    `is_blind`: the raters had seen neither the debates nor each other's labels. Only such labels enter figures.

    An item is named by its debate's number in the original's file, by its case's key, or by the debate's id here; with
    several sets the column `set` (id or name) says which one is meant where the item alone does not. A rater's new
    answer replaces the one before it. Nothing is stored where any row cannot be placed.
    """
    parsed = parse_labels(data, file)
    if parsed.value is None:
        return Parsed(None, parsed.problems)
    places = _Places(sets)
    problems: list[Problem] = []
    label_rows: dict[tuple[int, str], LabelRow] = {}
    for row in parsed.value:
        debate_id = places.find(row)
        if isinstance(debate_id, str):
            problems.append(Problem(Severity.ERROR, file, row.place, debate_id, row.item, code="unknown-item"))
        else:
            label_rows[debate_id, row.rater[:120]] = row
    if problems:
        return Parsed(None, (*parsed.problems, *problems))
    stored = _store(label_rows, file=file, is_blind=is_blind, sets=sets, actor=actor, at=at)
    return Parsed(stored, parsed.problems)


class _Places:
    """Finds the debate that a row means. Two queries for all rows."""

    def __init__(self, sets: Sequence[DebateSet]) -> None:
        self.sets = {name: owner.pk for owner in sets for name in (str(owner.pk), owner.name)}
        self.named: dict[tuple[int, str], int] = {}
        self.anywhere: dict[str, set[int]] = {}
        self.ids: set[int] = set()
        rows = Debate.objects.filter(debate_set__in=[owner.pk for owner in sets]).order_by("pk")
        for pk, set_id, source_id, key in rows.values_list("pk", "debate_set_id", "source_id", "case__key"):
            self.ids.add(pk)
            for name in {key, str(source_id)} if source_id is not None else {key}:
                self.named[set_id, name] = pk
                self.anywhere.setdefault(name, set()).add(pk)

    def find(self, row: LabelRow) -> int | str:
        """Return the debate's id, or the sentence that says why there is none."""
        if row.set_name:
            set_id = self.sets.get(row.set_name)
            if set_id is None:
                return f"{row.set_name!r} is not one of the chosen sets."
            debate_id = self.named.get((set_id, row.item))
            return debate_id if debate_id is not None else f"The set {row.set_name} has no item {row.item!r}."
        meant = self.anywhere.get(row.item, set())
        if len(meant) == 1:
            return next(iter(meant))
        if not meant and row.item.isdigit() and int(row.item) in self.ids:
            return int(row.item)
        if meant:
            return f"{len(meant)} sets have an item {row.item!r}. Add a column `set`, or import into one set at a time."
        return f"No chosen set has an item {row.item!r}."


def _store(
    label_rows: dict[tuple[int, str], LabelRow],
    *,
    file: str,
    is_blind: bool,
    sets: Sequence[DebateSet],
    actor: User | None,
    at: datetime,
) -> StoredLabels:
    """Store the labels of some hundred debates at a time, so that no transaction is long."""
    by_debate: dict[int, dict[str, LabelRow]] = defaultdict(dict)
    for (debate_id, rater), row in label_rows.items():
        by_debate[debate_id][rater] = row
    new = changed = 0
    ids = sorted(by_debate)
    for start in range(0, len(ids), BATCH):
        some = {debate_id: by_debate[debate_id] for debate_id in ids[start : start + BATCH]}
        counts = _store_some(some, file=file, is_blind=is_blind, at=at)
        new, changed = new + counts[0], changed + counts[1]
    raters = tuple(sorted({rater for _, rater in label_rows}))
    if new or changed:
        detail = {"file": file, "blind": is_blind, "new": new, "changed": changed, "raters": len(raters)}
        record(actor, "labels.imported", sets[0], **detail)
    return StoredLabels(
        new=new,
        changed=changed,
        unchanged=len(label_rows) - new - changed,
        raters=raters,
        debates=len(by_debate),
    )


@transaction.atomic
def _store_some(
    label_rows: dict[int, dict[str, LabelRow]], *, file: str, is_blind: bool, at: datetime
) -> tuple[int, int]:
    """Return how many labels were new and how many changed; whoever hears of them does so in the same transaction."""
    stored = {(row.debate_id, row.rater): row for row in OutsideLabel.objects.filter(debate__in=label_rows)}
    source, new, changed = file[:200], [], []
    for debate_id, by_rater in label_rows.items():
        for rater, row in by_rater.items():
            label = stored.get((debate_id, rater))
            if label is None:
                label = OutsideLabel(debate_id=debate_id, rater=rater)
                new.append(label)
            elif (label.verdict, label.is_blind) != (row.verdict, is_blind):
                changed.append(label)
            else:
                continue
            label.verdict, label.source, label.is_blind, label.created_at = row.verdict, source, is_blind, at
    OutsideLabel.objects.bulk_create(new, batch_size=BATCH)
    OutsideLabel.objects.bulk_update(changed, ["verdict", "source", "is_blind", "created_at"], batch_size=BATCH)
    if new or changed:
        labels_changed.send(sender=OutsideLabel, debate_ids=sorted({row.debate_id for row in (*new, *changed)}))
    return len(new), len(changed)


def delete_labels(*, debate_set: DebateSet, file: str, actor: User | None) -> int:
    """Delete a set's labels that came with a file; return how many.

    A label that it had replaced does not come back. Final labels follow, some hundred debates at a time.
    """
    labels = OutsideLabel.objects.filter(debate__debate_set=debate_set, source=file)
    ids, deleted = sorted(set(labels.values_list("debate_id", flat=True))), 0
    for start in range(0, len(ids), BATCH):
        some = ids[start : start + BATCH]
        with transaction.atomic():
            deleted += labels.filter(debate__in=some).delete()[0]
            labels_changed.send(sender=OutsideLabel, debate_ids=some)
    if deleted:
        record(actor, "labels.deleted", debate_set, file=file, labels=deleted)
    return deleted
