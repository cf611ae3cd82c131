"""Asking a model for an answer: the plain question, the versions DIRECT, COT and EXPERT of Lunar-Bench, and your own.

A prompt that asks for the line "Final Answer:" is a reasoned one: what follows the marker is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evalsite.base.json_types import JsonDict, JsonObject
from judging.grading.answer_cleaning import REASONED_PROMPT
from judging.judges.messages.case_messages import chat_messages, with_rules
from judging.judges.prompt_texts import BadPrompt, VersionedPrompt, fill, load_prompt
from judging.llm.chat import ChatReply, ChatRequest, Message, ReplyStatus
from judging.llm.thinking_text import without_thinking
from judging.specs.types import ImageSpec

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
    turns: tuple[JsonObject, ...] = ()  # of a conversation, or of a question with images; judging.specs.turns
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
        return bool(answer_text(reply.text))
    return reply.status is ReplyStatus.FINISHED


def answer_text(text: str) -> str:
    """Return the response that a reply's text is: thinking that its server left there is no part of it."""
    return without_thinking(text)


def stop_reason_of(reply: ChatReply) -> str:
    """Return why a reply ended where it did; empty where the model did not reply at all."""
    if reply.status is ReplyStatus.FAILED and reply.error_kind not in NO_TEXT:
        return ""
    return reply.finish_reason or reply.error_kind or reply.status.value
