"""Conversations as rows bring them, in one form: turns with a role and parts, tool calls and what tools returned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from evalsite.base.types import JsonObject
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Findings, error_rule, shorten, warning_rule
from judging.specs.pictures import MAX_IMAGES, TOO_MANY_IMAGES, ImageSource, read_images
from judging.specs.types import ROLE_WORDS, ImageSpec, StoredTurn, TurnPart, heading_of

BAD_MESSAGES = error_rule(
    "bad-messages", 'Write a list of messages, each as {"role": "user", "content": "…"} with a text or a list of parts.'
)
LEFT_OUT_AUDIO = warning_rule("left-out-audio", "Recordings are not stored. A transcript as text is.")
MAX_TURNS = 500
MESSAGE_FIELDS = ("messages", "conversation", "conversations")
RESPONSE_MESSAGE_FIELDS = ("response_messages",)
ROLES: Mapping[str, str] = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human", "prompter", "customer", "usuario", "用户", "ユーザー", "사용자"), "user"),
    **dict.fromkeys(("assistant", "ai", "gpt", "model", "bot", "chatbot", "agent", "sys", "asistente"), "assistant"),
    **dict.fromkeys(("function_call", "assistente", "助手", "アシスタント"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation", "environment"), "tool"),
}


class RowMessage(TypedDict, total=False):
    """A turn in the form of chat completions, which is read as any that rows bring."""

    role: str
    content: Any  # a text or a list of parts
    tool_calls: list[Any]
    tool_call_id: str
    name: str


def raw_role_of(turn: JsonObject) -> str:
    """Return who speaks in a turn, as it says it itself."""
    keys = ("role", "from", "speaker", "author", "sender", "rol", "角色", *(("type",) if "content" in turn else ()))
    return str(next((turn[key] for key in keys if key in turn), ""))


def role_of(turn: JsonObject) -> str:
    """Return the role of a turn as it is stored: system, user, assistant or tool. An "Agent (Thought)" is an agent."""
    return ROLES.get(raw_role_of(turn).partition(" (")[0].strip().lower(), "")


_CONTENTS = ("content", "value", "prompt", "text", "parts", "message", "utterance", "mensaje", "contenido", "内容")
_AUDIO_PARTS = frozenset({"audio", "audio_url", "input_audio", "output_audio"})
_IMAGE_PARTS = frozenset({"image", "image_url", "input_image"})


@dataclass(frozen=True, slots=True)
class ReadTurns:
    """A conversation with the images that it shows."""

    messages: tuple[StoredTurn, ...]
    images: tuple[ImageSpec, ...]

    @property
    def text(self) -> str:
        return plain_text(self.messages)


def content_of(turn: JsonObject) -> object:
    """Return what a turn says, under the name that its tool has for it; None where it says nothing."""
    return next((turn[key] for key in _CONTENTS if key in turn), None)


def read_turns(bundle: Bundle, findings: Findings, source: ImageSource, value: object) -> ReadTurns | None:
    """Return a conversation in the one form; None, with findings, where it cannot be read."""
    reader = _TurnReader(bundle, findings, source)
    if not isinstance(value, list) or not value or len(value) > MAX_TURNS:
        reader.report(f"{source.owner}: `messages` must be a list of 1 to {MAX_TURNS} messages.", value)
        return None
    turns = [reader.turn(entry, number) for number, entry in enumerate(value, start=1)]
    if len(reader.images) > MAX_IMAGES:
        message = f"{source.owner} has {len(reader.images)} images; {MAX_IMAGES} at most."
        findings.add(TOO_MANY_IMAGES, source.file, source.location, message)
        return None
    read_messages = tuple(turn for turn in turns if turn is not None)
    return ReadTurns(read_messages, tuple(reader.images)) if len(read_messages) == len(turns) else None


def plain_text(messages: Sequence[StoredTurn]) -> str:
    """Return a conversation as text, each turn under its role; a single turn without calls is its text alone."""
    if len(messages) == 1 and not messages[0].get("calls"):
        return text_of(messages[0])
    return "\n\n".join(f"{heading_of(turn)}:\n{text_of(turn)}".strip() for turn in messages)


def text_of(turn: StoredTurn) -> str:
    """Return a turn as text: images by their numbers, calls with their arguments."""
    lines = [part["text"] if "text" in part else f"[image {part['image'] + 1}]" for part in turn["parts"]]
    lines += [f"[calls {call['name']}({call['arguments']})]" for call in turn.get("calls", ())]
    return "\n".join(lines)


@dataclass(slots=True)
class _TurnReader:
    bundle: Bundle
    findings: Findings
    source: ImageSource
    images: list[ImageSpec] = field(default_factory=list)

    def report(self, message: str, offending: object) -> None:
        """Note what is wrong with the conversation."""
        self.findings.add(BAD_MESSAGES, self.source.file, self.source.location, message, shorten(offending))

    def turn(self, entry: object, number: int) -> StoredTurn | None:
        """Return one turn; None, with a finding, where it cannot be read."""
        if not isinstance(entry, dict):
            self.report(f"{self.source.owner}: message {number} is no object.", entry)
            return None
        role = role_of(entry)
        if not role:
            words = ", ".join(ROLE_WORDS)
            self.report(f"{self.source.owner}: the role of message {number} is none of {words}.", raw_role_of(entry))
            return None
        content = content_of(entry)
        parts = [part for entry_part in _listed(content) for part in self._part(entry_part, number)]
        turn: StoredTurn = {"role": role, "parts": parts}
        calls = [tool_call for call in _listed(entry.get("tool_calls")) if (tool_call := self._call(call, number))]
        if calls:
            turn["calls"] = calls
        own_role = raw_role_of(entry)
        if call_id := _text_at(entry, "tool_call_id"):
            turn["call_id"] = call_id
        if name := _text_at(entry, "name") or (own_role if "(" in own_role else ""):
            turn["name"] = name
        if not parts and not calls:
            if content == "":
                turn["parts"] = [{"text": ""}]
                return turn
            self.report(f"{self.source.owner}: message {number} has no content.", entry)
            return None
        return turn

    def _part(self, part: object, number: int) -> list[TurnPart]:
        if isinstance(part, str):
            return [{"text": part}]
        if isinstance(part, dict):
            kind = str(part.get("type", ""))
            if isinstance(part.get("text"), str):
                return [{"text": part["text"]}]
            if kind in _AUDIO_PARTS or "input_audio" in part or "audio" in part:
                message = f"{self.source.owner}: a recording in message {number} is left out."
                self.findings.add(LEFT_OUT_AUDIO, self.source.file, self.source.location, message)
                return [{"text": "[audio left out]"}]
            if kind in _IMAGE_PARTS or "image" in part or "image_url" in part:
                images = read_images(self.bundle, self.findings, self.source, [part])
                self.images += images
                return [{"image": len(self.images) - len(images) + index} for index in range(len(images))]
        self.report(f"{self.source.owner}: a part of message {number} is neither text nor image.", part)
        return []

    def _call(self, call: object, number: int) -> dict[str, str] | None:
        function: Any = call.get("function", call) if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict) or not isinstance(function.get("name"), str):
            self.report(f"{self.source.owner}: a tool call of message {number} has no name.", call)
            return None
        raw_arguments = function.get("arguments", "")
        arguments = raw_arguments if isinstance(raw_arguments, str) else json.dumps(raw_arguments, ensure_ascii=False)
        return {"id": str(call.get("id", "")), "name": function["name"], "arguments": arguments}


def _text_at(entry: JsonObject, name: str) -> str:
    return entry[name] if isinstance(entry.get(name), str) else ""


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]
