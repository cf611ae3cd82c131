"""Labels by people, as reports and statistics read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from evalsite.review.models import LEFT_OUT, Annotation, ItemArm, ItemStatus, Queue, ReviewItem
from judging.models import Verdict

DECIDED = (ItemStatus.SETTLED, ItemStatus.ADJUDICATED)
CHUNK = 5_000


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One person's answer to one item, in system space (1 = A, 0 = neither, -1 = B for preferences)."""

    item_id: int
    annotator_id: int
    blind_label: str  # before the reveal: what agreement is computed from
    final_label: str  # after a revision, where there was one: what the item's label is made of
    criterion: str
    scenario: str
    reason: str
    arm: str
    seconds: float | None
    created_at: datetime


def label_tables(queue: Queue) -> Iterator[LabelRow]:
    """Yield every answer of a queue, ordered by item and person; to stale items and
    by people who had looked at the item as its owner are left out.
    """
    rows = (
        Annotation.objects.filter(queue=queue, seen_before=False)
        .exclude(item__status__in=LEFT_OUT)
        .exclude(item__arm=ItemArm.RETEST)
        .order_by("item_id", "annotator_id")
        .values_list(
            "item_id",
            "annotator_id",
            "label",
            "revised_label",
            "item__criterion",
            "item__scenario",
            "item__reason",
            "item__arm",
            "seconds",
            "created_at",
        )
    )
    for item, person, blind, revised, criterion, scenario, reason, arm, seconds, created_at in rows.iterator(CHUNK):
        yield LabelRow(item, person, blind, revised or blind, criterion, scenario, reason, arm, seconds, created_at)


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """The final word of people on one subject, and how its item came to be: what a corrected estimate needs."""

    item_id: int
    label: str
    criterion: str
    arm: str
    inclusion_probability: float | None
    is_adjudicated: bool


def human_labels_for_debates(
    debate_ids: Iterable[int] | None = None, *, queue: Queue | None = None
) -> dict[int, HumanLabel]:
    """Return the settled or adjudicated label ("1", "0", "-1") by debate, of these debates or of a queue, or all."""
    items = ReviewItem.objects.filter(debate__isnull=False, status__in=DECIDED, retest_of=None)
    if debate_ids is not None:
        items = items.filter(debate_id__in=list(debate_ids))
    if queue is not None:
        items = items.filter(queue=queue)
    rows = items.order_by("settled_at", "pk").values_list("debate_id", *_FIELDS)
    return {debate_id: _human_label(*row) for debate_id, *row in rows if debate_id is not None}


def human_labels_for_verdicts(*, run_id: int) -> dict[int, HumanLabel]:
    """Return the settled or adjudicated label by verdict of a run.

    People answer once per response and criterion, so one label holds for every judge's verdict on the same subject.
    """
    items = ReviewItem.objects.filter(queue__run_id=run_id, status__in=DECIDED, retest_of=None).order_by(
        "settled_at", "pk"
    )
    by_subject: dict[tuple[int, str], HumanLabel] = {}
    for verdict_response, score_response, *row in items.values_list(
        "verdict__response_id", "score__response_id", *_FIELDS
    ):
        label = _human_label(*row)
        by_subject[verdict_response or score_response or 0, label.criterion] = label
    verdicts = Verdict.objects.filter(run_id=run_id, response_id__in={response for response, _ in by_subject})
    rows = verdicts.values_list("pk", "response_id", "evaluator__criterion")
    return {
        pk: by_subject[response, criterion] for pk, response, criterion in rows if (response, criterion) in by_subject
    }


_FIELDS = ("pk", "label", "criterion", "arm", "inclusion_probability", "status")


def _human_label(pk: int, label: str, criterion: str, arm: str, probability: float | None, status: str) -> HumanLabel:
    return HumanLabel(pk, label, criterion, arm, probability, status == ItemStatus.ADJUDICATED)
