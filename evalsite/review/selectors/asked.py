"""What of a run is with people already: by verdict, for its page and for rows of tables, and for the run as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from evalsite.review.models import Assignment, ItemArm, ItemStatus, Queue, ReviewItem
from judging.judges.words import DOUBTFUL
from judging.models import Run, RunKind, RunStatus, Verdict
from judging.states import ACTIVE

FLIP_FLAGS = frozenset({"position_flip", "order_flip"})
UNUSABLE = frozenset({"failed", "refused", "unparsed"})


@dataclass(frozen=True, slots=True)
class VerdictPeople:
    """One verdict's way to people."""

    verdict: Verdict
    item: ReviewItem | None  # the newest about its response and criterion
    queue: Queue | None
    is_unsettled: bool  # the rules would send it

    @property
    def can_take_back(self) -> bool:
        """Whether a person sent it and nobody has answered it."""
        item = self.item
        if item is None or item.sent_by_id is None or not item.is_open or item.answer_count:
            return False
        return item.arm != ItemArm.AUDIT

    @property
    def answer(self) -> str:
        """The final word in the words of the queue's scale; empty while there is none."""
        if self.item is None or self.queue is None or not self.item.label:
            return ""
        texts = {str(label["value"]): str(label["text"]) for label in self.queue.labels}
        return texts.get(self.item.label, self.item.label)


@dataclass(frozen=True, slots=True)
class RunPeople:
    """How much of a run is with people."""

    run: Run
    queue: Queue | None
    unanswered: int  # items that somebody sent by hand and nobody has answered
    refusal: str  # why the rest cannot be sent now; empty where it can

    @property
    def is_live(self) -> bool:
        """Whether the run is at work, so that this changes by itself."""
        return self.run.status in ACTIVE


def people_of(verdict: Verdict) -> VerdictPeople:
    """Return where the question behind one verdict is."""
    return people_of_verdicts([verdict])[verdict.pk]


def people_of_verdicts(verdicts: Sequence[Verdict]) -> dict[int, VerdictPeople]:
    """Return the same for many verdicts with their evaluators, by verdict, with one query."""
    items = _items(verdicts) if verdicts else ReviewItem.objects.none()
    found: dict[tuple[int | None, int, str], ReviewItem] = {}
    for item in items:
        result = item.verdict or item.score
        if result is not None:
            found[item.queue.run_id, result.response_id, item.criterion] = item
    return {
        verdict.pk: _people_of(verdict, found.get((verdict.run_id, verdict.response_id, verdict.evaluator.criterion)))
        for verdict in verdicts
    }


def _items(verdicts: Sequence[Verdict]) -> QuerySet[ReviewItem]:
    responses = {verdict.response_id for verdict in verdicts}
    about = Q(verdict__response__in=responses) | Q(score__response__in=responses)
    items = ReviewItem.objects.filter(about, queue__run__in={verdict.run_id for verdict in verdicts}, retest_of=None)
    items = items.select_related("queue", "verdict", "score")
    return items.defer("verdict__rationale", "verdict__value", "score__detail").order_by("pk")  # the newest wins


def _people_of(verdict: Verdict, item: ReviewItem | None) -> VerdictPeople:
    is_unsure = verdict.confidence is not None and verdict.confidence < settings.REVIEW_CONFIDENCE_THRESHOLD
    is_unsettled = verdict.status in UNUSABLE or is_unsure or bool({*FLIP_FLAGS, *DOUBTFUL}.intersection(verdict.flags))
    return VerdictPeople(verdict, item, item.queue if item else None, is_unsettled)


def people_of_run(run: Run) -> RunPeople:
    """Return how much of a run is with people, from its queue's counters and one count."""
    queue = Queue.objects.filter(run=run).first()
    unanswered = items_to_take_back(queue).count() if queue else 0
    return RunPeople(run, queue, unanswered, why_not_yet(run) or ("" if run.done + run.failed else NOTHING_ENDED))


def items_to_take_back(queue: Queue) -> QuerySet[ReviewItem]:
    """Return the items of a queue that were sent by hand, have no answer, and that nobody has written a draft for."""
    items = ReviewItem.objects.filter(queue=queue, sent_by__isnull=False, answer_count=0, status=ItemStatus.OPEN)
    begun = Assignment.objects.filter(item=OuterRef("pk"), draft_at__isnull=False)
    return items.filter(~Exists(begun)).exclude(arm=ItemArm.AUDIT)


BY_ITSELF = "When the run ends, everything unsettled goes to people by itself."
NOTHING_ENDED = "No task of this run has ended, so there is nothing to send."


def why_not_yet(run: Run) -> str:
    """Return why nothing more of a run can be sent now; the audit of a run at work is not drawn yet."""
    if run.kind == RunKind.SINGLE:
        return "One judge on one response: send it from the page of its verdict."
    if run.status in ACTIVE:
        return BY_ITSELF
    if run.kind == RunKind.ESI and run.status == RunStatus.PAUSED:
        return f"{BY_ITSELF} Resume it, or cancel it and send then."
    return ""
