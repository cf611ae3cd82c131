"""What the machines said of an item, as a label of its queue's scale: a debate's verdict or the nearest to a score."""

from __future__ import annotations

from collections.abc import Collection

from evalsite.review.models import Queue, ReviewItem
from evalsite.review.scales import labels_from_json, nearest_label


def machine_labels(*, queue: Queue, item_ids: Collection[int]) -> dict[int, str]:
    """Return the machine's label by item; items on which machines came to nothing are left out."""
    labels = labels_from_json(queue.labels)
    items = ReviewItem.objects.filter(queue=queue, pk__in=item_ids).order_by("pk")
    found: dict[int, str] = {}
    for pk, debated, judged, ruled in items.values_list(
        "pk", "debate__verdict", "verdict__score__share", "score__share"
    ):
        share = judged if judged is not None else ruled
        if debated is not None:
            found[pk] = str(debated)
        elif share is not None:
            found[pk] = nearest_label(share, labels)
    return {pk: label for pk, label in found.items() if label}
