"""`manage.py init_site`: brings a fresh database up, so that nobody needs a shell."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command

from evalsite.accounts.management.commands import create_admin
from evalsite.base.json_types import JsonDict


class Command(create_admin.Command):
    """Does what the first start needs, and at later ones what an upgrade needs."""

    help = (
        "Bring the tables up to date, and where there is no account create the admin that EVALSITE_INIT_ADMIN names. "
        "Safe to repeat."
    )

    def add_own_arguments(self, parser: Any) -> None:
        """Take none: the environment says everything."""

    def run(self, **options: Any) -> JsonDict:
        call_command("migrate", stdout=self.stderr)
        if not settings.INIT_ADMIN or User.objects.exists():
            return {"tables": "up to date", "admin": None}
        made = super().run(username=settings.INIT_ADMIN, email=settings.INIT_EMAIL, password_stdin=False)
        return {"tables": "up to date", "admin": made}
