"""The page of budgets of the day: what today cost beside what it may, and setting one."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from evalsite.accounts.roles import Role
from judging.models import CallHour, DayBudget, Run
from judging.services.day_budgets import next_day, set_day_budget
from tests import factories
from tests.judging.services.run_rows import judged_run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_baselines")]

SHELL_QUERIES = 4  # session, person with permissions, groups, what waits for review
PAGE = "judging:day-budgets"


def page_text(client: Client) -> str:
    return " ".join(client.get(reverse(PAGE)).content.decode().split())


@pytest.mark.parametrize("rows", [1, 3])
def test_page_needs_the_same_queries_for_any_number(
    client: Client, admin: User, rows: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(rows):
        set_day_budget(endpoint=factories.endpoint(), amount=Decimal(1), actor=None, at=timezone.now())
    client.force_login(admin)
    with django_assert_num_queries(SHELL_QUERIES + 5):  # endpoints, budgets; holds, those of lost processes, hours
        client.get(reverse(PAGE))


def test_page_shows_the_day_beside_its_budgets_and_only_admins_set_them(client: Client, admin: User) -> None:
    endpoint = factories.endpoint(name="small")
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    CallHour.objects.create(endpoint=endpoint, hour=hour, calls=1, errors=0, seconds=1, cost=Decimal("1.5"))
    client.force_login(admin)

    answers = [
        client.post(reverse("judging:day-budget-set"), fields, follow=True)
        for fields in ({"amount": "20"}, {"endpoint": endpoint.pk, "amount": "1.25"})
    ]
    shown = page_text(client)
    client.force_login(factories.user("rosa", Role.RESEARCHER))
    read = page_text(client)
    refused = client.post(reverse("judging:day-budget-set"), {"amount": ""})

    assert [answer.status_code for answer in answers] == [200, 200]
    assert "Budget of small for a day: 1.25 USD." in answers[1].content.decode()
    assert 'value="20"' in shown
    assert 'value="1.25"' in shown
    assert "$18.50" in shown  # left of the site's
    assert '<td class="num text-danger">$0.00</td>' in shown  # of the endpoint's
    assert ("$20.00" in read, 'name="amount"' in read, refused.status_code) == (True, False, 403)
    assert list(DayBudget.objects.order_by("pk").values_list("endpoint", "amount")) == [
        (None, Decimal(20)),
        (endpoint.pk, Decimal("1.25")),
    ]


def test_setting_refuses_what_is_no_amount_and_an_empty_one_removes(client: Client, admin: User) -> None:
    client.force_login(admin)
    client.post(reverse("judging:day-budget-set"), {"amount": "20"})

    bad = client.post(reverse("judging:day-budget-set"), {"amount": "-1"})
    much = client.post(reverse("judging:day-budget-set"), {"amount": "100000000"})
    amount = DayBudget.objects.get().amount
    client.post(reverse("judging:day-budget-set"), {"amount": ""})

    assert [answer.status_code for answer in (bad, much)] == [400] * 2
    assert 'value="100000000"' in much.text
    assert (amount, DayBudget.objects.count()) == (Decimal(20), 0)


def test_nothing_is_said_to_be_in_flight_where_nothing_is_reserved(client: Client, admin: User) -> None:
    factories.endpoint(name="small")
    client.force_login(admin)
    reason = "nothing is reserved without a budget of the day"
    without = page_text(client).count(f'title="{reason}"')
    set_day_budget(endpoint=None, amount=Decimal(20), actor=None, at=timezone.now())

    assert (without, page_text(client).count(reason)) == (2, 0)


def test_a_refused_budget_stays_in_the_field_of_its_row_with_the_reason(client: Client, admin: User) -> None:
    endpoint = factories.endpoint(name="small")
    set_day_budget(endpoint=None, amount=Decimal(20), actor=None, at=timezone.now())
    client.force_login(admin)

    page = client.post(reverse("judging:day-budget-set"), {"endpoint": endpoint.pk, "amount": "1,5"}).text

    of_site, _, of_endpoint = page.partition("Budget of small in USD")
    assert ('value="20"' in of_site, "amount-error" in of_site) == (True, False)
    assert ('autofocus value="1,5"' in of_endpoint, of_endpoint.count("Enter the budget as a number of dollars.")) == (
        True,
        1,
    )


def test_the_estimate_of_a_run_says_that_too_little_is_left_today(client: Client) -> None:
    run = judged_run(cases=3, url="http://127.0.0.1:9/v1", input_price=Decimal(100), output_price=Decimal(100))
    judge, rubric = run.evaluators.get().judge, run.evaluators.get().rubric
    assert judge is not None
    assert rubric is not None
    fields = {"suite": run.suite_id, "systems": [system.pk for system in run.systems.all()], "judges": [judge.pk]}
    client.force_login(factories.user("rosa", Role.RESEARCHER))

    def estimate() -> str:
        form = {**fields, "rubrics": [rubric.pk], "sample_size": "", "attempts": "1"}
        return client.post(reverse("judging:run-estimate"), form, headers={"HX-Request": "true"}).content.decode()

    before = estimate()
    set_day_budget(endpoint=None, amount=Decimal("0.000001"), actor=None, at=timezone.now())
    after = estimate()

    words = "of today's budget of the site is left"
    assert ("Cost" in before, words in before, words in after) == (True, False, True)


def test_the_page_of_a_run_says_why_it_waits(client: Client) -> None:
    run = judged_run(cases=3)
    at = next_day(timezone.now()) + timedelta(0)
    Run.objects.filter(pk=run.pk).update(status="running", status_reason="The budget of the site is $1.", resume_at=at)
    client.force_login(factories.user("rosa", Role.RESEARCHER))

    text = client.get(run.get_absolute_url()).content.decode()

    assert "The budget of the site is $1." in text
    assert "Next attempt:" in text
