"""Plans how many verdicts or debates people check at random, and brings a queue's items into the sample."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.review.models import AuditPlan, ItemArm, Queue, ReviewItem
from evalsite.review.routing import AUDITED, TEXT_LIMIT, cut
from evalsite.review.sampling import AuditDraw
from evalsite.review.selectors.audits import AuditSubject
from evalsite.review.selectors.pending import asks_people
from evalsite.review.states import ReviewRefused
from judging import signals

BATCH = 500


@transaction.atomic
def plan_audit(*, subject: AuditSubject, size: int, actor: User | None, at: datetime) -> AuditPlan:
    """Store how large the sample shall be; the next routing of the run or the debates draws it.

    Raises:
        ReviewRefused: there is nothing to draw from, or the size is out of reach or below what was drawn.
    """
    if not subject.population:
        raise ReviewRefused("There is nothing to draw from yet.")
    if subject.debate_set is not None and not asks_people(subject.debate_set):
        raise ReviewRefused("People are not asked about baselines, nor about debates under a damaged criterion.")
    if not 0 <= size <= subject.population:
        raise ReviewRefused(f"Choose between 0 and {subject.population:,}.")
    if size < subject.drawn:
        raise ReviewRefused(
            f"{subject.drawn:,} have been drawn and people may have answered some; a sample can grow, but not shrink."
        )
    plan, _ = AuditPlan.objects.update_or_create(
        run=subject.run,
        debate_set=subject.debate_set,
        defaults={"size": size, "chosen_by": actor, "chosen_at": at},
    )
    signals.acted.send(
        sender=AuditPlan,
        actor_id=actor.pk if actor else None,
        action="audit.planned",
        subject=str(subject.about),
        subject_id=subject.about.pk,
        detail={"of": subject.noun, "size": size, "population": subject.population, "drawn before": subject.drawn},
    )
    return plan


def mark_audited(*, queue: Queue, draw: AuditDraw) -> int:
    """Give drawn items that were in the queue before the draw their arm and chance, and return how many changed.

    An item that a rule sent becomes part of the sample, or else the sample would lack what rules find; one that an
    earlier, smaller draw took gets the chance of the larger one. Who has answered what plays no part.
    """
    changed: list[ReviewItem] = []
    for item, key in _keyed(queue, draw.probability):
        if key in draw.chosen:
            if item.arm != ItemArm.AUDIT:
                item.reason_text = cut(f"{item.reason_text} {AUDITED}".strip(), TEXT_LIMIT)
            item.arm, item.inclusion_probability = ItemArm.AUDIT, draw.probability
            changed.append(item)
    ReviewItem.objects.bulk_update(changed, ["arm", "inclusion_probability", "reason_text"], batch_size=BATCH)
    return len(changed)


def _keyed(queue: Queue, chance: float) -> Iterator[tuple[ReviewItem, str]]:
    """Yield the items that are not in the sample with this chance yet, each with its key of the draw."""
    items = queue.items.filter(retest_of=None).exclude(arm=ItemArm.AUDIT, inclusion_probability=chance)
    items = items.select_related("verdict", "score").order_by("pk")
    items = items.only(
        "arm", "inclusion_probability", "reason_text", "criterion", "debate_id", "verdict__response", "score__response"
    )
    for item in items.iterator(BATCH):
        about = item.verdict or item.score
        if item.debate_id is not None:
            yield item, str(item.debate_id)
        elif about is not None:
            yield item, f"{about.response_id}:{item.criterion}"
