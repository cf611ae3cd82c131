"""`manage.py create_admin`: the first admin of a site."""

from __future__ import annotations

import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.core.validators import validate_email

from evalsite.accounts.forms import PersonCreateForm
from evalsite.accounts.roles import Role
from evalsite.accounts.services import PersonDetails, create_person
from evalsite.base.command_base import JsonCommand
from evalsite.base.rows import BadInput
from evalsite.base.types import JsonDict


class Command(JsonCommand):
    help = "Create an admin. Unless a password is given, one is generated and printed once."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--username", required=True)
        parser.add_argument("--email", default="")
        parser.add_argument(
            "--password-stdin",
            action="store_true",
            help="read the password from the first line of standard input (EVALSITE_ADMIN_PASSWORD works too)",
        )

    def run(self, **options: Any) -> JsonDict:
        username = options["username"].strip()
        check_account(username, options["email"])
        password = sys.stdin.readline().rstrip("\r\n") if options["password_stdin"] else settings.ADMIN_PASSWORD
        if options["password_stdin"] and not password:
            raise BadInput("Standard input contains no password.")
        details = PersonDetails(username, email=options["email"])
        issued = create_person(details=details, role=Role.ADMIN, actor=None, password=password)
        result: JsonDict = {"username": username, "role": Role.ADMIN.value}
        return result if password else result | {"password": issued.secret}


def check_account(username: str, email: str) -> None:
    """Pass where these can be a user name and a mail address. Raises: BadInput."""
    field = PersonCreateForm.base_fields["username"]
    try:
        field.clean(username)
        if email:
            validate_email(email)
    except ValidationError as error:
        raise BadInput(" ".join(error.messages)) from error
