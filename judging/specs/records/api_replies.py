"""Reads replies as the APIs of models write them: their texts, tool calls, stop reasons and tokens, and turns."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from evalsite.base.types import JsonDict, JsonObject, as_text, objects
from judging.specs.files.findings import shorten
from judging.specs.pictures import MAX_IMAGES
from judging.specs.records.collector import Collector
from judging.specs.records.document_tables import with_rows
from judging.specs.records.names import FAILED_STATUS, Holds, rank
from judging.specs.records.neutral import Place, ResponseRecord
from judging.specs.records.parts import Part, Row
from judging.specs.records.values import (
    as_count,
    at,
    content_text,
    first_count,
    first_text,
    in_one_list,
    is_messages,
    is_missing,
    parsed,
    reply_in,
)
from judging.specs.turns import MAX_TURNS, RowMessage, content_of, role_of

_LEFT_OUT = frozenset({"reasoning", "thinking", "redacted_thinking"})  # parts that nobody is shown
_CALLS = frozenset({"tool_use", "function_call", "server_tool_use", "tool-call"})
_RESULTS = frozenset({"tool_result", "function_call_output", "tool-result"})
_TOKENS = ("usage.completion_tokens", "usage.output_tokens", "usage.outputTokens", "usageMetadata.candidatesTokenCount")
_STOPS = ("stop_reason", "stopReason", "finish_reason", "done_reason", "incomplete_details.reason")
_ONE_TURN = ("message", "output.message")  # where APIs without choices have it
_ENTRIES = (("choices", {"message", "text"}), ("candidates", {"content"}), ("output", {"type"}), ("content", {"type"}))
_IDS = ("id", "key")
OF_REPLIES = frozenset(  # fields of a reply
    {*_IDS, "object", "type", "role", "model", "modelVersion", "choices", "candidates", "output", "message"}
    | {"content", "usage", "usageMetadata", "eval_count", "error", *_STOPS, "incomplete_details", "stop_sequence"}
)
_MARKS = ('"choices"', '"candidates"', '"response"', '"assistant"')  # one of which each printed reply has


def is_api_reply(value: object) -> TypeGuard[JsonDict]:
    """Return whether a value is a reply of an API: choices, candidates, items, a message or an error."""
    if not isinstance(value, dict):
        return False
    has_entries = any(
        entries and not any(map(keys.isdisjoint, entries))
        for entries, keys in ((objects(value.get(name)), keys) for name, keys in _ENTRIES)
    )
    turns = (value, *(at(value, path) for path in _ONE_TURN))
    said = (turn.get("content") for turn in turns if isinstance(turn, dict) and turn.get("role") == "assistant")
    is_turn = any(content is not None for content in said)
    return has_entries or is_turn or bool(error_in(value))


def error_in(body: object) -> str:
    """Return the message of the error that an API replied; empty where it replied none."""
    return first_text(at(body, "error.message")) if isinstance(body, dict) else ""


def failure_in(fields: JsonObject, value: object, errors: Sequence[tuple[str, str]]) -> str:
    """Return why the sample of a row failed, as columns of errors say, each with its name as compared; empty where it
    did not."""
    for name, key in errors:
        said = fields.get(name)
        word = as_text(said).strip().lower()
        if key == "success":
            is_failure = word == "false" and is_missing(value)
        elif key == "status":
            is_failure = word in FAILED_STATUS or 400 <= (as_count(said) or 0) < 600
        else:
            is_failure = not is_missing(said) and word not in ("false", "0", "no", "[]", "{}")
        if is_failure:
            return f"{name}: {shorten(word)}" if key in ("success", "status") else shorten(as_text(said))
    return ""


def printed(value: object) -> object:
    """Return the reply of an API that a text prints whole; any other value as it is."""
    is_open = isinstance(value, str) and value.startswith("{") and any(mark in value for mark in _MARKS)
    body = parsed(value) if is_open else None
    return body if is_whole_reply(body) else value


def is_whole_reply(body: object) -> bool:
    """Return whether a value is what an API replied and nothing else can be: with its choices, type or speaker."""
    of_choices = (at(body, path) for path in ("choices.0.message", "candidates.0.content"))
    is_turn = any(at(body, f"{path}.role") == "assistant" for path in _ONE_TURN)
    is_typed = at(body, "object") == "response" or (at(body, "type"), at(body, "role")) == ("message", "assistant")
    return is_turn or is_typed or any(isinstance(found, dict) for found in of_choices)


def are_replies(part: Part) -> bool:
    """Return whether rows, or a document, are replies of an API, whatever else they say."""
    bodies = [row.fields for row in part.sample] if part.is_records else []
    return all(map(is_whole_reply, bodies)) if bodies else is_whole_reply(part.document)


def asks_beside(part: Part) -> bool:
    """Return whether the first of replies says what was asked, or of which case it is."""
    body = part.sample[0].fields if part.is_records and part.sample else part.document
    said = [name for name, value in body.items() if name not in OF_REPLIES and isinstance(value, str | list)]
    return any(rank(name, role) for name in said for role in (Holds.CASE, Holds.PROMPT, Holds.TURNS))


def replies_apart(part: Part) -> Part:
    """Return rows that are replies with more beside them, as rows of that and of the reply as one value."""

    def rows() -> Iterator[Row]:
        for row in part.rows():
            own: JsonDict = {}
            reply: JsonDict = {}
            for name, value in row.fields.items():
                (reply if name in OF_REPLIES and name not in _IDS else own)[name] = value
            yield Row(row.at, own | {"response": reply})

    return with_rows(part, rows)


def replies_of(collector: Collector, place: Place, body: JsonObject) -> list[ResponseRecord]:
    """Return the responses in a reply: one for each choice or candidate, the items of a reply, or its message."""
    system = first_text(body.get("model"), body.get("modelVersion"))
    tokens = first_count(*(at(body, path) for path in _TOKENS), body.get("eval_count"))
    stop = next((said for path in _STOPS if (said := at(body, path))), "")
    if isinstance(body.get("choices"), list):
        choices = sorted(objects(body["choices"]), key=lambda choice: first_count(choice.get("index")) or 0)
        found = [([choice.get("message") or _text_turn(choice)], choice.get("finish_reason")) for choice in choices]
    elif isinstance(body.get("candidates"), list):
        candidates = objects(body["candidates"])
        found = [([_parts_turn(candidate)], candidate.get("finishReason")) for candidate in candidates]
    elif isinstance(body.get("output"), list):
        found = [(body["output"], stop)] if body["output"] else []
    else:
        turn = next((turn for path in _ONE_TURN if isinstance(turn := at(body, path), dict)), body)
        found = [([{"role": "assistant", **turn}], stop)] if turn.get("content") is not None else []
    own = len(found) == 1
    replies = [(Messages(collector, place).turns("", turns), stop) for turns, stop in found]
    return [
        response_of(turns, system, stop, tokens if own else None)
        for turns, stop in replies
        if any("content" in turn for turn in turns)
    ]


def texts_of(value: object) -> object:
    """Return the text of a reply that is an object, or the texts of a list of such, some of which may be texts already,
    or null; any other value as it is."""
    replies = value if isinstance(value, list) else [value]
    said = [reply for reply in replies if reply is not None]
    if is_messages(value) or not any(isinstance(reply, dict) for reply in said):
        return value
    texts = [reply if isinstance(reply, str | None) else reply_in(reply) for reply in replies]
    if any(text is None and reply is not None for text, reply in zip(texts, replies, strict=True)):
        return value
    return texts if len(texts) > 1 else texts[0]


def set_reply(row: ResponseRecord, value: object) -> ResponseRecord:
    """Return the response with a text, to the last turn of a short conversation, or to a whole one."""
    turns = in_one_list(parsed(value)) if not isinstance(value, str) or value[:2] in ("[{", "[ ", "[\n") else value
    if not is_messages(turns) or not isinstance(turns, list):
        row.text = as_text(value)
    elif len(turns) <= 2 and role_of(turns[-1]) == "assistant" and not turns[-1].get("tool_calls"):
        row.text = content_text(content_of(turns[-1]))
    else:
        row.messages = turns
    return row


def _text_turn(choice: JsonObject) -> RowMessage:
    return {"role": "assistant", "content": as_text(choice.get("text"))}


def _parts_turn(candidate: JsonObject) -> RowMessage:
    """Return the turn of a candidate of Gemini; thoughts are left out."""
    parts = [part for part in objects(at(candidate, "content.parts")) if not part.get("thought")]
    shown = [
        {"type": "function_call", "name": call.get("name"), "arguments": call.get("args")}
        if isinstance(call := part.get("functionCall"), dict)
        else part
        for part in parts
    ]
    return {"role": "assistant", "content": shown}


def response_of(turns: list[RowMessage], system: str, stop: object, tokens: int | None) -> ResponseRecord:
    """Return a response: its text, with the steps where tools were called."""
    texts = ["".join(_texts(turn.get("content"))) for turn in turns if turn.get("role") == "assistant"]
    has_steps = any(turn.get("tool_calls") for turn in turns)
    return ResponseRecord(
        system=system,
        text="\n\n".join(text for text in texts if text),
        messages=turns if has_steps else None,
        stop=as_text(stop),
        completion_tokens=tokens,
    )


def _texts(content: object) -> list[str]:
    """Return the pieces of a text, which follow each other without a break."""
    return [as_text(part.get("text")) for part in objects(content)] if isinstance(content, list) else [as_text(content)]


@dataclass(slots=True)
class Messages:
    """Turns of one conversation; pictures that the file does not hold are named as left out, never fetched."""

    collector: Collector
    place: Place
    images: int = 0

    def turns(self, system: object, given: object) -> list[RowMessage]:
        """Return a system text, given apart, and the messages or items after it; a text alone is a user's turn."""
        entries = [{"role": "user", "content": given}] if isinstance(given, str) else objects(given)
        found = [turn for entry in entries for turn in self._of(entry)]
        if len(found) > MAX_TURNS:
            why = f"the first {len(found) - MAX_TURNS + 1:,} turns of a conversation of more than {MAX_TURNS}"
            self.collector.leave_out("turn", why, self.place)
            found = found[1 - MAX_TURNS :]
        text = content_text(system)
        return [{"role": "system", "content": text}, *found] if text else found

    def _of(self, entry: JsonObject) -> list[RowMessage]:
        kind = as_text(entry.get("type"))
        if kind in _CALLS:
            return [{"role": "assistant", "content": "", "tool_calls": [_call(entry)]}]
        if kind in _RESULTS:
            return [self._result(entry)]
        if kind in _LEFT_OUT or "role" not in entry:
            return []
        content = entry.get("content")
        parts = objects(content)
        results = [self._result(part) for part in parts if part.get("type") in _RESULTS]
        calls = [*(_call(call) for call in objects(entry.get("tool_calls")))]
        calls += [_call(part) for part in parts if part.get("type") in _CALLS]
        shown = [found for part in parts if (found := self._part(part)) is not None]
        if results and not shown:
            return results
        said = shown if parts else content_text(content)
        said = said or first_text(entry.get("refusal"), at(entry, "error.message"))
        is_said = said or calls or "content" in entry
        turn: RowMessage = {"role": entry["role"], "content": said} if is_said else {"role": entry["role"]}
        if entry.get("tool_call_id"):
            turn["tool_call_id"] = as_text(entry["tool_call_id"])
        if name := entry.get("name") or entry.get("function"):
            turn["name"] = as_text(name)
        if calls:
            turn["tool_calls"] = calls
        return [*results, turn]

    def _result(self, part: JsonObject) -> RowMessage:
        said = part.get("content", part.get("output"))
        return {
            "role": "tool",
            "content": content_text(said.get("value", said) if isinstance(said, dict) else said),
            "tool_call_id": first_text(part.get("tool_use_id"), part.get("call_id"), part.get("toolCallId")),
        }

    def _part(self, part: JsonObject) -> dict[str, str] | None:
        kind = as_text(part.get("type"))
        if kind in _LEFT_OUT | _CALLS | _RESULTS:
            return None
        if "image" in kind or as_text(part.get("mediaType")).startswith("image/"):
            return self.image(_address(part))
        text = part.get("text", part.get("refusal"))
        if not isinstance(text, str):  # a part of text without one is kept whole, so that nothing is lost unseen
            text = as_text(dict(part)) if kind in ("", "text") else f"[{kind}]"
        return {"type": "text", "text": text}

    def image(self, address: str) -> dict[str, str]:
        """Return a picture that the file or the upload holds; of any other its mark."""
        is_held = address.startswith("data:image/") or address in self.collector.bundle
        if is_held and self.images < MAX_IMAGES:
            self.images += 1
            return {"type": "image", "image": address}
        why = f"more than {MAX_IMAGES} of one conversation" if is_held else "the file does not hold it"
        self.collector.leave_out("image", why, self.place)
        return {"type": "text", "text": "[image]"}


def _address(part: JsonObject) -> str:
    """Return where a picture lies: a data URI, also of one that is given as base64, or an address."""
    kind = first_text(at(part, "source.media_type"), part.get("mediaType")) or "image/png"
    for data in (at(part, "source.data"), part.get("data"), at(part, "image.data")):
        if isinstance(data, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in data):
            data = b64encode(bytes(data)).decode()  # as Node.js prints bytes
        if isinstance(data, str):
            return data if ":" in data else f"data:{kind};base64,{data}"
    return first_text(at(part, "image_url.url"), part.get("image_url"), part.get("image"), at(part, "source.url"))


def _call(call: JsonObject) -> JsonDict:
    inner: JsonObject = call["function"] if isinstance(call.get("function"), dict) else call
    name = first_text(inner.get("name"), call.get("function"), call.get("toolName")) or "tool"
    arguments = inner.get("arguments", inner.get("input"))
    return {
        "id": first_text(call.get("call_id"), call.get("id"), call.get("toolCallId")),
        "name": name,
        "arguments": arguments if arguments is not None else "",
    }
