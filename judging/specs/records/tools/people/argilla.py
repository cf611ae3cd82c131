"""Argilla: records of 2.x as JSON or flattened, records of 1.x, and its old text classification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import Place
from judging.specs.records.parts import Form, Part, UploadParts
from judging.specs.records.shapes import JUDGMENTS, Shape
from judging.specs.records.tools.people.annotations import (
    ForeignAnnotation,
    cancelled,
    is_free_text,
    joined,
    ranking,
    store,
    suggested,
)
from judging.specs.records.tools.people.items import Item, ItemSubject, Registrar, item_of
from judging.specs.records.values import as_id, as_number, as_text, is_missing, parsed

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


def _fits_flat(part: Part) -> bool:
    return any(name + _USERS in part.columns for name in _questions(part.columns, _ANSWERS))


def _fits_hub(part: Part) -> bool:
    columns = _questions(part.columns, _HUB_SUGGESTION)
    return any(_is_answered(part, name) for name in columns) and "external_id" in part.columns


def _questions(columns: tuple[str, ...] | list[str], ending: str) -> list[str]:
    return [name.removesuffix(ending) for name in columns if name.endswith(ending)]


def _is_answered(part: Part, question: str) -> bool:
    values = [parsed(row.fields.get(question)) for row in part.sample]
    return question in part.columns and all(isinstance(value, list | dict) or is_missing(value) for value in values)


def _fits_old(part: Part) -> bool:
    return part.keys_of_all() >= _OLD


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
    value = parsed(value)
    return value if isinstance(value, dict) else {}


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
        registrar, values = Registrar(part, collector, upload.system), dict[str, list[object]]()
        for row in part.rows():
            record = record_of(row.fields)
            registrar.look_at(record.item, record.id)
            for answer in record.answers:
                values.setdefault(answer.question, []).extend(
                    [answer.value][: _MOST - len(values.get(answer.question, ()))]
                )
        texts = {question for question, given in values.items() if is_free_text(question, given)}
        for row in part.rows():
            record, place = record_of(row.fields), part.place(row.at)
            subject = registrar.register(place, record.item, record.id)
            suggested(collector, place, record.suggestions)
            if subject is not None:
                for annotation in _annotations(record, texts):
                    _store(collector, place, subject, annotation)

    return read


def _store(collector: Collector, place: Place, subject: ItemSubject, annotation: ForeignAnnotation) -> None:
    if annotation.metadata.get("status") in _NOT_GIVEN:
        cancelled(collector, place, f"{annotation.name}: {annotation.metadata['status']}")
    else:
        store(collector, place, subject, annotation)


def _status(entry: JsonObject) -> str:
    """Return the status of an answer, also under a name that no version has."""
    return as_text(entry.get("status")) or next((str(value) for value in entry.values() if value in _NOT_GIVEN), "")


def _annotations(record: Record, texts: set[str]) -> list[ForeignAnnotation]:
    """Return the answers of a record by person; those not given apart."""
    people: dict[tuple[str, str], ForeignAnnotation] = {}
    for answer in record.answers:
        status = answer.status if answer.status in _NOT_GIVEN else ""
        name = f"record {record.id}, {answer.rater or 'nobody named'}"
        annotation = people.setdefault((answer.rater, status), ForeignAnnotation(name, answer.rater))
        if status:
            annotation.metadata = {"status": status}
        elif answer.question in texts:
            annotation.remarks[answer.question] = as_text(answer.value)
        elif not is_missing(answer.value):
            _take(annotation, answer.question, answer.value)
    return list(people.values())


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


SHAPES: tuple[Shape, ...] = (
    _shape("argilla", "records", _nested, _fits_records, "records with `fields` and `responses`"),
    _shape("argilla-flat", "flattened records", _flat, _fits_flat, "columns `….responses` and `….responses.users`"),
    _shape("argilla-1", "records of 1.x", _hub, _fits_hub, "questions with answers beside `…-suggestion`"),
    _shape(
        "argilla-text",
        "text classification",
        _old,
        _fits_old,
        "`annotation`, `annotation_agent` and `prediction_agent`",
    ),
)
