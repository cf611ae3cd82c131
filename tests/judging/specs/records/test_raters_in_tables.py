"""Tables in which several people or judges label the same: who does, and what they say, is told, or asked about."""

from __future__ import annotations

import pytest

from evalsite.base.types import JsonDict
from judging.specs.records.preferences import preference
from tests.judging.specs.records.test_tables import case, lines, read, refused, response
from tests.judging.specs.records.uploads import rows_workbook

QUESTIONS = ("Who heals?", "Where is it?", "Why so?")
ANSWERS = ("It was Ann.", "It is in Oslo.", "It always was.")
SYSTEMS = ("It was Bo.", "It is in Riga.", "It never was.")


def by_two(is_answered: bool = True, **columns: tuple[object, object]) -> str:
    """Return two rows of each question, with one value of each column and the other."""
    beside = [{"response": text} for text in ANSWERS] if is_answered else [{}] * 3
    both = [{name: cells[n] for name, cells in columns.items()} for n in range(2)]
    asked = [{"prompt": prompt} | more for prompt, more in zip(QUESTIONS, beside, strict=True)]
    return lines(*(row | said for row in asked for said in both))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            by_two(SME=("ann", "bo"), tone=("good", "bad")),
            "SME, tone differ between rows of one response. If they say who labels, and how, say --map rater=SME --map "
            "label=tone; if not, --map detail=SME --map detail=tone.",
        ),
        (
            by_two(is_answered=False, tone=(1, 2), SME=("ann", "bo"), system_id=("gpt-4o", "gpt-4o")),
            "SME, tone differ between rows of one question. If they say who labels, and how, say --map rater=SME --map "
            "label=tone; if not, --map detail=SME --map detail=tone.",
        ),
        (
            by_two(email=("a@oak.org", "b@oak.org"), label=("good", "bad")),
            "email differs between rows of one response. If it says who labels, say --map rater=email; if not, --map "
            "detail=email.",
        ),
        (
            by_two(is_answered=False, tone=("good", "bad")),
            "tone differs between rows of one question. If people say so, say --map label=tone; if not, --map "
            "detail=tone.",
        ),
        (
            by_two(
                is_answered=False,
                left=("It was Ann.", "It was Ann."),
                right=("Bo did.", "Bo did."),
                who=("ann", "bo"),
                said=("left", "right"),
            ),
            "who differs between rows of one pair. If it says who labels, say --map rater=who; if not, --map "
            "detail=who.",
        ),
    ],
)
def test_reads_asks_who_labels_where_rows_of_one_response_differ(text: str, sentence: str) -> None:
    assert refused(text, "t.jsonl") == [f"t.jsonl: {sentence}"]


def test_reads_takes_who_labels_and_how_as_the_person_says() -> None:
    text = by_two(SME=("ann", "bo"), tone=("good", "bad"))

    labels = read(text, "t.jsonl", columns={"SME": "rater", "tone": "label"})["labels"]

    assert [(row["case"], row["rater"], row["label"]) for row in labels] == [
        (str(n), *said) for n in (1, 2, 3) for said in (("ann", "good"), ("bo", "bad"))
    ]


def test_reads_takes_what_all_raters_have_alike_for_no_label() -> None:
    text = by_two(rater=("ann", "bo"), mood=("good", "bad"), category=("geo", "geo"))

    assert refused(text, "t.jsonl") == [
        "t.jsonl: mood may be labels of people or scores, each by a criterion or by a person. Say it of each: --map "
        'label=mood by criterion. In place of label, write "labels of" by person, score for a judge, or detail for '
        "neither."
    ]


@pytest.mark.parametrize("headers", [("rater1_score", "rater2_score"), ("annotator_1 label", "annotator_2 label")])
def test_reads_takes_scores_of_numbered_raters_for_their_labels(headers: tuple[str, str]) -> None:
    rows = [
        {"prompt": prompt, "response": text, headers[0]: n, headers[1]: n + 1}
        for n, (prompt, text) in enumerate(zip(QUESTIONS, ANSWERS, strict=True))
    ]

    labels = read(lines(*rows), "t.jsonl")["labels"]

    raters = [header.replace("_score", "").replace(" label", "") for header in headers]
    assert [(row["rater"], row["label"]) for row in labels] == [
        (raters[by], str(n + by)) for n in range(3) for by in range(2)
    ]


@pytest.mark.parametrize("headers", [("label_ann", "label_bo"), ("rating_tone", "rating_wit")])
def test_reads_asks_whose_labels_beside_prompts_are(headers: tuple[str, str]) -> None:
    rows = [{"prompt": prompt, headers[0]: 5 - n, headers[1]: 4 - n} for n, prompt in enumerate(QUESTIONS)]

    each = " ".join(f'--map "labels of={name}"' for name in headers)
    assert refused(lines(*rows), "t.jsonl") == [
        f"t.jsonl: which columns hold labels? It has: prompt, {', '.join(headers)}. Say it with --map label=COLUMN, or "
        f"{each}. If none does, say --map detail={headers[0]} --map detail={headers[1]}."
    ]


def test_reads_asks_which_text_beside_labels_of_people_is_the_response() -> None:
    rows = [
        {"prompt": prompt, "written": text, "rater A": "good", "rater B": "bad"}
        for prompt, text in zip(QUESTIONS, ANSWERS, strict=True)
    ]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: which columns hold responses? It has: prompt, written, rater A, rater B. Say it with --map "
        'response=COLUMN, or --map "responses of=written". If none does, say --map detail=written.'
    ]


def test_reads_asks_who_judges_in_words_where_a_judge_is_named() -> None:
    rows = [
        {"prompt": prompt, "response": text, "grader": "ann", "quality": "good"}
        for prompt, text in zip(QUESTIONS, ANSWERS, strict=True)
    ]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: grader may be who labelled or what judged. Say --map rater=grader or --map judge=grader."
    ]


PAIR = {"chosen": "It was Ann.", "rejected": "It was Bo."}


@pytest.mark.parametrize("said", ["B", "rejected", "second"])
def test_reads_asks_where_a_label_says_that_the_rejected_response_is_better(said: str) -> None:
    rows = [{"prompt": prompt, **PAIR, "winner": said if n else "chosen"} for n, prompt in enumerate(QUESTIONS)]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: winner may say that another response than chosen is better. If so, say --map preference=winner; if "
        "not, --map detail=winner."
    ]
    for role, choices in (("preference", ["A", "B", "B"]), ("detail", ["A", "A", "A"])):
        preferences = read(lines(*rows), "t.jsonl", columns={"winner": role})["preferences"]
        assert [row["choice"] for row in preferences] == choices


def test_reads_takes_a_label_that_agrees_with_the_headers_of_a_pair() -> None:
    rows = [{"prompt": prompt, **PAIR, "winner": "chosen"} for prompt in QUESTIONS]

    assert [row["choice"] for row in read(lines(*rows), "t.jsonl")["preferences"]] == ["A", "A", "A"]


@pytest.mark.parametrize("values", [("system_x", "system_y", "tie"), (-1, 1, 0), ("a", "b", "a")])
def test_reads_asks_whether_a_column_without_a_known_name_is_a_preference(values: tuple[object, ...]) -> None:
    texts = zip(QUESTIONS, ANSWERS, SYSTEMS, values, strict=True)
    rows = [{"prompt": prompt, "answer_1": a, "answer_2": b, "finding": said} for prompt, a, b, said in texts]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: which columns hold labels? It has: prompt, answer_1, answer_2, finding. Say it with --map "
        'preference=COLUMN, or --map "labels of=finding". If none does, say --map detail=finding.'
    ]


def test_preference_takes_the_third_letter_of_a_judge_for_a_tie() -> None:
    assert [preference(f"[[{letter}]]") for letter in "ABC"] == ["A", "B", "tie"]


def test_reads_takes_no_names_of_models_for_answers() -> None:
    rows = [
        {"question": prompt, "response": text, "assistant": "gpt-4o"}
        for prompt, text in zip(QUESTIONS, ANSWERS, strict=True)
    ]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: assistant names a system: gpt-4o. If they responded, say --map system=assistant; if not, --map "
        "detail=assistant."
    ]


def test_reads_asks_whose_the_last_turns_are_beside_references() -> None:
    turns = [{"role": "user", "content": "Who heals?"}, {"role": "assistant", "content": "It was Ann."}]

    assert refused(lines({"messages": turns, "reference": "Ann"}), "t.jsonl") == [
        "t.jsonl: messages holds conversations that a system carried out. Which system was it? Say it with --system "
        "NAME."
    ]


@pytest.mark.parametrize("held", ["input", "sample", "question"])
def test_reads_takes_an_object_with_a_question_and_what_is_right_for_both(held: str) -> None:
    row: JsonDict = {
        held: {"question": "Who heals?", "target": "Ann"},
        "output": {"value": "It was Bo."},
        "model": "oak",
    }

    assert read(lines(row), "t.jsonl") == {
        "systems": ["oak"],
        "cases": [case("1", "Who heals?", "Ann")],
        "responses": [response("oak", "It was Bo.")],
        "warnings": {"ids-made": 1},
    }


@pytest.mark.parametrize("result", ["It was Ann.", {"text": "It was Ann."}])
def test_reads_asks_whether_a_text_or_an_object_with_one_is_the_response(result: object) -> None:
    rows = [{"question": prompt, "result": result, "scores": {"accuracy": n / 2}} for n, prompt in enumerate(QUESTIONS)]

    assert refused(lines(*rows), "t.jsonl")[0] == (
        "t.jsonl: result may be what a system wrote, or the reference. Say --map response=result or --map "
        "reference=result."
    )


def test_reads_passes_over_titles_and_notes_around_the_table_of_a_sheet() -> None:
    rows = [[prompt, text, 3] for prompt, text in zip(QUESTIONS, ANSWERS, strict=True)]
    table: list[list[object]] = [["Question", "Response", "Points"], *rows]
    above: list[list[object]] = [["Project:", "Chatbot"], ["Date:", "2026-01-01"], []]

    document = read(rows_workbook(*above, *table), "t.xlsx")
    said = refused(rows_workbook(*table, ["Done by Ann."]), "t.xlsx")

    assert [row["prompt"] for row in document["cases"]] == list(QUESTIONS)
    assert said == [
        "t.xlsx, Data!5: The row has one cell alone, as a heading or a note has. Other rows come in with "
        "--leave-out-bad-rows."
    ]


def test_reads_asks_about_one_id_of_many_questions() -> None:
    assert refused(
        lines(*({"id": "set-1", "prompt": f"Who is {n}?", "response": "Ann."} for n in range(4))), "t.jsonl"
    ) == [
        "t.jsonl: id has the same value for different questions, as where it counts within groups or files. Say --map "
        "detail=id: cases are then told by their questions. Or bring an id for each."
    ]


def test_reads_takes_codes_under_names_of_models_beside_those_of_raters_for_no_responses() -> None:
    rows = [{"id": str(n), "annotator1": n, "annotator2": 2 - n, "gpt35": 1} for n in range(3)]

    labels = read(lines(*rows), "t.jsonl")["labels"]

    assert [(row["rater"], row["label"]) for row in labels] == [
        (f"annotator{by + 1}", str((n, 2 - n)[by])) for n in range(3) for by in range(2)
    ]


@pytest.mark.parametrize("sides", [("chat_a", "chat_b"), ("turns_1", "turns_2"), ("response_a", "response_b")])
def test_reads_takes_the_turns_that_two_conversations_share_for_what_is_asked(sides: tuple[str, str]) -> None:
    asked = [{"role": "user", "content": "Who heals?"}]
    both = [[*asked, {"role": "assistant", "content": text}] for text in ("It was Ann.", "It was Bo.")]

    document = read(lines({**dict(zip(sides, both, strict=True)), "winner": "B"}), "t.jsonl")

    assert document["cases"] == [case("1", "Who heals?")]
    assert [row["text"] for row in document["responses"]] == ["It was Ann.", "It was Bo."]
    assert [row["choice"] for row in document["preferences"]] == ["B"]


@pytest.mark.parametrize("place", [("settings", "engine"), ("origin", "id"), ("info", "name")])
def test_reads_asks_with_the_path_of_the_model_in_an_object(place: tuple[str, str]) -> None:
    settings = {place[1]: "gpt-4o", "temperature": 0}

    assert refused(lines({"prompt": "Who heals?", "output": "It was Ann.", place[0]: settings}), "t.jsonl") == [
        f"t.jsonl: {place[0]} names a system: gpt-4o. If they responded, say --map system={'.'.join(place)}; if not, "
        f"--map detail={place[0]}."
    ]


def test_reads_takes_running_numbers_in_german_for_ids() -> None:
    rows = [{"lfd. Nr.": n, "Frage": prompt} for n, prompt in enumerate(QUESTIONS, 7)]

    assert [row["id"] for row in read(lines(*rows), "t.jsonl")["cases"]] == ["7", "8", "9"]


@pytest.mark.parametrize("words", ["generated_text", "model response", "reply"])
def test_reads_takes_scores_for_those_of_the_system_in_the_header_of_a_response(words: str) -> None:
    models = ("gpt-4o", "claude-3-opus")
    row = {"prompt": "Who heals?"} | {f"{model} {words}": f"It was {model[0]}." for model in models}

    document = read(lines(row | {f"{model} score": 3 + n for n, model in enumerate(models)}), "t.jsonl")

    assert [(row["system"], row["value"]) for row in document["scores"]] == [("gpt-4o", 3.0), ("claude-3-opus", 4.0)]


@pytest.mark.parametrize(
    "named", [{"author": "human", "message": "Who heals?"}, {"type": "human", "content": "Who heals?"}]
)
def test_reads_takes_turns_by_author_or_type_for_turns(named: JsonDict) -> None:
    turns = [named]

    assert read(lines({"dialogue": turns, "response": "Ann.", "model": "oak"}), "t.jsonl")["cases"] == [
        case("1", "Who heals?")
    ]


def test_reads_asks_who_gives_scores_that_differ_between_rows_of_one_response() -> None:
    assert refused(by_two(team=("ann", "bo"), tone_score=(1, 2)), "t.jsonl") == [
        "t.jsonl: team differs between rows of one response. If it says who labels, say --map rater=team; if not, "
        "--map detail=team."
    ]


def test_reads_asks_whether_an_object_beside_a_reference_holds_the_response() -> None:
    row = {"question": "Who heals?", "reference": "Ann", "result": {"text": "It was Bo then."}}

    assert refused(lines(row), "t.jsonl") == [
        "t.jsonl: which columns hold responses? It has: question, reference, result. Say it with --map "
        'response=COLUMN, or --map "responses of=result". If none does, say --map detail=result.'
    ]
