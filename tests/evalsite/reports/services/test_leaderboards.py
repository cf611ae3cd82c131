"""Leaderboards over the small suite of conftest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalsite.reports.services.leaderboards import NO_NUMBERS, compute_comparison, compute_leaderboard
from evalsite.review.models import ReviewItem
from evalsite.review.questions.scales import JUDGEMENT, Label, labels_to_json
from judging.models import Response, RunEvaluator, Score
from judging.selectors.runs import run_figures
from judging.services.file_imports.imports import store_import
from judging.services.file_imports.intake import ImportOptions
from tests import factories
from tests.evalsite.reports.conftest import Scored
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def means(content: dict[str, Any], mode: str = "raw") -> dict[str, float | None]:
    return {row["system"]: row["figures"][mode]["value"] for row in content["rows"]}


def counts(content: dict[str, Any]) -> dict[str, tuple[int, int, int, int]]:
    names = ("scored", "unscored", "missing", "human")
    return {row["system"]: tuple(row[name] for name in names) for row in content["rows"]}


def test_compute_leaderboard_averages_cases_and_gives_the_null_score_without_a_response(scored: Scored) -> None:
    content = compute_leaderboard(scored.rules.pk, {})

    # cy: 1, 0 and the null score 0 of case 4; case 3 is undecided and left out: 1 / 3
    assert means(content) == {"ada": 0.875, "cy": pytest.approx(1 / 3), "bob": 0.25}
    assert counts(content) == {"ada": (4, 0, 0, 0), "cy": (2, 1, 1, 0), "bob": (4, 0, 0, 0)}


def test_compute_leaderboard_leaves_out_what_has_no_response_when_asked(scored: Scored) -> None:
    content = compute_leaderboard(scored.rules.pk, {"missing": "skip"})

    assert means(content) == {"ada": 0.875, "cy": 0.5, "bob": 0.25}
    assert counts(content)["cy"] == (2, 1, 1, 0)


def test_compute_leaderboard_has_no_mean_of_null_scores_where_no_response_was_scored() -> None:
    suite = factories.suite(cases=[factories.case(grading={"keywords": ["yes"]}) for _ in range(2)])
    evaluator = factories.evaluator(run=factories.run(suite=suite))
    read, unread = factories.system("read"), factories.system("unread")
    evaluator.run.systems.set([read, unread])
    prompt = suite.cases.order_by("pk")[0].prompt
    factories.score(evaluator=evaluator, response=factories.response(system=read, prompt=prompt), share=1.0)
    factories.score(evaluator=evaluator, response=factories.response(system=unread, prompt=prompt), share=None)

    content = compute_leaderboard(evaluator.pk, {})

    assert means(content) == {"read": 0.5, "unread": None}
    assert counts(content) == {"read": (1, 0, 1, 0), "unread": (0, 1, 1, 0)}


def test_compute_leaderboard_by_rules_has_no_null_score_of_a_case_without_rules() -> None:
    ruled, bare = factories.case(grading={"keywords": ["yes"]}), factories.case()
    evaluator = factories.evaluator(run=factories.run(suite=factories.suite(cases=[ruled, bare])))
    system = factories.system("oak")
    evaluator.run.systems.set([system, factories.system("elm")])
    factories.score(evaluator=evaluator, response=factories.response(system=system, prompt=ruled.prompt), share=0.5)
    contents = [compute_leaderboard(evaluator.pk, {})]
    factories.score(evaluator=evaluator, response=factories.response(system=system, prompt=bare.prompt), share=0.0)
    contents.append(compute_leaderboard(evaluator.pk, {}))  # with what an earlier release stored

    assert [means(content) for content in contents] == [{"oak": 0.5, "elm": 0.0}] * 2
    assert [counts(content) for content in contents] == [{"oak": (1, 1, 0, 0), "elm": (0, 1, 1, 0)}] * 2


def test_compute_leaderboard_filters_cases(scored: Scored) -> None:
    easy_sql = compute_leaderboard(scored.rules.pk, {"scenario": "easy", "lang": "sql"})  # case 2 alone

    assert means(easy_sql) == {"ada": 1.0, "bob": 1.0, "cy": 0.0}
    assert easy_sql["n_cases"] == 1
    assert easy_sql["filters"] == {"scenario": ["easy", "hard"], "lang": ["python", "sql"], "type": []}


def test_compute_leaderboard_counts_wins_over_all_others_with_ties_half(scored: Scored) -> None:
    content = compute_leaderboard(scored.rules.pk, {})

    # ada by case: beats bob, ties cy (0.75); ties bob, beats cy (0.75); beats bob (1); beats both (1)
    # bob: loses both (0); ties ada, beats cy (0.75); loses (0); loses to ada, ties cy's null score (0.25)
    # cy: ties ada, beats bob (0.75); loses both (0); undecided; loses to ada, ties bob (0.25)
    wins = {row["system"]: row["wins"]["raw"]["value"] for row in content["rows"]}
    assert wins == {"ada": 0.875, "bob": 0.25, "cy": pytest.approx(1 / 3)}


def test_compute_leaderboard_ties_what_four_cases_cannot_separate(scored: Scored) -> None:
    content = compute_leaderboard(scored.rules.pk, {})

    assert {row["system"]: row["ranks"]["raw"] for row in content["rows"]} == {
        "ada": [1, 3],
        "bob": [1, 3],
        "cy": [1, 3],
    }
    ada_bob = next(p for p in content["pairs"]["raw"] if {p["first"], p["second"]} == {scored.ada.pk, scored.bob.pk})
    assert ada_bob == {
        "first": scored.ada.pk,
        "second": scored.bob.pk,
        "difference": {
            "value": 0.625,
            "low": None,
            "high": None,
            "n": 4,
            "reason": "Too few cases to compare two systems: 4 of 30.",
        },
        "p_value": None,
        "adjusted_p": None,
        "is_separated": False,
    }


def test_compute_leaderboard_shows_no_interval_of_four_cases(scored: Scored) -> None:
    ada = compute_leaderboard(scored.rules.pk, {})["rows"][0]

    reason = "Too few cases for an interval: 4 of 20."
    assert ada["figures"]["raw"] == {"value": 0.875, "low": None, "high": None, "n": 4, "reason": reason}


def test_compute_leaderboard_shows_means_by_scenario(scored: Scored) -> None:
    matrix = compute_leaderboard(scored.rules.pk, {})["matrix"]

    assert (matrix["dimension"], matrix["columns"]) == ("scenario", ["easy", "hard"])
    cells = {name: [(cell["mean"], cell["n"]) for cell in row] for name, row in matrix["cells"]["raw"].items()}
    assert cells[str(scored.ada.pk)] == [(1.0, 2), (0.75, 2)]
    assert cells[str(scored.cy.pk)] == [(0.5, 2), (0.0, 1)]
    assert [cell["reason"] for cell in matrix["cells"]["corrected"][str(scored.ada.pk)]] == [
        "Too few: 0 of 20 audited cases.",
        "Too few: 0 of 20 audited cases.",
    ]


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

    content = compute_leaderboard(scored.rules.pk, {})

    assert means(content)["bob"] == pytest.approx(1 / 3)  # 1, 0, 0 remain
    assert counts(content)["bob"] == (3, 1, 0, 0)


def human_item(scored: Scored, index: int, label: str, *, labels: Any = JUDGEMENT, **fields: Any) -> ReviewItem:
    score = Score.objects.get(
        evaluator=scored.rules, response__system=scored.ada, response__prompt=scored.cases[index].prompt
    )
    queue = getattr(scored.run, "queue", None) or factories.queue(run=scored.run, labels=labels_to_json(labels))
    defaults = {"arm": "audit", "inclusion_probability": 0.5, "status": "settled"}
    return factories.review_item(queue=queue, score=score, label=label, **defaults | fields)


def test_compute_leaderboard_says_how_many_audited_cases_are_wanted(scored: Scored) -> None:
    human_item(scored, 0, "wrong")
    human_item(scored, 3, "partly")

    row = compute_leaderboard(scored.rules.pk, {})["rows"][0]

    reason = "Too few: 2 of 20 audited cases."
    assert row["figures"]["corrected"] == {"value": None, "low": None, "high": None, "n": 2, "reason": reason}
    assert (row["ranks"]["corrected"], row["decided"], row["drawn"], row["human"]) == (None, 2, 2, 2)


def test_compute_leaderboard_counts_routed_labels_but_does_not_average_them(scored: Scored) -> None:
    human_item(scored, 0, "wrong", arm="routed", inclusion_probability=None)

    row = compute_leaderboard(scored.rules.pk, {})["rows"][0]

    assert (row["human"], row["decided"], row["drawn"]) == (1, 0, 0)


def test_compute_leaderboard_cannot_average_names(scored: Scored) -> None:
    human_item(scored, 0, "formal", labels=tuple(Label(word, word) for word in ("formal", "casual")))

    assert compute_leaderboard(scored.rules.pk, {})["rows"][0]["figures"]["human"]["reason"] == NO_NUMBERS


def test_compute_comparison_lists_the_cases_that_differ_most(scored: Scored) -> None:
    content = compute_comparison(scored.rules.pk, {"systems": [scored.bob.pk, scored.ada.pk]})

    assert [(row["key"], row["first"], row["second"], row["difference"]) for row in content["cases"]] == [
        ("case-1", 0.0, 1.0, -1.0),
        ("case-3", 0.0, 1.0, -1.0),
        ("case-4", 0.0, 0.5, -0.5),
        ("case-2", 1.0, 1.0, 0.0),
    ]
    assert content["wins"] == {"first": 0, "ties": 1, "second": 3}
    assert [system["name"] for system in content["systems"]] == ["bob", "ada"]


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

    content = compute_leaderboard(evaluator.pk, {"missing": "skip"})

    assert means(content) == {"mixed": 0.25, "low": 0.0}


def test_compute_leaderboard_of_a_log_leaves_out_stored_responses_that_it_does_not_score() -> None:
    def row(system: str, number: int, **more: object) -> dict[str, object]:
        return {"question_id": f"q{number}", "system": system, **more}

    def score(system: str, number: int, judge: str, value: int) -> dict[str, object]:
        return row(system, number, judge=judge, **{"score (0-1)": value})

    given = [(system, number) for system in ("elm", "oak") for number in range(4)]
    given += [("ash", 0)]  # and none to the other three
    texts = [row(system, n, question=f"Q{n}?", response=f"{system} {n}") for system, n in given]
    scores = [score("oak", number, "fox", number % 2) for number in range(4)]
    scores += [score("elm", 0, "fox", 1), score("elm", 1, "fox", 1), score("ash", 0, "fox", 1)]
    scores += [score("oak", 0, "owl", 1)]
    files = [(name, json.dumps(rows).encode()) for name, rows in (("texts.json", texts), ("scores.json", scores))]
    store_import(files=files, options=ImportOptions(), source="t", actor=None, at=NOON)

    fox, owl = (compute_leaderboard(RunEvaluator.objects.get(name=name).pk, {}) for name in ("fox", "owl"))

    # ash has no response to three cases, which count 0; elm has responses that fox did not see, and owl saw oak alone
    assert means(fox) == {"elm": 1.0, "oak": 0.5, "ash": 0.25}
    assert counts(fox) == {"elm": (2, 2, 0, 0), "oak": (4, 0, 0, 0), "ash": (1, 0, 3, 0)}
    assert (means(owl), counts(owl)) == ({"oak": 1.0}, {"oak": (1, 3, 0, 0)})


def test_compute_leaderboard_of_weighted_preferences_is_the_win_rate_of_alpaca_eval() -> None:
    def row(number: int, preference: float | None) -> dict[str, object]:
        first = {"output_1": f"base {number}", "generator_1": "base"}
        second = {"output_2": f"owl {number}", "generator_2": "owl"}
        return {"instruction": f"Q{number}?", **first, **second, "annotator": "weighted", "preference": preference}

    rows = [row(1, 1.25), row(2, 2.0), row(3, 1.5), row(4, None)]
    files = [("annotations.json", json.dumps(rows).encode())]
    store_import(files=files, options=ImportOptions(), source="t", actor=None, at=NOON)

    content = compute_leaderboard(RunEvaluator.objects.get().pk, {})

    assert means(content) == {"owl": pytest.approx((0.25 + 1 + 0.5) / 3)}  # the mean of preference - 1
    assert counts(content) == {"owl": (3, 1, 0, 0)}


def test_a_board_over_several_runs_has_a_null_score_only_where_a_run_asked_for_a_response(scored: Scored) -> None:
    """Cases of another run's systems, and texts that an import replaced, counted 0 as if there were no response."""
    part = {"selection": {"cases": [scored.cases[0].key]}}
    run = factories.run(suite=scored.suite, status="finished", options=part)
    newer, dot = factories.evaluator(run=run), factories.system("dot")
    run.systems.set([dot])
    factories.score(evaluator=newer, response=factories.response(prompt=scored.cases[0].prompt, system=dot), share=1.0)
    scored.cases[1].prompt.responses.filter(system=scored.bob).update(superseded_at=NOON)

    content = compute_leaderboard(newer.pk, {"evaluators": [newer.pk, scored.rules.pk]})

    # dot was asked for case 1 alone; bob's case 2 has a new response without a score: (0 + 0 + 0) / 3
    assert means(content) == {"dot": 1.0, "ada": 0.875, "cy": pytest.approx(1 / 3), "bob": 0.0}
    assert counts(content) == {"dot": (1, 3, 0, 0), "ada": (4, 0, 0, 0), "cy": (2, 1, 1, 0), "bob": (3, 1, 0, 0)}


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_the_figures_of_a_run_have_the_means_of_boards(scored: Scored, mode: str) -> None:
    """They took the mean of the attempts that a judge had scored, whatever the suite says, and no null scores."""
    scored.suite.attempt_reduce_mode = mode
    scored.suite.save()
    judge = factories.evaluator(run=scored.run, position=1, kind="judge", name="Strict")
    for response in Response.objects.exclude(system=scored.ada):
        factories.score(evaluator=judge, response=response, share=0.5)
    again, failed = (
        factories.response(prompt=scored.cases[number].prompt, system=scored.bob, attempt=1) for number in (0, 1)
    )
    factories.score(evaluator=judge, response=again, share=1.0)
    factories.task(evaluator=judge, response=failed, status="failed")

    figures = {row.system: row for row in run_figures(scored.run) if row.evaluator == "Strict"}

    board = compute_leaderboard(judge.pk, {})
    shown = {name: next((row.mean for row in figures[name].rows), None) for name in figures}
    # ada has no responses; bob: case 1 is 0.75 or 1, case 2 has an attempt without a score; cy has none to case 4
    assert (
        shown
        == means(board)
        == {"ada": 0.0, "bob": pytest.approx((0.75 if mode == "avg" else 1) / 3 + 1 / 3), "cy": 0.375}
    )
    assert (figures["bob"].scored, figures["bob"].unscored, figures["bob"].left_out) == (5, 1, ("case-2",))


def test_equal_means_of_several_attempts_are_ties(scored: Scored) -> None:
    """0.6, 0.8 and 1 have another last digit than three times 0.8, so that one of two equal systems won."""
    Score.objects.all().delete()
    for system, shares in ((scored.ada, (0.6, 0.8, 1.0)), (scored.bob, (0.8, 0.8, 0.8))):
        for attempt, share in enumerate(shares, start=1):
            response = factories.response(prompt=scored.cases[0].prompt, system=system, attempt=attempt)
            factories.score(evaluator=scored.rules, response=response, share=share)

    options = {"missing": "skip", "systems": [scored.ada.pk, scored.bob.pk]}

    rows = compute_leaderboard(scored.rules.pk, options)["rows"]
    assert {row["system"]: row["wins"]["raw"]["value"] for row in rows} == {"ada": 0.5, "bob": 0.5}
    assert compute_comparison(scored.rules.pk, options)["wins"] == {"first": 0, "ties": 1, "second": 0}
