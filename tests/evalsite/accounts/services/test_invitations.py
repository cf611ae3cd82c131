"""Invitations: the one way to an account without an admin at hand, once, until they end."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.accounts.models import AuditEntry, Invitation
from evalsite.accounts.personal_data import erase_person, personal_document
from evalsite.accounts.roles import Role, role_of
from evalsite.accounts.services import InvitationRefused, PersonRefused, invite, revoke
from tests import factories

pytestmark = pytest.mark.django_db

ADDRESS = "zoe@example.org"
ENTERED = {"username": "zoe", "first_name": "Zoë", "last_name": "Quill", "password": "quite-a-long-one-42"}


@pytest.fixture
def ada() -> User:
    return factories.user("ada", Role.ADMIN)


def _link(ada: User, role: Role = Role.RESEARCHER) -> str:
    return invite(email=ADDRESS, role=role, days=7, actor=ada, at=timezone.now()).secret


def _open(link: str, **entered: str) -> Any:
    path = "/" + link.split("/", 3)[3]
    client = Client()
    return client.post(path, entered) if entered else client.get(path)


def test_an_invitation_is_mailed_and_makes_one_account_with_its_role(ada: User, settings: Any) -> None:
    settings.SITE_URL = "https://evals.example.org"
    link = _link(ada)

    shown, made, again = _open(link), _open(link, **ENTERED), _open(link)

    assert link.startswith("https://evals.example.org/invitation/")
    assert [(letter.to, link in letter.body) for letter in mail.outbox] == [([ADDRESS], True)]
    assert (shown.status_code, made.status_code, again.status_code) == (200, 302, 404)
    person = User.objects.get(username="zoe")
    assert (person.email, person.get_full_name(), role_of(person)) == (ADDRESS, "Zoë Quill", Role.RESEARCHER)
    assert made.client.get("/preferences/").status_code == 200
    log = AuditEntry.objects.order_by("pk").values_list("actor__username", "action", "detail__email")
    assert list(log) == [
        ("ada", "invitation.made", ADDRESS),
        (None, "person.created", None),
        ("zoe", "invitation.used", ADDRESS),
        ("zoe", "session.opened", None),
    ]
    token = link.rstrip("/").rsplit("/", 1)[1]
    stored = str(list(Invitation.objects.values())) + str(list(AuditEntry.objects.values()))
    assert token not in stored


@pytest.mark.parametrize("reason", ["revoked", "late", "replaced", "unknown", "no passwords"])
def test_links_that_are_not_valid_look_alike_and_make_no_account(ada: User, settings: Any, reason: str) -> None:
    link = _link(ada)
    if reason == "revoked":
        revoke(invitation=Invitation.objects.get(), actor=ada, at=timezone.now())
    elif reason == "late":
        Invitation.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    elif reason == "replaced":
        _link(ada)
    elif reason == "unknown":
        link = link[:-3] + "x/"
    else:
        settings.PASSWORDS = False

    answers = [_open(link), _open(link, **ENTERED)]

    assert [answer.status_code for answer in answers] == [404, 404]
    pages = {re.sub(r"[0-9a-f-]{8,}", "", answer.content.decode()) for answer in answers}
    assert all("This invitation is not valid" in page for page in pages)
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "text", "sentence"),
    [
        ("username", "ADA", "The user name &#x27;ADA&#x27; is taken."),
        ("password", "password", "This password is too short."),
    ],
)
def test_what_is_refused_leaves_the_invitation_valid(ada: User, field: str, text: str, sentence: str) -> None:
    link = _link(ada)

    refused, made = _open(link, **(ENTERED | {field: text})), _open(link, **ENTERED)

    assert (refused.status_code, made.status_code) == (400, 302)
    assert sentence in refused.content.decode()


def test_nobody_is_invited_whose_address_has_an_account_or_where_no_passwords_are_taken(
    ada: User, settings: Any
) -> None:
    User.objects.filter(pk=ada.pk).update(email="ADA@example.org")
    with pytest.raises(PersonRefused, match="has an account already"):
        invite(email="ada@example.org", role=Role.VIEWER, days=1, actor=ada, at=timezone.now())

    settings.PASSWORDS = False
    with pytest.raises(InvitationRefused, match="by signing in with"):
        _link(ada)
    assert Invitation.objects.count() == 0


def test_the_page_shows_a_link_once_and_ends_an_invitation(ada: User) -> None:
    client = Client()
    client.force_login(ada)
    page = reverse("accounts:invitation-list")

    made = client.post(page, {"email": ADDRESS, "role": "viewer", "days": "3"})
    listed = client.get(page)
    ended = client.post(reverse("accounts:invitation-revoke", args=[Invitation.objects.get().pk]), follow=True)

    assert "/invitation/" in made.content.decode()
    assert made.headers["Cache-Control"] == "max-age=0, no-cache, no-store, must-revalidate, private"
    assert (ADDRESS in listed.content.decode(), "/invitation/" in listed.content.decode()) == (True, False)
    assert f"The invitation of {ADDRESS} has ended." in ended.content.decode()
    assert _open(made.context["made"].secret).status_code == 404


@pytest.mark.parametrize(
    ("site", "begins"),
    [("http://testserver", "http://testserver:8123/"), ("https://evals.example.org", "https://evals.example.org/")],
)
def test_the_link_on_the_page_has_the_port_of_the_page_where_the_site_is_the_same(
    ada: User, settings: Any, site: str, begins: str
) -> None:
    settings.SITE_URL = site
    client = Client(headers={"host": "testserver:8123"})
    client.force_login(ada)

    made = client.post(reverse("accounts:invitation-list"), {"email": ADDRESS, "role": "viewer", "days": "3"})

    assert made.context["made"].secret.startswith(f"{begins}invitation/")


def test_invitations_are_held_about_a_person_and_go_with_them(ada: User) -> None:
    _open(_link(ada), **ENTERED)
    zoe = User.objects.get(username="zoe")

    held = personal_document(person=zoe, actor=ada)["accounts.invitation.email"]
    erase_person(person=zoe, actor=ada, at=timezone.now())

    assert [(row["email"], "digest" in row) for row in held] == [(ADDRESS, False)]
    assert Invitation.objects.count() == 0
    told = AuditEntry.objects.filter(action__startswith="invitation.").values_list("detail__email", flat=True)
    assert set(told) == {f"erased-{zoe.pk}"}
