"""Two systems of a leaderboard against each other."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.reports.services.showing import Axis
from judging.models import Response, RunEvaluator, System
from tests import factories
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db


def address(scored: Scored, first: System, second: System) -> str:
    pair = reverse("reports:leaderboard-compare", args=[scored.suite.pk])
    return f"{pair}?evaluator={scored.rules.pk}&system={first.pk}&system={second.pk}"


def test_leaderboard_compare_draws_the_difference_around_zero(scored: Scored, researcher: Client) -> None:
    answer = researcher.get(address(scored, scored.ada, scored.bob))

    # ada - bob by case: 1, 0, 1, 0.5; mean 0.625, sd 0.4787, t(3) = 3.1824: 0.625 +- 0.7617, so the axis reaches 1.4
    assert (answer.status_code, answer.context["axis"]) == (200, Axis(-1.4, 1.4))


def test_leaderboard_compare_says_that_two_systems_share_no_case(scored: Scored, researcher: Client) -> None:
    # cy answered cases 1 to 3 and the newcomer case 4; a case without a response is left out
    other = factories.system("newcomer")
    scored.run.systems.add(other)
    prompt = scored.cases[3].prompt
    factories.score(evaluator=scored.rules, response=factories.response(prompt=prompt, system=other), share=1)

    answer = researcher.get(address(scored, scored.cy, other) + "&missing=skip")

    assert answer.status_code == 200
    assert answer.context["payload"]["n_cases"] == 0
    text = answer.content.decode()
    assert "The two share fewer than two scored cases." in text
    assert "The two have no scored case in common." in text


def test_leaderboard_compare_names_the_system_that_is_not_on_the_board(scored: Scored, researcher: Client) -> None:
    other = factories.system("a & b")

    answer = researcher.get(address(scored, scored.ada, other))

    assert answer.status_code == 200
    assert "a &amp; b: no score by this evaluator, so there is nothing to compare." in answer.content.decode()
    assert "hx-trigger" not in answer.content.decode().partition('id="leaderboard-compare"')[2].partition(">")[0]


def test_leaderboard_compare_does_not_know_a_system_that_nobody_knows(scored: Scored, researcher: Client) -> None:
    url = reverse("reports:leaderboard-compare", args=[scored.suite.pk])

    assert researcher.get(f"{url}?system={scored.ada.pk}&system=987654").status_code == 404


@pytest.fixture
def small(scored: Scored) -> RunEvaluator:
    """Return the rules of a newer run that asked about one system and one case only."""
    run = factories.run(
        suite=scored.suite, name="Small run", status="finished", created_at=factories.NOON + timedelta(hours=1)
    )
    run.systems.add(scored.bob)
    rules = factories.evaluator(run=run, total=1, done=1, options={"prompt_hash": "a5fdaa65ba06ffff"})
    response = Response.objects.get(prompt=scored.cases[0].prompt, system=scored.bob)
    factories.score(evaluator=rules, response=response, share=1)
    return rules


def test_leaderboard_detail_opens_with_the_fullest_run(scored: Scored, small: RunEvaluator, researcher: Client) -> None:
    answer = researcher.get(reverse("reports:leaderboard-detail", args=[scored.suite.pk]))

    assert answer.context["evaluator"] == scored.rules
    assert "systems that runs of this suite have scored" not in answer.content.decode()


def test_leaderboard_detail_says_how_many_systems_a_small_run_covers(
    scored: Scored, small: RunEvaluator, researcher: Client
) -> None:
    url = reverse("reports:leaderboard-detail", args=[scored.suite.pk])

    text = researcher.get(f"{url}?evaluator={small.pk}").content.decode()

    assert "This run covers 1 of the 3 systems that runs of this suite have scored." in text
    assert f"rules (prompt a5fdaa65ba06), run {small.run_id}: 1 of 3 systems</option>" in text
    assert f"rules, run {scored.run.pk}</option>" in text
