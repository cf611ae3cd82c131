"""Stores label tables from elsewhere: a whole file or nothing."""

from __future__ import annotations

from datetime import datetime
from itertools import islice

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.review.models import ImportedLabel, LabelledItem, LabelTable
from evalsite.review.scales import labels_from_words, labels_to_json
from evalsite.review.services.queues import free_slug
from evalsite.review.tables.labels import LabelFile
from judging import signals

BATCH = 2_000


@transaction.atomic
def store_labels(*, name: str, file_name: str, found: LabelFile, actor: User | None, at: datetime) -> LabelTable:
    """Return a new table with every label of a file."""
    table = LabelTable.objects.create(
        slug=free_slug(LabelTable, name),
        name=name[:200],
        labels=labels_to_json(labels_from_words(found.labels)),
        source_file=file_name[:200],
        item_count=len(found.items),
        label_count=found.n_labels,
        imported_by=actor,
        created_at=at,
    )
    waiting = iter(found.items)
    while batch := list(islice(waiting, BATCH)):
        rows = LabelledItem.objects.bulk_create(
            LabelledItem(
                table=table,
                key=item.key,
                criterion=item.criterion,
                scenario=item.scenario,
                language=item.language[:20],
                details=dict(item.details),
            )
            for item in batch
        )
        ImportedLabel.objects.bulk_create(
            ImportedLabel(table=table, item=row, rater=rater, label=label, given_at=given_at)
            for row, item in zip(rows, batch, strict=True)
            for rater, label, given_at in item.labels
        )
    detail = {"file": file_name, "items": table.item_count, "labels": table.label_count}
    _announce(table, actor, "labels.imported", detail)
    return table


@transaction.atomic
def delete_labels(*, table: LabelTable, actor: User | None) -> None:
    """Remove a table and its labels."""
    _announce(table, actor, "labels.deleted", {"labels": table.label_count})
    table.delete()


def _announce(table: LabelTable, actor: User | None, action: str, detail: dict[str, object]) -> None:
    signals.acted.send(
        sender=LabelTable,
        actor_id=actor.pk if actor else None,
        action=action,
        subject=table.name,
        subject_id=table.pk,
        detail=detail,
    )
