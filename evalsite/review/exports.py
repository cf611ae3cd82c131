"""Rows of the tables that this app hands out."""

from __future__ import annotations

from collections.abc import Iterator

from evalsite.base.json_types import JsonDict
from evalsite.review.models import Queue
from evalsite.review.selectors.labels.provenance import act_rows
from evalsite.review.tables.annotations import COLUMNS

ANNOTATION_COLUMNS = COLUMNS


def annotation_rows(queue: Queue) -> Iterator[JsonDict]:
    """Yield every answer, skip and flag of a queue: who, when, how it was shown, revisions, what came of it.

    Labels are in system space: 1 = system A is better, whatever side the person saw it on. What is yielded suffices to
    bring all of it back: `import_annotations` reads it, and a second export gives the same bytes.
    """
    yield from act_rows(queue)
