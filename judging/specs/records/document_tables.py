"""Tables of a document that is no tool's: each of its lists is one, and lists of like objects are one together.

Records that were written as a table: cells that print lists and objects hold them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from evalsite.base.types import JsonDict, objects
from judging.specs.records import names
from judging.specs.records.files.csv_parts import HALF
from judging.specs.records.names import Holds
from judging.specs.records.parts import Form, Part, Row
from judging.specs.records.values import are_questions, is_dict_of_rows, last_turn_split, parsed

_ASKS = (Holds.PROMPT, Holds.TURNS, Holds.CASE)


def tables_of(part: Part) -> list[Part]:
    """Return the tables of a document in its order, each with its rows; one of several lists has the name of each list
    in a column: `model` where they are of models, `key` where no column says which case a row is about, else `split`.
    """
    tables: list[Part] = []
    for parent, keys, end in _siblings(part.document, "", part.lists.keys()):
        alike: list[tuple[frozenset[str], list[str]]] = []
        for key in keys:
            columns = frozenset(_columns(part.lists[f"{parent}{key}{end}"]))
            near = ((2 * len(known & columns) > max(len(known), len(columns)), found) for known, found in alike)
            like = next((found for is_near, found in near if is_near), None)
            if like is None:
                alike.append((columns, like := []))
            like.append(key)
        tables += [_table(part, parent, found, end) for _, found in alike]
    return tables


def with_printed_values(part: Part) -> Part:
    """Return a table as the records that were written as its rows, where its cells print lists or objects: with these,
    and with numbers and truth values in columns that hold nothing else."""
    readers = {name: reads for name in part.columns if (reads := _reader_of(part.values(name))) is not None}
    if parsed not in readers.values():
        return part

    def as_record(row: Row) -> Row:
        read = {name: reads(row.fields[name]) for name, reads in readers.items() if row.fields.get(name) is not None}
        return Row(row.at, row.fields | read)

    sample = tuple(map(as_record, part.sample))
    return replace(part, form=Form.ROWS, sample=sample, rows=lambda: map(as_record, part.rows()))


def _reader_of(cells: Sequence[object]) -> Callable[[object], object] | None:
    """Return what reads the cells of a column that hold values of one kind, and no texts."""
    filled = [cell for cell in cells if cell not in (None, "")]
    if filled and all(isinstance(parsed(cell), list | dict) for cell in filled):
        return parsed
    return _json if filled and all(isinstance(_json(cell), bool | int | float) for cell in filled) else None


def _json(cell: object) -> object:
    """Return the number or truth value that a cell prints; any other cell as it is."""
    try:
        value = json.loads({"True": "true", "False": "false"}.get(cell, cell)) if isinstance(cell, str) else cell
    except ValueError:
        return cell
    return value if isinstance(value, bool | int | float) else cell


def is_of_viewer(part: Part) -> bool:
    """Return whether a document is what the dataset viewer of Hugging Face replies."""
    return "features" in part.document and any(_viewed(entry) for _, entry in islice(part.items("rows"), 1))


def _viewed(entry: object) -> bool:
    return isinstance(entry, dict) and "row_idx" in entry and isinstance(entry.get("row"), dict)


def viewed_rows(part: Part) -> Part:
    """Return the rows of the viewer without what it says about each."""

    def rows() -> Iterator[Row]:
        for place, entry in part.items("rows"):
            if isinstance(entry, dict) and _viewed(entry):
                yield Row(place, entry["row"])

    return with_rows(part, rows)


def with_rows(part: Part, rows: Callable[[], Iterator[Row]]) -> Part:
    """Return a part of other rows."""
    sample = tuple(islice(rows(), 2 * HALF))
    columns = tuple(dict.fromkeys(name for row in sample for name in row.fields))
    return replace(part, form=Form.ROWS, name="", columns=columns, sample=sample, rows=rows, document={})


def with_turns_apart(part: Part) -> Part:
    """Return rows that compare two conversations with the turns with which both begin apart from their last replies;
    other parts as they are."""
    sides = names.responses_beside({names.compared(name): name for name in part.columns})
    is_asked = any(names.is_strong(name, role) for name in part.columns for role in (Holds.PROMPT, Holds.TURNS))

    def apart(row: Row) -> Row | None:
        both = [split for name in sides if (split := last_turn_split(parsed(row.fields.get(name)))) is not None]
        if len(both) < 2 or both[0][0] != both[1][0]:
            return None
        replies = dict(zip(sides, (reply for _, reply in both), strict=True))
        return Row(row.at, {"messages": both[0][0]} | row.fields | replies)

    if is_asked or not (sides and part.sample and all(map(apart, part.sample))):
        return part
    return with_rows(part, lambda: (apart(row) or row for row in part.rows()))


def objects_beside(document: JsonDict, above: str = "") -> Iterator[str]:
    """Yield the paths of like objects by key, of which no list of the document is made."""
    for key, value in document.items():
        if isinstance(value, dict) and is_dict_of_rows(value):
            holds_lists = any(objects(entry) for row in value.values() for entry in row.values())  # which are read
            yield from () if holds_lists else (f"{above}{key}",)
        elif isinstance(value, dict):
            yield from objects_beside(value, f"{above}{key}.")


def _siblings(value: JsonDict, parent: str, lists: Collection[str]) -> Iterator[tuple[str, list[str], str]]:
    """Yield the names of the lists of each object, with the path of the object before them; of lists under one name in
    several objects, as models.oak.answers, the names of these, with that name behind them."""
    found = [key for key in value if f"{parent}{key}" in lists]
    if found:
        yield parent, found, ""
    inner = {key: child for key, child in value.items() if isinstance(child, dict)}
    ends = [f".{name}" for name in dict.fromkeys(name for child in inner.values() for name in child)]
    several = {end: keys for end in ends if len(keys := [key for key in inner if f"{parent}{key}{end}" in lists]) > 1}
    yield from ((parent, keys, end) for end, keys in several.items())
    taken = {f"{parent}{key}{end}" for end, keys in several.items() for key in keys}
    for key, child in inner.items():
        yield from _siblings(child, f"{parent}{key}.", set(lists) - taken)


def _columns(rows: Sequence[Row]) -> dict[str, None]:
    return dict.fromkeys(name for row in rows for name in row.fields)


def _table(part: Part, parent: str, keys: Sequence[str], end: str) -> Part:
    """Return the rows of lists of like objects as a part."""
    columns = _columns([row for key in keys for row in part.lists[f"{parent}{key}{end}"]])
    header = _header(keys, columns) if len(keys) > 1 else ""

    def named(key: str, row: Row) -> Row:
        return Row(row.at, {header: key, **row.fields}) if header else row

    def rows() -> Iterator[Row]:
        for key in keys:
            for at, entry in part.items(f"{parent}{key}{end}"):
                if isinstance(entry, dict):
                    yield named(key, Row(at, entry))

    most = 2 * HALF // len(keys) + 1
    return replace(
        part,
        form=Form.ROWS,
        name=f"{parent}{keys[0]}{end}" if len(keys) == 1 else parent.removesuffix("."),
        columns=tuple({header: None, **columns} if header else columns),
        sample=tuple(named(key, row) for key in keys for row in part.lists[f"{parent}{key}{end}"][:most]),
        rows=rows,
        lists={},
        list_column=header,
        remarks=[],
    )


def _header(keys: Sequence[str], columns: Sequence[str] | dict[str, None]) -> str:
    says = any(names.is_strong(name, role) for name in columns for role in _ASKS)
    header = "model" if names.are_models(keys) else "split" if says else "question" if are_questions(keys) else "key"
    while header in columns:
        header += "_"
    return header
