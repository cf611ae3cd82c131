"""Announces to webhooks what the layers below say that it happened, in the transaction in which it did."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.dispatch import receiver
from django.utils import timezone

from evalsite.base.signals import (
    certificate_lapsed,
    debate_unresolved,
    gate_fell,
    item_decided,
    person_linked,
    queue_done,
    run_stopped,
)


@receiver(person_linked)
def revoke_tokens(sender: object, *, person: User, **extra: Any) -> None:
    """End the tokens of an account that single sign-on opens from now on: somebody else may have made them."""
    from evalsite.api.tokens import revoke_token, tokens_of

    for token in tokens_of(person):
        revoke_token(token=token, actor=None, at=timezone.now())


@receiver(run_stopped)
def announce_run(sender: object, *, run_id: int, at_budget: bool, **extra: Any) -> None:
    """Say that a run finished or paused by itself, and that it did so at its budget."""
    from evalsite.api.webhooks import Event, announce
    from judging.models import Run
    from judging.models.runs import RunStatus

    run, at = Run.objects.get(pk=run_id), timezone.now()
    data = {"run": run.pk, "name": run.name, "status": run.status, "reason": run.status_reason}
    data |= {"done": run.done, "failed": run.failed, "total": run.total, "address": run.get_absolute_url()}
    announce(Event.RUN_PAUSED if run.status == RunStatus.PAUSED else Event.RUN_FINISHED, data=data, at=at)
    if at_budget:
        announce(Event.BUDGET_REACHED, data=data, at=at)


@receiver(debate_unresolved)
def announce_debate(sender: object, *, debate_id: int, **extra: Any) -> None:
    """Say that a debate ended without a verdict."""
    from debate.models import Debate
    from evalsite.api.webhooks import Event, announce

    debate = Debate.objects.get(pk=debate_id)
    data = {"debate": debate.pk, "set": debate.debate_set_id, "address": debate.get_absolute_url()}
    announce(Event.DEBATE_UNRESOLVED, data=data, at=timezone.now())


@receiver(item_decided)
def announce_item(sender: object, *, item_id: int, **extra: Any) -> None:
    """Say which label people decided on."""
    from evalsite.api.webhooks import Event, announce
    from evalsite.review.models import ReviewItem

    item = ReviewItem.objects.select_related("queue").get(pk=item_id)
    data = {"item": item.pk, "queue": item.queue.slug, "status": item.status, "label": item.label}
    announce(Event.ITEM_DECIDED, data=data | {"address": item.get_absolute_url()}, at=timezone.now())


@receiver(queue_done)
def announce_queue(sender: object, *, queue_id: int, **extra: Any) -> None:
    """Say that no item of a queue waits for annotators."""
    from evalsite.api.webhooks import Event, announce
    from evalsite.review.models import Queue

    queue = Queue.objects.get(pk=queue_id)
    data = {"queue": queue.slug, "items": queue.total_count, "address": queue.get_absolute_url()}
    announce(Event.QUEUE_DONE, data=data, at=timezone.now())


@receiver(gate_fell)
def announce_gate(sender: object, *, gate_id: int, **extra: Any) -> None:
    """Say that a gate held and does no longer."""
    from evalsite.api.webhooks import Event, announce
    from evalsite.reports.models import StoredGate

    gate = StoredGate.objects.select_related("suite__benchmark").get(pk=gate_id)
    data = {"gate": gate.pk, "suite": str(gate.suite), "rule": gate.rule, "verdict": gate.verdict, "words": gate.words}
    announce(Event.GATE_FELL, data=data | {"address": gate.get_absolute_url()}, at=timezone.now())


@receiver(certificate_lapsed)
def announce_lapse(sender: object, *, certificate_id: int, name: str, changes: list[str], **extra: Any) -> None:
    """Say that a judge has another version than the one that passed the test."""
    from evalsite.api.webhooks import Event, announce

    data = {"certificate": certificate_id, "judge": name, "changes": changes}
    announce(Event.CERTIFICATE_LAPSED, data=data, at=timezone.now())
