"""Tables and records of random headers and known content: all of it is stored as what it is, or asked about."""

from __future__ import annotations

import csv
import io
import json
from random import Random
from typing import Any

import pytest

from evalsite.base.types import JsonDict
from tests.judging.specs.records.test_tables import lines, reading
from tests.sizes import sized


def words(text: str) -> list[str]:
    """Return the names in a text."""
    return text.split()


pytestmark = [pytest.mark.backend_free, pytest.mark.sized]

PROMPTS = (
    "What is the capital?",
    "How many legs has it?",
    "Who wrote Faust?",
    "Name a prime above ten.",
    "Why is it blue?",
)
FIRST = ("It is Paris, of course.", "It has six legs.", "Goethe wrote it.", "Eleven is one.", "Light is scattered.")
SECOND = (
    "I believe it is Lyon.",
    "There are eight legs.",
    "It is by Schiller.",
    "Twelve may be.",
    "No idea, sorry for that.",
)
RIGHT = ("Paris", "Eight", "Goethe", "11", "Scattering")
GRADES: tuple[tuple[Any, ...], ...] = (
    (5, 3, 4, 1, 2),
    (0.5, 1, 0.25, 0, 0.75),
    (1, 0, 1, 1, 0),
    ("yes", "no", "yes", "no", "yes"),
)
MODELS = ("gpt-4o", "claude-3-opus")
ASKED = words(
    "question prompt query input instruction user_input problem task user_query Frage pregunta 问题 source_text"
)
SAID = words(
    "response output completion prediction model_output reply generated_text hypothesis Antwort 回答 bot_response"
)
UNKNOWN = words("made gen_text text_out written told")  # says nothing, beside what is said of responses
KNOWN = words("reference ground_truth gold target expected ideal reference_answer correct_answer Musterlösung")
OPINIONS = words(
    "score rating accuracy correct human_score helpfulness quality faithfulness grade llm_judge passed "
    "coherence expert_rating stars likert evaluation mark f1 verdict judgement points_awarded Bewertung"
)
SYSTEMS = words("model system model_name llm engine generator bot assistant_model deployment Modell")
SIDES = (
    ("response_a", "response_b"),
    ("answer_1", "answer_2"),
    ("output_1", "output_2"),
    ("left", "right"),
    ("first", "second"),
    ("candidate_a", "candidate_b"),
    ("summary1", "summary2"),
    ("text_a", "text_b"),
    MODELS,
)
CHOICES = words(
    "winner preference label choice preferred better verdict judgment best vote pref selected decision Gewinner"
)
LISTS = words("responses outputs completions generations candidates samples runs replies variants results")
SEEDS = range(sized(6, whole=100))
TABLES = 10  # of a seed


def written(random: Random, rows: list[JsonDict]) -> dict[str, str]:
    """Return rows as a table or as records."""
    if random.random() < 0.5:
        return {"t.jsonl": lines(*rows)}
    out = io.StringIO()
    table = csv.DictWriter(out, [*rows[0]])
    table.writeheader()
    table.writerows(rows)
    return {"t.csv": out.getvalue()}


def rows_of(columns: dict[str, tuple[Any, ...]]) -> list[JsonDict]:
    """Return the rows of columns."""
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def shuffled(random: Random, columns: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Return the columns in any order."""
    return {name: columns[name] for name in random.sample([*columns], len(columns))}


def stored(files: dict[str, str]) -> JsonDict | None:
    """Return what is stored of files; None where something must be said first."""
    collected = reading(files).collected
    return None if collected is None else collected.document()


@pytest.mark.parametrize("seed", SEEDS)
def test_responses_of_random_tables_are_stored_as_they_are(seed: int) -> None:
    random = Random(seed)
    for _ in range(TABLES):
        graded, of_systems = random.choice((0, 1, 1, 2)), random.random() < 0.5
        said = random.choice(SAID + UNKNOWN * bool(graded or of_systems))
        columns: dict[str, tuple[Any, ...]] = {random.choice(ASKED): PROMPTS, said: FIRST}
        has_right = random.random() < 0.5
        columns |= {random.choice(KNOWN): RIGHT} if has_right else {}
        columns |= {name: random.choice(GRADES) for name in random.sample(OPINIONS, graded)}
        columns |= {random.choice(SYSTEMS): tuple(MODELS[n % 2] for n in range(5))} if of_systems else {}
        columns |= {"id": tuple(f"q{n}" for n in range(5))} if random.random() < 0.4 else {}
        files = written(random, rows_of(shuffled(random, columns)))

        document = stored(files)

        if document is None:
            continue
        assert {row["prompt"] for row in document["cases"]} == {*PROMPTS}, files
        assert {row["text"] for row in document["responses"]} == {*FIRST}, files
        assert {text for row in document["cases"] for text in row["references"]} == ({*RIGHT} if has_right else set())
        assert not of_systems or {*document["systems"]} == {*MODELS}, files
        opinions = [*document["scores"], *document["verdicts"], *document["labels"]]
        assert len(opinions) == 5 * len([name for name in columns if name in OPINIONS]), files


CRITERIA = (
    *words("helpfulness safety relevance fluency coherence clarity completeness tone is_safe toxic hallucinated"),
    *words("score rating grade accuracy faithfulness exact_match Bewertung 正确性 metric_quality Overall"),
)
WRITTEN: tuple[tuple[Any, ...], ...] = (
    *(("4/5", "3/5", "5/5", "2/5", "1/5"), ("80%", "70%", "75%", "100%", "5%"), ("Score: 4", "Score: 3") * 2 + ("-",)),
    *(("★★★", "★★", "★", "★★★★", "★★★"), ("N/A", 3, 4, "n/a", 5), ("3,5", "4,25", "1,0", "2,75", "4,0")),
    *(("good", "bad", "okay", "good", "bad"), ("A", "B", "C", "A", "F"), ("T", "F", "T", "T", "F"), ("", 4, "", "", 5)),
    *(("✓", "✗", "✓", "✓", "✗"), ("👍", "👎", "👍", "👍", "👎"), ("low", "medium", "high", "low", "high"), (1,) * 5),
    *(("pass", "fail", "pass", "pass", "fail"), ("x", "", "x", "", ""), ("[4]", "[3]", "[5]", "[1]", "[2]"), (0,) * 5),
)


@pytest.mark.parametrize("seed", SEEDS)
def test_grades_in_any_spelling_are_read_or_asked_about(seed: int) -> None:
    random = Random(seed)
    for _ in range(TABLES):
        name, values = random.choice(CRITERIA), random.choice(WRITTEN)
        said = random.choice(("response", "output", "answer_text", "model_output"))
        columns: dict[str, tuple[Any, ...]] = {"question": PROMPTS, said: FIRST, name: values}
        columns |= {"model": tuple(MODELS[n % 2] for n in range(5))} if random.random() < 0.5 else {}
        columns |= {"reference": RIGHT} if random.random() < 0.3 else {}
        other = "score" if name != "score" else "rating"
        columns |= {other: (5, 3, 4, 1, 2)} if random.random() < 0.3 else {}
        files = written(random, rows_of(shuffled(random, columns)))

        document = stored(files)

        if document is not None:
            given = [value for value in values if value not in ("", "N/A", "n/a", "-")]
            opinions = [*document["scores"], *document["verdicts"], *document["labels"]]
            assert len(opinions) == len(given) + 5 * (other in columns), files


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_of_random_tables_are_stored_as_they_are(seed: int) -> None:
    random = Random(seed)
    for _ in range(TABLES):
        a, b = sides = random.choice(SIDES)
        chosen = random.choice(
            (("A", "B"), (1, 2), (0, 1), (-1, 1), sides, ("left", "right"), ("A>B", "B>A"), ("first", "second"))
        )
        columns: dict[str, tuple[Any, ...]] = {random.choice(ASKED): PROMPTS, a: FIRST, b: SECOND}
        columns |= {random.choice(CHOICES): tuple(chosen[n % 2] for n in range(5))}
        columns |= {"annotator": ("ann", "bo", "ann", "bo", "ann")} if random.random() < 0.3 else {}
        columns |= {random.choice(KNOWN): RIGHT} if random.random() < 0.2 else {}
        files = written(random, rows_of(columns))

        document = stored(files)

        if document is None:
            continue
        assert {row["text"] for row in document["responses"]} == {*FIRST, *SECOND}, files
        assert [row["choice"] for row in document["preferences"]] == ["A", "B", "A", "B", "A"], files


@pytest.mark.parametrize("seed", SEEDS)
def test_nested_records_of_random_names_are_stored_as_they_are(seed: int) -> None:
    random = Random(seed)
    for _ in range(TABLES):
        asked, text, model, held = map(random.choice, (ASKED, [*SAID, "value", "message", "text"], SYSTEMS, LISTS))
        both = list(zip(PROMPTS, FIRST, SECOND, strict=True))
        shape = random.randrange(5)
        rows: list[JsonDict] | JsonDict
        if shape == 0:
            rows = [{asked: p, held: [{model: MODELS[0], text: a}, {model: MODELS[1], text: b}]} for p, a, b in both]
        elif shape == 1:
            rows = [{asked: p, held: dict(zip(MODELS, texts, strict=True))} for p, *texts in both]
        elif shape == 2:
            rows = [{asked: p, held: {MODELS[0]: {text: a}, MODELS[1]: {text: b}}} for p, a, b in both]
        elif shape == 3:
            rows = {name: [{asked: p, text: texts[n]} for p, *texts in both] for n, name in enumerate(MODELS)}
        else:
            settings = random.choice(("model", "model_name", "llm", "engine", "provider", "name", "deployment"))
            rows = {"config": {settings: MODELS[0]}, held: [{asked: p, text: a} for p, a, _ in both]}
        files = {"t.json": json.dumps(rows)}

        document = stored(files)

        if document is None:
            continue
        said = {(row["system"], row["text"]) for row in document["responses"]}
        second = {(MODELS[1], text) for text in SECOND} if shape < 4 else set()
        assert said == {(MODELS[0], text) for text in FIRST} | second, files
