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
from tests.judging.import_files import facts

pytestmark = pytest.mark.django_db

KEYED = [["Question_ID", "LLM Answer", "Which model"], ["france", "Paris", "ada"], ["poland", 'War"saw\nor so', "ada"]]
SYSTEMS = (("oak", "responses of"), ("elm", "responses of"))
ASKED: list[list[Any]] = [["My question", "oak", "elm", "n"], [FRANCE, "Paris", "Lyon", 1], [POLAND, "Warsaw", "", 2]]


def check(*files: File, **options: Any) -> CheckedImport:
    return check_import(files=files, options=ImportOptions(**options))


def store(*files: File, **options: Any) -> None:
    store_import(files=files, options=ImportOptions(**options), source="upload", actor=None, at=factories.NOON)


def read(checked: CheckedImport) -> list[tuple[str, str, str]]:
    return [(spec.case_key, spec.system, spec.text) for spec in checked.intake.responses]


def cases(checked: CheckedImport) -> list[tuple[str, str]]:
    return [(case.key, case.prompt) for case in (checked.intake.suite.cases if checked.intake.suite else ())]


def columns_of(checked: CheckedImport) -> list[dict[str, Any]]:
    """Return what the page shows of the columns of the first table."""
    columns: list[dict[str, Any]] = checked.preview()["taken"][0]["columns"]
    return columns


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


def test_read_intake_asks_which_columns_of_a_wide_table_are_systems() -> None:
    store(import_files.suite())

    unsaid, checked = check(table(ASKED)), check(table(ASKED), columns=SYSTEMS)

    assert [str(problem) for problem in unsaid.problems] == [
        "t.csv: which columns hold responses? It has: My question, oak, elm, n. Say it with --map response=COLUMN, or "
        '--map "responses of=oak" --map "responses of=elm". If none does, say --map detail=oak --map detail=elm.'
    ]
    assert (checked.kind, said(checked)) == ("table", [])
    assert read(checked) == [("france", "oak", "Paris"), ("france", "elm", "Lyon"), ("poland", "oak", "Warsaw")]
    assert checked.preview()["left_out"] == [("response", "the cell is empty", 1)]  # elm's to poland


def test_read_intake_reads_a_wide_sheet_below_merged_cells() -> None:
    store(import_files.suite())
    rows: list[list[Any]] = [["My question", "Systems", None], [None, "oak", "elm"], [FRANCE, "Paris", "Lyon"]]

    checked = check(book(rows, merged=["A1:A2", "B1:C1"]), columns=SYSTEMS)

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
            [("1", FRANCE, ""), ("2", POLAND, "")],
            [
                ("1", "openai:ada", "Paris"),
                ("1", "local:eve", "Lyon"),
                ("2", "openai:ada", "Warsaw"),
                ("2", "local:eve", "Warsaw"),
            ],
        ),
        (
            column_files.promptfoo_json(),
            [("0", FRANCE, ""), ("1", POLAND, "")],  # the numbers of the tests
            [("0", "openai:ada", "Paris"), ("1", "openai:ada", "Warsaw")],
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
    assert said(checked) == []
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
        "ada (In {{country}}?)",
        "ada (Say of {{ country }} in {{year}}!)",
    ]


def test_read_intake_takes_each_question_of_several_files_once() -> None:
    rows = [["My question", "LLM answer"], [FRANCE, "Paris"], [POLAND, "Warsaw"]]

    checked = check(table(rows, name="ada.csv"), table(rows, name="eve.csv"), benchmark="Two of them")

    assert checked.intake.suite is not None
    assert [case.prompt for case in checked.intake.suite.cases] == [FRANCE, POLAND]
    assert (checked.intake.target.name if checked.intake.target else "") == "Two of them"
    assert [system for _, system, _ in read(checked)] == ["ada", "ada", "eve", "eve"]


def test_read_intake_never_gives_a_stored_number_to_another_prompt() -> None:
    store(table([["question"], ["Ask A?"], ["Ask B?"]]))

    again = check(table([["question"], ["Ask A?"], ["Ask C?"]]))
    named = check(table([["question", "LLM answer"], ["Why?", "So."]], name="x.csv"), benchmark="t")

    assert cases(again) == [("1", "Ask A?"), ("3", "Ask C?")]
    assert (cases(named), read(named)) == ([("3", "Why?")], [("3", "x", "So.")])
    assert facts(named.parts[0]) == {"Cases": 1, "New": 1, "Changed": 0, "Reused": 0}


def test_read_intake_makes_a_benchmark_of_a_name_that_none_has() -> None:
    store(import_files.suite())

    checked = check(table(ASKED), columns=SYSTEMS, benchmark="Capitals of old")

    assert (cases(checked), said(checked)) == ([("1", FRANCE), ("2", POLAND)], [])
    assert [(part["into"], part["is_new"]) for part in checked.parts[:1]] == [("new benchmark Capitals of old", True)]


def test_read_intake_names_a_new_benchmark_after_the_file_of_its_cases() -> None:
    answers = table([["id", "answer", "model"], ["1", "So.", "oak"]], name="answers.csv")

    checked = check(answers, table([["id", "question"], ["1", "Why?"]], name="riddles.csv"))

    assert [part["into"] for part in checked.parts] == ["new benchmark riddles", "riddles"]


def test_read_intake_reads_questions_without_references_by_their_column() -> None:
    checked = check(table([["My question", "size"], [FRANCE, 3]]))

    assert (checked.kind, cases(checked)) == ("table", [("1", FRANCE)])
    assert checked.preview()["warnings"] == {"ids-made": 1, "no-reference": 1}


def test_read_intake_follows_what_a_person_says_of_columns() -> None:
    store(import_files.suite())
    file = table([["Where", "What", "By", "Never"], ["france", "Paris", "ada", "x"]])
    columns = (("Where", "case"), ("What", "response"), ("By", "system"), ("Never", "ignore"))

    unsaid, checked = check(file), check(file, columns=columns)

    assert (unsaid.kind, said(unsaid)) == ("table", [("error", "", "unknown-columns")])
    assert [(use["name"], use["role"]) for use in columns_of(unsaid)] == [
        *(("Where", "detail"), ("What", "detail"), ("By", "detail"), ("Never", "detail"))
    ]
    assert (read(checked), said(checked)) == ([("france", "ada", "Paris")], [])
    assert [(use["name"], use["role"], use["why"]) for use in columns_of(checked)] == [
        (name, role, "chosen") for name, role in columns
    ]
    assert checked.preview()["left_out"] == [("column", "Never: ignored, as you chose", 1)]
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
    by_json = check(lines([{"id": "spain", "output": "x"}, 7, {"id": "france"}, 8]))
    nameless = check(lines([{"id": "france", "output": "x"}, {"output": "x"}]))

    assert said(checked) == [("error", "line 3, column 3", "bad-row"), ("error", "line 4, column 3", "bad-row")]
    assert said(by_json) == [("error", "line 2", "not-an-object"), ("error", "line 4", "not-an-object")]
    assert [str(problem) for problem in nameless.problems] == [
        "t.jsonl, line 2: The row does not say which case it is about. Other rows come in with --leave-out-bad-rows."
    ]


def test_read_intake_keeps_dates_as_texts_and_says_so() -> None:
    store(import_files.suite())

    checked = check(book([["Nr", "LLM answer"], ["france", factories.NOON.date()]]))

    assert (read(checked), said(checked)) == ([("france", "t", "2026-01-05")], [])
    assert checked.preview()["remarks"][0] == {
        "text": "1 column of dates is kept as text.",
        "places": "t.xlsx, Sheet!2",
    }


def test_read_intake_asks_what_a_table_beside_a_suite_is() -> None:
    checked = check(import_files.suite(), table([["a", "b"], ["1", "2"]]))

    assert [str(problem) for problem in checked.problems] == [
        "t.csv: which column holds the prompt or the id of the case? It has: a, b. Say it with --map prompt=COLUMN or "
        "--map case=COLUMN."
    ]


def test_read_intake_reads_a_foreign_table_beside_its_suite() -> None:
    checked = check(import_files.suite(), table(KEYED))

    assert ([part["kind"] for part in checked.parts], said(checked)) == (["suite", "responses"], [])


def test_read_intake_names_questions_beside_a_suite_that_it_does_not_have() -> None:
    file = table([["id", "question", "answer"], ["france", FRANCE, "Paris"], ["spain", "And Spain?", "Madrid"]])

    checked = check(import_files.suite(), file)
    left = check(import_files.suite(), file, leave_out_bad_rows=True)

    assert [str(problem) for problem in checked.problems] == [
        "t.csv: 1 of 2 questions are not in the suite Capitals of the same upload (first: spain, line 3). Add them to "
        "the suite, import them on their own, or leave them out: --leave-out-bad-rows."
    ]
    assert (said(left), left.preview()["left_out"]) == ([], [("case", "Capitals does not have it", 1)])
    assert [case.key for case in (left.intake.suite.cases if left.intake.suite else ())] == ["france", "poland"]


def test_read_intake_says_which_column_is_not_there() -> None:
    checked = check(table(KEYED), columns=(("Nope", "case"),))

    assert [problem.message for problem in checked.errors] == [
        "There is no column 'Nope'. The columns are: Question_ID, LLM Answer, Which model."
    ]


def test_read_intake_says_nothing_that_only_follows_from_columns_that_do_not_go_together() -> None:
    checked = check(table(KEYED), columns=(("LLM Answer", "case"), ("Question_ID", "case")))

    assert [str(problem) for problem in checked.problems] == [
        "t.csv: two columns are chosen for case id: LLM Answer, Question_ID. Choose one of them."
    ]
    assert [use["role"] for use in columns_of(checked)] == ["case", "case", "detail"]


def test_read_intake_reads_every_sheet_with_a_table_and_names_the_others() -> None:
    store(import_files.suite())
    workbook, buffer = Workbook(), io.BytesIO()
    for number in (1, 2, 3):
        sheet = workbook.create_sheet(f"Part {number}")
        sheet.append(["case_id", "response"] if number < 3 else ["notes"])
        sheet.append(["france", f"Paris {number}"])
    workbook.save(buffer)

    checked = check(("ada.xlsx", buffer.getvalue()))

    assert said(checked) == []
    assert [(spec.case_key, spec.attempt, spec.text) for spec in checked.intake.responses] == [
        *(("france", 0, "Paris 1"), ("france", 1, "Paris 2"))
    ]
    assert checked.preview()["remarks"][0] == {
        "text": "2 sheets hold no tables and are left out.",
        "places": "ada.xlsx, Sheet: it has no table; ada.xlsx, Part 3: it has no table",
    }
