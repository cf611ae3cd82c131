"""Cases as chat messages: roles, images in the user's messages, calls with ids that their results name."""

from __future__ import annotations

from typing import Any, cast

from judging.judges.answer_prompts import chat_messages, turns_of, with_rules, without_images
from judging.llm.chat import Message, MessagePart, sent_message
from judging.specs.types import ImageSpec, StoredTurn

IMAGES = (ImageSpec("a" * 64, "image/png", 4, 4, alt="the answer"), ImageSpec("b" * 64, "image/jpeg", 4, 4))
A, B = (MessagePart(digest=image.digest, media_type=image.media_type) for image in IMAGES)


def turn(role: str, *parts: Any, **fields: Any) -> StoredTurn:
    shown: Any = [{"text": part} if isinstance(part, str) else {"image": part} for part in parts]
    return cast(StoredTurn, {"role": role, "parts": shown, **fields})


def call(name: str, call_id: str = "") -> dict[str, str]:
    return {"id": call_id, "name": name, "arguments": "{}"}


def sent_call(name: str, call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def test_a_conversation_keeps_its_roles_and_its_parts_in_order() -> None:
    turns = [
        turn("system", "Be brief."),
        turn("user", "What", 0, "and", 1),
        turn("assistant", "Red."),
        turn("user", "Why?"),
    ]

    messages = chat_messages(turns, IMAGES, question="Why?", prompt="Why?")

    assert messages == (
        Message("system", "Be brief."),
        Message("user", "What", (A, MessagePart("and"), B)),
        Message("assistant", "Red."),
        Message("user", "Why?"),
    )


def test_a_prompt_stands_in_place_of_the_turn_that_asks_and_its_images_follow() -> None:
    turns = [turn("user", "Hi"), turn("assistant", "Hello"), turn("user", "What is", 0, 1)]

    messages = chat_messages(turns, IMAGES, question="What is\n[image 1]\n[image 2]", prompt="Think. What is…?")

    labelled = (MessagePart("[image 1]"), A, MessagePart("[image 2]"), B)
    assert messages[2] == Message("user", "Think. What is…?", labelled)
    assert messages[:2] == (Message("user", "Hi"), Message("assistant", "Hello"))


def test_images_of_assistants_and_tools_lead_the_next_message_of_the_user() -> None:
    turns = [turn("user", "Draw"), turn("assistant", "Here", 0), turn("user", "Bigger"), turn("assistant", 1)]

    messages = chat_messages(turns, IMAGES, question="Bigger", prompt="Bigger")
    wrapped = chat_messages(turns, IMAGES, question="Bigger", prompt="Now: Bigger")

    assert messages == (
        Message("user", "Draw"),
        Message("assistant", "Here\n[image 1]"),
        Message("user", "", (MessagePart("[image 1]"), A, MessagePart("Bigger"))),
        Message("assistant", "[image 2]"),
        Message("user", "", (MessagePart("[image 2]"), B)),
    )
    assert wrapped[2].parts == (MessagePart("[image 1]"), A, MessagePart("Now: Bigger"))


def test_results_name_the_calls_that_they_answer_and_one_without_a_call_is_said_as_text() -> None:
    turns = [
        turn("user", "Weather?"),
        turn("assistant", calls=[call("here", "x1"), call("there")]),
        turn("tool", "rain", call_id="x1"),
        turn("tool", "sun", name="there"),
        turn("tool", "lost", name="nobody", call_id="x9"),
    ]

    messages = [sent_message(message) for message in chat_messages(turns, (), question="Weather?", prompt="Weather?")]

    assert messages[1:] == [
        {"role": "assistant", "content": "", "tool_calls": [sent_call("here", "x1"), sent_call("there", "call_2")]},
        {"role": "tool", "content": "rain", "tool_call_id": "x1"},
        {"role": "tool", "content": "sun", "tool_call_id": "call_2"},
        {"role": "user", "content": "Tool nobody:\nlost"},
    ]


def test_names_are_sent_where_providers_take_them() -> None:
    turns = [turn("user", "Hi", name="ada"), turn("assistant", "Hello", name="The Bot")]

    assert [message.extra for message in chat_messages(turns, (), question="Hi", prompt="Hi")] == [{"name": "ada"}, {}]


def test_a_conversation_in_which_the_user_says_nothing_ends_with_the_prompt_if_there_is_one() -> None:
    turns = [turn("system", "Tell a story.")]

    assert [
        [message.content for message in chat_messages(turns, (), question="", prompt=prompt)]
        for prompt in ("", "Begin.")
    ] == [["Tell a story."], ["Tell a story.", "Begin."]]


def test_turns_of_ends_the_last_turn_of_the_user_with_images_that_no_turn_shows() -> None:
    stored = [{"digest": "a"}, {"digest": "b"}]
    conversation = [turn("user", "One", 1), turn("assistant", "Two")]

    assert turns_of("What?", stored[:1], []) == (turn("user", "What?", 0),)
    assert turns_of("", stored, conversation) == (turn("user", "One", 1, 0), turn("assistant", "Two"))
    assert turns_of("", stored[:1], [turn("system", "x")]) == (turn("system", "x"), turn("user", 0))


def test_without_images_marks_where_they_are() -> None:
    assert without_images([turn("user", "One", 1)]) == (turn("user", "One", "[image 2]"),)


def test_with_rules_makes_one_message_of_the_system() -> None:
    user, system = Message("user", "Hi"), Message("system", "Be brief.")

    assert with_rules([user], "") == (user,)
    assert with_rules([user], "Rhyme.") == (Message("system", "Rhyme."), user)
    assert with_rules([system, user], "Rhyme.") == (Message("system", "Rhyme.\n\nBe brief."), user)
