"""Links that share a leaderboard: created, found by the token in their address, revoked."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from evalsite.accounts.audit import record
from evalsite.reports.models import ShareLink
from judging.models import Suite

TOKEN_BYTES = 32
MOST_QUERY = 2000  # characters
OPENED_EVERY = timedelta(minutes=1)  # how exactly it is kept when a link was opened last


@dataclass(frozen=True, slots=True)
class IssuedLink:
    """A link that was made just now, with what its address holds: that is shown once and stored nowhere."""

    link: ShareLink
    token: str

    @property
    def pk(self) -> int:
        return self.link.pk


@transaction.atomic
def create_share(*, suite: Suite, query: str, days: int, actor: User, at: datetime) -> IssuedLink:
    """Make a link to the leaderboard of a suite as `query` filters it; it ends after `days`."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    link = ShareLink.objects.create(
        token_hash=_hash(token),
        suite=suite,
        query=query[:MOST_QUERY],
        created_by=actor,
        created_at=at,
        expires_at=at + timedelta(days=days),
    )
    record(actor, "share.created", link, suite=suite.pk, days=days)
    return IssuedLink(link, token)


def open_share(token: str, *, at: datetime) -> ShareLink | None:
    """Return the link that an address names and note that it was opened; None for one unknown, expired or revoked."""
    links = ShareLink.objects.filter(revoked_at__isnull=True, expires_at__gt=at).select_related("created_by")
    link = links.filter(token_hash=_hash(token)).first()
    if link is not None:
        stale = Q(opened_at__isnull=True) | Q(opened_at__lt=at - OPENED_EVERY)
        ShareLink.objects.filter(stale, pk=link.pk).update(opened_at=at)
    return link


@transaction.atomic
def revoke_share(*, link: ShareLink, actor: User, at: datetime) -> None:
    """End a link now; one that was revoked stays so."""
    if ShareLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(revoked_at=at):
        record(actor, "share.revoked", link, suite=link.suite_id)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
