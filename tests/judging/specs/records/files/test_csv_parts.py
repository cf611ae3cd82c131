"""CSV files of all dialects are tables of texts."""

from __future__ import annotations

import pytest

from judging.specs.records.parts import PartRemark
from tests.judging.specs.records.uploads import upload


@pytest.mark.parametrize(
    "text",
    [
        "q,a\n1,2\n",
        "q;a\r\n1;2\r\n",
        "q\ta\n1\t2\n",
        "q|a\n1|2\n",
        "sep=;\nq;a\n1;2\n",
        "\n\"q\",'a'\n".replace("'", '"') + "1,2\n",
        "q,a\n\n1,2,\n\n",
    ],
)
def test_csv_part_knows_the_dialect(text: str) -> None:
    assert upload({"a.csv": text}).rows == [{"q": "1", "a": "2"}]


def test_csv_part_keeps_the_separator_of_a_header_whose_rows_end_early() -> None:
    text = "q\ta\tb\n1,2,3,4\t5\n6,7,8,9\t5\n"

    assert upload({"a.tsv": text}).rows[0] == {"q": "1,2,3,4", "a": "5", "b": ""}


def test_csv_part_leaves_out_remarks_above_the_header() -> None:
    read = upload({"a.csv": "# made by hand\n# 2 rows\n#q,a\n1,2\n3,4\n"})

    assert [(row.at, row.fields) for row in read.part.rows()] == [
        ("line 4", {"#q": "1", "a": "2"}),
        ("line 5", {"#q": "3", "a": "4"}),
    ]
    assert read.part.remarks == [PartRemark("row-left-out", f"line {n}", "it begins with #") for n in (1, 2)]


def test_csv_part_keeps_separators_and_line_ends_in_quotes() -> None:
    read = upload({"a.csv": 'id;text\r\n1;"a;\r\n""b"""\r\n2;c\r\n'})

    assert [(row.at, row.fields) for row in read.part.rows()] == [
        ("line 2", {"id": "1", "text": 'a;\r\n"b"'}),
        ("line 4", {"id": "2", "text": "c"}),
    ]


def test_csv_part_names_columns_once() -> None:
    read = upload({"a.csv": "q,[p] x,Status,[p] y,Status,,\n1,2,3,4,5,,\n1,2,3,4,5,,z\n"})

    assert read.part.columns == ("q", "[p] x", "Status", "[p] y", "Status (2)", "column 7")


@pytest.mark.parametrize("top", ["q,GPT-4o,,Elm,,by", "q,GPT-4o,GPT-4o,Elm,Elm,by"])
def test_csv_part_joins_a_header_of_two_rows(top: str) -> None:
    read = upload({"a.csv": f"{top}\n,Answer,Score,Answer,Score,\nQ?,a,3,b,4,Ann\nR?,c,1,d,2,Bo\n"})

    assert [row.at for row in read.part.rows()] == ["line 3", "line 4"]
    assert read.rows[0] == {
        "q": "Q?",
        "GPT-4o Answer": "a",
        "GPT-4o Score": "3",
        "Elm Answer": "b",
        "Elm Score": "4",
        "by": "Ann",
    }


def test_csv_part_takes_the_names_of_an_index_below_a_header_of_two_rows() -> None:
    top = ",GPT-4o,GPT-4o,Elm,Elm\n,Answer,Score,Answer,Score\n"
    row = {"GPT-4o Answer": "a", "GPT-4o Score": "3", "Elm Answer": "b", "Elm Score": "4"}

    named, nameless = upload({"a.csv": f"{top}q,,,,\nQ?,a,3,b,4\n"}), upload({"a.csv": f"{top}Q?,a,3,b,4\n"})

    assert named.rows == [{"q": "Q?", **row}]
    assert nameless.rows == [{"column 1": "Q?", **row}]


@pytest.mark.parametrize(
    "text",
    [
        "q,GPT-4o,,Elm,\n,a,3,b,4\nR?,c,1,d,2\n",  # a row without its first cell
        "q,GPT-4o,,Elm,\nQ?,Answer,Score,Answer,Score\n",  # the first column has a cell, too
        "q,a,\n,x,y\n1,2,3\n",  # one wide column, as a name that was left away
    ],
)
def test_csv_part_takes_no_row_for_names_that_is_none(text: str) -> None:
    assert len(upload({"a.csv": text}).rows) == text.count("\n") - 1


@pytest.mark.parametrize(("name", "first"), [("", 0), ("Unnamed: 0", 0), ('""', 1)])
def test_csv_part_leaves_out_an_index(name: str, first: int) -> None:
    read = upload({"a.csv": f"{name},q\n{first},x\n{first + 1},y\n"})

    assert read.rows == [{"q": "x"}, {"q": "y"}]
    assert read.part.remarks == [PartRemark("index-column", "", name.strip('"'))]


def test_csv_part_keeps_a_nameless_column_that_does_not_count() -> None:
    assert upload({"a.csv": ",q\n7,x\n9,y\n"}).rows[0] == {"column 1": "7", "q": "x"}


def test_csv_part_refuses_rows_that_cannot_be_told() -> None:
    long = upload({"a.csv": "q,a\n1,2,3\n3,4\n"})
    unclosed = upload({"a.csv": 'q,a\n1,2\n"3,4\n5,6\n'})

    assert long.said == [
        "a.csv, line 2: The row has 3 cells, the header 2. Put quotes around a text that contains a comma."
    ]
    assert unclosed.said == ["a.csv, line 3: The quote that opens in this row is not closed."]


@pytest.mark.parametrize("text", ["Our study,\nMay,\nq,a\n1,2\n", "Our study\n\nq;a\n1;2\n3;4\n"])
def test_csv_part_asks_for_the_header_below_a_title(text: str) -> None:
    assert upload({"a.csv": text}).said == [
        "a.csv: The table begins with 'Our study'; its header seems to be on line 3: q, a. Remove the lines above the "
        "header."
    ]


def test_csv_part_asks_for_names_above_rows_without_a_header() -> None:
    text = "Which of these is a bird of the sea?,elk,tern,B\nWhich is a tree?,oak,tern,A\nWhich is not?,a,b,B\n"

    assert upload({"a.csv": text}).said == [
        "a.csv, line 1: The first line seems to be a row, and not the names of the columns: Which of these is a bird "
        "of the sea? Write a line with the names of the columns above it."
    ]


@pytest.mark.parametrize(
    "text",
    [
        "doc-1,elk,False\ndoc-2,tern,False\n",
        "doc-1,elk,[]\ndoc-2,tern,[]\n",
        "どの川か？,エルベ,A\nどの山か？,富士,A\n",
        "Say in a few words how it is done.\nSay who has done it.\n",
    ],
)
def test_csv_part_asks_for_names_above_rows_of_other_kinds(text: str) -> None:
    said = upload({"a.csv": text}).said

    assert said[0].startswith("a.csv, line 1: The first line seems to be a row")


def test_csv_part_replaces_nul_characters() -> None:
    read = upload({"a.csv": "q,a\n" + "x,y\n" * 3000 + "1,a\0b\n"})

    assert read.rows[-1] == {"q": "1", "a": "a\ufffdb"}
    assert "line 3002: NUL characters" in read.said[0]


def test_csv_part_samples_rows_of_the_whole_file() -> None:
    read = upload({"a.csv": "q\n" + "".join(f"{number}\n" for number in range(5000))})

    numbers = [int(row.fields["q"]) for row in read.part.sample]
    assert (numbers[:100], len(numbers) > 150, numbers[-1] > 4900) == (list(range(100)), True, True)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("q,a,approve,reject\nWhy?,So\nHow?,Thus", []),
        ("q,a,approve,reject\nWhy?,So,,\nHow?,Th", ["file-cut"]),
        ("q,a\nWhy?", ["file-cut"]),
    ],
)
def test_csv_part_tells_a_cut_file_from_one_without_its_empty_cells_at_the_end(text: str, kinds: list[str]) -> None:
    read = upload({"t.csv": text})

    assert len(read.rows) == text.count("\n")
    assert [remark.kind for remark in read.part.remarks] == kinds
