"""`manage.py init_site`: brings a fresh database up, so that nobody needs a shell."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import transaction

from evalsite.accounts.roles import Role
from evalsite.accounts.services import (
    PersonDetails,
    create_person,
    is_new,
    name_organisation,
    organisation_name,
    setup_code,
)
from evalsite.base.rows import BadInput
from evalsite.base.types import JsonDict
from evalsite.management.commands import create_admin
from evalsite.management.commands.create_admin import check_account


class Command(create_admin.Command):
    """Does what the first start needs, and at later ones what an upgrade needs."""

    help = (
        "Bring the tables up to date, and where there is no account create the admin that EVALSITE_INIT_ADMIN names. "
        "Without that name it prints the code for the set-up page. Safe to repeat."
    )

    def add_own_arguments(self, parser: Any) -> None:
        """Take none: the environment says everything."""

    def run(self, **options: Any) -> JsonDict:
        call_command("migrate", stdout=self.stderr)
        done: JsonDict = {"tables": "up to date", "admin": None}
        if settings.INIT_ORGANISATION and not organisation_name():
            name_organisation(settings.INIT_ORGANISATION)
        if not is_new():
            return done
        if not settings.INIT_ADMIN:
            return done | {"setup_code": setup_code(), "page": f"{settings.SITE_URL}/setup/"}
        if not settings.PASSWORDS:
            return done | {"admin": _signs_on()}
        made = super().run(username=settings.INIT_ADMIN, email=settings.INIT_EMAIL, password_stdin=False)
        return done | {"admin": made}


def _signs_on() -> dict[str, str]:
    """Make an admin whom the provider of single sign-on opens by their address. Raises: BadInput: it would not."""
    domain = settings.INIT_EMAIL.rpartition("@")[2].lower()
    if not settings.OIDC_ROLES and domain not in {name.lower() for name in settings.OIDC_DOMAINS}:
        raise BadInput(
            "Without passwords the first admin comes by single sign-on: set EVALSITE_INIT_EMAIL to an address in one "
            "of EVALSITE_OIDC_DOMAINS, or let EVALSITE_OIDC_ROLES name a group of admins."
        )
    check_account(settings.INIT_ADMIN, settings.INIT_EMAIL)
    details = PersonDetails(settings.INIT_ADMIN, email=settings.INIT_EMAIL)
    with transaction.atomic():
        person = create_person(details=details, role=Role.ADMIN, actor=None).row
        person.set_unusable_password()
        person.save(update_fields=["password"])
    return {"username": person.username, "role": Role.ADMIN.value, "signs_in_with": settings.OIDC_NAME}
