"""The report on why annotators disagreed, and where the guidelines say nothing."""

from __future__ import annotations

from dataclasses import asdict

from evalsite.base.actions.reports import Report, ReportColumn, ReportTable
from evalsite.reports.forms import OneQueueForm
from evalsite.reports.selectors.adjudications import (
    AdjudicationErrors,
    ErrorCount,
    PersonErrors,
    SilentItem,
    errors_of_queue,
)
from evalsite.review.actions.references import QUEUE
from evalsite.review.models import Queue


def _basis(errors: AdjudicationErrors) -> str:
    return f"Adjudications of {errors.queue}."


KINDS: ReportTable[AdjudicationErrors, ErrorCount] = ReportTable(
    "kinds",
    "Why annotators disagreed",
    columns=(
        ReportColumn("kind", lambda row: row.kind, in_papers=False),
        ReportColumn("words", lambda row: row.words),
        ReportColumn("items", lambda row: row.items),
        ReportColumn("share", lambda row: row.share),
    ),
    rows=lambda errors: errors.kinds,
    basis=_basis,
)
PEOPLE: ReportTable[AdjudicationErrors, PersonErrors] = ReportTable(
    "people",
    "Labels that adjudicators changed, by annotator",
    columns=(
        ReportColumn("person", lambda row: row.person),
        ReportColumn("labels", lambda row: row.labels),
        ReportColumn("changed", lambda row: row.changed),
        ReportColumn("kinds", lambda row: row.kinds),
    ),
    rows=lambda errors: errors.people,
    basis=_basis,
)
SILENT: ReportTable[AdjudicationErrors, SilentItem] = ReportTable(
    "silent",
    "Items of which the guidelines say nothing",
    columns=(
        ReportColumn("id", lambda row: row.id),
        ReportColumn("question", lambda row: row.question),
        ReportColumn("label", lambda row: row.label),
        ReportColumn("reason", lambda row: row.reason),
    ),
    rows=lambda errors: errors.silent,
    basis=_basis,
)
REPORT = Report(
    "adjudications",
    "Why the annotators of a queue disagreed, as its adjudicators ticked it, and where the guidelines say nothing.",
    permission="review.adjudicate",  # it names annotators
    form_class=OneQueueForm,
    read=lambda form, _waits: errors_of_queue(form.cleaned_data["queue"]),
    facts=asdict,
    tables=(KINDS, PEOPLE, SILENT),
    references={Queue: QUEUE},
)
