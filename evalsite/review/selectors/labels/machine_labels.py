"""What the machines said of an item, as a label of its scale: a debate's verdict or the nearest to a score."""

from __future__ import annotations

from collections.abc import Collection

from evalsite.review.models import Queue, Referral
from evalsite.review.questions.scales import is_preference, labels_from_json, nearest_label
from evalsite.review.subject_keys import turned_label
from judging.models import EvaluatorKind, Score

CHUNK = 5_000


def machine_labels(*, queue: Queue, item_ids: Collection[int], judge: str = "") -> dict[int, str]:
    """Return the machine's label by item; items on which machines came to nothing are left out.

    Of several judges the one that is named, else the run's first counts, a judge before rules.
    """
    items = queue.items.filter(pk__in=item_ids)
    if queue.run_id is None and is_preference(labels_from_json(queue.labels)):
        referrals = Referral.objects.filter(item__in=items, debate__verdict__isnull=False).order_by("-pk")
        fields = ("item_id", "debate__verdict", "debate__response_a__text_hash", "item__response_a__text_hash")
        return {
            pk: turned_label(str(verdict), turned=first != other)
            for pk, verdict, first, other in referrals.values_list(*fields)
            if pk is not None
        }
    responses = items.values("response_a")
    scores = Score.objects.filter(run=queue.run_id, response__in=responses, share__isnull=False)
    scores = scores.exclude(evaluator__kind=EvaluatorKind.INDEX).order_by("-evaluator__position", "-pk")
    scores = scores.filter(evaluator__name=judge) if judge else scores
    rows = scores.values_list("response_id", "evaluator__criterion", "share", "verdict_id")
    ranked = sorted(rows.iterator(CHUNK), key=lambda row: row[3] is not None)  # what comes last, counts
    shares = {(response_id, criterion): share for response_id, criterion, share, _ in ranked if share is not None}
    fields = ("pk", "response_a_id", "criterion", "subject__labels")
    return {
        pk: label
        for pk, response_id, criterion, scale in items.values_list(*fields)
        if (response_id, criterion) in shares
        and (label := nearest_label(shares[response_id, criterion], labels_from_json(scale)))
    }
