"""A fresh database comes up with its first admin, once."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from pytest_django import Settings

from evalsite.accounts.admissions import Claims, admit
from evalsite.accounts.roles import Role, role_of
from evalsite.accounts.services import PersonDetails, organisation_name, setup_code
from evalsite.base.rows import BadInput

pytestmark = pytest.mark.django_db


def _run() -> Any:
    output = io.StringIO()
    call_command("init_site", "--json", stdout=output, stderr=io.StringIO())
    return json.loads(output.getvalue())


def test_init_site_makes_the_named_admin_once_with_a_password_that_works(settings: Settings) -> None:
    settings.INIT_ADMIN, settings.INIT_EMAIL = "ada", "ada@example.org"

    first, second = _run(), _run()

    person = User.objects.get()
    assert first == {
        "tables": "up to date",
        "admin": {"username": "ada", "role": "admin", "password": first["admin"]["password"]},
    }
    assert second == {"tables": "up to date", "admin": None}
    assert (person.username, person.email, role_of(person)) == ("ada", "ada@example.org", Role.ADMIN)
    assert person.check_password(first["admin"]["password"])


def test_init_site_takes_the_password_from_the_environment_and_never_prints_it(settings: Settings) -> None:
    settings.INIT_ADMIN, settings.ADMIN_PASSWORD = "ada", "correct horse battery"

    assert _run() == {"tables": "up to date", "admin": {"username": "ada", "role": "admin"}}
    assert User.objects.get().check_password("correct horse battery")


def test_init_site_makes_no_account_unless_one_is_named_and_prints_the_code_of_the_set_up_page(
    settings: Settings,
) -> None:
    settings.SITE_URL, settings.INIT_ORGANISATION = "https://evals.example.org", "Example Org"

    assert _run() == {
        "tables": "up to date",
        "admin": None,
        "setup_code": setup_code(),
        "page": "https://evals.example.org/setup/",
    }
    settings.INIT_ORGANISATION = "Another"
    _run()
    assert (User.objects.exists(), organisation_name()) == (False, "Example Org")


def test_init_site_without_passwords_makes_an_admin_whom_the_provider_opens(settings: Settings) -> None:
    settings.PASSWORDS, settings.OIDC_NAME, settings.OIDC_DOMAINS = False, "Example Org", ["example.org"]
    settings.INIT_ADMIN, settings.INIT_EMAIL = "ada", "ada@elsewhere.org"
    with pytest.raises(BadInput, match="set EVALSITE_INIT_EMAIL to an address in one of EVALSITE_OIDC_DOMAINS"):
        _run()
    settings.INIT_EMAIL = "ada@Example.org"

    made = _run()["admin"]

    assert made == {"username": "ada", "role": "admin", "signs_in_with": "Example Org"}
    details = PersonDetails("ada", email="ada@example.org")
    claims = Claims(details, has_verified_email=True, groups=frozenset())
    admitted = admit(claims, known=None)
    assert (admitted.username, role_of(admitted), admitted.has_usable_password()) == ("ada", Role.ADMIN, False)


def test_init_site_refuses_a_name_that_cannot_be_one(settings: Settings) -> None:
    settings.INIT_ADMIN = "no spaces"

    with pytest.raises(BadInput, match="Enter a valid username"):
        _run()
