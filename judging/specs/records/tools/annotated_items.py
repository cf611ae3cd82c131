"""What the data of a task or run asks and shows: prompt, responses, systems and details, by the table of names."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

from evalsite.base.types import JsonDict, JsonObject, as_text
from judging.specs.records.collector import Collector
from judging.specs.records.names import (
    Holds,
    compared,
    is_known,
    is_source,
    named_responses,
    rank,
    responses_beside,
    says_response,
    systems_beside,
)
from judging.specs.records.neutral import CaseRecord, Giver, LabelRecord, Place, PreferenceRecord, ResponseRecord
from judging.specs.records.parts import Part
from judging.specs.records.preferences import preference
from judging.specs.records.values import as_number, at, content_text, details, is_messages, parsed, references, texts
from judging.specs.turns import role_of

_ABOUT_RESPONSES = (Holds.SECONDS, Holds.COST, Holds.TOKENS)
_REPLIES = ("choices.0.message", "generations.0.0.text")  # of raw replies of models, as tracers keep them
_WORDS_OF_NAME = 6  # a text of more under `source` is no name of one
_LONGEST_NAME = 60  # characters of a system's name; what is longer under `system` is a system prompt


@dataclass(slots=True)
class Item:
    """What a task shows. Without a response it is a text alone; a pair has two responses."""

    prompt: str = ""
    messages: list[JsonDict] = field(default_factory=list)
    responses: list[ResponseRecord] = field(default_factory=list)
    named_after: list[str] = field(default_factory=list)  # the columns after which the systems of a pair are named
    references: list[str] = field(default_factory=list)
    context: list[str] = field(default_factory=list)
    details: JsonDict = field(default_factory=dict)
    asks_of: list[str] = field(default_factory=list)  # without an id, the same prompt beside others is another case

    def case(self, id_: str) -> CaseRecord:
        """Return the row of the case."""
        return CaseRecord(
            key=id_,
            prompt="" if self.messages else self.prompt,
            messages=self.messages or None,
            references=self.references,
            context=self.context,
            metadata=self.details,
            asks_of=self.asks_of,
        )

    @property
    def has_text(self) -> bool:
        """Whether there is anything to be read."""
        return bool(self.prompt.strip() or self.messages)


@dataclass(frozen=True, slots=True)
class ItemSubject:
    """What a label is about: a case, one response to it, or two."""

    case: int
    responses: tuple[int, ...] = ()

    @property
    def response(self) -> int | None:
        """The response, where there is exactly one."""
        return self.responses[0] if len(self.responses) == 1 else None


class Registrar:
    """Registers the items of a file: ids are those of cases unless one prompt has several; warnings come once."""

    def __init__(self, part: Part, collector: Collector) -> None:
        self.collector, self.system, self._stem = collector, collector.options.system, part.stem
        self.warned_at = part.place()  # of warnings about items; the same for all files of one table
        self.names_texts = True  # warn of texts without a response: what is labelled are the texts
        self._ids_of_prompts: dict[bytes, str] = {}
        self.ids_are_rows = False

    def look_at(self, item: Item, id_: str) -> None:
        """Note the id of an item before any is registered."""
        if item.responses and id_:
            asked = sha256(json.dumps([item.prompt, item.messages], default=str).encode("utf-8", "replace")).digest()
            self.ids_are_rows |= self._ids_of_prompts.setdefault(asked, id_) != id_

    def register(self, place: Place, item: Item, id_: str) -> ItemSubject | None:
        """Return the case and the responses of an item; None, with an error, where they cannot be read."""
        if not item.has_text:
            return self._without_text(place, item, id_)
        case = self.collector.case(place, item.case("" if self.ids_are_rows else id_))
        if case is None:
            return None
        numbers = [self._respond(place, case, row, id_) for row in item.responses]
        for column in item.named_after:
            self.collector.warn_once("systems-from-header", self.warned_at, column)
        if not numbers and self.names_texts:
            self.collector.warn_once("text-only-items", self.warned_at, str(case))
        known = tuple(number for number in numbers if number is not None)
        return ItemSubject(case, known) if len(known) == len(numbers) else None

    def _without_text(self, place: Place, item: Item, id_: str) -> ItemSubject | None:
        case = self.collector.case_named(id_, place)
        for name in filter(lambda name: _is_prose(item.details[name]), item.details):
            self.collector.leave_out("detail", f"{name}: nothing says that it is what is asked", place)
        if case is not None and not self.collector.prompt_messages(case):
            self.collector.warn_once("items-without-text", self.warned_at, id_)
        return None if case is None else ItemSubject(case)

    def _respond(self, place: Place, case: int, row: ResponseRecord, id_: str) -> int | None:
        row.row_id, row.is_same_if_equal = id_, not id_
        if self.ids_are_rows and id_:
            row.metadata = {"row_id": id_, **row.metadata}
        if not row.system and not self.system:
            row.system = self._stem
            self.collector.warn_once("system-from-file", place, row.system)
        row.system = row.system or self.system
        return self.collector.response(place, case, row)


@dataclass(slots=True)
class AnnotatedItem:
    """An item of a file, and what people said of it."""

    place: Place
    id: str
    item: Item
    annotations: list[ForeignAnnotation] = field(default_factory=list)
    suggestions: int = 0  # of programs


def store_items(registrar: Registrar, items: Callable[[], Iterator[AnnotatedItem]]) -> None:
    """Store what a file has, once the ids of all of its items are known."""
    for entry in items():
        registrar.look_at(entry.item, entry.id)
    for entry in items():
        subject = registrar.register(entry.place, entry.item, entry.id)
        suggested(registrar.collector, entry.place, entry.suggestions)
        if subject is not None:
            for annotation in entry.annotations:
                store_annotation(registrar.collector, entry.place, subject, annotation)


def named(fields: Iterable[str], role: Holds, *, is_weak: bool = False) -> list[str]:
    """Return the fields whose names say a role, the strongest first; weak names only if asked for."""
    return list(_named(tuple(fields), role, is_weak))


@lru_cache(maxsize=4096)  # rows of a file have the same fields
def _named(fields: tuple[str, ...], role: Holds, is_weak: bool) -> tuple[str, ...]:
    ranked = [(found, name) for name in fields if (found := rank(name, role)) is not None and (is_weak or not found[0])]
    return tuple(name for _, name in sorted(ranked, key=lambda entry: entry[0]))


def item_of(
    fields: JsonObject, beside: JsonObject | None = None, *, asked: Item | None = None, asks_only: bool = False
) -> Item:
    """Return what the fields of a task show. `beside` are facts beside them, such as metadata that name the model.

    With `asked`, which is added to, the question stands elsewhere; fields that ask only have no responses.
    """
    shown = {name: turns_of(parsed(value)) for name, value in fields.items() if not is_blank(value)}
    facts = {name: value for name, value in (beside or {}).items() if not is_blank(value)}
    item = asked or Item()
    read = set() if asked is not None else _read_prompt(item, shown)
    if not asks_only:
        read |= _read_pair(item, shown) or _read_response(item, shown, read)
    if len(item.responses) == 1:
        read |= _read_facts(item.responses[0], shown, facts)
    beside_response = _unread(shown, Holds.ANSWER, read)[:1] if item.responses else []
    for name in _unread(shown, Holds.REFERENCE, read) or beside_response:
        item.references += references(shown[name])
        read.add(name)
    if not item.has_text:
        read |= _read_only_text(item, shown, read)
    else:
        for name in _unread(shown, Holds.CONTEXT, read):
            item.context += texts(shown[name])
            read.add(name)
    item.details |= details(facts, ()) | details(shown, read)
    return item


def _unread(fields: JsonObject, role: Holds, read: set[str]) -> list[str]:
    return [name for name in named(fields, role) if name not in read]


def _read_prompt(item: Item, fields: JsonDict) -> set[str]:
    """Take the conversation, or the prompt and the system text beside it."""
    for name in named(fields, Holds.TURNS):
        if is_messages(fields[name]):
            item.messages = list(fields[name])
            return {name}
    prompts = [name for name in named(fields, Holds.PROMPT, is_weak=True) if _is_shown(fields[name])]
    prompts = [name for name in prompts if not is_source(name) or len(as_text(fields[name]).split()) > _WORDS_OF_NAME]
    if not prompts:
        return set()
    value, read = fields[prompts[0]], {prompts[0]}
    if is_messages(value):
        item.messages = list(value)
        return read
    item.prompt = value
    above = [name for name in named(fields, Holds.SYSTEM_TEXT) if name != _system_column(fields)]
    if above and isinstance(fields[above[0]], str):
        asked = (("system", fields[above[0]]), ("user", item.prompt))
        item.messages = [{"role": role, "content": text} for role, text in asked]
        read.add(above[0])
    return read


def _system_column(fields: JsonObject) -> str:
    """Return the field that names the system; a long text under such a name is a system prompt."""
    columns = [name for name in named(fields, Holds.SYSTEM, is_weak=True) if isinstance(fields[name], str | int)]
    short = [
        name for name in columns if len(as_text(fields[name])) <= _LONGEST_NAME and "\n" not in as_text(fields[name])
    ]
    return next((name for name in short if compared(name) != "system"), (short or [""])[0])


def _read_response(item: Item, fields: JsonDict, read: set[str]) -> set[str]:
    """Take the response, or the last turn of a conversation that an assistant ends."""
    columns = [*_unread(fields, Holds.RESPONSE, read), *_unread(fields, Holds.ANSWER, read)]
    if not columns and any(map(is_source, read)):  # what is made from a source, such as its summary
        columns = [name for name in named(fields, Holds.RESPONSE, is_weak=True) if name not in read]
    by_words = [name for name in fields if name not in read and says_response(name)]
    columns = columns or (by_words if len(by_words) == 1 and not is_known(by_words[0]) else [])
    columns = [name for name in columns if _is_shown(fields[name]) or isinstance(fields[name], dict)]
    if columns and not item.has_text:
        item.prompt = text_of(fields[columns[0]])
        return {columns[0]}
    if columns:
        text = text_of(fields[columns[0]])
    elif len(item.messages) > 1 and role_of(item.messages[-1]) == "assistant":
        text = turn_text(item.messages.pop())
    else:
        return set()
    system = _system_column(fields)
    name = as_text(fields[system]).strip() if system else named_responses(columns[0]) if columns else ""
    item.responses = [ResponseRecord(name, text)]
    return {system, *columns[:1]}


def _read_facts(response: ResponseRecord, fields: JsonDict, facts: JsonDict) -> set[str]:
    """Take the system from beside the fields where they do not name it, and what they say of the response."""
    if not response.system and (column := _system_column(facts)):
        response.system = as_text(facts.pop(column)).strip()
    stops = named(fields, Holds.STOP)[:1]
    response.stop = as_text(fields[stops[0]]) if stops else ""
    about = [name for role in _ABOUT_RESPONSES for name in named(fields, role)]
    response.metadata = {name: fields[name] for name in about}
    return {*stops, *about}


def _read_pair(item: Item, fields: JsonDict) -> set[str]:
    """Take two responses to one prompt, with the systems that are named or after their columns."""
    columns, naming = _pair_columns(tuple(fields))
    if not item.has_text or not columns or not all(_is_shown(fields[column]) for column in columns):
        return set()
    names = [as_text(fields[name]).strip() for name in naming] or list(columns)
    item.named_after = [] if naming else list(columns)
    item.responses = [ResponseRecord(name, text_of(fields[at])) for name, at in zip(names, columns, strict=True)]
    return {*columns, *naming}


@lru_cache(maxsize=4096)
def _pair_columns(fields: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of two responses, and those that name their systems; empty where there are none."""
    by_name = {compared(name): name for name in fields}
    responses = responses_beside(by_name)
    return responses, systems_beside(by_name) if responses else ()


def _read_only_text(item: Item, fields: JsonDict, read: set[str]) -> set[str]:
    """Take the one text that there is, whatever its name."""
    prose = [name for name, value in fields.items() if name not in read and _is_prose(value)]
    if len(prose) != 1:
        return set()
    item.prompt = fields[prose[0]]
    return {prose[0]}


def _is_shown(value: object) -> bool:
    return isinstance(value, str) or is_messages(value)


def _is_prose(value: object) -> bool:
    """Return whether a value is a text of several words, and no address of a picture or sound."""
    return isinstance(value, str) and " " in value.strip() and "://" not in value.split()[0]


def question_of(value: object) -> Item:
    """Return what an input asks: a text, turns, or an object with fields; JSON where no field is known."""
    value = turns_of(parsed(value))
    if isinstance(value, dict) and len(value) == 1:
        return question_of(next(iter(value.values())))
    if isinstance(value, dict):
        item = item_of(value, asks_only=True)
        return item if item.has_text else Item(prompt=as_text(value))
    if isinstance(value, list) and is_messages(value):
        return Item(messages=list(value))
    return Item(prompt=plain(value))


def plain(value: object) -> str:
    """Return a value as text; a text that was printed as JSON loses its quotes."""
    text = as_text(value)
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return as_text(json.loads(text))
        except ValueError:
            return text
    return text


def turns_of(value: object) -> object:
    """Return messages of LangChain as turns with roles, in one list; any other value as it is."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        return value
    turns = [_turn(entry) for entry in value]
    return turns if turns and is_messages(turns) else value


def _turn(entry: JsonDict) -> JsonDict:
    """Return a message with its role: LangChain has a `type`, or the class and its arguments."""
    kind, content = entry.get("type"), entry
    if kind == "constructor" and isinstance(entry.get("kwargs"), dict) and isinstance(entry.get("id"), list):
        content = entry["kwargs"]
        kind = str(entry["id"][-1]).removesuffix("Chunk").removesuffix("Message").lower()
    if "role" in entry or not isinstance(kind, str) or "content" not in content:
        return entry
    return {"role": kind, "content": content["content"]} | {
        name: content[name] for name in ("tool_calls", "tool_call_id", "name") if content.get(name)
    }


def is_blank(value: object) -> bool:
    """Return whether a value is none, NaN or an empty text; a text such as "None" or "?" may be a response."""
    return value in (None, "") or (isinstance(value, float) and not math.isfinite(value))


def turn_text(turn: JsonObject) -> str:
    """Return the text of a turn."""
    return content_text(turn.get("content", turn.get("value", "")))


def text_of(value: object) -> str:
    """Return what an output says: a text, the last turn, the one field, or the one that is named as such."""
    value = turns_of(parsed(value))
    if isinstance(value, list) and is_messages(value):
        return turn_text(value[-1])
    if isinstance(value, dict) and is_messages([value]):
        return turn_text(value)
    for path in _REPLIES:
        if (reply := at(value, path)) is not None:
            return text_of(reply)
    if isinstance(value, dict):
        roles = (Holds.RESPONSE, Holds.ANSWER, Holds.REFERENCE, Holds.TURNS, Holds.PROMPT)
        found = [name for role in roles for name in named(value, role)]
        if len(value) == 1 or found:
            return text_of(value[(found or list(value))[0]])
    return plain(value)


_PROGRAMS = "suggestions of a program are no labels of people"
_FREE_TEXT = 60  # characters from which a value is a remark and no label
_MANY = 20  # values, more than half of them different: remarks


@dataclass(slots=True)
class ForeignAnnotation:
    """Labels and remarks by question, and the questions whose answers are no labels of the whole item."""

    name: str  # in messages: "task 502, annotation 14"
    rater: str = ""
    at: str = ""  # ISO 8601
    labels: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    metadata: JsonDict = field(default_factory=dict)
    cancelled: str = ""  # why it does not count, where the person took it back or did not give it


def store_annotation(collector: Collector, place: Place, subject: ItemSubject, annotation: ForeignAnnotation) -> None:
    """Store labels, or preferences between the responses of a pair; remarks are the reason of the first."""
    if annotation.cancelled:
        cancelled(collector, place, annotation.cancelled)
        return
    for question in dict.fromkeys(annotation.unread):
        collector.leave_out("annotation", f"{question}: marks in a text or picture are no label of all of it", place)
    given = annotation.labels or annotation.remarks
    if not given and not annotation.unread:
        collector.leave_out("annotation", f"{annotation.name}: no label", place)
    reason = "\n".join(annotation.remarks.values()) if annotation.labels else ""
    for question, label in given.items():
        choice = preference(label) if len(subject.responses) == 2 else None
        if choice is None:
            record = LabelRecord(subject.case, annotation.rater, label, subject.response, question, reason)
            record.at, record.metadata, record.place = annotation.at, annotation.metadata, place
            collector.label(record)
        else:
            first, second = subject.responses
            vote = PreferenceRecord(first, second, choice, Giver.PERSON, annotation.rater, reason=reason)
            vote.criterion, vote.metadata, vote.place = question, annotation.metadata, place
            collector.preference(vote)
        reason = ""


def cancelled(collector: Collector, place: Place, why: str) -> None:
    """Leave out an annotation that a person took back or did not give."""
    collector.leave_out("annotation", why, place)
    collector.warn("cancelled-annotation", place, why)


def suggested(collector: Collector, place: Place, count: int = 1) -> None:
    """Leave out what a program suggested."""
    for _ in range(count):
        collector.leave_out("suggestion", _PROGRAMS, place)
        collector.warn("suggestion-left-out", place, _PROGRAMS)


def joined(labels: Iterable[str]) -> str:
    """Return several labels of one answer as one, in an order of their own."""
    return ", ".join(sorted(dict.fromkeys(label.strip() for label in labels if label.strip())))


def is_free_text(question: str, values: Sequence[object]) -> bool:
    """Return whether the answers to a question are remarks and no labels: by its name, or by how long and different
    they are."""
    words = [value.strip() for value in values if isinstance(value, str) and value.strip()]
    if not words or all(as_number(word) is not None for word in words):
        return False
    if rank(question, Holds.REASON) is not None:
        return True
    is_varied = len(words) > _MANY and len(set(words)) > len(words) / 2
    return is_varied or any(len(word) > _FREE_TEXT or "\n" in word for word in words)


def ranking(entries: Iterable[tuple[str, float]]) -> str:
    """Return texts with their ranks as one label, best first; `=` stands between equal ones."""
    words, last = "", 0.0
    for text, place in sorted(entries, key=lambda entry: entry[1]):
        words += f" {'=' if place == last else '>'} {text}" if words else text
        last = place
    return words
