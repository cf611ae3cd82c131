"""Lines of the log as JSON, and what they say of the request."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType

from evalsite.base.types import JsonDict, JsonObject

_FACT = re.compile(r" (\w+)=%(?:\.\d)?[sdrf]")  # our messages: "area.event name=%s other=%s"
_EVENT = re.compile(rf"([\w.]+)(?:{_FACT.pattern})*")
_NOTHING: JsonObject = MappingProxyType({})
_belonging: ContextVar[JsonObject] = ContextVar("belonging", default=_NOTHING)


@contextmanager
def logged_with(**facts: object) -> Iterator[None]:
    """Write these facts on every line that is logged inside, beside those of the blocks around it."""
    before = _belonging.set({**_belonging.get(), **facts})
    try:
        yield
    finally:
        _belonging.reset(before)


def request_id() -> str:
    """Return the name of the request that is being answered; empty outside of one."""
    return str(_belonging.get().get("request_id", ""))


class TextLines(logging.Formatter):
    """Writes a line for people: time, level, logger, message, then what it belongs to."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """Return the first line of a record."""
        said = _said(record)
        facts = {name: value for name, value in _belonging.get().items() if name not in said}
        return " ".join([super().formatMessage(record), *(f"{name}={value}" for name, value in facts.items())])


class JsonLines(logging.Formatter):
    """Writes one object a line: time (UTC), level, logger, event or message, its facts, what it belongs to, a trace."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: JsonDict = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            **_said(record),
        }
        line = {**_belonging.get(), **line}
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def _said(record: logging.LogRecord) -> JsonDict:
    """Return the event and facts of one of our messages; of others the text."""
    found = _EVENT.fullmatch(record.msg) if isinstance(record.msg, str) else None
    if found is None or not isinstance(record.args, tuple):
        return {"message": record.getMessage()}
    return {"event": found[1], **dict(zip(_FACT.findall(str(record.msg)), record.args, strict=False))}
