"""Answers to questions about columns: each is whole, and whoever takes it is not asked the same again."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from judging.specs.files.findings import Problem
from judging.specs.records.recognition import Reading
from tests.judging.specs.records.test_random_tables import (
    ASKED,
    CHOICES,
    FIRST,
    GRADES,
    KNOWN,
    LISTS,
    MODELS,
    OPINIONS,
    PROMPTS,
    RIGHT,
    SAID,
    SECOND,
    SEEDS,
    SIDES,
    SYSTEMS,
    TABLES,
    UNKNOWN,
    rows_of,
    shuffled,
    written,
)
from tests.judging.specs.records.test_tables import lines, read, reading, refused

pytestmark = pytest.mark.backend_free
MEANINGS = ("A", "B", "tie")
MOST_ROUNDS = 6


def asked(result: Reading) -> list[Problem]:
    return [problem for problem in result.findings.as_tuple() if problem.severity == "error"]


def answers(text: str, name: str = "t.csv", **options: Any) -> list[tuple[tuple[str, ...], ...]]:
    """Return the answers of each question about a file."""
    return [problem.answers for problem in asked(reading({name: text}, **options))]


def taken(*answers: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Return the options that answers stand for."""
    said = [text.partition("=")[::2] for answer in answers for text in answer]
    columns = {column: role for role, column in said if role not in MEANINGS}
    return {"columns": columns, "meanings": {role: value for role, value in said if role in MEANINGS}}


def test_what_is_said_together_is_one_answer() -> None:
    table = (
        "article,summary\nA long story of a fox and a hen that met.,A fox and a hen.\nAnother one of a bear.,A bear.\n"
    )

    assert answers(table) == [(("prompt=article", "response=summary"), ("detail=summary",))]


def test_columns_that_may_have_responses_are_each_an_answer_and_all_and_none() -> None:
    table = "id,question,heron,stork\na,Where?,In Riga.,riga it is\nb,Why?,Since then.,no idea\n"

    assert answers(table) == [
        (
            ("response=heron",),
            ("response=stork",),
            ("responses of=heron", "responses of=stork"),
            ("detail=heron", "detail=stork"),
        )
    ]


def test_reads_names_columns_of_texts_and_not_of_decimal_commas_when_it_asks() -> None:
    text = "Nr;Frage;Antwort Elch;Antwort Wolf;Wert Elch\n1;Was?;Das ist es.;Das auch.;4,5\n2;Wer?;Sie ist es.;Er;3,0\n"

    assert refused(text)[0].endswith(
        '--map "responses of=Antwort Elch" --map "responses of=Antwort Wolf". If none '
        'does, say --map "detail=Antwort Elch" --map "detail=Antwort Wolf".'
    )


def test_a_column_of_texts_may_be_what_is_asked_and_one_of_words_its_ids() -> None:
    texts = zip(PROMPTS, FIRST, SECOND, strict=True)
    of_ids = [{"zug": key, "model_id": "small-chat", "out": [{"a": f"x {key}"}]} for key in (81, 82)]
    rows = [
        {"matter": p, "samples": [{"system": MODELS[0], "completion": a}, {"system": MODELS[1], "completion": b}]}
        for p, a, b in texts
    ]

    assert answers(json.dumps(rows), "t.json") == [(("prompt=matter",),)]
    assert answers(lines(*of_ids), "t.jsonl") == [(("case=zug",),)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "2"], (("A=1", "B=2"), ("A=2", "B=1"))),
        (["-1", "0", "1"], (("A=-1", "B=1", "tie=0"), ("A=1", "B=-1", "tie=0"))),
        (["2", "-1", "1", "-2"], (("A=-2/-1", "B=1/2"), ("A=1/2", "B=-2/-1"))),
        (["1", "2", "3"], ()),  # 2 or 3 may be a tie
        (["x", "y"], ()),
    ],
)
def test_numbers_on_two_sides_mean_one_or_the_other(values: list[str], expected: tuple[tuple[str, ...], ...]) -> None:
    rows = [
        {"prompt": f"Why {n}?", "response_a": "So.", "response_b": "No.", "winner": v} for n, v in enumerate(values)
    ]

    assert answers(lines(*rows), "t.jsonl") == [(*expected, ("detail=winner",))]
    if expected:
        said = read(lines(*rows), "t.jsonl", **taken(expected[0]))["preferences"]
        below = {text for text in values if float(text) < 0} or {"1"}
        assert [row["choice"] for row in said] == [
            "tie" if text == "0" else "A" if text in below else "B" for text in values
        ]


def test_one_entry_of_objects_is_a_response_where_the_answer_says_so() -> None:
    rows = [
        {"prompt": p, "generations": dict(zip(MODELS, texts, strict=True))}
        for p, *texts in zip(PROMPTS, FIRST, SECOND, strict=True)
    ]
    entry = f"generations.{MODELS[0]}"

    document = read(lines(*rows), "t.jsonl", columns={entry: "response", f"generations.{MODELS[1]}": "detail"})

    assert [row["text"] for row in document["responses"]] == [*FIRST]


def test_a_column_in_lists_is_one_that_can_be_named() -> None:
    rows = [
        {"问题": p, "runs": [{"engine": name, "text": text} for name, text in zip(MODELS, texts, strict=True)]}
        for p, *texts in zip(PROMPTS, FIRST, SECOND, strict=True)
    ]

    assert answers(json.dumps(rows), "t.json")[0] == (("response=text",), ("reference=text",))
    document = read(json.dumps(rows), "t.json", columns={"text": "response"})
    assert {row["system"]: row["text"] for row in document["responses"][:2]} == dict(
        zip(MODELS, (FIRST[0], SECOND[0]), strict=True)
    )
    assert refused(json.dumps(rows), "t.json", columns={"txt": "response"})[0].startswith("There is no column 'txt'.")


def some_columns(random: Random) -> dict[str, tuple[Any, ...]]:
    """Return columns of responses or of pairs, some under names that say nothing."""
    graded = {name: random.choice(GRADES) for name in random.sample(OPINIONS, random.choice((0, 1, 2)))}
    right = {random.choice([*KNOWN, "answer", "remark"]): RIGHT} if random.random() < 0.4 else {}
    if random.random() < 0.5:
        named = {random.choice(SYSTEMS): tuple(MODELS[n % 2] for n in range(5))} if random.random() < 0.5 else {}
        return {random.choice(ASKED): PROMPTS, random.choice(SAID + UNKNOWN): FIRST, **graded, **right, **named}
    a, b = random.choice(SIDES)
    chosen = random.choice((("A", "B"), (1, 2), (-1, 1), (a, b), ("left", "right"), ("first", "second")))
    choices = {random.choice([*CHOICES, "besser", "x"]): tuple(chosen[n % 2] for n in range(5))}
    return {random.choice(ASKED): PROMPTS, a: FIRST, b: SECOND, **choices, **graded, **right}


def some_objects(random: Random) -> list[dict[str, Any]]:
    """Return records with the texts of two systems within lists or objects."""
    asked, text, model, held = map(random.choice, (ASKED, [*SAID, "message", "text"], SYSTEMS, LISTS))
    a, b = random.choice((MODELS, ("x", "y"), ("o1", "o2")))
    shapes = (
        lambda one, two: {held: [{model: a, text: one}, {model: b, text: two}]},
        lambda one, two: {held: {a: one, b: two}},
        lambda one, two: {held: {a: {text: one}, b: {text: two}}},
        lambda one, two: {a: {text: one, "n": 3}, b: {text: two, "n": 4}},
    )
    shape = random.choice(shapes)
    return [{asked: p, **shape(one, two)} for p, one, two in zip(PROMPTS, FIRST, SECOND, strict=True)]


@pytest.mark.sized
@pytest.mark.parametrize("seed", SEEDS)
def test_answers_lead_on_until_the_file_is_read(seed: int) -> None:
    random = Random(seed)
    for _ in range(TABLES):
        is_table = random.random() < 0.6
        rows = rows_of(shuffled(random, some_columns(random))) if is_table else some_objects(random)
        files = written(random, rows) if is_table else {"t.json": json.dumps(rows)}
        chosen: list[tuple[str, ...]] = []
        seen: list[str] = []
        while result := reading(files, **taken(*chosen)):
            with_answers = [problem for problem in asked(result) if problem.answers]
            if not with_answers:
                break
            first = with_answers[0]
            question = f"{first.message} {first.answers}"
            assert question not in seen, (files, chosen, question)
            assert len(chosen) < MOST_ROUNDS, (files, chosen)
            seen.append(question)
            chosen.append(random.choice(first.answers))
        codes = {problem.code for problem in asked(result)}
        assert not codes & {"unknown-column", "same-role", "unknown-role"}, (files, chosen, codes)
