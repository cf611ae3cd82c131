"""What is recognised: a part of an upload, which is a table, a list of records, a document or an archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from evalsite.base.types import JsonDict
from judging.specs.files.bundles import SourceFile
from judging.specs.records.neutral import Place
from judging.specs.spreadsheets import column_letters

_ENDINGS = (
    *(".gz", ".zst", ".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".txt", ".xlsx", ".xlsm", ".eval", ".parquet"),
    *(".arrow", ".feather", ".yaml", ".yml", ".binpb", ".otlp", ".pb", ".table"),
)
MOST_COLUMNS = 2_000


class Form(StrEnum):
    """How the rows of a part are written."""

    CSV = "csv"
    SHEET = "sheet"  # of a workbook
    ROWS = "rows"  # JSON Lines, or a JSON list of objects
    DOCUMENT = "document"  # a JSON object, or a YAML mapping
    ARCHIVE = "archive"  # a ZIP that is one file of a tool, such as Inspect's .eval
    COLUMNS = "columns"  # Parquet, Arrow


class Row(NamedTuple):
    """A row of a table or a record of a list. Cells of CSV and workbooks are texts; JSON keeps its types."""

    at: str  # "line 3", "Sheet1!3", "samples[2]"
    fields: JsonDict


@dataclass(frozen=True, slots=True)
class PartRemark:
    """What reading a part did that the person should know: a warning of the import, if the part is taken."""

    kind: str
    at: str
    detail: str = ""


@dataclass(slots=True)
class Part:
    """A table, list of records, document or archive. `rows` and `items` may be gone through more than once."""

    file: str  # path in the upload
    form: Form
    name: str = ""  # of the sheet; empty where the part is the file
    columns: tuple[str, ...] = ()  # in the order of the file; of records: the keys of the sample's
    sample: tuple[Row, ...] = ()  # up to 200 rows, spread over the file
    rows: Callable[[], Iterator[Row]] = lambda: iter(())
    document: JsonDict = field(default_factory=dict)  # of a document; long lists of a large one are left empty
    items: Callable[[str], Iterator[tuple[str, object]]] = lambda path: iter(())  # (place, entry) of a list, by path
    lists: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)  # sampled rows of a document's lists, by path
    list_column: str = ""  # of a table of several lists: the column with the name of each row's list
    is_held: bool = True  # whether a document is in memory; else each list is read by going through the file
    members: Mapping[str, SourceFile] = field(default_factory=dict)  # of an archive
    remarks: list[PartRemark] = field(default_factory=list)  # complete once the rows were gone through
    column_numbers: Mapping[str, int] = field(default_factory=dict)  # from 1 in the file, of a table

    @property
    def is_records(self) -> bool:
        """Whether its rows keep their types, as JSON, Parquet and Arrow do."""
        return self.form in (Form.ROWS, Form.COLUMNS)

    @property
    def is_cells(self) -> bool:
        """Whether its rows are cells, which are texts, and its columns stand in an order."""
        return self.form in (Form.CSV, Form.SHEET)

    def place(self, at: str = "") -> Place:
        """Return a place in this part."""
        return Place(self.file, at or self.name)

    def cell(self, place: Place, column: str) -> Place:
        """Return where the value of a row in a column stands: `Sheet1!B3`, `line 3, column 2`, or `line 3, label`."""
        number = self.column_numbers.get(column)
        if number is None:
            return Place(place.file, f"{place.at}, {column}")
        if self.form is not Form.SHEET:
            return Place(place.file, f"{place.at}, column {number}")
        sheet, _, row = place.at.rpartition("!")
        return Place(place.file, f"{sheet}!{column_letters(number)}{row}")

    def placed(self) -> Iterator[tuple[Place, JsonDict]]:
        """Yield the fields of each row with its place."""
        return ((self.place(row.at), row.fields) for row in self.rows())

    def keys_of_all(self) -> frozenset[str]:
        """Return the keys that every sampled row has."""
        rows = [frozenset(row.fields) for row in self.sample]
        return frozenset.intersection(*rows) if rows else frozenset()

    def keys_of_any(self) -> frozenset[str]:
        """Return the keys that any sampled row has."""
        return frozenset().union(*(row.fields for row in self.sample)) | frozenset(self.columns)

    def has(self, *names: str) -> bool:
        """Return whether most rows have all of these keys."""
        rows = [row for row in self.sample if all(name in row.fields for name in names)]
        return bool(rows) and len(rows) * 2 > len(self.sample)

    def values(self, name: str) -> list[object]:
        """Return what the sampled rows have under a name."""
        return [row.fields[name] for row in self.sample if name in row.fields]

    @property
    def stem(self) -> str:
        """The file's name without folders and endings, for systems, judges and raters that nothing else names."""
        name = self.file.rpartition("/")[2].lstrip(".")
        for ending in _ENDINGS:
            name = name.removesuffix(ending)
        return name

    @property
    def folder(self) -> str:
        """The folders of the file, empty at the top."""
        return self.file.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What the person said beside the files."""

    kind: str = ""  # of a shape, as said by --kind; empty: recognised
    columns: Mapping[str, str] = field(default_factory=dict)  # column -> role, as said by --map or in menus
    meanings: Mapping[str, str] = field(default_factory=dict)  # "A", "B", "tie" -> the value that says so
    system: str = ""  # of responses that name none
    encoding: str = ""
    renames: Mapping[str, str] = field(default_factory=dict)  # name of a system, judge or rater -> the one to be taken
    leave_out_bad_rows: bool = False
    step: str = ""  # of traces: the name of the spans to be taken; empty: each trace as a whole


@dataclass(slots=True)
class UploadParts:
    """All that an upload holds, and what the person said of it."""

    parts: list[Part]
    options: RecordOptions
    mappings: dict[int, tuple[Part, object]] = field(default_factory=dict)  # of columns, by id() of the part beside

    def alike(self, part: Part) -> list[Part]:
        """Return the other sheets and files with the columns of a part."""
        return [other for other in self.parts if other.columns == part.columns and other is not part]

    def beside(self, part: Part) -> list[Part]:
        """Return the parts of files in the same folder."""
        return [other for other in self.parts if other.folder == part.folder and other is not part]
