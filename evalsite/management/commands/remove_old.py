"""`remove_old [--dry-run]`: removes what is older than the site keeps it; workers do that once a day."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import JsonCommand
from evalsite.base.types import JsonDict
from evalsite.review.jobs import apply_age_limits, days_kept


class Command(JsonCommand):
    """Applies the limits of age."""

    help = (
        "Remove texts of calls, previews and bytes of uploads, and notices that are older than EVALSITE_KEEP_... says. "
        "Calls that a result rests on keep their texts. Without a limit nothing is removed."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only report what would be removed")

    def run(self, **options: Any) -> JsonDict:
        removed = apply_age_limits(at=timezone.now(), dry_run=options["dry_run"])
        return {name: {"days": days_kept(name), "removed": count} for name, count in removed.items()} | {
            "dry_run": options["dry_run"]
        }

    def summary(self, result: JsonDict) -> str:
        would = "would be removed" if result["dry_run"] else "removed"
        return "\n".join(
            f"{name}: kept for ever" if not days_kept(name) else f"{name}: {found['removed']:,} {would}"
            for name, found in result.items()
            if name != "dry_run"
        )
