"""Potato: annotated instances as TSV, CSV or JSON Lines, the tables of newer versions, and `user_state.json`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.records.collector import Collector
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import JUDGMENTS, Shape
from judging.specs.records.tools.people.annotations import ForeignAnnotation, joined, store
from judging.specs.records.tools.people.items import Registrar, item_of
from judging.specs.records.values import as_id, as_number, as_text, is_missing

_BETWEEN = ":::"
_SPANS = "span_annotation"
_TEXT = "displayed_text"
_STATE = "instance_id_to_label_to_value"
_OF_ROWS = frozenset({"user", "user_id", "instance_id", "id", "annotation_id", "span_annotations", "behavioral_data"})
_OF_ROWS |= {"label_annotations", "labels", "spans", "links"}
_VALUE_IS_LABEL = ("select-one", "slider", "")
_LONGEST_KEY = 20  # characters of a value that only marks its label as chosen

Labels = dict[str, JsonDict]  # scheme -> label -> value


@dataclass(frozen=True, slots=True)
class Given:
    """What a person gave one instance."""

    at: str
    rater: str
    id: str
    labels: Labels
    data: JsonDict = field(default_factory=dict)  # what the instance shows
    has_spans: bool = False


Reads = Callable[[Part], Iterator[Given]]


def _fits_columns(part: Part) -> bool:
    has_schemes = any(_BETWEEN in name for name in part.columns)
    return "instance_id" in part.columns and has_schemes and bool({"user", "user_id"} & set(part.columns))


def _fits_table(part: Part) -> bool:
    schemes = [name for name in part.columns[2:] if name.partition(".")[2]]
    return part.columns[:2] == ("instance_id", "user_id") and bool(schemes)


def _fits_lines(part: Part) -> bool:
    labels = "label_annotations" if "label_annotations" in part.keys_of_all() else "labels"
    is_named = "instance_id" in part.keys_of_all() or _TEXT in part.keys_of_all()
    has_user = labels == "label_annotations" or "user_id" in part.keys_of_all()
    return (
        is_named
        and has_user
        and bool(part.sample)
        and all(isinstance(row.fields.get(labels), dict) for row in part.sample)
    )


def _fits_state(part: Part) -> bool:
    return part.form is Form.DOCUMENT and isinstance(part.document.get(_STATE), dict)


def _from_columns(part: Part) -> Iterator[Given]:
    """Yield rows whose columns are `scheme:::label` (instances of 1.x) or `scheme.label` (exports of 2.x)."""
    between = _BETWEEN if any(_BETWEEN in name for name in part.columns) else "."
    for row in part.rows():
        labels: Labels = {}
        has_spans = False
        for name, value in row.fields.items():
            scheme, sign, label = name.partition(between)
            if scheme == _SPANS or label == "_spans":
                has_spans |= value not in ("", "[]") and not is_missing(value)
            elif sign and scheme not in _OF_ROWS:
                labels.setdefault(scheme, {})[label] = value
        data = {name: value for name, value in row.fields.items() if between not in name and name not in _OF_ROWS}
        rater = as_id(row.fields.get("user")) or as_id(row.fields.get("user_id"))
        if between == ".":
            data = {name: value for name, value in data.items() if name not in labels}  # the answer, said once more
        yield Given(row.at, rater, as_id(row.fields.get("instance_id")), labels, data, has_spans)


def _from_lines(part: Part) -> Iterator[Given]:
    """Yield instances of JSON Lines; those of one person's folder name nobody."""
    folder = part.folder.rpartition("/")[2]
    for row in part.rows():
        fields = row.fields
        id_ = as_id(fields.get("instance_id")) or as_id(fields.get("id"))
        rater = as_id(fields.get("user_id")) or as_id(fields.get("user")) or folder
        data = {name: value for name, value in fields.items() if name not in _OF_ROWS}
        spans = bool(fields.get("span_annotations") or fields.get("spans"))
        yield Given(row.at, rater, id_, _labels(fields.get("label_annotations", fields.get("labels"))), data, spans)


def _from_state(part: Part) -> Iterator[Given]:
    """Yield the instances of a person's state, which has no texts."""
    rater = as_id(part.document.get("user_id")) or part.folder.rpartition("/")[2]
    spans = part.document.get("instance_id_to_span_to_value")
    for id_, labels in part.document[_STATE].items():
        has_spans = isinstance(spans, dict) and bool(spans.get(id_))
        yield Given(id_, rater, as_id(id_), _labels(labels), has_spans=has_spans)


def _labels(value: object) -> Labels:
    """Return labels by scheme; a state has a list of `[{"schema", "name"}, value]`."""
    labels: Labels = {}
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], dict):
            labels.setdefault(as_text(entry[0].get("schema")), {})[as_text(entry[0].get("name"))] = entry[1]
    for scheme, given in value.items() if isinstance(value, dict) else ():
        given = given.get("labels", given) if isinstance(given, dict) else {"": given}
        labels[scheme] = given if isinstance(given, dict) else {"": given}
    return labels


def _reader(read: Reads) -> Callable[[Part, Collector, UploadParts], None]:
    def reads(part: Part, collector: Collector, upload: UploadParts) -> None:
        registrar = Registrar(part, collector, upload.system)
        for given in read(part):
            registrar.look_at(item_of(given.data), given.id)
        for given in read(part):
            place = part.place(given.at)
            subject = registrar.register(place, item_of(given.data), given.id)
            annotation = ForeignAnnotation(f"{given.rater}, {given.id}", given.rater)
            for scheme, labels in given.labels.items():
                _take(annotation, scheme, labels)
            if given.has_spans:
                annotation.unread.append("spans")
            if subject is not None:
                store(collector, place, subject, annotation)

    return reads


def _take(annotation: ForeignAnnotation, scheme: str, labels: JsonDict) -> None:
    """Add the answer to a scheme: the chosen labels, a number of the scale, a value, or a text."""
    chosen = {label: value for label, value in labels.items() if not _is_off(value, labels)}
    words: list[str] = []
    for label, value in chosen.items():
        word = as_id(value)
        if _is_remark(label, word):
            annotation.remarks[f"{scheme} {label}"] = word
        elif scheme == "slider":
            annotation.labels[label] = word  # versions of 2023 put the scheme's name there
        elif label in _VALUE_IS_LABEL or label.startswith("text_box") or label == f"scale_{word}":
            words.append(word)
        else:
            words.append(label)
    if words:
        annotation.labels[scheme] = joined(words)


def _is_off(value: object, labels: JsonObject) -> bool:
    """Return whether a label was not chosen; `0` alone is the key of the tenth label."""
    if is_missing(value) or value is False or as_text(value).strip().lower() == "false":
        return True
    return as_number(value) == 0 and sum(not is_missing(other) for other in labels.values()) > 1


def _is_remark(label: str, word: str) -> bool:
    """Return whether a value is a text that somebody wrote, and no number, key or name of the label."""
    if as_number(word) is not None or word == label or word.lower() == "true" or label in _VALUE_IS_LABEL:
        return False
    return label.startswith("text_box") or len(word) > _LONGEST_KEY or " " in word


_COMES = "The chosen label of each scheme, by person; likert and slider values as numbers; texts become the reason."
_STAYS = "Spans and records of behaviour stay."


def _shape(kind: str, form: str, read: Reads, fits: Callable[[Part], bool], why: str) -> Shape:
    export = "Take the files of `output_annotation_dir`, or run python -m potato.export."
    shape = Shape(kind, f"Potato: {form}", fits, why, JUDGMENTS, 30, export=export, comes=_COMES, stays=_STAYS)
    return shape(_reader(read))


SHAPES: tuple[Shape, ...] = (
    _shape("potato", "annotated instances, TSV or CSV", _from_columns, _fits_columns, "columns `scheme:::label`"),
    _shape("potato-table", "exported table", _from_columns, _fits_table, "`instance_id`, `user_id`, `scheme.label`"),
    _shape("potato-lines", "annotated instances, JSON Lines", _from_lines, _fits_lines, "`label_annotations`"),
    _shape("potato-state", "a person's state", _from_state, _fits_state, f"`{_STATE}`"),
)
