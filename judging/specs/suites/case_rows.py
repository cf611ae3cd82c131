"""Cases and responses as rows that importers read: what a case asks and shows, without the rules that grade it."""

from __future__ import annotations

from collections.abc import Sequence

from evalsite.base.json_types import JsonDict, JsonObject
from judging.specs.pictures.picture_rows import IMAGE_FIELDS, RESPONSE_IMAGE_FIELDS
from judging.specs.turns import MESSAGE_FIELDS, RESPONSE_MESSAGE_FIELDS
from judging.specs.types import CaseSpec, ResponseSpec

FOLDER = "images"
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg"}
_OWN = frozenset({*IMAGE_FIELDS, *RESPONSE_IMAGE_FIELDS, *MESSAGE_FIELDS, *RESPONSE_MESSAGE_FIELDS})


def image_file(image: JsonObject) -> str:
    """Return the path of an image among the files of an export: its hash, by which it is known when it comes back."""
    return f"{FOLDER}/{image['digest']}.{_ENDINGS[image['media_type']]}"


def question_row(case: CaseSpec, images: Sequence[JsonObject]) -> JsonDict:
    """Return a case as a row of `judging.specs.suites.questions_jsonl`."""
    row: JsonDict = {name: value for name, value in case.metadata.items() if name not in _OWN}
    parts = [row.get("instruction"), row.get("question")]
    if "instruction" in row and "\n\n".join(filter(None, parts)) != case.prompt:
        del row["instruction"]
    if "instruction" not in row:
        row["question"] = case.prompt
    fields = {
        "id": case.key,
        "answer": case.reference,
        "context": case.context,
        "context_role": case.context_role,
        "scenario": case.scenario,
        "type": case.question_type,
        "lang": case.lang,
    }
    row |= {name: value for name, value in fields.items() if value}
    if case.messages:
        row["messages"] = messages_of(case.messages, images)
        row.pop("question", None)
    further_images = _further(case.messages, images)
    return row | ({"images": further_images} if further_images else {})


def response_row(response: ResponseSpec, images: Sequence[JsonObject]) -> JsonDict:
    """Return a response as a row of `judging.specs.replies.response_rows`."""
    row: JsonDict = {
        "case_id": response.case_key,
        "system": response.system,
        "attempt": response.attempt,
        "response": response.text,
    }
    if response.messages:
        row["response_messages"] = messages_of(response.messages, images)
    further_images = _further(response.messages, images)
    return row | ({"response_images": further_images} if further_images else {})


def media_fields(owner: str, images: Sequence[JsonObject], turns: Sequence[JsonObject]) -> JsonDict:
    """Return the columns of an export that say what a case or response has beside its text: hashes, and messages."""
    hashes = [image["digest"] for image in images]
    return {f"{owner}_images": hashes, f"{owner}_messages": messages_of(turns, images)}


def messages_of(turns: Sequence[JsonObject], images: Sequence[JsonObject]) -> list[JsonDict]:
    """Return a conversation in the form of chat completions; images are paths among the files of the export."""
    return [_message(turn, images) for turn in turns]


def _message(turn: JsonObject, images: Sequence[JsonObject]) -> JsonDict:
    parts = [
        {"type": "text", "text": part["text"]} if "text" in part else {"type": "image", **_named(images[part["image"]])}
        for part in turn["parts"]
    ]
    message: JsonDict = {"role": turn["role"], "content": parts or None}
    if turn.get("calls"):
        message["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": {name: call[name] for name in ("name", "arguments")}}
            for call in turn["calls"]
        ]
    optional_fields = {"tool_call_id": turn.get("call_id"), "name": turn.get("name")}
    return message | {name: value for name, value in optional_fields.items() if value}


def _further(turns: Sequence[JsonObject], images: Sequence[JsonObject]) -> list[JsonDict]:
    """Return the images that no turn shows."""
    shown = {part.get("image") for turn in turns for part in turn["parts"]}
    return [_named(image) for index, image in enumerate(images) if index not in shown]


def _named(image: JsonObject) -> JsonDict:
    return {"path": image_file(image)} | ({"alt": image["alt"]} if image.get("alt") else {})
