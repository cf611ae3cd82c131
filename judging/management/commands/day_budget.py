"""`day_budget`: show or set what the calls of one day may cost, on the site and at each endpoint."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from evalsite.base.command_base import BadInput, JsonCommand
from evalsite.base.json_types import JsonDict
from judging.management import choices
from judging.services.calls.day_budgets import (
    DayBudgetRefused,
    DayUse,
    day_of,
    next_day,
    plain_dollars,
    set_day_budget,
    uses_of_day,
)


class Command(JsonCommand):
    """Do to the budgets of the day what their page can do."""

    help = (
        "Show what today (UTC) has cost beside the budgets of the day; with --set or --remove, set or remove that of "
        "the site or, with --endpoint, that of an endpoint."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--endpoint", help="name of the endpoint; without it the budget of the site")
        change = parser.add_mutually_exclusive_group()
        change.add_argument("--set", dest="amount", default="", help="USD a day")
        change.add_argument("--remove", action="store_true")

    def run(self, **options: Any) -> JsonDict:
        at, amount = timezone.now(), choices.dollars_of(options["amount"])
        endpoint = choices.endpoint_of(options["endpoint"]) if options["endpoint"] else None
        if amount is not None or options["remove"]:
            try:
                set_day_budget(endpoint=endpoint, amount=amount, actor=None, at=at)
            except DayBudgetRefused as refusal:
                raise BadInput(str(refusal)) from refusal
        uses = [use for use in uses_of_day(at=at) if endpoint is None or use.endpoint == endpoint]
        return {"day": f"{day_of(at)}", "ends_at": next_day(at).isoformat(), "budgets": [_row(use) for use in uses]}


def _row(use: DayUse) -> JsonDict:
    amounts = {"budget": use.amount, "spent": use.spent, "in_flight": use.reserved, "left": use.left}
    texts = {name: None if amount is None else plain_dollars(amount) for name, amount in amounts.items()}
    return {"endpoint": use.endpoint.name if use.endpoint else None, **texts}
