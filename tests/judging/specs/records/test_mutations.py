"""No file of any shape with shuffled columns, other names, doubled rows or cut lines is read wrongly in silence.

Each folder of the corpus is changed by seeded mutations, one at a time. What is read then is in the file as it was, or
the file is refused. Figures that are made of several rows, such as a preference of two games, may change with them.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook

from judging.specs.files.bundles import Bundle, SourceFile, source_of
from judging.specs.records.parts import RecordOptions
from judging.specs.records.recognition import Reading, read_records
from tests.judging.specs.records import corpus

Document = dict[str, Any]
Facts = set[tuple[object, ...]]
TABLES = (".csv", ".tsv")
NAMES_SYSTEMS = (*(f"system-from-{place}" for place in ("file", "sheet", "folder", "name")), "systems-from-header")
UNKNOWN = "zq7"  # a name that says nothing
ROUNDS = 2  # of each mutation of each file


def facts(reading: Reading) -> Facts:
    """Return who said what to what. Systems, judges and raters that a warning names are not said to be in the file."""
    assert reading.collected is not None
    kinds = {group.kind for group in reading.collected.warnings()}
    document = reading.collected.document()
    made = {detail for kind, _, _, detail in reading.collected.warning_rows() if kind in NAMES_SYSTEMS}
    asked = {row["id"]: json.dumps(row.get("prompt", row.get("messages"))) for row in document["cases"]}
    texts = {_response(row): json.dumps([row["text"], row.get("messages")]) for row in document["responses"]}
    found: Facts = {("prompt", prompt) for prompt in asked.values()}
    found |= {("reference", asked[row["id"]], text) for row in document["cases"] for text in row["references"]}
    found |= {("system", name) for name in document["systems"] if name not in made}
    for row in document["responses"]:
        found.add(("response", asked.get(row["case"], row["case"]), texts[_response(row)]))
    for part, by in (("scores", "grader"), ("verdicts", "judge")):
        for row in document[part]:
            said = (part, texts.get(_response(row)), row["value"])
            found |= {(*said, row[by])} if by == "grader" else {said, ("by", row[by])}
    found -= {fact for fact in found if fact[0] == "by"} if "judge-from-file" in kinds else set()
    found -= {fact for fact in found if fact[0] == "reference"} if "reference-as-json" in kinds else set()
    for row in document["labels"]:
        about = texts.get(_response(row)) if "system" in row else asked.get(row["case"], row["case"])
        found |= {("label", about, row["criterion"], label) for label in row["label"].split(", ")}
        found |= {("rater", row["rater"])} if row["rater"] and "rater-from-file" not in kinds else set()
    for row in document["preferences"]:
        by = "" if "judge-from-file" in kinds else row["by"]
        found |= {("preference", asked.get(row["case"], row["case"])), ("by", by)} - {("by", "")}
    return found


def _response(row: Document) -> tuple[object, ...]:
    return row["case"], row["system"], row["attempt"]


def read(files: list[SourceFile], folder: Path) -> Reading:
    bundle = Bundle(
        {file.path: (folder / "files" / file.path).read_bytes() for file in corpus.sources(folder / "files")}
    )
    return read_records(files, bundle, RecordOptions())


# Mutations: what a file's text becomes; None where it has nothing to change
def _rows(text: str) -> list[Any] | None:
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        return [json.loads(line) for line in lines]
    except ValueError:
        return None


def _written(rows: list[Any]) -> str:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n"


def _separator(text: str) -> str:
    return max(",;\t|", key=text.splitlines()[0].count)


def _table(text: str) -> list[list[str]]:
    lines = text.splitlines(keepends=True)
    lines = lines[1:] if lines[0].startswith("sep=") else lines
    return list(csv.reader(lines, delimiter=_separator(text)))


def _as_table(rows: list[list[str]], text: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=_separator(text)).writerows(rows)
    return out.getvalue()


def shuffled(text: str, ending: str, dice: random.Random) -> str | None:
    """Return a file with its columns, or the keys of all its objects, in another order."""
    if ending in TABLES:
        rows = _table(text)
        order = dice.sample(range(len(rows[0])), len(rows[0]))
        if any(len(row) != len(order) for row in rows):
            return None
        return _as_table([[row[place] for place in order] for row in rows], text)
    rows_ = _rows(text)
    if rows_ is not None:
        return _written([_turned(row, dice) for row in rows_])
    return json.dumps(_turned(json.loads(text), dice), ensure_ascii=False) if ending == ".json" else None


def _turned(value: Any, dice: random.Random) -> Any:
    if isinstance(value, list):
        return [_turned(entry, dice) for entry in value]
    if not isinstance(value, dict):
        return value
    return {key: _turned(value[key], dice) for key in dice.sample(sorted(value), len(value))}


def renamed(text: str, ending: str, dice: random.Random) -> str | None:
    """Return a file in which one column or key has a name that says nothing."""
    if ending in TABLES:
        rows = _table(text)
        rows[0][dice.randrange(len(rows[0]))] = UNKNOWN
        return _as_table(rows, text)
    data = _rows(text) or (json.loads(text) if ending == ".json" else None)
    if data is None:
        return None
    keys = sorted(set(_keys(data)))
    changed = _with_name(data, dice.choice(keys))
    return _written(changed) if _rows(text) is not None else json.dumps(changed, ensure_ascii=False)


def _keys(value: Any) -> Iterator[str]:
    for entry in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(entry)
    yield from value if isinstance(value, dict) else ()


def _with_name(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return [_with_name(entry, name) for entry in value]
    if not isinstance(value, dict):
        return value
    return {(UNKNOWN if key == name else key): _with_name(entry, name) for key, entry in value.items()}


def doubled(text: str, ending: str, dice: random.Random) -> str | None:
    """Return a file in which one row stands twice."""
    if ending in TABLES:
        rows = _table(text)
        place = dice.randrange(1, len(rows)) if len(rows) > 1 else 0
        return _as_table([*rows[: place + 1], rows[place], *rows[place + 1 :]], text) if place else None
    data = _rows(text) if ending != ".json" else json.loads(text)
    if not isinstance(data, list) or not data:
        return None
    place = dice.randrange(len(data))
    data.insert(place, data[place])
    return _written(data) if ending != ".json" else json.dumps(data, ensure_ascii=False)


def cut(text: str, ending: str, dice: random.Random) -> str | None:
    """Return a file that ends early, within a row; that the last text of a row is cut off, or a text of YAML, nothing
    can tell."""
    if ending in TABLES:
        separators = [place for place, letter in enumerate(text) if letter == _separator(text)]
        return text[: dice.choice(separators)]
    return text[: dice.randrange(len(text) // 3, len(text))] if ending not in (".yaml", ".yml") else None


def without_line(text: str, ending: str, dice: random.Random) -> str | None:
    """Return a file that lacks a line, which may be part of a row."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 3:
        return None
    place = dice.randrange(1, len(lines))
    return "".join(lines[:place] + lines[place + 1 :])


MUTATIONS: tuple[Callable[[str, str, random.Random], str | None], ...] = (
    *(shuffled, renamed, doubled, cut, without_line),
)


def _decoded(data: bytes, ending: str) -> tuple[str, str]:
    """Return a file as text, and the ending that says how it is written: a sheet as CSV, Parquet as JSON Lines.

    Raises:
        ValueError: it is no text in UTF-8, broken as it is, or a workbook of several sheets.
    """
    if ending == ".xlsx":
        (sheet,) = load_workbook(io.BytesIO(data)).worksheets
        rows = [["" if cell is None else str(cell) for cell in row] for row in sheet.iter_rows(values_only=True)]
        return _as_table(rows, ","), ".csv"
    if ending == ".parquet":
        return _written(pytest.importorskip("pyarrow.parquet").read_table(io.BytesIO(data)).to_pylist()), ".jsonl"
    text = data.decode("utf-8-sig")
    json.loads(text if ending == ".json" else "0")
    return text, ending


def _encoded(text: str, ending: str) -> bytes | None:
    """Return what `_decoded` gave as a file again; None where a mutation left no table."""
    out = io.BytesIO()
    if ending == ".xlsx":
        book = Workbook(write_only=True)
        sheet = book.create_sheet()
        for row in csv.reader(text.splitlines(keepends=True)):
            sheet.append(row)
        book.save(out)
    elif ending == ".parquet":
        rows = _rows(text)
        if not rows:
            return None
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), out)
    return out.getvalue() or text.encode()


def mutations(folder: Path) -> Iterator[tuple[str, list[SourceFile]]]:
    """Yield what was done to a folder, and its files with one of them changed."""
    files = corpus.sources(folder / "files")
    for place, file in enumerate(files):
        ending = Path(file.path).suffix
        try:
            text, written = _decoded((folder / "files" / file.path).read_bytes(), ending)
        except ValueError:
            continue
        for mutation in MUTATIONS:
            for number in range(ROUNDS):
                dice = random.Random(f"{folder.name} {file.path} {mutation.__name__} {number}")
                changed = mutation(text, written, dice) if text.strip() else None
                data = _encoded(changed, ending) if changed is not None and changed != text else None
                if data is not None:
                    others = [*files[:place], source_of(file.path, data), *files[place + 1 :]]
                    yield f"{mutation.__name__} {number} {file.path}", others


@pytest.mark.parametrize("folder", corpus.folders(), ids=lambda folder: folder.name)
def test_a_changed_file_is_read_rightly_or_refused(folder: Path) -> None:
    original = read(corpus.sources(folder / "files"), folder)
    known = facts(original) if original.collected is not None else None

    for what, files in mutations(folder):
        reading = read(files, folder)
        if known is not None and not is_refused(reading) and not says_more(reading, original):
            new = {fact for fact in facts(reading) if not is_seen(fact)} - known
            assert not {fact for fact in new if not is_renamed(fact, known)}, what


def _plain_tables(folder: Path) -> dict[str, list[list[str]]]:
    """Return the rows of the files of a folder that are tables in UTF-8."""
    found = {}
    for path in sorted((folder / "files").rglob("*")):
        if path.suffix in TABLES:
            with suppress(UnicodeDecodeError):
                found[path.relative_to(folder / "files").as_posix()] = _table(path.read_bytes().decode("utf-8-sig"))
    return found


@pytest.mark.parametrize(
    "folder", [folder for folder in corpus.folders() if _plain_tables(folder)], ids=lambda it: it.name
)
def test_a_table_is_read_in_a_workbook_as_in_csv(folder: Path) -> None:
    books = {path: _encoded(_as_table(rows, ","), ".xlsx") or b"" for path, rows in _plain_tables(folder).items()}
    files = [
        source_of(str(Path(file.path).with_suffix(".xlsx")), books[file.path]) if file.path in books else file
        for file in corpus.sources(folder / "files")
    ]

    table, workbook = read(corpus.sources(folder / "files"), folder), read(files, folder)

    assert [taken.shape for taken in workbook.taken] == [taken.shape for taken in table.taken]
    assert (workbook.collected and facts(workbook)) == (table.collected and facts(table))


def is_refused(reading: Reading) -> bool:
    """Return whether an upload into a new benchmark is refused, as responses to cases that no file describes are."""
    collected = reading.collected
    if collected is None or collected.unknown_responses:
        return True
    return bool(collected.unknown_cases and collected.counts["responses"])


def says_more(reading: Reading, original: Reading) -> bool:
    """Return whether a warning says that the end of a file, or a field that its tool always writes, is missing, or that
    labels are of texts where they were of responses."""
    assert reading.collected is not None
    assert original.collected is not None
    kinds, known = ({group.kind for group in read.warnings()} for read in (reading.collected, original.collected))
    return not {"file-cut", "fields-missing", "text-only-items"}.isdisjoint(kinds - known)


def is_seen(fact: tuple[object, ...]) -> bool:
    """Return whether a preview shows by itself that a name is unknown: as a grader, or in JSON that is kept as text. A
    label's criterion is no such thing: it would make a person's judgment of what is none."""
    return fact[0] != "label" and any(UNKNOWN in str(word) for word in fact)


def is_renamed(fact: tuple[object, ...], known: Facts) -> bool:
    """Return whether a label that was given before stands under the new name of its column, which a form may choose."""
    return (
        fact[0] == "label"
        and fact[2] == UNKNOWN
        and any(other[:2] == fact[:2] and other[3:] == fact[3:] for other in known if other[0] == "label")
    )


def test_most_folders_are_changed() -> None:
    counts = [sum(1 for _ in mutations(folder)) for folder in corpus.folders()]

    assert (sum(count > 3 for count in counts) > 60, sum(counts) > 500) == (True, True), counts
