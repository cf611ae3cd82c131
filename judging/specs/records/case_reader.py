"""Reads what the rows of a table ask: prompts and turns, references, choices, context, details."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evalsite.base.types import JsonDict, JsonObject, as_text, objects
from judging.specs.pictures import holds_data_uri
from judging.specs.records import names
from judging.specs.records.collector import Collector
from judging.specs.records.columns import ASKS, RESPONDS, Column, Mapping, ends_in_reply
from judging.specs.records.names import CLASSES, Holds
from judging.specs.records.neutral import CaseRecord, CriterionRecord, Place
from judging.specs.records.values import (
    are_lettered,
    as_count,
    as_id,
    as_number,
    beside_text,
    content_text,
    details,
    exchanges,
    finite,
    in_one_list,
    is_messages,
    is_missing,
    letter_in,
    listed,
    parsed,
    references,
    texts,
    user_turns,
)
from judging.specs.turns import content_of, raw_role_of, role_of

DETAILS_OF_CASES = (Holds.SCENARIO, Holds.SPLIT, Holds.CHOICES, Holds.IMAGE)
_OF_CASES = (
    *(Holds.CASE, Holds.CASE_PATH, *ASKS, Holds.INSTRUCTION, Holds.SYSTEM_TEXT, Holds.CONTEXT, Holds.CONTEXT_ROLE),
    *(Holds.REFERENCE, Holds.TYPE, Holds.LANGUAGE, *DETAILS_OF_CASES),
)
_MOST_KNOWN = 200_000  # cases that are recognised again without being read again
_VARIED = frozenset({list, dict, float})  # types of values of which each row may be warned
_CRITERIA = ("criterion", "criteria", "requirement", "description", "text", "title", "item")  # entries with the text
_POINTS = ("points", "weight", "max_points", "score", "max_score")
Choices = Sequence[tuple[str, str]]  # letter and text of each


def criteria_in(value: object) -> list[CriterionRecord]:
    """Return the objects of a list as the criteria of a rubric, each with its text and points, negative ones too."""
    criteria = []
    for entry in objects(parsed(value)):
        text = next((as_text(entry[name]) for name in _CRITERIA if entry.get(name)), "")
        points = next((number for name in _POINTS if (number := as_number(entry.get(name))) is not None), None)
        criteria.append(CriterionRecord(text, points, tags=tuple(texts(entry.get("tags")))))
    return criteria


def is_rubric(value: object) -> bool:
    """Return whether a value lists criteria, each with a text, and has points."""
    criteria = criteria_in(value)
    return all(row.text for row in criteria) and any(row.points is not None for row in criteria)


@dataclass(slots=True)
class CaseReader:
    """Reads the cases of one table."""

    collector: Collector
    mapping: Mapping
    one: dict[Holds, str]  # the column of each role that only one has
    has_system: bool = False  # who responded is known, so that a last turn of an assistant is a response
    asks_about_contexts: bool = False  # what stands in them is asked about; else systems may have retrieved it
    columns: tuple[str, ...] = ()  # all that say something of cases
    references: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    media: list[str] = field(default_factory=list)  # that name what is shown, which is no part of the case itself
    choices: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    lists: set[int] = field(default_factory=set)  # the places of choices and contexts among the columns
    is_asking: bool = False
    is_answered: bool = False
    has_own_replies: bool = False  # conversations end with a reply, and no column has responses
    _known: dict[int, int] = field(default_factory=dict)  # cases by the hash of what a row says of them

    def __post_init__(self) -> None:
        mapping = self.mapping
        self.columns = tuple(mapping.all(*_OF_CASES))
        self.references, self.contexts = mapping.all(Holds.REFERENCE), mapping.all(Holds.CONTEXT)
        self.images, self.choices = mapping.all(Holds.IMAGE), mapping.all(Holds.CHOICES)
        self.details = mapping.all(*DETAILS_OF_CASES)
        shows = mapping.has(*ASKS) and not (self.has_system and not mapping.has(*RESPONDS))
        self.media = [name for name in mapping.all(Holds.DETAIL) if names_media(mapping.columns[name])] if shows else []
        self.columns += tuple(self.media)
        self.details += self.media
        self.lists = {self.columns.index(name) for name in (*self.choices, *self.contexts)}
        self.is_asking, self.is_answered = mapping.has(*ASKS), mapping.has(*RESPONDS)
        turns = self.one[Holds.TURNS]
        replies = bool(turns) and mapping.columns[turns].is_recorded(mapping.has(Holds.SYSTEM))
        self.has_own_replies = replies and not self.is_answered

    @property
    def is_responded(self) -> bool:
        """Whether the conversations of the table are those of systems, to their last turn."""
        return self.has_own_replies and self.has_system

    def read(self, place: Place, fields: JsonObject, more: JsonDict) -> int | None:
        """Return the number of the case of a row, with `more` as further details; None, with an error, without one."""
        values = [fields.get(name) for name in self.columns]
        if more or self._is_varied(values):
            return self._read(place, fields, more)
        key = hash(str(values))
        case = self._known.get(key)
        if case is None:
            case = self._read(place, fields, more)
            if case is not None and len(self._known) < _MOST_KNOWN:
                self._known[key] = case
        return case

    def _is_varied(self, values: Sequence[object]) -> bool:
        """Return whether each row with these values is to be read, since it may be warned of them."""
        kinds = enumerate(map(type, values))
        return any(kind in _VARIED and (kind is float or place not in self.lists) for place, kind in kinds)

    def value(self, fields: JsonObject, role: Holds) -> object:
        """Return what a row has in the column of a role; None where nothing."""
        name = self.one[role]
        return fields.get(name) if name else None

    def text(self, fields: JsonObject, role: Holds) -> str:
        """Return what a row has in the column of a role as text; empty where it is missing."""
        value = self.value(fields, role)
        return "" if value is None or is_missing(value) else as_text(value).strip()

    def _read(self, place: Place, fields: JsonObject, more: JsonDict) -> int | None:
        value = self.value(fields, Holds.CASE)
        id_ = "" if is_missing(value) else as_id(value)
        if not self.is_asking:
            case = self.collector.case_named(id_ or self.text(fields, Holds.CASE_PATH), place)
            return self._with_key(place, fields, case) if case is not None and self.references else case
        choices = self._choices(fields)
        row = self._row(place, fields, id_, choices)
        known = self._named_case(place, row) if self.is_answered else None
        if known is not None:
            return known
        row.metadata.update(more)
        return self._with_references(place, fields, row, choices)

    def _named_case(self, place: Place, row: CaseRecord) -> int | None:
        """Return the case that a row names in place of describing it: by its id, also where the prompt is due."""
        prompt = row.prompt.strip()
        if row.key:
            is_empty = not (prompt or row.messages or row.images)
            return self.collector.case_named(row.key, place) if is_empty else None
        return self.collector.case_with_id(prompt) if prompt else None

    def _with_key(self, place: Place, fields: JsonObject, case: int) -> int | None:
        """Give a case of another table the references that a row has for it."""
        details = self.collector.details_of_case(case)
        choices = next((value for name, value in details.items() if names.rank(name, Holds.CHOICES)), None)
        return self._with_references(place, fields, CaseRecord(), list(choices_of(choices)), case)

    def _with_references(
        self, place: Place, fields: JsonObject, row: CaseRecord, choices: Choices, known: int | None = None
    ) -> int | None:
        """Read the references of a row and store its case, or give them to a known one; None for one that is no place
        among the choices."""
        is_place = False
        for name in self.references:
            found, counts = reference_texts(fields.get(name), choices)
            if found is None:
                why = f"The answer {as_text(fields[name])} is no place among {len(choices)} choices, counted from 0."
                self.collector.bad_row(place, why)
                return None
            row.references += [text for text in found if text not in row.references]
            if marked := _marked(parsed(fields.get(name))):
                row.metadata.setdefault("choices", [*marked])
            if isinstance(fields.get(name), dict | list) and any(text.startswith("{") for text in found):
                self.collector.warn("reference-as-json", place, name)
            is_place = is_place or counts
        case = self.collector.case(place, row) if known is None else known
        if known is not None:
            self.collector.add_references(place, known, row.references)
        if is_place and case is not None:
            self.collector.warn_once("answer-index", place, str(case))
        return case

    def _row(self, place: Place, fields: JsonObject, id_: str, choices: Choices) -> CaseRecord:
        row = CaseRecord(key=id_)
        self._set_question(place, fields, row)
        for name in self.contexts:
            passages = [(entry, texts([entry])) for entry in listed(parsed(fields.get(name)))]
            row.context += texts(fields.get(name))
            if any(beside := [beside_text(entry, *text) for entry, text in passages if text]):
                row.metadata[name] = beside
        said = self.mapping.all(*RESPONDS, Holds.LABEL, Holds.LABELS_OF, Holds.SCORE)
        row.adds_context = all(is_missing(fields.get(name)) for name in said)
        row.asks_of = sorted(text for _, text in choices)
        row.asks_of += row.context if self.asks_about_contexts else []
        row.asks_of += [as_text(fields[name]) for name in self.media if not is_missing(fields.get(name))]
        row.images = [fields[name] for name in self.images if fields.get(name)]
        self._set_details(place, fields, row)
        for role, name in CLASSES:
            value = self.text(fields, role) if self.one[role] else ""
            if value:
                setattr(row, name, value)
        if self.one[Holds.CONTEXT_ROLE]:
            row.context_role = self.text(fields, Holds.CONTEXT_ROLE).lower()
        return row

    def _set_details(self, place: Place, fields: JsonObject, row: CaseRecord) -> None:
        for name in self.details:
            value = fields.get(name)
            if isinstance(value, float) and not math.isfinite(value):
                self.collector.warn("nan-left-out", place, name)
            elif name != self.one[Holds.SCENARIO] and not is_missing(value) and not holds_data_uri(name, value):
                row.metadata[name] = finite(parsed(value))
        if len(self.choices) > 1:
            row.metadata["choices"] = [row.metadata.pop(name) for name in self.choices if name in row.metadata]

    def _set_question(self, place: Place, fields: JsonObject, row: CaseRecord) -> None:
        """Set what is asked: turns, or a prompt below an instruction; a system's text is a turn before it."""
        asked = in_one_list(exchanges(parsed(self.value(fields, Holds.TURNS))))
        if isinstance(asked, list) and not is_messages(asked) and any(isinstance(turn, dict | list) for turn in asked):
            roles = ", ".join(dict.fromkeys(filter(None, map(raw_role_of, objects(asked)))))
            why = f"are of {roles}: write user for who asks, and assistant for the system" if roles else ""
            self.collector.bad_row(place, f"The turns in {self.one[Holds.TURNS]} {why or 'do not say who speaks'}.")
        last = self._prompt(fields, row) if self.one[Holds.PROMPT] or not asked else ""
        if not isinstance(asked, list) or not asked:
            asked = last
        elif isinstance(last, str) and last.strip() and not _has_asked(asked, last):
            asked = [*(asked if is_messages(asked) else user_turns(asked)), {"role": "user", "content": last}]
        if isinstance(asked, str):
            row.prompt = asked
        elif is_messages(asked):
            row.messages = self._asked_turns(place, fields, objects(asked), row)
        else:
            row.messages = user_turns(asked)
        system_text = self.text(fields, Holds.SYSTEM_TEXT)
        if system_text:
            turns = row.messages if isinstance(row.messages, list) else user_turns([row.prompt])
            is_there = bool(turns) and role_of(turns[0]) == "system"
            row.messages = turns if is_there else [{"role": "system", "content": system_text}, *turns]
            row.prompt = ""

    def _prompt(self, fields: JsonObject, row: CaseRecord) -> str | list[object]:
        """Return a prompt, or its turns."""
        value = self.value(fields, Holds.PROMPT)
        if isinstance(value, str) and value[:1] == "{":
            value = parsed(value)
        if not isinstance(value, str) or value[:1] == "[":
            turns = in_one_list(parsed(value))
            if isinstance(turns, list) and turns and (is_messages(turns) or not isinstance(value, str)):
                return turns if len(turns) > 1 or is_messages(turns) else as_text(turns[0])
        if isinstance(value, dict) and (text := names.text_in(value)):
            rest = {key: entry for key, entry in details(value, ()).items() if entry != text}
            row.metadata |= {self.one[Holds.PROMPT]: rest} if rest else {}
            value = text
        prompt = as_text(value)
        if not self.one[Holds.INSTRUCTION]:
            return prompt
        instruction = as_text(self.value(fields, Holds.INSTRUCTION))
        row.metadata |= {"instruction": instruction, "question": prompt}  # judges that ask for the parts find them here
        return "\n\n".join(part for part in (instruction, prompt) if part.strip())

    def _asked_turns(
        self, place: Place, fields: JsonObject, turns: Sequence[JsonDict], row: CaseRecord
    ) -> Sequence[JsonDict]:
        """Return the turns up to the reply that a row is about; a last reply that nobody gave is the reference."""
        if self.is_responded:
            return [turn for turn in turns if role_of(turn) in ("system", "user")]
        if not ends_in_reply(turns):
            return turns
        last = content_text(content_of(turns[-1]))
        response = self.mapping.one(Holds.RESPONSE)
        if response:
            return turns[:-1] if last.strip() == content_text(parsed(fields.get(response))).strip() else turns
        if not self.has_own_replies or self.references:
            return turns
        if turns[-1].get("weight") != 0:  # of fine-tuning: not to be learnt
            row.references = [last]
            self.collector.warn("last-turn-as-reference", place)
        return turns[:-1]

    def _choices(self, fields: JsonObject) -> Choices:
        if not self.choices:
            return []
        if len(self.choices) > 1:
            return [
                (names.letter_of_choice(name)[1] or name.strip(), as_text(fields[name]))
                for name in self.choices
                if not is_missing(fields.get(name))
            ]
        return list(choices_of(parsed(fields.get(self.choices[0]))))


def names_media(column: Column) -> bool:
    """Return whether a column names videos, recordings or images: by path, address or number, not in sentences."""
    counts = column.is_numbers and not names.is_number_of(column.name) and "_" in names.compared(column.name)
    return names.is_of_media(column.name) and not counts and not column.is_sentences


def _has_asked(turns: Sequence[object], prompt: str) -> bool:
    """Return whether a conversation has a prompt in it, or the prompt its last question."""
    of_roles = [turn if isinstance(turn, dict) else user_turns([turn])[0] for turn in turns]
    said = [(role_of(turn), content_text(content_of(turn)).strip()) for turn in of_roles]
    asked = [text for role, text in said if role == "user"]
    return any(text == prompt.strip() for _, text in said) or bool(asked and asked[-1] in prompt)


def choices_of(value: object) -> Iterator[tuple[str, str]]:
    """Yield letter and text of choices: a list of texts or of objects, or lists of both in an object."""
    if isinstance(value, dict):
        entries, letters = value.get("text"), value.get("label")
        if isinstance(entries, list) and isinstance(letters, list) and len(letters) == len(entries):
            yield from zip(map(as_text, letters), map(as_text, entries), strict=True)
            return
        if are_lettered(value):
            yield from ((letter_in(str(key)), as_text(text)) for key, text in value.items())
            return
        value = entries
    for number, entry in enumerate(value if isinstance(value, list) else []):
        letter = chr(65 + number)
        if isinstance(entry, dict):
            yield as_text(entry.get("label", letter)), as_text(entry.get("text"))
        else:
            yield letter, as_text(entry)


def reference_texts(value: object, choices: Choices = ()) -> tuple[list[str] | None, bool]:
    """Return the reference answers of a value, and whether it counted the choices; None for a place that is none.

    An integer is the place of a choice from 0, a letter its place by letter; the text of a choice stands for itself.
    """
    value = parsed(value)
    entries = value if isinstance(value, list) else [value]
    if any(isinstance(entry, dict) for entry in entries):
        found = [text for entry in entries for text in _of_object(entry)]
        return list(dict.fromkeys(found)), False
    if not choices or isinstance(value, bool) or is_missing(value):
        return references(value), False
    if isinstance(value, list):
        read = [reference_texts(entry, choices) for entry in value]
        if read and all(is_place for _, is_place in read):
            return list(dict.fromkeys(text for found, _ in read for text in found or ())), True
        return references(value), False
    letters = {letter.strip().casefold(): choice for letter, choice in choices}
    if isinstance(value, str) and value.strip() in letters.values():
        return [value.strip()], False
    text = letter_in(as_text(value))
    if text.casefold() in letters:
        return [letters[text.casefold()]], True
    place = as_count(value)
    if place is None:
        return references(value), False
    return ([choices[place][1]], True) if place < len(choices) else (None, False)


def _marked(entry: object) -> dict[str, float]:
    """Return choices with their scores: of an object by choice, or with a list of both; nothing of others."""
    marks = dict(entry) if isinstance(entry, dict) else {}
    scores = listed(marks.get("labels"))
    for chosen in (listed(value) for name, value in marks.items() if scores and name != "labels"):
        if len(chosen) == len(scores):  # {"choices": […], "labels": […]}
            marks = dict(zip(map(as_text, chosen), scores, strict=True))
    kinds = {type(value) for value in marks.values()}
    are_limits = any(map(names.sums_up, marks)) or any(map(names.is_score, marks))
    return marks if (kinds == {bool} or kinds <= {int, float}) and not are_limits else {}


def _of_object(entry: object) -> list[str]:
    """Return the texts of an answer: of an object with aliases or several texts, or of a plain value; none of {}."""
    if entry == {}:
        return []
    if not isinstance(entry, dict):
        return references(entry)
    if marked := _marked(entry):
        return [choice for choice, score in marked.items() if score == max(marked.values())]
    by_key: dict[str, object] = {names.compared(str(key)): value for key, value in entry.items()}
    known = [by_key[key] for key in ("value", "text", "answer", "aliases", "answers", "spans") if by_key.get(key)]
    return [text for value in known for text in references(value)] if known else references(entry)
