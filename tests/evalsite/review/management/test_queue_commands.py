"""Commands for what owners do to queues and items: settings, assignments, exclusion, export."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.review.models.items import address_of
from tests import factories
from tests.judging.management.test_run_commands import refusal, run_command

pytestmark = pytest.mark.django_db


def test_an_item_is_named_by_what_stands_for_it_in_its_address_too() -> None:
    item = factories.review_item(queue=factories.queue(slug="pairs"))
    factories.user("rita", Role.RESEARCHER)

    excluded = run_command("item", "exclude", address_of(item.pk), "--reason", "cut off", "--by", "rita")

    assert (excluded["id"], excluded["queue"], excluded["status"]) == (item.pk, "pairs", "excluded")
    assert refusal("item", "show", "nothing") == "There is no item nothing."


def test_queue_export_writes_what_import_annotations_reads(tmp_path: Path) -> None:
    queue = factories.queue(slug="pairs")
    item = factories.review_item(queue=queue)
    factories.annotation(item=item, label="1", annotator=factories.user("ada"))
    path = tmp_path / "annotations.csv"

    told = run_command("queue", "export", "pairs", "--output", path)

    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert told == {"file": "pairs-annotations.csv", "output": str(path), "bytes": path.stat().st_size}
    assert [(row["annotator"], row["blind_label"]) for row in rows] == [("ada", "1")]
    assert AuditEntry.objects.get(action="annotations.exported").detail == {"format": "csv", "through": "command"}
