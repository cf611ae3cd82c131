"""The table of answers is read back to the character from every format, and bad files are told where they are wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.base.tables import write_csv, write_jsonl, write_xlsx
from evalsite.review.tables.annotations import COLUMNS, Act, ItemRecord, LocatedAct, read_annotations

pytestmark = pytest.mark.backend_free
NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
AWKWARD = [
    "",
    "=1+1",
    "'=1",
    "+49",
    "-1",
    "@x",
    "\tx",
    "a\nb",
    "a\r\nb",
    "\r",
    "'",
    '"',
    "1.0",
    "true",
    "_x000D_",
    " x ",
]
ROW: dict[str, Any] = {
    "queue": "q", "item": 7, "item_hash": "ab", "subject": "debate", "subject_id": 3, "case": "c-1", "system_a": "oak",
    "system_b": "elm", "criterion": "", "scenario": "", "language": "", "reason": "audit", "reason_text": "Drawn.",
    "arm": "audit", "inclusion_probability": 0.1 + 0.2, "retest_of": None, "only_for": "", "quorum": 2,
    "status": "open", "final_label": "", "settled_at": None, "adjudicated_label": "", "adjudicated_parts": "",
    "adjudicator": "",
    "adjudication_reason": "", "adjudication_adopted": "", "adjudicated_at": None, "adjudication_is_blind": None,
    "act": "answered",
    "annotator": "ada", "slot": 0, "saw_swapped": True, "blind_label": "-1", "blind_parts": "", "note": "",
    "claimed_at": NOON,
    "answered_at": NOON, "seconds": 12.5, "active_seconds": None, "edited_at": None, "revealed_at": None,
    "revised_label": "", "revised_parts": "",
    "revision_note": "", "revised_at": None, "skip_reason": "", "cannot_judge": "", "flag": "",
    "mode": "debate", "guidelines_version": 3, "seen_before": False, "shown_order": "",
    "prefilled": "", "prefilled_by": "",
}  # fmt: skip


def written(rows: list[dict[str, Any]], kind: str) -> bytes:
    if kind == "xlsx":
        return write_xlsx(rows, columns=COLUMNS)
    return b"".join((write_csv if kind == "csv" else write_jsonl)(rows, columns=COLUMNS))


def typed(row: dict[str, Any]) -> tuple[ItemRecord, Act]:
    def of(kind: type[Any]) -> Any:
        return kind(**{name: row[name] for name in kind.__dataclass_fields__})

    return of(ItemRecord), of(Act)


# surrogates cannot be stored; U+FFFE and U+FFFF are no characters and no workbook can hold them
ANY_TEXT = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00\ufffe\uffff"), max_size=60),
    st.lists(st.sampled_from([*AWKWARD, "_x0001_", "\x01", "\x0b", "_", "x", "\u2028", "😀"]), max_size=6).map("".join),
)
AMOUNT = st.one_of(st.none(), st.floats(0, 1e9))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
@settings(max_examples=60, deadline=None)
@given(texts=st.tuples(ANY_TEXT, ANY_TEXT, ANY_TEXT, ANY_TEXT), amounts=st.tuples(AMOUNT, AMOUNT))
def test_read_annotations_returns_any_text_and_number_as_it_was(
    kind: str, texts: tuple[str, ...], amounts: tuple[float | None, ...]
) -> None:
    fields = {"note": texts[0], "flag": texts[1], "skip_reason": texts[2], "seconds": amounts[0]}
    row = ROW | fields | {"case": texts[3], "inclusion_probability": amounts[1]}

    parsed = read_annotations(written([row], kind), f"answers.{kind}")

    facts, act = typed(row)
    assert parsed.value is not None, parsed.problems
    assert [(item.facts, [placed.act for placed in item.acts]) for item in parsed.value.items] == [(facts, [act])]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
def test_read_annotations_takes_very_long_notes_and_refuses_longer_ones(kind: str) -> None:
    longest = "=" + "ä\n" * 9_999 + "x"

    read = read_annotations(written([ROW | {"note": longest}], kind), f"a.{kind}")
    refused = read_annotations(written([ROW | {"note": longest + "y"}], kind), f"a.{kind}")

    assert len(longest) == 20_000
    assert read.value is not None
    assert read.value.items[0].acts[0].act.note == longest
    assert [one.message for one in refused.errors] == ["note has 20,001 characters; the maximum is 20,000."]


@pytest.mark.parametrize(("kind", "place"), [("csv", "line 2"), ("jsonl", "line 1"), ("xlsx", "Sheet1!AI2")])
def test_read_annotations_refuses_nul_by_place(kind: str, place: str) -> None:
    data = written([ROW | {"note": "a\x00b"}], kind)

    parsed = read_annotations(data, f"a.{kind}")

    assert parsed.value is None
    assert [(one.place, "NUL" in one.message) for one in parsed.errors] == [(place, True)]


@pytest.mark.parametrize(
    ("changes", "place", "sentence"),
    [
        ({"item": "x"}, "line 2, item", "item must be a whole number."),
        ({"slot": 0.5}, "line 2, slot", "slot must be a whole number."),
        ({"seconds": -1.0}, "line 2, seconds", "seconds must be a number that is not negative."),
        ({"saw_swapped": "maybe"}, "line 2, saw_swapped", "saw_swapped must be true or false."),
        (
            {"answered_at": "2026-01-05 12:00"},
            "line 2, answered_at",
            "answered_at must be a time with its zone, such as 2026-01-31T12:00:00+00:00.",
        ),
        ({"act": "voted"}, "line 2", "act is 'voted'; it must be answered, cannot judge, skipped or flagged."),
        ({"annotator": ""}, "line 2", "annotator is missing."),
        ({"blind_label": ""}, "line 2", "blind_label is missing."),
        ({"revised_label": "1"}, "line 2", "a revision needs both revised_label and revised_at."),
        (
            {"adjudicated_label": "1"},
            "line 2",
            "an adjudication needs adjudicated_label, adjudicator and adjudicated_at.",
        ),
    ],
)
def test_read_annotations_names_line_and_column(changes: dict[str, Any], place: str, sentence: str) -> None:
    parsed = read_annotations(written([ROW | changes], "csv"), "a.csv")

    assert parsed.value is None
    assert (parsed.errors[0].file, parsed.errors[0].place, parsed.errors[0].message) == ("a.csv", place, sentence)


def test_read_annotations_refuses_rows_that_contradict_each_other() -> None:
    rows = [ROW, ROW | {"annotator": "bob", "slot": 1, "quorum": 3}, ROW | {"note": "again"}]

    parsed = read_annotations(written(rows, "csv"), "a.csv")

    assert [(one.place, one.message) for one in parsed.errors] == [
        ("line 3", "quorum of item 7 differs from the value at line 2."),
        ("line 4", "ada has two rows for item 7; the other is at line 2."),
    ]


@pytest.mark.parametrize(
    ("data", "name", "sentence"),
    [
        (b"id,label\n1,2\n", "a.csv", "The table has no column item, item_hash, act, annotator."),
        (b'{"item": 1}\n', "a.jsonl", "The table has no column item_hash, act, annotator."),
        (b"{oops\n", "a.jsonl", "a name in double quotes is expected at “oops”."),
        (b"PK no workbook", "a.xlsx", "This is not an .xlsx workbook"),
        (b"PAR1 columns", "a.parquet", "This is a Parquet or Arrow file, which is not read here."),
        (b"", "a.csv", "There are no annotations in this file."),
        (b"\xff\xfe\xff", "a.csv", "The file is said utf-16 by its first bytes, but is damaged."),
    ],
)
def test_read_annotations_refuses_other_files(data: bytes, name: str, sentence: str) -> None:
    parsed = read_annotations(data, name)

    assert parsed.value is None
    assert sentence in parsed.errors[0].message


def test_read_annotations_reads_columns_in_any_order_and_ignores_further_ones() -> None:
    columns = ["mood", *reversed(COLUMNS)]
    data = b"".join(write_csv([ROW | {"mood": "good"}], columns=columns))

    parsed = read_annotations(data, "a.csv")

    facts, act = typed(ROW)
    assert parsed.value is not None
    assert [(one.facts, one.acts) for one in parsed.value.items] == [(facts, (LocatedAct("line 2", act),))]


def test_what_is_missing_in_every_row_is_said_once() -> None:
    parsed = read_annotations(
        written([ROW | {"item": number, "saw_swapped": None} for number in range(1, 6)], "csv"), "a.csv"
    )

    assert [str(problem) for problem in parsed.problems] == [
        "a.csv, line 2: saw_swapped is missing. It is so in 5 rows (first: line 2, line 3, line 4)."
    ]
