"""Runs that platforms log: Langfuse, LangSmith, Phoenix, MLflow, Azure, and Weights & Biases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from evalsite.base.types import JsonDict, JsonObject, as_text
from judging.specs.records import tables
from judging.specs.records.collector import Collector
from judging.specs.records.names import SHARE, Holds, is_in_table, is_number_of, is_score
from judging.specs.records.neutral import (
    Giver,
    LabelRecord,
    LogRecord,
    Place,
    ResponseRecord,
    ScoreRecord,
    VerdictRecord,
    as_value,
)
from judging.specs.records.parts import Part, Row, UploadParts
from judging.specs.records.shapes import CASES, JUDGMENTS, RESPONSES, Label, Said, Shape, judged, keep
from judging.specs.records.tools.annotated_items import (
    Item,
    ItemSubject,
    Registrar,
    is_blank,
    item_of,
    named,
    question_of,
    text_of,
)
from judging.specs.records.values import as_id, as_number, details, is_list, is_missing, object_of, parsed, references
from judging.specs.types import UNKNOWN_SCALE, Scale


def mark(
    name: str, value: object, reason: str = "", giver: Giver | None = None, person: str = "", scale: Scale = SHARE
) -> Said:
    """Return what a rule or metric (no giver), a judge or a person gave; the scale holds where all values of the name
    are on it. `True` and `False` of a table are what they say."""
    if giver is Giver.PERSON:
        return Label(person, as_text(value) if as_value(value) is not None else "", None, name, reason)
    word = value.strip().lower() if isinstance(value, str) else ""
    given = word == "true" if word in ("true", "false") else value
    return judged(giver is Giver.JUDGE, name, as_value(given), scale, reason, {})


@dataclass(slots=True)
class LoggedRun:
    """A row: what was asked and responded, and what was said of it."""

    at: str
    id: str
    item: Item
    marks: list[Said] = field(default_factory=list)
    failure: str = ""  # why there is no response
    is_empty: bool = False  # there is none, and the file does not say why


class Scales:
    """The scale of each grader and judge of a file, known once all values were seen."""

    def __init__(self, marks: Iterable[Said]) -> None:
        self._fits: dict[str, bool] = {}
        for said in marks:
            if not isinstance(said, LabelRecord) and said.value is not None:
                (low, high), value, name = said.scale, said.value, _name(said)
                fits = isinstance(value, float) and float(low or 0) <= value <= float(high or 0)
                self._fits[name] = self._fits.get(name, True) and fits

    def keep(self, collector: Collector, place: Place, subject: ItemSubject, marks: Iterable[Said]) -> None:
        """Store what was said of a response, with a warning where a scale is unknown."""
        for said in marks:
            if not isinstance(said, LabelRecord) and not self._fits.get(_name(said), False):
                said.scale = UNKNOWN_SCALE
                if _name(said) in self._fits:
                    collector.warn_once("scale-unknown", Place(place.file), _name(said))
            if not isinstance(said, LabelRecord) or said.label:
                keep(collector, place, subject.case, subject.response or 0, said)


def _name(said: ScoreRecord | VerdictRecord) -> str:
    return said.grader if isinstance(said, ScoreRecord) else said.judge


def read_runs(
    part: Part, collector: Collector, upload: UploadParts, log: LogRecord, runs: Callable[[], Iterator[LoggedRun]]
) -> None:
    """Store the rows of a file, which are gone through twice."""
    registrar = Registrar(part, collector)
    registrar.names_texts = False
    for run in runs():
        registrar.look_at(run.item, run.id)
    scales = Scales(said for run in runs() for said in run.marks)
    for run in runs():
        place = part.place(run.at)
        subject = _registered(collector, place, registrar, run)
        if subject is not None and subject.response is not None:
            scales.keep(collector, place, subject, run.marks)
        elif any((said.label if isinstance(said, LabelRecord) else said.value) not in (None, "") for said in run.marks):
            collector.leave_out("score", "it is about a row without a response", place)
    collector.log(log)


def _registered(collector: Collector, place: Place, registrar: Registrar, run: LoggedRun) -> ItemSubject | None:
    if run.failure or run.is_empty:
        run.item.responses = []
    subject = registrar.register(place, run.item, run.id)
    if run.failure:
        collector.failed(place, run.id, run.failure)
    elif run.is_empty:
        collector.leave_out("response", "the row has no response", place)
        collector.warn("null-response", place)
    return subject


_EXPORT = "Open the table, choose Export, then CSV or JSON."
_ITEM = (("expectedOutput", "expected_output"), ("datasetId", "dataset_id", "datasetName", "dataset_name"))
_ITEM_ALSO = ("sourceTraceId", "source_trace_id", "status")
_OF_ITEMS = ("id", "input", "status", "metadata", *_ITEM[0], "validFrom", "valid_from")
_TRACE = frozenset({"id", "timestamp", "name", "input", "output"})
_TRACE_ALSO = frozenset({"userId", "sessionId", "user_id", "session_id"})
_TRACE_WORDS = (
    "tags metadata release version environment bookmarked public latency scores comments usage observations level "
    "observationCount htmlPath inputCost outputCost totalCost createdAt updatedAt externalId projectId totalTokens "
    "inputTokens outputTokens errorCount warningCount defaultCount debugCount"
)
_OF_TRACES = _TRACE | _TRACE_ALSO | frozenset(_TRACE_WORDS.split())
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
    registrar = Registrar(part, collector)
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
        item.details |= object_of(metadata)
        item.details |= details(fields, (*_OF_ITEMS, *(("metadata",) if isinstance(metadata, dict) else ())))
        registrar.register(place, item, id_)


@Shape(
    "langfuse-traces",
    "Langfuse: traces",
    lambda part: (
        set(part.columns) >= _TRACE
        and (bool(_TRACE_ALSO & set(part.columns)) or any(any(_nested_scores(row.fields)) for row in part.sample))
    ),
    "`input`, `output` and `timestamp` beside user and session",
    RESPONSES,
    export=_EXPORT,
    comes="Input and output of each trace become case and response; the name of the trace is the system.",
    stays="Observations stay, and columns of scores, which do not say who gave them: export the scores too.",
)
def _traces(part: Part, collector: Collector, upload: UploadParts) -> None:
    registrar = Registrar(part, collector)
    registrar.names_texts = False
    scales = Scales(said for row in part.rows() for said in _nested_scores(row.fields))
    for name in part.columns:
        if name not in _OF_TRACES:
            collector.leave_out("column", f"{name}: who scored is said in the table of scores alone", part.place())
    if any(isinstance(row.fields.get("scores"), dict) for row in part.sample):
        collector.leave_out("column", "scores: who scored is said in the table of scores alone", part.place())
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
        response = ResponseRecord(name, text_of(fields["output"]), seconds=as_number(fields.get("latency")))
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
    lambda part: set(part.columns) >= _SCORE and bool(set(_TRACE_IDS) & set(part.columns)),
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


_GROUPS = ("inputs", "outputs", "reference_outputs", "reference", "referenceOutputs", "feedback", "metadata")
_REFERENCES = ("reference_outputs", "referenceOutputs", "reference")
_CASE_IDS = ("example_id", "reference_example_id", "exampleId", "referenceExampleId")
_OF_RUNS = frozenset(
    {*_REFERENCES, *_CASE_IDS, "feedback", "feedback_stats", "error", "execution_time", "run_id", "latency", "run"}
)
_SYSTEMS = ("ls_model_name", "model", "model_name")
_READ = (*_GROUPS, *_CASE_IDS, "id", "run_id", "error", "execution_time", "latency")


def _nested(fields: JsonObject) -> JsonDict:
    """Return a row with its groups as objects: `inputs.question` is what `inputs` has as `question`."""
    row: JsonDict = {}
    for name, value in fields.items():
        group, dot, rest = name.partition(".")
        if dot and group in _GROUPS:
            row.setdefault(group, {})
            if isinstance(row[group], dict) and not is_blank(value):
                row[group][rest] = parsed(value)
        else:
            row[name] = parsed(value) if name in _GROUPS else value
    return row


def _fits(part: Part) -> bool:
    rows = [_nested(row.fields) for row in part.sample]
    named = bool(rows) and all(isinstance(row.get("inputs"), dict) and "response" not in row["inputs"] for row in rows)
    return named and any(isinstance(row.get(name), dict) for row in rows for name in ("outputs", *_REFERENCES))


@Shape(
    "langsmith",
    "LangSmith: dataset or experiment",
    _fits,
    "`inputs` beside `outputs` or reference outputs",
    RESPONSES,
    rank=15,
    export="Dataset: Export as JSONL. Experiment: in Python, results.to_pandas().to_csv(path).",
    comes="Outputs of a dataset are references, those of an experiment responses with their feedback as scores.",
    stays="Traces of the runs stay.",
)
def _read(part: Part, collector: Collector, upload: UploadParts) -> None:
    rows = [_nested(row.fields) for row in part.sample]
    is_run = any(_OF_RUNS & row.keys() or question_of(row.get("inputs")).references for row in rows)

    def runs() -> Iterator[LoggedRun]:
        for row in part.rows():
            yield _run(row.at, _nested(row.fields)) if is_run else _example(row.at, _nested(row.fields))

    read_runs(part, collector, upload, LogRecord(part.file, "LangSmith", name=part.stem), runs)


def _example(at: str, row: JsonDict) -> LoggedRun:
    """Return an example of a dataset: a case with its reference."""
    run = LoggedRun(at, as_id(row.get("id")), question_of(row.get("inputs")))
    run.item.references = [text] if (text := _output(row.get("outputs"))) else []
    run.item.details |= _details(row)
    return run


def _run(at: str, row: JsonDict) -> LoggedRun:
    ids = [as_id(row[name]) for name in _CASE_IDS if not is_missing(row.get(name))]
    item = question_of(row.get("inputs"))
    for name in _REFERENCES:
        item.references = item.references or ([text] if (text := _output(row.get(name))) else [])
    metadata = object_of(row.get("metadata"))
    system = next((as_text(metadata[name]) for name in _SYSTEMS if not is_missing(metadata.get(name))), "")
    response = ResponseRecord(system, _output(row.get("outputs")), metadata=_details(row))
    response.seconds = as_number(row.get("execution_time")) or as_number(row.get("latency"))
    run = LoggedRun(at, ids[0] if ids else as_id(row.get("id")), item, list(_feedback(row.get("feedback"))))
    run.item.responses = [response]
    run.failure = "" if is_missing(row.get("error")) else as_text(row["error"])
    run.is_empty = not row.get("outputs")
    return run


def _output(value: object) -> str:
    return "" if value in (None, {}) else text_of(value)


def _details(row: JsonObject) -> JsonDict:
    metadata = row.get("metadata")
    return object_of(metadata) | details(row, _READ)


def _feedback(value: object) -> Iterator[Said]:
    """Yield the feedback of a run: by key, or a list of objects that say who gave it."""
    if isinstance(value, dict):
        value = [
            entry | {"key": key}
            if isinstance(entry, dict)
            else {"key": key, "score": entry, "comment": value.get(f"{key}.comment")}
            for key, entry in value.items()
            if key.removesuffix(".comment") not in value.keys() - {key}
        ]
    for entry in value if isinstance(value, list) else []:
        if not isinstance(entry, dict) or is_missing(entry.get("key")):
            continue
        source = entry.get("feedback_source", entry.get("source"))
        kind = as_text(source.get("type")) if isinstance(source, dict) else as_text(source)
        giver = {"app": Giver.PERSON, "model": Giver.JUDGE}.get(kind)
        given = entry["score"] if not is_missing(entry.get("score")) else entry.get("value")
        person = as_id(source.get("user_name") or source.get("user_id")) if isinstance(source, dict) else ""
        yield mark(as_text(entry["key"]), given, as_text(entry.get("comment")), giver, person)


_SCORED = "Prompt, response, reference and context of each row, with every metric as a score."
_SAMPLE = frozenset({"user_input", "retrieved_contexts", "reference_contexts", "response", "reference", "rubrics"})
_OF_RAGAS = ("retrieved_contexts", "reference_contexts", "rubrics")
_OLD_SAMPLE = frozenset({"question", "answer", "contexts"})
_OLD_ALSO = frozenset({"ground_truth", "ground_truths"})


def metrics_of(part: Part) -> list[str]:
    """Return the columns of numbers that are scores: by their names, or under a name that nothing else has."""
    return [name for name in part.columns if name not in _SAMPLE | _OLD_SAMPLE and _is_metric(part, name)]


def _is_metric(part: Part, name: str) -> bool:
    is_other = is_number_of(name) or is_in_table(name)
    return _is_number(part, name) and (is_score(name) or not is_other)


def _fits_ragas(part: Part) -> bool:
    columns = set(part.columns)
    if "user_input" in columns:  # with a response, and what else somebody notes, it is any table's
        is_marked = not columns.isdisjoint(_OF_RAGAS) or any(map(is_list, part.values("user_input")))
        others = columns - _SAMPLE
        is_marked = is_marked or (bool(others) and all(_is_number(part, name) for name in others))
        return is_marked and len(columns & _SAMPLE) > 1
    return columns >= _OLD_SAMPLE and (bool(columns & _OLD_ALSO) or bool(metrics_of(part)))


@Shape(
    "ragas",
    "Ragas: results or test set",
    _fits_ragas,
    "`user_input` beside response, reference or contexts",
    export="In Python: result.to_pandas().to_csv(path), or dataset.to_csv(path).",
    comes=f"{_SCORED} A test set without responses becomes cases.",
    stays="The traces of the metrics stay.",
)
def _ragas(part: Part, collector: Collector, upload: UploadParts) -> None:
    metrics = metrics_of(part)

    def runs() -> Iterator[LoggedRun]:
        for row in part.rows():
            ids = named(row.fields, Holds.CASE)[:1]
            item = item_of(details(row.fields, (*metrics, *ids)))
            run = LoggedRun(row.at, as_id(row.fields[ids[0]]) if ids else "", item)
            run.marks = [mark(name, row.fields.get(name)) for name in metrics]
            run.is_empty = bool(metrics) and not item.responses
            yield run

    read_runs(part, collector, upload, LogRecord(part.file, "Ragas", name=part.stem), runs)


_RECORD = frozenset({"record_id", "input", "output"})
_RECORD_WORDS = (
    "app_name app_version app_id app_json type record_json cost_json perf_json tags ts latency total_tokens total_cost "
    "cost_currency num_events events"
)
_OF_RECORDS = _RECORD | frozenset(_RECORD_WORDS.split())
_NOT_KEPT = ("app_json", "record_json", "cost_json", "perf_json", "events")


@Shape(
    "trulens",
    "TruLens: records and feedback",
    lambda part: set(part.columns) >= _RECORD and bool({"app_id", "app_name"} & set(part.columns)),
    "`record_id`, `input` and `output` beside the app's name",
    export="In Python: session.get_records_and_feedback()[0].to_csv(path).",
    keys=("record_id", "input", "output", "app_name|app_id"),
    comes="Input and output of each record, the app and its version as the system, each feedback as a score.",
    stays="The calls behind the feedback, costs of feedback and the app's own record stay.",
)
def _trulens(part: Part, collector: Collector, upload: UploadParts) -> None:
    others = [name for name in part.columns if name not in _OF_RECORDS]
    calls = [name for name in others if name.endswith(("_calls", "_direction")) or " feedback cost in " in name]
    feedback = [name for name in others if name not in calls and not is_number_of(name) and _is_number(part, name)]

    def runs() -> Iterator[LoggedRun]:
        for row in part.rows():
            yield _record(row, feedback, calls)

    if {"app_name", "app_version"} & set(part.columns) not in (set(), {"app_name", "app_version"}):
        collector.warn_once("fields-missing", part.place(), "TruLens: records, without app_name or app_version")
    for name in (*calls, *(name for name in _NOT_KEPT if name in part.columns)):
        collector.leave_out("column", f"{name} is a record of the tool's own", part.place())
    read_runs(part, collector, upload, LogRecord(part.file, "TruLens", name=part.stem), runs)


def _is_number(part: Part, name: str) -> bool:
    values = [row.fields.get(name) for row in part.sample if not is_missing(row.fields.get(name))]
    return bool(values) and all(as_number(value) is not None for value in values)


def _record(row: Row, feedback: list[str], calls: list[str]) -> LoggedRun:
    fields = row.fields
    item = question_of(fields.get("input"))
    name = " ".join(as_text(fields.get(key)) for key in ("app_name", "app_version") if not is_missing(fields.get(key)))
    response = ResponseRecord(name or as_id(fields.get("app_id")), text_of(fields.get("output")))
    response.seconds = as_number(fields.get("latency"))
    given = named(fields, Holds.REFERENCE)[:1]
    item.references = [text for key in given for text in references(fields[key])]
    apart = (*_RECORD, *_NOT_KEPT, "latency", "app_name", "app_version", *feedback, *calls, *given)
    response.metadata = {key: value for key, value in details(fields, apart).items() if not is_missing(value)}
    item.responses = [response]
    run = LoggedRun(row.at, as_id(fields.get("record_id")), item, [mark(key, fields.get(key)) for key in feedback])
    run.is_empty = is_blank(fields.get("output"))
    return run


_MLFLOW = re.compile(r"(?P<name>.+?)/(?:score|value)")
_OF_RESPONSES = ("token_count", "trace_id", "tags", "execution_duration")
_OF_TRACE = ("trace", "spans", "trace_metadata", "assessments")
_ASSESSED_BY = {"LLM_JUDGE": Giver.JUDGE, "AI_JUDGE": Giver.JUDGE, "HUMAN": Giver.PERSON}
_REASONS = ("justification", "rationale", "explanation")
_LEVELS = (1, 5)  # of MLflow's judges


def _fits_mlflow(part: Part) -> bool:
    has_prompt = bool(named(part.columns, Holds.PROMPT)) or bool({"inputs", "request"} & set(part.columns))
    told = re.compile(r".+/(v\d+/score|v\d+/justification|value|score|explanation)")
    return has_prompt and ("assessments" in part.columns or any(map(told.fullmatch, part.columns)))


@Shape(
    "mlflow",
    "MLflow, Vertex AI: evaluation table or traces",
    _fits_mlflow,
    "columns `…/v1/score`, `…/score`, `…/value` or `assessments` beside request and response",
    tool_name="MLflow",
    export="MLflow: take eval_results_table.json from the artifacts of the run. Vertex AI: save metrics_table as CSV.",
    comes=f"{_SCORED} Metrics with a justification are judges, from 1 to 5; with an explanation, judges whose scale "
    "the table does not say. Assessments are what their source says, expected responses are references.",
    stays="Figures over all rows stay, and the spans of traces.",
)
def _mlflow(part: Part, collector: Collector, upload: UploadParts) -> None:
    graders = {match["name"]: name for name in part.columns if (match := _MLFLOW.fullmatch(name))}
    reasons = {grader: name for grader in graders for end in _REASONS if (name := f"{grader}/{end}") in part.columns}
    apart = {*graders.values(), *reasons.values(), *_OF_TRACE}

    def runs() -> Iterator[LoggedRun]:
        for row in part.rows():
            run = _evaluated(row, {name: value for name, value in row.fields.items() if name not in apart}, marks(row))
            run.item.references += [
                text
                for entry in _assessments(row.fields)
                if isinstance(expected := entry.get("expectation"), dict)
                and entry.get("assessment_name") == "expected_response"
                for text in references(expected.get("value"))
            ]
            yield run

    def marks(row: Row) -> list[Said]:
        if "assessments" in row.fields:
            return [_assessed(entry) for entry in _assessments(row.fields) if isinstance(entry.get("feedback"), dict)]
        return [_mlflow_mark(row.fields, grader, column, reasons.get(grader, "")) for grader, column in graders.items()]

    read_runs(part, collector, upload, LogRecord(part.file, "MLflow", name=part.stem), runs)


def _assessments(fields: JsonObject) -> list[JsonDict]:
    entries = parsed(fields.get("assessments"))
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _assessed(entry: JsonDict) -> Said:
    source = object_of(entry.get("source"))
    giver, value = _ASSESSED_BY.get(as_text(source.get("source_type"))), object_of(entry.get("feedback")).get("value")
    name, reason = as_text(entry.get("assessment_name")), as_text(entry.get("rationale"))
    return mark(name, value, reason, giver, as_id(source.get("source_id")))


def _mlflow_mark(fields: JsonObject, grader: str, column: str, reason: str) -> Said:
    value = fields.get(column)
    if not reason:
        return mark(grader, value)
    scale = UNKNOWN_SCALE if reason.endswith("explanation") else _LEVELS if column.endswith("score") else SHARE
    return mark(grader, value, as_text(fields.get(reason)), Giver.JUDGE, scale=scale)


def _evaluated(row: Row, fields: JsonDict, marks: list[Said]) -> LoggedRun:
    """Return a row with its inputs under whatever names the data set had."""
    asked = next((name for name in ("inputs", "request") if name in fields), "")
    ids = named(fields, Holds.CASE)[:1] or [name for name in ("trace_id",) if name in fields]
    question = question_of(fields[asked]) if asked else None
    item = item_of(details(fields, (asked, *ids)), asked=question)
    for response in item.responses[:1]:
        response.metadata |= {name: item.details.pop(name) for name in _OF_RESPONSES if name in item.details}
    run = LoggedRun(row.at, as_id(fields[ids[0]]) if ids else "", item, marks)
    run.is_empty = not item.responses
    return run


_AZURE = re.compile(r"outputs\.([^.]+\..+)")  # "relevance.relevance": what an evaluator says, by name
_OF_QUALITY = (
    *("relevance", "coherence", "fluency", "groundedness", "similarity", "retrieval", "response_completeness"),
    *("intent_resolution", "tool_call_accuracy"),
)
_OF_HARM = ("violence", "sexual", "self_harm", "hate_unfairness")
_AZURE_SCALES = dict.fromkeys(_OF_QUALITY, _LEVELS) | dict.fromkeys(_OF_HARM, (0, 7))


@Shape(
    "azure-evaluation",
    "Azure AI Evaluation: results",
    lambda part: any(name.startswith("inputs.") for name in part.columns) and any(map(_AZURE.fullmatch, part.columns)),
    "columns `inputs.…` and `outputs.EVALUATOR.METRIC`",
    export="In Python: evaluate(…, output_path=path).",
    comes=f"{_SCORED} A metric with a reason is a judge, from 1 to 5 where it is one of Azure's for quality and from 0 "
    "to 7 for harm. What else an evaluator says (result, threshold) is kept beside the response.",
    stays="Figures over all rows stay.",
)
def _azure(part: Part, collector: Collector, upload: UploadParts) -> None:
    said = {match[1]: match[0] for name in part.columns if (match := _AZURE.fullmatch(name))}
    metrics = [path for path in said if path.rpartition("_")[0] not in said and _is_newest(path, said)]
    values = {path: said[path] if _is_number(part, said[path]) else said.get(f"{path}_score", "") for path in metrics}
    values = {path: column for path, column in values.items() if column}  # "Very low" has a score beside it
    reasons = {path: said[f"{path}_reason"] for path in values if any(part.values(said.get(f"{path}_reason", "")))}
    counts = Counter(path.partition(".")[2] for path in values)
    named = {path: metric if counts[metric := path.partition(".")[2]] == 1 else path for path in values}

    def marks(fields: JsonObject) -> Iterator[Said]:
        for path, column in values.items():
            scale = _AZURE_SCALES.get(path.partition(".")[2], SHARE)
            giver, reason = (Giver.JUDGE, as_text(fields.get(reasons[path]))) if path in reasons else (None, "")
            yield mark(named[path], fields.get(column), reason, giver, scale=scale)

    def runs() -> Iterator[LoggedRun]:
        apart = {*values.values(), *reasons.values()}
        for row in part.rows():
            kept = {name: value for name, value in row.fields.items() if name not in apart and value is not None}
            beside = {path: kept.pop(name) for path, name in said.items() if name in kept}
            given = {name.partition(".")[2] or name: value for name, value in kept.items()}
            run = _evaluated(row, given, [*marks(row.fields)])
            for response in run.item.responses[:1]:
                response.metadata |= beside
            yield run

    read_runs(part, collector, upload, LogRecord(part.file, "Azure AI Evaluation", name=part.stem), runs)


def _is_newest(path: str, others: Collection[str]) -> bool:
    """Return whether what an evaluator says is not said under a newer name too: relevance for gpt_relevance."""
    newer = path.replace(".gpt_", ".", 1)
    return newer == path or newer not in others


_GROUPED = ("scores", "labels", "assertions")


@Shape(
    "pydantic-evals",
    "Pydantic Evals: report or data set",
    lambda part: (
        {"inputs", "expected_output"} <= part.keys_of_all()
        and ("evaluators" in part.columns or {"scores", "assertions"} <= part.keys_of_all())
    ),
    "`inputs` and `expected_output` beside `evaluators`, or `scores` and `assertions`",
    rank=70,
    export="In Python: EvaluationReportAdapter.dump_json(report), or dataset.to_file(path).",
    comes="Cases with their expected output, the output of the task, and scores, labels and assertions with reasons; "
    "what is by a judge is a verdict. A case that failed is counted with its error.",
    stays="Analyses over all cases and traces stay.",
)
def _pydantic_evals(part: Part, collector: Collector, upload: UploadParts) -> None:
    failures = part.document.get("failures")

    def runs() -> Iterator[LoggedRun]:
        for row in part.rows():
            yield _reported(row.at, row.fields, part)
        for number, fields in enumerate(failures if isinstance(failures, list) else []):
            if isinstance(fields, dict):
                yield _reported(f"failures[{number}]", fields, part)

    read_runs(part, collector, upload, LogRecord(part.file, "Pydantic Evals", name=part.stem), runs)


def _reported(at: str, fields: JsonObject, part: Part) -> LoggedRun:
    item = question_of(fields.get("inputs"))
    item.references += references(fields.get("expected_output"))
    item.details |= object_of(fields.get("metadata"))
    run = LoggedRun(at, as_id(fields.get("name")), item, failure=as_text(fields.get("error_message")))
    if not is_blank(fields.get("output")):
        response = ResponseRecord(as_text(part.document.get("name")), text_of(fields["output"]))
        response.seconds, item.responses = as_number(fields.get("task_duration")), [response]
    run.is_empty = "output" in fields and not item.responses
    for name, said in (entry for key in _GROUPED for entry in object_of(fields.get(key)).items()):
        if isinstance(said, dict):
            giver = Giver.JUDGE if "Judge" in as_text(object_of(said.get("source")).get("name")) else None
            run.marks.append(mark(name, said.get("value"), as_text(said.get("reason")), giver))
    return run


WANDB = replace(
    tables.TABLE,
    kind="wandb-table",
    label="Weights & Biases: table",
    fits=lambda part: part.document.get("_type") == "table" and isinstance(part.document.get("columns"), list),
    why="`_type` is table, with columns and data",
    rank=20,
    export="In the run's files, download the .table.json of the table.",
    comes="The columns by their names, as in any table.",
    stays="Pictures and other media that the table points to stay.",
)
