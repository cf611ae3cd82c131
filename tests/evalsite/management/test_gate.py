"""Rules for a pipeline through `evaluate` and `report`: exit codes and the files that they write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command

from evalsite.base.rows import BadInput
from judging.models import Run, Suite
from tests import factories
from tests.fake_llm.fixture import FakeLLM

pytestmark = pytest.mark.django_db(transaction=True)

CASES = 40
SUITE = "name: Numbers\ncases:\n" + "".join(
    f"- {{id: n{number}, prompt: Say n{number}., reference: ok, type: t, lang: l, grading: {{keywords: [ok]}}}}\n"
    for number in range(CASES)
)


@pytest.fixture
def server() -> Iterator[FakeLLM]:
    with FakeLLM(latency=1, reply="ok", script=[{"model": "elm", "reply": "no"}]) as started:
        yield started


@pytest.fixture
def arguments(server: FakeLLM, tmp_path: Path) -> tuple[str, ...]:
    factories.endpoint(name="oak", base_url=server.url, model="oak")
    path = tmp_path / "numbers.yaml"
    path.write_text(SUITE)
    return (str(path), "--systems", "oak", "--wait", "--people", "nobody")


def ended(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code of a command and what it printed."""
    out = StringIO()
    code = 0
    try:
        call_command(*arguments, "--json", stdout=out, stderr=StringIO())
    except CommandError as error:
        code = error.returncode
    return code, json.loads(out.getvalue() or "{}")


def test_evaluate_ends_by_its_rules(arguments: tuple[str, ...], server: FakeLLM) -> None:
    held, report = ended("evaluate", *arguments, "--fail-under", "oak=100%")
    server.config(reply="no")
    fell, after = ended("evaluate", *arguments, "--fresh", "--fail-on-regression", str(report["run"]))
    failed, _ = ended("evaluate", *arguments, "--fail-under", "oak=0.5:lower")
    unlabelled, _ = ended("evaluate", *arguments, "--fail-under", "oak=0.5", "--min-labels", "1")

    assert (held, fell, failed, unlabelled) == (0, 3, 3, 4)
    assert report["gate"] == {
        "exit_code": 0,
        "rules": [
            {"rule": "raw mean at least 100%", "system": "oak · PLAIN", "evaluator": "rules", "verdict": "held",
             "words": "100.00%"}
        ],
    }  # fmt: skip
    [regression] = after["gate"]["rules"]
    assert (regression["system"], regression["verdict"]) == ("oak · PLAIN", "not held")
    assert regression["words"].startswith("−100.00% [")
    assert regression["words"].endswith(f"{CASES} cases")


def test_rules_that_cannot_apply_are_bad_input_before_anything_is_asked(
    arguments: tuple[str, ...], server: FakeLLM, tmp_path: Path
) -> None:
    for rules, words in (
        (("--fail-under", "oak"), "SYSTEM=VALUE"),
        (("--fail-on-regression", "nothing"), "no run or suite “nothing”"),
        (("--min-labels", "-1"), "--min-labels: Ensure this value is greater than or equal to 0"),
        (("--junit", str(tmp_path / "none" / "a.xml")), "no such folder"),
    ):
        with pytest.raises(BadInput, match=words):
            call_command("evaluate", *arguments, *rules, stdout=StringIO(), stderr=StringIO())
    with pytest.raises(BadInput, match="add --wait"):
        call_command("evaluate", *arguments[:3], "--fail-under", "oak=1", stdout=StringIO(), stderr=StringIO())

    assert (server.stats()["calls"], Run.objects.count()) == (0, 0)
    assert ended("evaluate", *arguments, "--fail-under", "ash=0.5")[0] == 2
    assert ended("evaluate", *arguments, "--fail-under", "oak=80")[0] == 2


def test_report_leaderboard_takes_the_same_rules_and_writes_files(arguments: tuple[str, ...], tmp_path: Path) -> None:
    ended("evaluate", *arguments)
    suite, junit, summary = Suite.objects.get(), tmp_path / "gate.xml", tmp_path / "gate.md"
    command = ("report", "leaderboard", "--suite", str(suite.pk))
    files = ("--junit", str(junit), "--summary", str(summary), "--site", "https://eval.example/")

    code, _ = ended(
        *command, "--fail-under", "oak=0.5", "--fail-under", "oak=1:lower", "--fail-on-regression", "numbers", *files
    )

    assert code == 3
    root = ElementTree.fromstring(junit.read_text())
    [tests] = root
    totals = {"tests": "3", "failures": "1", "errors": "1"}
    assert (root.tag, root.attrib, tests.tag, tests.attrib) == (
        "testsuites", totals, "testsuite", {"name": "evalsite", **totals},
    )  # fmt: skip
    assert [(case.tag, case.attrib, [child.tag for child in case]) for case in tests] == [
        ("testcase", {"classname": "rules", "name": f"{system}: {rule}"}, children)
        for system, rule, children in (
            ("oak · PLAIN", "raw mean at least 0.5", []),
            ("oak · PLAIN", "raw lower end at least 1", ["failure"]),
            ("all", f"no regression against {suite}", ["error"]),
        )
    ]
    lines = summary.read_text().splitlines()
    run = Run.objects.get()
    assert lines[0] == "## Evaluation: not held"
    assert f"### rules, [{run}](https://eval.example{run.get_absolute_url()})" in lines
    assert next(line for line in lines if line.startswith("| oak")).startswith("| oak · PLAIN | raw mean at least 0.5")
    assert ended(*command, "--fail-under", "oak=0.5")[0] == 0
    assert ended(*command, "--mode", "corrected", "--fail-under", "oak=0.5:lower")[0] == 4
    with pytest.raises(CommandError, match="unrecognized arguments: --fail-under"):
        call_command("report", "results", "--suite", str(suite.pk), "--fail-under", "oak=0.5", stdout=StringIO())


def test_report_comparison_applies_rules_to_its_two_systems(arguments: tuple[str, ...], server: FakeLLM) -> None:
    factories.endpoint(name="elm", base_url=server.url, model="elm")
    ended("evaluate", arguments[0], "--systems", "oak", "elm", "--wait", "--people", "nobody")
    run = Run.objects.get()
    pair = "&".join(f"system={system.pk}" for system in run.systems.order_by("name"))
    command = ("report", "comparison", "--suite", str(run.suite_id), "--query", pair)

    assert ended(*command, "--fail-under", "oak=1", "--fail-under", "elm=0")[0] == 0
    assert ended(*command, "--fail-under", "elm=10%")[0] == 3
