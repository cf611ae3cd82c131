"""What `judge` does with thresholds, certificates and anchors, the last with real calls to a fake model."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from evalsite.accounts.roles import Role
from evalsite.api import urls as _urls  # noqa: F401 - loads what is declared
from evalsite.base.rows import BadInput
from evalsite.reports.services.judge_trust import drift_of_version
from evalsite.review.models import AnchorRound, AnchorSet, Certificate, EvaluatorThreshold, ReviewItem
from evalsite.review.questions.scales import labels_to_json, level_scale
from evalsite.review.services.judge_versions import ask_anchors
from evalsite.review.services.run_referrals import open_items_for_run
from judging.models import Call, Judge, ModelEndpoint, RunEvaluator, RunKind
from judging.services.evaluator_tasks import freeze
from judging.services.runs.run_plans import RunNotPossible
from tests import factories
from tests.evalsite.reports.audited import Audited, audited_judge
from tests.factories import NOON
from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.run_rows import HALF, judged_run, work

pytestmark = pytest.mark.django_db(transaction=True)

NAMED = ("--name", "Strict")
PREVIEW, SET = ("judge", "preview-threshold", *NAMED), ("judge", "set-threshold", *NAMED)
CERTIFY, TRUST = ("judge", "certify", *NAMED), ("report", "trust", *NAMED)
SURE = [Audited(True, place > 0, 0.95) for place in range(40)]


def as_json(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(*arguments, "--json", stdout=out)
    output = json.loads(out.getvalue())
    assert isinstance(output, dict)
    return output


def refusal(*arguments: str) -> str:
    with pytest.raises(BadInput) as refused:
        call_command(*arguments)
    assert refused.value.returncode == 2
    return str(refused.value)


def test_preview_threshold_prints_the_curve_and_set_threshold_saves() -> None:
    audited_judge(SURE)

    looked = as_json(*PREVIEW, "--plan", "1")
    assert not EvaluatorThreshold.objects.exists()
    saved = as_json(*SET, "--plan", "1")
    after = as_json(*PREVIEW)

    assert (looked["reason"], looked["looks"], looked["looks_left"]) == ("", 1, 1)
    assert looked["curve"] == [
        {"threshold": 0.95, "accepted": 40, "errors": 1, "cases": 40, "proving": 40, "coverage": 1.0, "risk": 0.025}
    ]
    assert looked["cases_needed"][0] == {"error_rate": 0.0, "accepted_cases": 22}
    assert (saved["threshold"], saved["accepted"], saved["annotations_per_thousand"]) == (0.95, 1.0, 0)
    assert saved["reason"] == "Accepts 100%, wrong in at most 9.4% with 90% certainty (look 1 of 1)."
    assert (after["looks_taken"], after["looks_left"]) == ([saved["reason"]], 0)
    assert EvaluatorThreshold.objects.get().version_key == saved["version"]
    assert looked["tolerance"] == 0
    assert refusal(*PREVIEW, "--tolerance", "1") == (
        "--tolerance: The labels of this judge are two, or have no order: choose 0."
    )
    removed = [as_json("judge", "remove-threshold", "--name", "Strict") for _ in range(2)]
    assert [output["removed"] for output in removed] == [True, False]
    assert not EvaluatorThreshold.objects.exists()
    assert as_json(*SET) == saved  # in force again, without another look
    assert refusal(*SET).startswith("The one look at this version and error rate")


def test_thresholds_of_somebody_elses_judge_are_set_and_removed_by_its_owner() -> None:
    audited_judge(SURE)
    olga, otto = (factories.user(name, Role.RESEARCHER) for name in ("olga", "otto"))
    Judge.objects.update(created_by=olga)
    removes = ("judge", "remove-threshold", *NAMED)

    assert [refusal(*words, "--by", otto.username) for words in (SET, removes)] == [
        "Strict is the work of olga. Only they, its co-owners and admins change it; they can add you."
    ] * 2
    assert as_json(*SET, "--plan", "1", "--by", olga.username)["threshold"] == 0.95
    assert as_json(*removes, "--by", olga.username)["removed"]


def test_a_look_that_accepts_nothing_is_used_up() -> None:
    audited_judge(SURE)

    refused = refusal(*SET)  # 1 of 40 at 98% certainty

    assert refused.startswith("Even the most confident verdicts are wrong too often. About ")
    assert refused.endswith(" (look 1 of 5).")
    assert as_json(*PREVIEW)["looks_left"] == 4


def test_thresholds_are_refused_in_words() -> None:
    audited_judge(SURE)

    assert refusal(*PREVIEW[:-1], "Lax") == "--name: There is no judge “Lax”. There are: Strict."
    assert refusal(*PREVIEW, "--version", "x").startswith("--version: “x” matches 0 versions of “Strict”.")
    assert refusal(*SET, "--error", "2") == (
        "40 audited cases; at least 194 are needed. No look was used."  # 0.98^194 < .02
    )
    assert refusal(*PREVIEW, "--error", "80").startswith("--error: ")


def test_certify_issues_a_certificate_that_the_report_shows() -> None:
    audited_judge(SURE, people=[factories.user(name) for name in ("ada", "bob", "cy")])

    before = as_json(*TRUST)["certificate"]
    issued = as_json(*CERTIFY, "--annotators", "crowd")

    assert before == "No certificate."
    assert as_json(*TRUST)["certificate"] == "Alternative annotator test passed, 40 audited items."
    assert (issued["passed"], issued["annotators"], issued["items"]) == (True, "crowd", 40)
    assert Certificate.objects.get().version_key == issued["version"]


def test_certify_is_not_held_with_too_few_people() -> None:
    audited_judge(SURE, people=[factories.user("ada")])

    assert refusal(*CERTIFY) == (
        "No test: 0 of 3 people needed share 30 cases with the judge and somebody else (ada 0)."
    )


def anchored(fake_llm: FakeLLM) -> RunEvaluator:
    """Return a level judge that gave 24 responses 50 of 100, where people say 50 of 20 and 100 of four."""
    fake_llm.config(reply=HALF)
    run = judged_run(cases=24, url=fake_llm.url)
    assert work(run) == "ended" or run.status == "finished"
    evaluator = run.evaluators.get()
    queue = factories.queue(run=run, labels=labels_to_json(level_scale([25, 50])))
    for index, verdict in enumerate(evaluator.verdicts.order_by("pk")):
        label = "100" if index < 4 else "50"
        factories.review_item(queue=queue, verdict=verdict, arm="audit", status="settled", label=label, decided_at=NOON)
    return evaluator


def test_ask_anchors_asks_again_by_new_calls_and_the_report_shows_the_drift(fake_llm: FakeLLM) -> None:
    evaluator = anchored(fake_llm)
    before = Call.objects.count()
    fake_llm.config(reply=HALF.replace("50", "25"))

    made = as_json("judge", "make-anchors", "--name", evaluator.name)
    asked = as_json("judge", "ask-anchors", "--name", evaluator.name, "--wait")
    output = as_json("report", "trust", "--name", evaluator.name)["anchors"]

    assert (made["anchors"], asked["status"]) == (24, "finished")
    run = AnchorRound.objects.get().run
    assert (run.kind, run.status, run.total, run.done) == (RunKind.ANCHOR, "finished", 24, 24)
    assert Call.objects.count() == before + 24  # nothing is reused, though every question was asked before
    first, second = output["rounds"]
    assert (first["agreement"]["value"], first["change"], first["run"]) == (pytest.approx(20 / 24), None, None)
    assert (second["agreement"]["value"], second["run"]) == (0.0, run.pk)
    assert second["change"]["value"] == pytest.approx(-20 / 24)
    assert second["flips"] == pytest.approx(20 / 24)
    assert second["p_value"] < 0.001
    assert output["asks"] == ""


def test_an_anchor_round_sends_nothing_to_people(fake_llm: FakeLLM) -> None:
    evaluator = anchored(fake_llm)
    items = ReviewItem.objects.count()

    as_json("judge", "make-anchors", "--name", evaluator.name)
    as_json("judge", "ask-anchors", "--name", evaluator.name, "--wait")

    assert ReviewItem.objects.count() == items
    assert open_items_for_run(run=evaluator.run, at=NOON) == 0


def test_anchors_are_asked_for_when_another_model_answers(fake_llm: FakeLLM) -> None:
    evaluator = anchored(fake_llm)
    as_json("judge", "make-anchors", "--name", evaluator.name)
    endpoint = ModelEndpoint.objects.get()
    Call.objects.create(
        key="f" * 64,
        endpoint=endpoint,
        status="finished",
        request={},
        reply_head={"model": "fake-2027", "system_fingerprint": "fp_1"},
        finished_at=timezone.now() + timedelta(minutes=1),
    )

    drift = drift_of_version(AnchorSet.objects.get().version_key)

    assert drift is not None
    assert drift.asks == "The endpoint now serves fake-2027 (fp_1); the anchor set was judged by fake."


def test_anchors_are_not_asked_of_a_changed_judge(fake_llm: FakeLLM) -> None:
    evaluator = anchored(fake_llm)
    as_json("judge", "make-anchors", "--name", evaluator.name)
    ModelEndpoint.objects.update(model="fake-2")

    with pytest.raises(RunNotPossible, match=r"The model was fake and is fake-2\. Create a new anchor set for it\."):
        ask_anchors(anchor_set=AnchorSet.objects.get(), budget=None, actor=None, at=NOON)
    assert "The model was fake and is fake-2." in refusal("judge", "ask-anchors", "--name", evaluator.name)
    assert not AnchorRound.objects.exists()


def test_what_an_endpoint_is_asked_with_is_frozen() -> None:
    plain = factories.judge(kind="level_cascade")
    eager = factories.judge(kind="level_cascade", endpoint=factories.endpoint(extra={"reasoning_effort": "high"}))

    assert "endpoint_options" not in freeze(judge=plain, options={})
    assert freeze(judge=eager, options={})["endpoint_options"] == {"reasoning_effort": "high"}


def test_a_look_at_a_judge_without_confidence_says_that_more_labels_would_not_help() -> None:
    audited_judge([Audited(True, place > 0, None) for place in range(40)])

    assert refusal(*SET).startswith("No labelled verdict has a measured confidence. A judge measures it if its option")
    assert as_json(*PREVIEW)["looks_left"] == 5
