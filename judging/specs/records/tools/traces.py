"""Traces of OpenTelemetry: what spans say of calls of models and tools, by the names of each convention.

The spans of a trace come in any order and in several requests, so that those of a file are held until all are read.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from evalsite.base.types import JsonDict, JsonObject, as_text, objects
from judging.specs.records.api_replies import Messages
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import CaseRecord, LogRecord, Place, ResponseRecord
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import Reply, Shape, Told, ToolRow, store
from judging.specs.records.values import as_count, as_number, at, content_text, object_of, parsed, references

MOST_SPANS = 200_000  # of a file
NOTHING_ASKED = (
    "No span of the file says what a model was asked. Have messages recorded, under gen_ai.input.messages for example."
)
NO_SUCH_STEP = "No span of the file is called {}, nor its tool or agent. Names: {}."
_NAMES_SHOWN = 12
_DEEPEST = 24  # of values in attributes
_IDS = ({"trace_id", "span_id"}, {"traceId", "spanId"}, {"context.trace_id", "context.span_id"})
_SPAN = frozenset({"name", "parent_id", "parentSpanId", "parent_span_id", "start_time", "startTimeUnixNano"})
_SPAN |= {"span_kind", "attributes"}
_EVENT_ROLES = {  # events of the GenAI conventions 1.28 to 1.36 -> the role of the turn that they hold
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE = "gen_ai.choice"
_NO_SERVICE = "unknown_service"  # what SDKs write where no name was set, with the name of the interpreter

# What is read of a span -> the attributes that say so, the newest convention first
NAMES: dict[str, tuple[str, ...]] = {
    "kind": (
        *("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "langfuse.observation.type"),
        *("mlflow.spanType", "ai.operationId"),
    ),
    "agent": ("gen_ai.agent.name", "agent.name"),
    "model": (
        *("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "langfuse.observation.model.name"),
        "mlflow.llm.model",
    ),
    "input_tokens": (
        *("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
        *(f"langfuse.observation.usage_details.{name}" for name in ("input", "prompt_tokens")),
        "mlflow.chat.tokenUsage.input_tokens",
    ),
    "output_tokens": (
        *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
        *(f"langfuse.observation.usage_details.{name}" for name in ("output", "completion_tokens")),
        "mlflow.chat.tokenUsage.output_tokens",
    ),
    "cost": (
        *("gen_ai.usage.cost", "llm.cost.total", "gen_ai.cost.total_cost"),
        "langfuse.observation.cost_details.total",
    ),
    "conversation": ("gen_ai.conversation.id", "session.id"),
    "tool": ("gen_ai.tool.name", "tool.name", "ai.toolCall.name"),
    "call": ("gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id"),
    "arguments": (
        *("gen_ai.tool.call.arguments", "tool.parameters", "ai.toolCall.args", "input.value"),
        *("langfuse.observation.input", "mlflow.spanInputs"),
    ),
    "result": (
        *("gen_ai.tool.call.result", "ai.toolCall.result", "output.value", "langfuse.observation.output"),
        "mlflow.spanOutputs",
    ),
    "stop": ("gen_ai.response.finish_reasons", "gen_ai.completion.0.finish_reason", "llm.finish_reason"),
    "system": ("gen_ai.system_instructions",),
    "expected": ("langfuse.experiment.item.expected_output",),
}
_CALLS = {"chat", "text_completion", "generate_content", "llm", "generation", "chat_model"}  # of a model
_CALLS |= {f"ai.{call}" for call in ("generatetext.dogenerate", "streamtext.dostream", "generateobject.dogenerate")}
_CALLS |= {"ai.streamobject.dostream"}
_TOOLS = {"execute_tool", "tool", "ai.toolcall"}


@dataclass(frozen=True, slots=True)
class Convention:
    """Under which attributes a convention has the messages of a call, and how it writes one of them."""

    name: str
    asked: str
    said: str
    turn: Callable[[JsonObject], JsonDict]


@dataclass(slots=True)
class TracedSpan:
    """A span, whatever it was written as. Times are in nanoseconds."""

    place: Place
    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    attributes: JsonDict
    events: list[tuple[str, JsonDict]]
    error: str
    service: str

    def get(self, what: str) -> object:
        """Return what the first of the attributes says that have this meaning; None without one."""
        found = (_attribute(self.attributes, name) for name in NAMES[what])
        return next((_unquoted(value) for value in found if value not in (None, "")), None)

    def text(self, what: str) -> str:
        """Return an attribute as text."""
        return as_text(self.get(what))

    @property
    def kind(self) -> str:
        return self.text("kind").lower()

    @property
    def names(self) -> tuple[str, ...]:
        """By what a person may name it as a step: its own name, and those of its tool and agent."""
        return tuple(name for name in (self.name, self.text("tool"), self.text("agent")) if name)

    @property
    def is_call(self) -> bool:
        return self.kind in _CALLS or (not self.kind and self.get("model") is not None)


@dataclass(slots=True)
class Spoken:
    """What a span says that was asked and said, as messages of an API."""

    span: TracedSpan
    asked: list[JsonDict] = field(default_factory=list)
    said: list[JsonDict] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return bool(self.asked and self.said)


# ------------------------------------------------------------ spans
def _is_otlp(part: Part) -> bool:
    return not {"resourceSpans", "resource_spans"}.isdisjoint((*part.columns, *part.document))


def _is_spans(part: Part) -> bool:
    contexts = [row.fields.get("context") for row in part.sample]
    has_context = bool(contexts) and all(
        isinstance(context, dict) and {"trace_id", "span_id"} <= context.keys() for context in contexts
    )
    has_ids = has_context or any(ids <= part.keys_of_all() for ids in _IDS)
    return has_ids and bool(_SPAN & part.keys_of_all())


def _spans(part: Part) -> Iterator[TracedSpan]:
    """Yield the spans of a file; what is no span is passed over."""
    if _is_otlp(part):
        for place, entry in _resource_spans(part):
            service = as_text(_plain_attributes(at(entry, "resource.attributes")).get("service.name"))
            for scope in objects(_either(entry, "scopeSpans", "scope_spans")):
                yield from (_span(place, fields, service) for fields in objects(scope.get("spans")))
        return
    for place, fields in part.placed():
        resource = at(fields, "resource.attributes")
        yield _span(place, fields, as_text(_plain_attributes(resource).get("service.name")))


def _resource_spans(part: Part) -> Iterator[tuple[Place, JsonDict]]:
    if part.form is Form.DOCUMENT:
        name = "resourceSpans" if "resourceSpans" in part.document else "resource_spans"
        yield from ((part.place(at_), entry) for at_, entry in part.items(name) if isinstance(entry, dict))
        return
    for place, fields in part.placed():
        yield from ((place, entry) for entry in objects(_either(fields, "resourceSpans", "resource_spans")))


def _span(place: Place, fields: JsonObject, service: str) -> TracedSpan:
    inner = fields.get("context")
    context: JsonObject = object_of(inner)
    context = {**context, **{name.removeprefix("context."): value for name, value in fields.items()}}
    events = objects(parsed(fields.get("events")))
    return TracedSpan(
        place,
        _id(context, "traceId", "trace_id"),
        _id(context, "spanId", "span_id"),
        _id(fields, "parentSpanId", "parent_span_id", "parent_id"),
        as_text(fields.get("name")),
        _nanoseconds(_either(fields, "startTimeUnixNano", "start_time_unix_nano", "start_time")),
        _nanoseconds(_either(fields, "endTimeUnixNano", "end_time_unix_nano", "end_time")),
        _attributes(fields),
        [(as_text(event.get("name")), _plain_attributes(event.get("attributes"))) for event in events],
        _error(fields),
        service,
    )


def _id(fields: JsonObject, *names: str) -> str:
    return as_text(_either(fields, *names)).removeprefix("0x")


def _either(fields: JsonObject, *names: str) -> object:
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)


def _attributes(fields: JsonObject) -> JsonDict:
    """Return the attributes of a span, also those that a table has in columns of their own."""
    start = "attributes."
    apart = {name.removeprefix(start): value for name, value in fields.items() if name.startswith(start)}
    return apart or _plain_attributes(parsed(fields.get("attributes")))


def _plain_attributes(value: object) -> JsonDict:
    if isinstance(value, dict):
        return value
    return {as_text(entry.get("key")): _plain(entry.get("value"), 0) for entry in objects(value)}


def _plain(value: object, depth: int) -> object:
    """Return a value of OTLP/JSON as plain JSON."""
    if not isinstance(value, dict) or not value or depth > _DEEPEST:
        return None
    kind, inner = next(iter(value.items()))
    kind = kind.replace("_v", "V")
    if kind == "intValue":
        return as_count(inner) if as_count(inner) is not None else as_number(inner)
    values = inner.get("values") if isinstance(inner, dict) else None
    if kind == "arrayValue":
        return [_plain(entry, depth + 1) for entry in values or []]
    if kind == "kvlistValue":
        return {as_text(entry.get("key")): _plain(entry.get("value"), depth + 1) for entry in objects(values)}
    return inner


def _nanoseconds(value: object) -> int:
    """Return a time that is given in nanoseconds or as ISO 8601; 0 where it cannot be read."""
    count = as_count(value)
    if count is not None:
        return count
    try:
        moment = dt.datetime.fromisoformat(as_text(value).replace("Z", "+00:00"))
    except ValueError:
        return 0
    aware = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return int(aware.timestamp() * 1_000_000) * 1_000


def _error(fields: JsonObject) -> str:
    status = fields.get("status")
    facts: JsonObject = object_of(status)
    code = as_text(facts.get("code", facts.get("status_code", _either(fields, "status_code"))))
    if code not in ("2", "ERROR", "STATUS_CODE_ERROR"):
        return ""
    return as_text(facts.get("message", facts.get("description", fields.get("status_message")))) or "it failed"


def _attribute(attributes: JsonDict, name: str) -> object:
    """Return an attribute: under its name, in objects, of a list whose entries have names of their own, or in JSON."""
    if name in attributes:
        return attributes[name]
    found = at(attributes, name)
    found = _entries(attributes, f"{name}.") if found is None else found
    steps = name.split(".")
    for end in range(len(steps) - 1, 0, -1) if found is None else ():
        if isinstance(text := attributes.get(".".join(steps[:end])), str):
            return at(parsed(text), ".".join(steps[end:]))
    return found


def _unquoted(value: object) -> object:
    """Return the text that a value prints as JSON, as some tracers print all values; any other value as it is."""
    if not isinstance(value, str) or not value.startswith('"'):
        return value
    try:
        text = json.loads(value)
    except ValueError:
        return value
    return text if isinstance(text, str) else value


def _entries(attributes: JsonDict, start: str) -> object:
    """Return `name.0.role`, `name.0.content`, `name.1.role`, ... as a list of objects; None without any."""
    tree: JsonDict = {}
    for name, value in attributes.items():
        if not name.startswith(start):
            continue
        *steps, last = name[len(start) :].split(".")[:_DEEPEST]
        branch = tree
        for step in steps:
            inner = branch.setdefault(step, {})
            if not isinstance(inner, dict):
                break
            branch = inner
        else:
            branch[last] = value
    return _as_lists(tree) if tree else None


def _as_lists(tree: object) -> object:
    if not isinstance(tree, dict):
        return tree
    if tree and all(step.isdigit() for step in tree):
        return [_as_lists(tree[step]) for step in sorted(tree, key=lambda step: (len(step), step))]
    return {step: _as_lists(branch) for step, branch in tree.items()}


# ------------------------------------------------------------ messages
def _of_parts(message: JsonObject) -> JsonDict:
    """Return a message of the GenAI conventions from 1.37: a role and parts."""
    turn: JsonDict = {"role": message.get("role"), "content": []}
    for part in objects(message.get("parts")):
        kind = part.get("type")
        if kind == "tool_call":
            turn.setdefault("tool_calls", []).append(dict(part))
        elif kind == "tool_call_response":
            result = part.get("response", part.get("result"))
            turn |= {"role": "tool", "content": content_text(result), "tool_call_id": as_text(part.get("id"))}
        elif kind != "reasoning" and isinstance(turn["content"], list):
            text = part.get("content")
            turn["content"].append({"type": "text", "text": text if isinstance(text, str) else f"[{as_text(kind)}]"})
    return turn


def _plain_turn(message: JsonObject) -> JsonDict:
    """Return a message whose fields are those of an API, as tracers before the conventions write it."""
    return {**message, "content": parsed(message.get("content"))}


def _of_openinference(entry: JsonObject) -> JsonDict:
    inner = entry.get("message")
    message: JsonObject = inner if isinstance(inner, dict) else entry
    parts = _inside(message.get("contents"), "message_content")
    turn = {**message, "content": message.get("content") or [_openinference_part(part) for part in parts]}
    calls = _inside(message.get("tool_calls"), "tool_call")
    return turn | ({"tool_calls": calls} if calls else {})


def _inside(entries: object, name: str) -> list[JsonDict]:
    """Return the objects that stand under this name in the entries of a list."""
    return [inner for entry in objects(entries) if isinstance(inner := entry.get(name), dict)]


def _openinference_part(part: JsonObject) -> JsonDict:
    address = at(part, "image.image.url")
    return {"type": "image_url", "image_url": address} if isinstance(address, str) else dict(part)


CONVENTIONS = (  # the first that says something of a span is read
    Convention("GenAI conventions from 1.37", "gen_ai.input.messages", "gen_ai.output.messages", _of_parts),
    Convention("OpenInference", "llm.input_messages", "llm.output_messages", _of_openinference),
    Convention("GenAI conventions before 1.28, OpenLLMetry", "gen_ai.prompt", "gen_ai.completion", _plain_turn),
    Convention("Texts of OpenInference", "input.value", "output.value", _plain_turn),
    Convention("Langfuse", "langfuse.observation.input", "langfuse.observation.output", _plain_turn),
    Convention("AI SDK", "ai.prompt.messages", "ai.response.text", _plain_turn),
    Convention("MLflow", "mlflow.spanInputs.messages", "mlflow.spanOutputs.choices.0.message", _plain_turn),
)


def _spoken(span: TracedSpan) -> Spoken:
    """Return what a span says that was asked and said."""
    for convention in CONVENTIONS:
        asked = _messages(span, convention.asked, convention, "user")
        said = _messages(span, convention.said, convention, "assistant")
        if asked or said:
            parts = [{**part, "text": part.get("content")} for part in objects(parsed(span.get("system")))]
            above = [{"role": "system", "content": parts}] if parts else []
            return Spoken(span, [*above, *asked], said)
    return _of_events(span)


def _of_tool(span: TracedSpan) -> Spoken:
    """Return what a tool was called with and what it returned, for a tool that is judged as a step."""
    arguments, result = as_text(span.get("arguments")), content_text(span.get("result"))
    asked = [{"role": "user", "content": arguments}] if arguments else []
    return Spoken(span, asked, [{"role": "assistant", "content": result}] if result else [])


def _messages(span: TracedSpan, name: str, convention: Convention, role: str) -> list[JsonDict]:
    value = parsed(_attribute(span.attributes, name))
    if isinstance(value, str):
        return [{"role": role, "content": value}] if value else []
    found = [value] if isinstance(value, dict) else objects(value)
    turns = [convention.turn(message) for message in found]
    if found and all(turn.get("role") for turn in turns):
        return turns
    return [{"role": role, "content": as_text(value)}] if value and name.endswith(".value") else []


def _of_events(span: TracedSpan) -> Spoken:
    """Return what the events of a span hold, as in the GenAI conventions 1.28 to 1.36."""
    spoken = Spoken(span)
    for name, attributes in span.events:
        if name in _EVENT_ROLES:
            spoken.asked.append({"role": _EVENT_ROLES[name], **_of_event(attributes)})
        elif name == _CHOICE:
            message = parsed(attributes.get("message"))
            inner = message if isinstance(message, dict) else {"content": message or ""}
            spoken.said.append({"role": "assistant", **_of_event({**attributes, **inner})})
    return spoken


def _of_event(attributes: JsonObject) -> JsonDict:
    turn: JsonDict = {"content": content_text(parsed(attributes.get("content")))}
    calls = objects(parsed(attributes.get("tool_calls")))
    turn |= {"tool_calls": calls} if calls else {}
    return turn | ({"tool_call_id": as_text(attributes["id"])} if attributes.get("id") else {})


# ------------------------------------------------------------ traces
def _read(part: Part, collector: Collector, upload: UploadParts) -> None:
    """Store each root span as a case with what was said in its trace."""
    traces: dict[str, list[TracedSpan]] = defaultdict(list)
    for count, span in enumerate(_spans(part), start=1):
        if count > MOST_SPANS:
            collector.bad_row(span.place, f"The file has more than {MOST_SPANS:,} spans. Import it in parts.")
            return
        if span.trace and span.id:
            traces[span.trace].append(span)
        else:
            collector.bad_row(span.place, "The span has no id, or none of its trace.")
    collector.log(LogRecord(part.file, "OpenTelemetry", name=part.stem))
    step, count = collector.options.step, 0
    for trace, spans in traces.items():
        spans.sort(key=lambda span: (span.start, span.end))
        known = {span.id for span in spans}
        roots = [span for span in spans if span.parent not in known]
        below = _descendants(spans)
        taken = [span for span in spans if step in span.names] if step else roots
        for span in taken:
            id_ = trace if len(taken) == 1 else f"{trace}/{span.id}"
            whose = (roots[0], spans) if step and roots else (span, below(span))  # steps are of the system of the whole
            told = _told(span, below(span), id_, collector, _system(*whose))
            if told is not None:
                count += 1
                store(ToolRow(part, collector, upload, span.place, {}), told)
    if not count:
        collector.bad_row(part.place(), _why_nothing(traces.values(), step))


def _why_nothing(traces: Iterable[Sequence[TracedSpan]], step: str) -> str:
    names = dict.fromkeys(name for spans in traces for span in spans for name in span.names)
    if not step or step in names:
        return NOTHING_ASKED
    return NO_SUCH_STEP.format(step, ", ".join(list(names)[:_NAMES_SHOWN]) or "none")


def _system(root: TracedSpan, spans: Sequence[TracedSpan]) -> str:
    calls = [span for span in spans if span.is_call]
    service = "" if root.service.startswith(_NO_SERVICE) else root.service
    return _first_text(spans, "agent") or _first_text(calls[::-1], "model") or service or root.name


def _descendants(spans: Sequence[TracedSpan]) -> Callable[[TracedSpan], list[TracedSpan]]:
    """Return what lists a span with all that stand below it by their times; none twice, though parents may go round in
    circles."""
    children: dict[str, list[TracedSpan]] = defaultdict(list)
    for span in spans:
        children[span.parent].append(span)

    def below(root: TracedSpan) -> list[TracedSpan]:
        found, waiting, seen = [], [root], {root.id}
        while waiting:
            span = waiting.pop()
            found.append(span)
            fresh = [child for child in children[span.id] if child.id not in seen]
            seen.update(child.id for child in fresh)
            waiting += fresh
        return sorted(found, key=lambda span: (span.start, span.end))

    return below


def _told(root: TracedSpan, spans: Sequence[TracedSpan], id_: str, collector: Collector, system: str) -> Told | None:
    """Return the case of a root span and the response; None where nothing was asked."""
    calls = [span for span in spans if span.is_call]
    is_tool = bool(collector.options.step) and root.kind in _TOOLS
    spoken = _of_tool(root) if is_tool else _conversation(root, [_spoken(span) for span in spans])
    if not spoken.asked:
        collector.leave_out("trace", "no span of it says what was asked", root.place)
        return None
    asked, steps = _split(spoken)
    steps = _with_tools(steps, [span for span in spans if span.kind in _TOOLS])
    reader = Messages(collector, root.place)
    case = CaseRecord(id_, messages=reader.turns("", asked), references=references(parsed(root.get("expected"))))
    row = ResponseRecord(system, seconds=(root.end - root.start) / 1e9 if root.end > root.start > 0 else None)
    if collector.options.system:
        row.system = collector.options.system
    text = content_text(steps[-1].get("content")) if steps and steps[-1].get("role") == "assistant" else ""
    if not text.strip():
        return Told(case, [Reply(row, failure=root.error or "the trace has no answer")])
    row.text, row.messages = text, Messages(collector, root.place).turns("", steps) if len(steps) > 1 else None
    row.completion_tokens = _sum(calls or [root], "output_tokens")
    stop = parsed(spoken.span.get("stop"))
    row.stop = as_text(stop[0] if isinstance(stop, list) and stop else stop)
    row.metadata = {
        "trace": root.trace,
        "step": collector.options.step,
        "spans": len(spans),
        "input_tokens": _sum(calls or [root], "input_tokens"),
        "cost": _cost(calls or [root]),
        "model": _first_text(calls[::-1], "model"),
        "conversation": _first_text(spans, "conversation"),
        "error": root.error,
    }
    row.metadata = {name: value for name, value in row.metadata.items() if value not in (None, "")}
    return Told(case, [Reply(row)])


def _conversation(root: TracedSpan, said: Sequence[Spoken]) -> Spoken:
    """Return the words of the root span, or of the span that holds the longest conversation, of several the last."""
    of_root = next(spoken for spoken in said if spoken.span is root)
    if of_root.is_whole:
        return of_root
    return max(reversed(said), key=lambda spoken: (spoken.is_whole, len(spoken.asked)))


def _split(spoken: Spoken) -> tuple[list[JsonDict], list[JsonDict]]:
    """Return what was asked, up to the last turn of a user, and what came after."""
    users = [number for number, turn in enumerate(spoken.asked) if turn.get("role") in ("user", "human")]
    end = users[-1] + 1 if users else len(spoken.asked)
    return spoken.asked[:end], [*spoken.asked[end:], *spoken.said]


def _with_tools(steps: list[JsonDict], tools: Sequence[TracedSpan]) -> list[JsonDict]:
    """Return the steps with the calls of tools before the answer, where the conversation does not hold them."""
    if not steps or any(turn.get("role") == "tool" or turn.get("tool_calls") for turn in steps):
        return steps
    turns: list[JsonDict] = []
    for number, span in enumerate(tools, start=1):
        key = span.text("call") or f"call-{number}"
        call = {"id": key, "name": span.text("tool") or span.name, "arguments": span.get("arguments")}
        turns.append({"role": "assistant", "content": "", "tool_calls": [call]})
        turns.append({"role": "tool", "content": content_text(span.get("result")) or span.error, "tool_call_id": key})
    return [*steps[:-1], *turns, steps[-1]]


def _first_text(spans: Sequence[TracedSpan], what: str) -> str:
    return next((text for span in spans if (text := span.text(what))), "")


def _sum(spans: Sequence[TracedSpan], what: str) -> int | None:
    counts = [count for span in spans if (count := as_count(span.get(what))) is not None]
    return sum(counts) if counts else None


def _cost(spans: Sequence[TracedSpan]) -> float | None:
    costs = [cost for span in spans if (cost := as_number(span.get("cost"))) is not None]
    return sum(costs) if costs else None


def _shape(kind: str, label: str, fits: Callable[[Part], bool], why: str, rank: int) -> Shape:
    return Shape(
        kind,
        label,
        fits,
        why,
        rank=rank,
        tool_name="OpenTelemetry",
        reads=_read,
        export="Write OTLP as JSON or protobuf, by the Collector's file exporter or in your program; or export spans.",
        comes=f"Each root span with its messages, calls of tools as turns, model, tokens, cost and seconds."
        f" Messages are read as these write them: {'; '.join(convention.name for convention in CONVENTIONS)}.",
        stays="Spans of anything else than models and tools stay, and thoughts of models.",
    )


SHAPES = (
    _shape("otlp", "OpenTelemetry: traces (OTLP)", _is_otlp, "`resourceSpans`, or protobuf (.pb, .binpb, .otlp)", 60),
    _shape("spans", "OpenTelemetry: spans", _is_spans, "ids of trace and span beside a name or attributes", 60),
)
