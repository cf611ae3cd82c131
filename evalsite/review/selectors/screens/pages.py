"""Lists for the pages of queues, items, adjudications and a person's own work; filters come from allow lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import Count, F, Max, Min, Q, QuerySet

from evalsite.base.json_types import JsonDict
from evalsite.review.models import Annotation, OrderPolicy, Queue, ReviewItem
from evalsite.review.routing import ItemArm, Reason
from evalsite.review.selectors.screens.waiting_items import HELD, RECENT, member_filter, stuck_items, with_my_counts
from evalsite.review.states import AssignmentStatus, ItemStatus, QueueStatus
from judging.selectors.prepared_queries import PreparedQuery

if TYPE_CHECKING:
    from evalsite.review.selectors.screens.waiting_items import CountedQueue

SCENARIOS_SECONDS = 300
QUESTION_LENGTH = 140
MEMBERS_LISTED = 20
QUESTIONS = ("response_a__prompt", "material", "subject")
ORDERS = {  # in which items are handed out
    OrderPolicy.URGENT: ("-priority", "shuffle", "pk"),
    OrderPolicy.GIVEN: ("pk",),
    OrderPolicy.RANDOM: ("shuffle", "pk"),
}
FINAL = (ItemStatus.DECIDED, ItemStatus.ADJUDICATED)
HOLDING = {"live": "In progress", "lapsed": "Started and left"}


def queues_for(*, user: User, archived: bool = False) -> QuerySet[CountedQueue]:
    """Return the queues that this person answers, or owns, with their own counts; the fullest first."""
    queues = Queue.objects.filter(total_count__gt=0).select_related("run", "debate_set")
    queues = queues.filter(status=QueueStatus.ARCHIVED) if archived else queues.exclude(status=QueueStatus.ARCHIVED)
    if not user.has_perm("review.change_queue"):
        queues = queues.filter(member_filter(user.pk))
    return with_my_counts(queues, user_id=user.pk).order_by("status", "-open_count", "name", "pk")


def queues_of(person: User | None) -> QuerySet[Queue]:
    """Return the queues that a person may see: those that they own, or answer; None: all."""
    is_owner = person is None or person.has_perm("review.change_queue")
    return Queue.objects.all() if is_owner or person is None else Queue.objects.filter(member_filter(person.pk))


def listed_queues(*, archived: bool) -> QuerySet[Queue]:
    """Return the queues that are archived, or those that are not."""
    kept = Queue.objects.filter(status=QueueStatus.ARCHIVED)
    return kept if archived else Queue.objects.exclude(status=QueueStatus.ARCHIVED)


def queue_for(*, slug: str, user: User) -> CountedQueue:
    """Return a queue with this person's own counts. Queue.DoesNotExist where they may not see it."""
    queues = Queue.objects.select_related("run", "debate_set")
    if not user.has_perm("review.change_queue"):
        queues = queues.filter(member_filter(user.pk))
    return with_my_counts(queues, user_id=user.pk).get(slug=slug)


def queue_to_take_from(*, slug: str, user: User) -> Queue:
    """Return a queue as it is, without counts. Queue.DoesNotExist where they may not see it."""
    if user.has_perm("review.change_queue"):
        queue = _QUEUE.first(slug=slug)
    else:
        queue = _QUEUE_FOR.first(slug=slug, user_id=user.pk)
    if queue is None:
        raise Queue.DoesNotExist(f"There is no queue {slug!r} for this person.")
    return queue


def _queue_query(*, slug: str) -> QuerySet[Queue]:
    return Queue.objects.filter(slug=slug)


def _queue_for_query(*, slug: str, user_id: int) -> QuerySet[Queue]:
    return Queue.objects.filter(member_filter(user_id), slug=slug)


_QUEUE, _QUEUE_FOR = PreparedQuery(_queue_query), PreparedQuery(_queue_for_query)


def disagreement_counts(queues: Sequence[Queue]) -> dict[int, int]:
    """Return how many items of each queue wait for adjudication."""
    rows = ReviewItem.objects.filter(queue__in=queues, status=ItemStatus.NEEDS_ADJUDICATION).order_by()
    return {row["queue_id"]: row["n"] for row in rows.values("queue_id").annotate(n=Count("pk"))}


@dataclass(frozen=True, slots=True)
class ItemFilters:
    """The filters of a queue's items, as they came in the address; what is not known is dropped."""

    status: str = ""
    reason: str = ""
    scenario: str = ""
    flagged: bool = False
    stuck: bool = False  # fewer people are left than answers are missing
    held: str = ""  # a key of HOLDING
    unable: bool = False  # somebody cannot judge it
    text: str = ""  # part of the question or of a file's answer

    @classmethod
    def read(cls, query: Mapping[str, str]) -> ItemFilters:
        """Return the known filters of a query string."""
        status, reason = query.get("status", ""), query.get("reason", "")
        return cls(
            status=status if status in list(ItemStatus) else "",
            reason=reason if reason in set(Reason) else "",
            scenario=query.get("scenario", "")[:100],
            flagged=query.get("flagged") == "1",
            stuck=query.get("stuck") == "1",
            unable=query.get("unable") == "1",
            text=query.get("text", "").replace("\0", "").strip()[:100],
            held=query.get("held", "") if query.get("held", "") in HOLDING else "",
        )

    @property
    def is_set(self) -> bool:
        marked = self.flagged or self.stuck or self.unable
        return bool(self.status or self.reason or self.scenario or marked or self.held or self.text)


def items_of(*, queue: Queue, filters: ItemFilters, at: datetime) -> QuerySet[ReviewItem]:
    """Return a queue's items in the order in which they are handed out."""
    items = ReviewItem.objects.filter(queue=queue).select_related(*QUESTIONS)
    chosen: JsonDict = {
        name: value
        for name, value in (("status", filters.status), ("reason", filters.reason), ("scenario", filters.scenario))
        if value
    }
    items = items.filter(**chosen)
    if filters.text:
        items = items.filter(_holds(filters.text))
    if filters.stuck:
        items = items.filter(pk__in=stuck_items(queue).values("pk"))
    if filters.unable:
        items = items.filter(pk__in=queue.annotations.filter(label="").values("item_id"))
    if filters.flagged:
        items = items.filter(pk__in=queue.assignments.exclude(flag="").values("item_id"))
    if filters.held:
        claims = queue.assignments.filter(item_open=True, status__in=HELD)
        live = claims.filter(status=AssignmentStatus.LEASED, expires_at__gte=at)
        chosen_claims = live if filters.held == "live" else claims.exclude(pk__in=live.values("pk"))
        items = items.filter(pk__in=chosen_claims.values("item_id"))
    return items.order_by("status", *ORDERS[OrderPolicy(queue.order)])


@dataclass(frozen=True, slots=True)
class AgreementCount:
    """How many items there are to compare, and on how many of them the labels are the same."""

    items: int
    agreed: int

    @property
    def share(self) -> float | None:
        return self.agreed / self.items if self.items else None


def full_agreement_of(*, queue: Queue) -> AgreementCount:
    """Return on how many items with two annotations or more all first labels are the same, in one query."""
    rows = Annotation.objects.filter(queue=queue, left_out_at=None).exclude(label="").order_by().values("item")
    # the least and the greatest are the same where all are: counting different ones would sort each item's
    counted = rows.annotate(n=Count("pk"), least=Min("label"), greatest=Max("label")).filter(n__gte=2)
    counts = counted.aggregate(items=Count("item"), agreed=Count("item", filter=Q(least=F("greatest"))))
    return AgreementCount(items=counts["items"], agreed=counts["agreed"])


def _holds(text: str) -> Q:
    """Return the condition for items in whose question, or in whose answer out of a file, a text stands."""
    in_question = Q(response_a__prompt__text__icontains=text) | Q(material__question__icontains=text)
    return in_question | Q(material__response_a__icontains=text) | Q(material__response_b__icontains=text)


def scenarios_of(*, queue: Queue) -> list[str]:
    """Return the scenarios of a queue's items, remembered for a few minutes."""
    key = f"review-scenarios-{queue.pk}-{queue.total_count}"
    scenarios: list[str] | None = cache.get(key)
    if scenarios is None:
        rows = ReviewItem.objects.filter(queue=queue).exclude(scenario="").order_by("scenario")
        scenarios = list(rows.values_list("scenario", flat=True).distinct())
        cache.set(key, scenarios, SCENARIOS_SECONDS)
    return scenarios


def my_answers(*, queue: Queue, user: User) -> QuerySet[Annotation]:
    """Return this person's answers in a queue, the newest first, without what they were asked again unawares."""
    mine = Annotation.objects.filter(queue=queue, annotator=user).exclude(item__arm=ItemArm.RETEST)
    mine = mine.select_related("assignment", *(f"item__{path}" for path in QUESTIONS))
    return mine.order_by("-created_at", "-pk")


def question_of(item: ReviewItem) -> str:
    """Return the beginning of what an item asks, in one line, by which people find it again."""
    text = item.material.question if item.material is not None else ""
    if item.response_a is not None:
        text = item.response_a.prompt.text
    line = " ".join(text.split())
    return line if len(line) <= QUESTION_LENGTH else f"{line[:QUESTION_LENGTH].rstrip()}…"


def listed_items(*, queue: str = "", status: str = "") -> QuerySet[ReviewItem]:
    """Return the items of a queue, or of all, and of one status, or of any."""
    chosen = {name: value for name, value in (("queue__slug", queue), ("status", status)) if value}
    return ReviewItem.objects.filter(**chosen).select_related("queue", *QUESTIONS).prefetch_related("annotations")


def items_to_adjudicate(*, queue_slug: str = "") -> QuerySet[ReviewItem]:
    """Return the items that need adjudication, by queue."""
    items = ReviewItem.objects.filter(status=ItemStatus.NEEDS_ADJUDICATION).exclude(queue__status=QueueStatus.ARCHIVED)
    if queue_slug:
        items = items.filter(queue__slug=queue_slug)
    items = items.select_related("queue", *QUESTIONS)
    return items.prefetch_related("annotations").order_by("queue_id", "-priority", "shuffle", "pk")


def next_to_adjudicate(*, item: ReviewItem) -> int | None:
    """Return the next item that needs adjudication, of the same queue first."""
    waiting = items_to_adjudicate().exclude(pk=item.pk).order_by("pk")
    same = waiting.filter(queue_id=item.queue_id).values_list("pk", flat=True).first()
    return same if same is not None else waiting.values_list("pk", flat=True).first()


@dataclass(frozen=True, slots=True)
class MemberChoice:
    """The people to choose members from: those ticked already, and the first that a search finds."""

    search: str
    chosen: tuple[User, ...]
    matches: tuple[User, ...]
    count: int  # people that the search finds and that are not ticked

    @property
    def listed(self) -> list[tuple[User, bool]]:
        """Everybody with whether they are ticked, those first."""
        return [*((person, True) for person in self.chosen), *((person, False) for person in self.matches)]

    @property
    def more(self) -> int:
        """How many match and are not listed."""
        return self.count - len(self.matches)


def choose_members(*, people: QuerySet[User], chosen_ids: Collection[int], search: str) -> MemberChoice:
    """Return whom to tick: at most three queries, however many people there are."""
    others = people.exclude(pk__in=chosen_ids)
    for word in search.split():
        others = others.filter(
            Q(username__icontains=word) | Q(first_name__icontains=word) | Q(last_name__icontains=word)
        )
    listed = tuple(others[: MEMBERS_LISTED + 1])
    return MemberChoice(
        search=search,
        chosen=tuple(people.filter(pk__in=chosen_ids)),
        matches=listed[:MEMBERS_LISTED],
        count=len(listed) if len(listed) <= MEMBERS_LISTED else others.count(),
    )


def reasons() -> list[tuple[str, str]]:
    """Return the reasons with their words, for a filter."""
    return [(reason.value, reason.value.replace("_", " ").capitalize()) for reason in Reason]


@dataclass(frozen=True, slots=True)
class MyQueue:
    """One queue as one person works in it."""

    queue: Queue
    waiting: int
    done: int
    today: int
    median_seconds: float | None
    agreement: AgreementCount | None  # None: the owner does not show it


def my_queues(*, user: User, at: datetime) -> list[MyQueue]:
    """Return the queues of a person that are not archived; those with work first."""
    rows = []
    for queue in queues_for(user=user)[:50]:
        mine = Annotation.objects.filter(queue=queue, annotator=user).order_by("-created_at", "-pk")
        times = [row for row in mine.values_list("active_seconds", flat=True)[:RECENT] if row is not None]
        rows.append(
            MyQueue(
                queue=queue,
                waiting=max(0, queue.open_count - queue.my_touched),
                done=queue.my_done,
                today=mine.filter(created_at__gte=at - timedelta(hours=24)).count(),
                median_seconds=median(times) if times else None,
                agreement=_my_agreement(queue, user) if queue.shows_agreement else None,
            )
        )
    return sorted(rows, key=lambda row: (-row.waiting, row.queue.name))


def _my_agreement(queue: Queue, user: User) -> AgreementCount:
    """Return on how many decided items this person's blind label is what others say without them.

    Others say what an adjudicator decided, else what more than half of the other people answered.
    """
    items = ReviewItem.objects.filter(queue=queue, status__in=FINAL, quorum__gt=1).exclude(arm=ItemArm.RETEST)
    annotations = Annotation.objects.filter(queue=queue, left_out_at=None).exclude(label="")
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
    return AgreementCount(items=len(final), agreed=sum(mine[item] == label for item, label in final.items()))
