"""Tables of evaluation frameworks: Ragas, TruLens, MLflow, Weights & Biases, and rows of the Hugging Face viewer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.records import tables
from judging.specs.records.collector import Collector
from judging.specs.records.names import Holds, is_known, is_score
from judging.specs.records.neutral import Giver, LogRecord, ResponseRow
from judging.specs.records.parts import Form, Part, Row, UploadParts
from judging.specs.records.shapes import Shape
from judging.specs.records.tool_rows import Said
from judging.specs.records.tools.logs.runs import LoggedRun, mark, read_runs
from judging.specs.records.tools.people.items import is_blank, item_of, named, question_of, text_of
from judging.specs.records.values import as_id, as_number, as_text, details, is_missing

_SCORED = "Prompt, response, reference and context of each row, with every metric as a score."
_SAMPLE = frozenset({"user_input", "retrieved_contexts", "reference_contexts", "response", "reference", "rubrics"})
_OLD_SAMPLE = frozenset({"question", "answer", "contexts"})
_OLD_ALSO = frozenset({"ground_truth", "ground_truths"})


def metrics_of(part: Part, apart: frozenset[str] = frozenset()) -> list[str]:
    """Return the columns of numbers that are scores: by their names, or under a name that nothing else has."""
    return [name for name in part.columns if name not in apart and _is_metric(part, name)]


def _is_metric(part: Part, name: str) -> bool:
    values = [row.fields.get(name) for row in part.sample if not is_missing(row.fields.get(name))]
    return (
        bool(values)
        and all(as_number(value) is not None for value in values)
        and (is_score(name) or not is_known(name))
    )


def _fits_ragas(part: Part) -> bool:
    columns = set(part.columns)
    if "user_input" in columns:
        return len(columns & _SAMPLE) > 1
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
    metrics = metrics_of(part, _SAMPLE | _OLD_SAMPLE)

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
_OF_RECORDS = _RECORD | {
    "app_name",
    "app_version",
    "app_id",
    "app_json",
    "type",
    "record_json",
    "cost_json",
    "perf_json",
}
_OF_RECORDS |= {"tags", "ts", "latency", "total_tokens", "total_cost", "cost_currency", "num_events", "events"}
_NOT_KEPT = ("app_json", "record_json", "cost_json", "perf_json", "events")


def _fits_trulens(part: Part) -> bool:
    return set(part.columns) >= _RECORD and bool({"app_id", "app_name"} & set(part.columns))


@Shape(
    "trulens",
    "TruLens: records and feedback",
    _fits_trulens,
    "`record_id`, `input` and `output` beside the app's name",
    export="In Python: session.get_records_and_feedback()[0].to_csv(path).",
    keys=("record_id", "input", "output", "app_name|app_id"),
    comes="Input and output of each record, the app and its version as the system, each feedback as a score.",
    stays="The calls behind the feedback, costs of feedback and the app's own record stay.",
)
def _trulens(part: Part, collector: Collector, upload: UploadParts) -> None:
    others = [name for name in part.columns if name not in _OF_RECORDS]
    calls = [name for name in others if name.endswith(("_calls", "_direction")) or " feedback cost in " in name]
    feedback = [name for name in others if name not in calls and _is_number(part, name)]

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
    response = ResponseRow(name or as_id(fields.get("app_id")), text_of(fields.get("output")))
    response.seconds = as_number(fields.get("latency"))
    apart = (*_RECORD, *_NOT_KEPT, "latency", "app_name", "app_version", *feedback, *calls)
    response.metadata = {key: value for key, value in details(fields, apart).items() if not is_missing(value)}
    item.responses = [response]
    run = LoggedRun(row.at, as_id(fields.get("record_id")), item, [mark(key, fields.get(key)) for key in feedback])
    run.is_empty = is_blank(fields.get("output"))
    return run


_MLFLOW = re.compile(r"(?P<name>.+?)/(?:score|value)")
_OF_RESPONSES = ("token_count", "trace_id", "tags", "execution_duration")
_REASONS = ("justification", "rationale")
_SAMPLED = 200  # rows of the viewer that are looked at
_LEVELS = (1, 5)  # of MLflow's judges


def _fits_mlflow(part: Part) -> bool:
    has_prompt = bool(named(part.columns, Holds.PROMPT)) or bool({"inputs", "request"} & set(part.columns))
    return has_prompt and any(re.fullmatch(r".+/(v\d+/score|v\d+/justification|value)", name) for name in part.columns)


@Shape(
    "mlflow",
    "MLflow: evaluation table",
    _fits_mlflow,
    "columns `…/v1/score`, or `…/value` beside request and response",
    export="Take eval_results_table.json from the artifacts of the run.",
    comes=f"{_SCORED} Metrics with a justification are judges, from 1 to 5.",
    stays="Figures over all rows stay.",
)
def _mlflow(part: Part, collector: Collector, upload: UploadParts) -> None:
    graders = {match["name"]: name for name in part.columns if (match := _MLFLOW.fullmatch(name))}
    reasons = {grader: name for grader in graders for end in _REASONS if (name := f"{grader}/{end}") in part.columns}
    apart = {*graders.values(), *reasons.values()}

    def runs() -> Iterator[LoggedRun]:
        for row in part.rows():
            yield _evaluated(row, {name: value for name, value in row.fields.items() if name not in apart}, marks(row))

    def marks(row: Row) -> list[Said]:
        return [_mlflow_mark(row.fields, grader, column, reasons.get(grader, "")) for grader, column in graders.items()]

    read_runs(part, collector, upload, LogRecord(part.file, "MLflow", name=part.stem), runs)


def _mlflow_mark(fields: JsonObject, grader: str, column: str, reason: str) -> Said:
    value = fields.get(column)
    if not reason:
        return mark(grader, value)
    return mark(
        grader, value, as_text(fields.get(reason)), Giver.JUDGE, scale=_LEVELS if column.endswith("score") else (0, 1)
    )


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


def _fits_viewer(part: Part) -> bool:
    return "features" in part.document and any(_viewed(entry) for _, entry in islice(part.items("rows"), 1))


def _viewed(entry: object) -> bool:
    return isinstance(entry, dict) and "row_idx" in entry and isinstance(entry.get("row"), dict)


def _unwrapped(part: Part) -> Part:
    """Return the rows of the viewer without what it says about each."""

    def rows() -> Iterator[Row]:
        for place, entry in part.items("rows"):
            if isinstance(entry, dict) and _viewed(entry):
                yield Row(place, entry["row"])

    sample = tuple(islice(rows(), _SAMPLED))
    columns = tuple(dict.fromkeys(name for row in sample for name in row.fields))
    return replace(part, form=Form.ROWS, name="", columns=columns, sample=sample, rows=rows, document={})


@Shape(
    "dataset-viewer",
    "Hugging Face: rows of the dataset viewer",
    _fits_viewer,
    "`rows` with `row_idx` and `row`",
    stage_of=tables.TABLE.stage_of,
    columns=lambda part, upload: tables.columns(_unwrapped(part), upload),
    export="Save the reply of the address /rows of the dataset server.",
    comes="The columns by their names, as in any table.",
    stays="The features and cut cells of the reply stay.",
)
def _viewer(part: Part, collector: Collector, upload: UploadParts) -> None:
    tables.TABLE.reads(_unwrapped(part), collector, upload)
