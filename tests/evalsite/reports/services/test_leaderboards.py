"""Leaderboards over the small suite of conftest."""

from __future__ import annotations

from typing import Any

import pytest

from evalsite.reports.services.leaderboards import NO_NUMBERS, NOT_ASKED, compute_comparison, compute_leaderboard
from evalsite.review.models import ReviewItem
from evalsite.review.scales import JUDGEMENT, PREFERENCE, labels_to_json
from judging.models import Score
from tests import factories
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db


def means(payload: dict[str, Any], mode: str = "raw") -> dict[str, float | None]:
    return {row["system"]: row["figures"][mode]["value"] for row in payload["rows"]}


def counts(payload: dict[str, Any]) -> dict[str, tuple[int, int, int, int]]:
    names = ("scored", "unscored", "missing", "human")
    return {row["system"]: tuple(row[name] for name in names) for row in payload["rows"]}


def test_compute_leaderboard_averages_cases_and_gives_the_null_score_without_a_response(scored: Scored) -> None:
    payload = compute_leaderboard(scored.rules.pk, {})

    # cy: 1, 0 and the null score 0 of case 4; case 3 is undecided and left out: 1 / 3
    assert means(payload) == {"ada": 0.875, "cy": pytest.approx(1 / 3), "bob": 0.25}
    assert counts(payload) == {"ada": (4, 0, 0, 0), "cy": (2, 1, 1, 0), "bob": (4, 0, 0, 0)}


def test_compute_leaderboard_leaves_out_what_has_no_response_when_asked(scored: Scored) -> None:
    payload = compute_leaderboard(scored.rules.pk, {"missing": "skip"})

    assert means(payload) == {"ada": 0.875, "cy": 0.5, "bob": 0.25}
    assert counts(payload)["cy"] == (2, 1, 1, 0)


def test_compute_leaderboard_filters_cases(scored: Scored) -> None:
    easy_sql = compute_leaderboard(scored.rules.pk, {"scenario": "easy", "lang": "sql"})  # case 2 alone

    assert means(easy_sql) == {"ada": 1.0, "bob": 1.0, "cy": 0.0}
    assert easy_sql["n_cases"] == 1
    assert easy_sql["filters"] == {"scenario": ["easy", "hard"], "lang": ["python", "sql"], "type": []}


def test_compute_leaderboard_counts_wins_over_all_others_with_ties_half(scored: Scored) -> None:
    payload = compute_leaderboard(scored.rules.pk, {})

    # ada by case: beats bob, ties cy (0.75); ties bob, beats cy (0.75); beats bob (1); beats both (1)
    # bob: loses both (0); ties ada, beats cy (0.75); loses (0); loses to ada, ties cy's null score (0.25)
    # cy: ties ada, beats bob (0.75); loses both (0); undecided; loses to ada, ties bob (0.25)
    wins = {row["system"]: row["win_rate"]["value"] for row in payload["rows"]}
    assert wins == {"ada": 0.875, "bob": 0.25, "cy": pytest.approx(1 / 3)}


def test_compute_leaderboard_ties_what_four_cases_cannot_separate(scored: Scored) -> None:
    payload = compute_leaderboard(scored.rules.pk, {})

    # ada - bob: 1, 0, 1, 0.5, t = 0.625 / (0.4787 / 2) = 2.61, p = 0.08 > 0.05 even without Holm
    assert {row["system"]: (row["ranks"]["raw"], row["tied"]["raw"]) for row in payload["rows"]} == {
        "ada": (1, True),
        "bob": (1, True),
        "cy": (1, True),
    }
    ada_bob = next(p for p in payload["pairs"] if {p["first"], p["second"]} == {scored.ada.pk, scored.bob.pk})
    assert (ada_bob["difference"]["value"], ada_bob["is_separated"]) == (0.625, False)
    assert ada_bob["p_value"] == pytest.approx(0.0796, abs=1e-3)


def test_compute_leaderboard_shows_means_by_scenario(scored: Scored) -> None:
    matrix = compute_leaderboard(scored.rules.pk, {})["matrix"]

    assert (matrix["dimension"], matrix["columns"]) == ("scenario", ["easy", "hard"])
    assert matrix["cells"][str(scored.ada.pk)] == [{"mean": 1.0, "n": 2}, {"mean": 0.75, "n": 2}]
    assert matrix["cells"][str(scored.cy.pk)] == [{"mean": 0.5, "n": 2}, {"mean": 0.0, "n": 1}]


def test_compute_leaderboard_reduces_attempts_by_the_suites_rule(scored: Scored) -> None:
    second = factories.response(prompt=scored.cases[0].prompt, system=scored.bob, attempt=1)
    factories.score(evaluator=scored.rules, response=second, share=1.0)

    # bob's case 1 has the attempts 0 and 1
    assert means(compute_leaderboard(scored.rules.pk, {}))["bob"] == 0.375  # avg: (0.5 + 1 + 0 + 0) / 4
    scored.suite.attempt_reduce_mode = "max"
    scored.suite.save()
    assert means(compute_leaderboard(scored.rules.pk, {}))["bob"] == 0.5  # max: (1 + 1 + 0 + 0) / 4


def test_compute_leaderboard_leaves_out_a_case_with_an_attempt_that_still_waits(scored: Scored) -> None:
    second = factories.response(prompt=scored.cases[0].prompt, system=scored.bob, attempt=1)
    factories.task(evaluator=scored.rules, response=second, status="waiting")

    payload = compute_leaderboard(scored.rules.pk, {})

    assert means(payload)["bob"] == pytest.approx(1 / 3)  # 1, 0, 0 remain
    assert counts(payload)["bob"] == (3, 1, 0, 0)


def human_item(scored: Scored, place: int, label: str, *, labels: Any = JUDGEMENT, **fields: Any) -> ReviewItem:
    score = Score.objects.get(
        evaluator=scored.rules, response__system=scored.ada, response__prompt=scored.cases[place].prompt
    )
    queue = getattr(scored.run, "queue", None) or factories.queue(run=scored.run, labels=labels_to_json(labels))
    defaults = {"arm": "audit", "inclusion_probability": 0.5, "status": "settled"}
    return factories.review_item(queue=queue, score=score, label=label, **defaults | fields)


def test_compute_leaderboard_says_why_there_is_no_corrected_mean(scored: Scored) -> None:
    row = compute_leaderboard(scored.rules.pk, {})["rows"][0]

    assert row["figures"]["corrected"] == {"value": None, "low": None, "high": None, "n": 0, "reason": NOT_ASKED}


def test_compute_leaderboard_corrects_by_the_audited_labels(scored: Scored) -> None:
    human_item(scored, 0, "wrong")  # judge 1, people 0
    human_item(scored, 3, "partly")  # judge 0.5, people 0.5

    row = compute_leaderboard(scored.rules.pk, {})["rows"][0]

    # human: (0 + 0.5) / 2. corrected: labelled f = 1, 0.5 (mean .75), Y = 0, .5, covariance -0.125 < 0, so the
    # judge is not trusted at all (l = 0) and the mean of the labels stands
    assert row["human"] == 2
    assert row["figures"]["human"]["value"] == 0.25
    assert row["figures"]["corrected"]["value"] == 0.25


def test_compute_leaderboard_weighs_unequal_inclusion(scored: Scored) -> None:
    human_item(scored, 0, "wrong", inclusion_probability=0.5)
    human_item(scored, 3, "right", inclusion_probability=1.0)

    row = compute_leaderboard(scored.rules.pk, {})["rows"][0]

    # mean of 1 + (0 - 1) / .5, 1, 1, .5 + (1 - .5) / 1 = (-1 + 1 + 1 + 1) / 4
    assert row["figures"]["corrected"]["value"] == 0.5


def test_compute_leaderboard_counts_routed_labels_but_does_not_average_them(scored: Scored) -> None:
    human_item(scored, 0, "wrong", arm="routed", inclusion_probability=None)

    row = compute_leaderboard(scored.rules.pk, {})["rows"][0]

    assert (row["human"], row["figures"]["human"]["reason"]) == (1, NOT_ASKED)


def test_compute_leaderboard_cannot_average_preferences(scored: Scored) -> None:
    human_item(scored, 0, "1", labels=PREFERENCE)

    assert compute_leaderboard(scored.rules.pk, {})["rows"][0]["figures"]["human"]["reason"] == NO_NUMBERS


def test_compute_comparison_lists_the_cases_that_differ_most(scored: Scored) -> None:
    payload = compute_comparison(scored.rules.pk, {"systems": [scored.bob.pk, scored.ada.pk]})

    assert [(row["key"], row["first"], row["second"], row["difference"]) for row in payload["cases"]] == [
        ("case-1", 0.0, 1.0, -1.0),
        ("case-3", 0.0, 1.0, -1.0),
        ("case-4", 0.0, 0.5, -0.5),
        ("case-2", 1.0, 1.0, 0.0),
    ]
    assert payload["wins"] == {"first": 0, "ties": 1, "second": 3}
    assert [system["name"] for system in payload["systems"]] == ["bob", "ada"]


def test_compute_leaderboard_clips_the_mean_where_the_rubric_says_so_and_never_one_case() -> None:
    suite = factories.suite(cases=2)
    rubric = factories.rubric(benchmark_aggregate={"type": "mean", "clip": [0, 1]})
    evaluator = factories.evaluator(run=factories.run(suite=suite), rubric=rubric)
    low, mixed = factories.system("low"), factories.system("mixed")
    evaluator.run.systems.set([low, mixed])
    for system, shares in ((low, (-4.0, -4.0)), (mixed, (-0.5, 1.0))):
        for case, share in zip(suite.cases.order_by("pk"), shares, strict=True):
            response = factories.response(system=system, prompt=case.prompt)
            factories.score(evaluator=evaluator, response=response, share=share)

    payload = compute_leaderboard(evaluator.pk, {"missing": "skip"})

    assert means(payload) == {"mixed": 0.25, "low": 0.0}
