"""Annotation tools: Argilla, doccano, Prodigy and Potato."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from evalsite.base.types import JsonDict, JsonObject, as_text, objects
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import Place
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import JUDGMENTS, Shape
from judging.specs.records.tools.annotated_items import (
    AnnotatedItem,
    ForeignAnnotation,
    Item,
    Registrar,
    is_free_text,
    item_of,
    joined,
    ranking,
    store_items,
)
from judging.specs.records.values import as_id, as_number, details, is_missing, object_of, parsed

_MOST = 200  # answers to a question that are looked at
_NOT_GIVEN = ("discarded", "draft")
_ANSWERS, _USERS, _STATUSES, _SUGGESTION = ".responses", ".responses.users", ".responses.status", ".suggestion"
_HUB_SUGGESTION = "-suggestion"
_OF_RECORDS = frozenset(
    {"id", "external_id", "_server_id", "status", "vectors", "metadata", "inserted_at", "updated_at"}
)
_OLD = frozenset({"annotation", "annotation_agent", "prediction_agent"})
_OF_OLD = (
    _OF_RECORDS | _OLD | {"prediction", "explanation", "multi_label", "event_timestamp", "metrics", "search_keywords"}
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one person answered to one question; a record that they gave back has no question."""

    question: str
    rater: str
    value: object
    status: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """A record in any of the forms."""

    id: str
    item: Item
    answers: list[Answer]
    suggestions: int = 0


Records = Callable[[JsonDict], Record]


def _fits_records(part: Part) -> bool:
    return (
        part.form is not Form.DOCUMENT
        and bool(part.sample)
        and all(isinstance(parsed(row.fields.get("fields")), dict) for row in part.sample)
        and bool({"responses", "suggestions"} & part.keys_of_any())
    )


def _fits_hub(part: Part) -> bool:
    columns = _questions(part.columns, _HUB_SUGGESTION)
    return any(_is_answered(part, name) for name in columns) and "external_id" in part.columns


def _questions(columns: tuple[str, ...] | list[str], ending: str) -> list[str]:
    return [name.removesuffix(ending) for name in columns if name.endswith(ending)]


def _is_answered(part: Part, question: str) -> bool:
    values = [parsed(row.fields.get(question)) for row in part.sample]
    return question in part.columns and all(isinstance(value, list | dict) or is_missing(value) for value in values)


def _nested(fields: JsonDict) -> Record:
    """Return a record with `fields` and `responses` by question (2.x) or by person (1.x)."""
    answers = list(_answers_of(parsed(fields.get("responses"))))
    return Record(
        _id(fields), item_of(_object(fields.get("fields")), _object(fields.get("metadata"))), answers,
        _count(parsed(fields.get("suggestions"))),
    )  # fmt: skip


def _answers_of(responses: object) -> Iterator[Answer]:
    if isinstance(responses, dict):
        for question, entries in responses.items():
            for entry in entries if isinstance(entries, list) else [entries]:
                if isinstance(entry, dict):
                    yield Answer(question, as_id(entry.get("user_id")), entry.get("value"), _status(entry))
    for entry in responses if isinstance(responses, list) else []:
        if isinstance(entry, dict):
            yield from _answers_of_person(entry)


def _answers_of_person(entry: JsonObject) -> Iterator[Answer]:
    rater, status, values = as_id(entry.get("user_id")), _status(entry), entry.get("values")
    if "question_name" in entry:
        yield Answer(as_text(entry["question_name"]), rater, entry.get("value"), status)
    elif status in _NOT_GIVEN or not isinstance(values, dict):
        yield Answer("", rater, None, status)
    else:
        for question, value in values.items():
            yield Answer(question, rater, value.get("value") if isinstance(value, dict) else value, status)


def _flat(fields: JsonDict) -> Record:
    """Return a record of 2.x whose parts are columns: `quality.responses`, `quality.responses.users`."""
    answers: list[Answer] = []
    for question in _questions(list(fields), _ANSWERS):
        values, users, statuses = (_list(fields.get(question + ending)) for ending in (_ANSWERS, _USERS, _STATUSES))
        for place, value in enumerate(values):
            user = as_id(users[place]) if place < len(users) else ""
            answers.append(Answer(question, user, value, as_text(statuses[place]) if place < len(statuses) else ""))
    suggestions = _questions(list(fields), _SUGGESTION)
    ours = {
        name for name in fields if name.endswith((_ANSWERS, _USERS, _STATUSES)) or _is_suggestion(name, suggestions)
    }
    data = {name: value for name, value in fields.items() if name not in ours and name not in _OF_RECORDS}
    count = sum(not is_missing(fields[name + _SUGGESTION]) for name in suggestions)
    return Record(_id(fields), item_of(data), answers, count)


def _is_suggestion(name: str, questions: list[str]) -> bool:
    return any(name == question + _SUGGESTION or name.startswith(f"{question}{_SUGGESTION}.") for question in questions)


def _hub(fields: JsonDict) -> Record:
    """Return a record of 1.x in its Hugging Face form: a column a question, beside `question-suggestion`."""
    questions = _questions(list(fields), _HUB_SUGGESTION)
    answers = list(_answers_of({name: _people(parsed(fields.get(name))) for name in questions}))
    data = {
        name: value
        for name, value in fields.items()
        if name not in _OF_RECORDS and name not in questions and _HUB_SUGGESTION not in name
    }
    count = sum(not is_missing(fields[name + _HUB_SUGGESTION]) for name in questions)
    return Record(_id(fields), item_of(data, _object(fields.get("metadata"))), answers, count)


def _people(value: object) -> object:
    """Return answers as a list of objects; some versions write an object of lists."""
    if isinstance(value, dict) and all(isinstance(entry, list) for entry in value.values()):
        return [dict(zip(value, entries, strict=False)) for entries in zip(*value.values(), strict=False)]
    return value


def _old(fields: JsonDict) -> Record:
    """Return a record of the old text classification: one `annotation` and who gave it."""
    inputs = _object(fields.get("inputs"))
    data = inputs or {name: value for name, value in fields.items() if name not in _OF_OLD}
    answers = []
    if not is_missing(fields.get("annotation")):
        status = as_text(fields.get("status")).lower()
        answers = [Answer("", as_id(fields.get("annotation_agent")), parsed(fields["annotation"]), status)]
    item = item_of(data, _object(fields.get("metadata")))
    return Record(_id(fields), item, answers, int(not is_missing(fields.get("prediction"))))


def _id(fields: JsonObject) -> str:
    return as_id(fields.get("external_id")) or as_id(fields.get("id")) or as_id(fields.get("_server_id"))


def _object(value: object) -> JsonDict:
    return object_of(parsed(value))


def _list(value: object) -> list[object]:
    value = parsed(value)
    return value if isinstance(value, list) else []


def _count(suggestions: object) -> int:
    entries = list(suggestions.values()) if isinstance(suggestions, dict) else suggestions
    entries = entries if isinstance(entries, list) else []
    return sum(not is_missing(entry.get("value") if isinstance(entry, dict) else entry) for entry in entries)


def _reader(record_of: Records) -> Callable[[Part, Collector, UploadParts], None]:
    """Return what reads the parts of one form."""

    def read(part: Part, collector: Collector, upload: UploadParts) -> None:
        values: dict[str, list[object]] = {}
        for row in part.rows():
            for answer in record_of(row.fields).answers:
                values.setdefault(answer.question, []).extend(
                    [answer.value][: _MOST - len(values.get(answer.question, ()))]
                )
        texts = {question for question, given in values.items() if is_free_text(question, given)}
        store_items(
            Registrar(part, collector),
            lambda: (_annotated(place, record_of(fields), texts) for place, fields in part.placed()),
        )

    return read


def _status(entry: JsonObject) -> str:
    """Return the status of an answer, also under a name that no version has."""
    return as_text(entry.get("status")) or next((str(value) for value in entry.values() if value in _NOT_GIVEN), "")


def _annotated(place: Place, record: Record, texts: set[str]) -> AnnotatedItem:
    """Return a record with its answers by person; those not given apart."""
    people: dict[tuple[str, str], ForeignAnnotation] = {}
    for answer in record.answers:
        status = answer.status if answer.status in _NOT_GIVEN else ""
        name = f"record {record.id}, {answer.rater or 'nobody named'}"
        annotation = people.setdefault((answer.rater, status), ForeignAnnotation(name, answer.rater))
        if status:
            annotation.cancelled = f"{name}: {status}"
        elif answer.question in texts:
            annotation.remarks[answer.question] = as_text(answer.value)
        elif not is_missing(answer.value):
            _take(annotation, answer.question, answer.value)
    return AnnotatedItem(place, record.id, record.item, list(people.values()), record.suggestions)


def _take(annotation: ForeignAnnotation, question: str, value: object) -> None:
    """Add an answer: a label, several, a ranking, or spans."""
    entries = value if isinstance(value, list) else [value]
    objects = [entry for entry in entries if isinstance(entry, dict)]
    if any("start" in entry for entry in objects):
        annotation.unread.append(question)
    elif objects:
        ranks = [(as_text(entry.get("value")), as_number(entry.get("rank")) or 0.0) for entry in objects]
        annotation.labels[question] = ranking(ranks)
    elif label := joined(map(as_id, entries)):
        annotation.labels[question] = label


_COMES = (
    "Answers to label, rating, ranking and multi-label questions become labels by question and person; texts become "
)
_COMES += "their reason. The fields become case and response, the model comes from the metadata."
_STAYS = "Suggestions of programs, discarded answers, drafts, spans and vectors stay."


def _shape(kind: str, form: str, record_of: Records, fits: Callable[[Part], bool], why: str) -> Shape:
    export = "In Python: dataset.records.to_json(path), or push the dataset to the Hugging Face hub and save it there."
    shape = Shape(kind, f"Argilla: {form}", fits, why, JUDGMENTS, 30, export=export, comes=_COMES, stays=_STAYS)
    return shape(_reader(record_of))


ARGILLA: tuple[Shape, ...] = (
    _shape("argilla", "records", _nested, _fits_records, "records with `fields` and `responses`"),
    _shape(
        "argilla-flat",
        "flattened records",
        _flat,
        lambda part: any(name + _USERS in part.columns for name in _questions(part.columns, _ANSWERS)),
        "columns `….responses` and `….responses.users`",
    ),
    _shape("argilla-1", "records of 1.x", _hub, _fits_hub, "questions with answers beside `…-suggestion`"),
    _shape(
        "argilla-text",
        "text classification",
        _old,
        lambda part: part.keys_of_all() >= _OLD,
        "`annotation`, `annotation_agent` and `prediction_agent`",
    ),
)


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
    if part.is_cells:
        return part.columns[:2] == ("id", "text") and part.columns[-1 - (part.columns[-1] == _COMMENTS)] == "label"
    lists = all(isinstance(row.fields.get(column), list) for row in part.sample)
    is_of_people = column != _ANNOTATIONS or all("user" in entry for row in part.sample for entry in _given(row.fields))
    return part.is_records and part.keys_of_all() >= {"id", "text"} and bool(part.sample) and lists and is_of_people


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
    registrar, column = Registrar(part, collector), _column(part)
    registrar.warned_at = files[0].place() if files else part.place()
    rater = part.stem if len(files) > 1 else ""
    if rater:
        collector.warn_once("rater-from-file", part.place(), rater)
    store_items(registrar, lambda: (_text_of(place, fields, column, rater) for place, fields in part.placed()))


def _text_of(place: Place, fields: JsonDict, column: str, rater: str) -> AnnotatedItem:
    """Return a text with its labels: those of each person, or those of the file's."""
    id_ = as_id(fields.get("id"))
    item = Item(prompt=as_text(fields.get("text")), details=details(fields, _READ))
    if column == _ANNOTATIONS:
        return AnnotatedItem(place, id_, item, _of_people(id_, _given(fields)))
    annotation = ForeignAnnotation(f"{rater}, {id_}".removeprefix(", "), rater)
    _take_doccano(annotation, column, fields.get(column))
    given = _entries(fields.get(_COMMENTS))
    comments = [as_text(entry.get("comment") if isinstance(entry, dict) else entry) for entry in given]
    if any(comments) and annotation.labels:
        annotation.remarks[_COMMENTS] = "\n".join(filter(None, comments))
    return AnnotatedItem(place, id_, item, [annotation])


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
        _take_doccano(
            annotation, _ANNOTATIONS, given if marks else [entry.get("label", entry.get("text")) for entry in given]
        )
        found.append(annotation)
    return found


def _entries(value: object) -> list[object]:
    """Return the entries of a list; CSV joins them by `#`."""
    value = parsed(value)
    if isinstance(value, str):
        parts = value.split("#")
        return list(parts) if all(part.strip() for part in parts) else [value]
    return value if isinstance(value, list) else []


def _take_doccano(annotation: ForeignAnnotation, column: str, value: object) -> None:
    """Add the labels of the text; marks in it are none."""
    entries = [entry for entry in _entries(value) if not is_missing(entry)]
    if any(isinstance(entry, list | dict) for entry in entries):
        annotation.unread.append(column)
    elif label := joined(map(as_id, entries)):
        annotation.labels[""] = label


_HASHES = frozenset({"_input_hash", "_task_hash"})
_OF_TASKS = frozenset(
    {"accept", "answer", "label", "spans", "tokens", "relations", "meta", "user_input", "config"}
    | {"field_id", "field_rows", "field_label", "field_placeholder", "field_autofocus"}
)
_ACCEPT, _REJECT = "accept", "reject"


@Shape(
    "prodigy",
    "Prodigy: annotations",
    lambda part: part.keys_of_all() >= _HASHES and "answer" in part.keys_of_any(),
    "`_input_hash`, `_task_hash` and `answer`",
    JUDGMENTS,
    rank=40,
    export="Run prodigy db-out DATASET > export.jsonl.",
    comes="Accepted options become labels by person; where a task has one label, accept or reject is the label "
    "under its name. Free text becomes the reason.",
    stays="Ignored and rejected tasks, spans and relations stay; each is counted.",
)
def _read_prodigy(part: Part, collector: Collector, upload: UploadParts) -> None:
    store_items(Registrar(part, collector), lambda: (_task_of(place, fields) for place, fields in part.placed()))


def _task_of(place: Place, fields: JsonDict) -> AnnotatedItem:
    """Return a task with its answer."""
    id_, answer = as_id(fields.get("_input_hash")), as_text(fields.get("answer"))
    rater = as_id(fields.get("_annotator_id")) or as_id(fields.get("_session_id"))
    annotation = ForeignAnnotation(f"{rater}, {id_}", rater, _time(fields.get("_timestamp")))
    if answer not in (_ACCEPT, _REJECT) or (answer == _REJECT and "accept" in fields):
        annotation.cancelled = f"answer is {answer}"
    elif fields.get("options") and "accept" not in fields:
        annotation.cancelled = "accept is missing"
    else:
        _take_prodigy(annotation, fields, answer)
    data = {name: value for name, value in fields.items() if not name.startswith("_") and name not in _OF_TASKS}
    return AnnotatedItem(place, id_, item_of(data, object_of(fields.get("meta"))), [annotation])


def _take_prodigy(annotation: ForeignAnnotation, fields: JsonObject, answer: str) -> None:
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


_BETWEEN = ":::"
_SPANS_POTATO = "span_annotation"
_TEXT = "displayed_text"
_STATE = "instance_id_to_label_to_value"
_OF_ROWS = frozenset({"user", "user_id", "instance_id", "id", "annotation_id", "span_annotations", "behavioral_data"})
_OF_ROWS |= {"label_annotations", "labels", "spans", "links"}
_VALUE_IS_LABEL = ("select-one", "slider", "")
_LONGEST_KEY = 20  # characters of a value that only marks its label as chosen

Labels = dict[str, JsonDict]  # scheme -> label -> value


Reads = Callable[[Part], Iterator[AnnotatedItem]]


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


def _from_columns(part: Part) -> Iterator[AnnotatedItem]:
    """Yield rows whose columns are `scheme:::label` (instances of 1.x) or `scheme.label` (exports of 2.x)."""
    between = _BETWEEN if any(_BETWEEN in name for name in part.columns) else "."
    for row in part.rows():
        labels: Labels = {}
        has_spans = False
        for name, value in row.fields.items():
            scheme, sign, label = name.partition(between)
            if scheme == _SPANS_POTATO or label == "_spans":
                has_spans |= value not in ("", "[]") and not is_missing(value)
            elif sign and scheme not in _OF_ROWS:
                labels.setdefault(scheme, {})[label] = value
        data = {name: value for name, value in row.fields.items() if between not in name and name not in _OF_ROWS}
        rater = as_id(row.fields.get("user")) or as_id(row.fields.get("user_id"))
        if between == ".":
            data = {name: value for name, value in data.items() if name not in labels}  # the answer, said once more
        id_ = as_id(row.fields.get("instance_id"))
        yield _instance(part.place(row.at), rater, id_, labels, data, has_spans=has_spans)


def _from_lines(part: Part) -> Iterator[AnnotatedItem]:
    """Yield instances of JSON Lines; those of one person's folder name nobody."""
    folder = part.folder.rpartition("/")[2]
    for row in part.rows():
        fields = row.fields
        id_ = as_id(fields.get("instance_id")) or as_id(fields.get("id"))
        rater = as_id(fields.get("user_id")) or as_id(fields.get("user")) or folder
        data = {name: value for name, value in fields.items() if name not in _OF_ROWS}
        spans = bool(fields.get("span_annotations") or fields.get("spans"))
        labels = _labels(fields.get("label_annotations", fields.get("labels")))
        yield _instance(part.place(row.at), rater, id_, labels, data, has_spans=spans)


def _from_state(part: Part) -> Iterator[AnnotatedItem]:
    """Yield the instances of a person's state, which has no texts."""
    rater = as_id(part.document.get("user_id")) or part.folder.rpartition("/")[2]
    spans = part.document.get("instance_id_to_span_to_value")
    for id_, labels in part.document[_STATE].items():
        has_spans = isinstance(spans, dict) and bool(spans.get(id_))
        yield _instance(part.place(id_), rater, as_id(id_), _labels(labels), {}, has_spans=has_spans)


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


def _instance(place: Place, rater: str, id_: str, labels: Labels, data: JsonDict, *, has_spans: bool) -> AnnotatedItem:
    """Return what a person gave one instance, which shows `data`."""
    annotation = ForeignAnnotation(f"{rater}, {id_}", rater)
    for scheme, given in labels.items():
        _take_potato(annotation, scheme, given)
    if has_spans:
        annotation.unread.append("spans")
    return AnnotatedItem(place, id_, item_of(data), [annotation])


def _take_potato(annotation: ForeignAnnotation, scheme: str, labels: JsonDict) -> None:
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


_COMES_POTATO = (
    "The chosen label of each scheme, by person; likert and slider values as numbers; texts become the reason."
)
_STAYS_POTATO = "Spans and records of behaviour stay."


def _shape_potato(kind: str, form: str, read: Reads, fits: Callable[[Part], bool], why: str) -> Shape:
    export = "Take the files of `output_annotation_dir`, or run python -m potato.export."
    shape = Shape(
        kind, f"Potato: {form}", fits, why, JUDGMENTS, 30, export=export, comes=_COMES_POTATO, stays=_STAYS_POTATO
    )
    return shape(lambda part, collector, upload: store_items(Registrar(part, collector), lambda: read(part)))


POTATO: tuple[Shape, ...] = (
    _shape_potato(
        "potato", "annotated instances, TSV or CSV", _from_columns, _fits_columns, "columns `scheme:::label`"
    ),
    _shape_potato(
        "potato-table", "exported table", _from_columns, _fits_table, "`instance_id`, `user_id`, `scheme.label`"
    ),
    _shape_potato("potato-lines", "annotated instances, JSON Lines", _from_lines, _fits_lines, "`label_annotations`"),
    _shape_potato(
        "potato-state",
        "a person's state",
        _from_state,
        lambda part: part.form is Form.DOCUMENT and isinstance(part.document.get(_STATE), dict),
        f"`{_STATE}`",
    ),
)
