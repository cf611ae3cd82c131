"""Aligning a judge with people as a script of commands, with real calls to a fake model."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.base.rows import BadInput
from evalsite.base.types import JsonDict
from evalsite.review.selectors.golden import question_words
from evalsite.review.selectors.verdict_reviews import thresholds_of
from judging.models import Judge, RunEvaluator
from judging.selectors.judges import versions_of
from tests import factories
from tests.evalsite.golden import PLAIN, WARY, grader, grading_model, labelled_suite, sly_in_development

GOLDEN = ("report", "golden", "--golden-set", "Desk")
COMPARISON = ("report", "golden-comparison", "--golden-set", "Desk")
pytestmark = pytest.mark.django_db(transaction=True)


def as_json(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(*arguments, "--json", stdout=out)
    output = json.loads(out.getvalue())
    assert isinstance(output, dict)
    return output


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def refusal(*arguments: str) -> str:
    with pytest.raises(BadInput) as refused:
        call_command(*arguments)
    return str(refused.value)


def test_a_study_is_a_script() -> None:
    evaluator = labelled_suite()
    suite = evaluator.run.suite.benchmark.slug
    with grading_model() as model:
        judge = grader(model.url)
        created = as_json("golden", "create", "--name", "Desk", "--question", suite)
        assert {part: row["cases"] for part, row in created["parts"].items()} == {
            "examples": 15,
            "development": 45,
            "test": 40,
        }
        sly = sly_in_development()
        estimated = as_json("golden", "estimate", "Desk", "--judges", "Grader")
        assert (estimated["tasks"], estimated["calls"], estimated["calls_already_made"]) == (45, 135, 0)
        assert as_json("golden", "run", "Desk", "--judges", "Grader", "--wait")["done"] == 45

        asked = ("Desk", "--version", "Grader", "--endpoint", judge.asked_endpoint.name)
        estimate = as_json("golden", "estimate-wording", *asked)
        assert (estimate["disagreements"], estimate["rules"], estimate["most_cost"]) == (sly, 0, None)
        proposed = as_json("golden", "propose", *asked, "--wait")
        added = {"before": None, "after": "An answer that sounds fine may be wrong.", "place": 0}
        assert (proposed["status"], proposed["changes"]) == ("ready", [added])
        assert Judge.objects.get(pk=judge.pk).options["prompt_text"] == PLAIN  # nothing is applied by itself
        number = str(proposed["proposal"])
        assert refusal("proposal", "accept", number, "--lines", "7") == (
            "--lines: Select a valid choice. 7 is not one of the available choices."
        )
        as_json("proposal", "accept", number, "--lines", "all")
        assert Judge.objects.get(pk=judge.pk).options["prompt_text"] == WARY
        as_json("golden", "run", "Desk", "--judges", "Grader", "--wait")

        figures = as_json(*GOLDEN)
        wary, plain = figures["development"]
        assert figures["test"] == []
        assert (wary["agreement"]["value"], plain["agreement"]["value"]) == (1.0, pytest.approx(1 - sly / 45))
        compared = as_json(*COMPARISON, "--before", plain["key"], "--after", wary["key"])
        assert (compared["gains"], compared["losses"], len(compared["flips"])) == (sly, 0, sly)
        assert compared["paired"]["p_value"] == pytest.approx(0.5**sly)
        both = ("--before", plain["key"], "--after", wary["key"])
        assert printed(*GOLDEN, "--csv").splitlines()[1].startswith(f"Grader {wary['key'][:8]},45,1.0,")
        paper = printed(*COMPARISON, *both, "--tex").splitlines()
        assert [line.split(" & ")[:4] for line in paper if line.startswith("45 ")] == [["45", str(sly), str(sly), "0"]]
        flips = printed(*COMPARISON, *both, "--csv", "--table", "flips").splitlines()
        assert [line.split(",")[2:6] for line in flips[1:]] == [["Wrong", "Right", "Wrong", "gained"]] * sly
        assert refusal(*GOLDEN, "--tex", "--table", "flips") == (
            "There is no table “flips” here. Tables: development, development-labels, test, test-labels. (--table)"
        )

        stock = as_json("golden_response", "list", "--golden-set", "Desk", "--part", "examples")["rows"]
        assert (len(stock), {row["people"] for row in stock}) == (15, {"Right", "Wrong"})
        listed = as_json("golden_response", "list", "--golden-set", "Desk", "--version", plain["key"])["rows"]
        assert [row["people"] for row in listed] == ["Wrong"] * sly
        first, second, third = (str(row["item"]) for row in listed[:3])
        shown = as_json("golden_response", "show", first)["judges"]
        assert [(row["version"], row["label"]) for row in shown] == [(wary["key"], "Wrong"), (plain["key"], "Right")]
        example = as_json("golden_response", "add-example", first, "--judge", "Grader")["options"]["examples"]
        assert example.splitlines()[-3:] == ["  reply: |-", "    sly answer", "    I"]
        assert as_json("golden_response", "note-rule", second, "--text", "Distrust  sly answers.") == {
            "item": int(second),
            "rule": "Distrust sly answers.",
        }
        deleted = as_json("golden", "delete-rule", "Desk", "--rule", "Distrust sly answers.")
        assert deleted == {"deleted": "Distrust sly answers."}
        unknown = refusal("golden", "delete-rule", "Desk", "--rule", "Distrust sly answers.")
        assert unknown == "--rule: There is no rule “Distrust sly answers.”. There are none yet."
        rita = factories.user("rita", Role.RESEARCHER)
        as_json("golden_response", "doubt", third, "--reason", "It is half right.", "--by", rita.username)
        development = as_json("golden", "show", "Desk")["parts"]["development"]
        assert (development["cases"], development["without_label"]) == (44, 1)
        read = as_json(*GOLDEN)["development"]
        assert [row["items"] for row in read] == [43, 43]

        as_json("golden", "run", "Desk", "--judges", "Grader", "--wait")
        shown = as_json(*GOLDEN)["development"]
        assert (len(shown), [text[:18] for text in shown[0]["changes"]]) == (3, ["The prompt changed"])
        assert refusal("golden", "open", "Desk", "--version", "Nobody").startswith("--version: 'Nobody' matches 0")
        assert as_json(*GOLDEN)["test"] == []
        assert as_json("golden", "open", "Desk", "--version", wary["key"], "--wait")["status"] == "finished"
        again = refusal("golden", "open", "Desk", "--version", wary["key"])
        assert again.startswith("The test was opened for this version already")
        as_json("golden", "open", "Desk", "--version", plain["key"], "--wait")
        second, first = as_json(*GOLDEN)["test"]
        assert (first["agreement"]["value"], first["opened_before"]) == (1.0, 0)
        assert (second["opened_before"], second["items"]) == (1, 40)
        entry = AuditEntry.objects.filter(action="golden.test_opened").latest("pk")
        assert entry.detail["opened_before"] == 1

        certified = as_json("judge", "certify", "--name", "Grader", "--version", wary["key"])
        assert (certified["passed"], certified["items"]) == (True, 40)
        chosen = as_json("judge", "set-threshold", "--name", "Grader", "--version", wary["key"])
        assert chosen["threshold"] == 1.0
        as_json("golden", "use", "Desk", "--version", wary["key"])
        ran = as_json("run", "create", "--suite", suite, "--judges", "Grader", "--wait", "--people", "nobody")
        routed = RunEvaluator.objects.get(run=ran["run"])
        assert thresholds_of([routed]) == {routed.pk: 1.0}
        assert versions_of([routed])[routed.pk].key == wary["key"]
        trusted = as_json("report", "trust", "--name", "Grader")
        assert trusted["certificate"] == "Alternative annotator test passed, 40 audited items."


def test_golden_set_refuses_in_words_and_counts_first() -> None:
    evaluator = labelled_suite(cases=30, people=0)
    suite = evaluator.run.suite.benchmark.slug

    counted = as_json("golden", "count", "--question", suite)
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
    assert refusal("golden", "create", "--name", "Desk", "--question", suite) == lacks
    assert refusal("golden", "show", "Desk") == "There is no golden set “Desk”. There are none yet."
    assert refusal("golden", "count", "--question", "tone") == (
        f"--question: There is no criterion “tone”. There are: {evaluator.run.suite}: the response as a whole."
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lowest": 1, "highest": 10}, "1 to 10"),
        ({"labels_text": "bad = 0\ngood = 1"}, "bad, good"),
    ],
)
def test_judges_with_a_scale_of_their_own_are_named_by_their_labels(options: JsonDict, words: str) -> None:
    judge = {"judge_kind": "custom", "judge_options": {"prompt_text": "{{ question }} {{ response }}", **options}}

    assert question_words(factories.evaluator(kind="judge", options=judge)) == words
