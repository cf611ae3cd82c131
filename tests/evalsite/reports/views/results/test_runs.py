"""The results on a run's page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from evalsite.accounts.roles import Role
from evalsite.reports import jobs
from judging.models import Run, RunKind
from tests import factories
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db

LATER = factories.NOON + timedelta(hours=1)
HTMX: dict[str, Any] = {"headers": {"HX-Request": "true"}}


def test_run_detail_leads_to_the_leaderboard_and_to_the_responses_of_each_mean(
    scored: Scored, researcher: Client
) -> None:
    text = " ".join(researcher.get(scored.run.get_absolute_url()).text.split())

    board, results = (reverse(f"reports:{name}-detail", args=[scored.suite.pk]) for name in ("leaderboard", "results"))
    assert f'href="{board}?evaluator={scored.rules.pk}"' in text
    for system, mean, cases in (
        (scored.ada, "87.5%", "4 cases"),
        (scored.cy, "33.3%", "3 cases, 1 unscored, 1 without a response"),
    ):
        link = f'href="{results}?columns=runs&amp;grader={scored.rules.pk}&amp;system={system.pk}&amp;sort=0"'
        cell = text.partition(link)[2].partition("</td>")[0]
        assert (f">{mean}</a>" in cell, cases in cell) == (True, True)
    assert text.index('id="run-results"') < text.index('id="run-progress"')


def test_the_responses_of_a_mean_show_this_run_first(scored: Scored, researcher: Client) -> None:
    later = factories.run(suite=scored.suite, name="Later", status="finished", created_at=LATER)
    later.systems.add(scored.cy)
    newer = factories.evaluator(run=later, done=1, total=1)
    factories.score(evaluator=newer, response=scored.rules.scores.order_by("pk")[8].response, share=0.5)

    results = reverse("reports:results-detail", args=[scored.suite.pk])
    answer = researcher.get(f"{results}?columns=runs&grader={scored.rules.pk}&system={scored.cy.pk}&sort=0")

    columns = [column.label for column in answer.context["results"].columns]
    assert columns == [f"First run #{scored.run.pk}", f"Later #{later.pk}"]
    shares = [[cell["share"] for cell in row["cells"]] for row in answer.context["rows"]]
    assert shares == [[0.0, None], [1.0, 0.5], [None, None]]


def test_run_results_say_that_there_are_none_yet_while_the_run_works(scored: Scored, researcher: Client) -> None:
    Run.objects.filter(pk=scored.run.pk).update(status="running", done=0, failed=0)
    url = reverse("reports:run-results", args=[scored.run.pk])

    empty = researcher.get(url, **HTMX)
    page = researcher.get(scored.run.get_absolute_url()).text

    assert "No scores yet" in empty.text
    assert f'hx-get="{url}" hx-trigger="every 10s, run-ended from:body"' in empty.text
    assert page.index('id="run-progress"') < page.index('id="run-results"')


def test_run_results_so_far_are_shown_while_the_run_works_and_ask_no_more_once_it_has_ended(
    scored: Scored, researcher: Client
) -> None:
    url = reverse("reports:run-results", args=[scored.run.pk])
    Run.objects.filter(pk=scored.run.pk).update(status="running")
    live = researcher.get(url, **HTMX).text
    Run.objects.filter(pk=scored.run.pk).update(status="finished")
    ended = researcher.get(url, **HTMX).text

    assert ("These are the results so far" in live, "hx-trigger" in live) == (True, True)
    assert ("These are the results so far" in ended, "hx-trigger" in ended) == (False, False)


def test_run_results_are_a_part_of_the_page_and_of_scored_runs_only(scored: Scored, researcher: Client) -> None:
    trial = factories.run(kind=RunKind.SINGLE)

    alone = researcher.get(reverse("reports:run-results", args=[scored.run.pk]))
    absent = researcher.get(reverse("reports:run-results", args=[trial.pk]), **HTMX)

    assert (alone.status_code, alone["Location"]) == (302, scored.run.get_absolute_url())
    assert absent.status_code == 404
    assert "run-results" not in researcher.get(trial.get_absolute_url()).text


def test_run_results_are_refused_to_annotators(scored: Scored, client: Client) -> None:
    client.force_login(factories.user("ann", Role.ANNOTATOR))

    assert client.get(reverse("reports:run-results", args=[scored.run.pk]), **HTMX).status_code == 403


@pytest.mark.parametrize("further", [0, 2])
def test_run_results_need_the_same_queries_for_any_number_of_graders(
    scored: Scored, researcher: Client, further: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(further):
        factories.evaluator(run=scored.run)
    jobs.refresh_run(scored.run.pk)

    with django_assert_num_queries(6):  # session, person with permissions, run, evaluators, cached report, claims
        researcher.get(reverse("reports:run-results", args=[scored.run.pk]), **HTMX)
