"""The first admin."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from evalsite.accounts.roles import Role, role_of
from evalsite.base.rows import BadInput

pytestmark = pytest.mark.django_db


def _run(*arguments: str) -> dict[str, str]:
    output = io.StringIO()
    call_command("create_admin", "--json", *arguments, stdout=output)
    answer: dict[str, str] = json.loads(output.getvalue())
    return answer


def test_create_admin_prints_a_made_up_password_once() -> None:
    answer = _run("--username", "ada", "--email", "ada@example.org")

    person = User.objects.get(username="ada")
    assert person.check_password(answer["password"])
    assert (role_of(person), person.is_staff, person.email) == (Role.ADMIN, True, "ada@example.org")


def test_create_admin_takes_the_password_from_the_environment(settings: Any) -> None:
    settings.ADMIN_PASSWORD = "correct horse battery"

    answer = _run("--username", "ada")

    assert answer == {"username": "ada", "role": "admin"}
    assert User.objects.get(username="ada").check_password("correct horse battery")


def test_create_admin_takes_the_password_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery\n"))

    _run("--username", "ada", "--password-stdin")

    assert User.objects.get(username="ada").check_password("correct horse battery")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--username", "ada"), "is taken"),
        (("--username", "no spaces"), "Enter a valid username"),
        (("--username", "ben", "--email", "nowhere"), "valid email"),
    ],
)
def test_create_admin_refuses_bad_input_with_exit_code_two(arguments: tuple[str, ...], message: str) -> None:
    User.objects.create_user("ada")

    with pytest.raises(BadInput, match=message) as refusal:
        _run(*arguments)

    assert refusal.value.returncode == 2
