"""`control_item ACTION --item ID`: ask one more person about an item, reopen a decided one, or exclude a broken one."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.accounts.management.acting_person import acting_person, add_by
from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from evalsite.review.management.lookups import item_of
from evalsite.review.services.items import decisions
from evalsite.review.states import ReviewRefused

PERMISSIONS = {"ask-more": "review.adjudicate", "reopen": "review.adjudicate", "exclude": "review.change_queue"}


class Command(JsonCommand):
    """Do to an item what its page's buttons do, in somebody's name."""

    help = (
        "ask-more: one more annotator for an item on which annotators disagree. reopen: a decided or excluded item is"
        " open again. exclude: a broken item leaves its queue and all reports."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=tuple(PERMISSIONS))
        parser.add_argument("--item", required=True, metavar="ID", help="its number, or its name in its page's address")
        parser.add_argument("--reason", default="", help="with reopen and exclude: reason, kept in the audit log")
        add_by(parser, "researcher who decides this")

    def run(self, **options: Any) -> JsonDict:
        item, action, reason = item_of(options["item"]), options["action"], options["reason"]
        actor = acting_person(options["by"], permission=PERMISSIONS[action], act=f"{action} an item")
        at = timezone.now()
        try:
            if action == "ask-more":
                item = decisions.ask_more(item_id=item.pk, actor=actor, at=at)
            elif action == "reopen":
                item = decisions.reopen_item(item_id=item.pk, actor=actor, reason=reason, at=at)
            else:
                item = decisions.exclude_item(item_id=item.pk, actor=actor, reason=reason, at=at)
        except ReviewRefused as refusal:
            raise BadInput(str(refusal)) from refusal
        return {"item": item.pk, "queue": item.queue.slug, "status": item.status, "quorum": item.quorum}
