"""How the audit log names an item."""

from __future__ import annotations

from evalsite.accounts.audit import NamedSubject
from evalsite.review.models import ReviewItem


def about(item: ReviewItem) -> NamedSubject:
    """Return an item as the subject of an act; its queue must be loaded."""
    return NamedSubject(f"item {item.pk} of {item.queue.name}", item.pk)
