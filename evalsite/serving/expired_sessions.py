"""Sessions that have ended, which workers remove by themselves."""

from __future__ import annotations

from django.contrib.sessions.models import Session
from django.utils import timezone


def clear_sessions() -> int:
    """Remove the sessions that have expired; return how many. Nobody can sign in with them any more."""
    removed, _ = Session.objects.filter(expire_date__lt=timezone.now()).delete()
    return removed
