"""Replies that come as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

A stream is put together into the reply that the endpoint would have given at once, so that both are read alike. Only
what is needed for that is kept: a stream repeats its head with every token, and thinking is as long as one likes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsite.base.json_types import JsonDict

HEAD_NAMES = ("id", "model", "system_fingerprint", "provider", "service_tier")  # who answered
REASONING_NAMES = ("reasoning", "reasoning_content", "reasoning_details")
PLAIN_STARTS = (b"{", b"[", b"<")  # how no line of a stream begins
MOST_TEXT_BYTES = 8_000_000  # of an answer, and of one event
END = "[DONE]"


class StreamTooLarge(Exception):
    """The stream holds more text than any chat completion."""


@dataclass(slots=True)
class StreamReader:
    """Puts a stream together as it comes in. A body that is no stream is kept as it is."""

    is_over: bool = False  # the endpoint said so
    plain: bytearray | None = None  # what came instead of a stream
    events: int = 0
    finish: str | None = None
    native_finish: Any = None
    error: Any = None
    usage: JsonDict | None = None
    head: JsonDict = field(default_factory=dict)
    has_choice: bool = False
    has_reasoning: bool = False
    logprobs: Any = None
    _text: list[str] = field(default_factory=list)
    _refusal: list[str] = field(default_factory=list)
    _size: int = 0
    _rest: bytes = b""
    _name: str = ""  # of the event whose lines are read
    _data: list[str] = field(default_factory=list)

    def feed(self, data: bytes) -> None:
        """Read on.

        Raises:
            StreamTooLarge: an event or the whole text is larger than any chat completion.
        """
        if self.plain is None and not self.events and not self._data:
            start = (self._rest + data).lstrip()
            if start[:1] in PLAIN_STARTS:
                self.plain, data, self._rest = bytearray(), self._rest + data, b""
        if self.plain is not None:
            self.plain += data
            self._check(len(self.plain))
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._check(len(self._rest))
        for line in lines:
            self._line(line.rstrip(b"\r").decode("utf-8", "replace"))

    def end(self) -> None:
        """Read what an endpoint left without its last line break."""
        self._line(self._rest.rstrip(b"\r").decode("utf-8", "replace"))
        self._line("")

    def payload(self) -> JsonDict:
        """Return the reply as if it had come at once; it has no finish reason where the stream broke off before."""
        if self.error is not None:
            return {**self.head, "error": self.error, "usage": self.usage}
        message: JsonDict = {"content": "".join(self._text), "refusal": "".join(self._refusal)}
        if self.has_reasoning:
            message["reasoning"] = True
        choice = {
            "message": message,
            "finish_reason": self.finish,
            "native_finish_reason": self.native_finish,
            "logprobs": self.logprobs,
        }
        return {**self.head, "choices": [choice] if self.has_choice else [], "usage": self.usage}

    def _check(self, size: int) -> None:
        if size > MOST_TEXT_BYTES:
            raise StreamTooLarge

    def _line(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            self._event("\n".join(self._data))
            self._name, self._data = "", []
        elif name == "data":
            self._data.append(value)
            self._check(sum(map(len, self._data)))
        elif name == "event":
            self._name = value  # all else, such as comments that keep the connection alive, says nothing

    def _event(self, data: str) -> None:
        if data.strip() == END:
            self.is_over = True
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return
        if isinstance(event, dict):
            self.events += 1
            self._take(event)

    def _take(self, event: JsonDict) -> None:
        error = event.get("error") or (event if self._name == "error" else None)
        self.error = self.error or error
        self.head |= {name: event[name] for name in HEAD_NAMES if event.get(name)}
        if isinstance(event.get("usage"), dict):
            self.usage = event["usage"]
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and not choice.get("index"):  # we ask for one
                self._choose(choice)

    def _choose(self, choice: JsonDict) -> None:
        self.has_choice = True
        self.error = self.error or choice.get("error")
        if choice.get("finish_reason") is not None:
            self.finish = str(choice["finish_reason"])
        self.native_finish = choice.get("native_finish_reason") or self.native_finish
        logprobs = choice.get("logprobs")
        if self.logprobs is None and isinstance(logprobs, Mapping) and logprobs.get("content"):
            self.logprobs = logprobs
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._append(delta)

    def _append(self, delta: JsonDict) -> None:
        content = delta.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for part in parts:
            if isinstance(part, dict) and part.get("type") in ("thinking", "reasoning"):
                self.has_reasoning = True
            elif isinstance(part, dict) and isinstance(part.get("text"), str):
                self._add(self._text, part["text"])
        if isinstance(delta.get("refusal"), str):
            self._add(self._refusal, delta["refusal"])
        self.has_reasoning |= any(bool(delta.get(name)) for name in REASONING_NAMES)

    def _add(self, texts: list[str], text: str) -> None:
        self._size += len(text)
        self._check(self._size)
        texts.append(text)
