"""Plans how many verdicts or debates people check at random, and brings a queue's items into the sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from evalsite.accounts.audit import record
from evalsite.review.models import AuditPlan, Queue, Referral, ReviewItem
from evalsite.review.routing import AUDITED, TEXT_LIMIT, ItemArm, cut
from evalsite.review.sampling import AuditDraw
from evalsite.review.selectors.labels.audits import AuditSubject
from evalsite.review.selectors.unrouted import NOT_FOR_PEOPLE, may_ask_people
from evalsite.review.states import ReviewRefused

BATCH = 500
NO_CASES = "There are no cases to sample yet."


@transaction.atomic
def plan_audit(*, subject: AuditSubject, size: int, actor: User | None, at: datetime) -> AuditPlan:
    """Store how large the sample shall be; the next routing of the run or the debates draws it.

    Raises:
        ReviewRefused: there is nothing to draw from, or the size is out of reach or below what was drawn.
    """
    if not subject.population:
        raise ReviewRefused(NO_CASES)
    if subject.debate_set is not None and not may_ask_people(subject.debate_set):
        raise ReviewRefused(NOT_FOR_PEOPLE)
    if not 0 <= size <= subject.population:
        raise ReviewRefused(f"Choose between 0 and {subject.population:,}.")
    if size < subject.drawn:
        raise ReviewRefused(
            f"{subject.drawn:,} cases have been drawn and may be annotated already. A sample can only grow."
        )
    plan, _ = AuditPlan.objects.update_or_create(
        run=subject.run,
        debate_set=subject.debate_set,
        defaults={"size": size, "chosen_by": actor, "chosen_at": at},
    )
    record(
        actor,
        "audit.planned",
        subject.about,
        of=subject.noun,
        size=size,
        population=subject.population,
        **{"drawn before": subject.drawn},
    )
    return plan


@transaction.atomic
def keep_draw(*, queue: Queue, draw: AuditDraw) -> None:
    """Bring the referrals and items of a run or debate set in step with a draw, whoever has answered what.

    What an earlier, smaller draw took gets the chance of the larger one; what a draw of another kind took leaves the
    sample. An item that a rule sent becomes part of the sample, or else the sample would lack what rules find.
    """
    drawn = Referral.objects.filter(run=queue.run_id, debate_set=queue.debate_set_id, arm=ItemArm.AUDIT)
    drawn.filter(pk__in=drawn.exclude(_inside(draw.chosen)).values("pk")).delete()
    by_chance: dict[float, list[str]] = defaultdict(list)
    for key, chance in draw.chances.items():
        by_chance[chance].append(key)
    for chance, keys in by_chance.items():
        of_chance = drawn.filter(_inside(keys)) if len(by_chance) > 1 else drawn
        of_chance.filter(pk__in=of_chance.values("pk")).update(inclusion_probability=chance)
        _bring_in(queue.items.filter(pk__in=of_chance.values("item"), retest_of=None), chance)


def _inside(keys: Collection[str]) -> Q:
    return Q(response__prompt__key__in=keys) | Q(debate__case__key__in=keys)


def _bring_in(items: QuerySet[ReviewItem], chance: float) -> None:
    changed = list(items.exclude(arm=ItemArm.AUDIT, inclusion_probability=chance).order_by("pk"))
    for item in changed:
        if item.arm != ItemArm.AUDIT:
            item.reason_text = cut(f"{item.reason_text} {AUDITED}".strip(), TEXT_LIMIT)
        item.arm, item.inclusion_probability = ItemArm.AUDIT, chance
    ReviewItem.objects.bulk_update(changed, ["arm", "inclusion_probability", "reason_text"], batch_size=BATCH)
