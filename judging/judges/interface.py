"""What every judge can do."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from evalsite.base.json_types import JsonObject
from judging.judges.prompt_texts import VersionedPrompt
from judging.judges.scores import JudgeScore
from judging.judges.subjects import JudgeSubject
from judging.judges.verdicts import JudgeVerdict
from judging.llm.chat import ChatReply, ChatRequest, Message


class Judge(Protocol):
    """A judge is frozen: the same options and subject always ask the same."""

    @property
    def prompt(self) -> VersionedPrompt: ...

    def build_messages(self, subject: JudgeSubject) -> tuple[Message, ...]: ...

    def request(self, subject: JudgeSubject) -> ChatRequest: ...

    def parse_reply(self, text: str, subject: JudgeSubject) -> JudgeVerdict: ...

    def converse(
        self, subject: JudgeSubject
    ) -> Generator[tuple[ChatRequest, ...], tuple[ChatReply, ...], JudgeVerdict]: ...

    def score(self, value: JsonObject, subject: JudgeSubject) -> JudgeScore: ...
