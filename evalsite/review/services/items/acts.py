"""Tells the audit log who did what to an item or a queue."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from evalsite.review.models import Queue, ReviewItem
from judging import signals


def announce(
    *, actor: User | None, action: str, subject: ReviewItem | Queue, detail: dict[str, Any] | None = None
) -> None:
    """Announce an act; called inside the act's transaction, so that both stand or fall together."""
    name = f"item {subject.pk} of {subject.queue.name}" if isinstance(subject, ReviewItem) else subject.name
    signals.acted.send(
        sender=type(subject),
        actor_id=actor.pk if actor else None,
        action=action,
        subject=name,
        subject_id=subject.pk,
        detail=detail or {},
    )
