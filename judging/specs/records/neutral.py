"""The neutral records that every import is made of, whatever file it came from; previews and stores both use them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from evalsite.base.types import JsonDict, JsonObject
from judging.specs.types import UNKNOWN_SCALE, Scale

_MISSING = frozenset({"", "na", "n/a", "nan", "none", "null", "-", ".", "?"})
_OF_NUMBERS = frozenset("iInN")  # letters with which numbers begin: inf, NaN


def as_value(value: object) -> float | str | None:
    """Return a score, verdict or label as a number or a text; None for what is missing, NaN or infinite. Digits of a
    number that is too large, as 1e309 is, are a text."""
    if isinstance(value, bool | int | float):
        return float(value) if math.isfinite(value) else None
    text = str(value).strip() if value is not None else ""
    if text.lower() in _MISSING:
        return None
    if text[0].isalpha() and text[0] not in _OF_NUMBERS:
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text if any(map(str.isdigit, text)) else None


class Choice(StrEnum):
    """Which of two responses is better."""

    A = "A"
    TIE = "tie"
    B = "B"


PREFERENCE_NUMBERS = {Choice.A: 1, Choice.TIE: 0, Choice.B: -1}  # as preferences are stored


class Giver(StrEnum):
    """Who gave a preference: the file itself (gold), a person, or a judge."""

    GOLD = "gold"
    PERSON = "person"
    JUDGE = "judge"


class Place(NamedTuple):
    """Where a record was read: `answers.csv`, `line 3`."""

    file: str
    at: str = ""

    def __str__(self) -> str:
        return f"{self.file}, {self.at}" if self.at else self.file


NOWHERE = Place("")
SCENARIO_LENGTH = 100  # characters


@dataclass(slots=True)
class CaseRecord:
    """What is asked and how an answer to it is graded, with every referenced file inlined.

    Of a row, `messages` have roles and content and `images` are paths, data URIs or objects, as its file has them; what
    was collected has both in the stored form (`judging.specs.turns`), and `prompt` is the text of its messages.
    """

    key: str = ""  # unique in the suite, e.g. "0-0-40"; the id of a row, empty where its file gives none
    prompt: str = ""
    messages: Any = ()
    references: list[str] = field(default_factory=list)
    context: list[str] = field(default_factory=list)
    images: Any = ()
    metadata: JsonDict = field(default_factory=dict)
    asks_of: list[str] = field(default_factory=list)  # without an id, the same prompt about others is another case
    adds_context: bool = False  # of a further row of the case, which has no response: its passages are further ones
    context_role: str = ""  # of CONTEXT_ROLES
    scenario: str = ""
    question_type: str = ""  # "code completion", ...
    lang: str = ""
    # Normalised tree for `judging.grading`; empty when the case is judged otherwise.
    grading: JsonObject = field(default_factory=dict)
    handlers: Mapping[str, str] = field(default_factory=dict)  # source of post handlers / custom functions by name
    full_score: float | None = None  # None: the suite's
    null_score: float | None = None
    weight: float = 1.0
    source_path: str = ""  # path in the bundle, as written in the suite
    is_made: bool = False  # the key was counted here and is no id of the file
    is_numbered: bool = False  # the key is a number that was counted when its file was read, which has no ids
    place: Place = NOWHERE

    @property
    def reference(self) -> str:
        """The reference answers as they are stored."""
        return "\n\n".join(self.references)

    @property
    def whole_context(self) -> str:
        """The context as it is stored."""
        return "\n\n".join(self.context)

    @property
    def details(self) -> JsonDict:
        """What is kept beside: several references as a list too."""
        return {**self.metadata, "references": self.references} if len(self.references) > 1 else self.metadata


@dataclass(frozen=True, slots=True)
class SuiteSpec:
    """An ordered set of cases and how their scores add up."""

    name: str
    version: str
    cases: Sequence[CaseRecord]
    attempt_reduce_mode: str = "avg"  # avg | max | min | avg_max_<k>
    full_score: float = 1.0
    null_score: float = 0.0
    metadata: JsonObject = field(default_factory=dict)


def given(texts: Iterable[str | None]) -> list[str]:
    """Return the texts that are there."""
    return [text for text in texts if text]


@dataclass(slots=True)
class ResponseRecord:
    """What a system responded, `messages` and `images` as those of a case.

    `messages` are the whole conversation (then `text` is empty), or its steps to the last turn, whose text is `text`.
    """

    system: str = ""
    text: str = ""
    messages: Any = ()
    attempt: int | None = None  # from 0; None, of a row: counted in the order of the rows
    row_id: str = ""  # of the row; an equal text of the same row is the same response
    is_same_if_equal: bool = False  # an equal text is the same response, as where one stands in several comparisons
    images: Any = ()
    stop: str = ""  # as the provider said it
    seconds: float | None = None  # until the reply was there
    completion_tokens: int | None = None
    metadata: JsonDict = field(default_factory=dict)
    case: int = 0  # its number among those collected
    case_key: str = ""
    place: Place = NOWHERE

    @property
    def identity(self) -> tuple[str, str, int]:
        """Case, system and attempt, which tell it from all others of a benchmark."""
        return self.case_key, self.system, self.attempt or 0

    @property
    def details(self) -> JsonDict:
        """What is kept beside the text, with the number of tokens."""
        tokens = {} if self.completion_tokens is None else {"completion_tokens": self.completion_tokens}
        return {**self.metadata, **tokens}


@dataclass(slots=True)
class ScoreRecord:
    """What a rule or metric gave a response, on its own scale."""

    response: int
    grader: str
    value: float | str | None  # None: not scored, which is counted and not kept
    scale: Scale = UNKNOWN_SCALE
    reason: str = ""
    turn: int | None = None
    metadata: JsonDict = field(default_factory=dict)
    place: Place = NOWHERE


@dataclass(slots=True)
class VerdictRecord:
    """What a judge said of a response. `value` is None where its reply could not be read."""

    response: int
    judge: str
    value: float | str | None
    scale: Scale = UNKNOWN_SCALE
    reason: str = ""
    criterion: str = ""
    turn: int | None = None
    metadata: JsonDict = field(default_factory=dict)
    place: Place = NOWHERE


@dataclass(slots=True)
class PreferenceRecord:
    """Which of two responses to one case is better, and who says so."""

    a: int  # responses
    b: int
    choice: Choice
    kind: Giver = Giver.GOLD
    by: str = ""  # the person or judge; empty: nobody is named
    strength: float | None = None
    reason: str = ""
    criterion: str = ""
    turn: int | None = None
    is_flipped: bool = False  # the judge chose another one when the order was turned
    orders: tuple[Choice, ...] = ()  # of a judge asked in both orders: with `a` shown first, then with `b`
    metadata: JsonDict = field(default_factory=dict)
    place: Place = NOWHERE
    worth_of_a: float | None = None  # from 0 to 1, where more is known than the choice, such as a judge's probabilities


@dataclass(slots=True)
class LabelRecord:
    """What a person said of a response, or of a case or text alone."""

    case: int
    rater: str  # empty: the file names nobody
    label: str
    response: int | None = None
    criterion: str = ""
    reason: str = ""
    at: str = ""  # ISO 8601
    scale: Scale = UNKNOWN_SCALE
    metadata: JsonDict = field(default_factory=dict)
    place: Place = NOWHERE


@dataclass(frozen=True, slots=True)
class CriterionRecord:
    """A line of a case's rubric."""

    text: str
    points: float | None = None  # negative ones too
    levels: JsonObject = field(default_factory=dict)  # value as text -> what it means
    tags: tuple[str, ...] = ()


@dataclass(slots=True)
class RubricRecord:
    """What the responses to one case are judged by."""

    case: int
    criteria: list[CriterionRecord]
    place: Place = NOWHERE


@dataclass(frozen=True, slots=True)
class LogRecord:
    """Whose log a file is; scores, verdicts and preferences of judges in it become one imported run."""

    file: str
    tool: str  # "Inspect AI"
    version: str = ""
    name: str = ""  # the log's own name of itself, such as its task
    at: str = ""  # ISO 8601; empty: not said
