"""What a row of a tool's file tells while it is read, and the shapes of tools: what tells each, and what reads it.

A shape is the decorator of the function that reads it. The most specific one that fits a part is taken; two that fit
equally are asked about. A table that is no shape of a tool is read by the roles of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import ClassVar

from evalsite.base.types import JsonDict, as_text, objects
from judging.specs.records.collector import Collector
from judging.specs.records.names import CLASSES, METRICS, SHARE, Holds, compared, rank, strongest
from judging.specs.records.neutral import (
    SCENARIO_LENGTH,
    CaseRecord,
    CriterionRecord,
    LabelRecord,
    Place,
    PreferenceRecord,
    ResponseRecord,
    RubricRecord,
    ScoreRecord,
    VerdictRecord,
)
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.values import as_id, as_number, at, details, is_messages, object_of, parsed, references
from judging.specs.types import UNKNOWN_SCALE, Scale


class NotReadable(ValueError):
    """A row of a published set that cannot be read; the message says why, in words for the page."""


class BadRow(ValueError):
    """A row that is wrong: it is refused, unless the person said that such rows are left out."""


class Stands(Enum):
    """Where a case or a response is described."""

    HERE = "here"
    ELSEWHERE = "elsewhere"  # in another file of the upload or in the site; the row names it
    REPEATED = "repeated"  # in another file; the row's own words count only where none has it


@dataclass(slots=True)
class ToolRow:
    """A row, where it stands, and which of its fields were read: by these methods, so that `rest` has the others."""

    part: Part
    collector: Collector
    upload: UploadParts
    place: Place
    fields: JsonDict
    read: set[str] = field(default_factory=set)

    def get(self, *names: str) -> object:
        """Return the first of these fields that says anything; None where none does."""
        self.read.update(names)
        return next((self.fields[name] for name in names if self.fields.get(name) not in (None, "")), None)

    def text(self, *names: str) -> str:
        """Return the first of these fields that says anything, as text."""
        return as_text(self.get(*names))

    def id(self, *names: str) -> str:
        """Return the id under the first of these names that has one."""
        return as_id(self.get(*names))

    def number(self, name: str) -> float | None:
        """Return a field as a number; None for everything else."""
        return as_number(self.get(name))

    def references(self, *names: str) -> list[str]:
        """Return the reference answers under the first of these names that has some."""
        return references(self.get(*names))

    def objects(self, name: str) -> list[JsonDict]:
        """Return the objects in a list."""
        return objects(self.get(name))

    def fields_of(self, name: str) -> JsonDict:
        """Return an object; an empty one where there is none."""
        return object_of(self.get(name))

    def asked(self, *names: str) -> JsonDict:
        """Return what a row asks, as fields of its case: turns of a conversation, or a text."""
        value = parsed(self.get(*names))
        return {"messages": value} if is_messages(value) else {"prompt": as_text(value)}

    def at(self, path: str) -> object:
        """Return what lies at a path with dots."""
        self.read.add(path.partition(".")[0])
        return at(self.fields, path)

    def named(self, role: Holds) -> str:
        """Return the name that says a role most strongly among the fields that hold something; empty without one."""
        names = [
            (place, name)
            for name, value in self.fields.items()
            if value not in (None, "") and (place := rank(name, role))
        ]
        return min(names)[1] if names and min(names)[0][0] == 0 else ""

    def rest(self, *but: str) -> JsonDict:
        """Return the fields that nothing has read yet, to be kept as details."""
        return details(self.fields, self.read.union(but))

    def system(self, *names: str) -> str:
        """Return the system that the row names, else the one that the person named, else the file's name."""
        return system_of(self.collector, self.part, self.get(*names), self.place)

    def replied(self, system: str, name: str, *, is_same_if_equal: bool = False) -> Reply:
        """Return what a system replied under a name; a missing reply is no response."""
        self.read.add(name)
        text = self.fields.get(name)
        is_null = text is None or (text == "" and self.part.is_cells)
        row = ResponseRecord(system, as_text(text), is_same_if_equal=is_same_if_equal)
        return Reply(row, failure="it is null" if is_null else "")

    def judge(self, name: str, folder: str = "") -> str:
        """Return a judge's name; that of the file, or of a folder above it, for a judge that nothing names."""
        if not name:
            self.collector.warn_once("judge-from-file", self.place, folder or self.part.stem)
        return name or folder or self.part.stem

    def by_place(self, group: str, number: int) -> str:
        """Return the name of a person who has none but a place in a list, from 1."""
        self.collector.warn_once("raters-by-place", self.place, f"{group} {number}")
        return f"{group} {number}"

    def unread(self, judge: str) -> None:
        """Count a comparison whose judge's reply could not be read."""
        self.collector.leave_out("preference", f"{judge}: the judge's reply could not be read", self.place)
        self.collector.warn("unparsed-verdict", self.place, judge)


Said = ScoreRecord | VerdictRecord | LabelRecord
# What is said in a row: of the reply beside which it stands, or of the first two replies
Score, Verdict, Label = partial(ScoreRecord, 0), partial(VerdictRecord, 0), partial(LabelRecord, 0)
Opinion = partial(PreferenceRecord, 0, 1)


def judged(is_judge: bool, name: str, value: float | str | None, scale: Scale, reason: str, metadata: JsonDict) -> Said:
    """Return the verdict of a judge, or the score of a rule or metric."""
    if is_judge:
        return Verdict(name, value, scale, reason, metadata=metadata)
    return Score(name, value, scale, reason, metadata=metadata)


def share(name: str, value: object) -> Scale:
    """Return 0 to 1 as the scale of yes and no and of metrics that are known to be shares; else it is not known."""
    number, name = as_number(value), compared(name)
    is_share = name in METRICS or name.split("_")[0] == "acc" or name.endswith(("exact_match", "f_1_score"))
    return SHARE if (is_share or isinstance(value, bool)) and number is not None and 0 <= number <= 1 else UNKNOWN_SCALE


@dataclass(slots=True)
class Reply:
    """A response with what is said of it."""

    row: ResponseRecord
    said: Iterable[Said] = ()
    failure: str = ""  # why there is no response
    column: str = ""  # names the system where nothing else does
    stands: Stands = Stands.HERE
    number: int | None = None  # of a response that is known


@dataclass(slots=True)
class Told:
    """What a row tells. Opinions name their two responses by places among the replies."""

    case: CaseRecord
    replies: Sequence[Reply] = ()
    opinions: Iterable[PreferenceRecord] = ()
    rubric: Sequence[CriterionRecord] = ()
    labels: Iterable[LabelRecord] = ()  # of the case alone
    stands: Stands = Stands.HERE


RowReader = Callable[[ToolRow], Told | None]  # raises NotReadable or BadRow


def read_rows(part: Part, collector: Collector, upload: UploadParts, read: RowReader) -> None:
    """Store what the rows of a part tell. Those that cannot be read are left out, unless none can."""
    left_out: list[tuple[Place, str]] = []
    count = 0
    for place, fields in part.placed():
        row = ToolRow(part, collector, upload, place, fields)
        try:
            told = read(row)
        except NotReadable as failure:
            left_out.append((place, str(failure)))
        except BadRow as failure:
            collector.bad_row(place, str(failure))
        else:
            count += 1
            if told is not None:
                store(row, told)
    if left_out and not count:
        place, why = left_out[0]
        collector.bad_row(place, why if len(left_out) == 1 else f"{why} It is so in all {len(left_out):,} rows.")
    for place, why in left_out if count else ():
        collector.bad_row(place, why, is_published=True)


def store(row: ToolRow, told: Told) -> None:
    """Store what one row tells. A reference among the details of a case without one is its reference."""
    collector, place = row.collector, row.place
    if not told.case.references and (name := strongest(told.case.metadata, Holds.REFERENCE)):
        told.case.references = references(told.case.metadata.pop(name))
    _classify(row, told)
    if told.stands is Stands.ELSEWHERE:
        case = collector.case_named(told.case.key, place)
    else:
        case = (collector.case_repeated if told.stands is Stands.REPEATED else collector.case)(place, told.case)
    if case is None:
        return
    if told.rubric:
        collector.rubric(RubricRecord(case, list(told.rubric), place))
    for label in told.labels:
        label.case, label.place = case, place
        collector.label(label)
    numbers = [_stored(collector, place, case, reply) for reply in told.replies]
    for opinion in told.opinions:
        a, b = numbers[opinion.a], numbers[opinion.b]
        if a is not None and b is not None:
            opinion.a, opinion.b, opinion.place = a, b, place
            collector.preference(opinion)


def _classify(row: ToolRow, told: Told) -> None:
    """Give a case its scenario, type and language: what the person said, else a detail of it or of an opinion on its
    responses that is called so.
    """
    case, said = told.case, {role: name for name, role in row.collector.options.columns.items()}
    kept = [case.metadata, *(opinion.metadata for opinion in told.opinions)]
    for role, attribute in CLASSES:
        name = said.get(role) or next(filter(None, (strongest(some, role) for some in kept)), "")
        text = as_text(value).strip() if isinstance(value := at(row.fields, name), str | int) else ""
        if name and 0 < len(text) <= SCENARIO_LENGTH and not getattr(case, attribute):
            setattr(case, attribute, text)
            for some in kept:
                some.pop(name, None)


def _stored(collector: Collector, place: Place, case: int, reply: Reply) -> int | None:
    """Store a reply with what is said of it, and return its number; None where there is none."""
    if reply.failure:
        collector.failed(place, reply.row.system, reply.failure)
        return None
    number = reply.number if reply.number is not None else _responded(collector, place, case, reply)
    for said in reply.said if number is not None else ():
        keep(collector, place, case, number or 0, said)
    return number


def keep(collector: Collector, place: Place, case: int, response: int, said: Said) -> None:
    """Store what was said of a response."""
    said.place, said.response = place, response
    if isinstance(said, LabelRecord):
        said.case = case
        collector.label(said)
    elif isinstance(said, VerdictRecord):
        collector.verdict(said)
    else:
        collector.score(said)


def _responded(collector: Collector, place: Place, case: int, reply: Reply) -> int | None:
    row = reply.row
    if reply.column and not row.system:
        if not collector.options.system:
            collector.warn_once("systems-from-header", place, reply.column)
        row.system = collector.options.system or reply.column
    is_known = reply.stands is Stands.REPEATED and any(
        row.system == name for _, name, _ in collector.responses_to(case)
    )
    if reply.stands is Stands.ELSEWHERE or is_known:
        return collector.response_named(place, case, row.system, row.attempt or 0)
    return collector.response(place, case, row)


def system_of(collector: Collector, part: Part, name: object, place: Place) -> str:
    """Return the system that a row names, else the one that the person named, else the file's name, with a warning."""
    system = as_text(name).strip() or collector.options.system
    if not system:
        collector.warn_once("system-from-file", place, part.stem)
    return system or part.stem


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """What a column of a table is read as."""

    name: str
    role: str  # a role of `judging.specs.records.names`
    why: str = ""  # "by its name", "by its values", "chosen"
    samples: tuple[str, ...] = ()  # its first cells
    is_asked: bool = False  # what it is must be said


Fits = Callable[[Part], bool]
Reads = Callable[[Part, Collector, UploadParts], None]
Columns = Callable[[Part, UploadParts], list[ColumnUse]]

CASES, RESPONSES, JUDGMENTS = 0, 1, 2  # in this order the parts of an upload are read
COMPANION = -1  # is read with another part, and holds nothing of its own


def nothing(part: Part, collector: Collector, upload: UploadParts) -> None:
    """Read nothing: the part is refused, or is read with another one."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape of files."""

    do_not_call_in_templates: ClassVar[bool] = True  # it is a decorator, and Django calls what can be called
    kind: str  # as --kind takes it: "inspect-log"
    label: str  # "Inspect AI: evaluation log"; the tool stands before the colon
    fits: Fits
    why: str  # what tells it, in words: "a ZIP archive with header.json and samples"
    stage: int = RESPONSES
    rank: int = 20  # among shapes that fit the same part the highest is taken
    reads: Reads = nothing
    keys: tuple[str, ...] = ()  # that rows of the tool always have, "a|b" where its versions differ
    tool_name: str = ""  # where the label does not begin with it
    refusal: str = ""  # of a shape that is known and not read: "this is a notebook, which is not read."
    columns: Columns | None = None  # the mapping, of shapes that read a table by its columns
    told_roles: frozenset[str] = frozenset(role for role, _ in CLASSES)  # of its columns; any other makes it a table
    stage_of: Callable[[Sequence[ColumnUse]], int] | None = None  # the stage, where it depends on the mapping
    has_equal_rows: bool = False  # rows that say the same count each, as two alike errors in one text do
    belongs_to: str = ""  # of a companion: what it is brought with, "the samples of the same run (samples_*.jsonl)"
    export: str = ""  # help: what to do in the tool
    comes: str = ""  # help: what comes over
    stays: str = ""  # help: what does not

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return self.tool_name or self.label.partition(":")[0]

    def lacks(self, part: Part) -> list[str]:
        """Return the keys of the tool's rows that a part has not."""
        found = part.keys_of_any()
        return [names for names in self.keys if found.isdisjoint(names.split("|"))]

    def __call__(self, reads: Reads) -> Shape:
        """Return the shape with what reads its parts."""
        return replace(self, reads=reads)

    def rows(self, read: RowReader) -> Shape:
        """Return the shape with what says what a row tells."""
        return replace(self, reads=lambda part, collector, upload: read_rows(part, collector, upload, read))


@dataclass(slots=True)
class Taken:
    """What a part was taken for. `columns` is the mapping that is used; there is no second reading behind it."""

    part: Part
    shape: Shape
    columns: list[ColumnUse] = field(default_factory=list)

    @property
    def stage(self) -> int:
        """When the part is read."""
        return self.shape.stage if self.shape.stage_of is None else self.shape.stage_of(self.columns)


def best(part: Part, shapes: Sequence[Shape]) -> list[Shape]:
    """Return the shapes that fit a part best: one, none, or several that fit equally well."""
    fitting = [shape for shape in shapes if shape.fits(part)]
    highest = max((shape.rank for shape in fitting), default=0)
    return [shape for shape in fitting if shape.rank == highest]
