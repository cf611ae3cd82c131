"""Two systems of a leaderboard against each other."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from evalsite.reports.services.shown_rows import SharedAxis
from judging.models import Response, RunEvaluator, System
from tests import factories
from tests.audited_boards import drawn_cases, noisy_judge, store_board
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db


def address(scored: Scored, first: System, second: System) -> str:
    pair = reverse("reports:leaderboard-compare", args=[scored.suite.pk])
    return f"{pair}?evaluator={scored.rules.pk}&system={first.pk}&system={second.pk}"


def test_leaderboard_compare_draws_the_difference_around_zero(scored: Scored, researcher: Client) -> None:
    answer = researcher.get(address(scored, scored.ada, scored.bob))

    # ada - bob by case: 1, 0, 1, 0.5; mean 0.625, without an interval
    assert (answer.status_code, answer.context["axis"]) == (200, SharedAxis(-0.65, 0.65))


def test_leaderboard_compare_says_that_two_systems_share_no_case(scored: Scored, researcher: Client) -> None:
    # cy answered cases 1 to 3 and the newcomer case 4; a case without a response is left out
    other = factories.system("newcomer")
    scored.run.systems.add(other)
    prompt = scored.cases[3].prompt
    factories.score(evaluator=scored.rules, response=factories.response(prompt=prompt, system=other), share=1)

    answer = researcher.get(address(scored, scored.cy, other) + "&missing=skip")

    assert answer.status_code == 200
    assert answer.context["content"]["n_cases"] == 0
    text = answer.content.decode()
    assert "Too few cases to compare two systems: 0 of 30." in text
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


def test_leaderboard_detail_shows_nothing_raw_among_human_figures(scored: Scored, researcher: Client) -> None:
    # A5: without a label the tabs once showed the judge's win rates and scenarios beside dashes.
    url = reverse("reports:leaderboard-detail", args=[scored.suite.pk])

    for mode in ("human", "corrected"):
        answer = researcher.get(f"{url}?evaluator={scored.rules.pk}&mode={mode}")

        rows = answer.context["rows"]
        assert [(row["figure"]["value"], row["win_rate"]["value"], row["ranks"]) for row in rows] == [(None,) * 3] * 3
        assert {cell["mean"] for row in answer.context["matrix"] for cell in row["cells"]} == {None}
        said = answer.content.decode().count("Too few: 0 of 20 audited cases.")
        assert said == 3 + 6 + 12 + 1  # rows, cells, slices, the note


def test_leaderboard_detail_shows_ranks_and_decided_of_drawn(researcher: Client) -> None:
    random = np.random.default_rng(6)
    labels = (random.random((3, 400)) < [[0.95], [0.6], [0.58]]).astype(np.float64)
    drawn = drawn_cases(400, 100, random)
    shown = np.where(random.random(labels.shape) < 0.1, np.nan, labels)
    evaluator = store_board(noisy_judge(labels, random, error=0.1), shown, drawn)

    url = reverse("reports:leaderboard-detail", args=[evaluator.run.suite_id])
    answer = researcher.get(f"{url}?mode=corrected")

    text = answer.content.decode()
    first = answer.context["rows"][0]
    assert [row["ranks"] for row in answer.context["rows"]] == [[1, 1], [2, 3], [2, 3]]
    assert f"{first['decided']} of 100" in text
    assert "bounds with the undecided cases" in text
    assert "looks" in text


def test_leaderboard_leaves_archived_runs_out_unless_their_board_or_they_are_asked_for(
    scored: Scored, researcher: Client
) -> None:
    newer = factories.evaluator(
        run=factories.run(suite=scored.suite, name="Newer", status="finished", total=4, done=4), total=4, done=4
    )
    newer.run.systems.add(scored.ada)
    type(scored.run).objects.filter(pk=scored.run.pk).update(archived_at=factories.NOON)
    url = reverse("reports:leaderboard-detail", args=[scored.suite.pk])

    def shown(query: str) -> tuple[int, bool]:
        answer = researcher.get(url + query)
        return answer.context["evaluator"].pk, '<optgroup label="Archived runs">' in answer.text

    assert shown("") == (newer.pk, False)
    assert shown("?archived=1") == (newer.pk, True)
    assert shown(f"?evaluator={scored.rules.pk}") == (scored.rules.pk, True)


def test_leaderboard_list_has_no_suite_all_of_whose_runs_are_archived(scored: Scored, researcher: Client) -> None:
    url = reverse("reports:leaderboard-list")
    before = [row["suite"] for row in researcher.get(url).context["rows"]]
    type(scored.run).objects.filter(pk=scored.run.pk).update(archived_at=factories.NOON)

    assert (before, researcher.get(url).context["rows"]) == ([scored.suite], [])
