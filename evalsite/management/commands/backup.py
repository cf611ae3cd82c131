"""`backup FOLDER [--keep N]`: a copy of the whole database while the site works."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import JsonCommand
from evalsite.base.rows import BadInput
from evalsite.base.types import JsonDict
from evalsite.serving.backups import make_backup, remove_old_backups


class Command(JsonCommand):
    """Keeps copies of the database."""

    help = (
        "Copy the whole database into a new folder below FOLDER while the site works. PostgreSQL is copied by pg_dump. "
        "Neither EVALSITE_SECRET_KEY nor keys of models are in it."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="where backups are kept")
        parser.add_argument("--keep", type=int, metavar="N", help="remove all backups there but the newest N")

    def run(self, **options: Any) -> JsonDict:
        if options["keep"] is not None and options["keep"] < 1:
            raise BadInput("--keep is a number of backups from 1 on.")
        began = time.monotonic()
        path, manifest = make_backup(options["folder"].absolute(), at=timezone.now())
        removed = remove_old_backups(path.parent, keep=options["keep"]) if options["keep"] else []
        return {
            "backup": str(path),
            "database": manifest.kind,
            "tables": len(manifest.tables),
            "rows": manifest.rows,
            "bytes": manifest.size,
            "seconds": round(time.monotonic() - began, 1),
            "removed": [old.name for old in removed],
        }
