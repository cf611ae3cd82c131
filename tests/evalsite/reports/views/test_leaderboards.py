"""Two systems of a leaderboard against each other."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.reports.services.showing import Axis
from judging.models import System
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
