"""Tables read by columns: what they become, to which benchmark they go, and all that is wrong with them at once."""

from __future__ import annotations

import io
from typing import Any

import pytest
from openpyxl import Workbook

from judging.models import Response
from judging.services.file_imports.imports import CheckedImport, check_import, store_import
from judging.services.file_imports.intake import ImportOptions
from tests import factories
from tests.judging import column_files, import_files
from tests.judging.column_files import FRANCE, POLAND, File, book, lines, table

pytestmark = pytest.mark.django_db

KEYED = [["Question_ID", "LLM Answer", "Which model"], ["france", "Paris", "ada"], ["poland", 'War"saw\nor so', "ada"]]
ASKED: list[list[Any]] = [["My question", "oak", "elm", "n"], [FRANCE, "Paris", "Lyon", 1], [POLAND, "Warsaw", "", 2]]


def check(*files: File, **options: Any) -> CheckedImport:
    return check_import(files=files, options=ImportOptions(**options))


def store(*files: File, **options: Any) -> None:
    store_import(files=files, options=ImportOptions(**options), source="upload", actor=None, at=factories.NOON)


def read(checked: CheckedImport) -> list[tuple[str, str, str]]:
    return [(spec.case_key, spec.system, spec.text) for spec in checked.intake.responses]


def said(checked: CheckedImport) -> list[tuple[str, str, str]]:
    return [(problem.severity, problem.place, problem.code) for problem in checked.problems]


@pytest.mark.parametrize(
    "file",
    [
        table(KEYED),
        table(KEYED, separator=";"),
        table(KEYED, separator="\t"),
        table(KEYED, separator=";", encoding="utf-16"),
        table(KEYED, encoding="utf-8-sig"),
        table([["", "", ""], KEYED[0], ["", "", ""], *KEYED[1:], ["", "", "", ""]]),
        book(KEYED),
        book([["Results of May"], [], *KEYED[:2], [], KEYED[2]], hidden="E"),
        lines([dict(zip(KEYED[0], row, strict=True)) for row in KEYED[1:]]),
    ],
)
def test_read_intake_reads_a_table_by_its_columns(file: File) -> None:
    store(import_files.suite())

    checked = check(file)

    assert [problem for problem in checked.problems if problem.severity == "error"] == []
    assert read(checked) == [("france", "ada", "Paris"), ("poland", "ada", 'War"saw\nor so')]


def test_read_intake_reads_numbers_that_a_sheet_keeps_as_text_and_as_numbers_alike() -> None:
    checked = check(book([["Question_ID", "My question", "LLM Answer"], ["1", FRANCE, 75], [2, POLAND, "Warsaw"]]))

    assert read(checked) == [("1", "t", "75"), ("2", "t", "Warsaw")]


def test_read_intake_reads_one_response_of_each_system_from_a_wide_table() -> None:
    store(import_files.suite())

    checked = check(table(ASKED))

    assert (checked.kind, said(checked)) == ("responses_csv", [])
    assert read(checked) == [("france", "oak", "Paris"), ("france", "elm", "Lyon"), ("poland", "oak", "Warsaw")]


def test_read_intake_reads_a_wide_sheet_below_merged_cells() -> None:
    store(import_files.suite())
    rows: list[list[Any]] = [["My question", "Systems", None], [None, "oak", "elm"], [FRANCE, "Paris", "Lyon"]]

    checked = check(book(rows, merged=["A1:A2", "B1:C1"]))

    assert read(checked) == [("france", "oak", "Paris"), ("france", "elm", "Lyon")]


@pytest.mark.parametrize(
    ("file", "cases", "responses"),
    [
        (
            column_files.lm_eval_samples(),
            [("0", FRANCE, "Paris"), ("1", POLAND, "Warsaw")],
            [("0", "samples_capitals", "Paris."), ("1", "samples_capitals", "Krakow.")],
        ),
        (
            column_files.promptfoo_csv(),
            [("2", FRANCE, ""), ("3", POLAND, "")],
            [
                ("2", "openai:ada", "Paris"),
                ("2", "local:eve", "Lyon"),
                ("3", "openai:ada", "Warsaw"),
                ("3", "local:eve", "Warsaw"),
            ],
        ),
        (
            column_files.promptfoo_json(),
            [("1", FRANCE, ""), ("2", POLAND, "")],
            [("1", "openai:ada", "Paris"), ("2", "openai:ada", "Warsaw")],
        ),
        (
            column_files.inspect_log(),
            [("france", FRANCE, "Paris"), ("poland", POLAND, "Warsaw")],
            [("france", "local/ada", "Paris"), ("poland", "local/ada", "Krakow")],
        ),
    ],
)
def test_read_intake_makes_a_benchmark_of_the_results_of_other_programs(
    file: File, cases: list[tuple[str, str, str]], responses: list[tuple[str, str, str]]
) -> None:
    checked = check(file)
    store(file)

    assert checked.intake.suite is not None
    assert [(case.key, case.prompt, case.reference) for case in checked.intake.suite.cases] == cases
    assert read(checked) == responses
    assert {code for _, _, code in said(checked)} <= {"new-benchmark", "row-without-answer"}
    assert Response.objects.count() == len(responses)
    assert check(file).changes_nothing


def test_read_intake_asks_the_variables_where_providers_of_promptfoo_have_prompts_of_their_own() -> None:
    store(import_files.suite())
    rows = [
        ["country", "year", "[ada] In {{country}}?", "Status", "[ada] Say of {{ country }} in {{year}}!", "Status"],
        ["France", "1900", "Paris", "PASS", "Lyon", "FAIL"],
    ]

    checked = check(table(rows), benchmark="Capitals of old")

    assert checked.intake.suite is not None
    assert [case.prompt for case in checked.intake.suite.cases] == ["country: France\nyear: 1900"]
    assert [system for _, system, _ in read(checked)] == [
        "[ada] In {{country}}?",
        "[ada] Say of {{ country }} in {{year}}!",
    ]


def test_read_intake_takes_each_question_of_several_files_once() -> None:
    rows = [["My question", "LLM answer"], [FRANCE, "Paris"], [POLAND, "Warsaw"]]

    checked = check(table(rows, name="ada.csv"), table(rows, name="eve.csv"), benchmark="Two of them")

    assert checked.intake.suite is not None
    assert [case.prompt for case in checked.intake.suite.cases] == [FRANCE, POLAND]
    assert (checked.intake.target.name if checked.intake.target else "") == "Two of them"
    assert [system for _, system, _ in read(checked)] == ["ada", "ada", "eve", "eve"]


def test_read_intake_makes_no_benchmark_where_a_named_one_is_stored() -> None:
    store(import_files.suite())

    checked = check(table([["My question", "LLM answer"], ["Why?", "So."]]), benchmark="Capitals")

    assert (checked.intake.suite, said(checked)) == (None, [("error", "line 2", "unknown-case")])


def test_read_intake_makes_no_benchmark_of_a_stored_one_under_a_name_that_is_misspelt() -> None:
    store(import_files.suite())

    checked = check(table(ASKED), benchmark="Capitls")

    assert (checked.intake.suite, said(checked)[0]) == (None, ("error", "", "no-benchmark"))
    assert checked.problems[0].message == "There is no benchmark 'Capitls'. These cases are in Capitals."
    assert [choice.name for choice in checked.intake.choices] == ["Capitals"]


def test_read_intake_reads_questions_without_references_by_their_column() -> None:
    checked = check(table([["My question", "size"], [FRANCE, 3]]))

    assert checked.kind == "questions"
    assert [case.prompt for case in (checked.intake.suite.cases if checked.intake.suite else ())] == [FRANCE]


def test_read_intake_follows_what_a_person_says_of_columns() -> None:
    store(import_files.suite())
    file = table([["Where", "What", "By", "Never"], ["france", "Paris", "ada", "x"]])
    columns = (("Where", "case"), ("What", "response"), ("By", "system"), ("Never", "ignore"))

    unsaid, checked = check(file), check(file, columns=columns)

    assert unsaid.kind == "level_rubric"
    assert [column.name for column in unsaid.intake.columns.columns] == ["Where", "What", "By", "Never"]
    assert (read(checked), said(checked)) == ([("france", "ada", "Paris")], [])
    assert checked.intake.responses[0].metadata == {}


def test_read_intake_says_all_that_is_wrong_with_a_mapped_table_at_once() -> None:
    store(import_files.suite())
    rows: list[list[Any]] = [
        ["Nr", "LLM answer", "attempt"],
        ["spain", "x", 0],
        ["france", "x", "first"],
        ["italy", "y", "b"],
        ["poland"],
    ]

    checked = check(table(rows))
    by_json = check(lines([{"id": "spain", "output": "x"}, 7, {"id": "france"}, {"output": "x"}]))

    assert said(checked) == [
        ("error", "line 5", "bad-csv"),
        ("error", "line 2", "unknown-case"),
        ("error", "line 3", "bad-attempt"),
        ("error", "line 4", "unknown-case"),
        ("error", "line 4", "bad-attempt"),
    ]
    assert said(by_json) == [
        ("error", "line 2", "not-an-object"),
        ("error", "line 1", "unknown-case"),
        ("error", "line 3", "response-without-text"),
        ("error", "line 4", "response-without-case"),
    ]


def test_read_intake_names_the_cell_of_a_bad_value_but_not_in_a_column_that_is_ignored() -> None:
    store(import_files.suite())
    file = book([["Nr", "LLM answer", "Date"], ["france", factories.NOON.date(), factories.NOON.date()]])

    checked = check(file, columns=(("Date", "ignore"),))

    assert said(checked) == [("error", "Sheet!B2", "date-in-text")]


def test_read_intake_warns_of_a_table_beside_a_suite_that_nothing_reads() -> None:
    checked = check(import_files.suite(), table([["a", "b"], ["1", "2"]]))

    assert (checked.kind, said(checked)) == ("suite", [("warning", "", "unread-table")])


def test_read_intake_reads_a_foreign_table_beside_its_suite() -> None:
    checked = check(import_files.suite(), table(KEYED))

    assert ([part["kind"] for part in checked.parts], said(checked)) == (["suite", "responses"], [])


def test_read_intake_says_which_column_is_not_there() -> None:
    checked = check(table(KEYED), columns=(("Nope", "case"),))

    assert "No table of the upload has a column 'Nope'." in [problem.message for problem in checked.errors]


def test_read_intake_says_nothing_that_only_follows_from_columns_that_do_not_go_together() -> None:
    checked = check(table(KEYED), columns=(("LLM Answer", "case"), ("Question_ID", "case")))

    assert said(checked) == [("error", "", "same-field"), ("error", "", "missing-field")]
    assert [column.field for column in checked.intake.columns.columns] == ["case", "case", "system"]


def test_read_intake_names_the_sheets_that_it_does_not_read() -> None:
    store(import_files.suite())
    workbook, buffer = Workbook(), io.BytesIO()
    for number in (1, 2, 3):
        sheet = workbook.create_sheet(f"Part {number}")
        sheet.append(["case_id", "response"] if number < 3 else ["notes"])
        sheet.append(["france", f"Paris {number}"])
    workbook.save(buffer)

    checked = check(("ada.xlsx", buffer.getvalue()))

    assert (read(checked), said(checked)) == ([("france", "ada", "Paris 1")], [("warning", "Part 2", "other-sheet")])
