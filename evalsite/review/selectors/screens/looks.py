"""Who has seen of an item what its annotators must not."""

from __future__ import annotations

from django.contrib.auth.models import User

from evalsite.review.models import Look, ReviewItem


def has_seen_verdicts(*, item: ReviewItem, person: User) -> bool:
    """Return whether a person has been shown what the machines said of an item."""
    return Look.objects.filter(item=item, person=person, saw_verdicts=True).exists()
