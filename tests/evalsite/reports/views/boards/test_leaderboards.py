"""Two systems of a leaderboard against each other."""

from __future__ import annotations

import re
from datetime import timedelta

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.accounts.models import AuditEntry
from evalsite.reports.services.charts import SharedAxis
from evalsite.review.audit_plans import Pilot, planned_half_width
from judging.models import Response, RunEvaluator, System
from tests import factories
from tests.audited_boards import drawn_cases, noisy_judge, store_board
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db


def address(scored: Scored, first: System, second: System) -> str:
    pair = reverse("reports:leaderboard-compare", args=[scored.suite.pk])
    return f"{pair}?evaluator={scored.rules.pk}&system={first.pk}&system={second.pk}"


def test_leaderboard_compare_draws_the_difference_around_zero(scored: Scored, researcher: Client) -> None:
    answer = researcher.get(address(scored, scored.ada, scored.bob))

    # ada - bob by case: 1, 0, 1, 0.5; mean 0.625, without an interval
    assert (answer.status_code, answer.context["axis"]) == (200, SharedAxis(-0.65, 0.65))


def test_leaderboard_compare_says_that_two_systems_share_no_case(scored: Scored, researcher: Client) -> None:
    # cy answered cases 1 to 3 and the newcomer case 4; a case without a response is left out
    other = factories.system("newcomer")
    scored.run.systems.add(other)
    prompt = scored.cases[3].prompt
    factories.score(evaluator=scored.rules, response=factories.response(prompt=prompt, system=other), share=1)

    answer = researcher.get(address(scored, scored.cy, other) + "&missing=skip")

    assert answer.status_code == 200
    assert answer.context["content"]["n_cases"] == 0
    text = answer.content.decode()
    assert "Too few cases to compare two systems: 0 of 30." in text
    assert "The two have no scored case in common." in text


def test_leaderboard_compare_names_the_system_that_is_not_on_the_board(scored: Scored, researcher: Client) -> None:
    other = factories.system("a & b")

    answer = researcher.get(address(scored, scored.ada, other))

    assert answer.status_code == 200
    assert "a &amp; b: no score by this evaluator, so there is nothing to compare." in answer.content.decode()
    assert "hx-trigger" not in answer.content.decode().partition('id="leaderboard-compare"')[2].partition(">")[0]


def test_leaderboard_compare_does_not_know_a_system_that_nobody_knows(scored: Scored, researcher: Client) -> None:
    url = reverse("reports:leaderboard-compare", args=[scored.suite.pk])

    assert researcher.get(f"{url}?system={scored.ada.pk}&system=987654").status_code == 404


@pytest.fixture
def small(scored: Scored) -> RunEvaluator:
    """Return the rules of a newer run that asked about one system and one case only."""
    run = factories.run(
        suite=scored.suite, name="Small run", status="finished", created_at=factories.NOON + timedelta(hours=1)
    )
    run.systems.add(scored.bob)
    rules = factories.evaluator(run=run, total=1, done=1, options={"prompt_hash": "a5fdaa65ba06ffff"})
    response = Response.objects.get(prompt=scored.cases[0].prompt, system=scored.bob)
    factories.score(evaluator=rules, response=response, share=1)
    return rules


def test_leaderboard_detail_opens_with_the_fullest_run(scored: Scored, small: RunEvaluator, researcher: Client) -> None:
    answer = researcher.get(reverse("reports:leaderboard-detail", args=[scored.suite.pk]))

    assert answer.context["evaluator"] == scored.rules
    assert "systems that runs of this suite have scored" not in answer.content.decode()


@pytest.mark.parametrize("name", ["evaluator", "grader"])
def test_a_leaderboard_of_another_evaluator_than_the_address_names_says_so_and_is_no_file(
    scored: Scored, researcher: Client, name: str
) -> None:
    page = reverse("reports:leaderboard-detail", args=[scored.suite.pk])
    file = reverse("reports:leaderboard-export", args=[scored.suite.pk, "systems", "csv"])
    note = "The grader or judge that this address names is not here. Another one is shown."

    shown = [researcher.get(f"{page}?{name}={key}").content.decode() for key in (scored.rules.pk, 999_999)]
    files = [researcher.get(f"{file}?{name}={key}").status_code for key in (scored.rules.pk, 999_999)]

    assert [note in text for text in shown] == [False, True]
    assert files == [200, 404]


def test_leaderboard_detail_says_how_many_systems_a_small_run_covers(
    scored: Scored, small: RunEvaluator, researcher: Client
) -> None:
    url = reverse("reports:leaderboard-detail", args=[scored.suite.pk])

    text = researcher.get(f"{url}?evaluator={small.pk}").content.decode()

    assert "This run covers 1 of the 3 systems that runs of this suite have scored." in text
    assert f"rules (prompt a5fdaa65ba06), run {small.run_id}: 1 of 3 systems</option>" in text
    assert f"rules, run {scored.run.pk}</option>" in text


def test_leaderboard_detail_shows_nothing_raw_among_human_figures(scored: Scored, researcher: Client) -> None:
    """Without a label, "Human only" and "Corrected" showed the judge's own win rates and scenarios beside dashes."""
    url = reverse("reports:leaderboard-detail", args=[scored.suite.pk])

    for mode in ("human", "corrected"):
        answer = researcher.get(f"{url}?evaluator={scored.rules.pk}&mode={mode}")

        rows = answer.context["rows"]
        assert [(row["figure"]["value"], row["win_rate"]["value"], row["ranks"]) for row in rows] == [(None,) * 3] * 3
        assert {cell["mean"] for row in answer.context["matrix"] for cell in row["cells"]} == {None}
        count = answer.content.decode().count("Too few: 0 of 20 audited cases.")
        assert count == 3 + 6 + 12 + 1  # rows, cells, slices, the note


def test_leaderboard_detail_shows_ranks_and_decided_of_drawn(researcher: Client) -> None:
    random = np.random.default_rng(6)
    labels = (random.random((3, 400)) < [[0.95], [0.6], [0.58]]).astype(np.float64)
    drawn = drawn_cases(400, 100, random)
    shown = np.where(random.random(labels.shape) < 0.1, np.nan, labels)
    evaluator = store_board(noisy_judge(labels, random, error=0.1), shown, drawn)

    url = reverse("reports:leaderboard-detail", args=[evaluator.run.suite_id])
    answer = researcher.get(f"{url}?mode=corrected")

    text = answer.content.decode()
    first = answer.context["rows"][0]
    assert [row["ranks"] for row in answer.context["rows"]] == [[1, 1], [2, 3], [2, 3]]
    assert f"{first['decided']} of 100" in text
    assert "bounds with the undecided cases" in text
    assert "looks" in text


@pytest.mark.parametrize(("audited", "is_few"), [(20, True), (50, False)])
def test_leaderboard_detail_says_what_more_labels_would_give(audited: int, is_few: bool, researcher: Client) -> None:
    random = np.random.default_rng(6)
    labels = (random.random((1, 200)) < 0.8).astype(np.float64)
    evaluator = store_board(noisy_judge(labels, random, error=0.1), labels, drawn_cases(200, audited, random))
    url = reverse("reports:leaderboard-detail", args=[evaluator.run.suite_id])

    raw, corrected = (researcher.get(f"{url}?mode={mode}") for mode in ("raw", "corrected"))

    figure = corrected.context["rows"][0]["figure"]
    width = figure["high"] - figure["low"]
    assert raw.context["few"] is None
    assert (corrected.context["few"] is not None) == is_few
    if is_few:
        few, share = corrected.context["few"], figure["value"]
        pilot = Pilot(share, share * (1 - share))
        ratio = planned_half_width(pilot, n=50, cases=200) / planned_half_width(pilot, n=20, cases=200)
        assert (few["n"], few["more"], few["width"]) == (20, 50, width)
        assert few["expected"] == pytest.approx(width * ratio)
        text = " ".join(corrected.content.decode().split())
        assert f"20 labels are few: the interval of {few['system']} is {width:.0%} of the scale wide;" in text
        assert f"with 50 labelled cases it is expected to be about {width * ratio:.0%} wide." in text


def test_leaderboard_leaves_archived_runs_out_unless_their_board_or_they_are_asked_for(
    scored: Scored, researcher: Client
) -> None:
    newer = factories.evaluator(
        run=factories.run(suite=scored.suite, name="Newer", status="finished", total=4, done=4), total=4, done=4
    )
    newer.run.systems.add(scored.ada)
    type(scored.run).objects.filter(pk=scored.run.pk).update(archived_at=factories.NOON)
    url = reverse("reports:leaderboard-detail", args=[scored.suite.pk])

    def shown(query: str) -> tuple[int, bool]:
        answer = researcher.get(url + query)
        return answer.context["evaluator"].pk, '<optgroup label="Archived runs">' in answer.text

    assert shown("") == (newer.pk, False)
    assert shown("?archived=1") == (newer.pk, True)
    assert shown(f"?evaluator={scored.rules.pk}") == (scored.rules.pk, True)


def test_leaderboard_list_has_no_suite_all_of_whose_runs_are_archived(scored: Scored, researcher: Client) -> None:
    url = reverse("reports:leaderboard-list")
    before = [row["suite"] for row in researcher.get(url).context["rows"]]
    type(scored.run).objects.filter(pk=scored.run.pk).update(archived_at=factories.NOON)

    assert (before, researcher.get(url).context["rows"]) == ([scored.suite], [])


@pytest.fixture
def judge(scored: Scored) -> RunEvaluator:
    """Return a judge of a later run that was asked about ada alone."""
    run = factories.run(suite=scored.suite, status="finished", total=1, done=1)
    run.systems.set([scored.ada])
    evaluator = factories.evaluator(run=run, kind="judge", name="Strict", total=1, done=1)
    response = Response.objects.get(prompt=scored.cases[0].prompt, system=scored.ada)
    factories.score(evaluator=evaluator, response=response, share=1)
    return evaluator


def test_board_detail_sets_all_graders_side_by_side_and_says_what_is_missing(
    scored: Scored, judge: RunEvaluator, researcher: Client
) -> None:
    answer = researcher.get(reverse("reports:board-detail", args=[scored.suite.pk]))

    text = answer.content.decode()
    assert {column["label"] for column in answer.context["columns"]} == {scored.rules.name, "Strict"}
    assert "1 of 3 systems" in text
    assert "3 of 3 systems" in text
    assert "not asked" in text
    link = f"{reverse('reports:results-detail', args=[scored.suite.pk])}?grader={scored.rules.pk}&amp;system="
    assert f"{link}{scored.bob.pk}&amp;sort=0" in text
    assert text.count('<span class="sub">1 without a response</span>') == 1  # cy's, which counts as 0


def test_board_pin_makes_the_chosen_columns_the_official_board_until_it_is_unpinned(
    scored: Scored, judge: RunEvaluator, researcher: Client
) -> None:
    page = reverse("reports:board-detail", args=[scored.suite.pk])
    pin = reverse("reports:board-pin", args=[scored.suite.pk])

    researcher.post(pin, {"graders": [judge.pk]})
    pinned = researcher.get(page)
    for _ in range(2):
        researcher.post(reverse("reports:board-unpin", args=[scored.suite.pk]))
    unpinned = researcher.get(page)

    assert [column["label"] for column in pinned.context["columns"]] == ["Strict"]
    assert "The official board, pinned by" in pinned.content.decode()
    assert len(unpinned.context["columns"]) == 2
    actions = AuditEntry.objects.filter(action__startswith="board.").order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["board.pinned", "board.unpinned"]


def test_official_board_keeps_its_columns_while_any_run_of_theirs_is_left(
    scored: Scored, judge: RunEvaluator, researcher: Client
) -> None:
    page = reverse("reports:board-detail", args=[scored.suite.pk])
    run = factories.run(suite=scored.suite, status="finished", total=1, done=1)
    run.systems.set([scored.ada])
    newer = factories.evaluator(run=run, kind="judge", name="Strict", total=1, done=1)
    factories.score(evaluator=newer, response=Response.objects.first(), share=1)
    researcher.post(reverse("reports:board-pin", args=[scored.suite.pk]), {"graders": [newer.pk]})

    newer.delete()
    kept = researcher.get(page)
    judge.delete()
    gone = researcher.get(page)

    assert [column["label"] for column in kept.context["columns"]] == ["Strict"]
    assert "The official board, pinned by" in kept.content.decode()
    # what was pinned is gone: the page shows everybody and does not call that official
    assert [column["label"] for column in gone.context["columns"]] == [scored.rules.name]
    assert "The official board, pinned by" not in gone.content.decode()


def test_board_detail_takes_the_same_queries_however_many_runs(scored: Scored, researcher: Client) -> None:
    page = reverse("reports:board-detail", args=[scored.suite.pk])
    counts = []
    for _ in range(2):
        run = factories.run(suite=scored.suite, status="finished", total=1, done=1)
        run.systems.set([scored.ada])
        factories.evaluator(run=run, total=1, done=1)
        researcher.get(page)
        with CaptureQueriesContext(connection) as queries:
            researcher.get(page)
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_board_export_has_the_figures_of_the_page(scored: Scored, judge: RunEvaluator, researcher: Client) -> None:
    address = reverse("reports:board-export", args=[scored.suite.pk, "csv"])

    lines = b"".join(researcher.get(f"{address}?grader={judge.pk}")).decode("utf-8-sig").splitlines()

    assert [line.split(",")[:4] for line in lines] == [
        ["system", "scored_by", "mean", "value"],
        ["ada", "Strict", "raw", "0.25"],  # 1 and three null scores
    ]
    paper = b"".join(researcher.get(address.replace(".csv", ".md"))).decode()
    assert "| ada |" in paper.replace("  ", " ")


def test_leaderboard_detail_of_a_version_counts_the_newest_score_of_each_response(
    scored: Scored, researcher: Client
) -> None:
    run = factories.run(suite=scored.suite, status="finished", total=1, done=1)
    run.systems.set([scored.bob])
    later = factories.evaluator(run=run, total=1, done=1)
    response = Response.objects.get(prompt=scored.cases[0].prompt, system=scored.bob)
    factories.score(evaluator=later, response=response, share=1)

    page = reverse("reports:leaderboard-detail", args=[scored.suite.pk])
    answer = researcher.get(f"{page}?grader={scored.rules.pk}")

    assert "in 2 runs, the newest score of each response" in answer.content.decode()
    figures = {row["system"]: row["figure"]["value"] for row in answer.context["rows"]}
    assert (figures["ada"], figures["bob"]) == (0.875, 0.5)  # bob: 1, 1, 0, 0


@pytest.mark.parametrize(("query", "is_open"), [("", False), ("?mode=human", False), ("?scenario=easy", True)])
def test_the_filters_of_a_leaderboard_are_folded_until_one_is_set(
    scored: Scored, researcher: Client, query: str, is_open: bool
) -> None:
    text = researcher.get(reverse("reports:leaderboard-detail", args=[scored.suite.pk]) + query).content.decode()

    (fold,) = re.findall(r'<details[^>]*id="board-filters"[^>]*>', text)
    assert bool(re.search(r"\bopen\b", fold.replace("keep-open", ""))) is is_open
    assert text.index('name="evaluator"') < text.index(fold) < text.index('name="missing"')
