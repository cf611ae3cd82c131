"""A system's page: its means by part of a suite, its best and worst responses, its runs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.reports import jobs
from evalsite.reports.services import snapshots
from tests import factories
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db


def page(scored: Scored, query: str = "") -> str:
    return f"{scored.ada.get_absolute_url()}{query}"


def test_a_system_shows_its_means_by_scenario_and_language(scored: Scored, researcher: Client) -> None:
    judge = factories.evaluator(run=scored.run, position=2, kind="judge", name="Strict", total=1, done=1)
    factories.verdict(evaluator=judge, response=scored.cases[0].prompt.responses.get(system=scored.ada), share=0.25)

    answer = researcher.get(page(scored))

    parts = [
        (title, field, [(mean["value"], mean["n"]) for _, mean in means])
        for title, field, means in answer.context["parts"]
    ]
    # ada by rules: 1 and 1 of the easy cases, 1 and 0.5 of the hard ones; odd cases are python, even ones sql
    assert parts == [
        ("All cases", "", [(0.875, 4), (0.25, 1)]),
        ("easy", "scenario", [(1.0, 2), (0.25, 1)]),
        ("hard", "scenario", [(0.75, 2), (None, 0)]),
        ("python", "lang", [(1.0, 2), (0.25, 1)]),
        ("sql", "lang", [(0.75, 2), (None, 0)]),
    ]
    results = reverse("reports:results-detail", args=[scored.suite.pk])
    link = f"{results}?grader={scored.rules.pk}&amp;system={scored.ada.pk}&amp;sort=0&amp;scenario=hard"
    assert f'href="{link}">75.0%</a>' in answer.text
    opened = researcher.get(link.replace("&amp;", "&"))
    assert [[cell["share"] for cell in row["cells"]] for row in opened.context["rows"]] == [[0.5], [1.0]]


def test_a_system_shows_its_means_by_criterion_under_each_grader_that_has_several(
    scored: Scored, researcher: Client
) -> None:
    judge = factories.evaluator(
        run=scored.run, position=2, kind="judge", name="Marks", options={"judge_kind": "relevance"}, total=1, done=1
    )
    response = scored.cases[0].prompt.responses.get(system=scored.ada)
    nodes = {"accuracy": 8, "comprehensiveness": 6, "context_precision": 9}
    factories.verdict(evaluator=judge, response=response, value={"nodes": nodes}, share=0.7)

    answer = researcher.get(page(scored))

    shown = answer.context["criteria"]
    assert [grader.newest for grader in shown["graders"]] == [judge]  # the rules' details name no criteria
    assert [(title, [mean["value"] for mean in means]) for title, means in shown["rows"]] == [
        ("accuracy", [0.8]),
        ("comprehensiveness", [0.6]),
        ("context_precision", [0.9]),
    ]
    assert "By criterion" in answer.text
    other = researcher.get(scored.bob.get_absolute_url())
    assert ("By criterion" in other.text, other.context["criteria"]) == (False, None)


def test_its_worst_and_best_responses_lead_to_their_texts(scored: Scored, researcher: Client) -> None:
    for number in range(5, 11):  # ten in all: 1, 1, 1, 0.5, then 0.05 to 0.1
        prompt = factories.prompt(benchmark=scored.suite.benchmark, key=f"case-{number}")
        case = factories.case(prompt=prompt, grading={"keywords": ["yes"]})
        scored.suite.links.create(case=case, position=number)
        response = factories.response(prompt=case.prompt, system=scored.ada, text=f"Text {number}")
        factories.score(evaluator=scored.rules, response=response, share=number / 100)

    answer = researcher.get(page(scored))

    shown = {title: [(row["case"].key, row["share"]) for row in rows] for title, rows, _ in answer.context["extremes"]}
    assert shown["Worst responses"] == [(f"case-{number}", pytest.approx(number / 100)) for number in range(5, 10)]
    assert sorted(shown["Best responses"], key=lambda row: row[0]) == [
        ("case-1", 1.0),
        ("case-10", pytest.approx(0.1)),
        ("case-2", 1.0),
        ("case-3", 1.0),
        ("case-4", 0.5),
    ]
    assert "Text 5" in answer.text


def test_its_runs_are_listed_by_time_and_suites_chosen_by_address(scored: Scored, researcher: Client) -> None:
    later = factories.NOON + timedelta(hours=1)
    second = factories.run(suite=scored.suite, name="Second", status="finished", created_at=later, finished_at=later)
    second.systems.add(scored.ada)
    again = factories.evaluator(run=second, total=1, done=1)
    factories.score(evaluator=again, response=scored.ada.responses.earliest("pk"), share=0.5)
    other = factories.run(suite=factories.suite(cases=1), status="finished", done=1)
    other.systems.add(scored.ada)
    factories.score(
        evaluator=factories.evaluator(run=other, total=1, done=1),
        response=factories.response(prompt=other.suite.cases.get().prompt, system=scored.ada),
        share=0.2,
    )

    chosen = researcher.get(page(scored, f"?suite={scored.suite.pk}"))
    elsewhere = researcher.get(page(scored, f"?suite={other.suite_id}"))
    wrong = researcher.get(page(scored, "?suite=9999999999999999999"))

    assert [(run["run"], run["figure"]["value"]) for run in chosen.context["runs"]] == [
        ("Second", 0.125),  # 0.5 of one of four cases, none of the others
        ("First run", 0.875),
    ]
    (title, _, means), *_ = elsewhere.context["parts"]
    assert title == "All cases"
    assert means[0][1]["value"] == pytest.approx(0.2)
    assert wrong.status_code == 200


def test_figures_of_a_large_suite_are_computed_in_a_job(
    scored: Scored, researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[str] = []

    def launch(kind: str, **options: object) -> bool:
        launched.append(kind)
        return True

    monkeypatch.setattr(snapshots, "INLINE_ROWS", 0)
    monkeypatch.setattr(jobs, "launch_report", launch)

    answer = researcher.get(page(scored))

    assert (launched, "Being computed" in answer.text) == (["results"], True)


def test_queries_do_not_grow_with_the_responses(scored: Scored, researcher: Client) -> None:
    def queries() -> int:
        researcher.get(page(scored))
        with CaptureQueriesContext(connection) as captured:
            researcher.get(page(scored))
        return len(captured)

    few = queries()
    for number in range(5, 15):
        case = factories.case(prompt=factories.prompt(benchmark=scored.suite.benchmark, key=f"case-{number}"))
        scored.suite.links.create(case=case, position=number)
        response = factories.response(prompt=case.prompt, system=scored.ada)
        factories.score(evaluator=scored.rules, response=response, share=0.5)

    assert queries() == few
