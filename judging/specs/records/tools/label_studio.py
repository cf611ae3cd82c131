"""Label Studio: the JSON export with all annotations, and JSON-MIN, CSV and TSV with a row an annotation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evalsite.base.types import JsonDict, JsonObject, as_text
from judging.specs.files.findings import shorten
from judging.specs.records.collector import Collector
from judging.specs.records.columns import BY_VALUES, CHOSEN, SAMPLES, question
from judging.specs.records.names import Holds
from judging.specs.records.neutral import Place
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import JUDGMENTS, ColumnUse, Shape
from judging.specs.records.tools.annotated_items import (
    AnnotatedItem,
    ForeignAnnotation,
    ItemSubject,
    Registrar,
    cancelled,
    is_free_text,
    item_of,
    joined,
    named,
    ranking,
    store_annotation,
    store_items,
    suggested,
)
from judging.specs.records.values import as_id, is_missing, moment_of, object_of, parsed

_NEEDED = frozenset({"annotation_id", "annotator", "lead_time"})
_OF_ROWS = _NEEDED | {"id", "created_at", "updated_at", "agreement", "history"}
_REGION = frozenset({"start", "end", "x", "y", "points", "rle", "vertices", "ranges", "globalOffsets", "labels"})
_STAYS = "Marks in texts and pictures, drafts, cancelled annotations and predictions stay; each is counted."
_RESULTS = ("choices", "rating", "number", "selected", "taxonomy", "ranker", "datetime", "text", "chatmessage")
_DATA_ROLES = (
    *(Holds.TURNS, Holds.PROMPT, Holds.RESPONSE, Holds.ANSWER, Holds.SYSTEM, Holds.SYSTEM_TEXT, Holds.REFERENCE),
    *(Holds.CONTEXT, Holds.CASE, Holds.CHOICES, Holds.IMAGE, Holds.LANGUAGE, Holds.SPLIT),
)
_SURE = 5  # tasks with several equal annotations from which a column that never differs is data


def _fits_json(part: Part) -> bool:
    has_data = bool(part.sample) and all(isinstance(row.fields.get("data"), dict) for row in part.sample)
    return part.is_records and has_data and any(isinstance(_annotations(row.fields), list) for row in part.sample)


def _annotations(task: JsonObject) -> object:
    return task.get("annotations", task.get("completions"))


def _task_id(task: JsonObject) -> str:
    return as_id(task.get("id")) or as_id(task.get("inner_id"))


@Shape(
    "label-studio",
    "Label Studio: JSON export",
    _fits_json,
    "tasks with `data` and `annotations`",
    JUDGMENTS,
    rank=30,
    export="In the project, choose Export, then JSON.",
    comes="Choices, ratings, numbers, pairwise choices, taxonomies and rankings become labels by control and "
    "person; text areas become their reason. The data of the task become case and response.",
    stays=_STAYS,
)
def _read_json(part: Part, collector: Collector, upload: UploadParts) -> None:
    registrar = Registrar(part, collector)
    for row in part.rows():
        if isinstance(row.fields.get("data"), dict):
            registrar.look_at(item_of(row.fields["data"], object_of(row.fields.get("meta"))), _task_id(row.fields))
    for place, task in part.placed():
        if not isinstance(task.get("data"), dict):
            collector.bad_row(place, "The task has no data.")
            continue
        subject = registrar.register(place, item_of(task["data"], object_of(task.get("meta"))), _task_id(task))
        predictions, drafts = task.get("predictions"), task.get("drafts")
        suggested(collector, place, len(predictions) if isinstance(predictions, list) else 0)
        for _ in drafts if isinstance(drafts, list) else ():
            collector.leave_out("draft", "drafts are no finished annotations", place)
        annotations = _annotations(task)
        if subject is not None and isinstance(annotations, list):
            for entry in annotations:
                _read_annotation(collector, place, subject, entry, f"task {_task_id(task)}")


def _read_annotation(collector: Collector, place: Place, subject: ItemSubject, entry: object, task: str) -> None:
    if not isinstance(entry, dict):
        collector.leave_out("annotation", f"{task}: an annotation that is no object", place)
        return
    name = f"{task}, annotation {as_id(entry.get('id'))}".removesuffix(", annotation ")
    if _is_cancelled(collector, place, entry):
        cancelled(collector, place, f"{name} was cancelled")
        return
    annotation = ForeignAnnotation(name, rater_of(entry.get("completed_by")), as_text(entry.get("created_at")))
    if entry.get("ground_truth"):
        annotation.metadata = {"ground_truth": True}
    results = entry.get("result")
    given: dict[str, list[JsonDict]] = {}
    for result in results if isinstance(results, list) else []:
        control = as_text(result.get("from_name")) if isinstance(result, dict) else ""
        if control and isinstance(result.get("value"), dict):
            given.setdefault(control, []).append(result["value"])
        elif isinstance(result, dict) and result.get("type") == "relation":
            annotation.unread.append("relation")
    for control, values in given.items():
        _take(annotation, control, values)
    store_annotation(collector, place, subject, annotation)


def _is_cancelled(collector: Collector, place: Place, entry: JsonObject) -> bool:
    """Return whether an annotation was cancelled, with a warning where another field alone may say so."""
    if not {"was_cancelled", "skipped"} & entry.keys() and any(value is True for value in entry.values()):
        collector.warn_once("fields-missing", place, "Label Studio: JSON export, without was_cancelled")
    return bool(entry.get("was_cancelled") or entry.get("skipped"))


def rater_of(value: object) -> str:
    """Return who annotated: the address, name or number that the export has."""
    if isinstance(value, dict):
        return next((as_id(value[key]) for key in ("email", "username", "id") if not is_missing(value.get(key))), "")
    return as_id(value)


def _take(annotation: ForeignAnnotation, control: str, values: list[JsonDict]) -> None:
    """Add what a control has: a label, a remark, or marks in the text or picture."""
    labels: list[str] = []
    for value in values:
        kind = next((name for name in _RESULTS if name in value), "")
        if not kind or kind == "chatmessage" or _REGION & value.keys():
            annotation.unread.append(control)
        elif kind == "text":
            annotation.remarks[control] = "\n".join(
                filter(None, [annotation.remarks.get(control, ""), *_texts(value[kind])])
            )
        else:
            labels += _labels(kind, value[kind])
    if labels:
        annotation.labels[control] = joined(labels)


def _labels(kind: str, value: object) -> list[str]:
    if kind == "taxonomy" and isinstance(value, list):
        return [" / ".join(map(as_text, path)) if isinstance(path, list) else as_text(path) for path in value]
    if kind == "ranker":
        columns = value if isinstance(value, dict) else {"": value}
        ranked = [
            ranking((as_text(text), place) for place, text in enumerate(texts))
            for texts in columns.values()
            if isinstance(texts, list)
        ]
        return ["; ".join(ranked)]
    return [as_id(entry) for entry in value] if isinstance(value, list) else [as_id(value)]


def _texts(value: object) -> list[str]:
    return [as_text(text) for text in value] if isinstance(value, list) else [as_text(value)]


@Shape(
    "label-studio-table",
    "Label Studio: CSV, TSV or JSON-MIN export",
    lambda part: part.form is not Form.DOCUMENT and set(part.columns) >= _NEEDED,
    "columns `annotation_id`, `annotator` and `lead_time`",
    JUDGMENTS,
    rank=30,
    keys=("annotation_id", "annotator", "lead_time", "id"),
    columns=lambda part, upload: _columns(part, upload),
    told_roles=frozenset({str(Holds.LABEL), str(Holds.DETAIL)}),
    export="In the project, choose Export, then CSV, TSV or JSON-MIN; JSON says more.",
    comes="One label a control, annotation and person. Which columns are controls is told by "
    "their order or values, or asked.",
    stays=_STAYS,
)
def _read_rows(part: Part, collector: Collector, upload: UploadParts) -> None:
    controls, unclear = _controls(part, upload)
    collector.findings.file = part.file
    for name in unclear:
        message = f"{name} could be what annotators filled in, or data of the tasks."
        answers = [(role, [name]) for role in (Holds.LABEL, Holds.DETAIL)]
        collector.findings.extend([question(part, "unclear-control", message, "{} or {}.", answers, unclear)])
    if unclear:
        return
    texts = {name for name in controls if is_free_text(name, [row.fields.get(name) for row in part.sample])}

    def items() -> Iterator[AnnotatedItem]:
        for place, fields in part.placed():
            data = {name: value for name, value in fields.items() if name not in _OF_ROWS and name not in controls}
            entry = AnnotatedItem(place, _task_id(fields), item_of(data))
            if not is_missing(fields.get("annotation_id")):  # else nobody annotated the task
                name = f"task {entry.id}, annotation {as_id(fields['annotation_id'])}"
                annotation = ForeignAnnotation(name, as_id(fields.get("annotator")), as_text(fields.get("created_at")))
                for control in controls:
                    _take_cell(annotation, control, fields.get(control), is_text=control in texts)
                entry.annotations = [annotation]
            yield entry

    store_items(Registrar(part, collector), items)


def _take_cell(annotation: ForeignAnnotation, control: str, value: object, *, is_text: bool) -> None:
    if is_missing(value):
        return
    results = _results(value)
    if results:
        _take(annotation, control, results)
    elif is_text:
        annotation.remarks[control] = as_text(value)
    else:
        annotation.labels[control] = joined(_texts(parsed(value)))


def _results(value: object) -> list[JsonDict]:
    """Return the results that a cell has printed; [] where it is a label or a text."""
    value = parsed(value)
    entries = value if isinstance(value, list) else [value]
    found = [entry for entry in entries if isinstance(entry, dict) and (_REGION | set(_RESULTS)) & entry.keys()]
    return found if len(found) == len(entries) else []


def _columns(part: Part, upload: UploadParts) -> list[ColumnUse]:
    """Return the columns that annotators filled or may have filled."""
    controls, unclear = _controls(part, upload)
    uses: list[ColumnUse] = []
    for name in part.columns:
        samples = tuple(shorten(as_text(row.fields.get(name))) for row in part.sample[:SAMPLES])
        if name in controls or name in upload.options.columns:
            role = Holds.LABEL if name in controls else Holds.DETAIL
            uses.append(ColumnUse(name, str(role), CHOSEN if name in upload.options.columns else BY_VALUES, samples))
        elif name in unclear:
            uses.append(ColumnUse(name, str(Holds.DETAIL), "not clear", samples))
    return uses


def _controls(part: Part, upload: UploadParts) -> tuple[list[str], list[str]]:
    """Return the columns that annotators filled, and those of which the table does not say it.

    The order says it, or the person. Else: what is printed as a result, is empty where nobody annotated, or differs
    between annotations of one task.
    """
    columns = [name for name in part.columns if name not in _OF_ROWS and not name.endswith("_transcript")]
    data = {name for role in _DATA_ROLES for name in named(columns, role, is_weak=role is not Holds.CASE)}
    behind = [_behind_id(list(row.fields)) for row in part.sample]
    if behind and all(names is not None for names in behind):
        return [name for name in columns if any(name in names for names in behind if names is not None)], []
    told = {name: upload.options.columns[name] == Holds.LABEL for name in columns if name in upload.options.columns}
    is_control = {name: _is_control(part, name, is_data=name in data) for name in columns} | told
    return [name for name in columns if is_control[name]], [name for name in columns if is_control[name] is None]


def _behind_id(names: list[str]) -> list[str] | None:
    """Return the columns between the task's id and the annotator, as the tool writes them; None in any other order."""
    first, last = names.index("id") if "id" in names else 0, names.index("annotator") if "annotator" in names else 0
    is_written = 0 < first < last and _OF_ROWS.isdisjoint(names[:first]) and _OF_ROWS.issuperset(names[last:])
    return names[first + 1 : last] if is_written else None


def _is_control(part: Part, name: str, *, is_data: bool) -> bool | None:
    """Return whether annotators filled a column; None where nothing says it."""
    by_task: dict[str, list[str]] = {}
    without = is_empty = False
    for row in part.sample:
        value = row.fields.get(name)
        if _results(value):
            return True
        if is_missing(row.fields.get("annotation_id")):
            without |= not is_missing(value)
            is_empty |= is_missing(value)
        elif not is_missing(value):
            by_task.setdefault(_task_id(row.fields), []).append(as_text(value))
    several = [values for values in by_task.values() if len(values) > 1]
    if without or not by_task:
        return False
    if any(len(set(values)) > 1 for values in several) or (is_empty and not is_data):
        return True
    return None if not is_data and len(several) < _SURE and _are_labels(by_task) else False


def _are_labels(by_task: Mapping[str, list[str]]) -> bool:
    """Return whether values are short, as labels are."""
    return all(
        len(value) <= 40 and "://" not in value and moment_of(value) is None
        for values in by_task.values()
        for value in values
    )
