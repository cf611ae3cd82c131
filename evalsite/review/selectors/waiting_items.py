"""What waits for a person, how far they are, and why there may be nothing for them now."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date, datetime
from math import ceil
from statistics import median
from typing import TYPE_CHECKING, Any, TypedDict

from django.contrib.auth.models import Permission, User
from django.db.models import (
    BooleanField,
    Case,
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
    When,
)
from django.db.models.functions import Coalesce, Greatest, Now, TruncDate
from django.utils import timezone

from evalsite.base.rows import grouped
from evalsite.review.models import Annotation, Assignment, Look, Notice, PausedPerson, Queue, Quota, ReviewItem, Team
from evalsite.review.routing import GOLD_BLOCK, RETEST_GAP
from evalsite.review.states import WAITING, AssignmentStatus, ItemStatus, QueueFacts, QueueStatus, why_nothing
from judging.selectors.prepared_queries import PreparedQuery


def has_seen_verdicts(*, item: ReviewItem, person: User) -> bool:
    """Return whether a person has been shown what the machines said of an item."""
    return Look.objects.filter(item=item, person=person, saw_verdicts=True).exists()


if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class Lack(TypedDict):
        """What `stuck_items` adds to an item."""

        lack: int

    class MyCounts(TypedDict):
        """What `with_my_counts` adds to a queue."""

        my_touched: int  # open items that this person answered or skipped, or has seen as an owner
        my_done: int  # their answers
        my_repeated: int  # of items that came back to them

    class Left(TypedDict):
        """What `_with_left` adds to a quota."""

        left: int | None

    LackingItem = WithAnnotations[ReviewItem, Lack]
    CountedQueue = WithAnnotations[Queue, MyCounts]
    LimitingQuota = WithAnnotations[Quota, Left]

TOUCHED = (  # the item does not come back to this person
    AssignmentStatus.SUBMITTED,
    AssignmentStatus.SKIPPED,
    AssignmentStatus.WITHDRAWN,
)


def possible_members(group: Queue | Team | None = None) -> QuerySet[User]:
    """Return the active people who may answer, and who is a member of a queue or team already."""
    chosen = may("add_annotation") if group is None else may("add_annotation") | Q(pk__in=group.members.values("pk"))
    return User.objects.filter(chosen).distinct().order_by("username", "pk")


def may(codename: str) -> Q:
    """Return the condition for active people who have a permission of this app; of several groups it joins them all."""
    rights = Permission.objects.filter(codename=codename, content_type__app_label="review")
    allowed = Q(groups__permissions__in=rights) | Q(user_permissions__in=rights) | Q(is_superuser=True)
    return Q(allowed, is_active=True)


def possible_members_of(queue: Queue) -> QuerySet[User]:
    """Return the active people who may answer in a queue: its members, or everybody where it names none."""
    people = possible_members()
    people = people.exclude(pauses__in=PausedPerson.objects.filter(queue=queue, resumed_at=None))
    return people.filter(queues=queue) if queue.members.exists() else people


def quorum_warning(queue: Queue) -> str:
    """Return what is wrong with a quorum that fewer people than it can reach; empty where nothing is."""
    people = possible_members_of(queue).count()
    if people >= queue.quorum:
        return ""
    who = "nobody" if not people else "only 1 person" if people == 1 else f"only {people:,} people"
    return f"Each item asks {queue.quorum} people, and {who} can annotate in this queue: no item can be completed."


def warnings_of_new(queue: Queue) -> list[str]:
    """Return what is wrong with a queue that a file has just become: its quorum, and rows that nobody is asked."""
    rows = queue.materials.count()
    why = "people have decided on the same responses in another queue, or an earlier row has them."
    unasked = f"{rows - queue.total_count:,} of {rows:,} rows are not asked: {why}" if rows > queue.total_count else ""
    return [warning for warning in (quorum_warning(queue), unasked) if warning]


def stuck_items(queue: Queue) -> QuerySet[LackingItem]:
    """Return the open items of a queue that fewer people are left for than answers are missing, by `lack` of them.

    People whose quota is used up are handed no item, and nobody one that they have seen as an owner.
    """
    used_up = _with_left(Quota.objects.filter(queue=queue)).filter(left=0)
    members = possible_members_of(queue).exclude(pk__in=used_up.values("person"))
    touched = Count("assignments", filter=Q(assignments__status__in=TOUCHED, assignments__annotator__in=members))
    people = members.count()
    items = ReviewItem.objects.filter(queue=queue, status=ItemStatus.OPEN, only_for=None)
    given_back = queue.assignments.filter(status__in=(AssignmentStatus.SKIPPED, AssignmentStatus.WITHDRAWN))
    no_label, looks = queue.annotations.filter(slot=None), _only_seen(queue.looks.filter(person__in=members))
    lost = Q(*(Q(pk__in=rows.values("item_id")) for rows in (given_back, no_label, looks)), _connector=Q.OR)
    items = items.filter(lost | Q(quorum__gt=people))  # of all others there are as many people left as labels missing
    seen = looks.filter(item=OuterRef("pk")).order_by().values("item").annotate(n=Count("pk")).values("n")
    lack = F("quorum") - F("answer_count") - people + touched + Coalesce(Subquery(seen), 0)
    return items.annotate(lack=lack).filter(lack__gt=0)


HELD = (AssignmentStatus.LEASED, AssignmentStatus.LAPSED)  # neither answered nor given back
MOST_QUEUES = 5  # shown where one queue is done
COUNTS = ("open_count", "my_touched", "my_done", "my_repeated", "retest_share", "gold_count")
MEAN_GAP = 1.5 * RETEST_GAP  # other items before one comes back, on average
RESERVE = 1.5  # items that come back in the total, for each that is expected: there are hardly ever more
RECENT = 200  # answers that an estimate of time rests on


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one person is in a queue."""

    done: int
    waiting: int  # open items that this person has neither answered nor skipped
    again: int = 0  # about how many repeats and gold items will come: the total must not grow by each of them

    @property
    def total(self) -> int:
        return self.done + self.waiting + self.again

    @property
    def is_about(self) -> bool:
        """Whether the total is about right: how many repeats and gold items come is drawn as they go."""
        return self.again > 0

    @property
    def number(self) -> int:
        """Which item this is, counted from 1."""
        return min(self.done + 1, self.total) if self.total else 0


def _progress_from(open_count: int, touched: int, done: int, repeated: int, share: float, gold: int) -> Progress:
    waiting = max(0, open_count - touched)
    if not waiting:
        return Progress(done=done, waiting=0)
    fresh = done - repeated + waiting
    expected = ceil(RESERVE * share * max(0, fresh - ceil(MEAN_GAP))) + min(gold, fresh // (GOLD_BLOCK - 1))
    return Progress(done=done, waiting=waiting, again=max(0, expected - repeated))


def progress_in(queue: CountedQueue) -> Progress:
    """Return how far a person is in a queue that was counted for them."""
    return Progress(done=queue.my_done, waiting=max(0, queue.open_count - queue.my_touched))


def member_filter(user_id: int) -> Q:
    """Return the condition for queues that this person may answer: those that name them, or nobody."""
    memberships = Queue.members.through.objects.filter(queue_id=OuterRef("pk"))
    return ~Exists(memberships) | Exists(memberships.filter(user_id=user_id))


def answer_filter(user_id: int) -> Q:
    """Return the condition for queues that this person may answer now: they are not paused there."""
    return member_filter(user_id) & Q(~Exists(_pauses(OuterRef("pk"), user_id)))


def _pauses(queue: Queue | OuterRef, user_id: int) -> QuerySet[PausedPerson]:
    return PausedPerson.objects.filter(queue=queue, person=user_id, resumed_at=None)


def is_member(*, queue: Queue, user: User) -> bool:
    """Return whether this person may answer items of the queue."""
    return Queue.objects.filter(answer_filter(user.pk), pk=queue.pk).exists()


def with_my_counts(queues: QuerySet[Queue], *, user_id: int) -> QuerySet[CountedQueue]:
    """Annotate queues with `my_touched` (open items done with) and `my_done` (answers), read from indexes alone."""
    mine = Assignment.objects.filter(queue=OuterRef("pk"), annotator=user_id).order_by().values("queue")
    again = ReviewItem.objects.filter(queue=OuterRef("pk"), only_for=user_id, assignments__status__in=TOUCHED)
    repeated = again.order_by().values("queue").annotate(n=Count("pk")).values("n")
    submitted = mine.filter(status=AssignmentStatus.SUBMITTED).annotate(n=Count("pk")).values("n")
    gone = _touched(user_id) + Coalesce(Subquery(_seen(user_id)), 0)
    left = Subquery(_with_left(_quotas(user_id)).values("left"))
    beyond = Greatest(gone, F("open_count") - left)  # what a quota leaves out is none of theirs
    return queues.annotate(
        my_touched=Case(When(Exists(_quotas(user_id)), then=beyond), default=gone),
        my_done=Coalesce(Subquery(submitted), 0),
        my_repeated=Coalesce(Subquery(repeated), 0),
    )


def _touched(user_id: int) -> Coalesce:
    """How many open items of the outer queue this person is done with."""
    mine = Assignment.objects.filter(queue=OuterRef("pk"), annotator=user_id, item_open=True, status__in=TOUCHED)
    return Coalesce(Subquery(mine.order_by().values("queue").annotate(n=Count("pk")).values("n")), 0)


IS_OVER = Q(until__lt=TruncDate(Now()))  # the last day of a quota has passed


def _quotas(user_id: int) -> QuerySet[Quota]:
    return Quota.objects.filter(IS_OVER | Q(items__isnull=False), queue=OuterRef("pk"), person=user_id)


def _with_left(quotas: QuerySet[Quota]) -> QuerySet[LimitingQuota]:
    """Annotate quotas with how many items of their queue are `left` for their person, NULL where any number is."""
    of_queue, submitted = {"queue": OuterRef("queue")}, AssignmentStatus.SUBMITTED
    done = Assignment.objects.filter(annotator=OuterRef("person"), status=submitted, **of_queue)
    copies = ReviewItem.objects.filter(only_for=OuterRef("person"), assignments__status=submitted, **of_queue)
    n_done, n_copies = (
        Coalesce(Subquery(rows.order_by().values("queue").annotate(n=Count("pk")).values("n")), 0)
        for rows in (done, copies)
    )
    of_items = Greatest(F("items") - n_done + n_copies, 0)
    has_end = Q(items__isnull=False)
    return quotas.annotate(left=Case(When(IS_OVER, then=0), When(has_end, then=of_items)))


def quota_refusal(*, queue: Queue, user: User, at: datetime) -> str:
    """Return why a quota or its last day hands a person nothing more; "" where neither does. One query."""
    row = _with_left(queue.quotas.filter(person=user)).values_list("until", "items", "left").first()
    if row is None:
        return ""
    until, items, left = row
    if lapsed := lapse_words(until, at):
        return lapsed
    if items is None or left:
        return ""
    asked = "the item" if items == 1 else f"all {items:,} items"
    return f"You have annotated {asked} that you were asked for. Thank you."


def has_quota_for(*, item: ReviewItem, person: User) -> bool:
    """Return whether a quota leaves a person an item beside those that they hold, or none limits them."""
    left = _with_left(item.queue.quotas.filter(person=person)).values_list("left", flat=True).first()
    others = held_by(queue=item.queue, person=person).filter(item__retest_of=None).exclude(item=item)
    return left is None or others.count() < left


def lapse_words(until: date | None, at: datetime) -> str:
    """Return that the last day on which a person is handed items has passed; "" where it has not."""
    if until is None or until >= timezone.localdate(at):
        return ""
    return f"Items of this queue were handed to you until {until.day} {until:%B %Y}. Ask its owner for more time."


def _seen(user_id: int) -> QuerySet[Look, Any]:
    """How many open items of the outer queue this person saw as an owner and never had: they are not handed out."""
    looks = Look.objects.filter(queue=OuterRef("pk"), person=user_id, item__status=ItemStatus.OPEN, item__only_for=None)
    return _only_seen(looks).order_by().values("queue").annotate(n=Count("pk")).values("n")


def _only_seen(looks: QuerySet[Look]) -> QuerySet[Look]:
    """Return those at items that their person never had."""
    return looks.exclude(Exists(Assignment.objects.filter(item=OuterRef("item_id"), annotator=OuterRef("person_id"))))


@dataclass(frozen=True, slots=True)
class QueueAccess:
    """How one person stands in a queue before they take an item."""

    may_take: bool  # the queue is open, and open to them
    has_quota: bool = field(default=False, kw_only=True)  # that may be used up, or a last day
    begun: tuple[int, ...]  # open items that they took and left in the middle
    assigned: tuple[int, ...] = field(default=(), kw_only=True)  # open items that wait for them, and they never saw
    progress: Progress


def standing_of(*, queue: Queue, user: User) -> QueueAccess:
    """Return how this person stands in the queue, in one query."""
    rows = _STANDING.rows(queue_id=queue.pk, user_id=user.pk)
    if not rows:
        return QueueAccess(may_take=False, begun=(), progress=Progress(0, 0))
    status, may_answer, has_quota = rows[0][:3]
    return QueueAccess(
        has_quota=bool(has_quota),
        may_take=status == QueueStatus.OPEN and bool(may_answer),
        begun=tuple(item for *_, seen_at, item in rows if item is not None and seen_at is not None),
        assigned=tuple(item for *_, seen_at, item in rows if item is not None and seen_at is None),
        progress=_progress_from(*rows[0][3:-2]),
    )


def _standing_query(*, queue_id: int, user_id: int) -> QuerySet[Queue, Any]:
    """One row for each item that they hold, or one without an item."""
    mine = Q(assignments__annotator=user_id, assignments__item_open=True, assignments__status__in=HELD)
    counted = with_my_counts(Queue.objects.filter(pk=queue_id), user_id=user_id)
    rows = counted.annotate(held=FilteredRelation("assignments", condition=mine)).order_by("held__item_id")
    return rows.values_list("status", *_ways_in(user_id), *COUNTS, "held__heartbeat_at", "held__item_id")


def _ways_in(user_id: int) -> tuple[ExpressionWrapper[Q], Exists]:
    """Whether this person may answer items of the queue, and whether a quota holds for them."""
    quota = Quota.objects.filter(queue=OuterRef("pk"), person=user_id)
    return ExpressionWrapper(answer_filter(user_id), BooleanField()), Exists(quota)


_STANDING = PreparedQuery(_standing_query)


def read_waiting(user: User) -> tuple[int, int]:
    """Return what waits for a person: items of open queues, neither answered nor skipped by them, and unread notices.

    In one query: every page of the site and every answer shows it.
    """
    ((items, notices),) = _WAITING.rows(user_id=user.pk)
    return max(0, items), notices


def _waiting_query(*, user_id: int) -> QuerySet[User, Any]:
    counted = _with_work(user_id).annotate(everything=Value(1)).order_by().values("everything")
    unread = Notice.objects.filter(person=OuterRef("pk"), read_at=None).order_by().values("person")
    return User.objects.filter(pk=user_id).values_list(
        Coalesce(Subquery(counted.annotate(n=Sum("left")).values("n")), 0),
        Coalesce(Subquery(unread.annotate(n=Count("pk")).values("n")), 0),
    )


_WAITING = PreparedQuery(_waiting_query)


def _with_work(user_id: int) -> QuerySet[Any]:
    """Return the open queues of this person, annotated with how many items are `left` for them."""
    queues = Queue.objects.filter(answer_filter(user_id), status=QueueStatus.OPEN, open_count__gt=0)
    left = Greatest(F("open_count") - F("my_touched"), 0)
    return with_my_counts(queues, user_id=user_id).annotate(left=left)


def queues_to_answer(*, user: User) -> list[CountedQueue]:
    """Return the open queues that have items for this person, each with `left` of them, the fullest first."""
    return _TO_ANSWER.objects(user_id=user.pk)


def _to_answer_query(*, user_id: int) -> QuerySet[CountedQueue]:
    return _with_work(user_id).filter(left__gt=0).order_by("-left", "name", "pk")[:MOST_QUEUES]


_TO_ANSWER = PreparedQuery(_to_answer_query)


def why_nothing_for(*, queue: Queue, user: User, at: datetime) -> str:
    """Return why there is no next item for this person, and when to come back."""
    live = Assignment.objects.filter(
        queue=queue, item_open=True, status=AssignmentStatus.LEASED, expires_at__gte=at
    ).exclude(annotator=user)
    leased = live.aggregate(n=Count("pk"), first=Min("expires_at"))
    ((status, n_open, touched, may_answer, has_quota),) = _LEFT.rows(queue_id=queue.pk, user_id=user.pk)
    first = leased["first"]
    is_asked = may_answer and has_quota and status == QueueStatus.OPEN
    if is_asked and (refusal := quota_refusal(queue=queue, user=user, at=at)):
        return refusal
    pauses = [] if may_answer else list(_pauses(queue, user.pk).values_list("in_training", flat=True))
    return why_nothing(
        QueueFacts(
            state=QueueStatus(status),
            is_member=bool(may_answer),
            n_open=n_open,
            n_mine=touched,
            n_leased=leased["n"] if n_open > touched else 0,
            seconds_to_next_lapse=int((first - at).total_seconds()) + 1 if first else None,
            n_stuck=_mine_stuck(queue, user) if touched else 0,
            is_paused=bool(pauses),
            is_untrained=any(pauses),
        )
    )


def _left_query(*, queue_id: int, user_id: int) -> QuerySet[Queue, Any]:
    return Queue.objects.filter(pk=queue_id).values_list("status", "open_count", _touched(user_id), *_ways_in(user_id))


_LEFT = PreparedQuery(_left_query)


def _mine_stuck(queue: Queue, user: User) -> int:
    """Return how many of the open items that this person is done with have no annotator left."""
    mine = Assignment.objects.filter(annotator=user, item=OuterRef("pk"), status__in=TOUCHED)
    return stuck_items(queue).filter(Exists(mine)).count()


@dataclass(frozen=True, slots=True)
class PersonProgress:
    """What one person has done in a queue; copies that check them or ask them again are no items of it."""

    pk: int
    name: str
    username: str
    answered: int
    skipped: int
    in_work: int
    quota: int | None = None  # items that they are asked for
    until: date | None = None  # the last day on which they are handed any


def people_of(*, queue: Queue) -> list[PersonProgress]:
    """Return what each person who took an item, or is a member, has done; the busiest first."""
    claims = queue.assignments.filter(item__retest_of=None)
    rows = claims.order_by().values("annotator_id", "status").annotate(n=Count("pk"))
    counts: dict[int, dict[str, int]] = {}
    for row in rows:
        counts.setdefault(row["annotator_id"], {})[row["status"]] = row["n"]
    open_claims = queue.assignments.filter(item_open=True, status__in=HELD).order_by()
    held_counts = dict(open_claims.values_list("annotator_id").annotate(n=Count("pk")))
    people = User.objects.filter(Q(pk__in=list(counts)) | Q(queues=queue)).distinct().order_by("username", "pk")
    limits = {person: limit for person, *limit in queue.quotas.values_list("person_id", "items", "until")}
    nothing: list[Any] = [None, None]
    progress = [
        PersonProgress(
            pk=person.pk,
            name=person.get_full_name() or person.username,
            username=person.username,
            answered=(mine := counts.get(person.pk, {})).get(AssignmentStatus.SUBMITTED, 0),
            skipped=mine.get(AssignmentStatus.SKIPPED, 0),
            in_work=held_counts.get(person.pk, 0),
            quota=limits.get(person.pk, nothing)[0],
            until=limits.get(person.pk, nothing)[1],
        )
        for person in people
    ]
    return sorted(progress, key=lambda person: -person.answered)


@dataclass(frozen=True, slots=True)
class Workload:
    """What is left of a queue. `seconds_left` is None until somebody has answered."""

    answers_left: int
    items_stuck: int  # fewer people are left for them than answers are missing
    answers_stuck: int  # of those missing, the ones that nobody is left to give
    median_seconds: float | None

    @property
    def answers_to_come(self) -> int:
        return self.answers_left - self.answers_stuck

    @property
    def seconds_left(self) -> float | None:
        return None if self.median_seconds is None else self.answers_to_come * self.median_seconds


def workload_of(*, queue: Queue) -> Workload:
    """Return how many answers open items lack, each by its own quorum, and how long they take at the median time.

    Retests are left out.
    """
    items = ReviewItem.objects.filter(queue=queue, status=ItemStatus.OPEN, retest_of=None)
    lacks = stuck_items(queue).values_list("lack", "quorum", "answer_count")
    stuck = [min(lack, quorum - answers) for lack, quorum, answers in lacks]
    return Workload(
        answers_left=items.aggregate(lacking=Sum(F("quorum") - F("answer_count")))["lacking"] or 0,
        items_stuck=len(stuck),
        answers_stuck=sum(stuck),
        median_seconds=usual_seconds(queue.annotations.all()),
    )


def usual_seconds(annotations: QuerySet[Annotation]) -> float | None:
    """Return the median time of the newest labels, without idle time where that was measured; None without any."""
    newest = annotations.order_by("-created_at", "-pk").values_list("label", WORK_SECONDS)[:RECENT]
    times = [seconds for label, seconds in newest if label and seconds is not None]
    return median(times) if times else None


WORK_SECONDS = Coalesce("active_seconds", "seconds")


@dataclass(frozen=True, slots=True)
class Holder:
    """One person's claim on an item, as an owner sees it."""

    person: User
    item_id: int
    status: str
    words: str
    since: datetime
    until: datetime | None  # end of a live lease
    draft_at: datetime | None

    @property
    def is_held(self) -> bool:
        """Whether it can be taken back."""
        return self.status in HELD

    @property
    def is_live(self) -> bool:
        """Whether the claim keeps a slot now."""
        return self.until is not None


def held_by(*, queue: Queue, person: User) -> QuerySet[Assignment]:
    """Return a person's claims on open items of a queue that they have neither answered nor given back."""
    return Assignment.objects.filter(queue=queue, annotator=person, item_open=True, status__in=HELD)


def holders_of(items: Collection[int], *, at: datetime) -> dict[int, list[Holder]]:
    """Return who holds each of these items, by item. One query."""
    return grouped(
        (claim.item_id, _holder(claim, at))
        for claim in _claims().filter(item__in=items, item_open=True, status__in=HELD).order_by("claimed_at", "pk")
    )


def claims_on(item_id: int, *, at: datetime) -> list[Holder]:
    """Return everybody who ever had an item, the newest claim last. One query."""
    return [_holder(claim, at) for claim in _claims().filter(item=item_id).order_by("claimed_at", "pk")]


def claims_held(*, queue: Queue, person: User, at: datetime, most: int) -> list[Holder]:
    """Return what a person holds in a queue, the oldest first. One query."""
    claims = held_by(queue=queue, person=person).select_related("annotator").order_by("claimed_at", "pk")
    return [_holder(claim, at) for claim in claims[:most]]


def _claims() -> QuerySet[Assignment]:
    return Assignment.objects.select_related("annotator")


def _holder(claim: Assignment, at: datetime) -> Holder:
    is_live = claim.status == AssignmentStatus.LEASED and claim.expires_at >= at
    words = "Expired" if claim.status == AssignmentStatus.LEASED and not is_live else claim.get_status_display()
    if is_live and claim.heartbeat_at is None:
        words = "Assigned, not started"
    return Holder(
        person=claim.annotator,
        item_id=claim.item_id,
        status=claim.status,
        words=words,
        since=claim.claimed_at,
        until=claim.expires_at if is_live else None,
        draft_at=claim.draft_at,
    )


@dataclass(frozen=True, slots=True)
class Remark:
    """What one person said of an item without answering it."""

    name: str
    kind: str  # Flagged, Skipped or Not judged
    text: str


def remarks_on(items: Collection[int]) -> dict[int, list[Remark]]:
    """Return flags, reasons for skipping and for not judging by item, the oldest claim first. One query."""
    unable = Annotation.objects.filter(item__in=items, label="").values("assignment")  # a join would read all of them
    has_remark = Q(status=AssignmentStatus.SKIPPED) | ~Q(flag="") | ~Q(comments=[]) | Q(pk__in=unable)
    claims = Assignment.objects.filter(has_remark, item__in=items).select_related("annotator", "annotation")
    claims = claims.order_by("claimed_at", "pk")
    by_item: dict[int, list[Remark]] = {}
    for claim in claims:
        name = claim.annotator.get_full_name() or claim.annotator.username
        remarks = by_item.setdefault(claim.item_id, [])
        if claim.flag:
            remarks.append(Remark(name, "Flagged", claim.flag))
        for by_lead, text, _ in claim.comments:
            wrote = (f"a lead, to {name}", "Answered") if by_lead else (name, "Commented")
            remarks.append(Remark(*wrote, text))
        if claim.status == AssignmentStatus.SKIPPED:
            remarks.append(Remark(name, "Skipped", claim.skip_reason))
        annotation = getattr(claim, "annotation", None)
        if annotation is not None and annotation.cannot_judge:
            remarks.append(Remark(name, "Not judged", annotation.cannot_judge))
    return by_item


def flag_counts(queues: Collection[Queue]) -> dict[int, int]:
    """Return how many items of each queue are flagged and not closed yet."""
    claims = Assignment.objects.filter(queue__in=queues, item__status__in=WAITING)
    rows = claims.exclude(flag="").order_by().values("queue_id").annotate(n=Count("item", distinct=True))
    return {row["queue_id"]: row["n"] for row in rows}
