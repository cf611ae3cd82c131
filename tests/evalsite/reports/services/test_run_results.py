"""The results of a run: means as on its leaderboards, and what each judge took, worked out by hand."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.reports.actions.boards import BOARD, BoardShown
from evalsite.reports.selectors.leaderboards import board_options, calls_paid_by, failures_by_evaluator, graders_of
from evalsite.reports.services.leaderboards import compute_leaderboard
from evalsite.reports.services.suite_boards import RUN_RESULTS, compute_run_results, compute_suite_board
from judging.models import BASELINE, BASELINE_ID, Call, EvaluatorKind, ModelEndpoint, Run, RunEvaluator, RunKind, System
from tests import factories
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db


def call(endpoint: ModelEndpoint, run: Run | None, *, cost: str | None, seconds: float) -> Call:
    price = None if cost is None else Decimal(cost)
    return Call.objects.create(
        key=f"call {Call.objects.count()}", endpoint=endpoint, run=run, status="finished", request={}, cost=price,
        seconds=seconds, finished_at=factories.NOON,
    )  # fmt: skip


def judged(scored: Scored) -> RunEvaluator:
    """Return a judge that has scored two responses of ada and none of bob's: one reply refused, one unparsed.

    Its calls: 0.25 and 0.50 dollars made by the run, 2 and 4 seconds; one of unknown price, 3 seconds; one reused.
    """
    endpoint = factories.endpoint()
    judge = factories.evaluator(run=scored.run, kind=EvaluatorKind.JUDGE, name="Encke", total=4, done=2, failed=2)
    calls = [
        call(endpoint, scored.run, cost="0.25", seconds=2),
        call(endpoint, scored.run, cost="0.50", seconds=4),
        call(endpoint, scored.run, cost=None, seconds=3),
        call(endpoint, factories.run(), cost="9", seconds=99),
    ]
    answers = {system.name: list(system.responses.order_by("prompt__key")) for system in (scored.ada, scored.bob)}
    for response, share, paid in zip(answers["ada"][:2], (1.0, 0.5), (calls[0], calls[3]), strict=True):
        task = factories.task(evaluator=judge, response=response, status="done")
        factories.verdict(task=task, share=share, call_ids=[paid.pk])
    for response, status, paid in zip(answers["bob"][:2], ("refused", "unparsed"), calls[1:3], strict=True):
        task = factories.task(evaluator=judge, response=response, status="failed", failure_kind=status)
        factories.verdict(task=task, status=status, value=None, call_ids=[paid.pk])
    return judge


def test_compute_run_results_says_how_many_calls_judges_share(scored: Scored) -> None:
    judge = judged(scored)
    panel = factories.evaluator(run=scored.run, kind=EvaluatorKind.JUDGE, name="Panel", total=1, done=1)
    response = scored.ada.responses.order_by("prompt__key")[0]
    own = call(factories.endpoint(), scored.run, cost="1", seconds=1)
    paid = judge.verdicts.order_by("pk")[0].call_ids
    factories.verdict(task=factories.task(evaluator=panel, response=response, status="done"), call_ids=[*paid, own.pk])

    content = compute_run_results(scored.run.pk, {})

    rows = {row["name"]: (row["calls"], row["shared"], row["cost"]) for row in content["evaluators"] if row["asks"]}
    assert rows == {"Encke": (3, 1, 0.75), "Panel": (2, 1, 1.25)}  # 0.25 for both, paid once


def test_compute_run_results_has_the_means_of_the_leaderboards_and_what_each_judge_took(scored: Scored) -> None:
    judge = judged(scored)

    content = compute_run_results(scored.run.pk, {})

    board = compute_suite_board(scored.suite.pk, {"graders": [[judge.pk]]})["graders"]
    assert [(row["calls"], row["cost"], row["unpriced"]) for row in board] == [(3, 0.75, 1)]  # as below

    # by the rules ada has 1, 1, 1, 0.5, cy 1, 0 and nothing for no response, bob 0, 1, 0, 0
    assert [
        (row["system"], [(cell["figure"]["value"], cell["figure"]["n"], cell["unscored"]) for cell in row["cells"]])
        for row in content["rows"]
    ] == [
        ("ada", [(0.875, 4, 0), (pytest.approx(1.5 / 4), 4, 0)]),
        ("cy", [(pytest.approx(1 / 3), 3, 1), (0.0, 4, 0)]),
        ("bob", [(0.25, 4, 0), (None, 0, 2)]),  # nothing of bob's has a score, so there is no mean of zeros
    ]
    assert content["evaluators"] == [
        {"id": scored.rules.pk, "name": "rules", "is_baseline": False, "caveat": "", "asks": False, "failures": []},
        {
            "id": judge.pk, "name": "Encke", "is_baseline": False, "caveat": "", "asks": True,
            "failures": [
                {"kind": "refused", "words": "refused", "count": 1},
                {"kind": "unparsed", "words": "unparsed", "count": 1},
            ],
            "calls": 3, "reused": 1, "shared": 0, "cost": 0.75, "unpriced": 1, "seconds": 9.0, "seconds_mean": 3.0,
        },
    ]  # fmt: skip
    boards = {pk: {row["system_id"]: row for row in compute_leaderboard(pk, {})["rows"]} for pk in (scored.rules.pk,)}
    figures = {row["system_id"]: row["cells"][0]["figure"] for row in content["rows"]}
    assert figures == {pk: row["figures"]["raw"] for pk, row in boards[scored.rules.pk].items()}


def test_compute_run_results_of_an_esi_run_counts_what_its_judges_missed_by_verdict(scored: Scored) -> None:
    judge = judged(scored)
    Run.objects.filter(pk=scored.run.pk).update(kind=RunKind.ESI)

    content = compute_run_results(scored.run.pk, {})

    assert content["evaluators"][1]["id"] == judge.pk
    assert [(row["kind"], row["count"]) for row in content["evaluators"][1]["failures"]] == [("", 1), ("", 1)]


def test_run_results_are_old_once_the_run_goes_on(scored: Scored) -> None:
    before = RUN_RESULTS.data_version(scored.run.pk, {})
    Run.objects.filter(pk=scored.run.pk).update(done=11)

    assert RUN_RESULTS.data_version(scored.run.pk, {}) != before
    assert RUN_RESULTS.rows(scored.run.pk, {}) == 11


def test_calls_and_failures_are_those_of_the_run_alone(scored: Scored) -> None:
    judge = judged(scored)

    assert len(calls_paid_by(scored.run.pk)) == 3
    assert failures_by_evaluator(scored.run.pk) == {judge.pk: [("refused", 1), ("unparsed", 1)]}
    assert failures_by_evaluator(factories.run().pk) == {}


def against(baseline: System, *, run: Run, others: list[System]) -> RunEvaluator:
    """Return a judge that compared the responses of others with a baseline's, each of which won."""
    judge = factories.evaluator(
        run=run,
        kind=EvaluatorKind.JUDGE,
        name=f"Against {baseline}",
        options={BASELINE: baseline.name, BASELINE_ID: baseline.pk},
    )
    for system in others:
        for response in system.responses.order_by("prompt__key"):
            factories.score(evaluator=judge, response=response, share=1)
    RunEvaluator.objects.filter(pk=judge.pk).update(total=8, done=8)
    return judge


@pytest.mark.parametrize("is_first", [False, True])
def test_graders_of_different_systems_show_all_of_them_with_the_baseline_named(
    scored: Scored, researcher: Client, is_first: bool
) -> None:
    judge = against(scored.ada, run=scored.run, others=[scored.bob, scored.cy])
    if is_first:
        RunEvaluator.objects.filter(pk=scored.rules.pk).update(position=9)
    place = 0 if is_first else 1

    content = compute_run_results(scored.run.pk, {})
    page = researcher.get(scored.run.get_absolute_url())
    board = compute_suite_board(scored.suite.pk, board_options(graders_of(scored.suite.pk)))
    lines = [row for row in BOARD.data(BoardShown(board, ["rules", "pair"])).rows if row["reason"]]
    pair = f"?evaluator={judge.pk}&system={scored.ada.pk}&system={scored.bob.pk}"
    compared = researcher.get(reverse("reports:leaderboard-compare", args=[scored.suite.pk]) + pair)

    cells = {row["system"]: row["cells"][place]["figure"] for row in content["rows"]}
    assert {name: (cell["value"], cell["reason"]) for name, cell in cells.items() if name == "ada"} == {
        "ada": (None, "baseline")
    }
    assert {row["system"] for row in content["rows"]} == {"ada", "bob", "cy"}
    assert page.status_code == 200
    assert ">baseline</span>" in page.text
    assert [(row["system"], row["value"], row["reason"]) for row in lines] == [("ada", None, "baseline")]
    assert "ada is the baseline that the judge compares with" in compared.text


def test_results_by_judge_name_the_baseline_and_have_no_spread_of_one_score(scored: Scored, researcher: Client) -> None:
    judge = against(scored.ada, run=scored.run, others=[scored.bob, scored.cy])
    query = f"?columns=judges&grader={scored.rules.pk}&grader={judge.pk}"

    page = researcher.get(reverse("reports:results-detail", args=[scored.suite.pk]) + query)
    export = reverse("reports:results-export", args=[scored.suite.pk, "rows", "jsonl"]) + query
    lines = [json.loads(line) for line in b"".join(researcher.get(export)).splitlines()]

    ada = [row for row in page.context["rows"] if row["system"] == "ada"]
    assert [([cell["absence"] for cell in row["cells"]], row["values"]) for row in ada] == [
        (["", "baseline"], [("", "the columns are on different scales")])
    ] * 4
    assert "no response" not in page.text
    assert [line["status"] for line in lines if line["system"] == "ada" and line["score"] is None] == ["baseline"] * 4


def test_a_verdict_that_could_not_be_parsed_in_an_esi_run_is_no_missing_response() -> None:
    cases = [factories.case(), factories.case()]
    run = factories.run(suite=factories.suite(cases=cases), kind=RunKind.ESI)
    accuracy = factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, name="Accuracy", total=2, done=1, failed=1)
    index = factories.evaluator(run=run, kind=EvaluatorKind.INDEX, name="ESI", total=2, done=1, failed=1)
    ada = factories.system("ada")
    run.systems.add(ada)
    for case, status, share in zip(cases, ("done", "failed"), (1.0, None), strict=True):
        response = factories.response(prompt=case.prompt, system=ada)
        factories.task(evaluator=index, response=response, status=status)
        if share is not None:
            factories.score(evaluator=accuracy, response=response, share=share)

    (row,) = compute_leaderboard(accuracy.pk, {})["rows"]

    assert (row["figures"]["raw"]["value"], row["scored"], row["unscored"], row["missing"]) == (1.0, 1, 1, 0)
