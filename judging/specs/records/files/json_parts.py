"""JSON files as parts: JSON Lines, lists, dicts of rows, tables by columns, and documents with their lists.

A document is held whole as long as all documents of an upload together are small; of a larger one the long lists are
left empty, and `items` reads their entries from the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TextIO

from evalsite.base.types import JsonDict
from judging.specs.files.bundles import source_of
from judging.specs.files.encodings import MAX_DEPTH, Text, is_too_deep, text_of
from judging.specs.files.findings import Findings, at_line, error_rule
from judging.specs.records.files.containers import plain_path
from judging.specs.records.files.csv_parts import (
    DEEPEST,
    HALF,
    NO_ROWS,
    NOT_AN_OBJECT,
    REPAIRED,
    REPAIRED_TEXT,
    Reports,
    Sample,
    is_index,
    lists_of,
    unique_names,
)
from judging.specs.records.names import Holds, are_models, is_strong
from judging.specs.records.parts import Form, Part, PartRemark, Row
from judging.specs.records.values import (
    are_questions,
    has_words,
    holds_texts,
    holds_words,
    in_one_list,
    is_choice,
    is_dict_of_rows,
    is_messages,
    spread,
)

_AT_ONCE = 1 << 18  # characters
_MOST = 1 << 28  # characters of one value
_SPACE = re.compile(r"[ \t\n\r]*")
_NEAR_END = 16  # an error so near the end of what was read may only be a cut
_STORABLE = re.compile("[\x00\ud800-\udfff]")
_SUSPECT = re.compile(r"\x00|\\u(?:0000|[dD][89a-fA-F])")  # written so that it may not be storable
_DECODER = json.JSONDecoder()


class BadJson(ValueError):
    """A text is no JSON: a sentence with what is wrong, and its place."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.at = f"line {line}, column {column}"


def decode_line(text: str, line: int) -> Any:
    """Return the JSON value that a line is.

    Raises:
        BadJson: it is none.
    """
    try:
        value, end = _DECODER.raw_decode(text, 0 if text[:1] == "{" else _end_of_space(text, 0))
        if text[end:] != "\n" and _end_of_space(text, end) < len(text):
            raise json.JSONDecodeError("Extra data", text, _end_of_space(text, end))
    except json.JSONDecodeError as failure:
        message, place = explained(text, failure)
        raise BadJson(message, line, place + 1) from None
    except RecursionError:
        raise BadJson(f"{_TOO_DEEP}.", line, 1) from None
    if is_too_deep(text, value):
        raise BadJson(f"{_TOO_DEEP}.", line, 1)
    return value


_TOO_DEEP = f"the value nests deeper than {MAX_DEPTH} levels"


def storable(text: str, value: Any) -> tuple[Any, bool]:
    """Return a value with characters that no database stores replaced by U+FFFD, and whether there were any.

    `text` is what the value was written as.
    """
    if ("\\u" not in text and "\0" not in text) or _SUSPECT.search(text) is None:
        return value, False
    cleaned = _cleaned(value)
    return cleaned, cleaned != value


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return _STORABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_cleaned(entry) for entry in value]
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(entry) for key, entry in value.items()}
    return value


def _end_of_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


class Cursor:
    """A place in a JSON text that is read in pieces; no more than one value of it is held."""

    def __init__(self, stream: TextIO, at_once: int = _AT_ONCE) -> None:
        self._stream, self._at_once = stream, at_once
        self._text, self._place = "", 0
        self._is_end = False
        self._lines = self._columns = 0  # of what is no longer held: line ends, and characters since the last
        self.passed = 0  # characters before the held text

    @property
    def position(self) -> int:
        """How many characters lie before."""
        return self.passed + self._place

    def peek(self) -> str:
        """Return the next character that is no space; empty at the end."""
        while True:
            self._place = _end_of_space(self._text, self._place)
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._fill():
                return ""

    def takes(self, mark: str) -> bool:
        """Go past a character if it is the next one, and return whether it was."""
        if self.peek() != mark:
            return False
        self._place += 1
        return True

    def need(self, marks: str) -> str:
        """Go past the next character, which must be one of these.

        Raises:
            BadJson: it is another.
        """
        found = self.peek()
        if not found or found not in marks:
            failure = json.JSONDecodeError(f"Expecting '{marks[0]}' delimiter", self._text, self._place)
            raise self._bad(failure)
        self._place += 1
        return found

    def value(self) -> Any:
        """Return the next value, whole and storable.

        Raises:
            BadJson: it is none.
        """
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._place)
            except json.JSONDecodeError as failure:
                if not self._may_be_cut(failure) or not self._fill():
                    raise self._bad(failure) from None
                continue
            except RecursionError:
                raise self._bad(json.JSONDecodeError(_TOO_DEEP, self._text, self._place)) from None
            is_cut = isinstance(value, int | float) and not self._text[end:].strip(".eE+-")  # as 1. of 1.5 is
            if not (is_cut and self._fill()):
                break
        written = self._text[self._place : end]
        if is_too_deep(written, value):
            raise self._bad(json.JSONDecodeError(_TOO_DEEP, self._text, self._place))
        value, is_changed = storable(written, value)
        self.is_changed = is_changed
        self._place = end
        return value

    is_changed = False  # whether the last value had characters that were replaced

    def entries(self) -> Iterator[int]:
        """Go through the list that begins here, and yield the number of each entry, which must then be passed."""
        self.need("[")
        number = 0
        if self.takes("]"):
            return
        while True:
            yield number
            number += 1
            if self.need(",]") == "]":
                return

    def names(self) -> Iterator[str]:
        """Go through the object that begins here, and yield each name, whose value must then be passed."""
        self.need("{")
        if self.takes("}"):
            return
        while True:
            if self.peek() != '"':
                message = "Expecting property name enclosed in double quotes"
                raise self._bad(json.JSONDecodeError(message, self._text, self._place))
            key = str(self.value())
            self.need(":")
            yield key
            if self.need(",}") == "}":
                return

    def skip(self, depth: int = 8) -> None:
        """Go past the next value without holding a long list."""
        begins = self.peek()
        if begins == "[" and depth:
            for _ in self.entries():
                self.skip(0)
        elif begins == "{" and depth:
            for _ in self.names():
                self.skip(depth - 1)
        else:
            self.value()

    def check_end(self) -> None:
        """Refuse what stands after the end."""
        if self.peek():
            raise self._bad(json.JSONDecodeError("Extra data", self._text, self._place))

    def _may_be_cut(self, failure: json.JSONDecodeError) -> bool:
        if len(self._text) - self._place > _MOST:
            return False
        return failure.msg.startswith("Unterminated") or failure.pos >= len(self._text) - _NEAR_END

    def _fill(self) -> bool:
        """Read on, twice as much as is held; return whether there was more."""
        further = "" if self._is_end else self._stream.read(max(self._at_once, len(self._text) - self._place))
        if not further:
            self._is_end = True
            return False
        self._lines += (ends := self._text.count("\n", 0, self._place))
        self._columns = self._place - self._text.rfind("\n", 0, self._place) - 1 + (0 if ends else self._columns)
        self.passed += self._place
        self._text, self._place = self._text[self._place :] + further, 0
        return True

    def _bad(self, failure: json.JSONDecodeError) -> BadJson:
        message, place = explained(self._text, failure)
        ends = self._text.count("\n", 0, place)
        column = place - self._text.rfind("\n", 0, place) + (0 if ends else self._columns)
        return BadJson(message, 1 + self._lines + ends, column)


# What is wrong, in words.
def explained(text: str, failure: json.JSONDecodeError) -> tuple[str, int]:
    """Return what is wrong with a text, as a sentence, and where it is wrong, from 0."""
    place = failure.pos
    if failure.msg.startswith("Expecting property name") and text[place - 1 : place].strip("{, \t\r\n"):
        place -= 1  # Python counts one too many here
    found = text[place : place + 1]
    shown = _shown(text, place)
    if failure.msg == _TOO_DEEP:
        return f"{_TOO_DEEP}.", place
    if failure.msg.startswith("Expecting") and place and text[place - 1] == '"' and found not in ',:]}" \t\r\n':
        start = text.rfind('"', max(0, place - 2001), place - 1)  # of the text that the quote ends
        if start >= 0:
            cut = text[start:place][-40:]
            return f'a quote ends the text too early ({cut}); write \\" inside a text.', place - 1
    if found == "'":
        return f"a single quote stands at {shown}; JSON has names and texts in double quotes.", place
    if not found and not failure.msg.startswith("Unterminated"):
        return "the file ends before a bracket or brace is closed.", place
    before = text[:place].rstrip()[-1:]
    if before == "," and found in "]}":
        return f"a comma stands before the closing {found}; remove it.", place
    words = next((words for start, words in _WORDS.items() if failure.msg.startswith(start)), "{shown} is no JSON.")
    return words.replace("{shown}", shown), place


_WORDS = {
    "Expecting ',' delimiter": "a comma is missing before {shown}.",
    "Expecting '[' delimiter": "a list is expected at {shown}.",
    "Expecting '{' delimiter": "an object is expected at {shown}.",
    "Expecting ':' delimiter": "a colon is missing before {shown}.",
    "Expecting property name": "a name in double quotes is expected at {shown}.",
    "Expecting value": "a value is expected at {shown}; texts stand in double quotes, and true, false, null are small.",
    "Unterminated string": "the text {shown} is not closed by a quote.",
    "Invalid control character": "a line break or tab stands in a text at {shown}; write \\n or \\t.",
    "Invalid \\": "a backslash stands alone at {shown}; write two.",
    "Illegal trailing comma": "a comma stands before a closing bracket or brace; remove it.",
    "Extra data": "{shown} stands after the end.",
}


def _shown(text: str, place: int) -> str:
    """Return what stands at a place, in quotation marks."""
    rest = text[place : place + 24].strip() or text[max(0, place - 12) : place].strip()
    return f"“{' '.join(rest.split())}”"


BAD_JSON = error_rule("bad-json")  # the sentence says what to do

LINE_ENDINGS = (".jsonl", ".ndjson")
WHOLE_BYTES = 16 * 1024 * 1024  # of all documents of an upload that are held whole
_LONG = 1 << 16  # characters of a list that is left empty in a large document
_LONGEST_LINE = 1 << 24  # characters
_MOST_SAMPLED = 64 * 1024 * 1024  # bytes of a list, or of lines, of which all entries are looked at
_TEXT = "content"  # the column of texts that stand alone in a list, or under a key each
_MANY_KEYS = 2000  # of an object that is a dict of rows, not a document
_SEEKS, _LINES_EACH = 20, 5  # of the sample of a large file of lines


@dataclass(slots=True)
class Budget:
    """How much of an upload may still be held whole."""

    left: int = WHOLE_BYTES

    def takes(self, size: int) -> bool:
        """Return whether a document may be held whole, and count it."""
        if size > self.left:
            return False
        self.left -= size
        return True


@dataclass
class _IsRows(Exception):
    """A large object has so many like objects that it is a dict of rows."""

    header: str  # of its keys


def json_part(text: Text, findings: Findings, budget: Budget) -> Part | None:
    """Return a JSON file as a part; None, with an error, where it is none."""
    reports = Reports(text.file.path, findings)
    with text.open() as stream:
        begins = Cursor(stream).peek()
    if begins == "[":
        return _rows_part(text, reports, _list_rows(text, reports), _list_sample)
    if _is_lines(text):
        return _rows_part(text, reports, _line_rows(text, reports), _lines_sample)
    try:
        return _document_part(text, reports, budget)
    except BadJson as failure:
        reports.tell(1, BAD_JSON, failure.at, str(failure))
    return None


def json_rows(data: bytes, file: str, findings: Findings) -> list[Row]:
    """Return the rows of a file of JSON Lines, or of a JSON list; what is wrong with it goes to the findings."""
    text = text_of(source_of(file, data), "", findings)
    part = json_part(text, findings, Budget()) if text is not None else None
    return list(part.rows()) if part is not None else []


def _is_lines(text: Text) -> bool:
    """Return whether a file has an object a line: it says so, or its first line is one and others follow."""
    with text.open() as stream:
        lines = (line for line in iter(lambda: stream.readline(_LONGEST_LINE), "") if not line.isspace())
        first = next(lines, "")
        if _is_named_lines(text):
            return first.strip() != "{"  # else each object stands over several lines
        if not next(lines, ""):
            return False
    try:
        decode_line(first, 1)
    except BadJson:
        line = first.strip().removesuffix(",")
        return line.endswith("}") and line.count("{") == line.count("}")
    return True


def _is_named_lines(text: Text) -> bool:
    return plain_path(text.file.path).endswith(LINE_ENDINGS)


def _line_rows(text: Text, reports: Reports) -> Callable[[], Iterator[Row]]:
    def rows() -> Iterator[Row]:
        with text.open() as stream:
            for number, line in enumerate(stream, 1):
                if line.isspace():
                    continue
                row = _row_of(line, number, reports)
                if row is not None:
                    yield row

    return rows


def _row_of(line: str, number: int, reports: Reports) -> Row | None:
    try:
        value = decode_line(line, number)
    except BadJson as failure:
        reports.tell(number, BAD_JSON, failure.at, str(failure), line)
        return None
    return _row(value, at_line(number), line, number, reports)


def _row(value: Any, at: str, written: str, number: int, reports: Reports) -> Row | None:
    if not isinstance(value, dict):
        reports.tell(number, NOT_AN_OBJECT, at, "The row is not an object.", written)
        return None
    fields, is_changed = storable(written, value)
    if is_changed:
        reports.tell(number, REPAIRED_TEXT, at, REPAIRED)
    return Row(at, fields)


Sampler = Callable[[Text, Callable[[], Iterator[Row]]], Sample]


def _rows_part(text: Text, reports: Reports, rows: Callable[[], Iterator[Row]], sampler: Sampler) -> Part | None:
    """Return rows as a part; None, with an error, where there are none."""
    told = reports.told
    sample = sampler(text, rows)
    if reports.told > told and reports.findings.has_errors:
        for _ in rows():  # so that all that is wrong is listed, and not the first of it
            pass
    if not sample.count:
        if not reports.findings.has_errors:
            reports.tell(1, NO_ROWS, "", "The file contains no rows.")
        return None
    return Part(text.file.path, Form.ROWS, columns=sample.columns, sample=sample.rows, rows=rows)


def _size(row: Row) -> int:
    """Return about how many characters a row has; cheap, since it is asked for each."""
    return sum(len(value) if isinstance(value, str | list | dict) else 8 for value in row.fields.values())


def _lines_sample(text: Text, rows: Callable[[], Iterator[Row]]) -> Sample:
    sample, is_large = Sample(), text.file.size > _MOST_SAMPLED
    for row in islice(rows(), HALF if is_large else None):
        sample.add(row, _size(row))
    for row in _spread_lines(text) if is_large and sample.count == HALF else ():
        sample.add(row, _size(row))
    return sample


def _spread_lines(text: Text) -> Iterator[Row]:
    """Yield rows from places spread over a plain file; lines that are broken tell of themselves when they are read."""
    with text.file.open() as stream:
        if not stream.seekable() or text.encoding not in ("utf-8", "utf-8-sig"):
            return
        silent = Reports(text.file.path, Findings())
        for number in range(1, _SEEKS + 1):
            stream.seek(text.file.size * number // (_SEEKS + 1))
            stream.readline()  # the rest of a line
            for line in islice(stream, _LINES_EACH):
                row = _row_of(line.decode("utf-8"), 1, silent) if not line.isspace() else None
                if row is not None:
                    yield Row("", row.fields)


def _list_rows(text: Text, reports: Reports) -> Callable[[], Iterator[Row]]:
    def read(cursor: Cursor) -> Iterator[tuple[str, Any]]:
        holds_texts = False
        for number in cursor.entries():
            value = cursor.value()
            holds_texts = isinstance(value, str) if number == 0 else holds_texts
            yield f"[{number}]", {_TEXT: value} if holds_texts and isinstance(value, str) else value

    return _cursor_rows(text, reports, read)


def _list_sample(text: Text, rows: Callable[[], Iterator[Row]]) -> Sample:
    sample = Sample()
    for row in islice(rows(), None if text.file.size <= _MOST_SAMPLED else 2 * HALF):
        sample.add(row, _size(row))
    return sample


# ---- documents
@dataclass(slots=True)
class _Outline:
    """What a document holds: its values, and how many objects its lists have."""

    cursor: Cursor
    is_whole: bool
    lists: dict[str, Sample] = field(default_factory=dict)  # of objects, by path

    def value(self, path: str = "", depth: int = 0) -> Any:
        begins = self.cursor.peek()
        if begins == "{" and depth < DEEPEST:
            return self._object(path, depth)
        return self._list(path) if begins == "[" and depth else self.cursor.value()

    def _object(self, path: str, depth: int) -> JsonDict:
        found: JsonDict = {}
        for key in self.cursor.names():
            found[key] = self.value(f"{path}.{key}" if path else key, depth + 1)
            if not self.is_whole and not depth and len(found) == _MANY_KEYS and is_dict_of_rows(found):
                raise _IsRows(_header_of(found))
        return found

    def _list(self, path: str) -> list[Any]:
        kept: list[Any] = []
        sample, start = Sample(), self.cursor.position
        for number in self.cursor.entries():
            before = self.cursor.position
            entry = self.cursor.value()
            if self.is_whole or self.cursor.position - start <= _LONG:
                kept.append(entry)
            if isinstance(entry, dict):
                sample.add(Row(f"{path}[{number}]", entry), self.cursor.position - before)
        if sample.count:
            self.lists[path] = sample
        return kept if self.is_whole or self.cursor.position - start <= _LONG else []


def _document_part(text: Text, reports: Reports, budget: Budget) -> Part | None:
    with text.open() as stream:
        cursor = Cursor(stream)
        outline = _Outline(cursor, budget.takes(text.file.size))
        try:
            document = outline.value()
        except _IsRows as like:
            return _rows_part(text, reports, _keyed_rows(text, reports, like.header), _list_sample)
        if cursor.peek() == "{" or _is_named_lines(text):
            return _rows_part(text, reports, _values_rows(text, reports), _list_sample)
        cursor.check_end()
    if not isinstance(document, dict) or not document:
        reports.tell(1, NO_ROWS, "", "The file contains no rows.")
        return None
    return document_part(text.file.path, document, outline.lists, None if outline.is_whole else (text, reports))


def document_part(
    file: str, document: JsonDict, lists: Mapping[str, Sample], source: tuple[Text, Reports] | None = None
) -> Part:
    """Return a document as a part; `source` is where the lists of one are that is not held whole."""
    items = _held_items(document) if source is None else _streamed_items(*source)
    part = Part(file, Form.DOCUMENT, document=document, items=items)
    if isinstance(document.get("columns"), list) and isinstance(document.get("data"), list):
        return _with_table(part)
    table = _table_of(file, document)
    if table is not None:
        return table
    inner = list(_rows_by_key(document)) if source is None and not lists else []
    if len(inner) == 1:
        keyed = _keyed_part(file, inner[0])
        keyed.document = document
        return keyed
    if any(map(_says_what_it_is, inner)):
        listed = _with_lists(document)
        return document_part(file, listed, lists_of(listed))
    is_row = _is_conversation(document, lists) if lists else _says_what_it_is({"": document}, *_OF_A_ROW)
    texts = {name: value for name, value in document.items() if isinstance(value, str) and value.strip()}
    if is_row or (source is None and _says_what_it_is({"": texts}, (Holds.PROMPT,), (Holds.RESPONSE,))):
        return held_part(file, [Row("", document)])
    named = {path: rows for path, rows in lists.items() if path != "schema.fields"} or lists  # pandas' orient="table"
    name = max(named, key=lambda path: lists[path].count, default="")
    sample = lists.get(name, Sample())
    part.name, part.columns, part.sample = name, sample.columns, sample.rows
    part.lists, part.is_held = {path: rows.rows for path, rows in named.items()}, source is None
    part.rows = lambda: (Row(at, entry) for at, entry in part.items(name) if isinstance(entry, dict))
    return part


def _table_of(file: str, document: JsonDict) -> Part | None:
    """Return a document that is a table: by columns, or of rows or texts by key; None for any other."""
    columns = document if is_dict_of_columns(document) else dict(spread(document))
    if is_dict_of_columns(columns):
        return held_part(file, _transposed(columns))
    inner = [value for value in document.values() if isinstance(value, dict)]
    asks_each = 1 < len(inner) == len(document) and all(map(are_questions, inner))
    if asks_each or (are_models(document) and all(map(holds_texts, document.values()))):
        return _nested_part(file, document, "question" if asks_each else "case_id")
    if is_dict_of_rows(document) and not (are_models(document) and any(map(_holds_rows, document.values()))):
        return _keyed_part(file, document)
    texts, asks = list(document.values()), are_questions(document)
    are_said = asks or sum(map(has_words, texts)) > 1 or 2 * sum(map(is_choice, texts)) > len(texts) > 2
    are_lists = all(map(holds_words, texts)) and all(map(str.isdigit, document))
    is_row = _says_what_it_is({"": document}, *_OF_A_ROW)
    if are_lists or (are_said and all(isinstance(text, str) for text in texts) and not is_row):
        keyed = _keyed_part(file, {key: {"text" if asks else _TEXT: text} for key, text in document.items()}, "id")
        keyed.document = document
        return keyed
    return None


def _nested_part(file: str, document: JsonDict, about: str) -> Part:
    """Return objects of texts by case or question as rows; whose they are is asked unless they are of models."""
    whose, said = ("system", "response") if are_models(document) else ("split", "text")
    by_id = [(key, *entry) for key, inner in document.items() for entry in inner.items()]
    texts = ((key, asked, text if isinstance(text, dict) else {said: text}) for key, asked, text in by_id)
    part = held_part(file, [Row(f"{key}.{asked}", {whose: key, about: asked} | text) for key, asked, text in texts])
    part.list_column = whose if whose == "split" else ""
    return part


_OF_A_ROW = ((Holds.PROMPT, Holds.TURNS), (Holds.RESPONSE, Holds.REFERENCE, Holds.ANSWER))  # asks, and answers
_OF_ROWS = (Holds.PROMPT, Holds.TURNS, Holds.RESPONSE)


def _says_what_it_is(rows: JsonDict, *roles: Sequence[Holds]) -> bool:
    """Return whether rows have columns with strong names of each of several roles, of any of which one is enough."""
    columns = {name for row in rows.values() for name in row or ()}
    return all(any(is_strong(name, role) for name in columns for role in some) for some in roles or (_OF_ROWS,))


def _is_conversation(record: JsonDict, lists: Iterable[str]) -> bool:
    """Return whether a record holds the turns of one conversation, and of lists of objects (by path) no others but such
    as are in objects beside them."""
    named = {key: in_one_list(value) if is_strong(key, Holds.TURNS) else value for key, value in record.items()}
    turns = {key for key, value in named.items() if is_messages(value)}
    return bool(turns) and all(path in turns or "." in path for path in lists)


def _rows_by_key(value: JsonDict) -> Iterator[JsonDict]:
    """Yield the objects of like rows by key in a document, the innermost of several."""
    for child in value.values():
        if isinstance(child, dict):
            yield from (child,) if _holds_rows(child) else _rows_by_key(child)


def _with_lists(value: JsonDict) -> JsonDict:
    """Return a document with a list in the place of each object of like rows, in which a key is the id of its row."""
    return {key: _listed(child) if isinstance(child, dict) else child for key, child in value.items()}


def _listed(value: JsonDict) -> object:
    return [row.fields for row in _rows_of(value)] if _holds_rows(value) else _with_lists(value)


def _holds_rows(value: object) -> bool:
    """Return whether a value is an object of like rows by key, and of no such objects."""
    return isinstance(value, dict) and is_dict_of_rows(value) and not any(map(_holds_rows, value.values()))


def _keyed_part(file: str, rows: JsonDict, of_numbers: str = "") -> Part:
    """Return the rows of an object by key; numbers that count the rows have this header."""
    keyed = held_part(file, _rows_of(rows, of_numbers))
    keyed.remarks += [] if _header_of(rows) or of_numbers else [PartRemark("index-column", "")]
    return keyed


def _rows_of(value: JsonDict, of_numbers: str = "") -> list[Row]:
    header = _header_of(value) or of_numbers
    return [Row(key, _with_key(header, key, row)) for key, row in value.items() if row]


def _with_table(part: Part) -> Part:
    """Give a document of columns and data its rows."""
    part.form = Form.ROWS
    names = unique_names([str(name) for name in part.document["columns"]])
    part.name = "data"
    part.rows = lambda: (
        Row(at, dict(zip(names, entry, strict=False))) for at, entry in part.items("data") if isinstance(entry, list)
    )
    sample = Sample()
    for row in islice(part.rows(), 2 * HALF):
        sample.add(row, _size(row))
    part.columns, part.sample = tuple(names), sample.rows
    return part


def held_part(file: str, rows: list[Row]) -> Part:
    """Return rows that are held as a part."""
    sample = Sample()
    for row in rows:
        sample.add(row, _size(row))
    return Part(file, Form.ROWS, columns=sample.columns, sample=sample.rows, rows=lambda: iter(rows))


def is_dict_of_columns(document: JsonDict) -> bool:
    """Return whether an object has a column of cells under each key, as pandas and datasets write tables. Lists whose
    keys are numbers are not columns."""
    columns = list(document.values())
    if len(columns) < 2:
        return False
    if all(isinstance(column, list) and column for column in columns):
        return (
            not all(map(str.isdigit, document))
            and len({len(column) for column in columns}) == 1
            and not any(isinstance(cell, dict) for column in columns for cell in column[:1])
        )
    keys = [list(column) for column in columns if isinstance(column, dict)]
    return len(keys) == len(columns) and is_index("", keys[0]) and all(names == keys[0] for names in keys)


def _transposed(document: JsonDict) -> list[Row]:
    columns = [list(column.values()) if isinstance(column, dict) else column for column in document.values()]
    return [
        Row(f"[{number}]", dict(zip(document, cells, strict=True)))
        for number, cells in enumerate(zip(*columns, strict=True))
    ]


def _header_of(keys: Collection[str]) -> str:
    """Return the name of the column of the keys of rows: nothing where they only count, else id, or what is asked."""
    if is_index("", list(keys)):
        return ""
    return "question" if are_questions(keys) else "id"


def _with_key(header: str, key: str, row: JsonDict) -> JsonDict:
    """Return a row of a dict with its key, unless it says it itself; beside an id of its own it is a detail."""
    if not header or key in map(str, row.values()):
        return row
    has_id = any(is_strong(name, Holds.CASE) for name, value in row.items() if value not in (None, ""))
    name = "key" if has_id and header == "id" else header
    return row if row.get(name) else {name: key} | row | {name: key}


def _held_items(document: JsonDict) -> Callable[[str], Iterator[tuple[str, object]]]:
    def items(path: str) -> Iterator[tuple[str, object]]:
        found = _held(document, path)
        for number, entry in enumerate(found if isinstance(found, list) else ()):
            yield f"{path}[{number}]", entry

    return items


def _held(value: object, path: str) -> object:
    if not isinstance(value, dict):
        return None
    if path in value:
        return value[path]
    steps = ((key, path[len(key) + 1 :]) for key in value if path.startswith(f"{key}."))
    return next((found for key, rest in steps if (found := _held(value[key], rest)) is not None), None)


def _streamed_items(text: Text, reports: Reports) -> Callable[[str], Iterator[tuple[str, object]]]:
    def items(path: str) -> Iterator[tuple[str, object]]:
        with text.open() as stream:
            cursor = Cursor(stream)
            try:
                for number in cursor.entries() if _reaches(cursor, path) else ():
                    yield f"{path}[{number}]", cursor.value()
            except BadJson as failure:
                reports.tell(reports.told + 1, BAD_JSON, failure.at, str(failure))

    return items


def _reaches(cursor: Cursor, path: str) -> bool:
    """Go to the list at a path below the object that begins here; return whether there is one."""
    for key in cursor.names():
        if key == path:
            return cursor.peek() == "["
        if path.startswith(f"{key}.") and cursor.peek() == "{":
            if _reaches(cursor, path[len(key) + 1 :]):
                return True
        else:
            cursor.skip()
    return False


def _keyed_rows(text: Text, reports: Reports, header: str) -> Callable[[], Iterator[Row]]:
    """Return the rows of a large dict of rows."""

    def read(cursor: Cursor) -> Iterator[tuple[str, Any]]:
        for key in cursor.names():
            value = cursor.value()
            yield key, _with_key(header, key, value) if isinstance(value, dict) else value

    return _cursor_rows(text, reports, read)


def _values_rows(text: Text, reports: Reports) -> Callable[[], Iterator[Row]]:
    """Return the rows of objects that follow each other over several lines."""

    def read(cursor: Cursor) -> Iterator[tuple[str, Any]]:
        number = 0
        while cursor.peek():
            yield f"[{number}]", cursor.value()
            number += 1

    return _cursor_rows(text, reports, read)


def _cursor_rows(
    text: Text, reports: Reports, read: Callable[[Cursor], Iterator[tuple[str, Any]]]
) -> Callable[[], Iterator[Row]]:
    def rows() -> Iterator[Row]:
        with text.open() as stream:
            cursor = Cursor(stream)
            number = 0
            try:
                for number, (at, value) in enumerate(read(cursor), 1):
                    row = _row(value, at, "", number, reports)
                    if cursor.is_changed:
                        reports.tell(number, REPAIRED_TEXT, at, REPAIRED)
                    if row is not None:
                        yield row
                cursor.check_end()
            except BadJson as failure:
                reports.tell(number + 1, BAD_JSON, failure.at, str(failure))

    return rows
