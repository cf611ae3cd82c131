"""Prodigy: annotated tasks as JSON Lines, as `prodigy db-out` writes them."""

from __future__ import annotations

from datetime import UTC, datetime

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.records.collector import Collector
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.shapes import JUDGMENTS, Shape
from judging.specs.records.tools.people.annotations import ForeignAnnotation, cancelled, joined, store
from judging.specs.records.tools.people.items import Registrar, item_of
from judging.specs.records.values import as_id, as_number, as_text, is_missing

_HASHES = frozenset({"_input_hash", "_task_hash"})
_OF_TASKS = frozenset(
    {"accept", "answer", "label", "spans", "tokens", "relations", "meta", "user_input", "config"}
    | {"field_id", "field_rows", "field_label", "field_placeholder", "field_autofocus"}
)
_ACCEPT, _REJECT = "accept", "reject"


def _fits(part: Part) -> bool:
    return part.keys_of_all() >= _HASHES and "answer" in part.keys_of_any()


@Shape(
    "prodigy",
    "Prodigy: annotations",
    _fits,
    "`_input_hash`, `_task_hash` and `answer`",
    JUDGMENTS,
    rank=40,
    export="Run prodigy db-out DATASET > export.jsonl.",
    comes="Accepted options become labels by person; where a task has one label, accept or reject is the label "
    "under its name. Free text becomes the reason.",
    stays="Ignored and rejected tasks, spans and relations stay; each is counted.",
)
def _read(part: Part, collector: Collector, upload: UploadParts) -> None:
    registrar = Registrar(part, collector, upload.system)
    for row in part.rows():
        registrar.look_at(item_of(_data(row.fields), _meta(row.fields)), as_id(row.fields.get("_input_hash")))
    for place, fields in part.placed():
        id_ = as_id(fields.get("_input_hash"))
        subject = registrar.register(place, item_of(_data(fields), _meta(fields)), id_)
        answer = as_text(fields.get("answer"))
        if subject is None:
            continue
        if answer not in (_ACCEPT, _REJECT) or (answer == _REJECT and "accept" in fields):
            cancelled(collector, place, f"answer is {answer}")
            continue
        if fields.get("options") and "accept" not in fields:
            cancelled(collector, place, "accept is missing")
            continue
        rater = as_id(fields.get("_annotator_id")) or as_id(fields.get("_session_id"))
        annotation = ForeignAnnotation(f"{rater}, {id_}", rater, _time(fields.get("_timestamp")))
        _take(annotation, fields, answer)
        store(collector, place, subject, annotation)


def _data(fields: JsonObject) -> JsonDict:
    return {name: value for name, value in fields.items() if not name.startswith("_") and name not in _OF_TASKS}


def _meta(fields: JsonObject) -> JsonDict:
    meta = fields.get("meta")
    return meta if isinstance(meta, dict) else {}


def _take(annotation: ForeignAnnotation, fields: JsonObject, answer: str) -> None:
    """Add what was answered: the accepted options, whether the one label fits, or whether the task does."""
    accepted = fields.get("accept")
    if isinstance(accepted, list):
        if label := joined(map(as_id, accepted)):
            annotation.labels[""] = label
    elif not is_missing(fields.get("label")):
        annotation.labels[as_text(fields["label"])] = answer
    elif not fields.get("spans"):
        annotation.labels[""] = answer
    if fields.get("spans"):
        annotation.unread.append("spans")
    field = as_text(fields.get("field_id")) or "user_input"
    if not is_missing(fields.get(field)):
        annotation.remarks[field] = as_text(fields[field])


def _time(value: object) -> str:
    """Return seconds since 1970 as ISO 8601; empty where there are none."""
    seconds = as_number(value)
    if seconds is None or not 0 <= seconds < 1e11:
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat()
