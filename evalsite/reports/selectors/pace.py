"""How fast the people of a queue work, by person and day, and when the queue is finished at that pace."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import ceil

from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce, TruncDate
from django.utils import timezone

from evalsite.review.models import Queue
from evalsite.review.selectors.screens.waiting_items import answers_missing

RECENT_DAYS = 7  # that the pace is taken from


@dataclass(frozen=True, slots=True)
class PersonDay:
    """What one person did on one day."""

    day: date
    person: str
    items: int  # annotated, those that they cannot judge and those that came back to them included
    cannot_judge: int
    hours: float  # at work, idle time left out where the page measured it

    @property
    def seconds_per_item(self) -> float:
        """Mean time of an item."""
        return self.hours * 3600 / self.items


@dataclass(frozen=True, slots=True)
class BurnDownDay:
    """How much was left at the end of a day on which somebody annotated."""

    day: date
    annotations: int  # that count, of that day
    left: int  # annotations that are missing after them, by what the items need today


@dataclass(frozen=True, slots=True)
class QueuePace:
    """The pace of a queue. `per_day` is the mean of the last days until today; None while nobody annotated in them."""

    queue: str
    left: int
    per_day: float | None
    finishes_on: date | None
    people: tuple[PersonDay, ...]  # the newest day first
    burn_down: tuple[BurnDownDay, ...]  # the oldest day first

    @property
    def hours(self) -> float:
        """Time at work of all people."""
        return sum(row.hours for row in self.people)


def pace_of_queue(queue: Queue, *, at: datetime) -> QueuePace:
    """Return how fast people work in a queue. Days are those of the site's time zone."""
    days = queue.annotations.annotate(day=TruncDate("created_at")).order_by()
    spent = Sum(Coalesce("active_seconds", "seconds", 0.0))
    unable, counts = Count("pk", filter=Q(label="")), Q(slot__isnull=False, item__retest_of=None)
    rows = days.values_list("day", "annotator__username").annotate(n=Count("pk"), unable=unable, spent=spent)
    people = sorted(
        (PersonDay(day, name, n, unable, (spent or 0.0) / 3600) for day, name, n, unable, spent in rows),
        key=lambda row: (-row.day.toordinal(), row.person),
    )
    done = sorted(days.filter(counts).values_list("day").annotate(n=Count("pk")))
    left = remaining = answers_missing([queue.pk]).get(queue.pk, 0)
    burn_down: list[BurnDownDay] = []
    for day, count in reversed(done):
        burn_down.append(BurnDownDay(day, count, remaining))
        remaining += count
    today = timezone.localdate(at)
    recent = sum(count for day, count in done if today - timedelta(days=RECENT_DAYS) < day <= today)
    per_day = recent / min(RECENT_DAYS, (today - done[0][0]).days + 1) if recent else None
    return QueuePace(
        queue=queue.name,
        left=left,
        per_day=per_day,
        finishes_on=None if per_day is None or not left else today + timedelta(days=ceil(left / per_day)),
        people=tuple(people),
        burn_down=tuple(reversed(burn_down)),
    )
