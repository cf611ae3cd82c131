"""Records traces of four conventions with the SDK of OpenTelemetry and writes them as OTLP and as spans.

Where OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set it sends them there as well, by the SDK's own exporter, as that variable
and its like say. It prints which files it wrote, what each trace asked, answered and counted, and how sending went.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import sys
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from openinference.semconv.trace import MessageAttributes, SpanAttributes, ToolCallAttributes
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

exporter = InMemorySpanExporter()
provider = TracerProvider(resource=Resource.create({"service.name": "weather-desk"}))
provider.add_span_processor(SimpleSpanProcessor(exporter))
tracer = provider.get_tracer("writer")
said: dict[str, dict[str, object]] = {}


def text(words: str, **part: object) -> dict[str, object]:
    return {"type": "text", "content": words, **part}


def note(span: object, **facts: object) -> None:
    """Note what the trace of a root span holds."""
    said[format(span.get_span_context().trace_id, "032x")] = facts  # type: ignore[attr-defined]


def agent() -> None:
    """An agent that calls a tool, by the GenAI conventions from 1.37."""
    asked = {"role": "user", "parts": [text("Is it raining in Ghent?")]}
    call = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Ghent"}}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rain, 9 °C"}]}
    answer = {"role": "assistant", "parts": [text("Yes, it rains.")], "finish_reason": "stop"}
    calls = [
        ([asked], {"role": "assistant", "parts": [call], "finish_reason": "tool_call"}, 21, 9),
        ([asked, {"role": "assistant", "parts": [call]}, result], answer, 40, 6),
    ]
    with tracer.start_as_current_span("invoke_agent desk") as root:
        root.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"})
        for number, (messages, reply, used, made) in enumerate(calls):
            with tracer.start_as_current_span("chat small-1") as span:
                span.set_attributes(
                    {
                        "gen_ai.operation.name": "chat",
                        "gen_ai.response.model": "small-1",
                        "gen_ai.system_instructions": json.dumps([text("Be short.")]),
                        "gen_ai.input.messages": json.dumps(messages),
                        "gen_ai.output.messages": json.dumps([reply]),
                        "gen_ai.usage.input_tokens": used,
                        "gen_ai.usage.output_tokens": made,
                        "gen_ai.response.finish_reasons": [reply["finish_reason"]],
                    }
                )
            if number == 0:
                with tracer.start_as_current_span("execute_tool weather") as span:
                    span.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"})
    prompt = "Be short. / Is it raining in Ghent?"
    note(root, asked=prompt, system="desk", text="Yes, it rains.", steps=3, tokens=15, inputs=61, cost=None)


def openinference() -> None:
    """A chain with a tool beside its call, by OpenInference."""
    ask = f"{SpanAttributes.LLM_INPUT_MESSAGES}.0."
    reply = f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0."
    with tracer.start_as_current_span("chain") as root:
        root.set_attributes(
            {
                SpanAttributes.OPENINFERENCE_SPAN_KIND: "CHAIN",
                SpanAttributes.INPUT_VALUE: "How far is Paris?",
                SpanAttributes.OUTPUT_VALUE: "It is 300 km.",
            }
        )
        with tracer.start_as_current_span("distance") as span:
            span.set_attributes(
                {
                    SpanAttributes.OPENINFERENCE_SPAN_KIND: "TOOL",
                    SpanAttributes.TOOL_NAME: "distance",
                    SpanAttributes.TOOL_PARAMETERS: json.dumps({"to": "Paris"}),
                    SpanAttributes.OUTPUT_VALUE: "300",
                }
            )
        with tracer.start_as_current_span("llm") as span:
            span.set_attributes(
                {
                    SpanAttributes.OPENINFERENCE_SPAN_KIND: "LLM",
                    SpanAttributes.LLM_MODEL_NAME: "small-2",
                    ask + MessageAttributes.MESSAGE_ROLE: "user",
                    ask + MessageAttributes.MESSAGE_CONTENT: "How far is Paris? The tool says 300.",
                    reply + MessageAttributes.MESSAGE_ROLE: "assistant",
                    reply + MessageAttributes.MESSAGE_CONTENT: "It is 300 km.",
                    SpanAttributes.LLM_TOKEN_COUNT_PROMPT: 12,
                    SpanAttributes.LLM_TOKEN_COUNT_COMPLETION: 7,
                    SpanAttributes.LLM_COST_TOTAL: 0.25,
                }
            )
    note(
        root, asked="How far is Paris?", system="small-2", text="It is 300 km.", steps=3, tokens=7, inputs=12, cost=0.25
    )


def openinference_call() -> None:
    """One call with the calls of tools in its messages, by OpenInference."""
    start = f"{SpanAttributes.LLM_INPUT_MESSAGES}."
    call = f"{start}1.{MessageAttributes.MESSAGE_TOOL_CALLS}.0."
    with tracer.start_as_current_span("llm") as root:
        root.set_attributes(
            {
                SpanAttributes.OPENINFERENCE_SPAN_KIND: "LLM",
                SpanAttributes.LLM_MODEL_NAME: "small-2",
                f"{start}0.{MessageAttributes.MESSAGE_ROLE}": "user",
                f"{start}0.{MessageAttributes.MESSAGE_CONTENT}": "Add 2 and 3.",
                f"{start}1.{MessageAttributes.MESSAGE_ROLE}": "assistant",
                call + ToolCallAttributes.TOOL_CALL_ID: "t1",
                call + ToolCallAttributes.TOOL_CALL_FUNCTION_NAME: "add",
                call + ToolCallAttributes.TOOL_CALL_FUNCTION_ARGUMENTS_JSON: "[2, 3]",
                f"{start}2.{MessageAttributes.MESSAGE_ROLE}": "tool",
                f"{start}2.{MessageAttributes.MESSAGE_CONTENT}": "5",
                f"{start}2.{MessageAttributes.MESSAGE_TOOL_CALL_ID}": "t1",
                f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0.{MessageAttributes.MESSAGE_ROLE}": "assistant",
                f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0.{MessageAttributes.MESSAGE_CONTENT}": "Five.",
            }
        )
    note(root, asked="Add 2 and 3.", system="small-2", text="Five.", steps=3, tokens=None, inputs=None, cost=None)


def events() -> None:
    """A call whose messages are events, by the GenAI conventions 1.28 to 1.36."""
    with tracer.start_as_current_span("chat small-3") as root:
        root.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.request.model": "small-3"})
        root.set_attributes({"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2})
        root.add_event("gen_ai.user.message", {"content": "Say one."})
        root.add_event(
            "gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": json.dumps({"content": "One."})}
        )
    note(root, asked="Say one.", system="small-3", text="One.", steps=None, tokens=2, inputs=5, cost=None)


def flat() -> None:
    """A call as OpenLLMetry writes it, before the conventions had messages."""
    with tracer.start_as_current_span("openai.chat") as root:
        root.set_attributes(
            {
                "gen_ai.request.model": "small-4",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "Say two.",
                "gen_ai.completion.0.role": "assistant",
                "gen_ai.completion.0.content": "Two.",
                "gen_ai.usage.prompt_tokens": 4,
                "gen_ai.usage.completion_tokens": 3,
            }
        )
    note(root, asked="Say two.", system="small-4", text="Two.", steps=None, tokens=3, inputs=4, cost=None)


def failed() -> None:
    """A call that fails and has no answer."""
    with tracer.start_as_current_span("chat small-3") as root:
        asked = [{"role": "user", "parts": [text("Say three.")]}]
        root.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(asked)})
        root.set_status(Status(StatusCode.ERROR, "429 Too Many Requests"))
    note(root, asked="Say three.", system="weather-desk", text=None, steps=None, tokens=None, inputs=None, cost=None)


def as_json(request: object) -> dict[str, object]:
    """Return a request as OTLP/JSON, whose ids are hexadecimal."""
    document = MessageToDict(request)  # type: ignore[arg-type]
    for resource in document["resourceSpans"]:
        for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
            for name in ("traceId", "spanId", "parentSpanId"):
                if name in span:
                    span[name] = base64.b64decode(span[name]).hex()
    return document


def main(folder: Path) -> None:
    """Record the traces, write them and say what they hold."""
    for record in (agent, openinference, openinference_call, events, flat, failed):
        record()
    spans = exporter.get_finished_spans()
    halves = [encode_spans(part) for part in (spans[::2], spans[1::2])]  # a trace lies in several requests
    whole = encode_spans(spans)
    written = {
        "traces.pb": whole.SerializeToString(),
        "framed.binpb": b"".join(
            struct.pack(">I", len(data)) + data for data in map(bytes, (h.SerializeToString() for h in halves))
        ),
        "traces.json": json.dumps(as_json(whole)).encode(),
        "traces.jsonl": b"\n".join(json.dumps(as_json(half)).encode() for half in halves),
        "spans.jsonl": b"\n".join(json.dumps(json.loads(span.to_json())).encode() for span in spans),
    }
    for name, data in written.items():
        (folder / name).write_bytes(data)
    sent: list[str] = []
    if os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        parts = (spans[1::2], spans[::2], spans[1::2])  # out of order, and some of them again
        sent = [OTLPSpanExporter().export(part).name for part in parts]
    print(json.dumps({"files": list(written), "traces": said, "sent": sent}))


main(Path(sys.argv[1]))
