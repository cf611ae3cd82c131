"""What importers produce and services store: images, marks in texts, rubrics, scales of values, and who speaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, NotRequired, TypedDict

from evalsite.base.types import JsonObject

CONTEXT_ROLES = ("", "reference", "supplementary")
ROLE_WORDS = {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Tool"}  # of turns
NOTHING: JsonObject = {}  # one for a million nodes; nobody writes into a specification

# of a value from a log: (lowest, highest), or all letters of a grade, best first; (None, None): unknown
Scale = tuple[float | str | None, ...]
UNKNOWN_SCALE: Scale = (None, None)
GRADES: Scale = ("C", "P", "I", "N")
GRADE_VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


@dataclass(frozen=True, slots=True)
class ImageSpec:
    """An image of a case or response: the hash of the file as it was uploaded, and what pages say of it."""

    digest: str
    media_type: str  # of what is stored
    width: int  # pixels
    height: int
    name: str = ""  # path as written; empty for a data URI
    alt: str = ""  # what it shows, in words


def image_specs(stored: Sequence[JsonObject]) -> tuple[ImageSpec, ...]:
    """Return images as they are stored as importers hand them over."""
    return tuple(ImageSpec(**image) for image in stored)


@dataclass(frozen=True, slots=True)
class AnchorSpec:
    """What a value, or a range of values, of a node's scale means."""

    low: float
    high: float
    text: str
    variant: str = ""

    @property
    def range_words(self) -> str:
        """The value or the range, as people write it."""
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class ScaleSpec:
    """The values that a verdict on a node may take."""

    kind: str  # boolean | ordinal | numeric | nominal
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    labels: tuple[str, ...] = ()


class NodeSpec(NamedTuple):
    """A node of a rubric's tree. Children are nested; `key` is unique within the tree.

    A tuple and no dataclass: a workbook of 100,000 rows has a million nodes, and a frozen dataclass takes four times as
    long to make.
    """

    key: str
    kind: str  # group | level | dimension | check
    text: str = ""  # byte for byte as written
    role: str = "scored"  # scored | guidance
    source: str = "rater"  # rater | computed
    weight: float = 1.0
    points: float | None = None  # signed
    tags: tuple[str, ...] = ()
    scale: ScaleSpec | None = None
    value_map: JsonObject = NOTHING
    aggregator: JsonObject = NOTHING  # {"type": "cascade", "clip": [0, 100]}, ...
    anchors: tuple[AnchorSpec, ...] = ()
    rules: tuple[JsonObject, ...] = ()
    children: tuple[NodeSpec, ...] = ()


# A node from all its fields in their order, five times as fast as naming some of them.
node_of: Callable[[tuple[Any, ...]], NodeSpec] = partial(tuple.__new__, NodeSpec)


@dataclass(frozen=True, slots=True)
class RubricItemSpec:
    """The tree that applies to one case (`case_key`), or to the whole benchmark (empty key)."""

    case_key: str
    root: NodeSpec
    source: str = ""  # "Sheet1!A14"
    metadata: JsonObject = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class RubricSpec:
    """A rubric as imported: one tree for a benchmark, or one per case."""

    name: str
    shape: str  # levels | criteria | checklist | assertions | nested | scaleeval
    scope: str  # benchmark | item
    items: tuple[RubricItemSpec, ...]
    options: JsonObject = field(default_factory=dict)
    licence: str = ""
    benchmark_aggregate: JsonObject = field(default_factory=dict)


class TurnPart(TypedDict, total=False):
    """A text, or the place of an image, which counts from 0 among the images of the case or response."""

    text: str
    image: int


class StoredTurn(TypedDict):
    """A turn as it is stored."""

    role: str  # system, user, assistant or tool
    parts: list[TurnPart]
    calls: NotRequired[list[dict[str, str]]]  # id, name and arguments
    call_id: NotRequired[str]  # that a tool answers
    name: NotRequired[str]


def heading_of(turn: JsonObject) -> str:
    """Return who speaks in a turn."""
    return " ".join(filter(None, (ROLE_WORDS[turn["role"]], turn.get("name", ""))))


class Mark(NamedTuple):
    """A marked part of a text: the characters from `start` to `end`, the end exclusive, and their label."""

    start: int
    end: int
    label: str
