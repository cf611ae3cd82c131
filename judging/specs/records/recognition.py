"""Reads an upload: each part is recognised, read in the order of its stage, and collected."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import BinaryIO, TypeVar

from evalsite.base.types import JsonDict
from judging.specs.files.bundles import REPORT_EVERY, Bundle, ProgressCallback, SourceFile, no_progress
from judging.specs.files.findings import Findings, error_rule, shorten
from judging.specs.records.api_replies import are_replies, asks_beside, replies_apart
from judging.specs.records.collected import Collected
from judging.specs.records.collector import Collector
from judging.specs.records.column_questions import is_unknown
from judging.specs.records.column_roles import resolve
from judging.specs.records.columns import columns_of
from judging.specs.records.document_tables import (
    is_of_viewer,
    objects_beside,
    tables_of,
    viewed_rows,
    with_printed_values,
    with_turns_apart,
)
from judging.specs.records.files.part_reading import read_parts
from judging.specs.records.names import Holds, is_id
from judging.specs.records.parts import Form, Part, RecordOptions, Row, UploadParts
from judging.specs.records.shapes import COMPANION, Shape, Taken, best
from judging.specs.records.tables import TABLE
from judging.specs.records.tools import ALL

T = TypeVar("T")

MOST_LISTS = 50  # of a document that is not held, each of which is found by going through the file
MANY_LISTS = error_rule("many-lists", "Bring its rows as JSON Lines, each with the name of its list.")
UNKNOWN_COLUMN = error_rule("unknown-column", "Write it as the header of the file does.")


@dataclass(slots=True)
class Reading:
    """What the files are taken for, and what they hold; nothing where there are errors."""

    findings: Findings
    taken: list[Taken] = field(default_factory=list)
    collected: Collected | None = None


def read_records(files: Sequence[SourceFile], bundle: Bundle, options: RecordOptions) -> Reading:
    """Return what files hold as tables, records and logs. `bundle` has the images that rows name."""
    findings = Findings()
    return read_recognised(read_parts(files, options.encoding, findings), bundle, options, findings)


def read_recognised(
    parts: Sequence[Part],
    bundle: Bundle,
    options: RecordOptions,
    findings: Findings,
    report_progress: ProgressCallback = no_progress,
    collector: Collector | None = None,
) -> Reading:
    """Return what the parts of an upload hold; what is wrong with them goes to the findings. How many rows there are is
    not known, so that progress has no total. The records go to `collector` where one is given."""
    reading = Reading(findings)
    upload = UploadParts(list(parts), options)
    upload.parts, unread = _with_lists_apart(upload, findings)
    for part in upload.parts:
        shape = _shape_of(part, upload, findings)
        if shape is not None:
            columns = shape.columns(part, upload) if shape.columns is not None else []
            reading.taken.append(Taken(part, shape, columns))
    _refuse_unknown_columns(upload, findings)
    if findings.has_errors:
        return _with_asked(reading)
    collector = collector or Collector(bundle, findings, options)
    _name_unread(unread, reading.taken, collector)
    counter = _RowCounter(report_progress)
    for taken in sorted(reading.taken, key=lambda taken: taken.stage):
        if taken.stage != COMPANION:
            if taken.shape is not TABLE and not taken.shape.has_equal_rows:
                _pass_over_repeats(taken.part, collector)
            counter.count(taken.part)
            _name_missing(taken, collector)
            taken.shape.reads(taken.part, collector, upload)
        for remark in taken.part.remarks:
            collector.warn(remark.kind, taken.part.place(remark.at), remark.detail)
    _name_lone_companions(reading.taken, collector)
    reading.collected = _collected(reading.taken, collector, findings)
    return _with_asked(reading)


def _with_asked(reading: Reading) -> Reading:
    """Return what was read, with the columns marked that questions are about."""
    asked = {(problem.file, problem.place, name) for problem in reading.findings.listed for name in problem.columns}
    for taken in reading.taken if asked else ():
        part = taken.part
        taken.columns = [replace(use, is_asked=(part.file, part.name, use.name) in asked) for use in taken.columns]
    return reading


def _with_lists_apart(upload: UploadParts, findings: Findings) -> tuple[list[Part], list[Part]]:
    """Return the parts of an upload with each table of a document as a part of its own, and such of which nothing says
    what they hold beside others that say it."""
    parts: list[Part] = []
    unread: list[Part] = []
    for part in map(_as_meant, upload.parts):
        if _sums_up(part, upload):
            unread.append(part)
            continue
        inner = None if _is_told(part, upload) else _tools_rows_in(part)
        if inner or len(part.lists) < 2 or upload.options.kind not in ("", TABLE.kind) or is_of_a_tool(part):
            parts.append(inner or part)
            continue
        if not part.is_held and len(part.lists) > MOST_LISTS:
            findings.add(MANY_LISTS, part.file, "", f"The document is large and has {len(part.lists):,} lists.")
            continue
        tables = tables_of(part)
        known = [table for table in tables if not is_unknown(resolve(table, upload))]
        parts += known or (tables if len(tables) == 1 else [part])
        unread += [table for table in tables if table not in parts and table.name != parts[-1].name]
    return parts, unread


def _as_meant(part: Part) -> Part:
    """Return the rows that the dataset viewer replied, or replies of APIs apart from what stands beside them."""
    if is_of_viewer(part):
        return viewed_rows(part)
    if part.is_records and not is_of_a_tool(part):
        part = with_turns_apart(part)
    return replies_apart(part) if part.is_records and are_replies(part) and asks_beside(part) else part


def _sums_up(part: Part, upload: UploadParts) -> bool:
    """Return whether a sheet has the figures of a workbook whose other sheets have what they were computed from."""
    if part.form is not Form.SHEET or upload.options.kind or not resolve(part, upload).is_leaderboard:
        return False
    sheets = [other for other in upload.parts if other.file == part.file and other is not part]
    return any(not is_unknown(resolve(other, upload)) for other in sheets)


def _tools_rows_in(part: Part) -> Part | None:
    """Return the rows of a tool that another program wrote anew: as the one list of a document, or as a table whose
    cells print lists and objects; None where these are not of a tool either."""
    if part.is_cells:
        inner = [rows for rows in [with_printed_values(part)] if rows is not part]
    else:
        inner = tables_of(part) if len(part.lists) == 1 and not is_of_a_tool(part) else []
    return next((rows for rows in inner if is_of_a_tool(rows)), None)


def _pass_over_repeats(part: Part, collector: Collector) -> None:
    """Have the rows of a tool's file that were written twice, ids and all, read once; each is named once, too."""
    all_rows = part.rows
    told: set[str] = set()

    def rows() -> Iterator[Row]:
        seen: set[int] = set()
        for row in all_rows():
            if (digest := _digest(row.fields)) not in seen:
                seen.add(digest)
                yield row
            elif row.at not in told:
                told.add(row.at)
                collector.leave_out("row", "an earlier row is the same", part.place(row.at))

    if any(map(is_id, part.columns)):
        part.rows = rows


def _digest(fields: JsonDict) -> int:
    """Return a number that is equal for equal rows; cheap, since it is asked for each."""
    try:
        return hash(marshal.dumps(fields, 2))  # of version 2, which writes equal texts equally
    except ValueError:  # cells of a workbook with a class of their own
        return hash(str(fields))


def _name_unread(unread: Sequence[Part], taken: Sequence[Taken], collector: Collector) -> None:
    """Name the lists of documents, and the objects by key beside them, that are not read."""
    for part in unread:
        is_sheet = part.form is Form.SHEET
        why = "it has figures of systems" if is_sheet else "nothing says what its entries are"
        collector.leave_out("sheet" if is_sheet else "list", f"{part.name}: {why}", part.place())
    documents = {row.part.file: row.part for row in taken if row.shape is TABLE and row.part.name}
    for part in documents.values():
        for path in objects_beside(part.document):
            collector.leave_out("list", f"{path}: objects by key beside a list are not read", part.place())


def _name_missing(taken: Taken, collector: Collector) -> None:
    """Warn where a file of a tool lacks a key that it always has, and where a table lacks one key alone of a tool's."""
    near = [taken.shape] if taken.shape is not TABLE else [shape for shape in ALL if len(shape.keys) > 2]
    for shape in near:
        missing = shape.lacks(taken.part)
        if missing and (shape is taken.shape or len(missing) == 1):
            without = ", ".join(missing).replace("|", " or ")
            collector.warn_once("fields-missing", taken.part.place(), f"{shape.label}, without {without}")


def _name_lone_companions(taken: Sequence[Taken], collector: Collector) -> None:
    """Name companions whose tool has no file of its own in the upload, beside which they would be read."""
    tools = {row.shape.tool for row in taken if row.stage != COMPANION}
    for row in taken:
        if row.stage == COMPANION and row.shape.tool not in tools:
            why = f"{row.shape.label}: it belongs to {row.shape.belongs_to}, which the upload does not have"
            collector.leave_out("file", why, row.part.place())


def _collected(taken: Sequence[Taken], collector: Collector, findings: Findings) -> Collected | None:
    """Return what was collected; None where there are errors. Files of which nothing is stored without those that they
    belong to are one."""
    if findings.has_errors:
        return None
    collected = Collected(collector)
    for row in () if any(collected.counts.values()) else taken:
        if row.shape.belongs_to:
            message = f"Alone it stores nothing: {row.shape.label}."
            hint = f"Bring it with {row.shape.belongs_to}."
            findings.file = row.part.file
            findings.error(row.part.name, "companion-alone", message, hint=hint)
    return None if findings.has_errors else collected


@dataclass(slots=True)
class _RowCounter:
    """Tells before every fiftieth row, entry or file of an archive how many were gone through."""

    report_progress: ProgressCallback
    done: int = 0

    def count(self, part: Part) -> None:
        """Have what goes through a part counted."""
        rows, items, members = part.rows, part.items, part.members
        if part.form is not Form.DOCUMENT:  # the rows of a document are made of its items
            part.rows = lambda: self._counted(rows())
        part.items = lambda path: self._counted(items(path))
        part.members = {path: replace(file, open=partial(self._opened, file)) for path, file in members.items()}

    def _counted(self, rows: Iterator[T]) -> Iterator[T]:
        for row in rows:
            if self.done % REPORT_EVERY == 0:
                self.report_progress(self.done, 0)
            self.done += 1
            yield row

    def _opened(self, file: SourceFile) -> BinaryIO:
        next(self._counted(iter([file])))
        return file.open()


def is_of_a_tool(part: Part) -> bool:
    """Return whether a part has the structure of a tool's file."""
    return bool(best(part, ALL))


def _refuse_unknown_columns(upload: UploadParts, findings: Findings) -> None:
    for name in upload.options.columns:
        if upload.parts and not any(_is_column(name, part, upload) for part in upload.parts):
            known = ", ".join(dict.fromkeys(column for part in upload.parts for column in part.columns))
            message = f"There is no column {name!r}. The columns are: {shorten(known)}."
            findings.add(UNKNOWN_COLUMN, "", "", message, name)


def _is_column(name: str, part: Part, upload: UploadParts) -> bool:
    """Return whether a part has a column that the person named, the object in which it lies, or it in lists."""
    is_plain = name in part.columns or name.partition(".")[0] in part.columns
    return is_plain or name in columns_of(part, upload).columns


def _is_told(part: Part, upload: UploadParts) -> bool:
    """Return whether the person said what columns of a part are, or what its preferences mean."""
    if any(_is_column(name, part, upload) for name in upload.options.columns):
        return True
    return bool(upload.options.meanings) and Holds.RESPONSE_A in resolve(part, upload).roles.values()


def _shape_of(part: Part, upload: UploadParts, findings: Findings) -> Shape | None:
    """Return what a part is: as the person said, by its structure, or a table; None, with an error, where nobody
    can say."""
    if upload.options.kind:
        named = [shape for shape in (*ALL, TABLE) if shape.kind == upload.options.kind]
        fitting = named
    else:
        fitting = best(part, ALL)
        if TABLE.fits(part) and _is_told(part, upload):
            told = {role for name, role in upload.options.columns.items() if _is_column(name, part, upload)}
            fitting = [shape for shape in fitting if told and told <= shape.told_roles]
        fitting = fitting or ([TABLE] if TABLE.fits(part) else [])
    findings.file = part.file
    if len(fitting) > 1:
        kinds = " or ".join(f"--kind {shape.kind}" for shape in fitting)
        words = " and ".join(shape.label for shape in fitting)
        message = f"The file fits two kinds equally: {words}."
        answers = tuple((f"--kind={shape.kind}",) for shape in fitting)
        rule = replace(error_rule("two-shapes", f"Say {kinds}.", "Choose one under Kind."), answers=answers)
        findings.add(rule, part.file, part.name, message)
        return None
    if not fitting:
        findings.error(part.name, "unknown-kind", "This is no table and no file of a tool that is known.")
        return None
    if fitting[0].refusal:
        findings.error(part.name, "unread-tool", fitting[0].refusal)
        return None
    return fitting[0]
