"""Sets with several questions about one document in a row, such as L-Eval: a list of questions and one of answers."""

from __future__ import annotations

from evalsite.base.json_types import JsonObject
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import CaseInput, ResponseRow
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.shapes import Shape
from judging.specs.records.tool_rows import Reply, Told, ToolRow, store
from judging.specs.records.values import as_text, parsed, references, texts

_QUESTIONS = ("instructions", "questions", "queries")
_ANSWERS = ("outputs", "answers", "references", "ground_truths")
_DOCUMENTS = ("input", "context", "document", "passage", "article", "story", "text")
_OF_SYSTEM = ("_outputs", "_answers", "_responses", "_predictions")


def _entries(fields: JsonObject, name: str) -> list[object]:
    value = parsed(fields.get(name))
    return value if isinstance(value, list) else []


def _first(fields: JsonObject, names: tuple[str, ...]) -> str:
    return next((name for name in names if name in fields), "")


def _are_questions(fields: JsonObject) -> bool:
    """Return whether a row has as many answers as questions, which are texts."""
    questions = _entries(fields, _first(fields, _QUESTIONS))
    answers = _entries(fields, _first(fields, _ANSWERS))
    return bool(questions) and len(answers) == len(questions) and all(isinstance(text, str) for text in questions)


@Shape(
    "document-questions",
    "Questions about documents: lists of questions and answers",
    lambda part: bool(part.sample) and all(_are_questions(row.fields) for row in part.sample),
    "rows with a list of instructions or questions and one of as many outputs or answers",
    tool_name="L-Eval",
    export="Take a file of a task (LEval-data), or any table with lists of questions and answers about a document.",
    comes="Each question is a case with the document as its context and its answer as the reference; lists such as "
    "gpt4_outputs are the responses of that system.",
)
def _read(part: Part, collector: Collector, upload: UploadParts) -> None:
    for place, fields in part.placed():
        row = ToolRow(part, collector, upload, place, fields)
        for told in _told(row):
            store(row, told)


def _told(row: ToolRow) -> list[Told]:
    questions, answers = (_first(row.fields, names) for names in (_QUESTIONS, _ANSWERS))
    asked, right = _entries(row.fields, questions), _entries(row.fields, answers)
    systems = {
        name: entries
        for name in row.fields
        if name.endswith(_OF_SYSTEM) and len(entries := _entries(row.fields, name)) == len(asked)
    }
    context, id_ = texts(row.get(*_DOCUMENTS)), row.id("id", "doc_id", "document_id", "_id")
    metadata = row.rest(questions, answers, *systems)
    told = []
    for number, question in enumerate(asked):
        case = CaseInput(f"{id_}-{number + 1}" if id_ else "", as_text(question), None, references(right[number]))
        case.context, case.metadata, case.asks_of_context = context, dict(metadata), True
        told.append(Told(case, [_reply(name, entries[number]) for name, entries in systems.items()]))
    return told


def _reply(name: str, text: object) -> Reply:
    return Reply(ResponseRow(name.rpartition("_")[0], as_text(text)), failure="" if text is not None else "it is null")
