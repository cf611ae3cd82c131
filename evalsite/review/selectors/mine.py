"""A person's own work: what waits, what they did, at what pace, and how far they agree with the rest."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from django.contrib.auth.models import User

from evalsite.review.models import Annotation, ItemArm, ItemStatus, Queue, ReviewItem
from evalsite.review.selectors.pages import queues_for

RECENT = 200
DECIDED = (ItemStatus.SETTLED, ItemStatus.ADJUDICATED)


@dataclass(frozen=True, slots=True)
class MyQueue:
    """One queue as one person works in it. The agreement is None where the owner does not show it."""

    queue: Queue
    waiting: int
    done: int
    today: int
    median_seconds: float | None
    agreed: int | None
    decided: int | None

    @property
    def agreement(self) -> float | None:
        return self.agreed / self.decided if self.agreed is not None and self.decided else None


def my_queues(*, user: User, at: datetime) -> list[MyQueue]:
    """Return the queues of a person that are not archived; those with work first."""
    found = []
    for queue in queues_for(user=user)[:50]:
        mine = Annotation.objects.filter(queue=queue, annotator=user).order_by("-created_at", "-pk")
        times = [row for row in mine.values_list("active_seconds", flat=True)[:RECENT] if row is not None]
        agreed, decided = _agreement(queue, user) if queue.shows_agreement else (None, None)
        found.append(
            MyQueue(
                queue=queue,
                waiting=max(0, queue.open_count - queue.my_touched),
                done=queue.my_done,
                today=mine.filter(created_at__gte=at - timedelta(hours=24)).count(),
                median_seconds=median(times) if times else None,
                agreed=agreed,
                decided=decided,
            )
        )
    return sorted(found, key=lambda row: (-row.waiting, row.queue.name))


def _agreement(queue: Queue, user: User) -> tuple[int, int]:
    """Return how many of this person's blind answers to decided items are the final word, and how many there are."""
    items = ReviewItem.objects.filter(queue=queue, status__in=DECIDED, quorum__gt=1).exclude(arm=ItemArm.RETEST)
    mine = Annotation.objects.filter(annotator=user, item__in=items)
    rows = list(mine.values_list("label", "item__label"))
    return sum(own == final for own, final in rows), len(rows)
