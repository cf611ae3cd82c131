"""OpenAI evals' logs and output items, OpenAI's and Anthropic's batches, and rows for fine-tuning."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from evalsite.base.types import JsonDict, JsonObject, as_text, objects
from judging.specs.records.api_replies import Messages, replies_of, response_of
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import (
    CaseRecord,
    Choice,
    LogRecord,
    Place,
    ResponseRecord,
    ScoreRecord,
    VerdictRecord,
    as_value,
)
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import (
    CASES,
    BadRow,
    Opinion,
    Reply,
    Said,
    Shape,
    Stands,
    Told,
    ToolRow,
    judged,
    read_rows,
    share,
)
from judging.specs.records.tools.arenas import pair, reply_of
from judging.specs.records.values import (
    as_id,
    as_number,
    at,
    content_text,
    details,
    first_count,
    first_text,
    object_of,
    references,
)

_EVENT = frozenset({"run_id", "sample_id", "type", "data"})
_NO_SCORES = frozenset({"choice", "sampled", "expected", "picked", "prompt", "options", "usage", "model"})
_GRADER_ID = re.compile(r"-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$")
_BATCH_EXPORT = "Bring the file of requests and the file of results together; replies alone go to a stored benchmark."


def _is_evals(part: Part) -> bool:
    rows = [row.fields for row in part.sample]
    events = [fields for fields in rows if fields.keys() >= _EVENT]
    others = [fields for fields in rows if "spec" in fields or "final_report" in fields]
    return part.is_records and bool(events) and len(events) + len(others) == len(rows)


@dataclass(slots=True)
class _Evals:
    """A log of events: cases and responses by sample, as far as they were read."""

    collector: Collector
    system: str = ""
    judge: str = "model-graded"
    judge_model: str = ""
    cases: dict[str, int] = field(default_factory=dict)
    responses: dict[str, int] = field(default_factory=dict)
    ideals: dict[str, list[str]] = field(default_factory=dict)  # of samples whose prompt was not read yet
    errors: dict[str, tuple[Place, str]] = field(default_factory=dict)


@Shape(
    "openai-evals",
    "OpenAI evals: log",
    _is_evals,
    "events with `run_id`, `sample_id`, `type` and `data`",
    rank=80,
    export="Bring the log that oaieval writes (/tmp/evallogs/*.jsonl, or --record_path).",
    comes="Prompts and what was sampled, matches and metrics, and choices of a grading model as verdicts.",
    stays="The final report and events of other types are named and not stored.",
)
def _read_evals(part: Part, collector: Collector, upload: UploadParts) -> None:
    log = _Evals(collector)
    for place, fields in part.placed():
        if isinstance(fields.get("spec"), dict):
            _read_spec(log, part, fields["spec"])
        elif "final_report" in fields:
            collector.leave_out("final report", "means are computed here again", place)
        elif isinstance(fields.get("data"), dict):
            _read_event(log, place, fields)
    for sample, (place, why) in log.errors.items():
        if sample not in log.responses:
            collector.failed(place, sample, why)


def _read_spec(log: _Evals, part: Part, spec: JsonObject) -> None:
    models = spec.get("completion_fns", at(spec, "model_name.completions"))
    names = [name for name in (models if isinstance(models, list) else [models]) if isinstance(name, str)]
    log.system = first_text(*names, spec.get("model_name"))
    log.judge = first_text(spec.get("base_eval"), spec.get("eval_name")) or log.judge
    log.judge_model = names[-1] if names else ""
    name, time = first_text(spec.get("eval_name")), first_text(spec.get("created_at"))
    log.collector.log(LogRecord(part.file, "OpenAI evals", name=name, at=time))


def _read_event(log: _Evals, place: Place, event: JsonObject) -> None:
    sample, kind, data = as_id(event.get("sample_id")), event.get("type"), event["data"]
    if kind in ("sampling", "pick_option"):
        _read_sampling(log, place, sample, data)
    elif kind == "raw_sample":
        _add_references(log, place, sample, references(data.get("ideal")))
    elif kind == "error":
        log.errors[sample] = (place, first_text(data.get("message"), data.get("type")) or "error")
    elif kind in ("match", "metrics"):
        _add_references(log, place, sample, references(data.get("expected", data.get("ideal"))))
        response = log.responses.get(sample)
        if response is None:
            log.collector.leave_out("score", f"{sample} has no response that it could be about", place)
        elif kind == "match":
            kept = details({"picked": data.get("picked")}, ())
            value = as_number(data.get("correct"))
            log.collector.score(ScoreRecord(response, "match", value, (0, 1), metadata=kept, place=place))
        else:
            _read_metrics(log, place, data, response)
    else:
        log.collector.leave_out("event", f"events of the type {as_text(kind)}", place)


def _read_sampling(log: _Evals, place: Place, sample: str, data: JsonObject) -> None:
    if sample in log.responses:
        log.collector.leave_out("event", "a further call of the sample, such as a grader's", place)
        return
    prompt = data.get("prompt")
    row = CaseRecord(
        key=sample,
        prompt=as_text(prompt) if not isinstance(prompt, list) else "",
        messages=Messages(log.collector, place).turns("", prompt) if isinstance(prompt, list) else None,
        references=log.ideals.pop(sample, []),
    )
    case = log.collector.case(place, row)
    if case is None:
        return
    log.cases[sample] = case
    given = data.get("sampled", data.get("picked"))
    system = log.system or first_text(data.get("model"))
    tokens = first_count(at(data, "usage.completion_tokens"))
    for reply in given if isinstance(given, list) else [given]:
        if reply is None:
            log.collector.failed(place, sample, "nothing was sampled")
            continue
        number = log.collector.response(
            place, case, ResponseRecord(system, content_text(reply), completion_tokens=tokens)
        )
        if number is not None:
            log.responses.setdefault(sample, number)


def _add_references(log: _Evals, place: Place, sample: str, found: list[str]) -> None:
    if not found:
        return
    case = log.cases.get(sample)
    if case is None:
        log.ideals[sample] = found
    else:
        log.collector.add_references(place, case, found)


def _read_metrics(log: _Evals, place: Place, data: JsonObject, response: int) -> None:
    """Collect metrics by their names; a choice is what a model that graded the sample said."""
    if "choice" in data:
        choice = None if data["choice"] == "__invalid__" else data["choice"]
        score = as_number(data.get("score"))
        value = as_value(choice) if choice is None or score is None else score
        reason = content_text(data.get("sampled"))
        kept = details({"choice": choice, "judge_model": log.judge_model}, ())
        log.collector.verdict(VerdictRecord(response, log.judge, value, reason=reason, metadata=kept, place=place))
    for name, value in data.items():
        is_judged = name == "score" and "choice" in data
        if name in _NO_SCORES or is_judged or not isinstance(value, bool | int | float):
            continue
        log.collector.score(ScoreRecord(response, name, as_number(value), share(name, value), place=place))


@Shape(
    "openai-eval-items",
    "OpenAI Evals API: output items of a run",
    lambda part: part.is_records and {"datasource_item", "results", "sample"} <= part.keys_of_all(),
    "rows with `datasource_item`, `results` and `sample`",
    rank=80,
    export="Bring the list of output items (GET /v1/evals/EVAL/runs/RUN/output_items), as JSON or a line each.",
    comes="Each item is a case with its sample as response; string checks are scores, graders that are models judges.",
    stays="Settings of the call. An item whose sample failed has no response, and is counted.",
)
def _read_eval_items(part: Part, collector: Collector, upload: UploadParts) -> None:
    run = first_text(*(row.fields.get("run_id") for row in part.sample))
    collector.log(LogRecord(part.file, "OpenAI Evals API", name=run or part.stem))
    read_rows(part, collector, upload, _eval_item)


def _eval_item(row: ToolRow) -> Told:
    item, sample = row.fields_of("datasource_item"), row.fields_of("sample")
    item = object_of(item.get("item")) or item
    turns = Messages(row.collector, row.place)
    asked = turns.turns("", sample.get("input"))
    if not asked:
        raise BadRow("The item has no sample, or one without input.")
    texts = [turn.get("content") for turn in asked]
    kept = details(item, {name for name, value in item.items() if value in texts})
    case = CaseRecord(row.id("datasource_item_id", "id"), messages=asked, metadata=kept)
    system = as_text(sample.get("model"))
    output = turns.turns("", sample.get("output"))
    why = first_text(at(sample, "error.message"), at(sample, "error.code"))
    if why or not output:
        return Told(case, [Reply(ResponseRecord(system), failure=why or "the sample has no output")])
    tokens = first_count(at(sample, "usage.completion_tokens"))
    response = response_of(output, system, sample.get("finish_reason"), tokens)
    said = [_graded(result) for result in row.objects("results")]
    response.metadata = row.rest("object")
    return Told(case, [Reply(response, said)])


def _graded(result: JsonObject) -> Said:
    """Return what a grader says: a score or, of one that asked a model, a verdict with the model's reply as reason."""
    name = _GRADER_ID.sub("", first_text(result.get("name"), result.get("type"))) or "grader"
    sample = object_of(result.get("sample"))
    reason = "\n".join(content_text(turn.get("content")) for turn in objects(sample.get("output")))
    passed, value = result.get("passed"), as_number(result.get("score", result.get("passed")))
    scale = share(name, passed if value in (0, 1) else value)  # a model that scores has a range of its own
    kept = details({"passed": passed, "judge_model": sample.get("model")}, ())
    return judged(bool(sample), name, value, scale, reason, kept)


def _is_requests(part: Part) -> bool:
    keys = part.keys_of_all()
    if part.form is not Form.ROWS or "custom_id" not in keys or {"response", "result"} & part.keys_of_any():
        return False
    return all(_request(row.fields) for row in part.sample)


def _request(fields: JsonObject) -> JsonDict:
    """Return the body of a request: `body` at OpenAI, `params` at Anthropic; empty where there is none."""
    found = fields.get("body", fields.get("params"))
    return object_of(found)


@Shape(
    "batch-requests",
    "OpenAI or Anthropic batch: requests",
    _is_requests,
    "rows with `custom_id` and `body` or `params`",
    CASES,
    rank=80,
    tool_name="Batch APIs",
    export=_BATCH_EXPORT,
    comes="Each request is a case under its custom_id, with its system text and turns.",
    stays="Settings of the call, such as max_tokens.",
).rows
def _requests(row: ToolRow) -> Told:
    id_, body = row.id("custom_id"), _request(row.fields)
    asked = next((body[name] for name in ("messages", "input", "prompt") if body.get(name)), None)
    if asked is None or "embedding" in row.text("url"):
        raise BadRow(f"The request {id_} asks nothing: it has no messages, input or prompt.")
    turns = Messages(row.collector, row.place).turns(body.get("system", body.get("instructions")), asked)
    return Told(CaseRecord(id_, messages=turns))


def _is_results(part: Part) -> bool:
    rows = [row.fields for row in part.sample]
    return part.is_records and "custom_id" in part.keys_of_all() and all(map(_is_result, rows)) and bool(rows)


def _is_result(fields: JsonObject) -> bool:
    is_openai = "response" in fields and isinstance(fields["response"], dict | None)
    return is_openai or isinstance(at(fields, "result.type"), str)


@Shape(
    "batch-results",
    "OpenAI or Anthropic batch: results",
    _is_results,
    "rows with `custom_id` and `response` or `result`",
    rank=80,
    tool_name="Batch APIs",
    export=_BATCH_EXPORT,
    comes="Each reply is a response of the model that it names; several choices are attempts.",
    stays="Requests that failed, expired or were cancelled have no response, and are counted.",
)
def _results(part: Part, collector: Collector, upload: UploadParts) -> None:
    is_anthropic = any("result" in row.fields for row in part.sample)
    tool = "Anthropic batch API" if is_anthropic else "OpenAI batch API"
    collector.log(LogRecord(part.file, tool, name=part.stem))
    read_rows(part, collector, upload, _result)


def _result(row: ToolRow) -> Told:
    id_ = row.id("custom_id")
    why, body = _outcome(row.fields)
    replies = [] if why else [Reply(reply) for reply in replies_of(row.collector, row.place, body)]
    failed = [] if replies else [Reply(ResponseRecord(id_), failure=why or "the reply has no output")]
    return Told(CaseRecord(id_), replies + failed, stands=Stands.ELSEWHERE)


def _outcome(fields: JsonObject) -> tuple[str, JsonDict]:
    """Return why a request has no reply, or the reply."""
    if isinstance(fields.get("result"), dict):
        kind = as_text(fields["result"].get("type"))
        message = first_text(at(fields, "result.error.error.message"), at(fields, "result.error.message"))
        body = at(fields, "result.message")
        return ("", body) if kind == "succeeded" and isinstance(body, dict) else (message or kind, {})
    body = at(fields, "response.body")
    status = first_count(at(fields, "response.status_code"))
    error = first_text(*(at(fields, path) for path in _ERRORS))
    if status not in (None, 200):
        return f"{status} {error}".strip(), {}
    if not isinstance(body, dict) or fields.get("error"):
        return error or "there is no reply", {}
    return (error or "error", {}) if body.get("error") or body.get("status") in _FAILED else ("", body)


_ERRORS = ("response.body.error.message", "error.message", "error.code", "response.body.error.code", "error")
_FAILED = ("failed", "cancelled")


_SIDES = ("preferred_output", "non_preferred_output")


@Shape(
    "dpo",
    "OpenAI: preference fine-tuning (DPO)",
    lambda part: part.is_records and {"input", *_SIDES} <= part.keys_of_all(),
    "rows with `preferred_output` and `non_preferred_output`",
    rank=80,
    tool_name="OpenAI fine-tuning",
    export="Bring the JSON Lines file of the training data.",
    comes="Prompts are cases, both outputs responses, and the preferred one a gold preference.",
    stays="The file names no systems: the columns' names stand for them.",
).rows
def _dpo(row: ToolRow) -> Told:
    turns = Messages(row.collector, row.place).turns("", row.at("input.messages") or row.fields["input"])
    a, b = (_side(row, name) for name in _SIDES)
    if not turns or not all(reply.row.text or reply.row.messages for reply in (a, b)):
        raise BadRow("The row has no messages, or one of its two outputs is empty.")
    kept = details({"tools": row.at("input.tools") or None}, ())
    return Told(CaseRecord(messages=turns, metadata=kept), pair(a, b), [Opinion(Choice.A)])


def _side(row: ToolRow, column: str) -> Reply:
    given = row.fields[column]
    output = [{"role": "assistant", "content": given}] if isinstance(given, str) else given
    turns = Messages(row.collector, row.place).turns("", [output] if isinstance(output, dict) else output)
    for turn in turns:
        turn["content"] = content_text(turn.get("content"))
    return reply_of(turns, column)
