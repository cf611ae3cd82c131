"""Published prompts as templates: what their placeholders are, and pasted conversations."""

from __future__ import annotations

import pytest

from judging.judges.kinds.custom import KIND
from judging.judges.kinds.custom_templates import filled_in, placeholders_of, read_template, texts_by_role
from judging.judges.subjects import BadPrompt

SINGLE = "Rate from 1 to 10 as [[n]].\n[Question]\n{question}\n[Reference]\n{ref_answer_1}\n[Answer]\n{answer}"
PAIR = (
    "<|im_start|>system\nYou rank {kind}.\n<|im_end|>\n"
    "<|im_start|>user\n{instruction}\n{output_1}\n{output_2}<|im_end|>"
)


def test_placeholders_of_known_prompts_are_known_and_others_are_open() -> None:
    assert placeholders_of(SINGLE) == {"question": "question", "ref_answer_1": "reference", "answer": "response"}
    assert placeholders_of(PAIR) == {
        "kind": "",
        "instruction": "question",
        "output_1": "response",
        "output_2": "response_b",
    }
    assert placeholders_of("{answer_a} {answer_b} {{ question }} {% if reference %} {1} {a b}") == {
        "answer_a": "response",
        "answer_b": "response_b",
    }


def test_of_two_names_for_one_variable_the_second_is_open() -> None:
    assert placeholders_of("{instruction} {input} {output}") == {
        "instruction": "question",
        "input": "",
        "output": "response",
    }


def test_filled_in_writes_variables_and_keeps_what_is_text() -> None:
    text = filled_in(SINGLE + ' {"n": {n}} {who}', {**placeholders_of(SINGLE), "n": "=", "who": "language"})

    assert text == (
        "Rate from 1 to 10 as [[n]].\n[Question]\n{{ question }}\n[Reference]\n{{ reference }}\n"
        '[Answer]\n{{ response }} {"n": {n}} {{ language }}'
    )


def test_placeholders_with_a_dollar_sign_are_taken_whole() -> None:
    text = "Cost: $5. ${question} {answer} ${x}"

    assert placeholders_of(text) == {"question": "question", "answer": "response", "x": ""}
    filled = filled_in(text, {**placeholders_of(text), "x": "="})
    assert filled == "Cost: $5. {{ question }} {{ response }} ${x}"


@pytest.mark.parametrize(
    ("text", "names", "filled"),
    [
        ("{{input}} {{ output }}", {"input": "question", "output": "response"}, "{{ question }} {{ response }}"),
        ("{{item.question}} {{sample.output_text}}", {"item.question": "question", "sample.output_text": "response"},
         "{{ question }} {{ response }}"),
        ("{{{question}}} {{{expected}}}", {"question": "question", "expected": "reference"},
         "{{ question }} {{ reference }}"),
        ("{$user_query} {row.answer}", {"user_query": "", "row.answer": "response"}, "{$user_query} {{ response }}"),
        # what is a variable here stays, and takes its name from others; so do the names of loops
        ("{{ question }} {input} {{ metadata.topic }}", {"input": ""}, "{{ question }} {input} {{ metadata.topic }}"),
        ("{% for c in criteria %}{{ c.text }}{{ loop.index }}{% endfor %}", {},
         "{% for c in criteria %}{{ c.text }}{{ loop.index }}{% endfor %}"),
        # where placeholders are single, a name in three pairs is a value in braces
        ("{answer} {{{input}}}", {"answer": "response", "input": "question"}, "{{ response }} { {{ question }} }"),
    ],
)  # fmt: skip
def test_placeholders_of_other_tools_stand_in_one_to_three_pairs_of_braces(
    text: str, names: dict[str, str], filled: str
) -> None:
    assert placeholders_of(text) == names
    assert filled_in(text, {name: variable for name, variable in names.items() if variable}) == filled


def test_a_name_in_two_pairs_of_braces_that_is_text_is_sent_as_it_stands() -> None:
    filled = filled_in("{{response}} Reply as {{score}}", {"score": "="})

    assert read_template(filled).fill({"response": "Oak."}) == "Oak. Reply as {{score}}"
    assert (placeholders_of(filled), filled_in(filled, {"score": "="})) == ({}, filled)
    assert filled_in("{answer} Reply as {{score}}", {"answer": "response", "score": "="}) == (
        "{{ response }} Reply as {score}"
    )


def test_filled_in_takes_doubled_braces_for_single_ones_where_placeholders_are_single() -> None:
    reply = '{{"score": 1, "why": {{"text": "..."}}}}'
    variables = placeholders_of("{question} {answer}")

    assert filled_in("{question} {answer} " + reply, variables) == (
        '{{ question }} {{ response }} {"score": 1, "why": {"text": "..."}}'
    )
    assert filled_in(reply + "{question}{{ criteria | length }}{{score: 1-5}}", variables) == (
        '{"score": 1, "why": {"text": "..."}}{{ question }}{{ criteria | length }}{score: 1-5}'
    )
    for text in (reply, '{answer} {"a": {"b": 1}}', "{answer} {{ reference }}"):
        assert filled_in(text, variables) == text.replace("{answer}", "{{ response }}")


def test_a_pasted_conversation_is_split_into_the_text_of_the_system_and_the_prompt() -> None:
    assert texts_by_role(PAIR) == ("You rank {kind}.", "{instruction}\n{output_1}\n{output_2}")
    assert texts_by_role(PAIR + "\n<|im_start|>assistant\n") == texts_by_role(PAIR)
    assert texts_by_role(SINGLE) is None


@pytest.mark.parametrize("more", ["<|im_start|>assistant\nm<|im_end|>", "<|im_start|>user\nAnd?<|im_end|>"])
def test_a_conversation_of_several_turns_is_refused_with_the_way_out(more: str) -> None:
    with pytest.raises(BadPrompt, match="Put the turns before the last into Examples"):
        texts_by_role(PAIR + more)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"prompt_text": SINGLE}, "does not name {{ response }}"),
        ({"prompt_text": "{{ question }} {{ response_b }}"}, "names only {{ response_b }}"),
        ({"prompt_text": "{{ question }}", "system_text": "{{ response }}"}, ""),
        ({"prompt_text": "{{ response }}"}, ""),
        ({"prompt_text": ""}, ""),
    ],
)
def test_a_prompt_that_shows_no_response_is_refused(options: dict[str, str], says: str) -> None:
    refusal = KIND.refusal(options)

    assert (says in refusal) if says else refusal == ""
