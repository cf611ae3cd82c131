"""Tables to take away hold what error analysis needs: texts, reasons, costs and addresses."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.reports.exports import score_table
from judging.models import Call, EvaluatorKind, System
from tests import factories
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db


def test_score_table_holds_texts_reason_cost_and_address() -> None:
    suite = factories.suite()
    prompt = suite.cases.get().prompt
    run = factories.run(suite=suite)
    judge = factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, name="Strict")
    rules = factories.evaluator(run=run)
    response = factories.response(prompt=prompt, text="It is 42 W.")
    calls = [
        Call.objects.create(
            key=str(cost), endpoint=factories.endpoint(), request={}, cost=cost, finished_at=factories.NOON
        )
        for cost in (Decimal("0.02"), Decimal("0.03"), None)
    ]
    said = factories.verdict(
        evaluator=judge, response=response, share=0.5, rationale="Covers it.", call_ids=[calls[0].pk, calls[1].pk]
    )
    factories.score(evaluator=rules, response=response, share=1.0)
    unpriced = factories.response(prompt=prompt, system=response.system, attempt=1)
    factories.verdict(evaluator=judge, response=unpriced, share=0.1, call_ids=[calls[0].pk, calls[2].pk])

    rows = list(score_table(run=run).rows)

    names = ("evaluator", "prompt", "response", "words", "judge_reason", "cost", "address")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("Strict", prompt.text, "It is 42 W.", 4, "Covers it.", Decimal("0.05"), f"/verdicts/{said.pk}/"),
        ("rules", prompt.text, "It is 42 W.", 4, None, None, f"/responses/{response.pk}/"),
        ("Strict", prompt.text, unpriced.text, 2, "", None, f"/verdicts/{said.pk + 1}/"),
    ]


def test_leaderboard_export_of_a_pair_holds_every_case_with_both_texts(scored: Scored, researcher: Client) -> None:
    first, second = scored.ada, scored.cy

    def text(system: System, place: int) -> str:
        return system.responses.get(prompt=scored.cases[place].prompt).text

    query = f"?evaluator={scored.rules.pk}&system={first.pk}&system={second.pk}"
    page = researcher.get(reverse("reports:leaderboard-compare", args=[scored.suite.pk]) + query)
    address = reverse("reports:leaderboard-export", args=[scored.suite.pk, "pair", "jsonl"])
    answer = researcher.get(address + query)

    rows = [json.loads(line) for line in b"".join(answer).splitlines()]
    names = ("case", "first_system", "first", "second_system", "second", "difference", "first_response")
    assert [(*(row[name] for name in names), row["second_response"]) for row in rows] == [
        ("case-2", "ada", 1.0, "cy", 0.0, 1.0, text(first, 1), text(second, 1)),
        ("case-4", "ada", 0.5, "cy", 0.0, 0.5, text(first, 3), ""),  # no response counts as 0
        ("case-1", "ada", 1.0, "cy", 1.0, 0.0, text(first, 0), text(second, 0)),
    ]
    assert address.replace("jsonl", "csv") in page.content.decode()
    assert researcher.get(address).status_code == 404
