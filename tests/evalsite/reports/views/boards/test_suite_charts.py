"""The page of charts: its tables, where their figures lead, and the same as a file and by command."""

from __future__ import annotations

import csv
import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.base.rows import BadInput
from evalsite.reports import jobs
from evalsite.reports.services import snapshots
from judging.models import Response, RunEvaluator
from tests import factories
from tests.evalsite.reports.audited import Audited, audited_judge
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db

LATER = factories.NOON + timedelta(days=1)


def address(scored: Scored, query: str = "") -> str:
    return f"{reverse('reports:charts-detail', args=[scored.suite.pk])}{query}"


@pytest.fixture
def judge(scored: Scored) -> RunEvaluator:
    """Return a judge that gave ada's response to the first case three quarters."""
    judge = factories.evaluator(run=scored.run, position=2, kind="judge", name="Strict", total=1, done=1)
    factories.verdict(
        evaluator=judge,
        response=Response.objects.get(system=scored.ada, prompt=scored.cases[0].prompt),
        share=0.75,
    )
    return judge


def test_the_page_shows_the_chosen_grader(scored: Scored, judge: RunEvaluator, researcher: Client) -> None:
    shown = [researcher.get(address(scored, query)).context for query in ("", f"?grader={judge.pk}", "?grader=0&x=y")]

    assert [context["grader"].label for context in shown] == ["rules", "Strict", "rules"]
    assert [[row["n"] for row in context["charts"].distribution] for context in shown[:2]] == [[4, 2, 4], [1, 0, 0]]


def test_every_count_of_the_distribution_leads_to_as_many_rows(scored: Scored, researcher: Client) -> None:
    results = reverse("reports:results-detail", args=[scored.suite.pk])
    charts = researcher.get(address(scored)).context["charts"]

    counted = [
        (row["system"], cell["n"], cell["least"], cell["most"])
        for row in charts.distribution
        for cell in row["cells"]
        if cell["n"]
    ]
    ids = {"ada": scored.ada.pk, "bob": scored.bob.pk, "cy": scored.cy.pk}
    row_counts = [
        len(
            researcher.get(
                f"{results}?grader={scored.rules.pk}&system={ids[system]}&least={least}&most={most}"
            ).context["rows"]
        )
        for system, _, least, most in counted
    ]

    assert [n for _, n, _, _ in counted] == row_counts == [1, 3, 1, 1, 3, 1]
    html = researcher.get(address(scored)).text
    assert (
        f'{results}?grader={scored.rules.pk}&amp;system={scored.ada.pk}&amp;least=50.45&amp;most=59.45">1</a>' in html
    )


def test_a_second_run_draws_lines_and_its_means_lead_to_its_rows(scored: Scored, researcher: Client) -> None:
    run = factories.run(suite=scored.suite, name="Second", status="finished", created_at=LATER, finished_at=LATER)
    run.systems.add(scored.ada)
    again = factories.evaluator(run=run, total=1, done=1)
    factories.score(evaluator=again, response=scored.ada.responses.earliest("pk"), share=0.5)

    answer = researcher.get(address(scored, f"?system={scored.ada.pk}"))

    assert answer.context["charts"].time is not None
    assert answer.context["charts"].drawn == [scored.ada.pk]
    results = reverse("reports:results-detail", args=[scored.suite.pk])
    link = f"{results}?columns=runs&amp;grader={again.pk}&amp;system={scored.ada.pk}&amp;sort=0"
    assert f'href="{link}">12.5%</a>' in answer.text  # half of one of four cases


def test_agreement_leads_to_the_labelled_rows(researcher: Client) -> None:
    judge = audited_judge([Audited(judge=True, people=index < 15) for index in range(20)])

    answer = researcher.get(reverse("reports:charts-detail", args=[judge.run.suite_id]))

    html = " ".join(answer.text.split())
    assert f'grader={judge.pk}&amp;show=labelled">20</a>' in html
    assert "75.0%" in html


def test_a_suite_without_scores_says_so(researcher: Client) -> None:
    suite = factories.suite(cases=1)

    answer = researcher.get(reverse("reports:charts-detail", args=[suite.pk]))

    assert "No scores yet" in answer.text
    export = reverse("reports:charts-export", args=[suite.pk, "distribution", "csv"])
    assert researcher.get(export).status_code == 404


def test_a_long_report_is_computed_in_a_job(
    scored: Scored, researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[str] = []
    monkeypatch.setattr(snapshots, "INLINE_ROWS", 0)

    def launch(kind: str, **options: object) -> bool:
        launched.append(kind)
        return True

    monkeypatch.setattr(jobs, "launch_report", launch)

    answer = researcher.get(address(scored))

    assert (launched, "Being computed" in answer.text) == (["suite-charts"], True)
    assert researcher.get(reverse("reports:charts-export", args=[scored.suite.pk, "runs", "csv"])).status_code == 202


@pytest.mark.parametrize(
    ("table", "first"),
    [
        ("distribution", {"system": "ada", "value": "0.875", "scored": "4", "from_90": "3"}),
        ("runs", {"run": "First run", "system": "ada", "value": "0.875"}),
        ("lengths", {"responses": "6"}),
        ("length-correlation", {"system": "ada", "responses": "4"}),
        ("tokens", {"is_recorded": "True", "tokens": "7.0"}),
    ],
)
def test_each_table_is_exported_and_printed_alike(
    scored: Scored, researcher: Client, table: str, first: dict[str, str]
) -> None:
    Response.objects.update(text="7 signs", completion_tokens=7)
    Response.objects.filter(system=scored.ada).update(text="14 signs of it")
    out = StringIO()

    answer = researcher.get(reverse("reports:charts-export", args=[scored.suite.pk, table, "csv"]))
    call_command("report", "charts", "--suite", str(scored.suite.pk), "--csv", "--table", table, stdout=out)

    exported = answer.getvalue().decode("utf-8-sig")
    row = next(csv.DictReader(StringIO(exported)))
    assert {name: row[name] for name in first} == first
    assert exported.splitlines() == out.getvalue().lstrip("\ufeff").splitlines()


def test_the_command_prints_the_chosen_grader(scored: Scored, judge: RunEvaluator) -> None:
    out = StringIO()

    call_command("report", "charts", "--suite", "sums", "--query", f"grader={judge.pk}", "--json", stdout=out)

    output: dict[str, Any] = json.loads(out.getvalue())
    assert (output["grader"], output["lengths"]["n"]) == ("Strict", 1)
    with pytest.raises(BadInput, match="No run has scored"):
        call_command("report", "charts", "--suite", str(factories.suite(cases=1).pk), stdout=out)


def test_queries_do_not_grow_with_the_rows(scored: Scored, researcher: Client) -> None:
    def queries() -> int:
        researcher.get(address(scored))
        with CaptureQueriesContext(connection) as captured:
            researcher.get(address(scored))
        return len(captured)

    few = queries()
    for number in range(12):
        prompt = scored.cases[number % 4].prompt
        response = factories.response(prompt=prompt, system=scored.ada, attempt=1 + number // 4)
        factories.score(evaluator=scored.rules, response=response, share=0)
    RunEvaluator.objects.filter(pk=scored.rules.pk).update(done=22)

    assert queries() == few == 14
