"""A person's own work: what waits, what they did, at what pace, and how far they agree with the rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from django.contrib.auth.models import User

from evalsite.review.models import Annotation, Queue, ReviewItem
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.screens.pages import queues_for
from evalsite.review.states import ItemStatus

RECENT = 200
DECIDED = (ItemStatus.DECIDED, ItemStatus.ADJUDICATED)


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
    rows = []
    for queue in queues_for(user=user)[:50]:
        mine = Annotation.objects.filter(queue=queue, annotator=user).order_by("-created_at", "-pk")
        times = [row for row in mine.values_list("active_seconds", flat=True)[:RECENT] if row is not None]
        agreed, decided = _agreement(queue, user) if queue.shows_agreement else (None, None)
        rows.append(
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
    return sorted(rows, key=lambda row: (-row.waiting, row.queue.name))


def _agreement(queue: Queue, user: User) -> tuple[int, int]:
    """Return how many of this person's blind answers are what others say without them, and how many can be compared.

    Others say what an adjudicator decided, else what more than half of the other people answered.
    """
    items = ReviewItem.objects.filter(queue=queue, status__in=DECIDED, quorum__gt=1).exclude(arm=ItemArm.RETEST)
    annotations = Annotation.objects.filter(queue=queue).exclude(label="")
    mine = dict(annotations.filter(annotator=user, item__in=items).values_list("item", "label"))
    final = dict(items.filter(pk__in=mine, status=ItemStatus.ADJUDICATED).values_list("pk", "label"))
    others: dict[int, Counter[str]] = {}
    answers = annotations.filter(item__in=list(mine)).exclude(annotator=user)
    for item, label in answers.values_list("item", "label"):
        others.setdefault(item, Counter())[label] += 1
    for item, labels in others.items():
        label, count = labels.most_common(1)[0]
        if item not in final and 2 * count > labels.total():
            final[item] = label
    return sum(mine[item] == label for item, label in final.items()), len(final)
