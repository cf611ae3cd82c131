"""Langfuse: items of datasets, traces, observations, and scores that people, judges or programs gave to traces."""

from __future__ import annotations

from collections.abc import Iterator

from evalsite.base.json_types import JsonObject
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import Giver, LogRecord, ResponseRow
from judging.specs.records.parts import Part, Row, UploadParts
from judging.specs.records.shapes import CASES, JUDGMENTS, RESPONSES, Shape
from judging.specs.records.tool_rows import Said
from judging.specs.records.tools.logs.runs import Scales, mark
from judging.specs.records.tools.people.items import ItemSubject, Registrar, is_blank, question_of, text_of
from judging.specs.records.values import as_id, as_number, as_text, details, is_missing

_EXPORT = "Open the table, choose Export, then CSV or JSON."
_ITEM = (("expectedOutput", "expected_output"), ("datasetId", "dataset_id", "datasetName", "dataset_name"))
_ITEM_ALSO = ("sourceTraceId", "source_trace_id", "status")
_OF_ITEMS = ("id", "input", "status", "metadata", *_ITEM[0], "validFrom", "valid_from")
_TRACE = frozenset({"id", "timestamp", "name", "input", "output"})
_TRACE_ALSO = frozenset({"userId", "sessionId", "user_id", "session_id"})
_OF_TRACES = _TRACE | _TRACE_ALSO | {"tags", "metadata", "release", "version", "environment", "bookmarked", "public"}
_OF_TRACES |= {"latency", "scores", "comments", "usage", "observations", "level", "observationCount", "htmlPath"}
_OF_TRACES |= {
    "inputCost",
    "outputCost",
    "totalCost",
    "createdAt",
    "updatedAt",
    "externalId",
    "projectId",
    "totalTokens",
}
_OF_TRACES |= {"inputTokens", "outputTokens", "errorCount", "warningCount", "defaultCount", "debugCount"}
_SCORE = frozenset({"name", "value", "source"})
_TRACE_IDS = ("traceId", "trace_id")
_PEOPLE = ("authorUserName", "author_user_name", "authorUserId", "author_user_id")
_GIVERS = {"ANNOTATION": Giver.PERSON, "EVAL": Giver.JUDGE}


def _value(fields: JsonObject, *names: str) -> object:
    return next((fields[name] for name in names if name in fields and not is_blank(fields[name])), None)


def _fits_items(part: Part) -> bool:
    columns = set(part.columns)
    return "input" in columns and bool(columns & set(_ITEM[0])) and bool(columns & {*_ITEM[1], *_ITEM_ALSO})


@Shape(
    "langfuse-items",
    "Langfuse: items of a dataset",
    _fits_items,
    "`input` and `expectedOutput` beside the dataset or the status",
    CASES,
    export=_EXPORT,
    comes="Input and expected output of each item become a case with its reference.",
    stays="Archived items stay.",
)
def _items(part: Part, collector: Collector, upload: UploadParts) -> None:
    registrar = Registrar(part, collector, upload.system)
    registrar.names_texts = False
    for place, fields in part.placed():
        id_ = as_id(fields.get("id"))
        if "status" in part.columns and "status" not in fields:
            collector.warn_once("fields-missing", place, f"{id_}, without status")
        if "ARCHIVED" in (value.upper() for value in fields.values() if isinstance(value, str)):
            collector.leave_out("case", f"{id_} is archived in the tool", place)
            collector.warn("row-left-out", place, f"{id_} is archived in the tool")
            continue
        item = question_of(fields.get("input"))
        expected = _value(fields, *_ITEM[0])
        item.references = [] if expected is None else [text_of(expected)]
        metadata = fields.get("metadata")
        item.details |= metadata if isinstance(metadata, dict) else {}
        item.details |= details(fields, (*_OF_ITEMS, *(("metadata",) if isinstance(metadata, dict) else ())))
        registrar.register(place, item, id_)


def _fits_traces(part: Part) -> bool:
    return set(part.columns) >= _TRACE and bool(_TRACE_ALSO & set(part.columns))


@Shape(
    "langfuse-traces",
    "Langfuse: traces",
    _fits_traces,
    "`input`, `output` and `timestamp` beside user and session",
    RESPONSES,
    export=_EXPORT,
    comes="Input and output of each trace become case and response; the name of the trace is the system.",
    stays="Observations stay, and columns of scores, which do not say who gave them: export the scores too.",
)
def _traces(part: Part, collector: Collector, upload: UploadParts) -> None:
    registrar = Registrar(part, collector, upload.system)
    registrar.names_texts = False
    scales = Scales(said for row in part.rows() for said in _nested_scores(row.fields))
    for name in part.columns:
        if name not in _OF_TRACES:
            collector.leave_out("column", f"{name}: who scored is said in the table of scores alone", part.place())
    for row in part.rows():
        subject = _trace(part, row, collector, registrar)
        if subject is not None and subject.response is not None:
            scales.keep(collector, part.place(row.at), subject, _nested_scores(row.fields))
    collector.log(LogRecord(part.file, "Langfuse", name=part.stem))


def _trace(part: Part, row: Row, collector: Collector, registrar: Registrar) -> ItemSubject | None:
    """Register a trace; its system has the name of the trace, which is that of the application."""
    place, fields = part.place(row.at), row.fields
    id_, item = as_id(fields.get("id")), question_of(fields.get("input"))
    if is_blank(fields.get("output")):
        collector.failed(place, id_, "the trace has no output")
    else:
        name = as_text(fields.get("name")).strip()
        response = ResponseRow(name, text_of(fields["output"]), seconds=as_number(fields.get("latency")))
        response.metadata = details(
            {key: fields[key] for key in _OF_TRACES & fields.keys()}, (*_TRACE, "latency", "scores")
        )
        item.responses = [response]
        if name and not registrar.system:
            collector.warn_once("system-from-name", place, name)
    return registrar.register(place, item, id_)


def _nested_scores(fields: JsonObject) -> Iterator[Said]:
    scores = fields.get("scores")
    for score in scores if isinstance(scores, list) else []:
        if isinstance(score, dict) and score.keys() >= _SCORE:
            yield _mark(score)


def _fits_scores(part: Part) -> bool:
    return set(part.columns) >= _SCORE and bool(set(_TRACE_IDS) & set(part.columns))


def _mark(fields: JsonObject) -> Said:
    """Return a score: words of categories and booleans are labels, numbers are values."""
    kind = as_text(_value(fields, "dataType", "data_type")).upper()
    giver = _GIVERS.get(as_text(fields.get("source")).upper())
    word, number = _value(fields, "stringValue", "string_value"), fields.get("value")
    is_word = word is not None and (kind == "CATEGORICAL" or giver is Giver.PERSON or is_missing(number))
    if word is None and kind == "BOOLEAN" and giver is Giver.PERSON:
        is_word, word = True, "True" if as_number(number) == 1 else "False"
    value = word if is_word else number
    person = as_id(_value(fields, *_PEOPLE)) if giver is Giver.PERSON else ""
    reason = as_text(fields.get("comment"))
    return mark(as_text(fields.get("name")), as_id(value) if giver is Giver.PERSON else value, reason, giver, person)


@Shape(
    "langfuse-scores",
    "Langfuse: scores",
    _fits_scores,
    "`source`, `name`, `value` and `traceId`",
    JUDGMENTS,
    rank=25,
    export=f"{_EXPORT} Export the traces in the same upload.",
    keys=("name", "value", "source", "traceId|trace_id"),
    comes="Scores of annotators become labels by person, those of evaluators verdicts, those of programs scores.",
    stays="Scores of sessions and of runs stay.",
)
def _scores(part: Part, collector: Collector, upload: UploadParts) -> None:
    scales = Scales(_mark(row.fields) for row in part.rows())
    for place, fields in part.placed():
        trace = as_id(_value(fields, *_TRACE_IDS))
        if not trace:
            collector.leave_out("score", "it is about a session or a run of a dataset, not about a trace", place)
            continue
        case = collector.case_named(trace, place)
        responses = collector.responses_to(case) if case is not None else []
        name = as_text(_value(fields, "traceName", "trace_name"))
        if case is None:
            continue
        if responses or name:
            number = responses[0][0] if responses else collector.response_named(place, case, name)
            if number is not None:
                scales.keep(collector, place, ItemSubject(case, (number,)), [_mark(fields)])
        else:
            collector.bad_row(place, f"The trace {trace} is in no file of this upload.")
    collector.log(LogRecord(part.file, "Langfuse", name=part.stem))
