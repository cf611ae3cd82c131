"""`evaluate`: from a suite file and a key to a leaderboard in one command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from evalsite.accounts.roles import Role
from evalsite.base.rows import BadInput
from judging.models import Run, Suite
from tests import factories
from tests.fake_llm.fixture import FakeLLM
from tests.judging.services.comparison_rows import TIE, comparing_judge, replied_suite

pytestmark = pytest.mark.django_db(transaction=True)

SUITE = """\
name: Rivers
cases:
- {id: danube, prompt: Where does the Danube end?, reference: Black, type: t, lang: l, grading: {keywords: [Black]}}
- {id: elbe, prompt: Where does the Elbe end?, reference: North, type: t, lang: l, grading: {keywords: [North]}}
"""
FILTERED = {"index": 0, "finish_reason": "content_filter", "message": {"role": "assistant", "content": ""}}
REFUSED = {"raw": {"status": 200, "body": {"choices": [FILTERED]}}}


@pytest.fixture
def server() -> Iterator[FakeLLM]:
    """A server with two models that answer, one of which is stopped by a filter, and a judge."""
    script: list[dict[str, Any]] = [
        {"model": "judge", "reply": '{"is_judged_correct": true, "reasoning": "matches"}'},
        {"model": "oak", "match": "Danube", "reply": "The Black Sea."},
        {"model": "oak", "reply": "The North Sea."},
        {"model": "elm", "match": "Danube", "reply": "The Black Sea."},
        {"model": "elm", "reply": REFUSED},
    ]
    with FakeLLM(latency=2, script=script) as started:
        yield started


@pytest.fixture
def suite_file(tmp_path: Path) -> Path:
    path = tmp_path / "rivers.yaml"
    path.write_text(SUITE)
    return path


def evaluated(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("evaluate", *arguments, "--json", stdout=out, stderr=StringIO())
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


def test_evaluate_goes_from_a_file_to_leaderboards_and_asks_nothing_twice(server: FakeLLM, suite_file: Path) -> None:
    oak = factories.endpoint(name="oak", base_url=server.url, model="oak")
    call_command("system", "create", "--endpoint", oak.name, "--name", "oak 0", stdout=StringIO())
    factories.endpoint(name="elm", base_url=server.url, model="elm")
    judge = factories.endpoint(name="judge", base_url=server.url, model="judge")
    factories.judge(name="acc", kind="accuracy", endpoint=judge)
    ada = factories.user("ada", Role.RESEARCHER)
    arguments = (str(suite_file), "--systems", "oak 0", "elm", "--judges", "acc", "--by", "ada", "--wait")

    report = evaluated(*arguments)
    calls = server.stats()["calls"]
    again = evaluated(str(Suite.objects.get().pk), *arguments[1:])

    assert (report["status"], report["calls_made"], report["failures"]) == ("finished", 6, {"answer-content-filter": 1})
    assert [*Suite.objects.values_list("created_by"), *Run.objects.values_list("created_by")] == [(ada.pk,)] * 3
    # 4 asks, and 2 verdicts: equal responses to one question are judged by one call
    assert report["asked"] == [
        {"system": "elm · PLAIN", "asked": 2, "responses": 1, "cut_off": 0, "waiting": 0,
         "missing": {"content filter": 1}},
        {"system": "oak 0", "asked": 2, "responses": 2, "cut_off": 0, "waiting": 0, "missing": {}},
    ]  # fmt: skip
    rules, accuracy = report["leaderboards"]
    counted = [
        [(row["system"], row["mean"], row["scored"], row["missing"], row["unscored"]) for row in board["systems"]]
        for board in (rules, accuracy)
    ]
    # the filtered reply counts the null score of the suite, 0, in both
    assert counted == [[("oak 0", 1.0, 2, 0, 0), ("elm · PLAIN", 0.5, 1, 1, 0)]] * 2
    assert [board["evaluator"] for board in (rules, accuracy)] == ["rules", "acc"]
    assert again["calls_made"] == server.stats()["calls"] - calls == 1  # a filtered reply is no finished call


def test_evaluate_takes_a_part_and_its_board_is_about_that_part(server: FakeLLM, suite_file: Path) -> None:
    factories.endpoint(name="oak", base_url=server.url, model="oak")

    report = evaluated(str(suite_file), "--systems", "oak", "--cases", "elbe", "--attempts", "2", "--wait")

    [board] = report["leaderboards"]
    [row] = board["systems"]
    assert (board["cases"], row["mean"], row["scored"], row["missing"]) == (1, 1.0, 1, 0)
    assert (row["scale"], row["shown"]) == ("share", "100.0%")
    assert report["calls_made"] == 2


def test_evaluate_estimates_without_asking(server: FakeLLM, suite_file: Path) -> None:
    factories.endpoint(name="oak", base_url=server.url, model="oak")

    report = evaluated(str(suite_file), "--systems", "oak", "--estimate")

    assert (report["calls"], report["calls_already_made"], Run.objects.count()) == (2, 0, 0)


def test_evaluate_refuses_in_words(suite_file: Path, tmp_path: Path) -> None:
    factories.endpoint(name="oak", base_url="http://127.0.0.1:9/v1", model="oak")
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: Rivers\ncases: 7\n")

    for arguments, words in (
        (("nowhere", "--systems", "oak"), "no suite “nowhere”"),
        ((str(broken), "--systems", "oak"), "broken.yaml"),
        ((str(suite_file), "--systems", "ash"), "no system or endpoint “ash”"),
        ((str(suite_file), "--systems", "oak", "--no-rules"), "Choose the rule graders, a judge, or both."),
        (
            (str(suite_file), "--systems", "oak", "--attempts", "0"),
            "--attempts: Ensure this value is greater than or equal to 1.",
        ),
    ):
        with pytest.raises(BadInput, match=words):
            evaluated(*arguments)


def test_evaluate_ranks_by_the_win_rate_against_the_baseline_that_it_names(fake_llm: FakeLLM) -> None:
    fake_llm.config(reply=TIE)
    suite, _ = replied_suite(2, base="Plain reply", other="Other reply")
    judge = comparing_judge(url=fake_llm.url)

    report = evaluated(
        str(suite.pk),
        "--systems",
        "base",
        "other",
        "--judges",
        judge.name,
        "--baseline",
        "base",
        "--no-rules",
        "--wait",
    )

    (board,) = report["leaderboards"]
    assert board["evaluator"] == f"{judge.name} · against base"
    # the baseline is not compared with itself, so it has no row
    assert [(row["system"], row["mean"], row["scored"], row["missing"]) for row in board["systems"]] == [
        ("other", 0.5, 2, 0)
    ]
