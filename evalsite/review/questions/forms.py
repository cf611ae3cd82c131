"""What people are asked of an item: the questions of a form, how answers are read, worded and turned. Pure.

A judge's criteria (levels, checks, dimensions) and the forms that owners of queues write are made of the same
questions. Answers are stored in system space: a preference above 0 says that response A of the item is better, what is
asked of each response ends in its letter (`.a`), a ranking is a list of tied groups of letters, the best first
(["b", "ac"]), and marks in a text are held as `marks` says. Who sees the responses in another order is shown the
answers turned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from typing import Any

from evalsite.base.formats import finite_number
from evalsite.base.types import JsonObject, as_text
from evalsite.review.questions.scales import (
    ANSWERED,
    MOST_LABELS,
    PREFERENCE,
    Label,
    is_number_scale,
    key_of,
    labels_in_order,
)
from judging.grading.rubric_tree import Value, on_scale
from judging.specs.types import Mark, ScaleSpec
from judging.statistics.texts import UNMARKED, stretches

# Marks in a text as answers hold them: which text it is, then where each mark begins and ends, and its label. Pure.
#
# ["14#1a2b3c4d", "3-7:minor"]: the text has 14 characters and this checksum; characters 3 to 6 are marked. Characters
# are code points of the stored text. Marks do not overlap; the text alone says that there is nothing to mark.

SEAL = re.compile(r"(\d{1,9})#[0-9a-f]{8}")
SPAN = re.compile(r"(\d{1,9})-(\d{1,9}):(.+)")
MOST_MARKS = 500
NOTHING = "none"  # what programs may write where there is nothing to mark
QUOTED = 60  # characters of a mark that are quoted


def seal_of(text: str) -> str:
    """Return by what answers know a text: its length and the beginning of its SHA-256."""
    return f"{len(text)}#{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def read_marks(words: Sequence[str], *, labels: Collection[str], text: str | None) -> list[str] | None:
    """Return marks as answers hold them; None where they are none of this text, overlap, or have other labels.

    `text` is what was marked, None where it is not at hand: then it has to be named.
    """
    first, *rest = words
    if SEAL.fullmatch(first) is None and text is not None:
        first, rest = seal_of(text), [] if first == NOTHING else list(words)
    seal, spans = SEAL.fullmatch(first), [SPAN.fullmatch(word) for word in rest]
    if seal is None or None in spans or (text is not None and first != seal_of(text)):
        return None
    marks = sorted(Mark(int(span[1]), int(span[2]), span[3].strip()) for span in spans if span is not None)
    ends = [0, *(end for mark in marks for end in mark[:2]), int(seal[1])]
    is_sound = ends == sorted(ends) and all(mark.start < mark.end and mark.label in labels for mark in marks)
    return _written(first, marks) if is_sound and len(marks) <= MOST_MARKS else None


def _written(seal: str, marks: Sequence[Mark]) -> list[str]:
    return [seal, *(f"{mark.start}-{mark.end}:{mark.label}" for mark in marks)]


def marks_in(value: Sequence[str]) -> list[Mark]:
    """Return the marks of an answer in the order of the text."""
    spans = filter(None, map(SPAN.fullmatch, value))
    return [Mark(int(span[1]), int(span[2]), span[3]) for span in spans]


def length_in(value: Sequence[str]) -> int:
    """Return the length of the text that an answer is about."""
    return int(value[0].partition("#")[0])


def marks_of_most(values: Sequence[Sequence[str]]) -> list[str]:
    """Return the characters to which more than half of the answers give the same label, adjacent ones joined."""
    joined: list[Mark] = []
    for start, end, labels in stretches([marks_in(value) for value in values]):
        ((label, count),) = Counter(labels).most_common(1)
        if label == UNMARKED or 2 * count <= len(values):
            continue
        if joined and joined[-1].end == start and joined[-1].label == label:
            start = joined.pop().start
        joined.append(Mark(start, end, label))
    return _written(values[0][0], joined)


def segments(text: str, value: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text with their labels, "" where none is.

    A browser makes one character of a line's two end characters: they are shown as a space and one, so that the
    characters keep their numbers.
    """
    shown = text.replace("\r\n", " \n").replace("\r", "\n")
    for start, end, (label,) in stretches([marks_in(value)], len(text)):
        yield shown[start:end], label


def weight_of(value: Sequence[str], weights: Mapping[str, float]) -> float:
    """Return the sum of what the labels of marks count."""
    return sum(weights[mark.label] for mark in marks_in(value))


def words_of_marks(value: Sequence[str], text: str | None) -> str:
    """Return marks as people read them: with what is marked, or with where it stands if the text is not at hand."""
    said = []
    for start, end, label in marks_in(value):
        marked = f"{start} to {end}" if text is None else f"“{' '.join(text[start:end].split())}”"
        said.append(f"{label} {marked if len(marked) <= QUOTED else marked[:QUOTED] + '…”'}")
    return ", ".join(said) or "nothing marked"


MET, NOT_MET = "met", "not met"
CHECK = (Label(MET, "Met", 1.0), Label(NOT_MET, "Not met", 0.0))
PREFIX = "part-"  # of the fields that hold parts in pages and drafts
LABEL = "label"  # the key of the one question of items without a form, and its field
MOST_PARTS = 100  # more are not asked one by one
MOST_FIELDS = 120  # of a page: 20 questions of each of six responses
ANSWER_LIMIT = 65_536  # characters of all answers to a form
BOOLEAN = ScaleSpec("boolean")
Answer = Value | list[str]
SEPARATOR = ","  # between several choices, or groups of a ranking, in a text
LETTERS = "abcdef"  # of the responses of an item, in its own order
MOST_RESPONSES = len(LETTERS)
SWAPPED = "ba"  # the order of a pair of which somebody sees B first
UNREADABLE = "?"  # what places that make no ranking are read as


class Kind(StrEnum):
    """How a question is answered."""

    CHECK = "check"  # of a rubric: met or not
    CHOICE = "choice"
    CHOICES = "choices"
    SCALE = "scale"
    PREFERENCE = "preference"
    RANKING = "ranking"
    SPANS = "spans"
    NUMBER = "number"
    TEXT = "text"


IN_LISTS = (Kind.CHOICES, Kind.RANKING, Kind.SPANS)  # whose answers are lists
ONE_OF_SEVERAL = (Kind.CHECK, Kind.CHOICE, Kind.SCALE, Kind.PREFERENCE)


class PartsMissing(ValueError):
    """Some questions have no readable answer; the message names them."""


def part_texts_in(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what fields of a page or a draft say of questions, by key; several choices are joined by commas."""
    names = [name for name in values if name == LABEL or name.startswith(PREFIX)][:MOST_FIELDS]
    several = getattr(values, "getlist", None)
    said = {name: several(name) if several is not None else [values[name]] for name in names}
    return {name.removeprefix(PREFIX): SEPARATOR.join(map(str, texts)) for name, texts in said.items()}


def field_of(key: str) -> str:
    """Return the name of a question's field in pages and drafts."""
    return key if key == LABEL else f"{PREFIX}{key}"


def fields_of(texts: Mapping[str, str]) -> dict[str, str]:
    """Return what is said of questions by the names of their fields; `part_texts_in` reads it."""
    return {field_of(key): text for key, text in texts.items()}


@dataclass(frozen=True, slots=True)
class ShownIf:
    """An earlier question, and the answers to it that make another one shown."""

    key: str
    values: tuple[Value, ...]

    def holds(self, answer: Answer | None) -> bool:
        """Return whether the answer is one of those, or has one of them."""
        if isinstance(answer, list):
            return any(value in answer for value in self.values)
        return answer in self.values and answer is not None

    @property
    def texts(self) -> list[str]:
        """The answers as fields of a page hold them."""
        return [value_text(value) for value in self.values]


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """One thing that people are asked: what is answered, on which scale, when, and by which keys."""

    key: str  # "50.1", "accuracy"; "use.a" of what is asked of response A
    text: str
    kind: Kind = Kind.CHECK
    head: str = ""  # what stands above it: its level or group
    scale: ScaleSpec = BOOLEAN
    options: tuple[Label, ...] = ()  # what is offered, where it is not the values of the scale
    anchors: tuple[tuple[str, str], ...] = ()  # what values mean: ("1 to 3", "mostly wrong")
    points: float | None = None
    help: str = ""
    is_required: bool = True
    side: str = ""  # the letter of the response that it is asked of
    show_if: tuple[ShownIf, ...] = ()
    own_keys: tuple[tuple[str, str], ...] = ()  # value -> key, in place of its digit
    has_ties: bool = False  # responses may share a place of a ranking
    marked_in: str = ""  # "response", "context" or "question": whose text is marked
    marked: str | None = None  # that text, where it is at hand
    weights: tuple[tuple[str, float], ...] = ()  # what marks of a label count
    group: str = ""  # the ranking that it is one place of: of two equal places only the last chosen stays

    @property
    def field(self) -> str:
        """The name of its field in pages and drafts."""
        return field_of(self.key)

    @property
    def is_check(self) -> bool:
        return self.kind is Kind.CHECK

    @property
    def is_words(self) -> bool:
        """Whether its choices are words, which need more room than numbers."""
        are_numbers = is_number_scale(self.choices) and all(choice.text == choice.value for choice in self.choices)
        return self.kind in (Kind.CHOICE, Kind.CHOICES, Kind.PREFERENCE) and not are_numbers

    @property
    def choices(self) -> tuple[Label, ...]:
        """The values offered; none where a number or a text is entered."""
        if self.options or self.kind in (Kind.TEXT, Kind.RANKING):
            return self.options
        if self.is_check:
            return CHECK
        if self.scale.kind == "nominal":
            return tuple(Label(name, name) for name in self.scale.labels)
        return tuple(Label(text, text) for text in map(value_text, scale_values(self.scale)))

    @property
    def rows(self) -> tuple[FormQuestion, ...]:
        """The questions as pages ask them one by one: of a ranking the place of each response."""
        if self.kind is not Kind.RANKING:
            return (self,)
        size = len(self.scale.labels)
        hint = self.help or f"1 is the best of {size}." + (" Several may share a place." if self.has_ties else "")
        asked = replace(self, kind=Kind.SCALE, scale=ScaleSpec("ordinal", 1, size, 1), help=hint)
        group = "" if self.has_ties else self.field
        rows = (replace(asked, key=f"{self.key}.{side}", side=side, group=group) for side in self.scale.labels)
        return tuple(row if not index else replace(row, help="") for index, row in enumerate(rows))

    def text_in(self, texts: Mapping[str, str]) -> str:
        """Return what fields say of it, by key: of a ranking the groups that the places of the responses come to."""
        if self.kind is not Kind.RANKING or self.key in texts:
            return texts.get(self.key, "")
        places = {side: texts.get(f"{self.key}.{side}", "").strip() for side in self.scale.labels}
        if not any(places.values()):
            return ""
        return SEPARATOR.join(groups_of(places)) if all(map(str.isdecimal, places.values())) else UNREADABLE

    def texts_of(self, value: Answer) -> dict[str, str]:
        """Return an answer as its fields hold it, by key; `text_in` and `read` read it."""
        if self.kind is not Kind.RANKING:
            return {self.key: value_text(value)}
        return {f"{self.key}.{side}": str(place) for side, place in places_of(value).items()}

    def read(self, text: str) -> Answer | None:
        """Return the answer that a page or a file says; None where there is none, or it is not on the scale."""
        if self.kind is Kind.TEXT:
            return text.strip() or None
        if self.kind is Kind.RANKING:
            groups = ["".join(sorted(group.strip().lower())) for group in text.split(SEPARATOR)]
            return groups if self.holds(groups) else None
        if self.kind is Kind.CHOICES:
            chosen = sorted({word.strip() for word in text.split(SEPARATOR) if word.strip()})
            return chosen if chosen and set(chosen) <= set(self.scale.labels) else None
        if self.kind is Kind.SPANS:
            words = [word.strip() for word in text.split(SEPARATOR) if word.strip()]
            return read_marks(words, labels=self.scale.labels, text=self.marked) if words else None
        if self.is_check:
            return text == MET if text in (MET, NOT_MET) else None
        if self.scale.kind == "nominal":
            return text if text in self.scale.labels else None
        number = _number(text)
        return number if number is not None and self.holds(number) else None

    def holds(self, value: Any) -> bool:
        """Return whether a stored value is an answer to the question."""
        if self.kind is Kind.TEXT:
            return isinstance(value, str) and bool(value.strip()) and len(value) <= ANSWER_LIMIT
        if self.kind is Kind.CHOICES:
            return isinstance(value, list) and bool(value) and all(word in self.scale.labels for word in value)
        if self.kind is Kind.RANKING:
            is_text = isinstance(value, list) and all(isinstance(group, str) and group for group in value)
            is_whole = is_text and sorted("".join(value)) == sorted(self.scale.labels)
            return is_whole and (self.has_ties or len(value) == len(self.scale.labels))
        if self.kind is Kind.SPANS:
            is_text = isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value)
            return is_text and read_marks(value, labels=self.scale.labels, text=self.marked) == value
        if self.kind is Kind.PREFERENCE and f"{value}" not in {label.value for label in self.options}:
            return False  # two grades have no tie between them
        return not isinstance(value, list) and on_scale(value, self.scale)

    def words(self, value: Answer) -> str:
        """Return an answer as people read it."""
        if self.kind is Kind.RANKING and isinstance(value, list):
            return " > ".join(" = ".join(group.upper()) for group in value)
        if self.kind is Kind.SPANS and isinstance(value, list):
            return words_of_marks(value, self.marked)
        texts = {label.value: label.text for label in self.choices}
        values = value if isinstance(value, list) else [value_text(value)]
        return ", ".join(texts.get(word, word) for word in values)

    def words_in(self, texts: Mapping[str, str]) -> str:
        """Return what fields say of it as people read it; "" where they say nothing."""
        value = self.read(self.text_in(texts))
        return "" if value is None else self.words(value)

    def digit(self, index: int) -> str:
        """Return the key that gives a choice."""
        choices = self.choices
        usual = str(index + 1) if self.kind is Kind.SPANS else key_of(index, choices)
        return dict(self.own_keys).get(choices[index].value) or usual

    @property
    def is_open(self) -> bool:
        """Whether it leads to no decision: nobody's words are more right than another's."""
        return self.kind is Kind.TEXT


def _number(text: str) -> float | int | None:
    number = finite_number(text)
    return int(number) if number is not None and number.is_integer() else number


def scale_values(scale: ScaleSpec) -> tuple[float, ...]:
    """Return the values of a scale of numbers, where they are few enough to choose from."""
    if scale.minimum is None or scale.maximum is None or scale.maximum <= scale.minimum:
        return ()
    step = scale.step or 1.0
    count = round((scale.maximum - scale.minimum) / step) + 1
    return tuple(scale.minimum + step * index for index in range(count)) if count <= MOST_LABELS else ()


def value_text(value: Answer) -> str:
    """Return an answer as pages and drafts hold it; `FormQuestion.read` reads it."""
    if isinstance(value, list):
        return SEPARATOR.join(value)
    if isinstance(value, bool):
        return MET if value else NOT_MET
    return value if isinstance(value, str) else str(int(value) if value == int(value) else value)


def said_text(said: object) -> str:
    """Return what a program or a file says of a question as pages hold it: true as met, nothing for null."""
    if isinstance(said, list):
        return SEPARATOR.join(map(as_text, said))
    return value_text(said) if isinstance(said, bool) else as_text(said)


def groups_of(places: Mapping[str, str]) -> list[str]:
    """Return a ranking from the place of each response, the best first: equal places are one group."""
    in_order = sorted({int(place) for place in places.values()})
    return ["".join(side for side, text in places.items() if int(text) == place) for place in in_order]


def places_of(ranking: Answer) -> dict[str, int]:
    """Return the place of each response in a ranking, counted from 1 by group."""
    groups = ranking if isinstance(ranking, list) else []
    places = {side: place for place, group in enumerate(groups, start=1) for side in group}
    return {side: places[side] for side in sorted(places)}


def letters_seen(order: str) -> dict[str, str]:
    """Return by the letter of each response in its item how somebody calls it who sees them in this order.

    "ba": B comes first. "": as the item has them.
    """
    return {letter: LETTERS[position] for position, letter in enumerate(order)}


def letters_stored(order: str) -> dict[str, str]:
    """Return by the letter that such a person uses the one of the item."""
    return {LETTERS[position]: letter for position, letter in enumerate(order)}


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The questions about an item, in order, and the labels that stand for answers to all of them.

    The label is what lists, filters and boards show: the answer to the leading question.
    """

    parts: tuple[FormQuestion, ...]
    labels: tuple[Label, ...]

    def shown(self, values: Mapping[str, Answer]) -> Iterator[FormQuestion]:
        """Yield the questions that are asked, given the answers to those before."""
        seen: dict[str, Answer] = {}
        for part in self.parts:
            if all(condition.holds(seen.get(condition.key)) for condition in part.show_if):
                if part.key in values:
                    seen[part.key] = values[part.key]
                yield part

    def read(self, texts: Mapping[str, str]) -> dict[str, Answer]:
        """Return key -> value from what a person said, by key; nothing of questions that they were not asked.

        Raises:
            PartsMissing: a required part is left out, or a value is not on its scale.
        """
        values = self.readable(texts)
        asked = list(self.shown(values))
        unread = [part for part in asked if part.text_in(texts).strip() and part.key not in values]
        missing = [part for part in asked if part.key not in values and (part.is_required or part in unread)]
        if missing:
            raise PartsMissing(self._missing(missing))
        values = {part.key: values[part.key] for part in asked if part.key in values}
        if sum(len(value_text(value)) for value in values.values()) > ANSWER_LIMIT:
            raise PartsMissing(f"The answers have more than {ANSWER_LIMIT:,} characters. Shorten them.")
        return values

    def readable(self, texts: Mapping[str, str]) -> dict[str, Answer]:
        """Return the answers that can be read from what is said, by key."""
        read = {part.key: part.read(part.text_in(texts)) for part in self.parts}
        return {key: value for key, value in read.items() if value is not None}

    def texts(self, values: Mapping[str, Answer]) -> dict[str, str]:
        """Return answers as the fields of pages and drafts hold them, by key; `read` reads them."""
        parts = {part.key: part for part in self.parts}
        known = (
            parts[key].texts_of(value) if key in parts else {key: value_text(value)} for key, value in values.items()
        )
        return {key: text for texts in known for key, text in texts.items()}

    def missing(self, texts: Mapping[str, str]) -> int:
        """Return how many required questions of those asked have no answer yet."""
        values = self.readable(texts)
        return sum(part.is_required and part.key not in values for part in self.shown(values))

    def _missing(self, parts: Sequence[FormQuestion]) -> str:
        names = [part.key for part in parts]
        if all(part.is_check for part in self.parts):
            return f"Choose met or not met for: {', '.join(names)}."
        return f"Choose a value for: {', '.join(names)}."

    def holds(self, values: JsonObject) -> bool:
        """Return whether these are answers to all required questions that are asked, and to no others."""
        parts = {part.key: part for part in self.parts}
        if any(key not in parts or not parts[key].holds(value) for key, value in values.items()):
            return False
        asked = list(self.shown(values))
        needed = {part.key for part in asked if part.is_required}
        return needed <= set(values) <= {part.key for part in asked}

    def label(self, values: Mapping[str, Answer]) -> str:
        """Return the label that stands for the answers. Raises: PartsMissing: they come to none."""
        raise NotImplementedError

    def stored(self, values: Mapping[str, Answer]) -> dict[str, Answer]:
        """Return what is stored of answers beside their label."""
        return dict(values)

    def answers(self, label: str, parts: Mapping[str, Answer]) -> dict[str, Answer]:
        """Return answers from what is stored of them: their label, and what `stored` kept beside it."""
        return dict(parts)

    def words(self, values: Mapping[str, Answer]) -> str:
        """Return what was said of each part, in the order of the form; "" for an answer without parts."""
        known = [part for part in self.parts if part.key in values]
        return "; ".join(f"{part.key}: {part.words(values[part.key])}" for part in known)

    def turned(self, values: Mapping[str, Answer], letters: Mapping[str, str]) -> dict[str, Answer]:
        """Return the answers with the responses called by other letters (`letters_seen`, `letters_stored`)."""
        kinds = {part.key: part.kind for part in self.parts}
        return {_other(key, letters): _turned(value, kinds.get(key), letters) for key, value in values.items()}


def _other(key: str, letters: Mapping[str, str]) -> str:
    name, dot, side = key.rpartition(".")
    return f"{name}.{letters[side]}" if dot and side in letters else key


def _turned(value: Answer, kind: Kind | None, letters: Mapping[str, str]) -> Answer:
    if kind is Kind.PREFERENCE and isinstance(value, int):
        return -value if letters.get("a") == "b" else value
    if kind is Kind.RANKING and isinstance(value, list) and letters:
        return ["".join(sorted(letters[side] for side in group)) for group in value]
    return value


@dataclass(frozen=True, slots=True)
class OwnForm(AnswerForm):
    """A form that an owner wrote for a queue. Its leading question gives the label, where it has one."""

    lead: FormQuestion | None = None

    @property
    def has_marks(self) -> bool:
        """Whether parts of texts are marked, so that `with_texts` has something to do."""
        return any(part.kind is Kind.SPANS for part in self.parts)

    def with_texts(self, texts: Mapping[str, str]) -> OwnForm:
        """Return the form with what is marked: texts of responses by their letter ("" of a single one), and others."""
        places = (part.side if part.marked_in == "response" else part.marked_in for part in self.parts)
        parts = tuple(
            replace(part, marked=texts.get(place, "")) if part.kind is Kind.SPANS else part
            for part, place in zip(self.parts, places, strict=True)
        )
        return replace(self, parts=parts)

    def _missing(self, parts: Sequence[FormQuestion]) -> str:
        return f"Answer first: {'; '.join(map(_name_of, parts))}"

    def label(self, values: Mapping[str, Answer]) -> str:
        """Return the answer to the leading question, of a preference its direction; `answered` without one."""
        value = values.get(self.lead.key) if self.lead is not None else None
        if self.lead is None or value is None or isinstance(value, list):
            return ANSWERED[0].value
        if self.lead.kind is Kind.PREFERENCE and isinstance(value, int):
            return str((value > 0) - (value < 0))
        return value_text(value)


def _name_of(part: FormQuestion) -> str:
    """Return a question as it is called where its answer is missing."""
    if part.kind is Kind.RANKING:
        return f"{part.text} (a place for each response{'' if part.has_ties else ', no two the same'})"
    if part.kind is Kind.SPANS:
        side = f" (response {part.side.upper()})" if part.side else ""
        return f"{part.text}{side} Mark parts of the text as it is shown now, or choose “Nothing to mark”."
    return part.text + (f" (response {part.side.upper()})" if part.side else "")


def own_form(questions: Sequence[FormQuestion], *, size: int) -> OwnForm:
    """Return the form of items with so many responses; of several, what is asked of each response comes for each."""
    parts = tuple(part for question in questions for part in _for_sides(question, questions, LETTERS[:size]))
    lead = next((part for part in parts if _may_lead(part)), None)
    return OwnForm(parts, labels_of_lead(lead), lead)


def _for_sides(question: FormQuestion, questions: Sequence[FormQuestion], sides: str) -> Iterator[FormQuestion]:
    if question.kind is Kind.RANKING:
        yield replace(question, scale=ScaleSpec("ranking", labels=tuple(sides)))
    elif question.side != EACH:
        yield question
    elif len(sides) == 1:
        yield replace(question, side="")
    else:
        sided = {other.key for other in questions if other.side == EACH}
        for side in sides:
            conditions = tuple(
                replace(row, key=f"{row.key}.{side}") if row.key in sided else row for row in question.show_if
            )
            yield replace(question, key=f"{question.key}.{side}", side=side, show_if=conditions)


EACH = "each"  # the side of a question of a definition that is asked of each response


def _may_lead(part: FormQuestion) -> bool:
    is_one = part.kind in ONE_OF_SEVERAL and 0 < len(part.choices) <= MOST_LABELS
    return is_one and part.is_required and not part.side and not part.show_if


def labels_of_lead(lead: FormQuestion | None) -> tuple[Label, ...]:
    """Return the labels of a form by its leading question: which side is better, its values, or one for all."""
    if lead is None:
        return ANSWERED
    if lead.kind is Kind.PREFERENCE:
        has_tie = any(label.value == "0" for label in lead.options)
        return tuple(label for label in PREFERENCE if has_tie or label.value != "0")
    if lead.kind is Kind.SCALE:
        worth = {label.value: label.share for label in labels_in_order([row.value for row in lead.choices])}
        meanings = dict(lead.anchors)
        return tuple(
            Label(row.value, f"{row.value}: {meanings[row.value]}" if row.value in meanings else row.value, share)
            for row in lead.choices
            for share in (worth[row.value],)
        )
    return tuple(Label(row.value, row.text) for row in lead.choices)
