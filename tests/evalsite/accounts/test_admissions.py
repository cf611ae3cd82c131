"""Whom single sign-on admits, with which role, and whose account they get."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evalsite import settings as site_settings
from evalsite.accounts.admissions import Claims, SignOnRefused, admit, read_claims
from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role, Scope, role_of
from evalsite.accounts.services import PersonDetails, PersonRefused, issue_password
from evalsite.api.tokens import make_token, tokens_of
from tests import factories

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
ADA = PersonDetails("ada", "Ada", "Byron", "ada@example.org")


@pytest.fixture(autouse=True)
def directory(settings: Any) -> Any:
    settings.OIDC_ROLES = {"it": "admin", "lab": "researcher", "all": "annotator"}
    settings.OIDC_DOMAINS = ["Example.org"]
    settings.OIDC_NEW_PEOPLE = True
    return settings


def _claims(*groups: str, email: str = ADA.email, is_verified: bool = True) -> Claims:
    return Claims(PersonDetails("ada", "Ada", "Byron", email), is_verified, frozenset(groups))


def _log() -> list[tuple[str, str, object]]:
    return [(entry.action, entry.subject, entry.detail) for entry in AuditEntry.objects.order_by("pk")]


def test_the_setting_of_roles_names_every_role() -> None:
    assert list(Role) == list(site_settings.ROLES)


def test_read_claims_takes_names_address_and_groups() -> None:
    said = {"sub": "7", "preferred_username": "ada", "name": "Ada King Byron", "email": "ada@example.org"}

    assert [
        read_claims(said | {"email_verified": True, "groups": ["lab", 5]}),
        read_claims({"email": "bea@example.org", "email_verified": "true", "groups": "lab"}),
        read_claims({"preferred_username": 4, "groups": {"lab": 1}, "given_name": None}),
    ] == [
        Claims(PersonDetails("ada", "Ada", "King Byron", "ada@example.org"), True, frozenset({"lab", "5"})),
        Claims(PersonDetails("bea", "", "", "bea@example.org"), False, frozenset({"lab"})),
        Claims(PersonDetails("", "", "", ""), False, frozenset()),
    ]


def test_admit_makes_an_account_without_a_password_and_with_the_highest_role() -> None:
    person = admit(_claims("all", "lab", "chess"), known=None)

    facts = (person.username, person.get_full_name(), person.email, role_of(person), person.has_usable_password())
    assert facts == ("ada", "Ada Byron", "ada@example.org", Role.RESEARCHER, False)
    assert _log() == [("person.created", "ada", {"role": "researcher"})]


@pytest.mark.parametrize(
    ("groups", "creates", "message"),
    [
        ((), True, "None of your groups has a role here"),
        (("chess",), True, "None of your groups has a role here"),
        (("lab",), False, "You have no account here"),
    ],
)
def test_admit_refuses_who_has_no_account_and_gets_none(
    directory: Any, groups: tuple[str, ...], creates: bool, message: str
) -> None:
    directory.OIDC_NEW_PEOPLE = creates

    with pytest.raises(SignOnRefused, match=message):
        admit(_claims(*groups), known=None)

    assert not User.objects.exists()


def test_admit_takes_nobody_elses_user_name() -> None:
    factories.user("Ada", Role.ADMIN)

    with pytest.raises(SignOnRefused, match="No account could be made with the user name 'ada'"):
        admit(_claims("lab"), known=None)


@pytest.mark.parametrize(
    ("email", "is_verified"), [("ada@example.org", False), ("ada@example.org.evil.test", True), ("", True)]
)
def test_admit_links_no_address_that_is_not_verified_in_a_domain_of_the_site(email: str, is_verified: bool) -> None:
    other = factories.user("ada-of-old", Role.ADMIN)
    User.objects.update(email=email)

    person = admit(_claims("all", email=email, is_verified=is_verified), known=None)

    assert (person.pk != other.pk, role_of(person), role_of(other)) == (True, Role.ANNOTATOR, Role.ADMIN)
    assert person.email == ""  # whose the address is nobody says


def test_admit_links_a_verified_address_and_ends_password_sessions_and_tokens(client: Client) -> None:
    person = factories.user("ada-of-old", Role.ANNOTATOR)
    User.objects.update(email="ADA@example.org")
    make_token(owner=person, name="old", scopes=[Scope.ADMIN], days=9, at=NOON)
    client.force_login(person)

    admitted = admit(_claims("lab"), known=None)

    assert (admitted, role_of(admitted), admitted.has_usable_password()) == (person, Role.RESEARCHER, False)
    assert list(tokens_of(person)) == []
    assert client.get(reverse("accounts:preferences")).status_code == 302
    assert _log()[-3:] == [
        ("person.changed", "ada-of-old", {"role": ["annotator", "researcher"], "by": "single sign-on"}),
        ("token.revoked", "old", {}),
        ("person.linked", "ada-of-old", {}),
    ]


def test_admit_links_nobody_where_several_have_the_address() -> None:
    for name in ("ada-1", "ada-2"):
        factories.user(name, Role.ANNOTATOR)
    User.objects.update(email="ada@example.org")

    with pytest.raises(SignOnRefused, match="Several accounts have your mail address"):
        admit(_claims("lab"), known=None)


def test_admit_gives_a_known_person_the_role_of_today() -> None:
    person = factories.user("ada", Role.ADMIN)
    User.objects.update(is_superuser=True, is_staff=True)

    lowered = admit(_claims("all"), known=person)
    kept = admit(_claims("all"), known=lowered)

    assert (role_of(lowered), lowered.is_staff, lowered.is_superuser, kept) == (Role.ANNOTATOR, False, False, lowered)
    assert _log() == [("person.changed", "ada", {"role": ["admin", "annotator"], "by": "single sign-on"})]


def test_admit_refuses_who_has_lost_the_last_role_and_takes_it() -> None:
    person = factories.user("ada", Role.RESEARCHER)

    with pytest.raises(SignOnRefused, match="None of your groups"):
        admit(_claims("chess"), known=person)

    assert role_of(person) is None
    assert _log() == [("person.changed", "ada", {"role": ["researcher", None], "by": "single sign-on"})]


def test_admit_leaves_roles_to_admins_without_groups_that_give_them(directory: Any) -> None:
    directory.OIDC_ROLES = {}
    person = factories.user("ada", Role.RESEARCHER)

    assert (admit(_claims("it"), known=person), role_of(person), _log()) == (person, Role.RESEARCHER, [])


def test_admit_refuses_an_account_that_is_switched_off() -> None:
    person = factories.user("ada", Role.RESEARCHER)
    person.is_active = False
    person.save()

    with pytest.raises(SignOnRefused, match="switched off"):
        admit(_claims("lab"), known=person)


def test_a_site_without_passwords_takes_and_gives_none(client: Client, directory: Any) -> None:
    person = factories.user("ada", Role.ADMIN)
    issued = issue_password(person=person, actor=None)
    directory.PASSWORDS = False

    page = client.get(reverse("login")).content.decode()
    answer = client.post(reverse("login"), {"username": "ada", "password": issued.secret})
    client.force_login(person)
    change = client.get(reverse("password_change"))

    assert ('name="password"' in page, answer.status_code) == (False, 200)
    assert (change.status_code, change["Location"]) == (302, reverse("accounts:preferences"))
    with pytest.raises(PersonRefused, match="takes no passwords"):
        issue_password(person=person, actor=None)
