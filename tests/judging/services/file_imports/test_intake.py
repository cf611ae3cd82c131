"""What an upload is read as, to which benchmark it goes, and that everything wrong with it is said at once."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from judging.models import Response
from judging.services.file_imports.import_targets import BenchmarkChoice
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


ASKED = ["question", "model", "output"]
QUESTIONS = ["What is the capital of France?", "What is the capital of  Poland?"]


@pytest.mark.parametrize(
    "file",
    [
        book(ROWS),
        csv(ROWS, ","),
        csv(ROWS, ";"),
        csv(ROWS, "\t"),
        csv(ROWS, "\t", "responses.tsv"),
        book([["Query ID", "Model", "Attempt", "Model output"], *ROWS[1:]]),
        csv(
            [["question", "model", "output"], *([q, "ada", row[3]] for q, row in zip(QUESTIONS, ROWS[1:], strict=True))]
        ),
        csv([ASKED, *([row[0], "ada", row[3]] for row in ROWS[1:])], ";"),
    ],
)
def test_read_intake_takes_tables_of_responses(file: File) -> None:
    store(import_files.suite())

    checked = check(file)
    store(file)

    assert (checked.kind, said(checked), stored()) == ("responses_csv", [], STORED)


def test_read_intake_names_the_cell_of_a_bad_response() -> None:
    store(import_files.suite())

    checked = check(book([ROWS[0], ["france", "ada", "first", "Paris"], ["spain", "ada", 0, "Madrid"]]))

    assert said(checked) == [("error", "Sheet!A2", "bad-attempt"), ("error", "Sheet!A3", "unknown-case")]


def test_read_intake_says_all_that_is_wrong_with_responses_at_once() -> None:
    store(import_files.suite())

    checked = check(
        csv([ROWS[0], ["spain", "ada", 0, "x"], ["france", "ada", "first", "x"], ["italy", "ada", "b", "x"]])
    )

    assert said(checked) == [
        ("error", "line 2", "unknown-case"),
        ("error", "line 3", "bad-attempt"),
        ("error", "line 4", "unknown-case"),
        ("error", "line 4", "bad-attempt"),
    ]


def test_read_intake_offers_the_benchmarks_that_fit_and_says_what_fits_none() -> None:
    store(import_files.suite())
    store(import_files.suite(), benchmark="Capitals, a copy")

    checked = check(csv([*ROWS, ["spain", "ada", 0, "Madrid"]]))

    assert said(checked) == [("error", "", "no-benchmark"), ("error", "line 4", "unknown-case")]
    assert checked.intake.choices == (
        BenchmarkChoice("capitals", "Capitals"),
        BenchmarkChoice("capitals-a-copy", "Capitals, a copy"),
    )
    assert said(check(csv(ROWS), benchmark="capitals-a-copy")) == []


def test_read_intake_asks_whether_an_answer_beside_a_question_is_a_reference() -> None:
    file = csv([["id", "question", "answer"], ["1", "Capital of France?", "Paris"]], name="capitals.csv")

    checked = check(file)
    store(file)

    assert (checked.kind, said(checked)) == ("questions", [("warning", "", "read-as-questions")])
    (case,) = checked.intake.suite.cases if checked.intake.suite else ()
    assert (case.key, case.prompt, case.reference) == ("1", "Capital of France?", "Paris")
    as_responses = check(("ada.csv", file[1]), kind="responses_csv")
    assert [(spec.case_key, spec.system, spec.text) for spec in as_responses.intake.responses] == [
        ("1", "ada", "Paris")
    ]


@pytest.mark.parametrize("kind", ["", "level_rubric", "suite"])
@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), ".xls"),
        (b"%PDF-1.7 ...", "PDF"),
        (import_files.zipped(("word/document.xml", b"<x/>"))[1], "Word document"),
        (import_files.zipped(("xl/workbook.bin", b""))[1], ".xlsb"),
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


@pytest.mark.parametrize("kind", ["level_rubric", "responses_csv", "responses_jsonl", "responses_folder", "questions"])
def test_read_intake_of_nothing_is_an_error(kind: str) -> None:
    assert check(("notes.txt", b"hello"), kind=kind).errors != ()


def test_read_intake_says_that_a_file_is_empty() -> None:
    assert [str(problem) for problem in check(("suite.yaml", b"\n")).errors] == [
        "suite.yaml: The file is empty. Is this the right file?"
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
