"""The responses on the page of a case: their scores side by side, the chosen texts, and the same as a file."""

from __future__ import annotations

import csv
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.review.questions.scales import JUDGEMENT, labels_to_json
from evalsite.review.selectors.final_labels import LabelReader, labels_on_case
from judging.models import Response, RunEvaluator, System
from tests import factories
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db

LATER = factories.NOON + timedelta(hours=1)


@pytest.fixture
def judged(scored: Scored) -> RunEvaluator:
    """Return a judge that gave bob's response to the first case a half, where the rules gave nothing."""
    judge = factories.evaluator(run=scored.run, position=2, kind="judge", name="Strict", total=1, done=1)
    factories.verdict(evaluator=judge, response=response_of(scored, scored.bob), share=0.5, rationale="Half of it.")
    judge.scores.update(flags=["short", "short"])
    return judge


def response_of(scored: Scored, system: System) -> Response:
    return Response.objects.get(prompt=scored.cases[0].prompt, system=system)


def label_of(scored: Scored, system: System) -> None:
    """Let people say that the response of a system to the first case is wrong, which is worth nothing."""
    queue = factories.queue(run=scored.run, labels=labels_to_json(JUDGEMENT))
    score = scored.rules.scores.get(response=response_of(scored, system))
    factories.review_item(queue=queue, score=score, status="settled", label="wrong", arm="routed")


def rows_of(answer: Any) -> list[tuple[str, int, list[float | None], list[float | None]]]:
    """Return system, attempt, scores by column and people's labels of each row."""
    return [
        (
            row.response.system.name,
            row.response.attempt,
            [None if cell is None else cell.score.share for cell in row.cells],
            [label.share for label in row.labels],
        )
        for row in answer.context["table"].rows
    ]


def test_responses_are_rows_and_graders_judges_and_people_columns(
    scored: Scored, judged: RunEvaluator, researcher: Client
) -> None:
    label_of(scored, scored.bob)
    second = factories.response(prompt=scored.cases[0].prompt, system=scored.ada, attempt=1)
    factories.score(evaluator=scored.rules, response=second, share=0.25)

    answer = researcher.get(scored.cases[0].get_absolute_url())

    assert [column.label for column in answer.context["table"].columns] == ["rules", "Strict"]
    assert rows_of(answer) == [
        ("ada", 0, [1, None], []),
        ("ada", 1, [0.25, None], []),
        ("bob", 0, [0, 0.5], [0]),
        ("cy", 0, [1, None], []),
    ]
    verdict = judged.verdicts.get()
    html = " ".join(answer.text.split())
    link = f'href="{verdict.get_absolute_url()}" title="Half of it."> 50.0% </a>'
    assert f'{link} <span class="outline-fact">short</span> </td>' in html
    assert f'href="{reverse("reports:results-detail", args=[scored.suite.pk])}?row={scored.cases[0].pk}"' in html


def test_the_newest_score_with_a_value_counts(scored: Scored, researcher: Client) -> None:
    for hours, share in ((1, 0.75), (2, None)):
        run = factories.run(suite=scored.suite, status="finished", created_at=factories.NOON + timedelta(hours=hours))
        run.systems.add(scored.ada)
        again = factories.evaluator(run=run, total=1, done=1)
        factories.score(evaluator=again, response=response_of(scored, scored.ada), share=share)

    answer = researcher.get(scored.cases[0].get_absolute_url())

    assert [row[2] for row in rows_of(answer)] == [[0.75], [0], [1]]


def test_items_without_a_decision_are_in_review(scored: Scored, researcher: Client) -> None:
    queue = factories.queue(run=scored.run, labels=labels_to_json(JUDGEMENT))
    score = scored.rules.scores.get(response=response_of(scored, scored.bob))
    item = factories.review_item(queue=queue, score=score, arm="routed")
    later = factories.run(suite=scored.suite, status="finished", created_at=LATER)
    again = factories.evaluator(run=later, total=1, done=1)
    factories.score(evaluator=again, response=response_of(scored, scored.bob), share=0)

    answer = researcher.get(scored.cases[0].get_absolute_url())

    assert [row.waiting for row in answer.context["table"].rows] == [(), (item.pk,), ()]
    assert f'href="{item.get_absolute_url()}">1 in review</a>' in " ".join(answer.text.split())


def test_chosen_texts_stand_side_by_side_and_else_the_first_two(scored: Scored, researcher: Client) -> None:
    url = scored.cases[0].get_absolute_url()
    cy, ada = response_of(scored, scored.cy), response_of(scored, scored.ada)
    of_another_case = Response.objects.get(prompt=scored.cases[1].prompt, system=scored.ada)

    chosen = researcher.get(f"{url}?response={cy.pk}&response={ada.pk}&response={of_another_case.pk}&response=x")

    assert [text.system for text in chosen.context["texts"]] == [scored.cy, scored.ada]
    assert [text.system for text in researcher.get(url).context["texts"]] == [scored.ada, scored.bob]


def test_responses_come_in_pages(scored: Scored, researcher: Client) -> None:
    for attempt in range(1, 26):
        factories.response(prompt=scored.cases[0].prompt, system=scored.ada, attempt=attempt)

    answer = researcher.get(f"{scored.cases[0].get_absolute_url()}?page=2")

    assert [row[:2] for row in rows_of(answer)] == [("ada", 25), ("bob", 0), ("cy", 0)]


def test_a_case_without_responses_says_so(researcher: Client) -> None:
    case = factories.suite(cases=1).cases.get()

    answer = researcher.get(case.get_absolute_url())

    assert "No system has a response to this prompt." in answer.text


def test_the_export_has_a_line_for_each_score_and_each_label(
    scored: Scored, judged: RunEvaluator, researcher: Client
) -> None:
    label_of(scored, scored.bob)
    Response.objects.filter(pk=response_of(scored, scored.bob).pk).update(text="Two.")

    answer = researcher.get(reverse("reports:case-export", args=[scored.cases[0].pk, "csv"]))

    rows = list(csv.DictReader(answer.getvalue().decode("utf-8-sig").splitlines()))
    assert [(row["system"], row["scored_by"], row["score"], row["label"]) for row in rows] == [
        ("ada", "rules", "1.0", ""),
        ("bob", "rules", "0.0", ""),
        ("bob", "Strict", "0.5", ""),
        ("bob", "people", "0.0", "wrong"),
        ("cy", "rules", "1.0", ""),
    ]
    of_judge = rows[2]
    verdict = judged.verdicts.get()
    assert (of_judge["reasons"], of_judge["flags"], of_judge["response"]) == ("Half of it.", "short, short", "Two.")
    assert of_judge["address"] == f"http://testserver{verdict.get_absolute_url()}"
    assert researcher.get(reverse("reports:case-export", args=[scored.cases[0].pk, "pdf"])).status_code == 404


def test_labels_on_a_case_are_those_of_the_whole_evaluator(scored: Scored) -> None:
    label_of(scored, scored.bob)
    ids = [response_of(scored, system).pk for system in (scored.ada, scored.bob)]

    labels = labels_on_case([scored.rules], scored.cases[0], ids)

    whole = LabelReader().labels_of(scored.rules)
    assert labels == [label for label in whole if label.response_ids[0] in ids]
    assert [label.share for label in labels] == [0]


def test_queries_do_not_grow_with_the_responses(scored: Scored, judged: RunEvaluator, researcher: Client) -> None:
    label_of(scored, scored.bob)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            researcher.get(scored.cases[0].get_absolute_url())
        return len(captured)

    queries()
    few = queries()
    for attempt in range(1, 13):
        response = factories.response(prompt=scored.cases[0].prompt, system=scored.ada, attempt=attempt)
        factories.score(evaluator=scored.rules, response=response, share=0)
        factories.verdict(evaluator=judged, response=response, share=0)

    assert queries() == few == 19
