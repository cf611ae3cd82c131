"""The same figures of agreement for label tables from elsewhere."""

from __future__ import annotations

from evalsite.reports.selectors.annotations import read_labels, table_groups
from evalsite.reports.selectors.options import Options
from evalsite.reports.services.people.agreements import agreement_content, packed_rows
from evalsite.reports.services.people.habits import over_time
from evalsite.reports.services.snapshots import ComputedReport, ReportKind
from evalsite.review.models import LabelTable


def compute_label_agreement(table_id: int, options: Options) -> ComputedReport:
    """Return every figure of agreement in a label table, and the labels that the items behind each are found in."""
    table = LabelTable.objects.get(pk=table_id)
    answers = read_labels(table, options)
    content = agreement_content(answers) | {
        "queue": {"slug": table.slug, "name": table.name},
        "filters": table_groups(table),
        "over_time": over_time(answers),
    }
    return ComputedReport(content, packed_rows(answers, {}))


def _data_version(table_id: int, options: Options) -> str:
    return f"labels {table_id}"  # a table never changes: a corrected file is another table


def _rows(table_id: int, options: Options) -> int:
    return LabelTable.objects.values_list("label_count", flat=True).get(pk=table_id)


LABEL_AGREEMENT = ReportKind("label-agreement", _data_version, _rows, compute_label_agreement)
