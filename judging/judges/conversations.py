"""Several conversations run side by side as one."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalsite.base.json_types import JsonDict, JsonObject
from judging.llm.chat import ChatReply, ChatRequest, Conversation


@dataclass(frozen=True, slots=True)
class ConversationResults:
    """The results of conversations that ran side by side."""

    results: JsonObject
    callers: tuple[str, ...]  # whose request each one was, in the order asked


def converse_together(
    conversations: Mapping[str, Conversation[Any]],
) -> Generator[tuple[ChatRequest, ...], tuple[ChatReply, ...], ConversationResults]:
    """Yield what all of them ask at the same moment as one batch; return their results by name."""
    results: JsonDict = {}
    callers: list[str] = []
    waiting: dict[str, tuple[ChatRequest, ...]] = {}
    for name, conversation in conversations.items():
        _step(conversation, None, name, waiting, results)
    while waiting:
        batch = waiting
        callers += [name for name, requests in batch.items() for _ in requests]
        replies = yield tuple(request for requests in batch.values() for request in requests)
        waiting, start = {}, 0
        for name, requests in batch.items():
            part = replies[start : start + len(requests)]
            start += len(requests)
            _step(conversations[name], part, name, waiting, results)
    return ConversationResults(results, tuple(callers))


def addressed(conversation: Conversation[Any], endpoint: str) -> Conversation[Any]:
    """Send everything that a conversation asks to one endpoint."""
    replies: tuple[ChatReply, ...] | None = None
    while True:
        try:
            requests = next(conversation) if replies is None else conversation.send(replies)
        except StopIteration as end:
            return end.value
        replies = yield tuple(replace(request, endpoint=endpoint) for request in requests)


def _step(
    conversation: Conversation[Any],
    replies: tuple[ChatReply, ...] | None,
    name: str,
    waiting: dict[str, tuple[ChatRequest, ...]],
    results: JsonDict,
) -> None:
    """Take one conversation on to its next requests, or to its end."""
    try:
        waiting[name] = next(conversation) if replies is None else conversation.send(replies)
    except StopIteration as end:
        results[name] = end.value
