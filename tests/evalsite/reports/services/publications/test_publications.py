"""Views of results kept under a name: whose they are, what they keep, what is refused."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.base.rows import Issued
from evalsite.reports.models import SavedView, ShareLink
from evalsite.reports.services import publications
from evalsite.reports.services.publications import (
    ViewRefused,
    create_share,
    open_share,
    plain_query,
    revoke_share,
    save_view,
    views_for,
)
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def test_plain_query_keeps_the_choices_and_drops_the_place() -> None:
    query = "system=3&page=4&grader=1&row=7-3&search=a+%26+b&system=2&print=1"

    assert plain_query(query) == "grader=1&search=a+%26+b&system=2&system=3"


def test_views_for_offers_ones_own_and_what_others_share() -> None:
    suite = factories.suite()
    ada, ben = (factories.user(name, Role.RESEARCHER) for name in ("ada", "ben"))
    for actor, name, is_shared in ((ada, "Worst", False), (ben, "Differ", True), (ben, "Mine alone", False)):
        save_view(suite=suite, name=name, query=f"show={name[0]}", is_shared=is_shared, actor=actor, at=NOON)
    save_view(suite=factories.suite(), name="Elsewhere", query="", is_shared=True, actor=ada, at=NOON)

    offered = views_for(suite_id=suite.pk, user=ada, query="show=W&page=2")

    assert [(view.name, is_open, is_mine) for view, is_open, is_mine in offered] == [
        ("Differ", False, False),
        ("Worst", True, True),
    ]


def test_save_view_replaces_the_view_of_that_name() -> None:
    suite, ada = factories.suite(), factories.user("ada")
    for query, is_shared in (("show=low", True), ("show=differ", False)):
        save_view(suite=suite, name="  My \n view", query=query, is_shared=is_shared, actor=ada, at=NOON)

    view = SavedView.objects.get()
    assert (view.name, view.query, view.is_shared) == ("My view", "show=differ", False)


@pytest.mark.parametrize(
    ("name", "query", "why"),
    [
        (" ", "", "Enter a name of at most 80 characters."),
        ("x" * 81, "", "Enter a name of at most 80 characters."),
        (
            "Long",
            "search=" + "x" * 2000,
            "This view chooses too much to be kept. Choose fewer systems or judges.",
        ),
        ("Third", "", "You keep 2 views of this suite already. Delete one first."),
    ],
)
def test_save_view_refuses(name: str, query: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publications, "MAX_VIEWS", 2)
    suite, ada = factories.suite(), factories.user("ada")
    for view_name in ("First", "Second"):
        save_view(suite=suite, name=view_name, query="", is_shared=False, actor=ada, at=NOON)

    with pytest.raises(ViewRefused) as refused:
        save_view(suite=suite, name=name, query=query, is_shared=False, actor=ada, at=NOON)

    assert (str(refused.value), SavedView.objects.count()) == (why, 2)


def _issued() -> Issued[ShareLink]:
    actor = factories.user("rita", Role.RESEARCHER)
    return create_share(suite=factories.suite(), query="mode=human", days=30, actor=actor, at=NOON)


def test_create_share_stores_the_hash_of_256_random_bits_and_tells_the_audit_log() -> None:
    issued = _issued()

    link = ShareLink.objects.get()
    assert len(issued.secret) == 43  # 256 bits, 6 by character
    assert link.token_hash == hashlib.sha256(issued.secret.encode()).hexdigest()
    assert link.expires_at == NOON + timedelta(days=30)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject_id, entry.detail) == (
        "share.created",
        link.pk,
        {"suite": link.suite_id, "days": 30},
    )
    assert issued.secret not in f"{vars(link)} {vars(entry)}"


def test_create_share_cuts_no_choices_off() -> None:
    actor, suite = factories.user("rita", Role.RESEARCHER), factories.suite()

    with pytest.raises(ViewRefused, match="This board chooses too much to be shared"):
        create_share(suite=suite, query="&".join(["system=12345"] * 154), days=30, actor=actor, at=NOON)

    assert not ShareLink.objects.exists()


def test_open_share_finds_a_link_until_it_ends() -> None:
    issued = _issued()

    opened = [open_share(issued.secret, at=NOON + timedelta(days=days)) for days in (0, 29, 30)]

    assert opened == [issued.row, issued.row, None]
    assert open_share("x" * 43, at=NOON) is None
    assert ShareLink.objects.get().opened_at == NOON + timedelta(days=29)


def test_revoke_share_ends_a_link_once() -> None:
    issued = _issued()

    for _ in range(2):
        revoke_share(link=issued.row, actor=issued.row.created_by, at=NOON)

    assert open_share(issued.secret, at=NOON) is None
    assert AuditEntry.objects.filter(action="share.revoked").count() == 1
