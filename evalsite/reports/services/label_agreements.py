"""The same figures of agreement for label tables from elsewhere."""

from __future__ import annotations

from evalsite.reports.selectors.annotations import read_labels, table_groups
from evalsite.reports.selectors.options import Options
from evalsite.reports.services.agreements import agreement_payload, confusion_payload
from evalsite.reports.services.habits import over_time
from evalsite.reports.services.payloads import Payload
from evalsite.reports.services.snapshots import ReportKind
from evalsite.review.models import LabelTable


def compute_label_agreement(table_id: int, options: Options) -> Payload:
    """Return every figure of agreement in a label table under the options criterion, scenario and language."""
    table = LabelTable.objects.get(pk=table_id)
    answers = read_labels(table, options)
    return agreement_payload(answers) | {
        "queue": {"slug": table.slug, "name": table.name},
        "filters": table_groups(table),
        "over_time": over_time(answers),
    }


def compute_label_confusion(table_id: int, options: Options) -> Payload:
    """Return which label one rater gave where another gave which. Raises: RatingsRefused for an unknown rater."""
    return confusion_payload(read_labels(LabelTable.objects.get(pk=table_id), options), options)


def _mark(table_id: int, options: Options) -> str:
    return f"labels {table_id}"  # a table never changes: a corrected file is another table


def _rows(table_id: int, options: Options) -> int:
    return LabelTable.objects.values_list("label_count", flat=True).get(pk=table_id)


LABEL_AGREEMENT = ReportKind("label-agreement", _mark, _rows, compute_label_agreement)
LABEL_CONFUSION = ReportKind("label-confusion", _mark, _rows, compute_label_confusion)
