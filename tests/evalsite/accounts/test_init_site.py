"""A fresh database comes up with its first admin, once."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from pytest_django import Settings

from evalsite.accounts.roles import Role, role_of
from evalsite.base.command_base import BadInput

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


def test_init_site_makes_no_account_unless_one_is_named() -> None:
    assert _run() == {"tables": "up to date", "admin": None}
    assert not User.objects.exists()


def test_init_site_refuses_a_name_that_cannot_be_one(settings: Settings) -> None:
    settings.INIT_ADMIN = "no spaces"

    with pytest.raises(BadInput, match="Enter a valid username"):
        _run()
