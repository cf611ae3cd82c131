"""The fields of rows by what their columns are."""

from __future__ import annotations

from judging.specs.replies.table_columns import LABELS, ColumnField, distinct_names, mapped_columns


def test_mapped_columns_name_what_readers_look_for_and_nothing_else_so() -> None:
    columns = mapped_columns(
        ["No", "Text", "Answer", "Colour", "Secret"],
        {"No": "case", "Text": "response", "Answer": "detail", "Secret": "ignore"},
    )

    assert list(columns.rows(["1", "Elbe", "Oder", "blue", "x"])) == [
        {"case_id": "1", "response": "Elbe", "column_answer": "Oder", "colour": "blue"}
    ]
    assert columns.read_positions == {0, 1, 2, 3}


def test_mapped_columns_yield_a_row_for_each_system_that_answered() -> None:
    columns = mapped_columns(["No", "oak", "elm"], {"No": "case", "oak": "system-responses", "elm": "system-responses"})

    assert list(columns.rows(["1", "Elbe", " "])) == [{"case_id": "1", "system": "oak", "response": "Elbe"}]
    assert columns.field_names == ["case_id", "system", "response"]


def test_mapped_columns_name_systems_by_provider_where_that_tells_them_apart() -> None:
    def systems(*headers: str) -> list[str]:
        return list(mapped_columns(headers, dict.fromkeys(headers, "system-responses")).systems.values())

    assert systems("[a:x] Say", "[b:y] Say", "oak") == ["a:x", "b:y", "oak"]
    assert systems("[a:x] Say", "[a:x] Tell") == ["[a:x] Say", "[a:x] Tell"]
    assert systems("o" * 200) == ["o" * 120]


def test_distinct_names_number_repeated_names() -> None:
    assert distinct_names(["Score", "", " Score ", "A\nB", ""]) == ("Score", "", "Score (2)", "A B", "")


def test_every_field_has_a_label() -> None:
    assert list(LABELS) == list(ColumnField)
