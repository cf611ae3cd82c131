"""Reports through the API: the figures of the command, the files of the page, and 202 while a worker computes."""

from __future__ import annotations

import io
import json
import sys
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.test import Client

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.api import urls as _urls  # noqa: F401 - loads what is declared
from evalsite.base.actions.reports import REPORTS
from evalsite.reports.services import snapshots
from tests import factories
from tests.evalsite.api.test_operations import PROBLEM, api_of
from tests.evalsite.reports.audited import Audited, audited_judge
from tests.evalsite.reports.conftest import Scored, scored  # noqa: F401 - a fixture
from tests.evalsite.reports.spent import ledger

pytestmark = pytest.mark.django_db
SPEND = "/api/v1/reports/spend"
FORMATS = "csv, xlsx, jsonl, jsonl.gz, parquet, arrow, tex, md"
TABLES = "judge, day, run, endpoint, person, budgets"


@pytest.fixture
def eve() -> User:
    return factories.user("eve", Role.RESEARCHER)


@pytest.fixture
def api(eve: User) -> Client:
    return api_of(eve)


def content_of(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command("report", *arguments, stdout=out)
    return out.getvalue()


def test_figures_and_tables_are_those_of_command_and_page(api: Client, eve: User) -> None:
    ledger()
    page = Client()
    page.force_login(eve)

    figures = api.get(SPEND, {"from": "2026-01-06"}).json()
    rows = api.get(SPEND, {"from": "2026-01-06", "table": "run"}).json()["rows"]

    assert figures == json.loads(printed("spend", "--json", "--from", "2026-01-06"))
    assert [row["run"] for row in rows] == [row["name"] for row in figures["run"]]
    for format_name in ("csv", "jsonl", "xlsx", "tex", "md"):
        answer = api.get(SPEND, {"from": "2026-01-06", "table": "run", "format": format_name})
        on_page = page.get(f"/reports/spend/exports/run.{format_name}", {"from": "2026-01-06"})
        assert content_of(answer) == content_of(on_page)
    entries = AuditEntry.objects.filter(action="report.exported", detail__has_key="through")
    assert set(entries.values_list("detail__through", "detail__table")) == {("API, token script", "run")}


def test_a_report_that_a_worker_computes_is_asked_for_again(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger()
    monkeypatch.setattr(snapshots, "INLINE_ROWS", 1)
    monkeypatch.setattr("evalsite.reports.jobs.launch_report", lambda *_, **__: True)

    answer = api.get(SPEND, {"format": "csv"})

    assert (answer.status_code, answer["Retry-After"], answer.json()) == (202, "5", {"status": "computing"})


def test_a_table_that_names_people_is_for_those_who_may_know_them(api: Client) -> None:
    reader = factories.user("max", Role.ANNOTATOR)
    reader.user_permissions.add(Permission.objects.get(codename="view_snapshot"))
    audited_judge(
        [Audited(True, place > 0, 0.95) for place in range(40)],
        people=[factories.user(name) for name in ("ada", "bob", "cy")],
    )
    trust = "/api/v1/reports/trust"

    whole = api.get(trust, {"name": "Strict"}).json()
    rows = api.get(trust, {"name": "Strict", "table": "confusion"}).json()["rows"]
    refused = api_of(reader).get(trust, {"name": "Strict", "table": "annotators"})
    allowed = api_of(reader).get(trust, {"name": "Strict", "table": "reliability"})
    unknown = api.get(trust, {"name": "Strict", "version": "nothing"})
    named = api.get(trust, {"name": "Strict", "table": "annotators"}).json()["rows"]

    assert "ada" not in json.dumps(whole["tests"])
    assert [row["label"] for row in rows] == ["Met", "Not met"]
    assert (refused.status_code, allowed.status_code, unknown.status_code) == (403, 200, 409)
    assert unknown.json()["detail"].startswith("“nothing” matches 0 versions of “Strict”. Versions: ")
    assert [row["annotator"] for row in named] == ["ada", "bob", "cy"]
    assert json.loads(printed("trust", "--name", "Strict", "--json")) == whole


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        ({"from": "soon"}, {"from": ["“soon” is not a day. Write it as 2026-01-31."]}),
        ({"table": "planet"}, {"table": [f"There is no table “planet” here. Tables: {TABLES}."]}),
        ({"format": "pdf"}, {"format": [f"There is no format “pdf”. Formats: {FORMATS}."]}),
        ({"group": "day"}, {"group": ["There is no such parameter."]}),
    ],
)  # fmt: skip
def test_parameters_that_cannot_be_used_are_named(api: Client, query: dict[str, str], errors: Any) -> None:
    answer = api.get(SPEND, query)

    assert (answer.status_code, answer["Content-Type"], answer.json()["errors"]) == (422, PROBLEM, errors)


def test_a_table_is_a_parquet_file_where_pyarrow_is_installed(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    ledger()
    asked = {"from": "2026-01-06", "table": "run"}

    rows, answer = api.get(SPEND, asked).json()["rows"], api.get(SPEND, asked | {"format": "parquet"})
    table = pyarrow.read_table(io.BytesIO(content_of(answer))).to_pylist()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    without = api.get(SPEND, asked | {"format": "arrow"})

    assert len(table) == len(rows) > 0
    assert answer["Content-Type"] == "application/vnd.apache.parquet"
    assert (without.status_code, list(without.json()["errors"])) == (422, ["format"])


def test_reports_are_for_those_who_may_see_their_page() -> None:
    assert api_of(factories.user(role=Role.ANNOTATOR)).get(SPEND).status_code == 403


def test_a_leaderboard_is_that_of_the_command(scored: Scored, api: Client) -> None:  # noqa: F811 - the fixture
    run = scored.rules.run
    query = {"run": str(run.pk), "evaluator": scored.rules.name, "skip_missing": "true"}

    by_run = api.get("/api/v1/reports/leaderboard", query)
    latex = api.get("/api/v1/reports/leaderboard", query | {"table": "systems", "format": "tex"})
    nothing = api.get("/api/v1/reports/leaderboard")

    options = ("--run", str(run.pk), "--evaluator", scored.rules.name, "--skip-missing")
    assert by_run.json() == json.loads(printed("leaderboard", *options, "--json"))
    assert content_of(latex).decode() == printed("leaderboard", *options, "--table", "systems", "--tex")
    assert nothing.json()["errors"] == {"": ["Name a suite or a run."]}


HOSTILE = ("", "0", "-1", "9" * 40, "a@1", "x" * 5000, "\u202e<script>", "true", "[1]", "2026-13-40")


@pytest.mark.parametrize("name", REPORTS)
def test_no_choice_brings_a_report_down(name: str, api: Client) -> None:
    fields = [*REPORTS[name].fields, "table", "format"]

    answers = [api.get(f"/api/v1/reports/{name}", {field: text}) for field in fields for text in HOSTILE]
    answers += [api.get(f"/api/v1/reports/{name}?" + "&".join(f"{field}=1&{field}=2" for field in fields))]

    assert {answer.status_code for answer in answers} <= {200, 202, 409, 422}
    assert {answer["Content-Type"] for answer in answers if answer.status_code > 300} <= {PROBLEM}
