"""`prune_calls --older-than DAYS [--dry-run]`: removes texts of old calls that no current result rests on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import JsonCommand
from evalsite.base.rows import BadInput
from evalsite.base.types import JsonDict
from judging.services.ledger import prune_calls


class Command(JsonCommand):
    """Keeps the ledger from growing for ever."""

    help = (
        "Remove request and reply of old calls that failed or that no current verdict, response or debate uses. "
        "Their costs are kept. A call without its text is not reused."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--older-than", type=int, required=True, metavar="DAYS", help="minimum age of the calls in days"
        )
        parser.add_argument("--dry-run", action="store_true", help="only report what would be removed")

    def run(self, **options: Any) -> dict[str, int]:
        days: int = options["older_than"]
        if not 0 <= days <= 36500:
            raise BadInput("--older-than is a number of days from 0 to 36500.")
        now = timezone.now()
        dry_run: bool = options["dry_run"]
        calls, errors, looked_at = prune_calls(older_than=now - timedelta(days=days), at=now, dry_run=dry_run)
        counts = {"calls": calls, "errors": errors, "looked_at": looked_at}
        return counts | {"dry_run": dry_run, "older_than_days": days}

    def summary(self, result: JsonDict) -> str:
        would = "would be removed" if result["dry_run"] else "were removed"
        return (
            f"The texts of {result['calls']:,} of {result['looked_at']:,} calls older than {result['older_than_days']} "
            f"days {would}; {result['errors']:,} of these calls had failed."
        )
