"""The board of a suite: newest scores over all runs of a version, whatever stands beside them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from evalsite.reports.actions.boards import BOARD, BoardShown
from evalsite.reports.selectors.leaderboards import board_options, first_graders, graders_of
from evalsite.reports.services.leaderboards import board_of_run
from evalsite.reports.services.suite_boards import compute_suite_board
from judging.models import EvaluatorKind, Response, RunEvaluator
from tests import factories
from tests.audited_boards import drawn_cases, store_board
from tests.evalsite.reports.conftest import Scored
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def board(suite_id: int) -> dict[str, Any]:
    return compute_suite_board(suite_id, board_options(first_graders(graders_of(suite_id), None)))


def values(content: dict[str, Any]) -> dict[str, list[float | None]]:
    return {row["system"]: [cell and cell["figure"]["value"] for cell in row["cells"]] for row in content["rows"]}


@pytest.fixture
def later(scored: Scored) -> RunEvaluator:
    """Return the same rules in a later run: bob's first answer is worth 1 now, cy's third one is decided."""
    run = factories.run(suite=scored.suite, name="Second run", status="finished", total=2, done=2)
    run.systems.set([scored.bob, scored.cy])
    rules = factories.evaluator(run=run, total=2, done=2)
    for system, index in ((scored.bob, 0), (scored.cy, 2)):
        response = Response.objects.get(system=system, prompt=scored.cases[index].prompt)
        factories.score(evaluator=rules, response=response, share=1)
    return rules


def test_a_column_has_the_newest_score_of_each_response_over_all_runs(scored: Scored, later: RunEvaluator) -> None:
    content = board(scored.suite.pk)

    # bob: 1, 1, 0, 0; cy: 1, 0, 1 and the null score 0 of case 4
    assert values(content) == {"ada": [0.875], "bob": [0.5], "cy": [0.5]}
    assert content["graders"] == [{"id": later.pk, "runs": 2, "systems": 3, "asks": False}]
    assert content["columns"] == [{"grader": 0, "mode": "raw"}]


def test_a_column_of_one_run_leaves_out_responses_that_were_replaced(scored: Scored) -> None:
    """It kept the score of the old text, which Results and columns of several runs left out."""
    scored.ada.responses.filter(prompt=scored.cases[3].prompt).update(superseded_at=NOON)

    content = board(scored.suite.pk)

    cells = {row["system"]: row["cells"][0] for row in content["rows"]}
    assert values(content) == {"ada": [1.0], "bob": [0.25], "cy": [pytest.approx(1 / 3)]}
    assert [(cell["figure"]["n"], cell["unscored"], cell["missing"]) for cell in cells.values()] == [
        (3, 1, 0),
        (3, 1, 1),
        (4, 0, 0),
    ]
    assert {row["system"]: row["unscored"] for row in board_of_run(scored.rules)["rows"]}["ada"] == 0  # as it ended


def test_versions_of_a_judge_are_told_apart_by_their_prompts_or_else_by_themselves(scored: Scored) -> None:
    for prompt, temperature in (("a", 0.0), ("b", 0.0), ("b", 0.5)):
        run = factories.run(suite=scored.suite, status="finished", total=1, done=1)
        options = {"prompt_hash": prompt * 64, "options": {"temperature": temperature}}
        judge = factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, name="Strict", total=1, done=1, options=options)
        factories.score(evaluator=judge, response=Response.objects.order_by("pk")[0], share=0.25)

    labels = [grader.label for grader in graders_of(scored.suite.pk) if grader.label != "rules"]

    assert (len(set(labels)), labels[-1]) == (3, "Strict (prompt aaaaaaaa)")
    assert all(re.fullmatch(r"Strict \([0-9a-f]{8}\)", label) for label in labels[:2])


def test_a_judge_that_was_not_asked_about_a_system_has_no_cell_for_it(scored: Scored) -> None:
    run = factories.run(suite=scored.suite, status="finished", total=1, done=1)
    run.systems.set([scored.ada])
    judge = factories.evaluator(run=run, kind=EvaluatorKind.JUDGE, name="Strict", total=1, done=1)
    response = Response.objects.get(system=scored.ada, prompt=scored.cases[0].prompt)
    factories.score(evaluator=judge, response=response, share=0.25)

    content = board(scored.suite.pk)

    columns = {graders["id"]: number for number, graders in enumerate(content["graders"])}
    by_judge = {row["system"]: row["cells"][columns[judge.pk]] for row in content["rows"]}
    assert by_judge["ada"]["figure"]["value"] == pytest.approx(0.25 / 4)  # three cases without a response: null score
    assert (by_judge["bob"], by_judge["cy"]) == (None, None)
    assert content["graders"][columns[judge.pk]]["systems"] == 1


def test_people_and_corrected_means_stand_behind_the_version_whose_older_run_was_audited() -> None:
    drawn = drawn_cases(60, 30, np.random.default_rng(3))
    audited = store_board(np.ones((2, 60)), np.full((2, 60), 0.5), drawn)
    run = factories.run(suite=audited.run.suite, status="finished", total=1, done=1)
    run.systems.set(audited.run.systems.all())
    again = factories.evaluator(run=run, kind=audited.kind, name=audited.name, total=1, done=1, options=audited.options)
    RunEvaluator.objects.filter(pk=again.pk).update(judge=audited.judge, rubric=audited.rubric)

    content = board(audited.run.suite_id)

    assert content["graders"][0]["runs"] == 2
    assert content["columns"] == [{"grader": 0, "mode": mode} for mode in ("raw", "corrected", "human")]
    # the judge says 1 of every response, people 1/2 of every one that was drawn
    assert set(map(tuple, values(content).values())) == {(1.0, 0.5, 0.5)}


def test_board_table_has_a_line_for_each_figure(scored: Scored, later: RunEvaluator) -> None:
    rows = list(BOARD.data(BoardShown(board(scored.suite.pk), ["Rules"])).rows)

    assert [(row["system"], row["scored_by"], row["mean"], row["value"], row["unscored"]) for row in rows] == [
        ("ada", "Rules", "raw", 0.875, 0),
        ("bob", "Rules", "raw", 0.5, 0),
        ("cy", "Rules", "raw", 0.5, 0),
    ]
