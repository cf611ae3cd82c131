"""What an upload is read as, to which benchmark it goes, and that everything wrong with it is said at once."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from judging.models import Case, Response
from judging.services.file_imports.imports import CheckedImport, check_import, store_import
from judging.services.file_imports.intake import ImportOptions
from tests import factories
from tests.judging import import_files
from tests.judging.import_files import File

pytestmark = pytest.mark.django_db

ROWS: list[list[Any]] = [
    ["case_id", "system", "attempt", "response"],
    ["france", "ada", 0, "Paris"],
    ["poland", "ada", 0, "Warsaw"],
]
STORED = [("france", "ada", 0, "Paris"), ("poland", "ada", 0, "Warsaw")]


def check(*files: File, **options: Any) -> CheckedImport:
    return check_import(files=files, options=ImportOptions(**options))


def store(*files: File, **options: Any) -> None:
    store_import(files=files, options=ImportOptions(**options), source="upload", actor=None, at=factories.NOON)


def said(checked: CheckedImport) -> list[tuple[str, str, str]]:
    return [(problem.severity, problem.place, problem.code) for problem in checked.problems]


def book(rows: list[list[Any]], name: str = "responses.xlsx") -> File:
    workbook = openpyxl.Workbook()
    assert workbook.active is not None
    for row in rows:
        workbook.active.append(row)
    buffer = io.BytesIO()
    workbook.save(buffer)
    return name, buffer.getvalue()


def csv(rows: list[list[Any]], separator: str = ",", name: str = "responses.csv") -> File:
    return name, "\n".join(separator.join(map(str, row)) for row in rows).encode()


def stored() -> list[tuple[str, str, int, str]]:
    return list(Response.objects.order_by("prompt__key").values_list("prompt__key", "system__name", "attempt", "text"))


TYPES = "[Content_Types].xml"  # of every document that is a ZIP archive
ASKED = ["question", "model", "output"]
QUESTIONS = ["What is the capital of France?", "What is the capital of  Poland?"]


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        (book(ROWS), "site-responses"),
        (csv(ROWS, ","), "site-responses"),
        (csv(ROWS, ";"), "site-responses"),
        (csv(ROWS, "\t"), "site-responses"),
        (csv(ROWS, "\t", "responses.tsv"), "site-responses"),
        (book([["Query ID", "Model", "Attempt", "Model output"], *ROWS[1:]]), "table"),
        (csv([ASKED, *([q, "ada", row[3]] for q, row in zip(QUESTIONS, ROWS[1:], strict=True))]), "table"),
        (csv([ASKED, *([row[0], "ada", row[3]] for row in ROWS[1:])], ";"), "table"),  # ids where prompts are due
    ],
)
def test_read_intake_takes_tables_of_responses(file: File, kind: str) -> None:
    store(import_files.suite())

    checked = check(file)
    store(file)

    assert (checked.kind, said(checked), stored()) == (kind, [], STORED)


def test_read_intake_names_the_cell_of_a_bad_response() -> None:
    store(import_files.suite())

    checked = check(book([ROWS[0], ["france", "ada", "first", "Paris"], ["poland", "ada", 0, "Warsaw"]]))

    assert [str(problem) for problem in checked.problems] == [
        "responses.xlsx, Sheet!2: The attempt is no whole number from 0: first. "
        "Other rows come in with --leave-out-bad-rows."
    ]


def test_read_intake_says_all_that_is_wrong_with_responses_at_once_and_may_leave_it_out() -> None:
    store(import_files.suite())
    rows: list[list[Any]] = [["spain", "ada", 0, "x"], ["france", "ada", "first", "x"], ["italy", "ada", 1, "x"]]
    bad = csv([ROWS[0], *rows, ["poland", "ada", "b", "x"]])
    unknown = csv([ROWS[0], rows[0], ROWS[1], rows[2]])

    assert said(check(bad)) == [("error", "line 3", "bad-row"), ("error", "line 5", "bad-row")]
    assert [str(problem) for problem in check(unknown).problems] == [
        "responses.csv: 2 of 3 rows answer cases that Capitals does not have (first: spain, line 2). Import their "
        "questions in the same upload, or leave these rows out: --leave-out-bad-rows."
    ]
    left = check(unknown, leave_out_bad_rows=True)
    assert (said(left), left.preview()["warnings"]) == ([], {"row-left-out": 2})
    assert left.preview()["left_out"] == [("row", "Capitals does not have the case", 2)]
    assert [spec.case_key for spec in left.intake.responses] == ["france"]


def test_read_intake_offers_the_benchmarks_that_fit() -> None:
    store(import_files.suite())
    store(import_files.suite(), benchmark="Capitals, a copy")

    checked = check(csv([*ROWS, ["spain", "ada", 0, "Madrid"]]))

    assert said(checked) == [("error", "", "no-benchmark")]
    assert [row.slug for row in checked.intake.choices] == ["capitals", "capitals-a-copy"]
    assert said(check(csv(ROWS), benchmark="capitals-a-copy")) == []


def test_read_intake_takes_an_answer_beside_a_question_for_a_reference_unless_it_is_said() -> None:
    file = csv([["id", "question", "answer"], ["1", "Capital of France?", "Paris"]], name="capitals.csv")

    checked = check(file)
    store(file)

    assert (checked.kind, said(checked)) == ("table", [])
    (case,) = checked.intake.suite.cases if checked.intake.suite else ()
    assert (case.key, case.prompt, case.reference) == ("1", "Capital of France?", "Paris")
    as_responses = check(("ada.csv", file[1]), columns=(("answer", "response"),))
    assert [(spec.case_key, spec.system, spec.text) for spec in as_responses.intake.responses] == [
        ("1", "ada", "Paris")
    ]


@pytest.mark.parametrize("kind", ["", "level_rubric", "suite", "table"])
@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), ".xls"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"#FORMAT=WebAnno TSV 3.2\n", "WebAnno"),
        (b"T1\tProtein 8 11\tcat\n", "brat"),
        (import_files.zipped((TYPES, b"<x/>"), ("word/document.xml", b"<x/>"))[1], "Word document"),
        (import_files.zipped((TYPES, b"<x/>"), ("xl/workbook.bin", b""))[1], ".xlsb"),
    ],
)
def test_read_intake_refuses_other_formats_in_words(data: bytes, word: str, kind: str) -> None:
    for name in ("old.xls", "notes.docx", "table.xlsx", "table.xlsb"):
        (problem,) = check((name, data), kind=kind).errors

        assert (problem.code, problem.file, word in problem.message) == ("foreign-format", name, True)


def test_read_intake_refuses_spreadsheets_of_other_programs(shared_data: Path) -> None:
    for path in sorted((shared_data / "judges" / "excel").glob("refuse_me.*")):
        (problem,) = check((path.name, path.read_bytes())).errors

        assert (problem.code, path.suffix in problem.message) == ("foreign-format", True)


def test_read_intake_names_a_file_of_another_format_beside_what_it_reads() -> None:
    checked = check(import_files.suite(), ("handbook.pdf", b"%PDF-1.7 ..."))

    assert [(problem.severity, problem.file) for problem in checked.problems] == [("warning", "handbook.pdf")]


@pytest.mark.parametrize("kind", ["level_rubric", "table", "inspect-json", "responses_folder", "criteria", "suite"])
def test_read_intake_of_nothing_is_an_error(kind: str) -> None:
    assert check(("notes.txt", b"hello"), kind=kind).errors != ()


def test_read_intake_of_what_is_left_out_says_why() -> None:
    marks = b'[{"id": 1, "data": {"image": "a.png"}, "annotations": [{"id": 2, "result": [{"from_name": "box", '
    marks += b'"type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["elk"]}}]}]}]'

    (problem,) = check(("tasks.json", marks)).problems

    assert problem.message == (
        "The upload contains nothing that can be imported. Left out: 1 \u00d7 annotation, box: marks in a text or "
        "picture are no label of all of it."
    )


def test_questions_about_other_passages_are_other_cases_a_second_time_too() -> None:
    file = ("set.csv", b"question,passage,answer\nWho?,Ann wrote it.,Ann\nWho?,Bo drew it.,Bo\n")

    store(file)
    store(file)

    rows = Case.objects.order_by("key").values_list("key", "prompt__context", "reference")
    assert list(rows) == [("1", "Ann wrote it.", "Ann"), ("2", "Bo drew it.", "Bo")]


def test_questions_about_other_media_are_other_cases_a_second_time_too() -> None:
    file = ("set.csv", b"question,video,answer\nWho?,a.mp4,Ann\nWho?,b.mp4,Bo\n")

    store(file)
    again = check(file)

    assert list(Case.objects.order_by("key").values_list("key", "reference")) == [("1", "Ann"), ("2", "Bo")]
    assert again.changes_nothing


def test_texts_by_number_may_be_levels_or_cells_of_a_table() -> None:
    data = b'{"utterance": {"0": "Hello to you", "1": "Good bye"}, "intent": {"0": "greet", "1": "leave"}}'

    (problem,) = check(("texts.json", data)).errors

    assert str(problem) == (
        "texts.json: Texts by 0, 1, 2 may be levels of criteria, or cells of columns. Say --kind level_rubric or "
        "--kind table."
    )


def test_read_intake_says_that_a_file_is_empty() -> None:
    assert [str(problem) for problem in check(("suite.yaml", b"\n")).errors] == [
        "suite.yaml: The file is empty. Bring a table (CSV, XLSX), JSON, JSON Lines, or the file of a tool."
    ]


def test_read_intake_names_a_broken_suite_and_does_not_guess_a_rubric() -> None:
    checked = check(("suite.yaml", b"name: Capitals\ncases:\n- id: a\n prompt: b\n"))

    assert [(problem.code, problem.place, problem.offending) for problem in checked.problems] == [
        ("bad-yaml", "line 4, column 2", "prompt: b")
    ]


RUBRIC = b"query id,25,50\nfrance,(1) a city,(1) Paris\n"


def test_read_intake_reads_a_rubric_as_csv_beside_its_suite() -> None:
    checked = check(import_files.suite(), ("seas.csv", RUBRIC))

    assert ([part["kind"] for part in checked.parts], said(checked)) == (["suite", "rubric"], [])
    assert said(check(("seas.csv", RUBRIC))) == said(check(("seas.csv", RUBRIC), kind="level_rubric"))


def test_read_intake_leaves_csv_files_of_cases_alone() -> None:
    suite = import_files.SUITE.replace(b"reference: Paris", b"reference: Paris\n  data: named.csv")

    checked = check(("s.yaml", suite), ("named.csv", RUBRIC), ("data/seas.csv", RUBRIC))

    assert [part["kind"] for part in checked.parts] == ["suite"]


def test_check_import_refuses_a_suite_whose_archive_is_damaged_further_on() -> None:
    cases = "".join(f"  - id: '{number}'\n    prompt: {os.urandom(20).hex()}\n" for number in range(20_000))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("suite.yaml", f"name: x\ncases:\n{cases}")
    data = packed.getvalue()

    checked = check(("all.zip", data[:-2000] + b"\xff" * 300 + data[-1700:]))

    assert said(checked) == [("error", "", "bad-archive")]


def test_check_import_says_whose_responses_are_stored_where_scores_name_another_system() -> None:
    store(import_files.suite())
    store(csv(ROWS))

    checked = check(csv([["case_id", "model", "judge", "score"], ["france", "oak", "gpt", 4]], name="scores.csv"))

    assert [problem.message for problem in checked.problems if problem.code == "unknown-response"] == [
        "Of the responses that are scored or labelled here, 1 are not stored (first: case france, oak, attempt 0, "
        "line 2). Stored are those of ada."
    ]
