"""Preferences, labels and scores of responses that their table does not have: those of other files, or none."""

from __future__ import annotations

import pytest

from tests.judging.specs.records.test_opinions_in_tables import BESIDE
from tests.judging.specs.records.test_tables import lines, read, reading, refused


def test_reads_asks_for_the_responses_that_a_preference_is_of() -> None:
    row = {"prompt": "Name a river.", "model_a": "oak", "model_b": "elm", "winner": "model_b"}

    assert refused(lines(row, row | {"prompt": "Name one."}), "t.jsonl") == [
        "t.jsonl: the values of winner name two responses, which the table does not have. Bring them beside it. "
        "If columns hold them, say --map response-a=COLUMN --map response-b=COLUMN."
    ]


@pytest.mark.parametrize("winner", ["model_b", "elm", "B"])
def test_reads_takes_preferences_between_responses_of_another_file(winner: str) -> None:
    judged = lines({"id": "1", "model_a": "oak", "model_b": "elm", "winner": winner})
    texts = lines(*({"id": "1", "prompt": "Which river?", "model": name, "response": name} for name in ("oak", "elm")))

    collected = reading({"r.jsonl": texts, "t.jsonl": judged}).collected

    assert collected is not None
    document = collected.document()
    assert [(row["a"], row["b"], row["choice"]) for row in document["preferences"]] == [("oak", "elm", "B")]


def test_reads_asks_what_a_word_of_a_preference_between_known_responses_means() -> None:
    row = {"id": "1", "model_a": "oak", "model_b": "elm", "winner": "inconsistent"}

    assert refused(lines(row, row | {"id": "2", "winner": "elm"}), "t.jsonl") == [
        "t.jsonl: Say what inconsistent means. Say it with --map 'A=1,B=2,tie=0', in the words of the table; several "
        "stand as A=1/2."
    ]


def test_reads_asks_which_of_two_preferences_between_known_responses_counts() -> None:
    row = {"id": "1", "model_a": "oak", "model_b": "elm", "human_winner": "model_b", "judge_pick": "A"}

    assert refused(lines(row, row | {"id": "2"}), "t.jsonl") == [
        "t.jsonl: two columns could be the preference: human_winner, judge_pick. Say --map preference=human_winner or "
        '--map preference=judge_pick. Those of people are --map "labels of=human_winner" --map "labels of=judge_pick".'
    ]


def test_reads_leaves_out_labels_of_responses_that_are_not_there() -> None:
    rows = [BESIDE | {"label": "good"}, BESIDE | {"id": "2", "response": None, "label": "bad"}]

    collected = reading({"t.jsonl": lines(*rows)}).collected

    assert collected is not None
    assert [row["label"] for row in collected.document()["labels"]] == ["good"]
    assert ("label", "there is no response", 1) in collected.left_out()


def test_reads_asks_about_unknown_figures_beside_a_metric_of_responses_of_other_files() -> None:
    rows = lines(
        *({"id": n, "system": "owl", "rouge-1": n / 9, "bartscore": -n - 0.5, "length": n * 7} for n in range(1, 4))
    )

    (question,) = refused(rows, "t.jsonl")
    assert question.startswith(
        "t.jsonl: bartscore may be labels of people or scores, each by a criterion or by a person. Say it of each: "
    )
    given = read(rows, "t.jsonl", columns={"bartscore": "score"})["scores"]
    assert [(row["grader"], row["value"]) for row in given[:2]] == [("rouge-1", 1 / 9), ("bartscore", -1.5)]
