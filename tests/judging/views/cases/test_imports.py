"""The import pages: file, preview, done."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from evalsite.accounts.roles import Role
from judging.models import Benchmark, ImportStatus, Suite, System, Upload
from judging.services.file_imports import uploads
from judging.services.file_imports.uploads import ProgressWriter
from judging.specs.files.example_files import EXAMPLES
from judging.specs.records.names import MENU
from tests import factories
from tests.judging import import_files
from tests.judging.services.run_rows import level_judge
from tests.own_redis import OwnRedis

pytestmark = pytest.mark.django_db


@pytest.fixture
def importer(client: Client) -> Client:
    client.force_login(factories.user("ida", role=Role.RESEARCHER))
    return client


def send(client: Client, *files: import_files.File, **fields: str | list[str]) -> HttpResponse:
    uploaded = [SimpleUploadedFile(name, data) for name, data in files]
    return client.post(reverse("judging:import-create"), {"uploaded": uploaded, **fields})  # type: ignore[return-value]


def upload_of(client: Client, *files: import_files.File, **fields: str | list[str]) -> Upload:
    assert send(client, *files, **fields).status_code == 302
    return Upload.objects.latest("pk")


def confirm(client: Client, upload: Upload) -> Upload:
    client.post(reverse("judging:import-confirm", args=[upload.pk]))
    uploads.work_upload(upload_id=upload.pk, now=now)
    upload.refresh_from_db()
    return upload


def test_import_create_goes_to_the_preview_and_stores_nothing(importer: Client) -> None:
    upload = upload_of(importer, import_files.suite())

    html = importer.get(upload.get_absolute_url()).content.decode()

    assert "This upload can be imported." in html
    assert "What is the capital of France?" in html
    assert (Benchmark.objects.count(), upload.created_by.username if upload.created_by else "") == (0, "ida")


def test_import_create_takes_several_files_at_once(importer: Client) -> None:
    upload = upload_of(importer, import_files.suite(), import_files.responses())

    assert [part["kind"] for part in upload.preview["parts"]] == ["suite", "responses"]


def test_import_create_asks_for_a_file(importer: Client) -> None:
    page = importer.post(reverse("judging:import-create"), {})

    assert page.status_code == 400
    assert page.context["form"].errors["uploaded"] == ["This field is required."]
    assert '<p class="field-error" role="alert">This field is required.</p>' in page.content.decode()


def test_import_create_passes_the_options_on(importer: Client) -> None:
    upload = upload_of(importer, import_files.suite(), benchmark="Cities", kind="suite")

    assert (upload.options["kind"], upload.preview["target"]) == ("suite", "Cities")


def test_import_detail_shows_errors_by_place_and_offers_no_confirmation(importer: Client) -> None:
    upload = upload_of(importer, ("bad.yaml", b"cases:\n- 7\n"))

    html = importer.get(upload.get_absolute_url()).content.decode()

    assert "line 2, cases[0]" in html
    assert reverse("judging:import-confirm", args=[upload.pk]) not in html


def test_import_detail_says_that_the_same_bytes_change_nothing(importer: Client) -> None:
    confirm(importer, upload_of(importer, import_files.suite()))

    again = upload_of(importer, import_files.suite())

    assert "Everything in this upload is already stored." in importer.get(again.get_absolute_url()).content.decode()
    assert confirm(importer, again).result["changed"] is False
    assert Suite.objects.count() == 1


def test_import_confirm_starts_the_import_and_the_page_polls_until_it_is_done(importer: Client) -> None:
    upload = upload_of(importer, import_files.suite())
    importer.post(reverse("judging:import-confirm", args=[upload.pk]))

    running = importer.get(upload.get_absolute_url(), headers={"HX-Request": "true"})
    uploads.work_upload(upload_id=upload.pk, now=now)
    finished_page = importer.get(upload.get_absolute_url(), headers={"HX-Request": "true"})

    assert 'hx-trigger="every 1s"' in running.content.decode()
    assert "hx-trigger" not in finished_page.content.decode()
    assert ("HX-Refresh" in running, finished_page["HX-Refresh"]) == (False, "true")


def test_import_detail_links_to_what_was_stored(importer: Client) -> None:
    upload = confirm(importer, upload_of(importer, import_files.zipped(import_files.suite(), import_files.workbook())))

    html = importer.get(upload.get_absolute_url()).content.decode()

    suite = Suite.objects.get()
    assert f'href="{suite.get_absolute_url()}"' in html
    assert f'href="{suite.benchmark.rubrics.get().get_absolute_url()}"' in html


def test_import_confirm_refuses_an_upload_with_errors(importer: Client) -> None:
    upload = upload_of(importer, ("bad.yaml", b"cases: [7]"))

    page = importer.post(reverse("judging:import-confirm", args=[upload.pk]), follow=True)

    assert [str(message) for message in page.context["messages"]] == [
        "This upload has errors. Correct the file and upload it again."
    ]


def test_import_recheck_reads_again_with_other_options(importer: Client) -> None:
    confirm(importer, upload_of(importer, import_files.suite()))
    confirm(importer, upload_of(importer, import_files.suite(), benchmark="Copies"))
    upload = upload_of(importer, import_files.responses())

    importer.post(reverse("judging:import-recheck", args=[upload.pk]), {"benchmark": "Copies"})

    refreshed = Upload.objects.get(pk=upload.pk)
    assert (upload.status, refreshed.status) == (ImportStatus.REFUSED, ImportStatus.CHECKED)
    assert refreshed.preview["target"] == "Copies"


def rows_of_a_rubric(count: int) -> import_files.File:
    lines = [f'{n},"(1) names the capital of country number {n}, its river and its mountain"' for n in range(count)]
    return "large.csv", "\n".join(["query id,25", *lines]).encode()


def test_import_create_leaves_a_large_file_to_a_worker(importer: Client) -> None:
    factories.prompt(benchmark=factories.benchmark(name="Countries"), key="0")
    upload = upload_of(importer, rows_of_a_rubric(4000))

    waiting = importer.get(upload.get_absolute_url()).content.decode()
    polled = importer.get(upload.get_absolute_url(), headers={"HX-Request": "true"})
    uploads.work_upload(upload_id=upload.pk, now=now)
    finished_page = importer.get(upload.get_absolute_url(), headers={"HX-Request": "true"})

    assert (upload.status, Upload.objects.get().status) == (ImportStatus.CHECKING, ImportStatus.CHECKED)
    assert "Starting." in waiting
    assert reverse("judging:import-confirm", args=[upload.pk]) not in waiting
    assert 'hx-trigger="every 1s"' in polled.content.decode()
    assert ("hx-trigger" in finished_page.content.decode(), finished_page["HX-Refresh"]) == (False, "true")
    assert "This upload can be imported." in importer.get(upload.get_absolute_url()).content.decode()


def test_import_detail_shows_rows_done_of_all_with_the_time_left(
    importer: Client, settings: Any, own_redis: OwnRedis
) -> None:
    settings.REDIS_URL = own_redis.url
    upload = upload_of(importer, rows_of_a_rubric(4000))
    start = now()
    clock = iter([start, start + timedelta(seconds=60)])
    writer = ProgressWriter(upload.pk, now=lambda: next(clock), may_go_on=lambda: True)
    writer("storing", 0, 4000)
    writer("storing", 1000, 4000)

    html = importer.get(upload.get_absolute_url(), headers={"HX-Request": "true"}).content.decode()

    words = " ".join(html.split())
    # 1,000 rows in one minute; the other 3,000 take three more.
    assert "<strong>25%</strong> · 1,000 of 4,000 rows stored" in words
    assert 'aria-valuenow="25"' in words
    assert "3 min 00 s left" in words


def test_import_cancel_stops_the_check_and_offers_it_again(importer: Client) -> None:
    upload = upload_of(importer, rows_of_a_rubric(4000))

    importer.post(reverse("judging:import-cancel", args=[upload.pk]))
    html = importer.get(upload.get_absolute_url()).content.decode()
    importer.post(reverse("judging:import-recheck", args=[upload.pk]), {"benchmark": ""})

    assert "Cancelled. Nothing was stored." in html
    assert reverse("judging:import-confirm", args=[upload.pk]) not in html
    assert (Upload.objects.get().status, Upload.objects.get().launches) == (ImportStatus.CHECKING, 2)


def test_import_discard_forgets_the_upload(importer: Client) -> None:
    upload = upload_of(importer, import_files.suite())

    page = importer.post(reverse("judging:import-discard", args=[upload.pk]))

    assert (page.headers["Location"], Upload.objects.count()) == (reverse("judging:import-list"), 0)


def test_import_problems_escapes_what_a_spreadsheet_would_run(importer: Client) -> None:
    upload = upload_of(importer, ("=cmd.yaml", b"cases:\n- 7\n"))

    answer = importer.get(reverse("judging:import-problems", args=[upload.pk]))

    lines = b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()  # type: ignore[attr-defined]
    assert lines[0] == "severity,file,place,message,offending,hint,code"
    assert lines[1].startswith('error,\'=cmd.yaml,"line 2, cases[0]",')


@pytest.mark.parametrize("count", [1, 3])
def test_import_list_takes_a_fixed_number_of_queries(
    importer: Client, django_assert_num_queries: Any, count: int
) -> None:
    for _ in range(count):
        confirm(importer, upload_of(importer, import_files.suite()))
    importer.get(reverse("judging:import-list"))

    # Session, user, two of permissions, role, what waits for review; then the count and the page.
    with django_assert_num_queries(4 + 2):
        page = importer.get(reverse("judging:import-list"))

    assert len(page.context["page_obj"]) == count


@pytest.mark.parametrize("name", ["import-list", "import-create"])
def test_import_pages_are_not_for_annotators(client: Client, name: str) -> None:
    client.force_login(factories.user(role=Role.ANNOTATOR))

    assert client.get(reverse(f"judging:{name}")).status_code == 403
    assert client.post(reverse("judging:import-create")).status_code == 403


def test_import_create_takes_a_folder_with_the_paths_in_it(importer: Client) -> None:
    files = [
        ("suite.yaml", b"name: Whys\ncases: [cases/eval_a.yaml]"),
        ("eval_a.yaml", b"id: a\nprompt: Why?\ntype: t\nlang: l\ngrading: {keywords: [x]}"),
    ]

    upload = upload_of(importer, *files, paths=json.dumps(["whys/suite.yaml", "whys/cases/eval_a.yaml"]))

    assert (upload.file_name, upload.kind, upload.status) == ("whys", "suite", ImportStatus.CHECKED)
    assert confirm(importer, upload).result["suite"]["cases"] == 1


def test_import_create_refuses_paths_that_are_nested_too_deeply(importer: Client) -> None:
    page = send(importer, import_files.suite(), paths="[" * 100_000)

    assert (page.status_code, Upload.objects.count()) == (400, 0)


def test_import_create_refuses_paths_that_lead_outside(importer: Client) -> None:
    upload = upload_of(importer, import_files.suite(), paths=json.dumps(["../../suite.yaml"]))

    assert (upload.status, [problem["code"] for problem in upload.problems]) == (ImportStatus.REFUSED, ["unsafe-path"])


def test_import_detail_offers_the_benchmarks_that_fit(importer: Client) -> None:
    confirm(importer, upload_of(importer, import_files.suite()))
    confirm(importer, upload_of(importer, import_files.suite(), benchmark="A copy"))
    upload = upload_of(importer, import_files.responses(), system="ada")

    html = importer.get(upload.get_absolute_url()).content.decode()
    button = {"system": "ada", "benchmark": "a-copy"}

    assert 'name="benchmark" value="a-copy"' in html
    assert 'name="system" value="ada"' in html
    importer.post(reverse("judging:import-recheck", args=[upload.pk]), button)
    upload.refresh_from_db()
    assert (upload.status, upload.benchmark) == (ImportStatus.CHECKED, Benchmark.objects.get(slug="a-copy"))
    assert "import-choices" not in importer.get(upload.get_absolute_url()).content.decode()


def test_import_detail_asks_for_the_name_of_a_new_rubric(importer: Client) -> None:
    confirm(importer, upload_of(importer, import_files.suite()))
    upload = upload_of(importer, import_files.workbook())

    html = importer.get(upload.get_absolute_url()).content.decode()
    importer.post(reverse("judging:import-recheck", args=[upload.pk]), {"rubric": "Facts by level"})
    upload.refresh_from_db()

    assert 'id="import-rubric-name"' in html
    assert 'value="levels"' in html
    assert [rubric["name"] for rubric in confirm(importer, upload).result["rubrics"]] == ["Facts by level v1"]


def test_import_detail_of_an_imported_upload_says_what_comes_next(importer: Client) -> None:
    upload = confirm(importer, upload_of(importer, import_files.suite()))

    html = importer.get(upload.get_absolute_url()).content.decode()

    suite = Suite.objects.get()
    assert f"{reverse('judging:run-create')}?suite={suite.pk}" in html
    assert reverse("reports:leaderboard-detail", args=[suite.pk]) in html
    assert "Remove the file" in html
    assert ("To be stored" in html, ">Discard" in html) == (False, False)


def test_import_detail_names_missing_workers_only_after_a_moment(importer: Client) -> None:
    upload = upload_of(importer, import_files.suite())
    importer.post(reverse("judging:import-confirm", args=[upload.pk]))

    assert "Waiting for a worker" not in importer.get(upload.get_absolute_url()).content.decode()

    upload.refresh_from_db()
    upload.result["confirmed_at"] = (now() - timedelta(minutes=1)).isoformat()
    upload.save()
    assert "Waiting for a worker" in importer.get(upload.get_absolute_url()).content.decode()


@pytest.mark.parametrize("name", EXAMPLES)
def test_import_template_is_imported_without_a_remark(importer: Client, name: str) -> None:
    suite = EXAMPLES["suite"]
    if name in ("responses", "levels"):
        confirm(importer, upload_of(importer, (suite.file_name, suite.data())))

    response = importer.get(reverse("judging:import-template", args=[name]))
    upload = upload_of(importer, (EXAMPLES[name].file_name, response.content))

    assert (upload.status, upload.problems) == (ImportStatus.CHECKED, [])
    assert (
        reverse("judging:import-template", args=[name])
        in importer.get(reverse("judging:import-create")).content.decode()
    )


def test_import_template_that_is_not_there_is_not_found(importer: Client) -> None:
    assert importer.get(reverse("judging:import-template", args=["none"])).status_code == 404


def test_import_result_starts_a_run_of_what_was_imported(importer: Client) -> None:
    baseline, _ = level_judge()
    confirm(importer, upload_of(importer, import_files.suite(), import_files.responses("eve")))
    upload = confirm(importer, upload_of(importer, import_files.responses("ada"), import_files.workbook()))

    link = f"{reverse('judging:run-create')}?suite={Suite.objects.get().pk}&import={upload.pk}"
    form = importer.get(link).context["form"]

    assert link.replace("&", "&amp;") in importer.get(upload.get_absolute_url()).content.decode()
    assert {name: form[name].value() for name in ("systems", "rules", "judges", "rubrics")} == {
        "systems": [System.objects.get(name="ada").pk],
        "rules": True,
        "judges": [baseline.pk],
        "rubrics": [Suite.objects.get().benchmark.rubrics.get().pk],
    }


@pytest.mark.parametrize("named", ["0", "x", "99999999999999999999"])
def test_run_create_ticks_every_system_for_an_import_that_is_not_there(importer: Client, named: str) -> None:
    confirm(importer, upload_of(importer, import_files.suite(), import_files.responses("eve")))
    query = {"suite": str(Suite.objects.get().pk), "import": named}

    form = importer.get(reverse("judging:run-create"), query).context["form"]

    assert (form["systems"].value(), form["judges"].value()) == ([System.objects.get().pk], None)


def test_import_detail_shows_what_columns_are_and_computes_the_preview_again(importer: Client) -> None:
    confirm(importer, upload_of(importer, import_files.suite()))
    upload = upload_of(importer, ("t.csv", b"Where;What;By\nfrance;Paris;ada\n"))
    html = importer.get(upload.get_absolute_url()).content.decode()
    columns = {"column": ["Where", "What", "By"], "field": ["case", "response", "system"]}

    importer.post(reverse("judging:import-recheck", args=[upload.pk]), columns)

    again = Upload.objects.get(pk=upload.pk)
    page = importer.get(upload.get_absolute_url())
    shown = page.content.decode()
    assert (upload.status, again.status) == (ImportStatus.REFUSED, ImportStatus.CHECKED)
    assert "question about this upload." in html
    assert '<div class="clip narrow">Paris</div>' in html
    assert '<option value="response" selected>' in shown
    assert "manage.py import t.csv --map case=Where --map response=What --map system=By" in shown
    assert ("columns", "case=Where") in page.context["kept_options"]
    assert confirm(importer, again).result["responses"]["systems"] == ["ada"]


ASKING = (
    b"prompt,response,system,clarity_rating,depth_rating\nWhat is up?,The sky is up.,oak,3,4\n"
    b"What is down?,The earth is down.,oak,2,5\n"
)


def menus_of(html: str) -> dict[str, list[str]]:
    """Return what the menus of columns of a page send as they stand."""
    names = re.findall(r'name="column" value="([^"]*)"', html)
    shown = re.findall(r'name="shown"\s+value="([^"]*)"', html)
    menus = re.findall(r'name="field".*?</select>', html, re.DOTALL)
    fields = [re.findall(r'<option value="([^"]*)" selected>', menu) or [""] for menu in menus]
    return {"column": names, "shown": shown, "field": [field for (field,) in fields]}


def test_a_column_that_is_asked_about_has_no_role_until_one_is_chosen(importer: Client) -> None:
    upload = upload_of(importer, ("t.csv", ASKING))
    recheck = reverse("judging:import-recheck", args=[upload.pk])
    menus = menus_of(importer.get(upload.get_absolute_url()).content.decode())

    importer.post(recheck, menus)
    unchanged = Upload.objects.get(pk=upload.pk)
    importer.post(recheck, menus | {"field": ["prompt", "response", "system", "score", "detail"]})
    page = importer.get(upload.get_absolute_url()).content.decode()

    assert menus == {
        "column": ["prompt", "response", "system", "clarity_rating", "depth_rating"],
        "shown": ["prompt", "response", "system", "", ""],
        "field": ["prompt", "response", "system", "", ""],
    }
    assert (unchanged.status, unchanged.options.get("columns", [])) == (ImportStatus.REFUSED, [])
    again = Upload.objects.get(pk=upload.pk)
    assert (again.status, again.options["columns"]) == (
        ImportStatus.CHECKED,
        [["clarity_rating", "score"], ["depth_rating", "detail"]],
    )
    assert menus_of(page)["shown"] == ["prompt", "response", "system", "score", "detail"]


def test_import_recheck_refuses_a_field_that_does_not_exist(importer: Client) -> None:
    upload = upload_of(importer, ("t.csv", b"Where;What\nfrance;Paris\n"))

    page = importer.post(
        reverse("judging:import-recheck", args=[upload.pk]), {"column": ["Where"], "field": ["colour"]}
    )

    (sentence,) = page.context["form"].errors["columns"]
    assert sentence == f"A column cannot be 'colour'. Choose one of these: {', '.join(MENU)}."
    assert "A column cannot be &#x27;colour&#x27;." in page.content.decode()


def buttons_of(html: str) -> dict[str, str]:
    """Return what the button of each answer sends, by its words."""
    found = re.findall(r'form="columns-form"\s+name="answer"\s+value="([^"]*)">([^<]*)<', html)
    return {words: unescape(value) for value, words in found}


def test_an_answer_to_a_question_is_one_click(importer: Client) -> None:
    upload = upload_of(importer, ("t.csv", ASKING))
    page = importer.get(upload.get_absolute_url()).content.decode()
    buttons = buttons_of(page)
    named = "clarity_rating, depth_rating"

    importer.post(reverse("judging:import-recheck", args=[upload.pk]), {"answer": buttons[f"Score for {named}"]})

    again = Upload.objects.get(pk=upload.pk)
    assert list(buttons) == [
        f"Label for {named}",
        f"Labels of the rater in the header for {named}",
        f"Score for {named}",
        f"Keep as detail for {named}",
    ]
    assert ("Needs answers" in page, "cannot be imported" in page) == (True, False)
    assert (again.status, again.options["columns"]) == (
        ImportStatus.CHECKED,
        [["clarity_rating", "score"], ["depth_rating", "score"]],
    )
    assert len(again.preview["stored"]["scores"]) == 4


def test_values_of_a_preference_are_said_by_one_click(importer: Client) -> None:
    table = b"prompt,response_a,response_b,winner\nWhy?,So.,No.,1\nWho?,Me.,You.,2\n"
    upload = upload_of(importer, ("t.csv", table))
    buttons = buttons_of(importer.get(upload.get_absolute_url()).content.decode())

    importer.post(reverse("judging:import-recheck", args=[upload.pk]), {"answer": buttons["A for 2, B for 1"]})

    stored = Upload.objects.get(pk=upload.pk).preview["stored"]
    assert list(buttons) == ["A for 1, B for 2", "A for 2, B for 1", "Keep as detail for winner"]
    assert [row["choice"] for row in stored["preferences"]] == ["B", "A"]


@pytest.mark.parametrize(
    ("table", "buttons", "clicked", "option", "said"),
    [
        (
            "id,prompt\n1,报告\n".encode("gbk"),
            ["Encoding: gbk", "Encoding: euc-kr"],
            "Encoding: gbk",
            "encoding",
            "gbk",
        ),
        (
            b'id,prompt,system,response\n1,Why?,"Oak, b",So.\n1,Why?,"oak, b",No.\n2,Who?,"Oak, b",Me.\n',
            ["oak, b is Oak, b", "oak, b is another"],
            "oak, b is another",
            "renames",
            [["oak, b", "oak, b"]],
        ),
    ],
)
def test_what_else_is_asked_is_answered_by_one_click(
    importer: Client, table: bytes, buttons: list[str], clicked: str, option: str, said: object
) -> None:
    table = b"id,prompt\n" + table if table[:2] == b"1," else table
    upload = upload_of(importer, ("t.csv", table))
    page = importer.get(upload.get_absolute_url()).content.decode()
    shown = buttons_of(page)

    importer.post(reverse("judging:import-recheck", args=[upload.pk]), {"answer": shown[clicked]})

    again = Upload.objects.get(pk=upload.pk)
    assert (list(shown), "Needs answers" in page, page.count('id="columns-form"')) == (buttons, True, 1)
    assert (again.status, again.options[option]) == (ImportStatus.CHECKED, said)


def test_names_are_answered_one_after_the_other(importer: Client) -> None:
    rows = [(1, "Oak"), (1, "oak"), (2, "Elm"), (2, "ELM")]
    table = "id,prompt,system,response\n" + "".join(f"{n},Why {n}?,{name},So {name}.\n" for n, name in rows)
    upload = upload_of(importer, ("t.csv", table.encode()))
    for words in ("oak is another", "ELM is another"):
        page = importer.get(upload.get_absolute_url())
        kept = dict(page.context["kept_options"])
        importer.post(
            reverse("judging:import-recheck", args=[upload.pk]), kept | {"answer": buttons_of(page.text)[words]}
        )

    again = Upload.objects.get(pk=upload.pk)
    assert (again.status, again.options["renames"]) == (ImportStatus.CHECKED, [["oak", "oak"], ["ELM", "ELM"]])
    assert again.preview["stored"]["systems"] == ["ELM", "Elm", "Oak", "oak"]


@pytest.mark.parametrize("answer", ["{", "7", "[" * 100_000, '["prompt"]', "[7]", '["colour=Where"]'])
def test_an_answer_that_no_page_has_changes_nothing_that_is_stored(importer: Client, answer: str) -> None:
    upload = upload_of(importer, ("t.csv", ASKING))

    page = importer.post(reverse("judging:import-recheck", args=[upload.pk]), {"answer": answer})

    again = Upload.objects.get(pk=upload.pk)
    assert (page.status_code in (200, 302), again.status, again.options["columns"]) == (True, ImportStatus.REFUSED, [])


def test_import_choices_keep_what_columns_are(importer: Client) -> None:
    confirm(importer, upload_of(importer, import_files.suite()))
    confirm(importer, upload_of(importer, import_files.suite(), benchmark="Copies"))
    upload = upload_of(
        importer, ("t.csv", b"Where;What\nfrance;Paris\n"), column=["Where", "What"], field=["case", "response"]
    )

    html = importer.get(upload.get_absolute_url()).content.decode()

    choices = html[html.index('id="import-choices"') :]
    assert choices.index('name="columns" value="case=Where"') < choices.index('name="columns" value="response=What"')
    assert [choice["name"] for choice in upload.preview["choices"]] == ["Capitals", "Copies"]


def test_import_choices_offer_near_names_and_the_new_one(importer: Client) -> None:
    confirm(importer, upload_of(importer, import_files.suite()))
    upload = upload_of(importer, import_files.suite(), benchmark="Captials")

    html = importer.get(upload.get_absolute_url()).content.decode()
    importer.post(
        reverse("judging:import-recheck", args=[upload.pk]), {"benchmark": "Captials", "is_new_benchmark": "on"}
    )

    assert upload.status == "refused"
    assert "Choose that one, or make a new one, under Benchmark." in html
    assert "--is-new-benchmark" not in html
    assert "New benchmark “Captials”" in html
    upload.refresh_from_db()
    assert (upload.status, upload.preview["parts"][0]["into"]) == ("checked", "new benchmark Captials")


def test_import_detail_offers_to_leave_rows_with_errors_out(importer: Client) -> None:
    confirm(importer, upload_of(importer, import_files.suite()))
    upload = upload_of(importer, ("r.csv", b"case_id,system,response\nfrance,elk,Paris\nspain,elk,Madrid\n"))

    html = importer.get(upload.get_absolute_url()).content.decode()
    importer.post(reverse("judging:import-recheck", args=[upload.pk]), {"leave_out_bad_rows": "on"})

    assert ("Leave these rows out" in html, "--leave-out-bad-rows" in html) == (True, False)
    upload.refresh_from_db()
    assert (upload.status, upload.preview["counts"]["responses"]) == ("checked", 1)


def test_import_detail_shows_a_score_of_zero_and_whole_numbers_as_such(importer: Client) -> None:
    rows = [{"case_id": "a", "prompt": "Why?", "system": "oak", "response": "So.", "score": 0.0}]
    upload = upload_of(importer, ("scored.json", json.dumps(rows).encode()))

    html = importer.get(upload.get_absolute_url()).content.decode()

    assert '<td class="line">0</td>' in html


def test_import_recheck_takes_the_options_that_the_page_shows(importer: Client) -> None:
    upload = upload_of(importer, import_files.suite())

    html = importer.get(upload.get_absolute_url()).content.decode()

    assert 'name="meanings"' in html
    assert 'value="()"' not in html
