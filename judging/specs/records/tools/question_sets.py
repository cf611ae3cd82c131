"""Sets of questions whose records hold lists: instructions with their instances, SQuAD, and trees of messages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from evalsite.base.types import JsonDict, JsonObject, as_text, objects
from judging.specs.records.collector import Collector
from judging.specs.records.neutral import CaseRecord, Choice, Giver, PreferenceRecord, ResponseRecord
from judging.specs.records.parts import Part, UploadParts
from judging.specs.records.shapes import CASES, Reply, Shape, Told, ToolRow
from judging.specs.records.values import as_count, as_id, at, conversation, details, references


def _are_instances(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(at(entry, "input"), str) for entry in value)


def _instruction_case(case_id: str, instruction: str, instance: JsonDict, metadata: JsonDict) -> CaseRecord:
    """Return the case of an instance: the instruction, and below it the input where there is one."""
    texts = (instruction.strip(), as_text(instance.get("input")).strip())
    prompt, answers = "\n\n".join(text for text in texts if text), references(instance.get("output"))
    metadata = metadata | _without(instance, "id", "input", "output")
    return CaseRecord(case_id, prompt, references=answers, metadata=metadata)


@Shape(
    "self-instruct",
    "Self-Instruct: tasks with instances",
    lambda part: part.has("instruction") and any(_are_instances(value) for value in part.values("instances")),
    "rows with instruction and a list of instances with input",
    stage=CASES,
    keys=("instruction", "instances"),
    export="Take seed_tasks.jsonl or user_oriented_instructions.jsonl.",
    comes="Each instance is a case: the instruction with its input, and its output as the reference.",
)
def self_instruct(part: Part, collector: Collector, upload: UploadParts) -> None:
    """Store the instances of each task as cases; the second of a task and those after it get a number behind its id."""
    for place, fields in part.placed():
        if not _are_instances(fields.get("instances")):
            collector.bad_row(place, "The row has no list of instances with an input each.")
            continue
        task, rest = as_id(fields.get("id")), _without(fields, "id", "instruction", "instances")
        for number, instance in enumerate(objects(fields["instances"]), 1):
            case_id = f"{task}-{number}" if task and number > 1 else task
            collector.case(place, _instruction_case(case_id, as_text(fields["instruction"]), instance, rest))


def _said(turn: JsonObject, name: str) -> str:
    return "\n".join(as_text(part["text"]) for part in objects(at(turn, f"{name}.parts")) if part.get("text"))


@Shape(
    "adk-eval-set",
    "Google ADK: set of evaluation cases",
    lambda part: (
        part.has("eval_id", "conversation")
        and all(at(value, "0.user_content") for value in part.values("conversation"))
    ),
    "cases with eval_id and a conversation of user_content and final_response",
    stage=CASES,
    rank=40,
    export="Take the file of the set (.evalset.json).",
    comes="Each case is a conversation, whose last response is the reference; tool calls that it expects are details.",
).rows
def adk_eval_set(row: ToolRow) -> Told:
    """Return a case with the responses before its last one, and that as the reference."""
    turns = row.objects("conversation")
    asked, replies = ([_said(turn, name) for turn in turns] for name in ("user_content", "final_response"))
    case = CaseRecord(row.id("eval_id"), messages=conversation(asked, replies[:-1]), references=references(replies[-1]))
    expected = [turn["intermediate_data"] for turn in turns if turn.get("intermediate_data")]
    case.metadata = row.rest() | ({"intermediate_data": expected} if expected else {})
    return Told(case)


@Shape(
    "natural-instructions",
    "Super-NaturalInstructions: a task",
    lambda part: isinstance(part.document.get("Definition"), (str, list)) and "Instances" in part.document,
    "a JSON object with Definition and Instances",
    stage=CASES,
    rank=40,
    export="Take the JSON file of a task.",
    comes="Each instance is a case: the definition with its input, and its outputs as references.",
    stays="Positive and negative examples.",
)
def natural_instructions(part: Part, collector: Collector, upload: UploadParts) -> None:
    """Store the instances of a task as cases."""
    said = part.document["Definition"]
    definition = "\n".join(map(as_text, said)) if isinstance(said, list) else as_text(said)
    for place_at, instance in part.items("Instances"):
        if isinstance(instance, dict) and isinstance(instance.get("input"), str):
            collector.case(part.place(place_at), _instruction_case(as_id(instance.get("id")), definition, instance, {}))
        else:
            collector.bad_row(part.place(place_at), "The instance has no input.")


@Shape(
    "squad",
    "SQuAD: questions about paragraphs",
    lambda part: any(isinstance(at(value, "0.qas"), list) for value in part.values("paragraphs")),
    "articles with paragraphs that hold qas",
    stage=CASES,
    rank=40,
    keys=("paragraphs",),
    export="Take the JSON file of a part, such as dev-v2.0.json.",
    comes="Each question is a case with its paragraph as context and its answers as references.",
    stays="Where an answer begins in its paragraph.",
)
def squad(part: Part, collector: Collector, upload: UploadParts) -> None:
    """Store the questions about each paragraph as cases; one that cannot be answered from it has no reference."""
    for place, article in part.placed():
        for paragraph, question in _questions(article):
            case = CaseRecord(as_id(question.get("id")), as_text(question.get("question")).strip())
            case.references = references([at(answer, "text") for answer in objects(question.get("answers"))])
            case.context = case.asks_of = [as_text(paragraph.get("context"))]
            told = _without(question, "id", "question", "answers", "plausible_answers")
            case.metadata = _without(article, "paragraphs") | told
            collector.case(place, case)


def _questions(article: JsonDict) -> Iterator[tuple[JsonDict, JsonDict]]:
    for paragraph in objects(article.get("paragraphs")):
        yield from ((paragraph, question) for question in objects(paragraph.get("qas")))


def _without(fields: JsonDict, *names: str) -> JsonDict:
    return {name: value for name, value in fields.items() if name not in names}


_OF_MESSAGE = ("message_id", "parent_id", "text", "role", "replies", "rank")


def _first_message(fields: JsonObject) -> JsonObject:
    """Return the message at the root of a tree: that under `prompt`, or the row itself; an empty one where none is."""
    root = prompt if isinstance(prompt := fields.get("prompt"), dict) else fields
    is_asked = root.get("role") == "prompter" and isinstance(root.get("text"), str)
    return root if is_asked and isinstance(root.get("replies"), list) else {}


@Shape(
    "message-trees",
    "OpenAssistant: trees of messages",
    lambda part: bool(part.sample) and all(_first_message(row.fields) for row in part.sample),
    "messages of the role prompter with their replies",
    rank=40,
    export="Take a file of trees (*.trees.jsonl.gz).",
    comes="The first message of a tree is a case and each reply to it a response. Where replies are ranked, each is "
    "better than those below it.",
    stays="Deleted replies, and what was said after the first replies.",
).rows
def message_tree(row: ToolRow) -> Told:
    """Return the first message of a tree, and the replies to it from the best on."""
    root = _first_message(row.fields)
    replies = []
    for reply in objects(root["replies"]):
        if reply.get("deleted"):
            row.collector.leave_out("message", "a deleted reply", row.place)
            continue
        replies.append(reply)
        for _ in objects(reply.get("replies")):
            row.collector.leave_out("message", "an answer to a reply", row.place)
    ranks = [as_count(reply.get("rank")) for reply in replies]
    case = CaseRecord(as_id(root.get("message_id")), as_text(root["text"]))
    case.metadata = row.rest("prompt", *_OF_MESSAGE) | details(root, _OF_MESSAGE)
    better = [
        PreferenceRecord(*((a, b) if first < second else (b, a)), Choice.A, Giver.GOLD)
        for (a, first), (b, second) in combinations(enumerate(ranks), 2)
        if first is not None and second is not None and first != second
    ]
    return Told(case, [_reply(row, reply) for reply in replies], better)


def _reply(row: ToolRow, reply: JsonDict) -> Reply:
    model = as_text(reply.get("model_name")).strip()
    response = ResponseRecord(model or row.system(), as_text(reply.get("text")), row_id=as_id(reply.get("message_id")))
    response.metadata = details(reply, (*_OF_MESSAGE, "model_name"))
    return Reply(response)
