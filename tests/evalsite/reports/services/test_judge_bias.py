"""Influences on the verdicts of judges, from stored rows to the judge's page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsite.reports import jobs
from evalsite.reports.actions.judge_versions import BIAS
from evalsite.reports.services import snapshots
from evalsite.reports.services.judge_bias import JUDGE_BIAS, compute_judge_bias, effect_words
from evalsite.review.models import Referral
from judging.models import Response, RunEvaluator, Score
from judging.statistics.estimates import Estimate
from judging.statistics.estimators.judge_bias import BiasRow, judge_bias
from tests.evalsite.reports.audited import Audited, audited_judge

pytestmark = pytest.mark.django_db


def wordy_judge(cases: int = 60, **options: Any) -> RunEvaluator:
    """Return a judge that people agree with on short responses, and that gives half of the long wrong ones the point.

    Two responses to a case: a system of its own family, and another.
    """
    random = np.random.default_rng(3)
    tokens = random.integers(50, 900, size=2 * cases)
    people = random.random(2 * cases) < 0.5
    misled = (tokens > 500) & (random.random(2 * cases) < 0.5)
    rows = [Audited(bool(right or wrong), bool(right)) for right, wrong in zip(people, misled, strict=True)]
    evaluator = audited_judge(rows, responses=2, **options)
    for response, size in zip(Response.objects.order_by("pk"), tokens.tolist(), strict=True):
        response.text = "word" * size  # a token has four characters
        response.save()
    kin, other = evaluator.run.systems.order_by("name")
    kin.model, other.model = "openai/gpt-4o-mini", "claude-3"
    kin.save()
    other.save()
    return evaluator


def computed(**options: str) -> dict[str, Any]:
    """Return the report as its job stores it: with a broker, no page computes it."""
    return snapshots.compute(JUDGE_BIAS, subject_id=0, options=options, at=timezone.now()).content


def effects(content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    (judge,) = content["judges"]
    return {effect["key"]: effect for effect in judge["effects"]}


def test_compute_judge_bias_finds_that_long_responses_are_favoured() -> None:
    wordy_judge(cases=90, model="gpt-4")

    content = compute_judge_bias(0, {"name": "Strict"})

    (judge,) = content["judges"]
    by_property = effects(content)
    assert (judge["cases"], judge["verdicts"], judge["mean"]["n"]) == (90, 180, 90)
    assert list(by_property) == ["length", "family", "formatting"]
    length = by_property["length"]["effect"]
    assert length["low"] > 0
    assert by_property["length"]["is_shown"]
    assert by_property["length"]["words"] == effect_words(Estimate(**length), "per 100 tokens")
    assert by_property["family"]["effect"]["value"] is not None
    assert (
        by_property["formatting"]["effect"]["reason"]
        == "Too few: 0 of 10 cases have a different value of this property."
    )


def test_compute_judge_bias_weights_by_the_inverse_of_the_inclusion_probability() -> None:
    evaluator = wordy_judge(model="gpt-4")
    half = Referral.objects.order_by("pk").values_list("pk", flat=True)[:60]
    Referral.objects.filter(pk__in=list(half)).update(inclusion_probability=0.1)

    by_property = effects(compute_judge_bias(0, {"name": "Strict"}))

    scores = dict(Score.objects.filter(evaluator=evaluator).values_list("response_id", "share"))
    rows = [
        BiasRow(
            response.prompt_id,
            (scores[response.pk] or 0) - (referral.item.label == "met"),
            10.0 if referral.inclusion_probability == 0.1 else 1.0,
            len(response.text) / 4,
            0,
            float("gpt" in response.system.model),
        )
        for referral in Referral.objects.order_by("pk").select_related("response__system", "item")
        for response in [referral.response]
        if response is not None and referral.item is not None
    ]
    expected = judge_bias(rows)[0].estimate
    assert by_property["length"]["effect"]["value"] == pytest.approx(expected.value)
    assert by_property["length"]["effect"]["low"] == pytest.approx(expected.low)


def test_compute_judge_bias_says_too_few_below_30_cases() -> None:
    wordy_judge(cases=29)

    content = compute_judge_bias(0, {})

    assert {effect["effect"]["reason"] for effect in content["judges"][0]["effects"]} == {"Too few: 29 of 30."}
    assert content["judges"][0]["mean"]["reason"] == "Too few: 29 of 30."


def test_effect_words_have_signs_units_and_the_interval() -> None:
    assert effect_words(Estimate(0.07, 0.05, 0.09, 60), "per 100 tokens") == "+0.07 per 100 tokens [0.05, 0.09]"
    assert effect_words(Estimate(-0.1, -0.2, 0.004, 60), "when shown first") == "−0.10 when shown first [−0.20, 0.00]"
    assert effect_words(Estimate(None, None, None, 3, "Too few."), "x") == ""


def test_judge_bias_is_computed_in_a_job_however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    wordy_judge(cases=30)
    launched: list[str] = []

    def launch(name: str, **about: Any) -> bool:
        launched.append(name)
        return True

    monkeypatch.setattr(jobs, "launch_report", launch)

    report = jobs.obtain(JUDGE_BIAS, subject_id=0, options={}, at=timezone.now())

    assert (report.content, report.is_computing, launched) == (None, True, ["judge-bias"])


def test_judge_page_shows_what_moves_the_verdict(researcher: Client) -> None:
    evaluator = wordy_judge(model="gpt-4")
    options = {"name": evaluator.name}
    content = computed(**options)

    page = researcher.get(reverse("reports:judge-detail"), options).content.decode()
    fragment = researcher.get(reverse("reports:judge-bias"), options, headers={"HX-Request": "true"}).content.decode()

    for text in (page, fragment):
        assert "Influences on the verdict" in text
        assert effects(content)["length"]["words"] in text
        assert "Too few: 0 of 10 cases have a different value of this property." in text
    whole = researcher.get(reverse("reports:judge-bias"), options)
    assert (whole.status_code, whole["Location"]) == (302, f"{reverse('reports:judge-detail')}?name=Strict")
    nobody = researcher.get(reverse("reports:judge-bias"), {"name": "x"}, headers={"HX-Request": "true"})
    assert nobody.status_code == 404


@pytest.mark.parametrize("query", [{}, {"name": "Strict"}])
def test_bias_export_has_every_effect(researcher: Client, query: dict[str, str]) -> None:
    wordy_judge(model="gpt-4")
    computed(**query)

    answers: dict[str, Any] = {
        name: researcher.get(reverse("reports:bias-export", args=["bias", name]), query) for name in ("csv", "tex")
    }
    files = {name: b"".join(answer.streaming_content) for name, answer in answers.items()}

    assert files["csv"].decode().splitlines()[1].startswith("Strict,")
    assert "per 100 tokens" in files["csv"].decode()
    assert "\\toprule" in files["tex"].decode()


def test_bias_table_is_at_most_eight_columns_wide() -> None:
    wordy_judge(model="gpt-4")
    content = compute_judge_bias(0, {})

    paper, data = BIAS.paper(content), BIAS.data(content)

    assert len(paper.columns) <= 8
    assert (len(list(paper.rows)), len(list(data.rows))) == (3, 3)


def test_report_judges_prints_the_bias(capsys: pytest.CaptureFixture[str]) -> None:
    wordy_judge(model="gpt-4")

    call_command("report", "judges", "--json")

    assert '"bias": [{"judge": "Strict"' in capsys.readouterr().out


def test_judge_page_switches_to_intervals_valid_at_every_look(researcher: Client) -> None:
    wordy_judge(model="gpt-4")
    url, named = reverse("reports:judge-detail"), {"name": "Strict"}
    computed(**named)
    computed(**named, looks="every")

    once, always = researcher.get(url, named), researcher.get(url, named | {"looks": "every"})

    for paths in (("content", "people", "agreement"), ("content", "people", "kappa"), ("trust", "agreement")):
        figures = []
        for answer in (once, always):
            value: Any = answer.context
            for key in paths:
                value = value[key]
            figures.append(value)
        assert figures[0]["value"] == figures[1]["value"]
        assert figures[1]["low"] < figures[0]["low"]
    widths = [
        effect["high"] - effect["low"]
        for answer in (once, always)
        for effect in [answer.context["bias"]["judges"][0]["effects"][0]["effect"]]
    ]
    assert widths[1] > 1.3 * widths[0]
    text = always.content.decode()
    assert "are valid at every look" in text
    assert '<option value="every" selected>' in text
    listed = researcher.get(reverse("reports:judge-list"), {"looks": "every"})
    assert asdict(listed.context["judges"][0][0].people) == always.context["row"]["people"]
