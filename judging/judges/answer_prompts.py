"""Asking a model for an answer: the plain question, the versions DIRECT, COT and EXPERT of Lunar-Bench, and your own.

A prompt that asks for the line "Final Answer:" is a reasoned one: what follows the marker is the answer.

A case as chat messages: turns keep their roles, images are parts, tool calls and their results are fields.

Providers take images in the messages of a user alone. What an assistant or a tool showed stands in its text as
"[image 1]", and the image itself leads the next message of the user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from evalsite.base.types import JsonDict, JsonObject
from judging.grading.grades import REASONED_PROMPT
from judging.judges.subjects import BadPrompt, VersionedPrompt, fill, load_prompt
from judging.llm.chat import ChatReply, ChatRequest, Message, MessagePart, ReplyStatus, without_thinking
from judging.specs.turns import text_of
from judging.specs.types import ImageSpec, StoredTurn, TurnPart, heading_of

USER = "user"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what providers take as the name of who speaks


def turns_of(text: str, images: Sequence[JsonObject], messages: Sequence[StoredTurn]) -> tuple[StoredTurn, ...]:
    """Return a case as turns: its conversation, or its text as one turn of the user.

    Images that no turn shows end the last turn of the user.
    """
    turns: list[StoredTurn] = list(messages) or [{"role": USER, "parts": [{"text": text}]}]
    shown = {part.get("image") for turn in turns for part in turn["parts"]}
    further: list[TurnPart] = [{"image": index} for index in range(len(images)) if index not in shown]
    index = asking_turn_index(turns)
    if further and index is None:
        turns.append({"role": USER, "parts": further})
    elif further and index is not None:
        turns[index] = {**turns[index], "parts": [*turns[index]["parts"], *further]}
    return tuple(turns)


def without_images(turns: Sequence[StoredTurn]) -> tuple[StoredTurn, ...]:
    """Return turns for a model that cannot see: "[image 1]" stands where the first image is."""
    return tuple(
        {**turn, "parts": [{"text": text_of({"role": USER, "parts": [part]})} for part in turn["parts"]]}
        for turn in turns
    )


def asking_turn_index(turns: Sequence[StoredTurn]) -> int | None:
    """Return where the turn is that asks: the last one of the user; None where the user says nothing."""
    return max((index for index, turn in enumerate(turns) if turn["role"] == USER), default=None)


def chat_messages(
    turns: Sequence[StoredTurn], images: Sequence[ImageSpec], *, question: str, prompt: str
) -> tuple[Message, ...]:
    """Return what a model is sent of a case.

    `prompt` is what a prompt makes of `question`, which is the text of the turn that asks. Where it is the same, that
    turn is sent as it is; else it stands in its place, and the images of the turn follow it.
    """
    writer = _Writer(images)
    asking_index = asking_turn_index(turns)
    for number, turn in enumerate(turns):
        if number == asking_index and prompt != question:
            writer.ask(prompt, turn)
        else:
            writer.add(turn)
    if asking_index is None and prompt:
        writer.ask(prompt, {"role": USER, "parts": []})
    writer.end()
    return tuple(writer.messages)


def with_rules(messages: Sequence[Message], rules: str) -> tuple[Message, ...]:
    """Return messages that a system's own rules lead; many servers take one message of the system, at the start."""
    if not rules:
        return tuple(messages)
    if messages and messages[0].role == "system" and not messages[0].parts:
        return (replace(messages[0], content=f"{rules}\n\n{messages[0].content}"), *messages[1:])
    return (Message("system", rules), *messages)


@dataclass(slots=True)
class _Writer:
    images: Sequence[ImageSpec]
    messages: list[Message] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)  # places of images for the next message of the user
    open_calls: list[JsonDict] = field(default_factory=list)  # that no tool has answered
    call_count: int = 0

    def add(self, turn: StoredTurn) -> None:
        """Write a turn as it is."""
        if turn["role"] == USER:
            self._add_user(turn)
        elif turn["role"] == "tool":
            self._add_result(turn)
        else:
            calls = [self._call(call) for call in turn.get("calls", ())]
            extra: JsonDict = {**_name_of(turn), **({"tool_calls": calls} if calls else {})}
            self.messages.append(Message(turn["role"], _result_text(turn), extra=extra))
            self._keep_images(turn)

    def ask(self, text: str, turn: StoredTurn) -> None:
        """Write a prompt in place of a turn, and the images of the turn after it."""
        places = [part["image"] for part in turn["parts"] if "image" in part]
        lead, self.waiting = self._labelled(self.waiting), []
        shown = self._labelled(places) if len(places) > 1 else tuple(map(self._image, places))
        self.messages.append(
            Message(USER, "", (*lead, MessagePart(text), *shown), _name_of(turn))
            if lead
            else Message(USER, text, shown, _name_of(turn))
        )

    def end(self) -> None:
        """Write the images that no message of the user has followed."""
        if self.waiting:
            self.messages.append(Message(USER, "", self._labelled(self.waiting)))
            self.waiting = []

    def _add_user(self, turn: StoredTurn) -> None:
        lead, self.waiting = self._labelled(self.waiting), []
        parts = tuple(
            MessagePart(part["text"]) if "text" in part else self._image(part["image"]) for part in turn["parts"]
        )
        extra = _name_of(turn)
        if not lead and all("text" in part for part in turn["parts"]):
            self.messages.append(Message(USER, text_of(turn).strip(), extra=extra))
        elif not lead and parts and not parts[0].digest:
            self.messages.append(Message(USER, parts[0].text.strip(), parts[1:], extra))
        else:
            self.messages.append(Message(USER, "", (*lead, *parts), extra))

    def _add_result(self, turn: StoredTurn) -> None:
        call_id = self._answered(turn)
        if call_id:
            self.messages.append(Message("tool", _result_text(turn), extra={"tool_call_id": call_id}))
        else:  # servers refuse the result of a call that nobody made
            self.messages.append(Message(USER, f"{heading_of(turn)}:\n{_result_text(turn)}"))
        self._keep_images(turn)

    def _call(self, call: Mapping[str, str]) -> JsonDict:
        self.call_count += 1
        sent = {
            "id": call["id"] or f"call_{self.call_count}",
            "type": "function",
            "function": {"name": call["name"], "arguments": call["arguments"]},
        }
        self.open_calls.append(sent)
        return sent

    def _answered(self, turn: StoredTurn) -> str:
        """Return the id of the call that a tool answers: the one it names, else the oldest of its name, else of all."""
        call_id, name = turn.get("call_id"), turn.get("name")
        fitting = [call for call in self.open_calls if call_id is not None and call["id"] == call_id]
        if call_id is None:
            fitting = [call for call in self.open_calls if call["function"]["name"] == name] or self.open_calls[:1]
        if not fitting:
            return ""
        self.open_calls.remove(fitting[0])
        return str(fitting[0]["id"])

    def _keep_images(self, turn: StoredTurn) -> None:
        self.waiting += [part["image"] for part in turn["parts"] if "image" in part]

    def _labelled(self, indexes: Sequence[int]) -> tuple[MessagePart, ...]:
        return tuple(part for index in indexes for part in (MessagePart(f"[image {index + 1}]"), self._image(index)))

    def _image(self, index: int) -> MessagePart:
        image = self.images[index]
        return MessagePart(digest=image.digest, media_type=image.media_type)


def _result_text(turn: StoredTurn) -> str:
    """Return the text of a turn without its calls, which are sent as such."""
    return text_of({**turn, "calls": []})


def _name_of(turn: StoredTurn) -> dict[str, str]:
    name = turn.get("name", "")
    return {"name": name} if _NAME.fullmatch(name) else {}


PLAIN = "PLAIN"  # the question as it is
SHIPPED: Mapping[str, str] = {
    PLAIN: "worker_plain",
    "DIRECT": "worker_direct",
    "COT": "worker_cot",
    "EXPERT": "worker_expert",
}
OWN = "worker"  # what an own prompt version stands in for
PLACEHOLDERS = frozenset({"instruction", "question", "context"})
MARKER = "final answer:"
TEMPERATURE, TOP_P = 0.01, 0.1
MAX_TOKENS, REASONED_MAX_TOKENS = 3000, 8000
NO_TEXT = ("empty", "finish-reason")  # errors that are replies of the model


@dataclass(frozen=True, slots=True)
class ResponseSettings:
    """How a system asks its model."""

    prompt_version: str  # PLAIN | DIRECT | COT | EXPERT | the label of an own one
    text: str
    temperature: float | None = TEMPERATURE
    top_p: float | None = TOP_P
    max_tokens: int | None = None  # None: 3,000, or 8,000 for a reasoned prompt
    system_text: str = ""  # the message of the system; empty: none
    seed: int | None = None
    extra: JsonObject = field(default_factory=dict)  # further fields of each request, such as top_k

    @property
    def is_reasoned(self) -> bool:
        return self.prompt_version == REASONED_PROMPT or MARKER in self.text.lower()

    @property
    def cleaning(self) -> str:
        """The prompt version by whose rules the answer is cleaned."""
        return REASONED_PROMPT if self.is_reasoned else "DIRECT"

    def as_json(self) -> JsonDict:
        """Return what a run freezes of it. What is not set is left out, as it was before there was such a thing."""
        further = {"system_text": self.system_text, "seed": self.seed, "extra": dict(self.extra)}
        return {
            "prompt_version": self.prompt_version,
            "text": self.text,
            "prompt_hash": VersionedPrompt(self.prompt_version, self.text).sha256,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            **{name: value for name, value in further.items() if value not in ("", None, {})},
        }


def asking_from_json(data: JsonObject) -> ResponseSettings:
    """Return a frozen asking as it was."""
    fields = ("prompt_version", "text", "temperature", "top_p", "max_tokens")
    further = ("system_text", "seed", "extra")
    return ResponseSettings(
        **{name: data[name] for name in fields}, **{name: data[name] for name in further if name in data}
    )


def shipped_asking(prompt_version: str) -> ResponseSettings:
    """Return one of the shipped prompt versions.

    Raises:
        BadPrompt: there is none of this name.
    """
    if prompt_version not in SHIPPED:
        raise BadPrompt(
            f"There is no prompt version {prompt_version!r}; there are {', '.join(SHIPPED)} and stored versions."
        )
    text = load_prompt(SHIPPED[prompt_version]).text
    if prompt_version == PLAIN:  # the others are sampled as Lunar-Bench samples them
        return ResponseSettings(prompt_version, text, temperature=0.0, top_p=None)
    return ResponseSettings(prompt_version, text)


def check_worker_prompt(text: str) -> None:
    """Pass where a text can ask for answers.

    Raises:
        BadPrompt: it does not show the question, or names a placeholder that there is not.
    """
    placeholders = VersionedPrompt(OWN, text).placeholders
    if "question" not in placeholders:
        raise BadPrompt("The prompt must contain {{question}}; {{instruction}} and {{context}} are optional.")
    unknown = placeholders - PLACEHOLDERS
    if unknown:
        raise BadPrompt(
            f"There is no {{{{{min(unknown)}}}}}; there are {{{{instruction}}}}, {{{{question}}}} and {{{{context}}}}."
        )


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """What a model is shown of a case. Of a conversation, `question` is the turn that asks, and `turns` are all."""

    question: str
    instruction: str = ""
    context: str = ""
    turns: tuple[StoredTurn, ...] = ()  # of a conversation, or of a question with images; judging.specs.turns
    images: tuple[ImageSpec, ...] = ()
    turn_text: str = ""  # the text of the turn that asks, as it stands in `turns`


def answer_request(asking: ResponseSettings, shown: AskedQuestion, *, endpoint: str, attempt: int = 0) -> ChatRequest:
    """Return the call that asks for the answer of an attempt; each attempt is a call of its own, with its own seed."""
    values = {"instruction": shown.instruction, "question": shown.question, "context": shown.context}
    text = fill(VersionedPrompt(asking.prompt_version, asking.text), values).strip()
    usual = REASONED_MAX_TOKENS if asking.is_reasoned else MAX_TOKENS
    messages: tuple[Message, ...] = (Message("user", text),)
    if shown.turns:
        messages = chat_messages(shown.turns, shown.images, question=shown.turn_text.strip(), prompt=text)
    return ChatRequest(
        with_rules(messages, asking.system_text),
        endpoint=endpoint,
        temperature=asking.temperature,
        top_p=asking.top_p,
        max_tokens=asking.max_tokens or usual,
        seed=None if asking.seed is None else asking.seed + attempt,
        extra=asking.extra,
        sample_index=attempt,
        material={"task": "answer", "question": shown.question, "instruction": shown.instruction},
    )


def is_answer(reply: ChatReply) -> bool:
    """Whether a reply is a response: whole, or cut off behind some text."""
    if reply.status is ReplyStatus.TRUNCATED:
        return bool(without_thinking(reply.text))
    return reply.status is ReplyStatus.FINISHED


def stop_reason_of(reply: ChatReply) -> str:
    """Return why a reply ended where it did; empty where the model did not reply at all."""
    if reply.status is ReplyStatus.FAILED and reply.error_kind not in NO_TEXT:
        return ""
    return reply.finish_reason or reply.error_kind or reply.status.value
