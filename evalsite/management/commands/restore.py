"""`restore BACKUP`: puts a backup into an empty database and compares every table with what it held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evalsite.base.command_base import JsonCommand
from evalsite.serving.backups import restore_backup


class Command(JsonCommand):
    """Brings a site back."""

    help = (
        "Put a backup into the empty database of the site, while nothing else of it runs, and compare the rows and the "
        "hash of every table with those of the backup. Then run `migrate` and start the site."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("backup", type=Path, help="folder that `backup` made")

    def run(self, **options: Any) -> dict[str, int | str]:
        manifest = restore_backup(options["backup"].absolute())
        return {
            "restored": str(options["backup"]),
            "made_at": manifest.made_at,
            "tables": len(manifest.tables),
            "rows": manifest.rows,
            "next": "manage.py migrate, then start the site",
        }
