"""Responses of several systems in objects and lists under any name, told by the models that they name."""

from __future__ import annotations

import json

import pytest

from evalsite.base.types import JsonDict
from tests.judging.specs.records.test_tables import lines, read, refused

pytestmark = pytest.mark.backend_free

TEXTS = (("It is Paris, of course.", "I believe it is Lyon."), ("A spider has six legs.", "There are eight legs."))
ASKED = ("What is the capital?", "How many legs has it?")


def stored(text: str, name: str = "t.jsonl") -> set[tuple[str, str]]:
    """Return the system and text of each response."""
    return {(row["system"], row["text"]) for row in read(text, name)["responses"]}


def rows(**more: object) -> list[JsonDict]:
    """Return a row for each prompt; a function gives what stands beside it."""
    return [
        {"question": asked} | {name: value(*texts) if callable(value) else value for name, value in more.items()}
        for asked, texts in zip(ASKED, TEXTS, strict=True)
    ]


OF_BOTH = {("gpt-4o", TEXTS[0][0]), ("llama-3", TEXTS[0][1]), ("gpt-4o", TEXTS[1][0]), ("llama-3", TEXTS[1][1])}
OF_ONE = {("gpt-4o", TEXTS[0][0]), ("gpt-4o", TEXTS[1][0])}


@pytest.mark.parametrize("name", ["runs", "samples", "candidates", "replies", "results"])
def test_reads_takes_texts_by_model_for_their_responses(name: str) -> None:
    assert stored(lines(*rows(**{name: lambda a, b: {"gpt-4o": a, "llama-3": b}}))) == OF_BOTH


def test_reads_takes_objects_that_name_a_model_and_an_answer_for_responses() -> None:
    named = rows(choices=lambda a, b: [{"engine": "gpt-4o", "answer": a}, {"engine": "llama-3", "answer": b}])

    assert stored(lines(*named)) == OF_BOTH


@pytest.mark.parametrize("settings", [{"provider": "gpt-4o"}, {"name": "gpt-4o"}, {"model": "gpt-4o"}])
def test_reads_takes_the_model_in_settings_beside_rows_for_the_system(settings: JsonDict) -> None:
    for name in ("response", "answer"):
        document = {"config": settings | {"temperature": 0}, "outputs": rows(**{name: lambda a, b: a})}
        assert stored(json.dumps(document), "t.json") == OF_ONE


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        (rows(runs=lambda a, b: [a, b]), "question, runs"),
        (rows(replies=lambda a, b: {"gpt-4o": {"value": a}, "llama-3": {"value": b}}), "question, model, value"),
        (
            rows(runs=lambda a, b: [{"name": "gpt-4o", "text": a}, {"name": "llama-3", "text": b}]),
            "question, name, text",
        ),
        (rows(responses=lambda a, b: [{"model": "gpt-4o", "value": a}]), "question, model, value"),
        ({"config": {"engine": "gpt-4o"}, "results": rows(content=lambda a, b: a)}, "question, content"),
        (
            {"gpt-4o": rows(value=lambda a, b: a), "llama-3": rows(value=lambda a, b: b)},  # the second was not read
            "model, question, value",
        ),
    ],
)
def test_reads_asks_which_texts_beside_models_are_responses(row: JsonDict | list[JsonDict], columns: str) -> None:
    said = refused(json.dumps(row), "t.json")

    assert [f"which columns hold responses? It has: {columns}." in sentence for sentence in said].count(True) == 1


def test_reads_gives_each_response_to_the_system_of_its_header_whatever_stands_beside_it() -> None:
    pairs = [
        {"llama-3": b, "gpt-4o": a, "model_a": "gpt-4o", "model_b": "llama-3", "preferred": said, "question": asked}
        for asked, (a, b), said in zip(ASKED, TEXTS, ("gpt-4o", "llama-3"), strict=True)
    ]

    document = read(lines(*pairs), "t.jsonl")

    assert {(row["system"], row["text"]) for row in document["responses"]} == OF_BOTH
    assert [(row["a"], row["b"], row["choice"]) for row in document["preferences"]] == [
        ("gpt-4o", "llama-3", "A"),
        ("gpt-4o", "llama-3", "B"),
    ]
    pairs[1] |= {"model_a": "llama-3", "model_b": "gpt-4o"}
    (said,) = refused(lines(*pairs), "t.jsonl")
    assert said.startswith("t.jsonl: model_a names now llama-3, now gpt-4o, under whose headers the responses stand.")


def test_reads_asks_what_numbers_by_model_are() -> None:
    (said,) = refused(
        lines(*rows(runs=lambda a, b: {"gpt-4o": a, "llama-3": b}, metrics={"gpt-4o": 5, "llama-3": 2})), "t.jsonl"
    )

    assert said.startswith("t.jsonl: metrics.gpt-4o, metrics.llama-3 may be labels of people or scores")
