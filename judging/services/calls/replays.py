"""How far conversations get on replies that earlier runs have paid for, before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from judging.llm.chat import ChatReply, ChatRequest, Conversation
from judging.llm.identity import call_key
from judging.selectors.targets import Target
from judging.services.calls import ledger


@dataclass(slots=True)
class Replay:
    """What a conversation asked, up to the first question that has no reply yet."""

    conversation: Conversation[Any]
    replied: list[ChatRequest] = field(default_factory=list)  # their replies are there, in the order asked
    unpaid: tuple[ChatRequest, ...] = ()  # asked next, and by nobody before; empty: it ends without a new call
    waiting: tuple[ChatRequest, ...] = ()

    def go_on(self, replies: tuple[ChatReply, ...] | None) -> None:
        """Send the conversation the replies it waits for; None begins it."""
        try:
            self.waiting = next(self.conversation) if replies is None else self.conversation.send(replies)
        except StopIteration:
            self.waiting = ()


def replay(conversations: Sequence[Conversation[Any]], targets: Mapping[str, Target], *, at: datetime) -> list[Replay]:
    """Hold conversations side by side with stored replies, as far as these go; `targets` by the endpoints they name.

    The ledger is asked once for each step of the longest one, and 500 questions.
    """
    replays = [Replay(conversation) for conversation in conversations]
    for each in replays:
        each.go_on(None)
    while asking := [each for each in replays if each.waiting and not each.unpaid]:
        keys = [[call_key(targets[request.endpoint].config, request) for request in each.waiting] for each in asking]
        stored = ledger.find_finished([key for batch in keys for key in batch], at=at)
        for each, batch in zip(asking, keys, strict=True):
            keyed = list(zip(each.waiting, batch, strict=True))
            each.replied += [request for request, key in keyed if key in stored]
            each.unpaid = tuple(request for request, key in keyed if key not in stored)
            if not each.unpaid:
                each.go_on(tuple(ledger.reply_of(stored[key]) for key in batch))
    return replays
