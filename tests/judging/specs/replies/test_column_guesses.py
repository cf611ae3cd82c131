"""What columns are guessed to be by their names and first cells."""

from __future__ import annotations

import pytest

from judging.specs.replies.column_guesses import guess_fields, holds_mapped_questions, holds_mapped_responses

ROW = [["1", "Which river?", "The Elbe.", "The Oder.", "3"]]


@pytest.mark.parametrize(
    ("names", "fields"),
    [
        (["case_id", "system", "attempt", "response"], ["case", "system", "attempt", "response"]),
        (["Question ID", "Prompt Text", "LLM Answer", "Which model"], ["case", "prompt", "response", "system"]),
        (["questionId", "userInput", "actualOutput"], ["case", "prompt", "response"]),
        (["question", "answer"], ["prompt", "reference"]),
        (["id", "answer"], ["case", "response"]),
        (["question", "answer", "model"], ["prompt", "response", "system"]),
        (["question", "answer", "output"], ["prompt", "reference", "response"]),
        (
            ["input", "expected_output", "contexts", "topic", "lang"],
            ["prompt", "reference", "context", "scenario", "language"],
        ),
        (["question", "answer_a", "answer_b"], ["prompt", "detail", "detail"]),  # which of the two it is, nobody knows
        (
            ["doc_id", "doc.question", "target", "filtered_resps", "doc.x"],
            ["case", "prompt", "reference", "response", "ignore"],
        ),
        (["colour", "size", ""], ["detail", "detail"]),
    ],
)
def test_guess_fields_knows_the_names_that_programs_write(names: list[str], fields: list[str]) -> None:
    assert list(guess_fields(names).values()) == fields


@pytest.mark.parametrize(
    ("names", "fields"),
    [
        (["id", "question", "oak", "elm", "n"], ["case", "prompt", "system-responses", "system-responses", "ignore"]),
        (["id", "question", "oak", "comment", "n"], ["case", "prompt", "detail", "detail", "detail"]),
        (["id", "question", "gpt-4o", "note", "n"], ["case", "prompt", "system-responses", "ignore", "ignore"]),
        (
            ["id", "question", "[openai:ada] Say: {{q}}", "Status", "n"],
            ["case", "prompt", "system-responses", "ignore", "ignore"],
        ),
    ],
)
def test_guess_fields_takes_columns_of_texts_for_systems(names: list[str], fields: list[str]) -> None:
    assert list(guess_fields(names, ROW).values()) == fields


def test_guess_fields_takes_only_models_for_systems_in_a_table_that_is_known() -> None:
    names = ["question", "reference", "rationale of it", "claude-3"]
    row = [["Which river?", "The Elbe.", "It flows there.", "The Oder."]]

    assert guess_fields(names, row, is_known=True)["rationale of it"] == "ignore"
    assert guess_fields(names[:3], row, is_known=True)["rationale of it"] == "detail"
    assert guess_fields(names, row, is_known=True)["claude-3"] == "system-responses"


def test_guess_fields_prefers_a_column_with_values() -> None:
    assert guess_fields(["provider.label", "provider.id"], [["", "openai:ada"]]) == {
        "provider.label": "ignore",
        "provider.id": "system",
    }


@pytest.mark.parametrize(
    ("fields", "responses", "questions"),
    [
        ({"a": "case", "b": "response"}, True, False),
        ({"a": "prompt", "b": "system-responses"}, True, False),
        ({"a": "prompt", "b": "reference"}, False, True),
        ({"a": "case", "b": "reference"}, False, False),
        ({"b": "response"}, False, False),
    ],
)
def test_holds_mapped_responses_and_questions(fields: dict[str, str], responses: bool, questions: bool) -> None:
    assert (holds_mapped_responses(fields), holds_mapped_questions(fields)) == (responses, questions)
