"""The audit log as CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator

from django.db.models import QuerySet

from evalsite.accounts.models import AuditEntry

COLUMNS = ("at", "person", "action", "subject", "subject_id", "address", "detail")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class _Line:
    """A file that hands back what is written."""

    def write(self, text: str) -> str:
        return text


def plain_cell(value: object) -> str:
    """Return a cell's text that no spreadsheet takes for a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def audit_csv(entries: QuerySet[AuditEntry]) -> Iterator[str]:
    """Yield the lines of a CSV file with a header, read from the database bit by bit."""
    writer = csv.writer(_Line())
    yield writer.writerow(COLUMNS)
    for entry in entries.iterator(chunk_size=1000):
        person = entry.actor.username if entry.actor else ""
        detail = json.dumps(entry.detail, ensure_ascii=False, sort_keys=True) if entry.detail else ""
        cells = (entry.at.isoformat(), person, entry.action, entry.subject, entry.subject_id, entry.address, detail)
        yield writer.writerow([plain_cell(cell) for cell in cells])
