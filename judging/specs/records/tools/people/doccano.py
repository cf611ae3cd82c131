"""doccano: JSON, JSON Lines and CSV with the labels of each text; several files are one person each."""

from __future__ import annotations

from evalsite.base.json_types import JsonDict
from judging.specs.records.collector import Collector
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import JUDGMENTS, Shape
from judging.specs.records.tools.people.annotations import ForeignAnnotation, joined, store
from judging.specs.records.tools.people.items import Item, Registrar
from judging.specs.records.values import as_id, as_text, details, is_missing, objects, parsed

_LABELS = ("label", "labels", "cats")
_COMMENTS = "Comments"
_SPANS = ("entities", "relations")
_ANNOTATIONS = "annotations"  # of doccano 1.0: objects with a label or a text, and the number of the person
_READ = frozenset({"id", "text", "annotation_approver", _COMMENTS, _ANNOTATIONS, *_LABELS, *_SPANS})


def _column(part: Part) -> str:
    return next((name for name in (*_LABELS, *_SPANS, _ANNOTATIONS) if name in part.columns), "")


def _fits(part: Part) -> bool:
    column = _column(part)
    if not column or not {"id", "text"} <= set(part.columns):
        return False
    if part.form is Form.CSV:
        return part.columns[:2] == ("id", "text") and part.columns[-1 - (part.columns[-1] == _COMMENTS)] == "label"
    lists = all(isinstance(row.fields.get(column), list) for row in part.sample)
    is_of_people = column != _ANNOTATIONS or all("user" in entry for row in part.sample for entry in _given(row.fields))
    return (
        part.form is Form.ROWS and part.keys_of_all() >= {"id", "text"} and bool(part.sample) and lists and is_of_people
    )


@Shape(
    "doccano",
    "doccano: labelled texts",
    _fits,
    "`id`, `text` and a list of labels",
    JUDGMENTS,
    rank=10,
    export="In the project: Dataset, Actions, Export dataset; JSONL with one file a person says who labelled.",
    comes="The labels of each text; with several files in one upload, each file is a person. Comments become the "
    "reason.",
    stays="Spans, relations and labels of pictures stay.",
)
def _read(part: Part, collector: Collector, upload: UploadParts) -> None:
    files = [other for other in upload.parts if _fits(other)]
    registrar, column = Registrar(part, collector, upload.system), _column(part)
    registrar.warned_at = files[0].place() if files else part.place()
    rater = part.stem if len(files) > 1 else ""
    if rater:
        collector.warn_once("rater-from-file", part.place(), rater)
    for row in part.rows():
        fields, place = row.fields, part.place(row.at)
        id_ = as_id(fields.get("id"))
        item = Item(prompt=as_text(fields.get("text")), details=details(fields, _READ))
        subject = registrar.register(place, item, id_)
        if column == _ANNOTATIONS and subject is not None:
            for annotation in _of_people(id_, _given(fields)):
                store(collector, place, subject, annotation)
        if column == _ANNOTATIONS:
            continue
        annotation = ForeignAnnotation(f"{rater}, {id_}".removeprefix(", "), rater)
        _take(annotation, column, fields.get(column))
        comments = [_comment(comment) for comment in _entries(fields.get(_COMMENTS))]
        if any(comments) and annotation.labels:
            annotation.remarks[_COMMENTS] = "\n".join(filter(None, comments))
        if subject is not None:
            store(collector, place, subject, annotation)


def _given(fields: JsonDict) -> list[JsonDict]:
    return objects(fields.get(_ANNOTATIONS))


def _of_people(id_: str, entries: list[JsonDict]) -> list[ForeignAnnotation]:
    """Return what each person gave: labels or texts of the whole, or marks in the text, which are no labels of it."""
    people: dict[str, list[JsonDict]] = {}
    for entry in entries:
        people.setdefault(as_id(entry["user"]), []).append(entry)
    found = []
    for rater, given in people.items():
        annotation = ForeignAnnotation(f"{rater}, {id_}", rater)
        marks = any("start_offset" in entry for entry in given)
        _take(annotation, _ANNOTATIONS, given if marks else [entry.get("label", entry.get("text")) for entry in given])
        found.append(annotation)
    return found


def _entries(value: object) -> list[object]:
    """Return the entries of a list; CSV joins them by `#`."""
    value = parsed(value)
    if isinstance(value, str):
        parts = value.split("#")
        return list(parts) if all(part.strip() for part in parts) else [value]
    return value if isinstance(value, list) else []


def _take(annotation: ForeignAnnotation, column: str, value: object) -> None:
    """Add the labels of the text; marks in it are none."""
    entries = [entry for entry in _entries(value) if not is_missing(entry)]
    if any(isinstance(entry, list | dict) for entry in entries):
        annotation.unread.append(column)
    elif label := joined(map(as_id, entries)):
        annotation.labels[""] = label


def _comment(value: object) -> str:
    return as_text(value.get("comment") if isinstance(value, dict) else value)
