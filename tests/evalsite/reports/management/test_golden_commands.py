"""Aligning a judge with people as a script of commands, with real calls to a fake model."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from evalsite.base.command_base import BadInput
from judging.models import Judge
from tests.evalsite.golden import WARY, grader, grading_model, labelled_suite

pytestmark = pytest.mark.django_db(transaction=True)


def as_json(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(*arguments, "--json", stdout=out)
    found = json.loads(out.getvalue())
    assert isinstance(found, dict)
    return found


def refusal(*arguments: str) -> str:
    with pytest.raises(BadInput) as refused:
        call_command(*arguments)
    return str(refused.value)


def test_a_study_is_a_script() -> None:
    evaluator = labelled_suite()
    with grading_model() as model:
        judge = grader(model.url)
        made = as_json("golden_set", "Desk", "--suite", str(evaluator.run.suite_id))
        assert {part: row["cases"] for part, row in made["parts"].items()} == {
            "examples": 15,
            "development": 45,
            "test": 40,
        }
        estimated = as_json("golden_run", "Desk", "--judges", "Grader", "--estimate")
        assert (estimated["tasks"], estimated["calls"], estimated["calls_already_made"]) == (45, 45, 0)
        assert as_json("golden_run", "Desk", "--judges", "Grader", "--wait")["done"] == 45

        Judge.objects.filter(pk=judge.pk).update(options=judge.options | {"prompt_text": WARY})
        as_json("golden_run", "Desk", "--judges", "Grader", "--wait")

        figures = as_json("golden_report", "Desk")
        wary, plain = figures["development"]
        assert figures["test"] == []
        assert (wary["agreement"]["value"], plain["agreement"]["value"]) == (1.0, pytest.approx(38 / 45))
        compared = as_json("golden_report", "Desk", "--compare", plain["key"], wary["key"])
        assert (compared["gains"], compared["losses"], len(compared["flips"])) == (7, 0, 7)
        assert compared["paired"]["p_value"] == pytest.approx(2 * 0.5 * 0.5**7)


def test_golden_set_refuses_in_words_and_counts_first() -> None:
    evaluator = labelled_suite(cases=30, people=0)
    suite = str(evaluator.run.suite_id)

    counted = as_json("golden_set", "Desk", "--suite", suite, "--dry-run")
    lacks = (
        "A golden set needs 50 cases with a final blind label, so that its test part has 20; there are 30, so 20 are "
        "missing."
    )
    assert counted == {
        "cases": 30,
        "responses": 30,
        "labels": {"right": 18, "wrong": 12},
        "left_out": 0,
        "lacks": lacks,
    }
    assert refusal("golden_set", "Desk", "--suite", suite) == lacks
    assert refusal("golden_set", "Desk") == "There is no golden set 'Desk'. Golden sets: none yet."
    assert refusal("golden_set", "Desk", "--suite", suite, "--criterion", "tone") == (
        "No criterion fits. Name one by --rubric and --criterion. The suite has: the response as a whole."
    )
