"""What values mean by their shape: lists printed in cells, references, conversations, numbers, missing values."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from evalsite.base.types import JsonDict, JsonObject, as_text, json_text, objects
from judging.specs.records.neutral import as_value
from judging.specs.turns import ROLES, RowMessage, content_of, role_of

_MOST_CHARACTERS = 2_000_000  # of a cell that may be a printed list
_NAMED = {"nan": None, "NaN": None, "null": None, "true": True, "false": False}
_SIDE_BY_SIDE = re.compile(r"['\"}\])]\s+(['\"{\[(]|array\()")  # without a comma
_VALUES = frozenset({tokenize.STRING, tokenize.NUMBER, tokenize.NAME})


def as_id(value: object) -> str:
    """Return an id as text, trimmed: `1.0` of a column that pandas made is `1`, MongoDB's {"$oid": "a"} is `a`."""
    text = as_text(value["$oid"] if isinstance(value, dict) and value.keys() == {"$oid"} else value).strip()
    head, dot, tail = text.partition(".")
    return head if dot and head.isdigit() and tail == "0" else text


def as_number(value: object) -> float | None:
    """Return a value as a finite number; None for everything else."""
    number = as_value(value)
    return number if isinstance(number, float) else None


def as_count(value: object) -> int | None:
    """Return a whole number from 0, also one written as `1.0`; None for everything else."""
    number = as_number(value)
    return int(number) if number is not None and number >= 0 and number == int(number) else None


def is_missing(value: object) -> bool:
    """Return whether a value says nothing: None, NaN, an empty text, NA and its spellings."""
    return as_value(value) is None if isinstance(value, str | float) or value is None else False


def object_of(value: object) -> JsonDict:
    """Return an object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def parsed(value: object) -> object:
    """Return the list or object that a cell has printed, as JSON or as Python writes it; any other value as it is."""
    if not isinstance(value, str) or len(value) > _MOST_CHARACTERS:
        return value
    text = value.strip()
    if not (text[:1] == "[" and text[-1:] == "]") and not (text[:1] == "{" and text[-1:] == "}"):
        return value
    for read in (json.loads, _printed_by_numpy, ast.literal_eval, _printed_with_names):
        try:
            result = read(text)
            if read is not json.loads:
                json_text(result)  # of sets and bytes, which are no values, it makes a TypeError
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError, tokenize.TokenError):
            continue
        if isinstance(result, list | dict | tuple):
            return list(result) if isinstance(result, tuple) else result
    return value


def _printed_by_numpy(text: str) -> object:
    """Return an array of texts or objects as numpy prints it, without commas: Python takes ['a' 'b'] for one text.

    Raises: ValueError: it is none.
    """
    if _SIDE_BY_SIDE.search(text) is None:
        raise ValueError("nothing stands side by side")
    written: list[str] = []
    before = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.string.strip():
            is_value = token.type in _VALUES or token.string in "([{"
            is_call = before is not None and before.type == tokenize.NAME and token.string == "("
            if before is not None and (before.type in _VALUES or before.string in ")]}") and is_value and not is_call:
                written.append(",")
            written.append(token.string)
            before = token
    return _printed_with_names(" ".join(written))


class _Names(ast.NodeTransformer):
    """Puts lists in the place of numpy's arrays, and values in that of names that are none in Python."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_array = isinstance(node.func, ast.Name) and node.func.id == "array" and node.args
        return self.visit(node.args[0]) if is_array else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(_NAMED[node.id]) if node.id in _NAMED else node


def _printed_with_names(text: str) -> object:
    """Return what Python writes of lists and objects with arrays or missing values in them: {'text': array(['a'])}."""
    return ast.literal_eval(_Names().visit(ast.parse(text, mode="eval")))


def printed_list(value: object) -> list[object]:
    """Return a list, also one that a cell has printed; nothing for any other value."""
    return listed(parsed(value))


def texts(value: object) -> list[str]:
    """Return passages: the texts of a list (objects by their text), or the one text; without empty ones."""
    value = parsed(value)
    inner = list(value.values()) if isinstance(value, dict) else []
    if inner and all(isinstance(entries, list) and len(entries) == len(listed(inner[0])) for entries in inner):
        value = list(map(list, zip(*map(listed, inner), strict=True)))  # {"title": […], "sentences": [[…], …]}
    entries = value if isinstance(value, list) else [value]
    found = [_passage(entry) for entry in entries]
    return [text for text in found if text.strip()]


def _passage(entry: object) -> str:
    if isinstance(entry, dict):
        for name in ("text", "content", "page_content", "passage", "value"):
            if isinstance(entry.get(name), str):
                return str(entry[name])
    if isinstance(entry, list):  # a title and its sentences
        return "\n".join(" ".join(map(str.strip, texts(part))) for part in entry)
    return as_text(entry)


def references(value: object) -> list[str]:
    """Return reference answers: any of a list is right; `null`, NaN, empty texts and "None" are none."""
    value = parsed(value)
    entries = value if isinstance(value, list) else [value]
    found = [as_text(entry) for entry in entries]
    return list(dict.fromkeys(text for text in found if text.strip() and text.strip() not in ("None", "nan", "null")))


def is_messages(value: object) -> bool:
    """Return whether a value is a list of turns, each an object with a role that is known."""
    return isinstance(value, list) and bool(value) and all(map(_is_turn, value))


def exchanges(value: object) -> object:
    """Return pairs of what was asked and replied as objects; any other value as it is."""
    pairs = [entry for entry in listed(value) if isinstance(entry, list) and list(map(type, entry)) == [str, str]]
    is_paired = bool(pairs) and len(pairs) == len(listed(value))
    return [dict(zip(("user", "assistant"), pair, strict=True)) for pair in pairs] if is_paired else value


def in_one_list(value: object) -> object:
    """Return the turns of several lists, of an object of messages alone, of a turn that calls tools, or of objects with
    a user's and an assistant's text each, in one list; any other value as it is."""
    if isinstance(value, dict) and value.get("tool_calls") and _is_turn(value):
        return [value]
    if isinstance(value, dict) and value.keys() == {"messages"} and is_messages(value["messages"]):
        return value["messages"]
    lists = [_exchange(entry) for entry in value] if isinstance(value, list) else []
    return [turn for turns in lists for turn in objects(turns)] if lists and all(map(is_messages, lists)) else value


def _exchange(entry: object) -> object:
    """Return the turns of an object such as {"user": "…", "bot": "…"}; any other value as it is."""
    if not isinstance(entry, dict):
        return entry
    asked, said = entry.get("inputs"), entry.get("outputs")
    if isinstance(asked, dict) and isinstance(said, dict):  # as prompt flow keeps them
        entry = {"user": first_text(*asked.values()), "assistant": reply_in(said) or ""}
    if [ROLES.get(str(key).lower()) for key in entry] != ["user", "assistant"]:
        return entry
    return [{"role": role, "content": content} for role, content in entry.items() if not is_missing(content)]


def _is_turn(entry: object) -> bool:
    return isinstance(entry, dict) and bool(role_of(entry))


def user_turns(entries: Iterable[object]) -> list[RowMessage]:
    """Return texts as user turns of one conversation."""
    return [{"role": "user", "content": as_text(entry)} for entry in entries]


def conversation(asked: Sequence[object], replies: Sequence[object]) -> list[RowMessage]:
    """Return user turns with the reply of the assistant behind each; `asked` may be texts or turns."""
    turns: list[RowMessage] = []
    questions: list[Any] = [dict(entry) if isinstance(entry, dict) else user_turns([entry])[0] for entry in asked]
    for number, question in enumerate(questions):
        turns.append(question)
        if number < len(replies):
            turns.append({"role": "assistant", "content": as_text(replies[number])})
    turns += [{"role": "assistant", "content": as_text(reply)} for reply in replies[len(questions) :]]
    return turns


def content_text(content: object) -> str:
    """Return the text of a turn's content: a text, the text parts of a list, or the reply in an object."""
    if isinstance(content, dict):
        return reply_in(content) or as_text(content)
    if isinstance(content, list):
        parts = [_part_text(part) if isinstance(part, dict) else part for part in content]
        return "\n".join(part for part in parts if isinstance(part, str) and part)
    return as_text(content)


def last_turn_split(value: object) -> tuple[list[RowMessage], str] | None:
    """Return what a conversation asks and its last reply; None for what does not end with the assistant."""
    if not is_messages(value):
        return None
    turns: list[RowMessage] = list(value) if isinstance(value, list) else []
    if role_of(turns[-1]) != "assistant":
        return None
    return turns[:-1], content_text(content_of(turns[-1]))


def _part_text(part: JsonObject) -> object:
    """Return the text of a part; of a part of text without one all of it, so that nothing is lost unseen."""
    return as_text(dict(part)) if part.get("type") == "text" and "text" not in part else part.get("text")


def details(fields: JsonObject, read: Collection[str]) -> JsonDict:
    """Return the fields that nothing reads, to be kept with a record; missing values are left out."""
    return {name: value for name, value in fields.items() if name not in read and _is_kept(value)}


def _is_kept(value: object) -> bool:
    return value not in (None, "") and not (isinstance(value, float) and not math.isfinite(value))


def finite(value: object) -> object:
    """Return a value of JSON without the NaN and Infinity in it, which no database takes."""
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def moment_of(text: str) -> datetime | None:
    """Return a time in ISO 8601; None for what is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def at(value: object, path: str) -> object:
    """Return what lies at a path with dots (`response.body.choices.0.message`); None where nothing does."""
    for step in path.split("."):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.lstrip("-").isdigit() and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        elif (by_name := named_numbers(value)) and step in by_name:
            value = by_name[step]
        else:
            return None
    return value


def named_numbers(value: object) -> JsonDict | None:
    """Return a list of {"name": …, "value": …} as an object by name; None for everything else."""
    found: JsonDict = {}
    for entry in value if isinstance(value, list) else ():
        name = (
            next((entry[key] for key in ("name", "metric", "metricName", "key") if key in entry), None)
            if isinstance(entry, dict)
            else None
        )
        said = [entry[key] for key in ("value", "score", "result") if key in entry] if isinstance(name, str) else []
        if not said:
            return None
        found[str(name)] = said[0]
    return found or None


_REPLIES = (  # where APIs and tools have the text of a reply
    *("choices.0.message.content", "choices.0.text", "candidates.0.content.parts.0.text", "message.content"),
    *(
        "output_text",
        "content",
        "text",
        "answer",
        "output",
        "response",
        "completion",
        "generated_text",
        "result",
        "value",
    ),
)


def reply_in(value: object) -> str | None:
    """Return the text of a reply that a tool keeps as an object; None where none of its entries is one."""
    found = next((inner for path in _REPLIES if (inner := at(value, path)) not in (None, "")), None)
    if isinstance(found, list) and all(isinstance(part, dict) and "type" in part for part in found):
        found = content_text(found)
    elif isinstance(found, list) and len(found) == 1:
        found = found[0]
    return found if isinstance(found, str) else None


def beside_text(entry: object, text: object, read: Collection[str] = ()) -> JsonDict:
    """Return what an object has beside its text and what is read, to be kept as details; nothing of other values."""
    inner = entry.items() if isinstance(entry, dict) and isinstance(text, str) else ()
    return details({key: value for key, value in inner if text not in (value, reply_in({key: value}))}, read)


def first_text(*values: object) -> str:
    """Return the first value that is a text and not empty."""
    return next((value for value in values if isinstance(value, str) and value), "")


def first_count(*values: object) -> int | None:
    """Return the first value that is a whole number from 0."""
    return next((count for value in values if (count := as_count(value)) is not None), None)


def numbered(name: str, used: Counter[str]) -> str:
    """Return a name, and its number from the second time on: contains, contains (2). `used` counts them."""
    used[name] += 1
    return f"{name} ({used[name]})" if used[name] > 1 else name


def is_choice(value: object) -> bool:
    """Return whether a value counts a choice, by number or letter; where several are right, each of a list."""
    if isinstance(value, list):
        return bool(value) and all(map(is_choice, value))
    return as_count(value) is not None or (isinstance(value, str) and len(letter_in(value)) == 1)


def letter_in(text: str) -> str:
    """Return the letter that names a choice, as B of "(B)", "B)" and "B."; any other text as it is, trimmed."""
    match = re.fullmatch(r"\(?([A-Za-z])[).:]?", text.strip())
    return match[1] if match else text.strip()


def holds_choices(value: object) -> bool:
    """Return whether a value is the choices of a row: a list, an object with a list of texts, or texts by letter."""
    is_object = isinstance(value, dict) and (isinstance(value.get("text"), list) or are_lettered(value))
    return isinstance(value, list) or is_object


def are_lettered(value: JsonDict) -> bool:
    """Return whether an object has a text under each of the first letters."""
    letters = [letter_in(key).upper() for key in map(str, value)]
    return len(letters) > 1 and letters == [chr(65 + number) for number in range(len(letters))]


def are_texts(value: object) -> bool:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and bool(value) and all(isinstance(entry, str) for entry in value)


def is_void(value: object, others: Iterable[object]) -> bool:
    """Return whether a value is a list of nothing, where others are lists of texts."""
    is_empty = isinstance(value, list) and value.count(None) == len(value)
    return is_empty and any(isinstance(entry, str) for other in others for entry in listed(other))


def are_choices(value: object) -> bool:
    """Return whether a value is a list of several texts."""
    return are_texts(value) and len(listed(value)) > 1


def are_digits(value: object) -> bool:
    """Return whether a value is what several people chose, as 2,2,0,2: no system writes that."""
    return isinstance(value, str) and re.fullmatch(r"\d(?:,\s*\d){2,}", value.strip()) is not None


def is_name(value: object) -> bool:
    """Return whether a value is words tied by signs, as names of files, templates and settings are."""
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9]+(?:[-_.:/][A-Za-z0-9]+)+", value) is not None


def is_address(value: object) -> bool:
    """Return whether a value is the address of a page."""
    return isinstance(value, str) and re.fullmatch(r"https?://\S+", value.strip()) is not None


def is_question(value: object) -> bool:
    """Return whether a value is a text with a question mark at its end."""
    return isinstance(value, str) and value.rstrip().endswith(("?", "？", "؟"))


def are_questions(texts: Collection[str]) -> bool:
    """Return whether most of several texts are questions."""
    return len(texts) > 1 and 2 * sum(map(is_question, texts)) > len(texts)


def is_list(value: object) -> bool:
    """Return whether a value is a list."""
    return isinstance(value, list)


def listed(value: object) -> list[object]:
    """Return a list as it is, and nothing for any other value."""
    return value if isinstance(value, list) else []


def holds_texts(value: object) -> bool:
    """Return whether a value is an object of texts alone."""
    return isinstance(value, dict) and bool(value) and all(isinstance(text, str) for text in value.values())


def holds_words(value: object) -> bool:
    """Return whether a value is a list of texts, some with several words."""
    return are_texts(value) and any(map(has_words, listed(value)))


def has_words(value: object) -> bool:
    """Return whether a value is a text of several words."""
    return isinstance(value, str) and len(value.split()) > 2


def is_dict_of_rows(document: JsonDict) -> bool:
    """Return whether an object has like objects alone, each under the key of a row."""
    rows = [row for row in document.values() if row]
    if len(rows) < 2 or not all(isinstance(row, dict) for row in rows):
        return False
    if len(rows) > 2 and all(map(str.isdigit, document)):
        return True
    shared = frozenset.intersection(*map(frozenset, rows))
    return 2 * len(shared) >= min(map(len, rows))


def spread(document: JsonDict) -> Iterator[tuple[str, object]]:
    """Yield the entries of a document; beside lists those of an object of lists: answers.gpt-4 beside questions."""
    is_open = any(isinstance(value, list) for value in document.values())
    for name, value in document.items():
        if is_open and isinstance(value, dict) and all(isinstance(entry, list) for entry in value.values()):
            yield from ((f"{name}.{key}", entry) for key, entry in value.items())
        else:
            yield name, value
