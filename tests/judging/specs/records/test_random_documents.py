"""Workbooks, conversations and nested records of random names and known content: all of it is stored as what it is."""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import openpyxl
import pytest

from evalsite.base.types import JsonDict
from tests.judging.specs.records.test_random_tables import (
    ASKED,
    FIRST,
    KNOWN,
    MODELS,
    PROMPTS,
    RIGHT,
    SAID,
    SECOND,
    SEEDS,
    SYSTEMS,
    TABLES,
    words,
)
from tests.judging.specs.records.test_tables import lines, reading

pytestmark = [pytest.mark.backend_free, pytest.mark.sized]

QUESTIONS = [name for name in ASKED if name != "user_input"]  # which is of Ragas beside a response
SCORES = words(
    "score rating accuracy correct helpfulness quality grade faithfulness Bewertung Punkte overall coherence"
)
ABOVE: tuple[list[list[str]], ...] = (
    [],
    [["Evaluation results"]],
    [["Ergebnisse"], ["Stand: heute"], []],
    [["Project:", "Chatbot"], ["Date:", "2026-01-01"], []],
)
BELOW = ("Average", "Mittelwert", "Total", "Note: by two people", "Done by Anna", "* preliminary")
ROLES = (("user", "assistant"), ("human", "gpt"), ("customer", "agent"), ("user", "bot"), ("prompter", "assistant"))
PARTS = (("role", "content"), ("from", "value"), ("speaker", "text"), ("role", "text"), ("speaker", "utterance"))
HELD = words("messages conversation conversations turns dialogue chat_history chat history transcript exchange")
PLACES = words("source meta metadata generation run info provenance config settings params")
NAMED = words("model model_name name llm engine system id")


Sheet = tuple[str, list[list[Any]]]


def book(*sheets: Sheet) -> bytes:
    """Return a workbook."""
    workbook, stream = openpyxl.Workbook(), io.BytesIO()
    workbook.remove(workbook.worksheets[0])
    for title, rows in sheets:
        sheet = workbook.create_sheet(title)
        for row in rows:
            sheet.append(row)
    workbook.save(stream)
    return stream.getvalue()


def stored(files: dict[str, str | bytes]) -> JsonDict | None:
    """Return what is stored of files; None where something must be said first, or cases are in no file."""
    collected = reading(files).collected
    document = None if collected is None else collected.document()
    return document if document and document["cases"] else None


def opinions(document: JsonDict) -> int:
    return len(document["scores"]) + len(document["verdicts"]) + len(document["labels"])


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_between_titles_and_notes_are_stored_as_they_are(seed: int) -> None:
    random = Random(seed)
    for _ in range(TABLES):
        columns: dict[str, tuple[Any, ...]] = {random.choice(QUESTIONS): PROMPTS, random.choice(SAID): FIRST}
        columns |= {random.choice(KNOWN): RIGHT} if (has_right := random.random() < 0.5) else {}
        columns |= (
            {random.choice(SCORES): (4, 2, 5, 1, 3)} if (is_scored := not has_right or random.random() < 0.6) else {}
        )
        columns |= {random.choice(SYSTEMS): tuple(MODELS[n % 2] for n in range(5))} if random.random() < 0.4 else {}
        rows: list[list[Any]] = [[*columns], *map(list, zip(*columns.values(), strict=True))]
        below = random.choice(BELOW)
        sums = [below, *([3.1 if name in SCORES else None for name in [*columns][1:]] if below in BELOW[:3] else [])]
        rows = [*random.choice(ABOVE), *rows, *[[]] * random.randrange(2), sums]
        sheets: list[Sheet] = [("Data", rows), ("Legend", [["Grade", "Meaning"], [1, "bad"], [5, "good"]])]
        files: dict[str, str | bytes] = {"t.xlsx": book(*sheets[: random.randint(1, 2)])}

        document = stored(files)

        if document is not None:
            assert {row["prompt"] for row in document["cases"]} == {*PROMPTS}, rows
            assert {row["text"] for row in document["responses"]} == {*FIRST}, rows
            right = {text for row in document["cases"] for text in row["references"]}
            assert right == ({*RIGHT} if has_right else set()), rows
            assert opinions(document) == 5 * is_scored, rows


@pytest.mark.parametrize("seed", SEEDS)
def test_sheets_of_a_workbook_are_stored_as_they_are(seed: int) -> None:
    random = Random(seed)
    for _ in range(TABLES):
        asked, said, model, score = map(random.choice, (ASKED, SAID, SYSTEMS, SCORES))
        each = [
            (f"q{n}", name, texts[n], 1 + n % 3)
            for n in range(5)
            for name, texts in zip(MODELS, (FIRST, SECOND), strict=True)
        ]
        means: list[list[Any]] = [[model, f"mean {score}"], [MODELS[0], 2.1], [MODELS[1], 1.9]]
        cases: list[list[Any]] = [["id", asked], *([f"q{n}", prompt] for n, prompt in enumerate(PROMPTS))]
        sheets: list[Sheet]
        shape = random.randrange(4)
        if shape == 0:
            sheets = [("Questions", cases), ("Answers", [["id", model, said], *map(list, [row[:3] for row in each])])]
        elif shape == 1:
            of_all = [[case, name, text, value] for case, name, text, value in each]
            sheets = [("Questions", cases), ("Answers", [["id", model, said, score], *of_all])]
        elif shape == 2:
            by_system = {name: [[case, text] for case, of, text, _ in each if of == name] for name in MODELS}
            both = {name: zip(cases[1:], rows, strict=True) for name, rows in by_system.items()}
            sheets = [(name, [["id", asked, said], *([*a, b[1]] for a, b in rows)]) for name, rows in both.items()]
        else:
            texts = dict(map(tuple, cases[1:]))
            of_all = [[case, texts[case], name, text, value] for case, name, text, value in each]
            sheets = [("Results", [["id", asked, model, said, score], *of_all]), ("Summary", means)]
        files: dict[str, str | bytes] = {"t.xlsx": book(*random.sample(sheets, 2))}

        document = stored(files)

        if document is not None:
            answers = {(row["system"], row["text"]) for row in document["responses"]}
            assert {row["prompt"] for row in document["cases"]} == {*PROMPTS}, sheets
            assert answers == {(name, text) for _, name, text, _ in each}, sheets
            assert opinions(document) == (10 if shape in (1, 3) else 0), sheets


@pytest.mark.parametrize("seed", SEEDS)
def test_conversations_are_stored_as_they_are(seed: int) -> None:
    random = Random(seed)
    for _ in range(TABLES):
        (user, system), (who, what), held = map(random.choice, (ROLES, PARTS, HELD))
        is_whole, score, model = random.random() < 0.5, random.choice(SCORES), random.choice(SYSTEMS)
        is_scored, is_named, is_right = (random.random() < 0.5 for _ in range(3))
        rows: list[JsonDict] = []
        for n, prompt in enumerate(PROMPTS):
            turns = [{who: user, what: prompt}, {who: system, what: "In short?"}, {who: user, what: f"Yes, {n}."}]
            row: JsonDict = {str(held): [*turns, {who: system, what: FIRST[n]}] if is_whole else turns}
            row |= {} if is_whole else {"response": FIRST[n]}
            row |= {score: (4, 2, 5, 1, 3)[n]} if is_scored else {}
            row |= {model: MODELS[0]} if is_named else {}
            rows.append(row | ({"reference": RIGHT[n]} if is_right else {}))
        files: dict[str, str | bytes] = {"t.jsonl": lines(*rows)}

        document = stored(files)

        if document is not None:
            asked = [json.dumps(row, ensure_ascii=False) for row in document["cases"]]
            answered = json.dumps([document["responses"]], ensure_ascii=False)
            right = [row["references"] for row in document["cases"]]
            assert all(prompt in asked[n] and f"Yes, {n}." in asked[n] for n, prompt in enumerate(PROMPTS)), files
            assert right == [[text] for text in RIGHT] if is_right else [[]] * 5 or is_whole, files
            assert all(text in answered for text in FIRST) or right == [[text] for text in FIRST], files
            assert opinions(document) == 5 * is_scored, files


@pytest.mark.parametrize("seed", SEEDS)
def test_objects_with_the_question_the_model_and_the_scores_are_stored_as_they_are(seed: int) -> None:
    random = Random(seed)
    for _ in range(TABLES):
        held, said, place, named = map(
            random.choice, (words("input inputs example sample data payload request task"), SAID, PLACES, NAMED)
        )
        asked, right = random.choice(words("question prompt query user_input")), random.choice(KNOWN)
        inner, is_inside = random.choice(("", "text", "content", "answer", "value")), random.random() < 0.5
        judged = random.choice(("", "scores", "evaluation", "metrics"))
        rows: list[JsonDict] = []
        for n, prompt in enumerate(PROMPTS):
            row: JsonDict = {held: {asked: prompt} | ({right: RIGHT[n]} if is_inside else {})}
            row |= {} if is_inside else {right: RIGHT[n]}
            row |= {said: {inner: FIRST[n]} if inner else FIRST[n], place: {named: MODELS[n % 2], "temperature": 0}}
            rows.append(row | ({judged: {"accuracy": n / 4}} if judged else {}))
        files: dict[str, str | bytes] = {"t.jsonl": lines(*rows)}

        document = stored(files)

        if document is not None:
            assert {row["prompt"] for row in document["cases"]} == {*PROMPTS}, files
            assert {row["text"] for row in document["responses"]} == {*FIRST}, files
            assert {*document["systems"]} == {*MODELS}, files
            assert {text for row in document["cases"] for text in row["references"]} == {*RIGHT}, files
            assert opinions(document) == 5 * bool(judged), files
