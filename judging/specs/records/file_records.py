"""One file that is read for itself, of labels or of items for a queue, and what is said of such files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from evalsite.base.json_types import JsonDict
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, Parsed, Problem, Severity
from judging.specs.files.source_files import HeldFiles, source_of
from judging.specs.pictures.picture_formats import PictureFile
from judging.specs.pictures.picture_rows import shelf_of
from judging.specs.records.collected import Collected
from judging.specs.records.collector import Collector, CollectorOptions
from judging.specs.records.files.containers import Expansion
from judging.specs.records.files.part_reading import read_parts
from judging.specs.records.names import Holds
from judging.specs.records.neutral import CaseInput, Place, ResponseRow
from judging.specs.records.parts import Part
from judging.specs.records.recognition import RecordOptions, read_recognised
from judging.specs.records.shapes import ColumnUse, Taken
from judging.specs.records.warnings import places, sentence

T = TypeVar("T")

MOST_PROBLEMS = 200
UNKNOWN_COLUMNS = "unknown-columns"  # code of the question which columns hold responses or labels
_UNSAID = frozenset(  # warnings of imports that mean nothing where no benchmark is made
    (
        *("ids-made", "no-reference", "null-response", "scale-from-use", "text-only-items"),
        *("system-from-file", "system-from-folder", "system-from-name", "systems-from-header"),
    )
)


def remark(file: str, location: str, message: str, *, offending: str = "", hint: str = "", code: str = "") -> Problem:
    """Return a warning at one location of a file."""
    return Problem(Severity.WARNING, file, location, message, offending[:120], hint, code)


def problem(file: str, location: str, message: str, **more: str) -> Problem:
    """Return an error at one location of a file; `more` are `offending`, `hint`, `page_hint` and `code`."""
    return Problem(Severity.ERROR, file, location, message, **more | {"offending": more.get("offending", "")[:120]})


class RowCollector(Collector):
    """Collects records, and which responses came from one row, as the two of a pair do."""

    def __init__(self, bundle: Bundle, findings: Findings, options: CollectorOptions) -> None:
        super().__init__(bundle, findings, options)
        self.rows: dict[Place, list[int]] = {}
        self.details: dict[Place, JsonDict] = {}

    def case(self, place: Place, row: CaseInput) -> int | None:
        """Take a case as `Collector.case` does, and keep the details of its row."""
        self.details[place] = dict(row.metadata)
        return super().case(place, row)

    def response(self, place: Place, case: int, row: ResponseRow) -> int | None:
        """Take a response as `Collector.response` does, and keep which row it came from."""
        number = super().response(place, case, row)
        if number is not None:
            self.rows.setdefault(place, []).append(number)
        return number


@dataclass(frozen=True, slots=True)
class ParsedFile(Parsed[T]):
    """What was read from a file, with the mapping of its columns: of a refused one too, so that it can be changed."""

    columns: tuple[ColumnUse, ...] = ()


@dataclass(slots=True)
class FileRecords:
    """What a file was taken for, and what it holds; nothing where there are errors."""

    name: str
    options: RecordOptions
    taken: Sequence[Taken]
    collector: RowCollector
    collected: Collected | None
    problems: list[Problem]
    parts: Sequence[Part]
    pictures: Mapping[str, PictureFile]  # that rows name, by hash

    @property
    def columns(self) -> tuple[ColumnUse, ...]:
        """The mapping that is used, of all tables of the file."""
        return tuple(use for taken in self.taken for use in taken.columns)

    def column_of(self, role: Holds) -> str:
        """Return the first column with a role; empty where there is none."""
        return next((use.name for use in self.columns if use.role == role), "")

    def is_asking(self) -> bool:
        """Return whether nothing says which columns hold responses or labels."""
        return any(row.code == UNKNOWN_COLUMNS for row in self.problems)


def read_file(data: bytes, name: str, options: RecordOptions) -> FileRecords:
    """Return the records of a file, with warnings by kind."""
    findings = Findings()
    expansion = Expansion(findings)
    expansion.add(source_of(name, data))
    bundle = Bundle(HeldFiles(list(expansion.files.values())))
    shelf_of(bundle).is_cut = True  # what an archive lacks, or a table alone names, is left out and said
    parts = read_parts([source_of(name, data)], options.encoding, Findings() if findings.has_errors else findings)
    collector = RowCollector(bundle, findings, options.of_collector())
    is_read = not findings.has_errors
    reading = read_recognised(parts if is_read else (), bundle, options, findings, collector=collector)
    problems = list(findings.as_tuple())
    if reading.collected is not None:
        problems += _remarks(name, reading.collected)
    pictures = shelf_of(bundle).files
    return FileRecords(name, options, reading.taken, collector, reading.collected, problems, parts, pictures)


def _remarks(name: str, collected: Collected) -> list[Problem]:
    groups = [group for group in collected.warnings() if group.kind not in _UNSAID]
    remarks = [remark(name, "", sentence(group), hint=places(group), code=group.kind) for group in groups]
    repeated = [count for what, _, count in collected.left_out() if what == "label"]
    if repeated:
        text = f"{sum(repeated):,} labels stand there twice and count once."
        remarks.append(remark(name, "", text, code="repeated-label"))
    return remarks


def columns_in(data: bytes, name: str, options: RecordOptions) -> list[str]:
    """Return all columns of a file."""
    parts = read_parts([source_of(name, data)], options.encoding, Findings())
    return list(dict.fromkeys(column for part in parts for column in part.columns))


def said_of_columns(options: RecordOptions, columns: Mapping[str, str]) -> RecordOptions:
    """Return options in which further columns have a role, where the person said nothing of them."""
    return replace(options, columns={**columns, **options.columns})
