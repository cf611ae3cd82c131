"""Layouts that tools and published sets write, as tables with values in lists, objects and paths."""

from __future__ import annotations

import pytest

from evalsite.base.types import JsonDict
from judging.specs.files.findings import Findings
from judging.specs.records.column_roles import resolve
from judging.specs.records.parts import RecordOptions, UploadParts
from tests.judging.specs.records.test_tables import case, lines, read, refused, response
from tests.judging.specs.records.uploads import upload


def answers(text: str, name: str = "t.jsonl") -> list[tuple[str, ...]]:
    """Return the answers to the first question about a table."""
    part = upload({name: text}).part
    questions: Findings = resolve(part, UploadParts([part], RecordOptions())).questions
    return list(questions.listed[0].answers)


def test_reads_takes_a_title_and_its_sentences_for_one_passage() -> None:
    passages = [["Elbe", ["It is long.", " It is wide."]], ["Oder", ["It is far."]]]
    by_name = {"title": ["Elbe", "Oder"], "sentences": [entry[1] for entry in passages]}

    for context in (passages, by_name):
        document = read(lines({"question": "Which?", "answer": "Elbe", "context": context}), "t.jsonl")

        assert document["cases"] == [
            case("1", "Which?", "Elbe") | {"context": ["Elbe\nIt is long. It is wide.", "Oder\nIt is far."]}
        ]


def test_reads_leaves_the_reply_of_an_api_out_of_the_conversation_that_ends_with_it() -> None:
    turns = [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": "The Elbe."}]
    output = {"choices": [{"message": {"role": "assistant", "content": "The Elbe."}}]}

    document = read(lines({"model": "oak", "messages": turns, "model_output": output}), "t.jsonl")

    assert document["cases"] == [case("1", "Which?")]
    assert document["responses"] == [response("oak", "The Elbe.")]


def test_reads_takes_the_marked_choices_of_an_object_for_references() -> None:
    first = {"choices": ["It is so.", "It is not.", "Never."], "labels": [1, 0, 0]}
    row = {"question": "Is it so?", "mc1_targets": first, "mc2_targets": first | {"labels": [1, 0, 1]}}

    assert read(lines(row), "t.jsonl")["cases"] == [
        case("1", "Is it so?", "It is so.", "Never.", choices=["It is so.", "It is not.", "Never."])
    ]


def test_reads_takes_marked_choices_in_any_order_of_their_names() -> None:
    row = {"question": "Is it so?", "targets": {"labels": [0, 1], "choices": ["It is so.", "It is not."]}}

    assert read(lines(row), "t.jsonl")["cases"] == [
        case("1", "Is it so?", "It is not.", choices=["It is so.", "It is not."])
    ]


def test_reads_counts_the_attempts_of_a_list_that_are_null() -> None:
    row = {"prompt": "Which?", "model": "oak", "outputs": ["The Elbe.", None, "The Oder."]}

    none = {"prompt": "Who?", "model": "oak", "outputs": []}

    document = read(lines(row, none, none | {"prompt": "Why?", "outputs": [None]}), "t.jsonl")

    assert document["responses"] == [response("oak", "The Elbe."), response("oak", "The Oder.", attempt=1)]
    assert document["warnings"]["null-response"] == 3


def test_reads_takes_a_row_that_says_when_it_was_recorded_for_no_survey() -> None:
    text = "id,prompt,reference,RecordedDate,last page\n1,Which?,Elbe,2024-01-02,9\n"

    assert [row["prompt"] for row in read(text)["cases"]] == ["Which?"]


def test_reads_takes_the_spans_of_an_answer_for_references() -> None:
    row = {"question": "How many?", "answers_spans": {"spans": ["5", "five"], "types": ["number", "number"]}}

    assert read(lines(row), "t.jsonl")["cases"] == [case("1", "How many?", "5", "five")]


def test_reads_takes_an_output_in_an_object_that_no_name_explains_for_the_response() -> None:
    text = "input,expected_output,evaluation_task.output\nWhich?,Elbe,The Elbe it is.\n"

    document = read(text)

    assert document["cases"] == [case("1", "Which?", "Elbe")]
    assert [row["text"] for row in document["responses"]] == ["The Elbe it is."]


ASKED = {"id": 1, "prompt": "Why?"}
SAID = ASKED | {"model": "oak", "response": "So it is."}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (ASKED | {"text_a": "So it is.", "text_b": "It is not."}, ("response-a=text_a", "response-b=text_b")),
        (
            ASKED | {"text_1": "So it is.", "text_2": "It is not.", "text_3": "It may be."},
            ("responses of=text_1", "responses of=text_2", "responses of=text_3"),
        ),
        (SAID | {"tone": [1, 2], "depth": [3, 3]}, ("label=tone", "label=depth")),
        (
            SAID | {"annotations": {"Tone": [1, 2], "Depth": [3, 3]}},
            ("label=annotations.Tone", "label=annotations.Depth"),
        ),
        (ASKED | {"outputs": ["So.", "No."], "graded_list": [True, False]}, ("score=graded_list",)),
        (SAID | {"metric": {"em": 0.0, "extractive": 1}}, ("score=metric.em", "score=metric.extractive")),
        (
            ASKED | {"output": {"input": "Why is it so, then?", "text": ["So it is.", "It is not."]}},
            ("response=output.text",),
        ),
        ({"info": {"post": "It rained all day."}, "summary": {"text": "It rained."}}, ("prompt=info.post",)),
        (ASKED | {"answers": [{"text": "So it is.", "pm_score": 3}]}, ("reference=answers",)),
        (ASKED | {"score": [8, 7]}, ("detail=score",)),
        (ASKED | {"A": "So it is.", "B": "It is not.", "answer": "A"}, ("choices=A", "choices=B", "reference=answer")),
        (
            {"inputRecord": {"prompt": "Why?"}, "modelResponses": [{"response": "So.", "modelIdentifier": "oak"}]}
            | {"result": {"scores": [{"metricName": "Accuracy", "result": 0.5}]}},
            ("score=result.scores.Accuracy",),
        ),
        (ASKED | {"sample": {"score": {"prediction": "So it is."}}}, ("response=sample.score.prediction",)),
        (ASKED | {"output": {"text": "So it is.", "scores": {"em": 1}}}, ("score=output.scores.em", "response=output")),
    ],
)
def test_resolve_offers_first_what_a_layout_means(row: JsonDict, expected: tuple[str, ...]) -> None:
    assert answers(lines(row))[0] == expected


def test_reads_keeps_what_objects_have_beside_their_texts() -> None:
    context = [{"title": "Elbe", "text": "It is long."}]
    row = {"prompt": "Which?", "contexts": context, "model": "oak", "output": {"text": "The Elbe.", "sources": ["s1"]}}

    document = read(lines(row), "t.jsonl")

    assert document["cases"] == [case("1", "Which?", contexts=[{"title": "Elbe"}]) | {"context": ["It is long."]}]
    assert document["responses"] == [response("oak", "The Elbe.", metadata={"sources": ["s1"]})]


def test_reads_takes_texts_by_system_under_any_word_for_systems() -> None:
    row = {"prompt": "Which?", "system_outputs": {"oak": "The Elbe.", "elm": "The Oder."}}

    assert read(lines(row), "t.jsonl")["responses"] == [response("oak", "The Elbe."), response("elm", "The Oder.")]


def test_reads_takes_paths_of_pictures_for_no_labels() -> None:
    row = {"question": "Which?", "image_1": "a.jpg", "image_2": "b.jpg", "answer": "The first."}
    again = row | {"question": "Who?", "image_1": "b.jpg", "image_2": "a.jpg"}

    document = read(lines(row, again), "t.jsonl")

    assert [each["metadata"]["image_1"] for each in document["cases"]] == ["a.jpg", "b.jpg"]


def test_reads_takes_the_name_of_a_split_for_no_label() -> None:
    rows = [{"prompt": "Why?", "response": "So.", "split": name, "zest": name} for name in ("dev", "test", "dev")]

    assert "split" not in refused(lines(*rows), "t.jsonl")[0]


def test_reads_takes_no_result_for_the_name_of_a_system() -> None:
    rows: list[JsonDict] = [
        {"task_id": f"t/{n // 2}", "prompt": f"P{n // 2}?", "completion": f"return {n}"} for n in range(6)
    ]
    said = [row | {"result": "failed: oh" if n % 2 else "passed", "passed": not n % 2} for n, row in enumerate(rows)]

    assert len(read(lines(*said), "t.jsonl")["scores"]) == 6


def test_reads_says_which_speakers_it_does_not_know() -> None:
    turns = [{"role": "student", "content": "Why?"}, {"role": "tutor", "content": "So."}]

    assert refused(lines({"messages": turns}), "t.jsonl")[0].startswith(
        "t.jsonl, line 1: The turns in messages are of student, tutor: write user for who asks, and assistant for"
    )


def test_reads_takes_lists_of_labels_for_those_of_raters_by_place() -> None:
    document = read(lines(SAID | {"tone": [1, 2]}), "t.jsonl", columns={"tone": "label"})

    assert [(row["rater"], row["label"]) for row in document["labels"]] == [("rater 1", "1"), ("rater 2", "2")]
    assert document["warnings"]["raters-by-place"] == 2


def test_reads_takes_lists_of_scores_for_those_of_several_responses() -> None:
    row = ASKED | {"model": "oak", "outputs": ["So.", "No."], "graded_list": [True, False], "pass_at_1": 0.5}

    document = read(lines(row), "t.jsonl", columns={"graded_list": "score"})

    assert [(each["attempt"], each["value"]) for each in document["scores"]] == [(0, 1.0), (1, 0.0)]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("t.csv", "a-1,oak.de,87,1557.1\na-1,elm.de,67,1562.1\n", "t.csv, line 1: The first line seems to be a row"),
        ("t.csv", "id,submitdate,lastpage,G1[S1]\n1,2024,3,A1\n2,2024,3,A2\n", "t.csv: these are replies to a survey"),
    ],
)
def test_reads_refuses_what_is_no_table_of_cases(name: str, text: str, sentence: str) -> None:
    assert refused(text, name)[0].startswith(sentence)
