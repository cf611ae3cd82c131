"""Forms in YAML: every kind of question, and every error by its line."""

from __future__ import annotations

import json

import pytest

from evalsite.review.questions.form_files import (
    BadForm,
    check_fits,
    form_of_definition,
    read_form,
    starting_forms,
    written_form,
)
from evalsite.review.questions.forms import Answer, OwnForm, PartsMissing, letters_seen, letters_stored
from evalsite.review.questions.scales import Label
from judging.stored_content import content_hash

pytestmark = pytest.mark.backend_free
EVERY = """
form:
  - {key: better, ask: Which response is better?, kind: preference, grades: 5}
  - key: why
    ask: Why?
    kind: choices
    options: [accuracy, style]
    show_if: {better: [2, -2]}
    keys: {accuracy: a}
  - {key: use, ask: How useful is it?, kind: scale, anchors: {1: useless, 5: complete}, per: response}
  - {key: topic, ask: What is it about?, kind: choice, options: {bill: Billing, tech: Technical}}
  - {key: days, ask: How many days?, kind: number, low: 0, high: 31, step: 1}
  - {key: note, ask: Anything else?, kind: text, required: false, help: In a few words.}
"""
SAID = {"better": "2", "why": "style,accuracy", "use.a": "5", "use.b": "2", "topic": "bill", "days": "3", "note": ""}
VALUES: dict[str, Answer] = {
    "better": 2,
    "why": ["accuracy", "style"],
    "use.a": 5,
    "use.b": 2,
    "topic": "bill",
    "days": 3,
}


def form(text: str = EVERY, *, is_pair: bool = True) -> OwnForm:
    made = form_of_definition(read_form(text), size=2 if is_pair else 1)
    assert made is not None
    return made


def test_answers_are_read_by_kind_and_stand_for_the_direction_of_the_preference() -> None:
    values = form().read(SAID)

    assert values == VALUES
    assert form().holds(values)
    assert form().label(values) == "1"
    assert form().labels == (Label("1", "A is better"), Label("0", "Neither is better"), Label("-1", "B is better"))
    assert form().words(values) == (
        "better: A is much better; why: accuracy, style; use.a: 5; use.b: 2; topic: Billing; days: 3"
    )


def test_answers_turn_with_the_sides_and_back() -> None:
    turned = form().turned(VALUES, letters_seen("ba"))

    assert turned == {**VALUES, "better": -2, "use.b": 5, "use.a": 2}
    assert form().turned(turned, letters_stored("ba")) == VALUES


def test_a_question_that_was_not_asked_has_no_answer() -> None:
    assert form().read(SAID | {"better": "1"}) == {
        "better": 1, **{key: value for key, value in VALUES.items() if key not in ("better", "why")}
    }  # fmt: skip
    assert not form().holds({**VALUES, "better": 0})  # `why` was not asked
    assert not form().holds({key: value for key, value in VALUES.items() if key != "why"})


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"better": ""}, "Answer first: Which response is better?"),
        ({"why": ""}, "Answer first: Why?"),
        ({"why": "speed"}, "Answer first: Why?"),
        ({"use.b": "6"}, "Answer first: How useful is it? (response B)"),
        ({"days": "3.5"}, "Answer first: How many days?"),
        ({"days": "nan", "topic": "other"}, "Answer first: What is it about?; How many days?"),
    ],
)
def test_what_is_missing_or_off_its_scale_is_named(said: dict[str, str], message: str) -> None:
    with pytest.raises(PartsMissing) as refusal:
        form().read(SAID | said)

    assert str(refusal.value) == message


def test_of_single_responses_each_is_asked_once() -> None:
    single = form("- {key: use, ask: Useful?, kind: scale, per: response, anchors: {1: no, 3: yes}}", is_pair=False)

    assert [part.key for part in single.parts] == ["use"]
    assert single.labels == (Label("1", "1: no", 0.0), Label("2", "2", 0.5), Label("3", "3: yes", 1.0))


def test_the_keys_of_choices_are_digits_or_ones_own() -> None:
    parts = {part.key: part for part in form().parts}

    digits = {key: [part.digit(index) for index in range(len(part.choices))] for key, part in parts.items()}

    assert digits["better"] == ["1", "2", "3", "4", "5"]
    assert digits["why"] == ["a", "2"]
    assert digits["use.a"] == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("- {key: a, ask: A?, kind: guess}", "line 2: There is no kind “guess”: check, choice, choices, number, "
         "preference, ranking, scale, spans, text."),
        ("- {key: a, ask: A?, kind: spans}", "line 2: Write “labels” as a list of words, or as {word: weight}: 1 to 9 "
         "different ones."),
        ("- {key: a, ask: A?, kind: spans, labels: [x, x]}", "line 2: Write “labels” as a list of words, or as {word: "
         "weight}: 1 to 9 different ones."),
        ("- {key: a, ask: A?, kind: spans, labels: [a:b]}", "line 2: A label is a word of at most 20 characters "
         "without commas and colons."),
        ("- {key: a, ask: A?, kind: spans, labels: {x: y}}", "line 2: “x” must be a number."),
        ("- {key: a, ask: A?, kind: spans, labels: [x], in: title}", "line 2: There is nothing to mark in “title”: "
         "context, question, response."),
        ("- {key: a, ask: A?, kind: spans, labels: [x], per: response}", "line 2: Write “in: response” to have each "
         "response marked."),
        ("- {key: a, ask: A?, kind: spans, labels: [x], keys: {x: 0}}", "line 2: The key “0” is taken: it says that "
         "there is nothing to mark."),
        ("- {key: A b, ask: A?, kind: text}", "line 2: The key “A b” is not possible: use small letters, digits and "
         "underscores, at most 30, with a letter first."),
        ("- {key: first, ask: A?, kind: text}", "line 2: Two questions have the key “first”."),
        ("- {key: a, kind: text}", "line 2: The question has no “ask”."),
        ("- {key: a, ask: A?, kind: text, options: [b, c]}", "line 2: A question of the kind text has no field "
         "“options”: ask, help, key, keys, kind, per, required, show_if."),
        ("- {key: a, ask: A?, kind: choice, options: [b]}", "line 2: A choice has 2 to 50 different options."),
        ("- {key: a, ask: A?, kind: choice, options: [b, b]}", "line 2: A choice has 2 to 50 different options."),
        ("- {key: a, ask: A?, kind: scale, anchors: {1: no, 40: yes}}", "line 2: A scale has 2 to 11 whole numbers. "
         "Ask for a number instead."),
        ("- {key: a, ask: A?, kind: preference, grades: 4}", "line 2: A preference has 2, 3, 5 or 7 grades."),
        ("- {key: a, ask: A?, kind: number, low: 3, high: 2}", "line 2: “high” must be above “low”."),
        ("- {key: a, ask: A?, kind: text, show_if: {later: [1]}}", "line 2: There is no earlier question “later”."),
        ("- {key: a, ask: A?, kind: text, show_if: {first: [3]}}", "line 2: Each person may see the sides of “first” "
         "the other way round: name 2 and -2 alike."),
        ("- {key: a, ask: A?, kind: choice, options: [b, c], keys: {b: x}}", "line 2: The key “x” is taken: it is the "
         "key for cannot judge."),
        ("- {key: a, ask: A?, kind: choice, options: [b, c], keys: {b: 2}}", "line 2: The key “2” would give two "
         "choices."),
        ("- [a", "line 2, column 5: This is not valid YAML. A list that starts with [ is "
         "not closed, or a comma is missing."),
        ("- {key: a, ask: A?, kind: text, required: maybe}", "line 2: “required” must be true or false."),
        ("- {key: a, ask: A?, ask: B?, kind: text}", "line 2: The key 'ask' is already set on line 2 of the same "
         "mapping."),
        ("- {key: a, ask: A?, kind: choice, options: [b, 'b ']}", "line 2: A choice has 2 to 50 different options."),
        ("- {key: a, ask: A?, kind: scale, anchors: [bad, good]}", "line 2: Write “anchors” as {whole number: what it "
         "means}."),
        ("- {key: a, ask: A?, kind: text, show_if: {first: []}}", "line 2: Name the answers to “first” with which the "
         "question is shown."),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_by_its_line(line: str, message: str) -> None:
    with pytest.raises(BadForm) as refusal:
        read_form(f"- {{key: first, ask: Which?, kind: preference, grades: 7}}\n{line}\n")

    assert str(refusal.value) == message


def test_a_preference_needs_pairs() -> None:
    with pytest.raises(BadForm, match="“better” compares two responses, and the file has one for each item"):
        check_fits(read_form(EVERY), size=1)


def test_a_form_is_the_same_in_yaml_and_json_and_as_it_is_written_again() -> None:
    definition = read_form(EVERY)

    again = read_form(json.dumps({"form": written_form(definition)}))

    assert again == definition
    assert content_hash(again) == content_hash(definition)
    assert content_hash(read_form(EVERY.replace("grades: 5", "grades: 7"))) != content_hash(definition)


def test_each_form_to_start_from_can_be_used() -> None:
    for title, text in starting_forms().values():
        assert form(text).parts, title


RANKING = """
- {key: rank, ask: Order them., kind: ranking}
- {key: use, ask: Useful?, kind: scale, low: 1, high: 3, per: response}
"""


def four(text: str = RANKING) -> OwnForm:
    made = form_of_definition(read_form(text), size=4)
    assert made is not None
    return made


def test_a_ranking_is_read_from_the_place_of_each_response_or_as_a_whole() -> None:
    places = {"rank.a": "2", "rank.b": "1", "rank.c": "4", "rank.d": "3"} | dict.fromkeys(
        ("use.a", "use.b", "use.c", "use.d"), "2"
    )
    values = four().read(places)

    assert values["rank"] == ["b", "a", "d", "c"]
    assert four().read(places | {"rank": "b,a,d,c"}) == values
    assert four().texts(values) == places
    assert four().holds(values)
    assert four().label(values) == "answered"
    assert four().words(values).startswith("rank: B > A > D > C; use.a: 2")


def test_responses_share_a_place_only_where_the_ranking_says_so() -> None:
    tied = {"rank.a": "1", "rank.b": "2", "rank.c": "2", "rank.d": "4"}
    text = "- {key: rank, ask: Order them., kind: ranking, ties: true}"

    with pytest.raises(PartsMissing) as refusal:
        four(text.replace(", ties: true", "")).read(tied)

    assert str(refusal.value) == "Answer first: Order them. (a place for each response, no two the same)"
    assert four(text).read(tied) == {"rank": ["a", "bc", "d"]}
    with pytest.raises(PartsMissing, match="a place for each response"):
        four(text).read({"rank.a": "1", "rank.b": "2"})


def test_a_ranking_turns_with_the_order_of_the_responses_and_back() -> None:
    stored: dict[str, Answer] = {"rank": ["b", "a", "d", "c"], "use.a": 1, "use.b": 2, "use.c": 3, "use.d": 1}

    seen = four().turned(stored, letters_seen("cabd"))  # this person calls c A, a B, b C and d D

    assert seen == {"rank": ["c", "b", "d", "a"], "use.a": 3, "use.b": 1, "use.c": 2, "use.d": 1}
    assert four().turned(seen, letters_stored("cabd")) == stored


def test_a_ranking_needs_several_responses_and_a_preference_exactly_two() -> None:
    check_fits(read_form(RANKING), size=6)

    with pytest.raises(BadForm, match="“rank” orders responses, and the file has one for each item"):
        check_fits(read_form(RANKING), size=1)
    with pytest.raises(BadForm, match="“better” compares two responses, and the file has 3 for each item"):
        check_fits(read_form(EVERY), size=3)
