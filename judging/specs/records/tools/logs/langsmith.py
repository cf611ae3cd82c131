"""LangSmith: datasets, whose outputs are references, and results of experiments, whose outputs are responses."""

from __future__ import annotations

from collections.abc import Iterator

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import Giver, LogRecord, ResponseRow
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.shapes import RESPONSES, Shape
from judging.specs.records.tool_rows import Said
from judging.specs.records.tools.logs.runs import LoggedRun, mark, read_runs
from judging.specs.records.tools.people.items import is_blank, question_of, text_of
from judging.specs.records.values import as_id, as_number, as_text, details, is_missing, parsed

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
    named = bool(rows) and all(isinstance(row.get("inputs"), dict) for row in rows)
    return named and any(isinstance(row.get(name), dict) for row in rows for name in ("outputs", *_REFERENCES))


def _is_of_run(part: Part) -> bool:
    return any(_OF_RUNS & _nested(row.fields).keys() for row in part.sample)


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
    is_run = _is_of_run(part)

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
    metadata = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
    system = next((as_text(metadata[name]) for name in _SYSTEMS if not is_missing(metadata.get(name))), "")
    response = ResponseRow(system, _output(row.get("outputs")), metadata=_details(row))
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
    return (metadata if isinstance(metadata, dict) else {}) | details(row, _READ)


def _feedback(value: object) -> Iterator[Said]:
    """Yield the feedback of a run: by key, or a list of objects that say who gave it."""
    if isinstance(value, dict):
        value = [
            entry | {"key": key} if isinstance(entry, dict) else {"key": key, "score": entry}
            for key, entry in value.items()
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
