"""One way to write for the scores of a judge that rates from 1 to 10: on pages, in files, beside other judges."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from evalsite.reports.models import SavedView
from evalsite.reports.selectors.leaderboards import graders_of
from evalsite.reports.services.leaderboards import compute_comparison, compute_leaderboard
from evalsite.review.questions.answer_forms import scale_of_own_prompt
from evalsite.review.questions.scales import labels_to_json
from judging.judges.registry import KINDS
from judging.models import BASELINE, BASELINE_ID, EvaluatorKind, Response, RunEvaluator
from tests import factories
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db

FILL = import_module("evalsite.reports.migrations.0007_scores_of_saved_views").fill
# what a judge of 1 to 10 says of each system by case: ada 7, 8, 4, 6 (mean 6.25), bob 1, 1, 2, 3 (mean 1.75)
RATED = {"ada": (7, 8, 4, 6), "bob": (1, 1, 2, 3)}
OPTIONS = KINDS["custom"].new_options() | {"labels_text": "", "lowest": 1, "highest": 10}


@dataclass(frozen=True)
class Rated:
    """The judge of 1 to 10 beside the rules of the small suite."""

    scored: Scored
    judge: RunEvaluator

    def response(self, system: str, case: int = 0) -> Response:
        return Response.objects.get(prompt=self.scored.cases[case].prompt, system__name=system)


@pytest.fixture
def rated(scored: Scored) -> Rated:
    """Score ada and bob with an own prompt whose numbers go from 1 to 10, as its scores are stored."""
    options = {"judge_kind": "custom", "judge_options": OPTIONS}
    fields = {"position": 1, "kind": EvaluatorKind.JUDGE, "name": "Rater", "total": 8, "done": 8}
    judge = factories.evaluator(run=scored.run, judge=factories.judge(name="Rater"), options=options, **fields)
    made = Rated(scored, judge)
    for system, numbers in RATED.items():
        for case, number in enumerate(numbers):
            verdict = factories.verdict(
                evaluator=judge, response=made.response(system, case), value={"score": number}, rationale="Because."
            )
            about = {"run": scored.run, "evaluator": judge, "response": verdict.response}
            factories.score(verdict=verdict, value=number, full=10, share=number / 10, **about)
    return made


def text_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", answer.content.decode())).split())


def test_every_page_says_the_number_of_the_judge_in_one_notation(rated: Rated, researcher: Client) -> None:
    suite, key, case = rated.scored.suite.pk, rated.judge.pk, rated.scored.cases[0]
    verdict = rated.judge.verdicts.get(response=rated.response("ada"))
    pages = {
        reverse("judging:run-detail", args=[rated.scored.run.pk]): "6.25 of 10",
        reverse("reports:board-detail", args=[suite]): "6.25 of 10",
        reverse("reports:leaderboard-detail", args=[suite]) + f"?evaluator={key}": "6.25 of 10",
        reverse("reports:charts-detail", args=[suite]) + f"?grader={key}": "6.25 of 10",
        reverse("reports:results-detail", args=[suite]) + f"?grader={key}": "7.00 of 10",
        reverse("judging:case-detail", args=[case.pk]): "7.00 of 10",
        reverse("judging:response-detail", args=[rated.response("ada").pk]): "7.00 of 10",
        reverse("judging:verdict-detail", args=[verdict.pk]): "7.00 of 10",
        reverse("judging:system-detail", args=[rated.scored.ada.pk]): "6.25 of 10",
    }

    texts = {address: text_of(researcher, address) for address in pages}

    assert {address: words in texts[address] for address, words in pages.items()} == dict.fromkeys(pages, True)
    assert {address for address, text in texts.items() if "62.5%" in text or "70.0%" in text} == set()
    assert "87.5%" in texts[reverse("reports:board-detail", args=[suite])]  # of the rules, as before


def test_a_board_keeps_its_figures_on_the_scale_with_differences(rated: Rated) -> None:
    content = compute_leaderboard(rated.judge.pk, {})

    ada, bob = content["rows"][:2]
    assert (ada["figures"]["raw"]["value"], ada["figures"]["raw"]["scale"]) == (
        pytest.approx(0.625),
        ["rating", 1.0, 10.0, 0.0, False],
    )
    assert content["evaluator"]["scale"] == ["rating", 1.0, 10.0, 0.0, False]
    pair = content["pairs"]["raw"][0]
    assert pair["difference"]["scale"] == ["rating", -10.0, 10.0, 0.0, True]
    assert bob["figures"]["raw"]["value"] == pytest.approx(0.175)


def test_two_systems_are_compared_in_points_of_the_scale(rated: Rated, researcher: Client) -> None:
    ada, bob = rated.scored.ada.pk, rated.scored.bob.pk
    address = reverse("reports:leaderboard-compare", args=[rated.scored.suite.pk])

    text = text_of(researcher, f"{address}?evaluator={rated.judge.pk}&system={ada}&system={bob}")

    assert "4.50" in text  # 6.25 - 1.75
    assert "7.00 1.00 6.00" in text  # the first case: 7 against 1
    assert compute_comparison(rated.judge.pk, {"systems": [ada, bob]})["evaluator"]["scale"][1:3] == [1.0, 10.0]


def file_of(client: Client, address: str) -> bytes:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]


def table_of(client: Client, address: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file_of(client, address).decode("utf-8-sig"))))


def test_files_have_numbers_of_the_scale_its_words_and_the_share(rated: Rated, researcher: Client) -> None:
    suite, key = rated.scored.suite.pk, rated.judge.pk
    asked = f"?evaluator={key}"

    systems = table_of(researcher, reverse("reports:leaderboard-export", args=[suite, "systems", "csv"]) + asked)
    means = table_of(researcher, reverse("reports:leaderboard-export", args=[suite, "means", "csv"]) + asked)
    rows = table_of(researcher, reverse("reports:results-export", args=[suite, "rows", "csv"]) + f"?grader={key}")
    board = table_of(researcher, reverse("reports:board-export", args=[suite, "csv"]))

    assert [
        (row["system"], row["raw_mean"], row["raw_share"], row["scale"]) for row in systems if row["system"] in RATED
    ] == [
        ("ada", "6.25", "0.625", "1 to 10"),
        ("bob", "1.75", "0.175", "1 to 10"),
    ]
    raw = [row for row in means if row["mean"] == "raw" and row["system"] in RATED]
    assert [(row["value"], row["share"], row["scale"]) for row in raw] == [
        ("6.25", "0.625", "1 to 10"),
        ("1.75", "0.175", "1 to 10"),
    ]
    cells = sorted((row["case"], row["score"], row["share"]) for row in rows if row["system"] == "ada")
    assert cells == [(f"case-{n}", f"{number}.0", f"{number / 10}") for n, number in enumerate(RATED["ada"], 1)]
    assert [
        (row["scored_by"], row["value"], row["share"], row["scale"]) for row in board if row["system"] == "ada"
    ] == [
        ("rules", "0.875", "0.875", "share"),
        ("Rater", "6.25", "0.625", "1 to 10"),
    ]


def test_a_paper_has_the_numbers_of_the_scale_and_says_which_it_is(rated: Rated, researcher: Client) -> None:
    address = reverse("reports:leaderboard-export", args=[rated.scored.suite.pk, "systems", "tex"])

    text = file_of(researcher, f"{address}?evaluator={rated.judge.pk}").decode()

    assert "6.25 (4)" in text
    assert "Scores: 1 to 10." in text


def test_a_rating_and_a_win_rate_are_never_subtracted(rated: Rated, researcher: Client) -> None:
    options: dict[str, Any] = {"judge_kind": "pairwise", "judge_options": {}}
    options |= {BASELINE: rated.scored.cy.name, BASELINE_ID: rated.scored.cy.pk}
    fields = {"kind": EvaluatorKind.JUDGE, "name": "Pairs", "total": 8, "done": 8}
    pairs = factories.evaluator(run=rated.scored.run, judge=factories.judge(name="Pairs"), options=options, **fields)
    for system in RATED:
        for case in range(4):
            factories.verdict(
                evaluator=pairs, response=rated.response(system, case), value={"preference": 1}, share=1.0
            )
    keys = "&".join(f"grader={grader.key}" for grader in graders_of(rated.scored.suite.pk) if grader.label != "rules")

    text = text_of(
        researcher, reverse("reports:results-detail", args=[rated.scored.suite.pk]) + f"?columns=judges&{keys}"
    )

    why = "No difference: the first is a win rate, the other a rating from 1 to 10."
    other = "No difference: the first is a rating from 1 to 10, the other a win rate."
    assert why in text or other in text
    assert "7.00 of 10" in text
    assert "100.0%" in text
    assert "the columns are on different scales" in text


def test_what_people_said_of_a_rated_response_is_on_the_same_scale(rated: Rated, researcher: Client) -> None:
    labels = scale_of_own_prompt(OPTIONS)
    queue = factories.queue(run=rated.scored.run, labels=labels_to_json(labels))
    score = rated.judge.scores.get(response=rated.response("ada"))
    factories.review_item(queue=queue, score=score, status="settled", label="9")

    case = text_of(researcher, reverse("judging:case-detail", args=[rated.scored.cases[0].pk]))
    address = reverse("reports:results-detail", args=[rated.scored.suite.pk])
    results = text_of(researcher, f"{address}?grader={rated.judge.pk}")

    assert [(label.value, label.share) for label in labels] == [(str(n), n / 10) for n in range(1, 11)]
    assert "9.00 of 10" in case
    assert "people 9.00" in results


def test_a_workbook_of_scores_holds_numbers(rated: Rated, researcher: Client) -> None:
    address = reverse("reports:leaderboard-export", args=[rated.scored.suite.pk, "systems", "xlsx"])

    body = file_of(researcher, f"{address}?evaluator={rated.judge.pk}")

    rows = list(openpyxl.load_workbook(io.BytesIO(body)).active.values)  # type: ignore[union-attr]
    assert rows[1][rows[0].index("raw_mean")] == 6.25


def command(*words: object) -> str:
    out = io.StringIO()
    call_command(*map(str, words), stdout=out)
    return out.getvalue().lstrip("\ufeff")


def test_every_table_of_a_command_says_the_number_of_the_page(rated: Rated) -> None:
    suite, query = rated.scored.suite.pk, f"grader={rated.judge.pk}"
    rated.scored.rules.scores.update(detail={"criteria": [], "got": 1, "total": 1})
    tables = {
        "leaderboard": command("report", "leaderboard", "--suite", suite, "--evaluator", "Rater"),
        "matrix": command("report", "leaderboard", "--suite", suite, "--evaluator", "Rater", "--table", "matrix"),
        "board": command("report", "board", "--suite", suite),
        "run": command("run", "show", rated.scored.run.pk),
    }
    results = command("report", "results", "--suite", suite, "--query", query)

    shown = dict.fromkeys(tables, "6.25") | {"matrix": "7.50"}  # of the two easy cases
    assert {name: words in tables[name] for name, words in shown.items()} == dict.fromkeys(tables, True)
    assert {name for name, text in tables.items() if "62.5%" in text or "0.625" in text} == set()
    assert "6.25 of 10 over 4 cases, standard deviation 1.71" in tables["run"]  # of 7, 8, 4, 6
    assert "87.5%" in tables["board"]
    assert "| 7.000 |" in results


def test_json_has_numbers_of_the_scale_with_the_share_beside(rated: Rated) -> None:
    suite, ada, bob = rated.scored.suite.pk, rated.scored.ada.pk, rated.scored.bob.pk
    rater = ("--suite", suite, "--evaluator", "Rater")
    pair = f"evaluator={rated.judge.pk}&system={ada}&system={bob}"
    texts = {
        "leaderboard": command("report", "leaderboard", *rater, "--json"),
        "board": command("report", "board", "--suite", suite, "--json"),
        "comparison": command("report", "comparison", "--suite", suite, "--query", pair, "--json"),
        "charts": command("report", "charts", "--suite", suite, "--query", f"grader={rated.judge.pk}", "--json"),
    }
    leaderboard, board, comparison, charts = map(json.loads, texts.values())

    row, difference = leaderboard["rows"][0], leaderboard["pairs"]["raw"][0]["difference"]
    figures = [row["figures"]["raw"], difference, leaderboard["slices"][0]["cells"]["raw"][str(ada)][0]["mean"]]
    assert leaderboard["evaluator"]["scale"] == "1 to 10"
    assert [(figure["value"], figure["share"]) for figure in figures] == [(6.25, 0.625), (4.5, 0.45), (7.5, 0.75)]
    assert [cell["mean"] for cell in leaderboard["matrix"]["cells"]["raw"][str(ada)]] == [7.5, 5.0]
    of_ada = next(row for row in board["rows"] if row["system"] == "ada")["cells"]
    assert [(cell["figure"]["value"], cell["figure"].get("share")) for cell in of_ada] == [(0.875, None), (6.25, 0.625)]
    case = next(case for case in comparison["cases"] if case["key"] == "case-1")
    assert (case["first"], case["second"], case["difference"]) == (7.0, 1.0, 6.0)
    spread = charts["distribution"][0]
    assert (spread["mean"]["value"], spread["quartiles"]) == (6.25, [5.5, 6.5, 7.25])  # of 7, 8, 4, 6
    assert sorted(score for _, score in charts["lengths"]["points"]) == [1, 1, 2, 3, 4, 6, 7, 8]
    assert [name for name, text in texts.items() if '"rating"' in text] == []


@pytest.mark.parametrize(
    ("asked", "cases"),
    [
        ("least=7", ["case-1", "case-2"]),  # ada has 7, 8, 4, 6 and bob 1, 1, 2, 3
        ("least=3&most=4", ["case-3", "case-4"]),  # ada's 4 and bob's 3
        ("least=7.5", ["case-2"]),
        ("most=0", ["case-1", "case-2", "case-3", "case-4"]),  # the scale begins at 1: nothing is left out
        ("least=70", ["case-1", "case-2", "case-3", "case-4"]),
    ],
)
def test_the_filter_the_address_the_file_and_the_command_take_numbers_of_the_scale(
    rated: Rated, researcher: Client, asked: str, cases: list[str]
) -> None:
    suite, query = rated.scored.suite.pk, f"grader={rated.judge.pk}&{asked}"
    page = researcher.get(f"{reverse('reports:results-detail', args=[suite])}?{query}")
    file = table_of(researcher, f"{reverse('reports:results-export', args=[suite, 'rows', 'csv'])}?{query}")
    printed = csv.DictReader(io.StringIO(command("report", "results", "--suite", suite, "--query", query, "--csv")))

    assert [row["case"].key for row in page.context["rows"]] == cases
    assert sorted({row["case"] for row in file}) == cases
    assert sorted({row["case"] for row in printed}) == cases
    assert "Score from, 1 to 10" in " ".join(page.text.split())
    told = "Scores of ada go from 1 to 10; other numbers leave nothing out."
    assert (told in page.text) == (asked in ("most=0", "least=70"))


@pytest.mark.parametrize(
    ("grader", "query", "filled"),
    [
        ("Rater", "least=70&most=85&show=all", "least=7&most=8.5&show=all"),
        ("Rater", "least=&most=x&q=least%3D70", "least=&most=x&q=least%3D70"),
        ("rules", "least=70&most=85", "least=70&most=85"),
    ],
)
def test_views_that_were_saved_with_percent_keep_the_rows_that_they_are_about(
    rated: Rated, grader: str, query: str, filled: str
) -> None:
    key = rated.judge.pk if grader == "Rater" else rated.scored.rules.pk
    ada, fields = factories.user("ann"), {"name": "High", "created_at": factories.NOON}
    view = SavedView.objects.create(suite=rated.scored.suite, query=f"grader={key}&{query}", created_by=ada, **fields)

    FILL(apps, connection.schema_editor())

    view.refresh_from_db()
    assert view.query == f"grader={key}&{filled}"


def test_a_filter_by_score_is_about_the_columns_on_its_scale(rated: Rated, researcher: Client) -> None:
    keys = [rated.judge.pk, rated.scored.rules.pk]  # a judge of 1 to 10 beside shares
    address = reverse("reports:results-detail", args=[rated.scored.suite.pk])
    query = "&".join(f"grader={key}" for key in keys)

    page = researcher.get(f"{address}?columns=judges&{query}&least=8")

    assert [(row["case"].key, row["system"]) for row in page.context["rows"]] == [("case-2", "ada")]
    assert "Only scores of the columns on the first column's scale are asked for." in html.unescape(page.text)


def test_a_share_is_asked_for_in_percent(rated: Rated, researcher: Client) -> None:
    address = reverse("reports:results-detail", args=[rated.scored.suite.pk])

    page = researcher.get(f"{address}?grader={rated.scored.rules.pk}&least=40&most=60")

    assert [row["case"].key for row in page.context["rows"]] == ["case-4"]
    assert "Score from, %" in " ".join(page.text.split())


def test_counts_of_a_distribution_lead_to_the_rows_of_their_scale(rated: Rated, researcher: Client) -> None:
    suite, key = rated.scored.suite.pk, rated.judge.pk
    charts = researcher.get(reverse("reports:charts-detail", args=[suite]) + f"?grader={key}").context["charts"]
    results = reverse("reports:results-detail", args=[suite])
    counts = [
        (row["system_id"], cell["n"], f"&least={cell['least']}" * bool(cell["least"]), f"&most={cell['most']}")
        for row in charts.distribution
        for cell in row["cells"]
        if cell["n"]
    ]

    led_to = [
        len(researcher.get(f"{results}?grader={key}&system={system}{least}{most}").context["rows"])
        for system, _, least, most in counts
    ]

    assert [n for _, n, _, _ in counts] == led_to
    assert sum(led_to) == 8


def test_the_votes_of_a_panel_are_numbers_of_its_scale_in_every_file(
    rated: Rated, researcher: Client, tmp_path: Path
) -> None:
    members = [{"judge": name, "judge_kind": "custom", "judge_options": OPTIONS, "weight": 1} for name in "AB"]
    options = {"judge_kind": "panel", "judge_options": {"members": members, "rule": "mean"}}
    fields = {"position": 2, "kind": EvaluatorKind.JUDGE, "name": "Panel", "total": 1, "done": 1}
    panel = factories.evaluator(run=rated.scored.run, judge=factories.judge(name="Panel"), options=options, **fields)
    votes = [{"judge": name, "status": "ok", "rationale": "", "confidence": None} for name in "AB"]
    verdict = factories.verdict(evaluator=panel, response=rated.response("ada"), value={}, votes=votes)
    about = {"run": rated.scored.run, "evaluator": panel, "response": verdict.response}
    detail = {"votes": {"A": 0.7, "B": 0.4}}
    factories.score(verdict=verdict, value=5.5, full=10, share=0.55, detail=detail, **about)
    suite = rated.scored.suite.pk

    rows = table_of(researcher, reverse("reports:results-export", args=[suite, "rows", "csv"]) + f"?grader={panel.pk}")
    command("run", "export", rated.scored.run.pk, "--output", tmp_path / "scores.csv")
    scores = csv.DictReader((tmp_path / "scores.csv").open(encoding="utf-8-sig"))

    assert [row["votes"] for row in rows if row["score"]] == ["A: 7; B: 4"]
    assert [row["votes"] for row in scores if row["evaluator"] == "Panel"] == ["A: 7; B: 4"]


def test_shares_of_judges_are_percent_on_the_page_and_in_the_table_of_the_command(
    rated: Rated, researcher: Client
) -> None:
    page = text_of(researcher, reverse("reports:judge-list"))
    table = command("report", "judges")

    line = next(line for line in table.splitlines() if "Rater" in line)
    assert "100.0% [" in line  # all 8 verdicts were read
    assert "Rater" in page
    assert "100.0%" in page
