"""Columns that may be what people or judges said, under headers that are theirs, a question or a word of opinions."""

from __future__ import annotations

import pytest

from evalsite.base.types import JsonDict
from tests.judging.specs.records.test_opinions_in_tables import BESIDE
from tests.judging.specs.records.test_tables import lines, read, reading, refused

TWO_SYSTEMS: JsonDict = {"gpt-4o": "It is.", "llama-3": "It may be."}


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (("Ann", "Bo"), (("good", "bad"), ("bad", "bad"))),
        (("label_ann", "label_bo"), (("good", "poor"), ("bad", "fair"))),
        (("verdict_gpt4", "verdict_human"), (("wrong", "correct"), ("correct", "correct"))),
        (("hallucinated?",), (("x",), ("",))),
    ],
)
def test_reads_asks_whose_words_stand_beside_responses(
    names: tuple[str, ...], rows: tuple[tuple[str, ...], ...]
) -> None:
    table = [BESIDE | {"id": n, "prompt": f"P{n}?"} | dict(zip(names, row, strict=True)) for n, row in enumerate(rows)]

    (said,) = refused(lines(*table), "t.jsonl")

    assert said.startswith(
        f"t.jsonl: {', '.join(names)} may be labels of people or scores, each by a criterion or by a person."
    )


def test_reads_asks_what_a_score_is_that_is_a_word_in_some_rows() -> None:
    rows = [BESIDE | {"id": n, "prompt": f"P{n}?", "score": said} for n, said in enumerate(("8", "refused", "7.5"))]

    (said,) = refused(lines(*rows), "t.jsonl")

    assert said.startswith("t.jsonl: score may be labels of people or scores")


def test_reads_takes_a_column_of_the_headers_of_two_responses_for_the_preference() -> None:
    rows = [
        {"prompt": f"P{n}?", "generation_1": "It is.", "generation_2": "It may be.", "chosen": said}
        for n, said in enumerate(("generation_2", "generation_1", "tie"))
    ]

    assert [row["choice"] for row in read(lines(*rows), "t.jsonl")["preferences"]] == ["B", "A", "tie"]


@pytest.mark.parametrize("values", [("bad", "good", "bad"), (3, 1, 3)])
def test_reads_asks_whether_like_columns_beside_texts_are_labels(values: tuple[object, ...]) -> None:
    rows = [{"text": f"Is it {n} or more?", "Ann": value, "Bo": values[0]} for n, value in enumerate(values)]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: which columns hold labels? It has: text, Ann, Bo. Say it with --map label=COLUMN, or --map "
        '"labels of=Ann" --map "labels of=Bo". If none does, say --map detail=Ann --map detail=Bo.'
    ]


def test_reads_asks_which_of_three_systems_is_said_to_be_best() -> None:
    rows = [
        {"prompt": f"P{n}?", **TWO_SYSTEMS, "mistral": "No, it is not.", "best": best}
        for n, best in enumerate(TWO_SYSTEMS)
    ]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: best may say which of the responses is the best or the worst. If so, say --map best=best; if not, "
        "--map detail=best."
    ]


def test_reads_takes_responses_side_by_side_that_several_people_rate_for_the_same_ones() -> None:
    systems = list(TWO_SYSTEMS)
    rows = [
        {"prompt": "P?", **TWO_SYSTEMS, **{f"{name} rating": 3 + n for name in systems}, "rater": rater}
        for n, rater in enumerate(("ann", "bo"))
    ]

    document = read(lines(*rows), "t.jsonl")

    assert [(row["system"], row["attempt"]) for row in document["responses"]] == [(name, 0) for name in systems]
    assert [(row["rater"], row["label"]) for row in document["labels"]] == [
        ("ann", "3"),
        ("ann", "3"),
        ("bo", "4"),
        ("bo", "4"),
    ]


def test_reads_takes_the_best_and_the_worst_of_responses_for_preferences_of_who_chose() -> None:
    table = (
        "prompt,response_a,response_b,response_c,rater,best,worst\n"
        "P1,It is a.,It is b.,It is c.,ann,A,C\nP1,It is a.,It is b.,It is c.,bo,b,\n"
    )

    document = read(table, columns={"best": "best", "worst": "worst"})

    assert [(row["system"], row["attempt"]) for row in document["responses"]] == [
        ("response_a", 0),
        ("response_b", 0),
        ("response_c", 0),
    ]
    assert [(row["a"][-1], row["b"][-1], row["choice"], row["by"]) for row in document["preferences"]] == [
        ("a", "b", "A", "ann"),
        ("a", "c", "A", "ann"),
        ("b", "c", "A", "ann"),
        ("a", "b", "B", "bo"),
        ("b", "c", "A", "bo"),
    ]


def test_reads_asks_whose_preferences_are_those_that_are_nothing_but_ties() -> None:
    rows = [{"prompt": f"P{n}?", **TWO_SYSTEMS, "Ann": best, "Bo": "tie"} for n, best in enumerate(TWO_SYSTEMS)]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: Bo may be labels of another person or a judge, as Ann has the same ones. If so, say --map "
        '"labels of=Bo"; if not, --map detail=Bo.'
    ]


@pytest.mark.parametrize(
    ("header", "row"), [("id,prompt,model,response,score", "2,All,,,3.5"), ("prompt,response,score", "Average,,3.5")]
)
def test_reads_refuses_a_row_that_sums_others_up(header: str, row: str) -> None:
    above = {"id": "1", "prompt": "P?", "model": "oak", "response": "R.", "score": "3"}
    first = ",".join(above[name] for name in header.split(","))

    assert refused(f"{header}\n{first}\n{row}\n") == [
        "t.csv, line 3: The row has a score and no response, as a row that sums others up has. Other rows come in with "
        "--leave-out-bad-rows."
    ]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("naturalness", (5, 5, 5)),
        ("toxic", ("no", "no", "no")),
        ("test_status", ("pass", "pass", "pass")),
        ("Good/Bad", ("Good", "Bad", "Good")),
        ("feedback", ("👍", "👎", "👍")),
        ("is_safe", (True, False, True)),
        ("Overall quality (1-5)", (4, 4, 4)),
    ],
)
def test_reads_asks_about_an_opinion_that_all_rows_have_or_the_header_lists(
    name: str, values: tuple[object, ...]
) -> None:
    rows = [{"prompt": f"P{n}?", "response": f"R {n}.", name: value} for n, value in enumerate(values)]

    (said,) = refused(lines(*rows), "t.jsonl")

    assert said.startswith(f"t.jsonl: {name} may be labels of people or scores, each by a criterion or by a person.")


def test_reads_asks_about_columns_like_those_it_asks_about_and_keeps_what_is_a_fact() -> None:
    rows = [
        {"prompt": f"P{n}?", "response": f"R {n}.", "depth": n, "tone": 80, "fold": 3, "cached": 1, "has_code": "no"}
        for n in (3, 2, 4)
    ]

    assert refused(lines(*rows), "t.jsonl")[0].startswith("t.jsonl: depth, tone may be labels of people or scores")


@pytest.mark.parametrize("verdict", ["rating", "score", "is_correct", "success"])
def test_reads_asks_whose_an_answer_is_that_all_rows_judge_alike(verdict: str) -> None:
    rows = [{"question": f"P{n}?", "answer": f"R {n}.", verdict: 1} for n in range(3)]

    assert refused(lines(*rows), "t.jsonl")[0].startswith(
        f"t.jsonl: answer could be the response or the reference, beside {verdict}. Say --map response=answer"
    )


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("annotator choice", ("A", "B", "tie")),
        ("Which is better?", (1, 2, 0)),
        ("preferred_model", ("gpt-4o", "gpt-4o", "gpt-4o")),
    ],
)
def test_reads_asks_which_of_two_systems_a_column_says_is_better(name: str, values: tuple[object, ...]) -> None:
    rows = [{"prompt": f"P{n}?", **TWO_SYSTEMS, name: value} for n, value in enumerate(values)]
    pair = {"gpt-4o": "response-a", "llama-3": "response-b", name: "preference"}
    meant = {"A": "1", "B": "2", "tie": "0"} if name.endswith("?") else {}

    (problem,) = reading({"t.jsonl": lines(*rows)}).findings.as_tuple()

    assert problem.message == f"{name} may say which of gpt-4o and llama-3 is better."
    assert problem.page_hint == (
        f"If so, choose Response A for gpt-4o, Response B for llama-3, Preference for {name}; if not, Keep as detail."
    )
    assert problem.columns == ("gpt-4o", "llama-3", name)
    document = read(lines(*rows), "t.jsonl", columns=pair, meanings=meant)
    assert [row["choice"] for row in document["preferences"]] == (
        ["A", "A", "A"] if name == "preferred_model" else ["A", "B", "tie"]
    )


@pytest.mark.parametrize("name", ["rating", "human_label"])
def test_reads_asks_of_which_of_several_responses_an_opinion_is(name: str) -> None:
    rows = [{"prompt": f"P{n}?", **TWO_SYSTEMS, name: n} for n in (3, 1, 4)]

    assert refused(lines(*rows), "t.jsonl") == [
        f"t.jsonl: {name} may be opinions of the responses under these headers, and says not of which. Bring a row for "
        f"each response, with a column for its system. If they are of the case, say --map label={name}; if not, --map "
        f"detail={name}."
    ]


def test_reads_finds_the_system_that_a_preference_names_in_the_header_of_its_responses() -> None:
    row = {"prompt": "P?", "gpt4_response": "It is.", "llama_response": "It may be.", "winner": "llama"}

    document = read(lines(row), "t.jsonl")

    assert document["systems"] == ["gpt4", "llama"]
    assert [(row["a"], row["b"], row["choice"]) for row in document["preferences"]] == [("gpt4", "llama", "B")]


def test_reads_keeps_a_reason_of_no_opinion_as_a_detail() -> None:
    row = {"prompt": "P?", "response": "R.", "comment": "It is short.", "accuracy": 0.5, "bleu": 0.2}

    (response,) = read(lines(row), "t.jsonl")["responses"]

    assert response["metadata"] == {"comment": "It is short."}


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("item,ann_tone,ann_depth,bo_tone,bo_depth\n1,1,2,3,4\n2,2,2,1,3\n", "bo_tone, bo_depth"),
        ("prompt,response,human_rating,depth,year\nP?,R.,4,3,2020\nQ?,S.,2,1,2021\n", "depth"),
    ],
)
def test_reads_asks_about_grades_beside_labels(table: str, names: str) -> None:
    assert refused(table)[0].startswith(f"t.csv: {names} may be labels of people or scores, each by a criterion")


def test_reads_asks_about_words_in_objects_of_feedback() -> None:
    rows = [
        {"input": f"P{n}?", "output": f"R {n}.", "feedback": {"thumbs": word, "comment": "So."}}
        for n, word in enumerate(("up", "down"))
    ]

    document = read(lines(*rows), "t.jsonl", columns={"feedback.thumbs": "label"})

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: feedback holds objects with what seem to be opinions: thumbs. If so, say --map "
        "label=feedback.thumbs; if not, --map detail=feedback."
    ]
    assert [row["label"] for row in document["labels"]] == ["up", "down"]


def test_reads_asks_for_labels_by_criterion_where_a_column_names_the_rater() -> None:
    rows = [
        {"annotator_name": "ann", "task_id": str(number), "model_name": "oak", "finished": said, "looping": said}
        for number, said in enumerate(["No", "Yes"])
    ]

    assert "--map label=finished --map label=looping." in refused(lines(*rows), "t.jsonl")[0]


ANSWERED = (
    {"question": "It rained all day?", "response": "It was wet."},
    {"question": "Who came?", "response": "Ann did."},
)
EACH = "may be labels of people or scores, each by a criterion or by a person."


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"bot": ("gpt-4o", "gpt-4o")}, "bot names a system: gpt-4o."),
        ({"bot": ("gpt-4o", "claude-3")}, "bot names several systems: claude-3, gpt-4o."),
        ({"score": (0.5, 1), "helpfulness": (0.2, 0.4)}, f"helpfulness {EACH}"),
        ({"human_score": (True, False), "likert": (5, 3)}, f"likert {EACH}"),
        ({"quality": (4, 4), "score": ("yes", "no")}, f"score {EACH}"),
        ({"quality": (0.5, 1), "correct": ("yes", "no")}, f"correct {EACH}"),
        ({"rating": (4, 2), "llm_judge": (5, 1)}, f"llm_judge {EACH}"),
        ({"judgement": (True, False)}, f"judgement {EACH}"),
    ],
)
def test_reads_asks_about_what_stands_beside_responses(more: dict[str, tuple[object, object]], sentence: str) -> None:
    rows = [asked | {name: values[n] for name, values in more.items()} for n, asked in enumerate(ANSWERED)]

    (said,) = refused(lines(*rows), "t.jsonl")

    assert said.startswith(f"t.jsonl: {sentence} ")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"answer": "Ann did.", "coherence": 1}, "answer could be the response or the reference, beside coherence."),
        ({"answer": "Ann did.", "bot": "gpt-4o"}, "answer could be the response or the reference, beside bot."),
        ({"made": "Ann did.", "stars": 4}, "which columns hold responses? It has: question, made, stars."),
        ({"made": "Ann did.", "bot": "gpt-4o"}, "which columns hold responses? It has: question, made, bot."),
        (
            {"id": "q", "made": "Ann did.", "score": 1},
            "which columns hold responses? It has: question, id, made, score.",
        ),
    ],
)
def test_reads_asks_what_a_text_is_beside_what_is_said_of_responses(more: JsonDict, sentence: str) -> None:
    rows = [{"question": f"Who came {when}?", **more} for when in ("today", "before")]
    for row, number in zip(rows, "12", strict=True):
        row |= {name: f"{row[name]} {number}" for name in ("id", "answer", "made") if name in row}
        row |= {name: row[name] - int(number) for name in ("coherence", "stars", "score") if name in row}

    (said,) = refused(lines(*rows), "t.jsonl")

    assert said.startswith(f"t.jsonl: {sentence} ")


def test_reads_takes_points_awarded_for_scores() -> None:
    document = read(lines(*(asked | {"points_awarded": 2} for asked in ANSWERED)), "t.jsonl")

    assert [(row["grader"], row["value"]) for row in document["scores"]] == [("points_awarded", 2.0)] * 2


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ("response_a,response_b,judgment|A,B", "which columns hold labels?"),
        ("left,right,selected|-1,1", "which columns hold labels?"),
        ("response_a,response_b,best|first,second", "which columns hold labels?"),
        ("output_1,output_2,Gewinner|1,2", "which columns hold labels?"),
        ("first,second,label,rater|0,1", "which columns hold responses?"),
        ("candidate_a,candidate_b,gold_label,annotator|a,b", "which columns hold responses?"),
    ],
)
def test_reads_asks_which_of_two_texts_is_better_and_what_they_are(columns: str, sentence: str) -> None:
    header, _, values = columns.partition("|")
    a, b, said, *rater = header.split(",")
    rows = [
        {"prompt": f"Who came {n}?", a: f"Ann came {n}.", b: f"Bo came {n}.", said: value}
        | dict.fromkeys(rater, f"r{n}")
        for n, value in enumerate(values.split(","))
    ]

    (asked,) = refused(lines(*rows), "t.jsonl")

    assert asked.startswith(f"t.jsonl: {sentence} It has: prompt, {header.replace(',', ', ')}. ")


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            {"completion": "Ann.", "annotator_id": "r", "decision": ("A1", "B2")},
            "annotator_id names who labels, but no column is known to hold labels; decision may. If so, say "
            "--map label=decision; if not, --map detail=annotator_id.",
        ),
        (
            {"answer": "Ann.", "annotator": "r", "value": (4, 5)},
            "answer could be the response or the reference, beside annotator. Say --map response=answer or --map "
            "reference=answer or --map ignore=answer.",
        ),
        (
            {"response": "Ann.", "evaluator": "Ann", "annotation": ("yes", "no")},
            "evaluator may be who labelled or what judged. Say --map rater=evaluator or --map judge=evaluator.",
        ),
    ],
)
def test_reads_asks_what_raters_say_and_of_what(row: JsonDict, sentence: str) -> None:
    said = {name: value if isinstance(value, tuple) else (value, value) for name, value in row.items()}
    rows = [{"prompt": f"Who came {n}?"} | {name: values[n] for name, values in said.items()} for n in (0, 1)]

    assert refused(lines(*rows), "t.jsonl") == [f"t.jsonl: {sentence}"]


@pytest.mark.parametrize(
    ("beside", "same", "asked"),
    [
        ({"score": (5, 4)}, "safety", "safety"),  # a usual criterion, which everybody passed
        ({"crit_a": (5, 4)}, "crit_b", "crit_a, crit_b"),
        ({"helpfulness": (5, 4)}, "safety", "helpfulness, safety"),
    ],
)
def test_a_criterion_that_is_1_in_all_rows_is_asked_about_too(
    beside: dict[str, tuple[int, int]], same: str, asked: str
) -> None:
    rows = [
        BESIDE | {"id": n, "prompt": f"P{n}?"} | {name: values[n] for name, values in beside.items()} | {same: 1}
        for n in range(2)
    ]

    (said,) = refused(lines(*rows), "t.jsonl")

    assert said.startswith(f"t.jsonl: {asked} may be labels of people or scores, ")
