"""`day_budget`: show, set and remove budgets of the day."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils import timezone

from judging.models import CallHour, DayBudget
from judging.services.calls.day_budgets import day_of, next_day
from tests import factories
from tests.judging.management.test_run_commands import refusal, run_command

pytestmark = pytest.mark.django_db


def test_day_budget_shows_sets_and_removes() -> None:
    endpoint, at = factories.endpoint(name="small"), timezone.now()
    hour = at.replace(minute=0, second=0, microsecond=0)
    CallHour.objects.create(endpoint=endpoint, hour=hour, calls=1, errors=0, seconds=1, cost=Decimal("1.5"))

    of_small = ("--endpoint", "small")
    reports = [
        run_command("day_budget", *arguments)
        for arguments in (("--set", "20"), (*of_small, "--set", "1"), (*of_small, "--remove"))
    ]

    assert {(report["day"], report["ends_at"]) for report in reports} == {(f"{day_of(at)}", next_day(at).isoformat())}
    site, small = (
        {"endpoint": name, "budget": None, "spent": "1.5", "in_flight": "0", "left": None} for name in (None, "small")
    )
    assert [report["budgets"] for report in reports] == [
        [site | {"budget": "20", "left": "18.5"}, small],
        [small | {"budget": "1", "left": "0"}],
        [small],
    ]
    assert [(budget.endpoint, budget.amount) for budget in DayBudget.objects.all()] == [(None, Decimal(20))]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "much"], "A budget is a number of US dollars above zero, not 'much'."),
        (["--set", "100000000"], "A budget is more than 0 and less than 100,000,000 USD."),
        (["--endpoint", "nowhere", "--set", "1"], "nowhere"),
    ],
)
def test_day_budget_refuses(arguments: list[str], words: str) -> None:
    assert words in refusal("day_budget", *arguments)
    assert not DayBudget.objects.exists()
