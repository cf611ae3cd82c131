"""Keeps the final labels of subjects in step with what people decide on items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from evalsite.review.blinding import QueueMode
from evalsite.review.models import Annotation, FinalLabel, Provenance, ReviewItem
from evalsite.review.questions.forms import SWAPPED, Answer, letters_seen
from evalsite.review.questions.scales import PREFERENCE_SHARES, Label, is_preference, labels_from_json
from evalsite.review.selectors.labels.subjects import form_of_item
from evalsite.review.subject_keys import turned_label

KEPT = ["subject", "provenance", "label", "share", "parts", "decided_at"]


def keep_final_label(
    *, item: ReviewItem, label: str, provenance: Provenance, at: datetime, parts: Mapping[str, Answer] | None = None
) -> None:
    """Store what people decided on an item as its subject's label; a retest decides nothing.

    An item has one blind label and, beside it, one informed one at most. `parts` are the values of its form's parts.
    """
    if item.retest_of_id is None:
        row = final_label_of(item, label=label, provenance=provenance, at=at, parts=parts)
        FinalLabel.objects.bulk_create(
            [row], update_conflicts=True, unique_fields=["item", "is_blind"], update_fields=KEPT
        )


def final_label_of(
    item: ReviewItem,
    *,
    label: str,
    provenance: Provenance,
    at: datetime,
    parts: Mapping[str, Answer] | None = None,
) -> FinalLabel:
    """Return the row for a label of an item whose subject is at hand, a pair in the order of its subject."""
    stored = turned_label(label, turned=item.is_turned)
    return FinalLabel(
        subject_id=item.subject_id,
        item=item,
        provenance=provenance,
        is_blind=provenance != Provenance.INFORMED,
        label=stored,
        share=share_of(stored, labels_from_json(item.subject.labels)),
        parts=parts_of_subject(item, parts or {}),
        decided_at=at,
    )


def parts_of_subject(item: ReviewItem, parts: Mapping[str, Answer]) -> dict[str, Answer]:
    """Return the answers to an item's form in the order of its subject's responses."""
    is_turned = item.is_turned and bool(parts)
    return form_of_item(item).turned(parts, letters_seen(SWAPPED)) if is_turned else dict(parts)


def share_of(label: str, labels: tuple[Label, ...]) -> float | None:
    """Return what a label is worth from 0 to 1: of a pair 1, 0.5 or 0 for the first; None for a name."""
    if is_preference(labels):
        return PREFERENCE_SHARES.get(label)
    return next((row.share for row in labels if row.value == label), None)


def drop_final_labels(*, item: ReviewItem, informed_only: bool = False) -> None:
    """Remove the labels of an item that is open again, or what people came to after a reveal."""
    labels = FinalLabel.objects.filter(item=item)
    (labels.filter(is_blind=False) if informed_only else labels).delete()


def majority_provenance(answers: Iterable[Annotation]) -> Provenance:
    """Return whether a majority is blind: nobody had looked at the item before or was shown the debate."""
    is_blind = all(answer.mode == QueueMode.BLIND and not answer.seen_before for answer in answers)
    return Provenance.MAJORITY if is_blind else Provenance.INFORMED
