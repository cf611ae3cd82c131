"""What waits for a person, how far they are, and why there may be nothing for them now."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from statistics import median
from typing import TYPE_CHECKING, Any, TypedDict

from django.contrib.auth.models import User
from django.db.models import (
    BooleanField,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    FilteredRelation,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
)
from django.db.models.functions import Coalesce

from evalsite.review.models import Annotation, Assignment, Look, Notice, Queue, ReviewItem
from evalsite.review.sampling import RETEST_GAP
from evalsite.review.states import AssignmentStatus, ItemStatus, QueueFacts, QueueStatus, why_nothing
from judging.selectors.prepared_queries import PreparedQuery

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class MyCounts(TypedDict):
        """What `with_my_counts` adds to a queue."""

        my_touched: int  # open items that this person answered or skipped, or has seen as an owner
        my_done: int  # their answers
        my_repeated: int  # of items that came back to them

    CountedQueue = WithAnnotations[Queue, MyCounts]

TOUCHED = (  # the item does not come back to this person
    AssignmentStatus.SUBMITTED,
    AssignmentStatus.SKIPPED,
    AssignmentStatus.WITHDRAWN,
)
HELD = (AssignmentStatus.LEASED, AssignmentStatus.LAPSED)  # neither answered nor given back
MOST_QUEUES = 5  # shown where one queue is done
COUNTS = ("open_count", "my_touched", "my_done", "my_repeated", "retest_share")
RESERVE = 1.5  # items that come back in the total, for each that is expected: there are hardly ever more
RECENT = 200  # answers that an estimate of time rests on


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one person is in a queue."""

    done: int
    waiting: int  # open items that this person has neither answered nor skipped
    again: int = 0  # about how many of their own will come back: the total must not grow by each of them

    @property
    def total(self) -> int:
        return self.done + self.waiting + self.again

    @property
    def number(self) -> int:
        """Which item this is, counted from 1."""
        return min(self.done + 1, self.total) if self.total else 0


def _progress_from(open_count: int, touched: int, done: int, repeated: int, share: float) -> Progress:
    waiting = max(0, open_count - touched)
    if not waiting:
        return Progress(done=done, waiting=0)
    repeatable = max(0, done - repeated + waiting - RETEST_GAP)
    return Progress(done=done, waiting=waiting, again=max(0, ceil(RESERVE * share * repeatable) - repeated))


def member_filter(user_id: int) -> Q:
    """Return the condition for queues that this person may answer: those that name them, or nobody."""
    memberships = Queue.members.through.objects.filter(queue_id=OuterRef("pk"))
    return ~Exists(memberships) | Exists(memberships.filter(user_id=user_id))


def is_member(*, queue: Queue, user: User) -> bool:
    """Return whether this person may answer items of the queue."""
    return Queue.objects.filter(member_filter(user.pk), pk=queue.pk).exists()


def with_my_counts(queues: QuerySet[Queue], *, user_id: int) -> QuerySet[CountedQueue]:
    """Annotate queues with `my_touched` (open items done with) and `my_done` (answers), read from indexes alone."""
    mine = Assignment.objects.filter(queue=OuterRef("pk"), annotator=user_id).order_by().values("queue")
    touched = mine.filter(item_open=True, status__in=TOUCHED).annotate(n=Count("pk")).values("n")
    again = ReviewItem.objects.filter(queue=OuterRef("pk"), only_for=user_id, assignments__status__in=TOUCHED)
    repeated = again.order_by().values("queue").annotate(n=Count("pk")).values("n")
    submitted = mine.filter(status=AssignmentStatus.SUBMITTED).annotate(n=Count("pk")).values("n")
    return queues.annotate(
        my_touched=Coalesce(Subquery(touched), 0) + Coalesce(Subquery(_seen(user_id)), 0),
        my_done=Coalesce(Subquery(submitted), 0),
        my_repeated=Coalesce(Subquery(repeated), 0),
    )


def _seen(user_id: int) -> QuerySet[Look, Any]:
    """How many open items of the outer queue this person saw as an owner and never had: they are not handed out."""
    had = Assignment.objects.filter(item=OuterRef("item_id"), annotator=user_id)
    looks = Look.objects.filter(queue=OuterRef("pk"), person=user_id, item__status=ItemStatus.OPEN, item__only_for=None)
    return looks.exclude(Exists(had)).order_by().values("queue").annotate(n=Count("pk")).values("n")


@dataclass(frozen=True, slots=True)
class QueueAccess:
    """How one person stands in a queue before they take an item."""

    may_take: bool  # the queue is open, and open to them
    unfinished: tuple[int, ...]  # open items that they took and left in the middle
    progress: Progress


def standing_of(*, queue: Queue, user: User) -> QueueAccess:
    """Return how this person stands in the queue, in one query."""
    rows = _STANDING.rows(queue_id=queue.pk, user_id=user.pk)
    if not rows:
        return QueueAccess(may_take=False, unfinished=(), progress=Progress(0, 0))
    status, may_answer = rows[0][:2]
    return QueueAccess(
        may_take=status == QueueStatus.OPEN and bool(may_answer),
        unfinished=tuple(row[-1] for row in rows if row[-1] is not None),
        progress=_progress_from(*rows[0][2:7]),
    )


def _standing_query(*, queue_id: int, user_id: int) -> QuerySet[Queue, Any]:
    """One row for each item that they left in the middle, or one without an item."""
    mine = Q(assignments__annotator=user_id, assignments__item_open=True, assignments__status__in=HELD)
    counted = with_my_counts(Queue.objects.filter(pk=queue_id), user_id=user_id)
    rows = counted.annotate(
        may_answer=ExpressionWrapper(member_filter(user_id), BooleanField()),
        begun=FilteredRelation("assignments", condition=mine),
    )
    return rows.order_by("begun__item_id").values_list("status", "may_answer", *COUNTS, "begun__item_id")


_STANDING = PreparedQuery(_standing_query)


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """What waits for a person."""

    items: int  # of open queues, neither answered nor skipped by them
    notices: int  # unread


def read_waiting(user: User) -> WaitingFor:
    """Return what waits for a person, in one query: every page of the site and every answer shows it."""
    ((items, notices),) = _WAITING.rows(user_id=user.pk)
    return WaitingFor(items=max(0, items), notices=notices)


def _waiting_query(*, user_id: int) -> QuerySet[User, Any]:
    mine = Assignment.objects.filter(queue=OuterRef("pk"), annotator=user_id, item_open=True, status__in=TOUCHED)
    touched = Coalesce(Subquery(mine.order_by().values("queue").annotate(n=Count("pk")).values("n")), 0)
    queues = Queue.objects.filter(member_filter(user_id), status=QueueStatus.OPEN, open_count__gt=0)
    counted = queues.annotate(left=F("open_count") - touched, everything=Value(1)).order_by().values("everything")
    unread = Notice.objects.filter(person=OuterRef("pk"), read_at=None).order_by().values("person")
    return User.objects.filter(pk=user_id).values_list(
        Coalesce(Subquery(counted.annotate(n=Sum("left")).values("n")), 0),
        Coalesce(Subquery(unread.annotate(n=Count("pk")).values("n")), 0),
    )


_WAITING = PreparedQuery(_waiting_query)


def queues_to_answer(*, user: User) -> list[CountedQueue]:
    """Return the open queues that have items for this person, each with `left` of them, the fullest first."""
    queues = Queue.objects.filter(member_filter(user.pk), status=QueueStatus.OPEN, open_count__gt=0)
    counted = with_my_counts(queues, user_id=user.pk).annotate(left=F("open_count") - F("my_touched"))
    return list(counted.filter(left__gt=0).order_by("-left", "name", "pk")[:MOST_QUEUES])


def progress_of(*, queue: Queue, user: User) -> Progress:
    """Return how far this person is in the queue."""
    (counts,) = _PROGRESS.rows(queue_id=queue.pk, user_id=user.pk)
    return _progress_from(*counts)


def _progress_query(*, queue_id: int, user_id: int) -> QuerySet[Queue, Any]:
    counted = with_my_counts(Queue.objects.filter(pk=queue_id), user_id=user_id)
    return counted.values_list(*COUNTS)


_PROGRESS = PreparedQuery(_progress_query)


def why_nothing_for(*, queue: Queue, user: User, at: datetime) -> str:
    """Return why there is no next item for this person, and when to come back."""
    live = Assignment.objects.filter(
        queue=queue, item_open=True, status=AssignmentStatus.LEASED, expires_at__gte=at
    ).exclude(annotator=user)
    leased = live.aggregate(n=Count("pk"), first=Min("expires_at"))
    touched = Assignment.objects.filter(queue=queue, annotator=user, item_open=True, status__in=TOUCHED).count()
    fresh = Queue.objects.only("open_count", "status").get(pk=queue.pk)
    first = leased["first"]
    return why_nothing(
        QueueFacts(
            state=QueueStatus(fresh.status),
            is_member=is_member(queue=queue, user=user),
            n_open=fresh.open_count,
            n_mine=touched,
            n_leased=leased["n"] if fresh.open_count > touched else 0,
            seconds_to_next_lapse=int((first - at).total_seconds()) + 1 if first else None,
        )
    )


@dataclass(frozen=True, slots=True)
class PersonProgress:
    """What one person has done in a queue."""

    pk: int
    name: str
    answered: int
    skipped: int
    in_work: int


def people_of(*, queue: Queue) -> list[PersonProgress]:
    """Return what each person who took an item, or is a member, has done; the busiest first."""
    rows = queue.assignments.order_by().values("annotator_id", "status").annotate(n=Count("pk"))
    counts: dict[int, dict[str, int]] = {}
    for row in rows:
        counts.setdefault(row["annotator_id"], {})[row["status"]] = row["n"]
    open_claims = queue.assignments.filter(item_open=True, status__in=HELD).order_by()
    held_counts = dict(open_claims.values_list("annotator_id").annotate(n=Count("pk")))
    people = User.objects.filter(Q(pk__in=list(counts)) | Q(queues=queue)).distinct().order_by("username", "pk")
    progress = [
        PersonProgress(
            pk=person.pk,
            name=person.get_full_name() or person.username,
            answered=(mine := counts.get(person.pk, {})).get(AssignmentStatus.SUBMITTED, 0),
            skipped=mine.get(AssignmentStatus.SKIPPED, 0),
            in_work=held_counts.get(person.pk, 0),
        )
        for person in people
    ]
    return sorted(progress, key=lambda person: -person.answered)


@dataclass(frozen=True, slots=True)
class Workload:
    """What is left of a queue. `seconds_left` is None until somebody has answered."""

    answers_left: int
    median_seconds: float | None
    answered: int  # recent answers that the median rests on

    @property
    def seconds_left(self) -> float | None:
        return None if self.median_seconds is None else self.answers_left * self.median_seconds


def answers_missing(queue_ids: Collection[int]) -> dict[int, int]:
    """Return how many answers the open items of each queue lack, each by its own quorum; retests left out."""
    items = ReviewItem.objects.filter(queue__in=queue_ids, status=ItemStatus.OPEN, retest_of=None)
    lacking = Sum(F("quorum") - F("answer_count"))
    return dict(items.order_by().values_list("queue_id").annotate(lacking=lacking))


def workload_of(*, queue: Queue) -> Workload:
    """Return how many answers are missing, and how long they will take at the recent median time per answer."""
    recent = Annotation.objects.filter(queue=queue).exclude(label="").order_by("-pk")
    times = [seconds for seconds in recent.values_list("seconds", flat=True)[:RECENT] if seconds is not None]
    return Workload(
        answers_left=answers_missing([queue.pk]).get(queue.pk, 0),
        median_seconds=median(times) if times else None,
        answered=len(times),
    )
