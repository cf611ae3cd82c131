"""Links that share a leaderboard: only whoever has one opens it, until it ends or is revoked."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.reports.models import ShareLink
from evalsite.reports.services.share_links import IssuedLink, create_share, open_share, revoke_share
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def _issued() -> IssuedLink:
    actor = factories.user("rita", Role.RESEARCHER)
    return create_share(suite=factories.suite(), query="mode=human", days=30, actor=actor, at=NOON)


def test_create_share_stores_the_hash_of_256_random_bits_and_tells_the_audit_log() -> None:
    issued = _issued()

    link = ShareLink.objects.get()
    assert len(issued.token) == 43  # 256 bits, 6 by character
    assert link.token_hash == hashlib.sha256(issued.token.encode()).hexdigest()
    assert link.expires_at == NOON + timedelta(days=30)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject_id, entry.detail) == (
        "share.created",
        link.pk,
        {"suite": link.suite_id, "days": 30},
    )
    assert issued.token not in f"{vars(link)} {vars(entry)}"


def test_open_share_finds_a_link_until_it_ends() -> None:
    issued = _issued()

    opened = [open_share(issued.token, at=NOON + timedelta(days=days)) for days in (0, 29, 30)]

    assert opened == [issued.link, issued.link, None]
    assert open_share("x" * 43, at=NOON) is None
    assert ShareLink.objects.get().opened_at == NOON + timedelta(days=29)


def test_revoke_share_ends_a_link_once() -> None:
    issued = _issued()

    for _ in range(2):
        revoke_share(link=issued.link, actor=issued.link.created_by, at=NOON)

    assert open_share(issued.token, at=NOON) is None
    assert AuditEntry.objects.filter(action="share.revoked").count() == 1
