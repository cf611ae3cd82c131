"""Label tables of random headers and known labels: all of them are stored as what they are, or asked about."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from evalsite.base.types import JsonDict
from tests.judging.specs.records.test_random_tables import (
    ASKED,
    FIRST,
    PROMPTS,
    SAID,
    SECOND,
    SEEDS,
    SYSTEMS,
    TABLES,
    UNKNOWN,
    shuffled,
    stored,
    words,
    written,
)

pytestmark = [pytest.mark.backend_free, pytest.mark.sized]

RATERS = words(
    "rater annotator annotator_id reviewer coder expert worker_id labeler user evaluator Bewerter Gutachter assessor "
    "rated_by labelled_by reviewed_by person initials participant Bearbeiter email Annotator Kürzel team_member SME"
)
PEOPLE = (("ann", "bo"), ("R1", "R2", "R3"), ("a.smith@oak.org", "b.jones@oak.org"), (1, 2, 3), ("w-101", "w-202"))
LABELS = words(
    "label rating score annotation verdict quality grade Bewertung Urteil judgment human_label correct helpfulness "
    "assessment evaluation stars likert Note response_quality acceptability Einstufung code value points overall"
)
VALUES: tuple[tuple[Any, ...], ...] = (
    ("good", "bad"),
    (1, 2, 3, 4, 5),
    ("correct", "incorrect", "partially correct"),
    ("gut", "mittel", "schlecht"),
    ("toxic", "not toxic"),
)
REASONS = words("comment reason rationale Kommentar Begründung explanation justification remarks feedback")
CRITERIA = words(
    "fluency coherence relevance helpfulness tone clarity completeness safety Vollständigkeit Relevanz Stil "
    "conciseness style empathy depth is_polite formatting creativity overall_quality usefulness readability correctness"
)
SIDE_BY_SIDE = (
    *(("annotator_1", "annotator_2"), ("rater A", "rater B"), ("Anna", "Ben"), ("R1", "R2", "R3"), ("JK", "MW")),
    *(("anna_label", "ben_label"), ("label_anna", "label_ben"), ("annotator1_label", "annotator2_label")),
    *(("label_1", "label_2", "label_3"), ("expert1", "expert2"), ("human_1", "human_2")),
    *(("score_rater1", "score_rater2"), ("rater1_score", "rater2_score"), ("judge1", "judge2")),
    *(("rating_by_anna", "rating_by_ben"), ("Experte 1", "Experte 2"), ("ann@oak.org", "bo@oak.org")),
)
SIDES = (
    *(("response_a", "response_b"), ("answer_1", "answer_2"), ("left", "right"), ("candidate_a", "candidate_b")),
    *(("summary1", "summary2"), ("gpt-4o", "claude-3-opus"), ("A", "B")),
    *(("baseline_response", "ours_response"), ("old_answer", "new_answer"), ("model_a_response", "model_b_response")),
)
CHOICES = words("winner preference label choice better vote best rating decision Gewinner pick comparison judgment")
CHOSEN: tuple[tuple[Any, ...], ...] = (
    ("A", "B", "tie"),
    (1, 2, 0),
    (-1, 1, 0),
    ("left", "right", "tie"),
    ("A>B", "B>A", "A=B"),
    ("[[A]]", "[[B]]", "[[C]]"),
    ("first", "second", "equal"),
)


def items(random: Random) -> dict[str, tuple[Any, ...]]:
    """Return what is labelled: prompts, and mostly responses, of a system or none."""
    columns: dict[str, tuple[Any, ...]] = {random.choice(ASKED): PROMPTS}
    if random.random() < 0.65:
        columns |= {random.choice(SAID + UNKNOWN): FIRST}
        columns |= {random.choice(SYSTEMS): ("gpt-4o",) * 5} if random.random() < 0.5 else {}
    columns |= {"id": tuple(f"q{n}" for n in range(5))} if random.random() < 0.5 else {}
    columns |= {"category": ("geo", "bio", "geo", "bio", "geo")} if random.random() < 0.3 else {}
    return shuffled(random, columns)


def rows_by(people: tuple[Any, ...], columns: dict[str, tuple[Any, ...]]) -> list[tuple[int, int, JsonDict]]:
    """Return of each item and person their numbers and a row with what is labelled."""
    return [(n, by, {name: cells[n] for name, cells in columns.items()}) for n in range(5) for by in range(len(people))]


def given(document: JsonDict) -> Counter[tuple[str, str, str]]:
    """Return the prompt, person and label of each label that is stored, and what is no label without a person."""
    prompts = {row["id"]: row["prompt"] for row in document["cases"]}
    labels = Counter((prompts[row["case"]], row["rater"], row["label"]) for row in document["labels"])
    others = Counter((prompts[row["case"]], "", "") for row in [*document["scores"], *document["verdicts"]])
    return labels + others


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_of_a_rater_in_each_row_are_stored_as_they_are(seed: int) -> None:
    random = Random(seed)
    for _ in range(TABLES):
        columns, people, values = items(random), random.choice(PEOPLE), random.choice(VALUES)
        by_criterion = random.random() < 0.4
        rater = random.choice(RATERS)
        said = random.sample(CRITERIA, 3) if by_criterion else [random.choice(LABELS)]
        why = random.choice(REASONS)
        rows, expected = [], Counter[tuple[str, str, str]]()
        for n, by, row in rows_by(people, columns):
            labels = {name: values[(2 * n + by + n * by + k) % len(values)] for k, name in enumerate(said)}
            rows.append({**row, rater: people[by], **labels, why: f"It is so, as {n} of {by} is." if by else None})
            expected.update((PROMPTS[n], str(people[by]), str(label)) for label in labels.values())
        files = written(random, rows)

        document = stored(files)

        if document is not None and document["cases"]:  # else cases that nothing asks are refused later
            assert {row["text"] for row in document["responses"]} == ({*FIRST} if FIRST in columns.values() else set())
            assert given(document) == expected, files


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_of_raters_or_by_criteria_side_by_side_are_stored_as_they_are(seed: int) -> None:
    random = Random(seed)
    for _ in range(TABLES):
        columns, values = items(random), random.choice(VALUES)
        headers = tuple(random.sample(CRITERIA, 3)) if random.random() < 0.4 else random.choice(SIDE_BY_SIDE)
        rows: list[JsonDict] = []
        for n in range(5):
            labels = {name: values[(2 * n + k + n * k) % len(values)] for k, name in enumerate(headers)}
            rows.append({name: cells[n] for name, cells in columns.items()} | labels)
        files = written(random, rows)

        document = stored(files)

        if document is not None and document["cases"]:
            said = [*document["labels"], *document["scores"], *document["verdicts"]]
            assert {row["text"] for row in document["responses"]} == ({*FIRST} if FIRST in columns.values() else set())
            assert len(said) == len(rows) * len(headers), files


@pytest.mark.parametrize("seed", SEEDS)
def test_preferences_of_several_people_are_stored_as_they_are(seed: int) -> None:
    random = Random(seed)
    for _ in range(TABLES):
        a, b = random.choice(SIDES)
        columns: dict[str, tuple[Any, ...]] = {random.choice(ASKED): PROMPTS, a: FIRST, b: SECOND}
        columns |= {"id": tuple(f"q{n}" for n in range(5))} if random.random() < 0.5 else {}
        chosen, is_wide = random.choice((*CHOSEN, (a, b, "tie"))), random.random() < 0.5
        people = tuple(map(str, random.choice(SIDE_BY_SIDE if is_wide else PEOPLE)))
        rater, choice = random.choice(RATERS), random.choice(CHOICES)
        rows: list[JsonDict] = []
        for n, by, row in rows_by(people, columns):
            if is_wide and by:
                rows[-1][people[by]] = chosen[(n + 2 * by) % 3]
            else:
                said = {people[by]: chosen[n % 3]} if is_wide else {rater: people[by], choice: chosen[(n + 2 * by) % 3]}
                rows.append(row | said)
        files = written(random, rows)

        document = stored(files)

        if document is not None and document["cases"]:
            expected = Counter(("A", "B", "tie")[(n + 2 * by) % 3] for n in range(5) for by in range(len(people)))
            assert {row["text"] for row in document["responses"]} == {*FIRST, *SECOND}, files
            assert Counter(row["choice"] for row in document["preferences"]) == expected, files
            assert len({row["by"] for row in document["preferences"]}) == len(people), files
