"""Which tables of an upload are read by columns."""

from __future__ import annotations

import pytest

from judging.specs.column_choices import ColumnChoices, choose_columns
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings
from judging.specs.upload_kinds import sniff_all
from tests.judging import column_files, import_files
from tests.judging.column_files import FRANCE, book, document, lines, table


def choose(*files: column_files.File, findings: Findings | None = None, **chosen: str) -> ColumnChoices:
    bundle = Bundle(dict(files))
    return choose_columns(bundle, sniff_all(bundle), chosen, findings or Findings())


@pytest.mark.parametrize(
    "file",
    [
        column_files.lm_eval_samples(),
        column_files.promptfoo_csv(),
        column_files.promptfoo_json(),
        column_files.inspect_log(),
        book([["Nr", "Frage?", "gpt-4o"], [1, FRANCE, "Paris"]]),
        table([["question", "reference", "claude-3"], [FRANCE, "Paris", "Lyon"]]),
    ],
)
def test_choose_columns_reads_tables_of_other_programs(file: column_files.File) -> None:
    assert choose(file).used == {file[0]}


@pytest.mark.parametrize(
    "file",
    [
        table([["case_id", "system", "response"], ["france", "ada", "Paris"]]),
        table([["question", "answer", "source"], [FRANCE, "Paris", "an atlas"]]),
        lines([{"id": "france", "answer": "Paris"}]),
        table([["a", "b"], ["1", "2"]]),
    ],
)
def test_choose_columns_shows_tables_that_readers_know_and_those_that_nobody_does(file: column_files.File) -> None:
    choices = choose(file)

    assert (list(choices.fields), choices.used) == ([file[0]], frozenset())


@pytest.mark.parametrize(
    "file",
    [
        import_files.workbook(),
        table([["id", "criterion", "points"], ["france", "names Paris", 1]]),
        document({"root": {"text": "x", "key": "k"}}),
        lines([{"id": "france", "rubrics": [{"criterion": "names Paris", "points": 1}], "name": "x"}]),
        ("empty.csv", b""),
        ("broken.xlsx", b"PK"),
        ("broken.json", b"{"),
    ],
)
def test_choose_columns_leaves_rubrics_and_broken_files_alone(file: column_files.File) -> None:
    assert choose(file) == ColumnChoices()


def test_choose_columns_lets_a_person_overrule_the_guess() -> None:
    file = table([["id", "output", "text"], ["france", "Paris", "Lyon"]])

    choices = choose(file, output="detail", text="response")

    assert choices.used == {"t.csv"}
    assert [(column.name, column.field, column.guess) for column in choices.columns] == [
        ("id", "case", "case"),
        ("output", "detail", "detail"),
        ("text", "response", "response"),
    ]
    assert choose(file, id="ignore", output="case").fields["t.csv"] == {
        "id": "ignore",
        "output": "case",
        "text": "response",
    }


def test_choose_columns_takes_a_field_from_the_column_that_was_guessed() -> None:
    file = table([["id", "response", "other"], ["france", "Paris", "Lyon"]])

    assert choose(file, other="response").fields["t.csv"] == {"id": "case", "response": "detail", "other": "response"}


def test_choose_columns_says_which_column_is_not_there() -> None:
    findings = Findings()

    choose(table([["id", "output"], ["france", "Paris"]]), findings=findings, Output="response")

    assert [problem.message for problem in findings.listed] == ["No table of the upload has a column 'Output'."]


def test_choose_columns_leaves_the_files_of_a_suite_to_it() -> None:
    suite = b"name: s\ncases:\n- {id: a, prompt: p, files: [named.csv]}\n"
    data = table([["id", "LLM output"], ["a", "x"]])[1]

    choices = choose(("s.yaml", suite), ("named.csv", data), ("folder/inside.csv", data), ("beside.csv", data))

    assert choices.used == {"beside.csv"}


def test_choose_columns_shows_the_first_cells_shortened() -> None:
    rows = [["id", "output"], ["a", "x\ny" + "z" * 200], ["b", ""], ["c", "v"], ["d", "not shown"]]

    samples = choose(table(rows)).columns[1].samples

    assert samples == ("x y" + "z" * 116 + "…", "v")


@pytest.mark.parametrize(
    ("chosen", "codes"),
    [
        ({"a": "case", "b": "response", "c": "response"}, ["same-field"]),
        ({"a": "case", "b": "response", "c": "system-responses"}, ["same-field"]),
        ({"a": "case", "b": "system-responses", "c": "system-responses"}, []),
        ({"a": "case", "b": "reference"}, ["missing-field"]),
        ({"a": "detail", "b": "detail", "c": "ignore"}, ["missing-field"]),
    ],
)
def test_choose_columns_refuses_fields_that_do_not_go_together(chosen: dict[str, str], codes: list[str]) -> None:
    findings = Findings()

    choose(table([["a", "b", "c"], ["france", "Paris", "Lyon"]]), findings=findings, **chosen)

    assert [problem.code for problem in findings.listed] == codes
