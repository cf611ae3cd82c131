"""The shapes of tools: what tells each, which module reads it, and what its help section says.

A shape is the decorator of the function that reads it. The most specific one that fits a part is taken; two that fit
equally are asked about. A table that is no shape of a tool is read by the roles of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from judging.specs.records.collector import Collector
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.tool_rows import RowReader, read_rows


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """What a column of a table is read as."""

    name: str
    role: str  # a role of `judging.specs.records.names`
    why: str = ""  # "by its name", "by its values", "chosen"
    samples: tuple[str, ...] = ()  # its first cells


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
    told_roles: frozenset[str] = frozenset()  # that a person may give to its columns; any other makes it a table
    stage_of: Callable[[Sequence[ColumnUse]], int] | None = None  # the stage, where it depends on the mapping
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
