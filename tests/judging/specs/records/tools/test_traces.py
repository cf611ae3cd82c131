"""Traces that the SDK of OpenTelemetry wrote (tests/tool_logs/writers/otel_traces.py), and what is no trace."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from judging.specs.records.files.otlp import MOST_DEPTH, BadOtlp, read_otlp
from judging.specs.records.tools.traces import NOTHING_ASKED
from tests.image_files import image
from tests.judging.specs.records.tools.uploads import Fields, kinds, read, stored, told, warned

pytestmark = pytest.mark.backend_free
WRITTEN = Path(__file__).with_name("otel_traces")
SAID = json.loads((WRITTEN / "said.json").read_text())
SPAN: Fields = {"name": "llm", "context": {"trace_id": "1", "span_id": "2"}, "parent_id": None}


def heard(document: Fields) -> dict[str, Any]:
    """Return what is stored of each trace, in the form in which the writer says it."""
    replies = {row["case"]: row for row in document["responses"]}
    facts: dict[str, Any] = {}
    for case in document["cases"]:
        id_, turns = case["id"], case.get("messages", ())
        reply = replies.get(id_, {})
        details, steps = reply.get("metadata", {}), reply.get("messages")
        facts[id_] = {
            "asked": case.get("prompt") or " / ".join(turn["text"] for turn in turns),
            "system": reply.get("system"),
            "text": reply.get("text"),
            "steps": len(steps) if steps else None,
            "tokens": details.get("completion_tokens"),
            "inputs": details.get("input_tokens"),
            "cost": details.get("cost"),
        }
    return facts


def said(traces: dict[str, Any]) -> dict[str, Any]:
    """Return what the writer says of its traces; one without an answer has no response, whose system could be named."""
    return {id_: facts if facts["text"] else facts | {"system": None} for id_, facts in traces.items()}


@pytest.mark.parametrize("name", SAID["files"])
def test_what_the_sdk_wrote_is_read_whole(name: str) -> None:
    files = {name: (WRITTEN / name).read_bytes()}

    assert heard(stored(files)) == said(SAID["traces"])
    assert kinds(files) == ["spans" if name.startswith("spans") else "otlp"]
    assert warned(files) == {"failed-sample": 1}


def test_steps_are_the_calls_of_tools_and_what_they_returned() -> None:
    document = stored({"traces.pb": (WRITTEN / "traces.pb").read_bytes()})

    steps = [told(row["messages"], "role", "text") for row in document["responses"] if row.get("messages")]

    assert steps == [
        [
            ("assistant", f"\n[calls {call}]"),
            ("tool", result),
            ("assistant", text),
        ]
        for call, result, text in (
            ('weather({"city": "Ghent"})', "rain, 9 °C", "Yes, it rains."),
            ('distance({"to": "Paris"})', "300", "It is 300 km."),
            ("add([2, 3])", "5", "Five."),
        )
    ]


def test_every_root_of_a_trace_is_a_case_and_a_span_whose_parent_is_elsewhere_is_one() -> None:
    def span(id_: str, parent: str | None, words: str) -> Fields:
        attributes = {"input.value": words, "output.value": words.upper(), "llm.model_name": "m"}
        context = {"trace_id": "t", "span_id": id_}
        return {"name": "llm", "context": context, "parent_id": parent, "attributes": attributes}

    document = stored({"spans.jsonl": [span("a", None, "one"), span("b", "elsewhere", "two"), span("c", "a", "one")]})

    assert told(document["cases"], "id", "prompt") == [("t/a", "one"), ("t/b", "two")]
    assert told(document["responses"], "case", "system", "text") == [("t/a", "m", "ONE"), ("t/b", "m", "TWO")]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("distance", [('{"to": "Paris"}', "small-2", "300")]),  # a tool, by its name
        (
            "llm",
            [
                ("How far is Paris? The tool says 300.", "small-2", "It is 300 km."),
                ("Add 2 and 3.", "small-2", "Five."),
            ],
        ),
        ("desk", [("Be short.\n\nIs it raining in Ghent?", "desk", "Yes, it rains.")]),  # an agent
        ("chat small-1", [("Be short.\n\nIs it raining in Ghent?", "desk", text) for text in ("", "Yes, it rains.")]),
    ],
)
def test_a_step_is_taken_by_its_name_with_the_system_of_the_whole(step: str, expected: list[tuple[str, ...]]) -> None:
    document = stored({"traces.pb": (WRITTEN / "traces.pb").read_bytes()}, step=step)

    asked = {
        case["id"]: case.get("prompt") or "\n\n".join(each["text"] for each in case["messages"])
        for case in document["cases"]
    }
    found = [(asked[row["case"]], row["system"], row["text"]) for row in document["responses"]]
    assert sorted(found) == sorted(each for each in expected if each[2])
    assert {row["metadata"]["step"] for row in document["responses"]} == {step}
    assert len(asked) == len(expected)


def test_a_step_that_no_span_has_names_those_that_there_are() -> None:
    reading = read({"traces.pb": (WRITTEN / "traces.pb").read_bytes()}, step="plan")

    assert reading.collected is None
    assert [finding.message for finding in reading.findings.as_tuple()] == [
        "No span of the file is called plan, nor its tool or agent. Names: invoke_agent desk, desk, chat small-1, "
        "execute_tool weather, weather, chain, distance, llm, chat small-3, openai.chat."
    ]


def test_attributes_in_objects_are_read_as_those_with_names_of_their_own() -> None:
    contents = [{"message_content": {"type": "text", "text": "A"}}]
    messages = {
        "input_messages": [{"message": {"role": "user", "contents": contents}}],
        "output_messages": [{"message": {"role": "assistant", "content": "B"}}],
    }
    row = SPAN | {"attributes": {"llm": {**messages, "model_name": "m", "token_count": {"completion": 3}}}}

    document = stored({"spans.jsonl": [row]})

    assert told(document["cases"], "prompt") == [("A",)]
    assert told(document["responses"], "system", "text", "metadata") == [
        ("m", "B", {"trace": "1", "spans": 1, "model": "m", "completion_tokens": 3})
    ]


ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}]
USAGE = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 6, "gen_ai.usage.output_tokens": 1}
TRACERS: dict[str, tuple[Fields, Fields]] = {  # the root span of a call and the call itself, as each tracer writes them
    "langfuse": (
        {
            "langfuse.observation.type": "span",
            "langfuse.observation.input": json.dumps({"args": ["2+2?"], "kwargs": {}}),
            "langfuse.observation.output": "4",
            "langfuse.experiment.item.expected_output": "four",
        },
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": json.dumps(ASKED),
            "langfuse.observation.output": json.dumps({"role": "assistant", "content": "4"}),
            "langfuse.observation.model.name": "m",
            "langfuse.observation.usage_details": json.dumps({"prompt_tokens": 6, "completion_tokens": 1}),
            "langfuse.observation.cost_details": json.dumps({"total": 0.5}),
        },
    ),
    "ai sdk": (
        {
            "ai.operationId": "ai.generateText",
            "ai.model.id": "m",
            "ai.prompt": json.dumps({"system": "Be brief.", "prompt": "2+2?"}),
            "ai.response.text": "4",
        },
        {
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.prompt.messages": json.dumps(
                [ASKED[0], {"role": "user", "content": [{"type": "text", "text": "2+2?"}]}]
            ),
            "ai.response.text": "4",
            **USAGE,
        },
    ),
    "mlflow": (
        {"mlflow.spanType": '"UNKNOWN"', "mlflow.spanInputs": json.dumps({"q": "2+2?"}), "mlflow.spanOutputs": '"4"'},
        {
            "mlflow.spanType": '"CHAT_MODEL"',
            "mlflow.spanInputs": json.dumps({"model": "m", "messages": ASKED}),
            "mlflow.spanOutputs": json.dumps({"choices": [{"message": {"role": "assistant", "content": "4"}}]}),
            "mlflow.llm.model": '"m"',
            "mlflow.chat.tokenUsage": json.dumps({"input_tokens": 6, "output_tokens": 1}),
        },
    ),
    "litellm": (
        {},
        {
            "gen_ai.input.messages": json.dumps(
                [{"role": turn["role"], "parts": [{"type": "text", "content": turn["content"]}]} for turn in ASKED]
            ),
            "gen_ai.output.messages": json.dumps(
                [{"role": "assistant", "parts": [{"type": "text", "content": "4"}], "finish_reason": "stop"}]
            ),
            "gen_ai.cost.total_cost": 0.5,
            **USAGE,
        },
    ),
}


@pytest.mark.parametrize("tracer", TRACERS)
def test_a_call_reads_the_same_whichever_tracer_wrote_it(tracer: str) -> None:
    root, call = TRACERS[tracer]
    rows = [
        SPAN
        | {"name": "answer", "attributes": root, "resource": {"attributes": {"service.name": "unknown_service:node"}}},
        SPAN | {"context": {"trace_id": "1", "span_id": "3"}, "parent_id": "2", "attributes": call},
    ]

    document = stored({"spans.jsonl": rows})

    (case,) = document["cases"]
    assert [turn["text"] for turn in case["messages"]] == ["Be brief.", "2+2?"]
    assert case["references"] == (["four"] if tracer == "langfuse" else [])
    cost = {"cost": 0.5} if tracer in ("langfuse", "litellm") else {}
    details = {"trace": "1", "spans": 2, "input_tokens": 6, "model": "m", "completion_tokens": 1} | cost
    assert told(document["responses"], "system", "text", "metadata") == [("m", "4", details)]


def test_messages_of_the_ai_sdk_have_calls_of_tools_and_pictures() -> None:
    picture = b64encode(image()).decode()
    asked = [
        {"role": "user", "content": [{"type": "file", "mediaType": "image/png", "data": picture}]},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {"a": 1}}],
        },
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "c", "output": {"type": "text", "value": "b"}}],
        },
    ]
    as_node_prints = [{"role": "user", "content": [{"type": "image", "image": {"type": "Buffer", "data": [*image()]}}]}]
    rows = [
        SPAN | {"attributes": {"ai.prompt": json.dumps({"messages": as_node_prints}), "ai.response.text": "d"}},
        SPAN
        | {
            "context": {"trace_id": "4", "span_id": "5"},
            "attributes": {"ai.prompt.messages": json.dumps(asked), "ai.response.text": "c"},
        },
    ]

    document = stored({"spans.jsonl": rows})

    assert [turn["text"] for case in document["cases"] for turn in case["messages"]] == ["[image 1]", "[image 1]"]
    assert [told(row["messages"], "role", "text") for row in document["responses"] if row.get("messages")] == [
        [("assistant", '\n[calls f({"a": 1})]'), ("tool", "b"), ("assistant", "c")]
    ]


def test_what_has_neither_agent_nor_model_nor_service_is_named_after_its_root_span() -> None:
    row = SPAN | {"name": "desk", "resource": {"attributes": {"service.name": "unknown_service:python"}}}
    row |= {"attributes": {"langfuse.observation.input": "A?", "langfuse.observation.output": "B"}}

    assert told(stored({"spans.jsonl": [row]})["responses"], "system", "text") == [("desk", "B")]


def test_spans_whose_parents_go_round_in_a_circle_are_no_case_and_end() -> None:
    rows = [SPAN | {"context": {"trace_id": "t", "span_id": a}, "parent_id": b} for a, b in (("a", "b"), ("b", "a"))]

    assert [finding.message for finding in read({"spans.jsonl": rows}).findings.as_tuple()] == [NOTHING_ASKED]


@pytest.mark.parametrize("rows", [{"resourceSpans": [{"scopeSpans": []}]}, [SPAN], [SPAN | {"attributes": {"a": 1}}]])
def test_traces_that_say_nothing_of_a_model_store_nothing_and_say_what_to_record(rows: Any) -> None:
    reading = read({"file.json": json.dumps(rows)})

    assert reading.collected is None
    assert [finding.message for finding in reading.findings.as_tuple()] == [NOTHING_ASKED]


def nested(depth: int) -> bytes:
    """Return a request whose attribute is a list in a list, and so on."""
    data = b""
    for number in (*(1, 5) * (depth // 2), 2, 9, 2, 2, 1):
        size = len(data)
        data = bytes([number << 3 | 2, *(size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14)]) + data
    return data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ""),
        (b"hello, this is text", "it is no OTLP traces in protobuf"),
        (b"\n\x05ab", "it is cut off or is no protobuf"),
        (b"\n" + b"\xff" * 11, "it is cut off or is no protobuf"),
        (b"\n\x02\x10\x01", "`scopeSpans` is of another type than in OTLP"),
        (nested(2 * MOST_DEPTH), "its values are nested too deeply"),
        (b"\0\0\0\1", "it is no OTLP traces in protobuf"),
    ],
)
def test_read_otlp_refuses_what_is_no_trace(data: bytes, words: str) -> None:
    if words:
        with pytest.raises(BadOtlp, match=words):
            list(read_otlp(data))
    reading = read({"traces.pb": data})

    assert reading.collected is None
    assert len(reading.findings.as_tuple()) == 1


def test_a_file_with_bytes_that_changed_is_read_or_refused() -> None:
    data, generator = (WRITTEN / "traces.pb").read_bytes(), random.Random(7)
    for _ in range(400):
        changed = bytearray(data[: generator.randrange(len(data))] if generator.random() < 0.5 else data)
        for place in generator.choices(range(len(changed)), k=3) if changed else ():
            changed[place] = generator.randrange(256)
        reading = read({"traces.pb": bytes(changed)})
        assert (reading.collected is None) == reading.findings.has_errors
