"""The recipes of CONTRIBUTING.md: what one file and one entry add is offered, used and shown."""

from __future__ import annotations
import __future__

import csv
import re
import sys
from decimal import Decimal
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
from django import forms
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import include, path, reverse
from django.utils import timezone

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.api.operations import make_api
from evalsite.reports import jobs
from evalsite.reports.actions import results as result_tables
from evalsite.reports.selectors.leaderboards import Options
from evalsite.reports.services import results
from evalsite.reports.services.kinds import KINDS as REPORTS
from evalsite.reports.services.leaderboards import LEADERBOARD
from evalsite.reports.services.snapshots import ReportContent, ReportKind
from evalsite.review.actions import queues as queue_actions
from evalsite.review.services import queues
from judging.grading.contexts import METRICS, HandlerReply
from judging.judges.judge_kinds import JudgeKind
from judging.judges.registry import KINDS
from judging.models import Judge, Response, Run, Score, Verdict
from judging.selectors.judges import is_baseline
from judging.services.file_imports.imports import check_import, store_checked
from judging.services.file_imports.intake import ImportOptions
from judging.services.file_imports.rubrics import RubricOrigin
from judging.services.runs.estimates import estimate_run
from judging.services.runs.new_runs import create_run
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
from judging.specs.records import recognition
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import ResponseRecord
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.shapes import Shape
from judging.specs.records.tools import ALL
from tests import factories
from tests.evalsite.reports.services.results import test_row_order
from tests.factories import NOON
from tests.judging.services.run_rows import answered_suite, work

pytestmark = pytest.mark.django_db
CONTRIBUTING = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"


def add(registry: object, name: object, entry: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the entry of a recipe for the length of a test."""
    monkeypatch.setitem(cast(dict[Any, Any], registry), name, entry)


@pytest.fixture
def researcher(client: Client) -> Client:
    client.force_login(factories.user("rita", Role.RESEARCHER))
    return client


def blocks_of(heading: str) -> list[str]:
    """Return the blocks of Python below a heading of CONTRIBUTING.md."""
    section = CONTRIBUTING.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


@pytest.fixture
def length(monkeypatch: pytest.MonkeyPatch) -> JudgeKind:
    """Return the judge of the worked example, from the text of CONTRIBUTING.md."""
    (block,) = blocks_of("Worked example: a judge that calls no model")
    module = ModuleType("judging.judges.kinds.length")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # dataclasses look there
    exec(compile(block, "CONTRIBUTING.md", "exec"), vars(module))  # our own text
    kind: JudgeKind = module.KIND
    add(KINDS, kind.name, kind, monkeypatch)
    return kind


def test_a_judge_that_calls_no_model_is_chosen_run_and_seen_on_a_leaderboard(
    length: JudgeKind, researcher: Client
) -> None:
    suite, systems = answered_suite(cases=2, text="one two three four")
    create, runs = reverse("judging:judge-create"), f"{reverse('judging:run-create')}?suite={suite.pk}"

    offered = researcher.get(create)
    form = researcher.get(create, {"kind": "length"})
    made = researcher.post(f"{create}?kind=length", {"name": "Brief", "option_most_words": "3"})
    judge = Judge.objects.get()
    chosen = researcher.get(runs)
    researcher.post(runs, {"systems": [systems[0].pk], "judges": [judge.pk], "seed": "0"})
    run = Run.objects.get()
    work(run)

    assert "Length" in offered.text
    assert list(form.context["form"].fields) == ["name", "description", "option_most_words"]
    assert (made.status_code, judge.endpoint, judge.options, is_baseline(judge)) == (302, None, {"most_words": 3}, True)
    assert "Brief (baseline)" in chosen.text
    evaluator = run.evaluators.get()
    run.refresh_from_db()
    assert (run.status, run.calls_made) == ("finished", 0)
    assert evaluator.options == {"judge_kind": "length", "judge_options": {"most_words": 3}}
    assert list(Verdict.objects.values_list("value", flat=True)) == [{"words": 4}, {"words": 4}]
    assert list(Score.objects.values_list("share", flat=True)) == [0.75, 0.75]  # 3 of 4 words
    content = jobs.require(LEADERBOARD, subject_id=evaluator.pk, options={}, at=timezone.now())
    assert [(row["system"], row["figures"]["raw"]["value"]) for row in content["rows"]] == [(systems[0].name, 0.75)]
    board = researcher.get(reverse("reports:leaderboard-detail", args=[suite.pk]))
    assert "Brief" in board.text
    for page in (
        judge.get_absolute_url(),
        reverse("judging:judge-list"),
        run.get_absolute_url(),
        Verdict.objects.latest("pk").get_absolute_url(),
        reverse("help-topic", args=["runs"]),
        reverse("reports:judge-list"),
    ):
        assert researcher.get(page).status_code == 200, page


def test_an_estimate_counts_no_calls_of_a_judge_that_calls_no_model(length: JudgeKind) -> None:
    suite, systems = answered_suite(cases=3)
    judge = Judge.objects.create(name="Brief", kind="length")
    plan = RunPlan(suite=suite, systems=systems, evaluators=[EvaluatorChoice(judge=judge)])

    estimate = estimate_run(plan=plan, threads=4, at=NOON)

    assert (estimate.tasks, estimate.calls, estimate.cost) == (3, 0, Decimal(0))


def test_a_grader_is_called_by_the_name_that_a_suite_gives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def politeness(text: str, arguments: object) -> HandlerReply:
        return HandlerReply(float("please" in text), 1.0)

    add(METRICS, ("builtin", "politeness"), politeness, monkeypatch)
    suite, systems = answered_suite(
        cases=1, text="Wait, please.", grading={"customized": {"module": "builtin", "func": "politeness"}}, lang="text"
    )
    run = create_run(plan=RunPlan(suite=suite, systems=systems, evaluators=[EvaluatorChoice()]), actor=None, at=NOON)

    work(run)

    assert list(Score.objects.values_list("status", "share")) == [("complete", 1.0)]


def test_a_report_is_computed_in_a_job_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(subject_id: int, options: Options) -> ReportContent:
        return {"responses": Response.objects.filter(system=subject_id).count()}

    kind = ReportKind("response-count", lambda subject_id, options: "1", lambda subject_id, options: 1, count)
    add(REPORTS, kind.name, kind, monkeypatch)
    response = factories.response()

    jobs.compute_report(kind.name, response.system_id, {})

    shown = jobs.obtain(kind, subject_id=response.system_id, options={}, at=timezone.now())
    assert (shown.content, shown.is_current) == ({"responses": 1}, True)


def test_recipe_for_an_import_format(monkeypatch: pytest.MonkeyPatch) -> None:
    def reads(part: Part, collector: Collector, upload: UploadParts) -> None:
        for row in part.rows():
            place = part.place(row.at)
            case = collector.case_named(str(row.fields["for"]), place)
            if case is not None:
                collector.response(place, case, ResponseRecord(upload.options.system, str(row.fields["said"])))

    def fits(part: Part) -> bool:
        return part.keys_of_all() >= {"for", "said"}

    shape = Shape("said-for", "Said: what was said for each case", fits, "the keys for and said", reads=reads)
    monkeypatch.setattr(recognition, "ALL", (*ALL, shape))
    suite, _ = answered_suite(cases=2, systems=0)
    keys = list(suite.cases.order_by("key").values_list("key", flat=True))
    lines = "\n".join(f'{{"for": "{key}", "said": "answer to {key}"}}' for key in keys)

    checked = check_import(files=[("ada.jsonl", lines.encode())], options=ImportOptions(system="ada"))
    store_checked(checked=checked, origin=RubricOrigin("ada.jsonl", None, NOON))

    assert checked.intake.kinds == ["said-for"]
    assert sorted(Response.objects.values_list("system__name", "text")) == [("ada", f"answer to {key}") for key in keys]


def test_a_column_on_results_is_shown_sorted_by_and_in_every_file(
    researcher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    column, test = blocks_of("Worked example: a column on Results")
    columns = (*results.ROW_COLUMNS, *eval(f"({column})", vars(results)))
    for module in (results, result_tables):
        monkeypatch.setattr(module, "ROW_COLUMNS", columns)
    suite, systems = answered_suite(cases=2, systems=2, text="Use chmod.", grading={"keywords": ["chmod"]})
    first, second = suite.cases.order_by("links__position").values_list("key", flat=True)
    Response.objects.filter(prompt__cases__key=second, system=systems[1]).delete()
    work(create_run(plan=RunPlan(suite=suite, systems=systems, evaluators=[EvaluatorChoice()]), actor=None, at=NOON))
    asked: dict[str, str | int] = {"suite": suite.pk, "query": "sort=scored", "table": "rows"}

    names = {**vars(test_row_order)}
    exec(compile(test, "CONTRIBUTING.md", "exec", flags=__future__.annotations.compiler_flag), names)
    names["test_choose_rows_sorts_by_the_number_of_scores"]()
    page = researcher.get(f"/reports/results/{suite.pk}/?sort=scored")
    file = researcher.get(f"/reports/results/{suite.pk}/exports/rows.csv?sort=-scored")
    by_command = StringIO()
    call_command("report", "results", "--suite", str(suite.pk), "--query", "sort=scored", "--csv", stdout=by_command)
    by_api = researcher.get("/api/v1/reports/results", asked)

    assert [(row["case"].key, row["values"][-1]) for row in page.context["rows"]] == [
        (second, ("1", "")),
        (first, ("2", "")),
    ]
    assert "sort=-scored" in page.text
    in_file = [(row["case"], row["scored"]) for row in csv.DictReader(StringIO(file.getvalue().decode("utf-8-sig")))]
    assert in_file == [(first, "2.0"), (first, "2.0"), (second, "1.0")]
    lines = csv.DictReader(StringIO(by_command.getvalue().removeprefix("\ufeff")))
    assert [row["scored"] for row in lines] == ["1.0", "2.0", "2.0"]
    assert [row["scored"] for row in by_api.json()["rows"]] == [1.0, 2.0, 2.0]


def test_an_act_on_a_queue_is_done_by_page_command_and_api(
    researcher: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    service, declaration = blocks_of("Worked example: an act on a queue")
    monkeypatch.setattr(queue_actions.QUEUES, "actions", dict(queue_actions.QUEUES.actions))
    names = {**vars(queues), **vars(queue_actions), "forms": forms}
    exec(compile(service + declaration, "CONTRIBUTING.md", "exec", flags=__future__.annotations.compiler_flag), names)
    queue = factories.queue(name="A queue")
    rita = User.objects.get(username="rita")
    addresses = ModuleType("addresses_with_a_note")
    monkeypatch.setenv("NINJA_SKIP_REGISTRY", "1")  # a second API of one process
    api_urls = make_api({"queue": queue_actions.QUEUES}, {}).urls
    vars(addresses)["urlpatterns"] = [path("api/v1/", api_urls), path("", include("evalsite.urls"))]
    monkeypatch.setitem(sys.modules, addresses.__name__, addresses)
    settings.ROOT_URLCONF = addresses.__name__

    shown = researcher.get(queue.get_absolute_url())
    form = researcher.get(f"/acts/queue/{queue.pk}/note/")
    refused = researcher.post(f"/acts/queue/{queue.pk}/note/", {"text": ""})
    by_page = researcher.post(f"/acts/queue/{queue.pk}/note/", {"text": "by page"}, follow=True)
    call_command("queue", "note", queue.slug, "--text", "by command", "--by", "rita", "--json")
    by_api = researcher.post(f"/api/v1/queues/{queue.pk}/note", {"text": "by API"}, content_type="application/json")

    assert f'href="/acts/queue/{queue.pk}/note/"' in shown.content.decode()
    assert "Keep a note about a queue in the audit log." in form.content.decode()
    assert (refused.status_code, "This field is required." in refused.content.decode()) == (400, True)
    assert "The note is in the audit log" in by_page.content.decode()
    assert (by_api.status_code, by_api.json()["queue"]) == (200, queue.slug)
    entries = AuditEntry.objects.filter(action="queue.noted").order_by("pk").values_list("actor", "detail")
    assert list(entries) == [
        (rita.pk, {"text": "by page"}),
        (rita.pk, {"text": "by command", "through": "command"}),
        (rita.pk, {"text": "by API", "through": "API"}),
    ]
