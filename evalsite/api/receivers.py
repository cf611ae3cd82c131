"""Announces to webhooks what the layers below say that it happened, in the transaction in which it did."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.dispatch import receiver
from django.utils import timezone

from debate.models import Debate
from evalsite.base.signals import (
    certificate_lapsed,
    debate_unresolved,
    gate_fell,
    item_decided,
    person_linked,
    queue_done,
    run_stopped,
)
from evalsite.base.types import JsonDict
from evalsite.reports.models import StoredGate
from evalsite.review.models import Queue, ReviewItem
from judging.models import Run
from judging.models.runs import RunStatus


@receiver(person_linked)
def revoke_tokens(sender: object, *, person: User, **extra: Any) -> None:
    """End the tokens of an account that single sign-on opens from now on: somebody else may have made them."""
    from evalsite.api.tokens import revoke_token, tokens_of

    for token in tokens_of(person):
        revoke_token(token=token, actor=None, at=timezone.now())


def _announce(event: str, data: JsonDict, page: Run | Debate | ReviewItem | Queue | StoredGate | None) -> None:
    from evalsite.api.webhooks import Event, announce  # loads the HTTP client

    address = {"address": page.get_absolute_url()} if page is not None else {}
    announce(Event(event), data=data | address, at=timezone.now())


@receiver(run_stopped)
def announce_run(sender: object, *, run_id: int, at_budget: bool, **extra: Any) -> None:
    """Say that a run finished or paused by itself, and that it did so at its budget."""
    run = Run.objects.get(pk=run_id)
    data = {"run": run.pk, "name": run.name, "status": run.status, "reason": run.status_reason}
    data |= {"done": run.done, "failed": run.failed, "total": run.total}
    _announce("run.paused" if run.status == RunStatus.PAUSED else "run.finished", data, run)
    if at_budget:
        _announce("run.budget_reached", data, run)


@receiver(debate_unresolved)
def announce_debate(sender: object, *, debate_id: int, **extra: Any) -> None:
    """Say that a debate ended without a verdict."""
    debate = Debate.objects.get(pk=debate_id)
    _announce("debate.unresolved", {"debate": debate.pk, "set": debate.debate_set_id}, debate)


@receiver(item_decided)
def announce_item(sender: object, *, item_id: int, **extra: Any) -> None:
    """Say which label people decided on."""
    item = ReviewItem.objects.select_related("queue").get(pk=item_id)
    data = {"item": item.pk, "queue": item.queue.slug, "status": item.status, "label": item.label}
    _announce("item.decided", data, item)


@receiver(queue_done)
def announce_queue(sender: object, *, queue_id: int, **extra: Any) -> None:
    """Say that no item of a queue waits for annotators."""
    queue = Queue.objects.get(pk=queue_id)
    _announce("queue.done", {"queue": queue.slug, "items": queue.total_count}, queue)


@receiver(gate_fell)
def announce_gate(sender: object, *, gate_id: int, **extra: Any) -> None:
    """Say that a gate held and does no longer."""
    gate = StoredGate.objects.select_related("suite__benchmark").get(pk=gate_id)
    data = {"gate": gate.pk, "suite": str(gate.suite), "rule": gate.rule, "verdict": gate.verdict, "words": gate.words}
    _announce("gate.fell", data, gate)


@receiver(certificate_lapsed)
def announce_lapse(sender: object, *, certificate_id: int, name: str, changes: list[str], **extra: Any) -> None:
    """Say that a judge has another version than the one that passed the test."""
    _announce("certificate.lapsed", {"certificate": certificate_id, "judge": name, "changes": changes}, None)
