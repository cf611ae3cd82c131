"""`migrate`: Django's own, which checks models and database first and leaves the pages alone."""

from __future__ import annotations

from typing import Any

from django.core.checks import Tags
from django.core.management.commands import migrate

CHECKED = (Tags.models, Tags.database)  # a check of addresses loads every page, which takes longer than the tables


class Command(migrate.Command):
    """Bring the database's tables up to date."""

    def check(self, *args: Any, **options: Any) -> Any:
        """Check what the tables depend on."""
        return super().check(*args, **{"tags": CHECKED, **options})
