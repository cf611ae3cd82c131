"""The grading report per system, from stored grades."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalsite.reports.services.leaderboards import compute_breakdown
from judging.actions.run_reports import run_report
from judging.models import UNREPORTED_KINDS, RunEvaluator, RunKind
from judging.selectors.runs import run_figures
from judging.services.file_imports.imports import store_import
from judging.services.file_imports.intake import ImportOptions
from tests import factories
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def grade(rules: RunEvaluator, prompt: Any, system: Any, *, attempt: int, **points: tuple[float | None, float]) -> None:
    criteria: list[dict[str, Any]] = [
        {"name": name, "got": got, "total": total, "detail": {}} for name, (got, total) in points.items()
    ]
    numbers = [got for got, _ in points.values() if got is not None]
    total = sum(total for _, total in points.values())
    share = sum(numbers) / total if len(numbers) == len(points) else None
    answer = factories.response(prompt=prompt, system=system, attempt=attempt)
    factories.score(
        evaluator=rules,
        response=answer,
        share=share,
        detail={"got": sum(numbers), "total": total, "criteria": criteria},
    )


def test_compute_breakdown_takes_the_best_of_each_group_of_attempts() -> None:
    cases = [factories.case(lang="python", question_type="fix"), factories.case(lang="sql", question_type="fix")]
    cases[1].prompt.benchmark = cases[0].prompt.benchmark
    suite = factories.suite(cases=cases, attempt_reduce_mode="avg_max_2")
    run = factories.run(suite=suite)
    rules = factories.evaluator(run=run, done=5)
    ada = factories.system("ada")
    run.systems.add(ada)
    for attempt, got in enumerate((1.0, 2.0, 0.0, 1.0)):  # of 2: groups of two have their best at 1 and at 1/2
        grade(rules, cases[0].prompt, ada, attempt=attempt, keywords=(got, 2.0))
    grade(rules, cases[1].prompt, ada, attempt=0, keywords=(None, 1.0))  # not decided: left out

    (table,) = compute_breakdown(rules.pk, {})["tables"]

    # two groups: totals 1 and 0.5, mean 0.75, sample deviation 0.3536
    overall = table["rows"][0]
    assert (overall["mean"], overall["std"], overall["full"], overall["cases"]) == (
        0.75,
        pytest.approx(0.35355, abs=1e-5),
        1.0,
        1,
    )
    assert [(row["dimension"], row["name"]) for row in table["rows"]] == [
        ("overall", ""),
        ("language", "python"),
        ("type", "fix"),
        ("metric", "keywords"),
    ]
    assert (table["groups"], table["left_out"]) == (2, [cases[1].key])


@pytest.mark.parametrize(
    ("mode", "options", "mean"),
    [
        ("avg", {}, 0.5),  # attempts 1, 0, 1/2: each for itself
        ("max", {}, 1.0),  # the best of all
        ("avg_max_2", {}, 0.75),  # the best of 1 and 0, then 1/2
        ("avg", {"compat": True}, 1.0),  # the original takes the best of ten, whatever the suite says
    ],
)
def test_compute_breakdown_groups_attempts_as_the_run_page_does(
    mode: str, options: dict[str, Any], mean: float
) -> None:
    case = factories.case(lang="python", question_type="fix")
    run = factories.run(suite=factories.suite(cases=[case], attempt_reduce_mode=mode), options=options)
    rules, ada = factories.evaluator(run=run, done=3), factories.system("ada")
    run.systems.add(ada)
    for attempt, got in enumerate((2.0, 0.0, 1.0)):
        grade(rules, case.prompt, ada, attempt=attempt, keywords=(got, 2.0))

    (table,) = compute_breakdown(rules.pk, {})["tables"]
    (figures,) = run_figures(run)

    assert table["rows"][0]["mean"] == mean
    assert [(row["name"], row["mean"]) for row in table["rows"]] == [(row.name, row.mean) for row in figures.rows]


@pytest.mark.parametrize("selection", [{"limit": 1, "drawn": ["a"]}, {"scenarios": ["tides"]}])
def test_a_run_of_a_part_of_its_suite_counts_points_of_that_part_only(selection: dict[str, Any]) -> None:
    cases = [factories.case(key="a", scenario="tides"), factories.case(key="b", scenario="docks")]
    run = factories.run(suite=factories.suite(cases=cases), options={"selection": selection})
    rules, ada = factories.evaluator(run=run, done=1), factories.system("ada")
    run.systems.add(ada)
    grade(rules, cases[0].prompt, ada, attempt=0, keywords=(1.0, 2.0))

    (table,) = compute_breakdown(rules.pk, {})["tables"]
    (figures,) = run_figures(run)

    assert [(row["mean"], row["full"], row["cases"]) for row in table["rows"][:1]] == [(0.5, 1.0, 1)]
    assert [(row.mean, row.full_score, row.cases) for row in figures.rows[:1]] == [(0.5, 1.0, 1)]


def test_rows_count_points_of_the_full_scores_and_null_scores_where_something_was_scored() -> None:
    full_scores, grading = {"a": 4.0, "b": None, "c": None}, {"keywords": ["x"]}
    cases = [factories.case(key=key, full_score=full, grading=grading) for key, full in full_scores.items()]
    run = factories.run(suite=factories.suite(cases=cases, full_score=2.0, null_score=0.5))
    rules, ada, bob = factories.evaluator(run=run, done=3), factories.system("ada"), factories.system("bob")
    run.systems.add(ada, bob)
    grade(rules, cases[0].prompt, ada, attempt=0, keywords=(1.0, 2.0))
    grade(rules, cases[1].prompt, ada, attempt=0, keywords=(2.0, 2.0))
    grade(rules, cases[0].prompt, bob, attempt=0, keywords=(None, 2.0))

    tables = compute_breakdown(rules.pk, {})["tables"]

    # ada: half of 4, all of 2, and the null score for the case without a response, whose full score is 2
    shown = [[(row["name"], row["mean"], row["full"], row["cases"]) for row in table["rows"]] for table in tables]
    assert [(rows[:1], rows[-1:]) for rows in shown] == [([("", 4.5, 8.0, 3)], [("keywords", 4.0, 6.0, 2)]), ([], [])]
    assert [table["left_out"] for table in tables] == [[], ["a", "b", "c"]]


def test_a_log_without_points_has_rows_of_shares_over_the_cases_that_it_scores() -> None:
    def row(number: int, **more: object) -> dict[str, object]:
        return {"question_id": number, "question": f"Q{number}?", "system": "ada", "response": f"A{number}", **more}

    rows = [row(number, lang="python", **({"exact_match": number % 2} if number < 3 else {})) for number in range(4)]
    files = [("log.jsonl", "\n".join(map(json.dumps, rows)).encode())]
    store_import(files=files, options=ImportOptions(), source="t", actor=None, at=NOON)
    (evaluator,) = RunEvaluator.objects.all()

    (table,) = compute_breakdown(evaluator.pk, {})["tables"]
    figures = run_report(evaluator.run_id, with_figures=True)["figures"]

    # 0, 1, 0: a mean of 1/3, a deviation of sqrt(1/3) and a standard error of sqrt(1/3) / sqrt(3) = 1/3
    third = pytest.approx(1 / 3)
    assert (table["left_out"], [(line["dimension"], line["mean"], line["cases"]) for line in table["rows"]]) == (
        [],
        [("overall", third, 3), ("language", third, 3), ("type", third, 3)],
    )
    assert [(line["scored"], line["left_out"], line["rows"][0]["shown"]) for line in figures] == [
        (3, (), "33.3% over 3 cases, standard deviation 57.7%, standard error 33.3%")
    ]


@pytest.mark.parametrize("kind", UNREPORTED_KINDS)
def test_a_run_on_chosen_responses_counts_none_that_was_not_chosen(kind: RunKind) -> None:
    cases = [factories.case(key=key) for key in "abc"]
    run = factories.run(suite=factories.suite(cases=cases), kind=kind)
    judge, ada, bob = factories.evaluator(run=run, kind="judge"), factories.system("ada"), factories.system("bob")
    run.systems.add(ada, bob)
    for system, case in ((ada, cases[0]), (ada, cases[1]), (bob, cases[2])):
        factories.score(evaluator=judge, response=factories.response(prompt=case.prompt, system=system), share=1.0)

    figures = run_report(run.pk, with_figures=True)["figures"]

    assert [(line["left_out"], [row["shown"] for row in line["rows"][:1]]) for line in figures] == [
        ((), ["100.0% over 2 cases, standard deviation 0.0%, standard error 0.0%"]),
        ((), ["100.0% over 1 case"]),
    ]


def test_figures_of_a_judge_are_cut_as_the_board_cuts_them_and_one_case_has_no_deviation() -> None:
    cases = [factories.case(), factories.case()]
    run = factories.run(suite=factories.suite(cases=cases))
    judge = factories.evaluator(run=run, kind="judge", rubric=factories.rubric(benchmark_aggregate={"clip": [0, 1]}))
    ada, bob = factories.system("ada"), factories.system("bob")
    run.systems.add(ada, bob)
    for system, case, share in ((ada, cases[0], -0.25), (bob, cases[0], -0.5), (bob, cases[1], 2.0)):
        factories.score(evaluator=judge, response=factories.response(prompt=case.prompt, system=system), share=share)
    factories.task(evaluator=judge, response=factories.response(prompt=cases[1].prompt, system=ada))  # waits

    figures = run_report(run.pk, with_figures=True)["figures"]

    # bob: the mean of -0.5 and 2 is 0.75, with a deviation of 2.5 sqrt(.5) and an error of 2.5 / 2
    assert [(row["mean"], row["shown"]) for row in (line["rows"][0] for line in figures)] == [
        (0.0, "0.0% over 1 case"),
        (0.75, "75.0% over 2 cases, standard deviation 176.8%, standard error 125.0%"),
    ]
    assert figures[0]["rows"][0]["std"] is None
