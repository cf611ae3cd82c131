"""The command `report`, and files of scores."""

from __future__ import annotations

import csv
import json
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils.text import slugify
from openpyxl import load_workbook

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.base.actions.declarations import declared_nouns
from evalsite.base.actions.reports import REPORTS, Report
from evalsite.base.rows import BadInput
from evalsite.management.commands.report import DECLARED
from evalsite.reports.services.publications import save_view
from tests import factories
from tests.debate import rows
from tests.evalsite.reports.conftest import Scored

pytestmark = pytest.mark.django_db


def as_json(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(*arguments, "--json", stdout=out)
    output = json.loads(out.getvalue())
    assert isinstance(output, dict)
    return output


def test_report_leaderboard_prints_what_the_page_shows(scored: Scored) -> None:
    by_slug = as_json("report", "leaderboard", "--suite", "sums")
    by_run = as_json("report", "leaderboard", "--run", str(scored.run.pk), "--skip-missing")

    assert [(row["system"], row["figures"]["raw"]["value"]) for row in by_slug["rows"]] == [
        ("ada", 0.875),
        ("cy", pytest.approx(1 / 3)),
        ("bob", 0.25),
    ]
    assert {row["system"]: row["figures"]["raw"]["value"] for row in by_run["rows"]}["cy"] == 0.5
    assert [table["system"] for table in by_slug["breakdown"]["tables"]] == ["ada", "bob", "cy"]


def test_report_agreement_and_judges_print_one_object() -> None:
    item = factories.review_item(queue=factories.queue(slug="pairs"))
    for label in ("1", "1"):
        factories.annotation(item=item, label=label)

    assert as_json("report", "agreement", "--queue", "pairs")["summary"]["unanimous"] == 1
    assert as_json("report", "judges")["judges"] == []
    assert isinstance(as_json("report", "debates"), dict)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["leaderboard"], "Name a suite or a run."),
        (["leaderboard", "--run", "999"], "There is no run “999”"),
        (
            ["leaderboard", "--suite", "sums", "--evaluator", "Nobody"],
            "There is no grader or judge with scores “Nobody”. There are: rules",
        ),
        (["agreement", "--queue", "nowhere"], "There is no queue “nowhere”"),
        (["agreement", "--labels", "nowhere"], "There is no label table “nowhere”"),
        (["debates", "--set", "999"], "There is no set of debates “999”"),
    ],
)
def test_report_refuses_what_is_not_there(scored: Scored, arguments: list[str], message: str) -> None:
    with pytest.raises(BadInput, match=message) as refused:
        call_command("report", *arguments)

    assert refused.value.returncode == 2


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command("report", *arguments, stdout=out)
    return out.getvalue()


def test_report_prints_the_pages_own_tables_as_csv_and_latex(scored: Scored, researcher: Any) -> None:
    export = reverse("reports:leaderboard-export", args=[scored.suite.pk, "systems", "csv"])
    page = b"".join(researcher.get(export).streaming_content).decode()
    tex = reverse("reports:leaderboard-export", args=[scored.suite.pk, "pairs", "tex"])
    latex = b"".join(researcher.get(tex).streaming_content).decode()

    assert printed("leaderboard", "--suite", "sums", "--csv") == page
    assert printed("leaderboard", "--suite", "sums", "--tex", "--table", "pairs") == latex
    assert "\\toprule" in latex
    with pytest.raises(BadInput, match="There is no table “nothing” here"):
        printed("leaderboard", "--suite", "sums", "--csv", "--table", "nothing")


@pytest.mark.parametrize("what", ["judges", "debates", "arena"])
def test_every_report_prints_its_tables_even_without_data(what: str) -> None:
    assert printed(what, "--csv").startswith("\ufeff")
    assert printed(what, "--tex").startswith("% needs \\usepackage{booktabs}")


def test_report_arena_prints_what_the_page_shows() -> None:
    owner = factories.debate_set()
    factories.debate(debate_set=owner, status="agreed", verdict=1, agreed_round=0)

    by_command = as_json("report", "arena", "--rule", "majority")

    assert by_command["rule"] == "majority"
    assert by_command["whole"]["reason"].startswith("A ranking needs debates of three or more systems")


def test_report_debates_holds_the_pages_figures_under_the_chosen_rule_and_reading() -> None:
    printed = as_json("report", "debates", "--rule", "majority", "--reading", "recorded")

    assert (printed["report"]["rule"], printed["report"]["reading"]) == ("majority", "recorded")


def test_report_agreement_prints_a_label_table_for_latex(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("item,rater,label\n1,ann,a\n1,ben,a\n2,ann,b\n2,ben,a\n")
    call_command("labels", "create", "--file", str(path), "--json", stdout=StringIO())

    latex = printed("agreement", "--labels", "two", "--tex")

    assert "\\caption{Agreement between people. Annotations of two." in latex
    assert "Percent agreement" in latex


def test_run_export_writes_the_same_rows_in_every_format(scored: Scored, tmp_path: Path) -> None:
    for format_name in ("csv", "xlsx", "jsonl"):
        path = tmp_path / f"scores.{format_name}"
        result = as_json("run", "export", str(scored.run.pk), "--format", format_name, "--output", str(path))
        name = f"{slugify(f'{scored.run} scores')}.{format_name}"
        assert result == {"file": name, "output": str(path), "bytes": path.stat().st_size}

    with (tmp_path / "scores.csv").open(encoding="utf-8-sig", newline="") as file:
        from_csv = [(row["system"], row["case"], row["share"]) for row in csv.DictReader(file)]
    lines = (tmp_path / "scores.jsonl").read_text().splitlines()
    from_jsonl = [(row["system"], row["case"], row["share"]) for row in map(json.loads, lines)]
    sheet = load_workbook(tmp_path / "scores.xlsx").active
    assert sheet is not None
    header, *body = sheet.iter_rows(values_only=True)
    columns = [header.index(name) for name in ("system", "case", "share")]
    from_xlsx = [tuple(row[column] for column in columns) for row in body]
    assert from_jsonl[:5] == [
        ("ada", "case-1", 1.0),
        ("ada", "case-2", 1.0),
        ("ada", "case-3", 1.0),
        ("ada", "case-4", 0.5),
        ("bob", "case-1", 0.0),
    ]
    assert from_jsonl[10] == ("cy", "case-3", None)
    assert from_xlsx == from_jsonl
    assert [(*row[:2], float(row[2]) if row[2] else None) for row in from_csv] == from_jsonl
    assert AuditEntry.objects.filter(action="report.exported", detail__table="scores").count() == 3
    trial = factories.evaluator(run=factories.run(suite=scored.suite, kind="single"))  # part of no report
    factories.score(evaluator=trial, response=scored.rules.scores.order_by("pk")[0].response, share=0.0)
    as_json("board", "export-scores", "sums", "--format", "jsonl", "--output", str(tmp_path / "all.jsonl"))
    assert (tmp_path / "all.jsonl").read_text().splitlines() == lines


def test_run_export_refuses_a_file_it_cannot_write(scored: Scored, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Cannot write"):
        call_command("board", "export-scores", "sums", "--output", str(tmp_path / "none" / "scores.csv"))


def test_run_export_names_the_set_of_debates(tmp_path: Path) -> None:
    run = factories.run(kind="debate")
    debate_set = rows.debate_set(run=run)

    with pytest.raises(BadInput, match=f"Export their set of debates: {debate_set.pk}.") as refused:
        call_command("run", "export", str(run.pk), "--output", str(tmp_path / "scores.csv"))

    assert (refused.value.returncode, list(tmp_path.iterdir())) == (2, [])


def test_report_results_prints_a_saved_view(scored: Scored) -> None:
    author, other = factories.user("rita", Role.RESEARCHER), factories.user("rob", Role.RESEARCHER)
    for person, name in ((author, "Bob's worst"), (author, "Ours"), (other, "Ours")):
        query = f"most=0.5&system={scored.bob.pk}"
        save_view(suite=scored.suite, name=name, query=query, is_shared=False, actor=person, at=factories.NOON)

    rows = json.loads(printed("results", "--suite", "sums", "--view", "Bob's worst", "--json"))["rows"]

    assert {(row["system"], row["score"]) for row in rows} == {("bob", 0.0)}
    with pytest.raises(BadInput, match=r"There is no saved view “Mine” .* Saved views: Bob's worst, Ours"):
        call_command("report", "results", "--suite", "sums", "--view", "Mine")
    with pytest.raises(BadInput, match="Several people have saved a view “Ours”"):
        call_command("report", "results", "--suite", "sums", "--view", "Ours")


@pytest.mark.parametrize(
    "arguments",
    [
        *(["leaderboard"], ["leaderboard", "--table", "slices"], ["board"], ["charts"], ["results"], ["judges"]),
        *(["agreement", "--queue", "Pairs"], ["debates"], ["arena"], ["spend"]),
    ],
)
def test_every_report_prints_the_table_of_md_and_no_python(scored: Scored, arguments: list[str]) -> None:
    factories.annotation(item=factories.review_item(queue=factories.queue(slug="pairs", name="Pairs")), label="1")
    suite = ["--suite", "Sums"] if arguments[0] in ("leaderboard", "board", "charts", "results") else []

    shown = printed(*arguments, *suite)

    assert shown == printed(*arguments, *suite, "--md")
    assert "| --- |" in shown
    assert [word for word in ("{'", "['", "None", "True", "Decimal(") if word in shown] == []


def test_report_leaderboard_takes_the_number_of_the_pages_address(scored: Scored) -> None:
    evaluator = scored.run.evaluators.get()

    by_number = as_json("report", "leaderboard", "--suite", str(scored.suite.pk), "--evaluator", str(evaluator.pk))

    assert by_number == as_json("report", "leaderboard", "--suite", "sums", "--evaluator", evaluator.name)


def test_the_command_knows_every_report_that_is_declared() -> None:
    declared_nouns()

    assert DECLARED.keys() == REPORTS.keys()
    modules = {name: import_module(f"evalsite.reports.actions.{module}") for name, module in DECLARED.items()}
    assert [name for name, module in modules.items() if REPORTS[name] not in _reports_of(module)] == []


def _reports_of(module: ModuleType) -> list[Report[Any]]:
    return [value for value in vars(module).values() if isinstance(value, Report)]
