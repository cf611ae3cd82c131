"""Judges that ask a model, and asking one question: one call, one re-ask that quotes the error, then `unparsed`."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from evalsite.base.types import JsonDict
from judging.judges.reply_text import unparsed
from judging.judges.subjects import (
    JudgeProgram,
    JudgeSubject,
    JudgeVerdict,
    VerdictStatus,
    VersionedPrompt,
    chosen_prompt,
    fill,
    load_prompt,
)
from judging.llm.chat import ChatReply, ChatRequest, Conversation, Message, MessagePart, ReplyStatus

Parse = Callable[[str], JudgeVerdict]
QUOTED_REPLY = 4000  # characters of an unreadable reply that are shown back to the judge


@dataclass(frozen=True, slots=True)
class AskingJudge(JudgeProgram):
    """A judge that sends a prompt to a model, with the options that all of them have."""

    prompt_name: ClassVar[str] = ""  # of the shipped one
    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int = 1024
    prompt_text: str = ""  # edited version of the shipped prompt
    seed: int | None = None

    @property
    def prompt(self) -> VersionedPrompt:
        """The prompt about the subject, which researchers may edit."""
        return chosen_prompt(self.prompt_name, self.prompt_text)

    @property
    def prompts(self) -> tuple[VersionedPrompt, ...]:
        """The system's text, the prompt and what an unreadable reply is asked again with."""
        return (load_prompt("system"), self.prompt, load_prompt("reask"), *self.inserted_prompts)

    @property
    def inserted_prompts(self) -> tuple[VersionedPrompt, ...]:
        """Texts that an option chooses and that are inserted into the prompt."""
        return ()

    @abstractmethod
    def build_messages(self, subject: JudgeSubject) -> tuple[Message, ...]:
        """Return what is sent for one subject."""

    @abstractmethod
    def parse_reply(self, text: str, subject: JudgeSubject) -> JudgeVerdict:
        """Return the verdict that a reply gives."""

    def messages_with(self, values: Mapping[str, str], parts: tuple[MessagePart, ...]) -> tuple[Message, ...]:
        """Return the system's text and the prompt with its placeholders filled, followed by the subject's images."""
        return (Message("system", load_prompt("system").text), Message("user", fill(self.prompt, values), parts))

    def request_with(
        self, messages: tuple[Message, ...], material: JsonDict, response_format: JsonDict | None = None
    ) -> ChatRequest:
        """Return a request with the options of the judge; a lexical baseline reads `material` in place of messages."""
        return ChatRequest(
            messages,
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            seed=self.seed,
            response_format=response_format,
            material=material,
        )


class AskingOnce(AskingJudge):
    """A judge that asks one question about a subject."""

    __slots__ = ()

    @abstractmethod
    def request(self, subject: JudgeSubject) -> ChatRequest:
        """Return the one call that judges a subject."""

    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Ask, re-ask once where the reply cannot be read, and return the verdict."""
        return ask(self.request(subject), lambda text: self.parse_reply(text, subject))


def ask(request: ChatRequest, parse: Parse) -> Conversation[JudgeVerdict]:
    """Yield the request and, where its reply cannot be read, one re-ask; return the verdict."""
    (verdict,) = yield from ask_all([(request, parse)])
    return verdict


def ask_all(questions: Sequence[tuple[ChatRequest, Parse]]) -> Conversation[list[JudgeVerdict]]:
    """Yield all requests at once, then all re-asks at once; return one verdict for each question."""
    replies = yield tuple(request for request, _ in questions)
    verdicts = [read_reply(reply, parse) for reply, (_, parse) in zip(replies, questions, strict=True)]
    again = [index for index, verdict in enumerate(verdicts) if verdict.status is VerdictStatus.UNPARSED]
    if not again:
        return verdicts
    second = yield tuple(reask(questions[i][0], replies[i], verdicts[i].reason) for i in again)
    for index, reply in zip(again, second, strict=True):
        verdict = read_reply(reply, questions[index][1])
        verdicts[index] = dataclasses.replace(
            verdict, flags=(*verdict.flags, "reasked"), raw=(replies[index].text, *verdict.raw)
        )
    return verdicts


def read_reply(reply: ChatReply, parse: Parse) -> JudgeVerdict:
    """Return the verdict of a reply. One that was cut off is not read: its last number may be half a number."""
    if reply.status is ReplyStatus.FINISHED:
        verdict = parse(reply.text)
    elif reply.status is ReplyStatus.TRUNCATED:
        verdict = unparsed("The reply was cut off before its end; be brief.", "truncated")
    else:
        status = VerdictStatus.REFUSED if reply.status is ReplyStatus.REFUSED else VerdictStatus.FAILED
        reason = reply.error_text or reply.error_kind or "The model refused to answer."
        verdict = JudgeVerdict(status, reason=reason, flags=(reply.error_kind,) if reply.error_kind else ())
    return dataclasses.replace(verdict, raw=(reply.text,))


def reask(request: ChatRequest, reply: ChatReply, problem: str) -> ChatRequest:
    """Return the same question with the unreadable reply and what was wrong with it.

    A reply that was cut off had its limit doubled once already; the question keeps that limit.
    """
    shown = reply.text[:QUOTED_REPLY] or "(no text)"
    text = fill(load_prompt("reask"), {"problem": problem})
    messages = (*request.messages, Message("assistant", shown), Message("user", text))
    limit = reply.token_limit if reply.status is ReplyStatus.TRUNCATED else None
    return dataclasses.replace(request, messages=messages, max_tokens=limit or request.max_tokens)
