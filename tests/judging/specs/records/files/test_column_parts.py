"""Parquet and Arrow are read with the extra, and refused by name without it."""

from __future__ import annotations

import datetime as dt
import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.judging.specs.records.uploads import upload, zipped

pyarrow = pytest.importorskip("pyarrow")


def rows_of_types() -> Any:
    rows = [
        {"q": "a", "n": 1.5, "day": dt.date(2026, 3, 1), "image": {"bytes": b"\x89PNG", "path": "a.png"}, "raw": b"x"},
        {"q": "b", "n": None, "day": None, "image": None, "raw": None},
    ]
    return pyarrow.Table.from_pylist(rows)


def table() -> bytes:
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(rows_of_types(), stream)
    return stream.getvalue()


def arrow(opened: Callable[..., Any]) -> bytes:
    stream, rows = io.BytesIO(), rows_of_types()
    with opened(stream, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=1)
    return stream.getvalue()


def test_column_part_reads_rows_as_json_has_them() -> None:
    rows = [
        {"q": "a", "n": 1.5, "day": "2026-03-01", "image": "data:image/png;base64,iVBORw==", "raw": None},
        {"q": "b", "n": None, "day": None, "image": None, "raw": None},
    ]

    assert upload({"data/test.parquet": table(), "README.md": "# A card"}).rows == rows
    assert upload({"data.zip": zipped({"test.parquet": table()})}).rows == rows
    assert upload({"data.arrow": arrow(pyarrow.ipc.new_file)}).rows == rows
    assert upload({"data.zip": zipped({"test.feather": arrow(pyarrow.ipc.new_file)})}).rows == rows
    stream = {"train/data-00000-of-00001.arrow": arrow(pyarrow.ipc.new_stream)}
    beside = {"train/state.json": '{"_fingerprint": "f"}', "train/dataset_info.json": '{"features": {}}'}
    assert upload({**stream, **beside, "dataset_dict.json": '{"splits": ["train"]}'}).rows == rows


def test_column_part_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    data = table()
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    assert upload({"data.parquet": data}).said == [
        "data.parquet: Parquet and Arrow need the extra: pip install evalsite[parquet]; or save the table as JSON "
        "Lines."
    ]


def test_column_part_refuses_a_damaged_file() -> None:
    assert "This Parquet or Arrow file cannot be read" in upload({"data.parquet": table()[:200]}).said[0]
    assert "This Parquet or Arrow file cannot be read" in upload({"a.arrow": arrow(pyarrow.ipc.new_file)[:200]}).said[0]


def test_column_part_refuses_arrow_whose_texts_lie_outside_of_the_file() -> None:
    stream, rows = io.BytesIO(), pyarrow.table({"q": ["x" * 77]})
    with pyarrow.ipc.new_stream(stream, rows.schema) as writer:
        writer.write_table(rows)
    start, _, end = stream.getvalue().rpartition(b"\0\0\0\0\x4d\0\0\0")  # where the text begins and ends

    said = upload({"a.arrow": start + b"\0\0\0\0\0\0\x4d\0" + end}).said

    assert "This Parquet or Arrow file cannot be read" in said[0]
