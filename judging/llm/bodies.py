"""Request bodies in the chat-completions format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evalsite.base.json_types import JsonDict, JsonObject
from judging.llm.chat import ChatRequest, Message, kept_message, sent_message
from judging.llm.endpoints import Capabilities, EndpointConfig

LIMIT_NAMES = ("max_tokens", "max_completion_tokens")  # the second where the first is refused
SEED_NAMES = ("seed", "random_seed")  # the second is Mistral's


@dataclass(frozen=True, slots=True)
class Body:
    """A request body, the optional fields that it relies on, and the body for the ledger.

    `sent` leaves the messages out where they are those of the request, since the ledger has them already.
    """

    content: bytes
    used: frozenset[str]
    sent: JsonObject


def build_body(
    endpoint: EndpointConfig, request: ChatRequest, capabilities: Capabilities, *, max_tokens: int | None
) -> Body:
    """Return the JSON to post; what the endpoint is known to refuse is left out or replaced.

    json_schema falls back to json_object and that to nothing, the names of limit and seed to their other spelling, and
    the system's message into the user's.
    """
    fields: JsonDict = {"model": endpoint.model}
    for name in ("temperature", "top_p"):
        value = getattr(request, name)
        if value is not None and getattr(capabilities, name) is not False:
            fields[name] = value
    fields |= _named_value(SEED_NAMES, request.seed, capabilities) | _named_value(LIMIT_NAMES, max_tokens, capabilities)
    used = set(fields) - {"model"}
    if request.top_logprobs and capabilities.logprobs is not False:
        fields |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        used.add("logprobs")
    streaming = _streaming(endpoint, capabilities)
    fields |= streaming
    used |= set(streaming)
    response_format = _response_format(request.response_format, capabilities)
    if response_format is not None:
        fields["response_format"] = response_format
        used.add(str(response_format.get("type")))
    messages = request.messages
    if any(message.role == "system" for message in messages):
        if capabilities.system_role is False:
            messages = folded(messages)
        else:
            used.add("system_role")
    return _body(
        {**endpoint.extra, **request.extra, **fields},
        messages,
        request,
        frozenset(used) & frozenset(Capabilities.__slots__),
    )


def _body(fields: JsonDict, messages: Sequence[Message], request: ChatRequest, used: frozenset[str]) -> Body:
    sent_messages = [sent_message(message) for message in messages]
    content = json.dumps({**fields, "messages": sent_messages}, separators=(",", ":"), default=dict).encode()
    stored = {} if messages is request.messages else {"messages": [kept_message(message) for message in messages]}
    return Body(content, used, {**fields, **stored})


def _streaming(endpoint: EndpointConfig, capabilities: Capabilities) -> JsonDict:
    """Return what asks for a stream and for its usage; nothing where the reply is to come at once."""
    if not endpoint.is_streamed(capabilities):
        return {}
    usage = {} if capabilities.stream_options is False else {"stream_options": {"include_usage": True}}
    return {"stream": True, **usage}


def _named_value(names: tuple[str, str], value: int | None, capabilities: Capabilities) -> dict[str, int]:
    """Return the value under the first name that the endpoint is not known to refuse; nothing where it refuses both."""
    if value is None:
        return {}
    usable_names = [name for name in names if getattr(capabilities, name) is not False]
    return {usable_names[0]: value} if usable_names else {}


def folded(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages with the system's text at the head of the first message of the user."""
    rules = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    first = next((index for index, message in enumerate(others) if message.role == "user"), None)
    if first is None:
        return (Message("user", "\n\n".join(rules)), *others)
    others[first] = replace(others[first], content="\n\n".join([*rules, others[first].content]))
    return tuple(others)


def _response_format(wanted_format: JsonObject | None, capabilities: Capabilities) -> JsonObject | None:
    if wanted_format is None:
        return None
    if wanted_format.get("type") == "json_schema" and capabilities.json_schema is False:
        wanted_format = {"type": "json_object"}
    if wanted_format.get("type") == "json_object" and capabilities.json_object is False:
        return None
    return wanted_format
