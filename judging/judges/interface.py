"""The interface of every judge, with what most of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from evalsite.base.json_types import JsonObject
from judging.judges.prompt_texts import VersionedPrompt
from judging.judges.subjects import JudgeSubject
from judging.judges.verdicts import JudgeScore, JudgeVerdict
from judging.llm.chat import ChatRequest, Conversation


class JudgeProgram(ABC):
    """A judge is frozen: the same options and subject always ask the same."""

    __slots__ = ()

    @property
    def prompts(self) -> tuple[VersionedPrompt, ...]:
        """Every prompt text that it sends; none where it calls no model."""
        return ()

    @abstractmethod
    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Yield what to ask, receive the replies, and return the verdict."""

    @abstractmethod
    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore:
        """Return what the value of a verdict is worth."""

    def request(self, subject: JudgeSubject) -> ChatRequest:
        """Return the first request about a subject; only of a judge that asks a model."""
        return next(self.converse(subject))[0]

    def labels(self, subject: JudgeSubject) -> Mapping[str, JsonObject]:
        """Return one-character labels with the values they stand for; empty where a verdict is no single label."""
        return {}


class ComputedJudge(JudgeProgram):
    """A judge that calls no model: its verdict follows from the subject alone."""

    __slots__ = ()

    @abstractmethod
    def verdict(self, subject: JudgeSubject) -> JudgeVerdict:
        """Return the verdict on a subject."""

    def converse(self, subject: JudgeSubject) -> Conversation[JudgeVerdict]:
        """Return the verdict without asking."""
        yield from ()
        return self.verdict(subject)
