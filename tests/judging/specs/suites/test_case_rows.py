"""Cases as rows: a changed question is written whole, images that no turn shows stand beside the messages."""

from __future__ import annotations

from judging.specs.records.neutral import CaseRecord
from judging.specs.suites.cases_yaml import media_fields, question_row
from judging.specs.types import StoredTurn

IMAGES = [
    {"digest": "a" * 64, "media_type": "image/png", "alt": ""},
    {"digest": "b" * 64, "media_type": "image/jpeg", "alt": "a wall"},
]
PATHS = [{"path": f"images/{'a' * 64}.png"}, {"path": f"images/{'b' * 64}.jpg", "alt": "a wall"}]
TURNS: list[StoredTurn] = [{"role": "user", "name": "ada", "parts": [{"text": "See"}, {"image": 0}]}]
MESSAGES = [
    {"role": "user", "name": "ada", "content": [{"type": "text", "text": "See"}, {"type": "image", **PATHS[0]}]}
]


def test_question_row_keeps_instruction_and_question_apart_where_they_make_up_the_prompt() -> None:
    metadata = {"instruction": "Look.", "question": "What?", "image": "old.png", "level": 3}

    same = question_row(CaseRecord("1", "Look.\n\nWhat?", metadata=metadata), [])
    edited = question_row(CaseRecord("1", "Look closely.", metadata=metadata), [])

    assert same == {"id": "1", "instruction": "Look.", "question": "What?", "level": 3}
    assert edited == {"id": "1", "question": "Look closely.", "level": 3}


def test_question_row_writes_a_conversation_and_the_images_beside_it() -> None:
    row = question_row(CaseRecord("1", "See\n[image 1]", messages=tuple(TURNS)), IMAGES)

    assert row == {"id": "1", "messages": MESSAGES, "images": [PATHS[1]]}


def test_media_fields_name_images_by_hash() -> None:
    assert media_fields("response", IMAGES, TURNS) == {
        "response_images": ["a" * 64, "b" * 64],
        "response_messages": MESSAGES,
    }
