"""The report on the pace of a queue: hours and items by person and day, and a burn-down."""

from __future__ import annotations

from dataclasses import asdict

from django.utils import timezone

from evalsite.base.actions.reports import Report, ReportColumn, ReportTable
from evalsite.base.json_types import JsonDict
from evalsite.reports.forms import OneQueueForm
from evalsite.reports.selectors.pace import BurnDownDay, PersonDay, QueuePace, pace_of_queue
from evalsite.review.actions.references import QUEUE
from evalsite.review.models import Queue

LINES = ("people", "burn_down")


def _basis(pace: QueuePace) -> str:
    return f"Annotations of {pace.queue}."


PEOPLE: ReportTable[QueuePace, PersonDay] = ReportTable(
    "people",
    "Items and hours by day and person",
    columns=(
        ReportColumn("day", lambda row: row.day.isoformat(), "Day"),
        ReportColumn("person", lambda row: row.person, "Person"),
        ReportColumn("items", lambda row: row.items, "Items", "number"),
        ReportColumn("cannot_judge", lambda row: row.cannot_judge, "Cannot judge", "number"),
        ReportColumn("hours", lambda row: round(row.hours, 3), "Hours"),
        ReportColumn("seconds_per_item", lambda row: round(row.seconds_per_item, 1), "Seconds per item"),
    ),
    rows=lambda pace: pace.people,
    keys=2,
    basis=_basis,
)
BURN_DOWN: ReportTable[QueuePace, BurnDownDay] = ReportTable(
    "burn-down",
    "Annotations left by day",
    columns=(
        ReportColumn("day", lambda row: row.day.isoformat(), "Day"),
        ReportColumn("annotations", lambda row: row.annotations, "Annotations", "number"),
        ReportColumn("left", lambda row: row.left, "Left", "number"),
    ),
    rows=lambda pace: pace.burn_down,
    basis=_basis,
)


def _facts(pace: QueuePace) -> JsonDict:
    finishes_on = None if pace.finishes_on is None else pace.finishes_on.isoformat()
    lines = {name: [{**asdict(row), "day": row.day.isoformat()} for row in getattr(pace, name)] for name in LINES}
    return {
        "queue": pace.queue,
        "left": pace.left,
        "per_day": pace.per_day,
        "finishes_on": finishes_on,
        "hours": pace.hours,
        **lines,
    }


REPORT = Report(
    "pace",
    "How many items and hours the people of a queue give each day, what is left, and when it is finished at that pace.",
    permission="review.adjudicate",  # it names annotators
    form_class=OneQueueForm,
    read=lambda form, _waits: pace_of_queue(form.cleaned_data["queue"], at=timezone.now()),
    facts=_facts,
    tables=(PEOPLE, BURN_DOWN),
    references={Queue: QUEUE},
)
