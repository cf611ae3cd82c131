"""Tables that say how good a response is: by several criteria, by several people, or where an answer may be either."""

from __future__ import annotations

import shlex

import pytest

from evalsite.base.types import JsonDict
from tests.judging.specs.records.test_tables import case, lines, read, reading, refused, response, said

BESIDE: JsonDict = {"id": "1", "prompt": "Boil an egg?", "response": "Eight minutes.", "model": "oak"}
YES_NO = ("yes", "no")
HEN: JsonDict = {"question": "Who heals?", "answer": "It was Ann."}


def label(rater: str, value: str, criterion: str = "", **more: object) -> JsonDict:
    return {"case": "1", "rater": rater, "label": value, "criterion": criterion, "system": "oak", "attempt": 0, **more}


def labelled(*labels: JsonDict, **warnings: int) -> JsonDict:
    return {
        "systems": ["oak"],
        "cases": [case("1", "Boil an egg?")],
        "responses": [response("oak", "Eight minutes.")],
        "labels": list(labels),
        "warnings": {"no-reference": 1, "scale-from-use": 1, **warnings},
    }


def asks_whose(*names: str) -> list[str]:
    return [
        f"t.jsonl: {', '.join(names)} may be labels of people or scores, each by a criterion or by a person. Say it of "
        f"each: {' '.join(f'--map label={name}' for name in names)} by criterion. In place of label, write "
        '"labels of" by person, score for a judge, or detail for neither.'
    ]


def asks_which(answer: str, beside: str) -> list[str]:
    return [
        f"t.jsonl: {answer} could be the response or the reference, beside {beside}. Say --map "
        f"response={answer} or --map reference={answer} or --map ignore={answer}."
    ]


def test_reads_takes_scores_of_a_rater_for_labels_by_criterion() -> None:
    row = BESIDE | {"reviewer": "ann", "fluency_score": 3, "accuracy": 4}

    assert read(lines(row), "t.jsonl") == labelled(label("ann", "3", "fluency_score"), label("ann", "4", "accuracy"))


def test_reads_takes_ratings_of_a_rater_for_labels_by_criterion() -> None:
    rows = [BESIDE | {"rater": name, "helpfulness_rating": 3, "clarity_rating": 4} for name in ("ann", "bo")]

    assert read(lines(*rows), "t.jsonl") == labelled(
        label("ann", "3", "helpfulness_rating"),
        label("ann", "4", "clarity_rating"),
        label("bo", "3", "helpfulness_rating"),
        label("bo", "4", "clarity_rating"),
    )


def test_reads_takes_columns_with_a_scale_beside_a_rater_for_labels_by_criterion() -> None:
    row = BESIDE | {"reviewer": "ann", "Fluency (1-5)": 3, "Depth (/10)": 4, "remarks": ""}

    assert read(lines(row), "t.jsonl") == labelled(label("ann", "3", "Fluency"), label("ann", "4", "Depth"))


@pytest.mark.parametrize(
    ("beside", "names"),
    [
        ({"rater": "ann", "tone": 3, "depth": 4, "wit": 1}, ["tone", "depth", "wit"]),
        ({"rater": "ann", "tone": 3, "accuracy": 4}, ["tone"]),
        ({"human_tone": 3, "human_depth": 4}, ["human_tone", "human_depth"]),
        ({"judge_elm": 3, "judge_ash": 4, "human_tone_mean": 2.5}, ["judge_elm", "judge_ash"]),
        ({"ratings": {"ann": 3, "bo": 4}}, ["ratings.ann", "ratings.bo"]),
        ({"human_tone": 3, "gpt4_tone": 4, "turker_tone": 4}, ["human_tone", "gpt4_tone", "turker_tone"]),
        ({"is_correct_human": 0, "is_correct_gpt4": 1}, ["is_correct_human", "is_correct_gpt4"]),
        ({"expert": 4}, ["expert"]),
    ],
)
def test_reads_asks_whether_columns_are_of_criteria_or_of_people(beside: JsonDict, names: list[str]) -> None:
    assert refused(lines(BESIDE | beside), "t.jsonl") == asks_whose(*names)


def test_reads_takes_columns_for_the_criteria_or_the_people_that_the_person_says() -> None:
    criteria = lines(BESIDE | {"rater": "ann", "tone": 3, "depth": 4, "accuracy": 5})
    people = lines(BESIDE | {"ratings": {"ann": 3, "bo": 4}})

    by_criterion = read(criteria, "t.jsonl", columns={"tone": "label", "depth": "label"})
    by_person = read(people, "t.jsonl", columns={"ratings.ann": "labels of", "ratings.bo": "labels of"})

    rated = [("3", "tone"), ("4", "depth"), ("5", "accuracy")]
    assert by_criterion == labelled(*(label("ann", value, criterion) for value, criterion in rated))
    assert by_person == labelled(label("ann", "3"), label("bo", "4"))


def test_reads_takes_a_column_with_the_word_of_a_preference_for_it() -> None:
    row = {"id": "1", "prompt": "Boil an egg?", "response_a": "Eight minutes.", "response_b": "No."}

    document = read(lines(row | {"ground_truth_winner": "B"}), "t.jsonl")

    assert document["preferences"] == [
        {"case": "1", "a": "response_a", "b": "response_b", "choice": "B", "by": "", "kind": "gold"}
    ]
    assert refused(lines(row | {"preferred": "A", "human_winner": "B"}), "t.jsonl") == [
        "t.jsonl: two columns could be the preference: preferred, human_winner. Say --map preference=preferred or "
        '--map preference=human_winner. Those of people are --map "labels of=preferred" --map '
        '"labels of=human_winner".'
    ]


def test_reads_asks_whose_a_preference_is_that_agrees_with_another_and_keeps_both() -> None:
    row = {"id": "1", "prompt": "Boil an egg?", "response_a": "Eight minutes.", "response_b": "No.", "winner": "A"}
    text = lines(row | {"judge_winner": "A"})

    document = read(text, "t.jsonl", columns={"judge_winner": "labels of"})

    assert refused(text, "t.jsonl") == [
        "t.jsonl: judge_winner may be labels of another person or a judge, as winner has the same ones. If so, say "
        '--map "labels of=judge_winner"; if not, --map detail=judge_winner.'
    ]
    assert [(row["by"], row["kind"], row["choice"]) for row in document["preferences"]] == [
        ("judge_winner", "person", "A"),
        ("", "gold", "A"),
    ]


def test_reads_quotes_columns_in_options_and_names_all_of_them() -> None:
    rows = [{"case": str(n), 'How "good"?': n, "tone (1-3)": 3 - n} for n in (1, 2)]

    (question,) = refused(lines(*rows), "t.jsonl")

    options = [word.partition("=") for word in shlex.split(question.partition("COLUMN, or ")[2].rstrip("."))]
    columns = {column: role for role, _, column in options if column}
    assert columns == {'How "good"?': "labels of", "tone (1-3)": "labels of"}
    assert len(read(lines(*rows), "t.jsonl", columns=columns)["labels"]) == 4


def test_reads_tells_a_rater_from_a_criterion_in_a_header() -> None:
    row = BESIDE | {"rater_1_tone": 3, "Rater 2 tone": 4}

    assert read(lines(row), "t.jsonl") == labelled(label("rater_1", "3", "tone"), label("Rater 2", "4", "tone"))


def test_reads_takes_values_beside_a_metric_and_who_evaluates_for_verdicts() -> None:
    rows = [BESIDE | {"evaluator": name, "metric": "tone", "value": 4} for name in ("gpt-4o", "claude-3")]

    verdicts = read(lines(*rows), "t.jsonl")["verdicts"]

    assert [(row["judge"], row["criterion"], row["value"]) for row in verdicts] == [
        ("gpt-4o", "tone", 4.0),
        ("claude-3", "tone", 4.0),
    ]


def test_reads_takes_human_labels_by_id_and_asks_about_others_with_the_same_words() -> None:
    rows = [{"question_id": str(n), "human_label": word} for n, word in enumerate(("right", "wrong"))]

    labels = read(lines(*rows), "t.jsonl")["labels"]

    assert [(row["case"], row["label"]) for row in labels] == [("0", "right"), ("1", "wrong")]
    assert refused(lines(*(row | {"adjudicated": row["human_label"]} for row in rows)), "t.jsonl") == [
        "t.jsonl: adjudicated may be labels of another person or a judge, as human_label has the same ones. If so, "
        'say --map "labels of=adjudicated"; if not, --map detail=adjudicated.'
    ]


def test_reads_takes_decisions_of_a_model_for_no_names_of_systems() -> None:
    rows = [
        {"question": f"Is {n} odd?", "response": "It is.", "model_decision": word, "human_decision": word}
        for n, word in enumerate(("yes", "no"))
    ]

    assert "model_decision, human_decision may be labels" in refused(lines(*rows[::-1]), "t.jsonl")[0]


def test_reads_takes_scores_of_both_responses_of_a_pair() -> None:
    row = {"prompt": "Why?", "response_a": "So.", "response_b": "No.", "score_a": 4, "score_b": 2, "id": "1"}

    scores = read(lines(row), "t.jsonl")["scores"]

    assert [(row["system"], row["grader"], row["value"]) for row in scores] == [
        ("response_a", "score", 4.0),
        ("response_b", "score", 2.0),
    ]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            {"question": "Why?", "answer": "So.", "judge": {"model": "elm", "rating": 4}},
            "answer could be the response or the reference, beside judge.",
        ),
        (
            BESIDE | {"judge_scores": {"tone": 4, "depth": 3}},
            "judge_scores holds objects with what seem to be opinions: tone, depth.",
        ),
        (
            {
                "model": "oak",
                "turns": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So.", "rating": 4}],
            },
            "turns has rating in its turns, which is not read. Bring a row for each turn that is judged",
        ),
        (
            BESIDE | {"evaluator": "human", "score": 4},
            "evaluator may be who labelled or what judged, as it names human. Say --map rater=evaluator or ",
        ),
        (
            BESIDE | {"annotator": "gpt-4", "label": "good"},
            "annotator may be who labelled or what judged, as it names gpt-4.",
        ),
    ],
)
def test_reads_asks_about_opinions_in_objects_and_turns_and_who_gave_them(row: JsonDict, sentence: str) -> None:
    assert refused(lines(row), "t.jsonl")[0].startswith(f"t.jsonl: {sentence}")


def test_reads_asks_nothing_about_the_position_of_a_response() -> None:
    row = {"prompt": "Why?", "response_a": "So.", "response_b": "No.", "winner": "A", "long_position": "A"}

    assert len(read(lines(row), "t.jsonl")["preferences"]) == 1


def test_reads_takes_a_value_for_the_label_of_a_rater() -> None:
    row = BESIDE | {"annotator": "ann", "metric": "tone", "value": "4"}

    assert read(lines(row), "t.jsonl") == labelled(label("ann", "4", "tone"))


def test_reads_takes_several_values_of_a_preference_for_one_side() -> None:
    pair = {"response_a": "Eight minutes.", "response_b": "No."}
    rows = [pair | {"prompt": f"Boil {n} eggs?", "preference": n} for n in range(1, 6)]

    document = read(lines(*rows), "t.jsonl", meanings={"A": "1/2", "tie": "3", "B": "4/5"})

    assert [row["choice"] for row in document["preferences"]] == ["A", "A", "tie", "B", "B"]


def test_reads_asks_about_ids_that_count_in_each_file() -> None:
    files = {
        f"{name}.jsonl": lines(*({"id": n, "question": f"{name} {n}?", "answer": "So."} for n in range(3)))
        for name in ("birds", "bees")
    }

    assert said(reading(files))[0].startswith("birds.jsonl: id has the same value for different questions")
    told = reading(files, columns={"id": "detail"}).collected
    assert told is not None
    assert told.counts["cases"] == 6


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ({"groundtruth": "Ann"}, "groundtruth"),
        ({"ground_truth_answers": "Ann"}, "ground_truth_answers"),
        ({"expected_label": "good"}, "expected_label"),
        ({"Answer_Relevance_Label": "yes"}, "Answer_Relevance_Label"),
    ],
)
def test_reads_asks_what_an_answer_is_beside_a_reference_or_a_judgment(beside: JsonDict, said: str) -> None:
    other = {name: f"{value} not" for name, value in beside.items()}
    rows = lines(HEN | beside, {"question": "Who cooks?", "answer": "It was Bo."} | other)

    assert refused(rows, "t.jsonl") == asks_which("answer", said)


def test_reads_asks_what_answers_are_in_a_file_of_answers() -> None:
    (said,) = refused(lines(HEN), "rag_answers.jsonl")

    assert said == asks_which("answer", "the name of the file")[0].replace("t.jsonl", "rag_answers.jsonl")


def test_reads_asks_whose_the_label_of_a_question_is() -> None:
    rows = lines(
        {"question_id": 1, "text": "Is it red?", "label": "yes"},
        {"question_id": 2, "text": "Is it red?", "label": "no"},
        {"question_id": 3, "text": "Is it red?", "label": "no"},
    )

    assert refused(rows, "t.jsonl") == [
        "t.jsonl: label may be right to answer text, or what a person said. Say --map "
        "reference=label or --map label=label."
    ]


def test_reads_takes_names_of_several_words_in_one_word_and_of_several_things() -> None:
    row = {"questionid": "1", "userinput": "Boil an egg?", "model_outputs": "Eight.", "modelname": "oak"}

    assert read(lines(row | {"retrieved_context": "p"}), "t.jsonl") == {
        "systems": ["oak"],
        "cases": [case("1", "Boil an egg?") | {"context": ["p"]}],
        "responses": [response("oak", "Eight.")],
        "warnings": {"no-reference": 1},
    }


def test_reads_takes_the_question_for_the_prompt_and_not_the_template_around_it() -> None:
    template = (
        "Give a query one of these tags, and give nothing else than the tag: cooking, travel, sums, or none. " * 2
    )
    rows = [BESIDE | {"input": asked, "prompt": f"{template}{asked}"} for asked in ("Boil an egg?", "Add 2 to 3!")]

    document = read(lines(*(row | {"id": str(number)} for number, row in enumerate(rows, 1))), "t.jsonl")

    assert document["cases"] == [case("1", "Boil an egg?"), case("2", "Add 2 to 3!")]


def test_reads_takes_the_reason_of_a_score_for_none() -> None:
    row = {"inputs.query": "Boil an egg?", "inputs.response": "Eight.", "scores.relevance": 4}

    document = read(lines(row | {"scores.relevance_reason": "It is to the point."}), "t.jsonl")

    assert ("labels" in document, [score["grader"] for score in document["scores"]]) == (False, ["relevance"])


@pytest.mark.parametrize(
    "history",
    [
        [{"role": "user", "content": "Is it warm?"}, {"role": "assistant", "content": "Yes."}],
        [["Is it warm?", "Yes."]],
        [{"inputs": {"question": "Is it warm?"}, "outputs": {"answer": "Yes."}}],
    ],
)
def test_reads_asks_the_question_behind_the_history_of_its_conversation(history: list[object]) -> None:
    before = [{"role": "user", "text": "Is it warm?"}, {"role": "assistant", "text": "Yes."}]
    row = {"id": "1", "question": "And in Bern?", "history": history}

    (found,) = read(lines(row), "t.jsonl")["cases"]

    assert found["messages"] == [*before, {"role": "user", "text": "And in Bern?"}]


def test_reads_takes_a_question_that_its_conversation_has_once() -> None:
    turns = [{"role": "user", "content": "Is it warm?"}, {"role": "assistant", "content": "Yes."}]

    document = read(lines({"id": "1", "question": "Is it warm?", "messages": turns}), "t.jsonl")

    assert document["cases"] == [case("1", "Is it warm?", "Yes.")]


@pytest.mark.parametrize(
    ("beside", "sentence"),
    [
        (
            {"parsed": {"depth": {"score": 4, "reason": "It is."}}},
            "parsed holds objects with what seem to be opinions: depth.score. If so, say --map "
            "score=parsed.depth.score; if not, --map detail=parsed.",
        ),
        (
            {"metadata": {"model": "elm"}},
            "metadata names a system: elm. If they responded, say --map system=metadata.model; if not, --map "
            "detail=metadata.",
        ),
        (
            {"baseline_model_response": "It takes ten minutes."},
            "baseline_model_response may hold responses of another system than response. If so, say --map "
            '"responses of=response" --map "responses of=baseline_model_response"; if not, --map '
            "detail=baseline_model_response.",
        ),
    ],
)
def test_reads_asks_what_stands_beside_responses_unread(beside: JsonDict, sentence: str) -> None:
    row = {"id": "1", "prompt": "Boil an egg?", "response": "Eight minutes."}

    assert refused(lines(row | beside), "t.jsonl") == [f"t.jsonl: {sentence}"]


def test_reads_takes_an_object_of_scores_that_a_cell_has_printed() -> None:
    text = 'id,prompt,response,model,scores\n1,Boil an egg?,Eight minutes.,oak,"{""depth"": 0.5}"\n'

    (score,) = read(text)["scores"]

    assert (score["grader"], score["value"]) == ("depth", 0.5)


def test_reads_takes_two_columns_of_one_reference_for_it() -> None:
    row = {"id": "1", "input": "Is it red?", "target": "yes", "target_scores": {"yes": 1, "no": 0}}

    assert read(lines(row), "t.jsonl")["cases"] == [case("1", "Is it red?", "yes", target_scores={"yes": 1, "no": 0})]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('["Boil an egg?", "Is it red?"]', "content"),
        ('{"q1": "How do I boil it?", "q2": "Is it quite red?"}', "id, content"),
    ],
)
def test_reads_asks_what_texts_alone_are(text: str, columns: str) -> None:
    (said,) = refused(text, "t.json")

    assert said.startswith(f"t.json: which columns hold responses? It has: {columns}. Say it with --map response=")
    assert len(read(text, "t.json", columns={"content": "prompt"})["cases"]) == 2


def test_reads_takes_names_of_templates_for_no_prompts_and_asks_what_labels_are_of() -> None:
    rows = [
        {"id": str(number), "prompt": "few-shot-1", "doc": "It is warm in Bern at noon.", "label": "yes"}
        for number in (1, 2)
    ]

    (said,) = refused(lines(*rows), "t.jsonl")

    assert said.startswith("t.jsonl: which columns hold responses? It has: id, prompt, doc, label.")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [{"id": "1", "model": "oak", "prompt": "P?", "response": "R.", "rating_1": 3, "rating_2": 4}],
            "rating_1, rating_2 may be labels of people or scores",
        ),
        (
            [
                {"prompt": f"P{n}?", "response": "R.", "model": "oak", "zest": n, "batch": n, "n_tokens": n}
                for n in (1, 2)
            ],
            "zest may be labels of people or scores, each by a criterion or by a person.",
        ),
        (
            [
                {
                    "prompt": "P?",
                    "response_1": "It is a.",
                    "response_2": "It is b.",
                    "response_3": "It is c.",
                    "ranking": "2>1>3",
                }
            ],
            "ranking seems to say the order of responses, which is not read. Bring a row for each two responses",
        ),
        ([{"prompt": "P?", "responses": ["It is a.", "It is b."], "ranks": [2, 1]}], "ranks seems to say the order"),
        (
            [
                {"model": "oak-7b", "task": "sums", "Accuracy": 61.2},
                {"model": "elm-9b", "task": "sums", "Accuracy": 65},
            ],
            "this is a leaderboard: it has figures of systems (Accuracy), and no cases.",
        ),
        (
            [
                {
                    "prompt": "P?",
                    "response": f"R{n}.",
                    "model": "oak",
                    "harmed": n > 1,
                    "has_code": n > 1,
                    "is_long": n > 1,
                }
                for n in (1, 2)
            ],
            "harmed may be labels of people or scores",
        ),
        (
            [{"question": "Why is it so?", "model": "oak", "response": "So it is.", "gpt4_answer": "It is so."}],
            "gpt4_answer may hold responses of another system than response.",
        ),
        (
            [
                {
                    "prompt": "P?",
                    "response": f"R{n}.",
                    "model": "oak",
                    "accuracy": n,
                    "zest": n,
                    "num_words": n,
                    "top_p": n / 2,
                }
                for n in (1, 2)
            ],
            "zest may be labels of people or scores",
        ),
        (
            [{"prompt": f"P{n}?", "output_1": "It is a.", "output_2": "It is b.", "gold_label": n} for n in (1, 2)],
            "which columns hold labels? It has: prompt, output_1, output_2, gold_label. Say it with --map preference=",
        ),
        (
            [{"source": "It rains a lot.", "REF": "Rain.", "A": "Rain it is.", "B": "It rained.", "C": "So it rains."}],
            "which columns hold responses? It has: source, REF, A, B, C.",
        ),
        (
            [
                {"prompt": "P?", "response": f"R{n}.", "human_label": "pass" if n else "fail", "judge_label": "pass"}
                for n in (0, 1)
            ],
            "judge_label may be labels of another person or a judge, as human_label has the same ones. If so, say "
            '--map "labels of=judge_label"; if not, --map detail=judge_label.',
        ),
        (
            [{"problem": name, "mean": 0.5, "runs": 9} for name in ("sphere", "ackley")],
            "problem seems to name what the figures beside it are of (mean). Bring the responses and scores of each "
            "case. If the names are what is asked, say --map prompt=problem.",
        ),
        (
            [{"paper": f"p{n}", "Questions": ["Why so?", "And then?"], "Overall": n} for n in (3, 4)],
            "which columns hold responses? It has: paper, Questions, Overall.",
        ),
        (
            [{"text": f"P{n}?", "label": 0, "curie-instruct-beta": "It is so.", "zest": [n, 2, 0]} for n in (0, 1)],
            "zest holds several values for each response.",
        ),
        (
            [{"question": "Name the bird.", "label": "B", "endpoints": ["elk", "tern"]}],
            "label is a letter. Does it count the entries of endpoints?",
        ),
        (
            [{"qid": n % 3, "question": f"Who is number {n}?", "answer": "Ann"} for n in range(6)],
            "qid has the same value for different questions, as where it counts within groups or files. "
            "Say --map detail=qid: cases are then told by their questions.",
        ),
        (
            [{"prompt": "P?", "response": f"R{n}.", "Acceptable?": "Yes" if n else "No"} for n in (0, 1)],
            "Acceptable? may be labels of people or scores",
        ),
        (
            [{"prompt": "P?", "response": f"R{n}.", "claim_level_zest": n > 0} for n in (0, 1)],
            "claim_level_zest may be labels of people or scores",
        ),
        (
            [{"text": f"P{n}?", "gpt-4": "It is so.", "zest": [3, 2, n]} for n in (0, 1)],
            "zest holds several values for each response.",
        ),
        (
            [{"query": "P?", "answer": {"method": "search", "steps": [{"node": "look", "message": "It is so."}]}}],
            "answer may be what a system did, or the reference.",
        ),
        (
            [
                {
                    "question": "Why is it so?",
                    "answer": "So it is.",
                    "result": f"It is {n}.",
                    "depthScore": {"score": n, "justification": "It is so deep. " * 5},
                    "widthScore": {"score": n, "justification": "It is so wide. " * 5},
                }
                for n in (0, 1)
            ],
            "which columns hold responses? It has: question, answer, result, depthScore, widthScore. Say it with --map "
            'response=COLUMN, or --map "responses of=result".',
        ),
        (
            [{"name": "gpt-4", "win_rate": 0.9, "link": "https://x.org"}],
            "this is a leaderboard: it has figures of systems (win_rate)",
        ),
        (
            [{"id": "1", "question": "Name who wrote it.", "label": "A>B", "judge_model": "oak"}],
            "the values of label name two responses, which the table does not have.",
        ),
        (
            [{"id": "gpt-4", "elo": 1210}, {"id": "oak-7b", "elo": 1190}],
            "this is a leaderboard: it has figures of systems (elo)",
        ),
        (
            [{"texts": [{"text": f"It is {n}.", "by": "oak-7b"}], "choice": n, "worker": "w"} for n in (0, 1)],
            "which columns hold responses? It has: texts, choice, worker.",
        ),
        (
            [{"id": "1", "prompt": "P?", "response": "R.", "marks": [{"name": "depth", "value": "yes"}]}],
            "marks holds objects with what seem to be opinions: depth.",
        ),
        (
            [
                {"question": "Who heals?", "answer": "It was Ann.", "feedback": "up"},
                {"question": "Who cooks?", "answer": "It was Bo.", "feedback": "down"},
            ],
            "answer could be the response or the reference, beside feedback.",
        ),
        (
            [
                {"prompt": "P?", "response_a": f"R{n}.", "response_b": "S.", "rater": "ann", "sxs_score": n}
                for n in range(-3, 4)
            ],
            "rater names who labels, but no column is known to hold labels; sxs_score may. If so, say --map "
            "preference=sxs_score; if not, --map detail=rater.",
        ),
        (
            [
                {"prompt": "P?", "gpt-4": "It is so.", "rank_gpt-4": n, "annotator": name}
                for n, name in ((1, "ann"), (2, "bo"))
            ],
            "rank_gpt-4 may rank the responses of a case. If so, and 1 is the best, say --map rank=rank_gpt-4; if not, "
            "--map detail=rank_gpt-4.",
        ),
        *(
            (
                [BESIDE | {name: value} | {"id": n, "prompt": f"P{n}?"} for n, value in enumerate(values)],
                f"{name} may be labels of people or scores, each by a criterion or by a person.",
            )
            for name, values in (
                ("score_helpfulness", (3, 4)),
                ("helpfulness_rating", (4, 4)),
                ("score_ann", (1, 2)),
                ("judge_gpt4", ("good", "bad")),
                ("thumbs", ("👍", "👎")),
                ("stars", ("★★☆", "★★★")),
                ("helped", ("oui", "non")),
            )
        ),
        (
            [BESIDE | {"id": n, "prompt": f"P{n}?", "grade": "AB"[n], "grader": "ann"} for n in (0, 1)],
            "grader may be who labelled or what judged. Say --map rater=grader or --map judge=grader.",
        ),
        (
            [BESIDE | {"quality": "good", "labels": [{"start": 0, "end": 5, "label": "false"}]}],
            "labels holds objects that seem to say something of each response.",
        ),
        (
            [{"text": f"P{n}?", "labels": ["toxic", "rude"], "annotator": "ann"} for n in (0, 1)],
            "labels holds several labels of each row, which are not read.",
        ),
        (
            [BESIDE | {"model": name, "preferred": name == "oak"} for name in ("oak", "elm")],
            "preferred seems to say the order of responses, which is not read.",
        ),
        (
            [
                {"prompt": f"P{n}?", "response_a": "R.", "response_b": "S.", "preference_strength": n}
                for n in range(-3, 4)
            ],
            "which columns hold labels? It has: prompt, response_a, response_b, preference_strength.",
        ),
        (
            [{"task_id": "t/1", "solution": "return 1"}],
            "solution may be what a system wrote or the reference. Say --map response=solution or --map "
            "reference=solution.",
        ),
        (
            [
                {"input": f"P{n}?", "expected": "R.", "actual result": "S.", "status": said, "tester": "Ann"}
                for n, said in enumerate(("Pass", "Fail"))
            ],
            "status may be labels of people or scores, each by a criterion or by a person.",
        ),
        (
            [BESIDE | {"id": n, "prompt": f"P{n}?", "result": said} for n, said in enumerate(("passed", "failed"))],
            "result may be labels of people or scores, each by a criterion or by a person.",
        ),
        (
            [{"question": f"P{n}?", "predicted_sql": f"SELECT {n} FROM a", "exec_match": n} for n in (0, 1)],
            "which columns hold responses? It has: question, predicted_sql, exec_match.",
        ),
        (
            [
                {"text": f"It is {n}.", "true_label": "warm", "gpt-4_label": said, "llama_label": "cold"}
                for n, said in enumerate(("warm", "cold"))
            ],
            "which columns hold responses? It has: text, true_label, gpt-4_label, llama_label.",
        ),
        (
            [{"query": f"P{n}?", "actual_tool_calls": [{"name": "f"}], "tool_correctness": 0.5} for n in (0, 1)],
            "which columns hold responses? It has: query, actual_tool_calls, tool_correctness.",
        ),
        (
            [
                {"src": f"It is {n}.", "tgt": f"Es ist {n}.", "sys": name, "da_score": 80 - n, "annotator": "ann"}
                for n, name in enumerate(("oak", "elm"))
            ],
            "tgt may be what the systems made of it, or the reference. Say --map response=tgt or --map reference=tgt.",
        ),
        (
            [
                {"dialog": n // 2, "turn": n % 2, "question": f"P{n}?", "answer": f"R{n}.", "model": "oak"}
                for n in range(4)
            ],
            "each row seems to be one turn of a conversation (turn), not a case. Bring one row for a conversation, "
            "with its turns as a list in a column messages. To take each row for a case, say --map detail=turn.",
        ),
        (
            [
                {"chat_id": n // 2, "sender": name, "message": f"It is {n}."}
                for n, name in enumerate(("Ann", "Bot", "Bo", "Bot", "Bo", "Bot"))
            ],
            "each row seems to be one turn of a conversation (sender), not a case.",
        ),
        (
            [BESIDE | {"id": n, "prompt": f"P{n}?", "resolved": said, "csat": n + 3} for n, said in enumerate(YES_NO)],
            "csat may be labels of people or scores, each by a criterion or by a person.",
        ),
        (
            [
                {"id": n, "source": f"It is {n} and it will be so for long.", "summary": f"{n} it is.", "fluency": 3}
                for n in (0, 1)
            ],
            "summary may be what a system made of source. If so, say --map prompt=source --map response=summary; if "
            "not, --map detail=summary.",
        ),
        (
            [
                {"text": f"Pay {n} to us.", "expected": {"sum": n, "to": "us"}, "found": {"sum": 1, "to": "us"}}
                for n in (0, 1)
            ],
            "found may be what a system made of text. If so, say --map prompt=text --map response=found; if not, --map "
            "detail=found.",
        ),
        (
            [{"prompt": "P?", "candidate": "It is so.", "baseline": "It may be so.", "model": "oak"}],
            "baseline may hold responses of another system than candidate.",
        ),
        (
            [BESIDE | {"id": n, "prompt": f"P{n}?", "it helps": said} for n, said in enumerate(("Agree", "Disagree"))],
            "it helps may be labels of people or scores, each by a criterion or by a person.",
        ),
        (
            [BESIDE | {"id": n, "prompt": f"P{n}?", "feedback": said} for n, said in enumerate(("up", "down"))],
            "feedback may be labels of people or scores, each by a criterion or by a person.",
        ),
        (
            [BESIDE | {"id": n, "prompt": f"P{n}?", "thumbs": n - 1, "is_jailbroken": n > 0} for n in range(3)],
            "thumbs, is_jailbroken may be labels of people or scores, each by a criterion or by a person.",
        ),
        (
            [{"question": "P?", "student_answer": "It is so.", "model_answer": "It may be so.", "score": 3}],
            "student_answer may hold responses of a person beside model_answer. If so, say --map",
        ),
        (
            [{"id": "1", "turn_1": "Is it so?", "reply_1": "It is so.", "turn_2": "Sure?", "reply_2": "I am sure."}],
            "turn_1, turn_2, reply_1, reply_2 are several questions in a row, with their answers.",
        ),
    ],
)
def test_reads_asks_what_was_kept_or_taken_without_a_word(rows: list[JsonDict], sentence: str) -> None:
    (said,) = refused(lines(*rows), "t.jsonl")

    assert said.startswith(f"t.jsonl: {sentence}")


def test_reads_asks_once_whose_answers_differ_between_files_that_ask_the_same() -> None:
    files = {f"{name}.csv": f"question,answer\nWho heals?,It was {name}.\n" for name in ("oak", "elm")}

    assert said(reading(files)) == [
        "oak.csv: answer may be what systems wrote or references, as it differs between sheets or files that ask the "
        "same. Say --map response=answer or --map reference=answer."
    ]


def test_reads_takes_codes_under_the_names_of_systems_for_no_responses() -> None:
    row = {"id": "1", "question": "Who heals?", "gpt-4_response": "It was Ann, I think.", "gpt-4_action": 1}

    assert read(lines(row), "t.jsonl") == {
        "systems": ["gpt-4"],
        "cases": [case("1", "Who heals?", **{"gpt-4_action": 1})],
        "responses": [response("gpt-4", "It was Ann, I think.")],
        "warnings": {"no-reference": 1},
    }


def test_reads_takes_the_reference_that_the_row_of_a_tool_keeps() -> None:
    question = {"question_id": 1, "turns": ["Who heals?"], "ground_truth": "Ann"}
    record = {"app_id": "oak", "record_id": "1", "input": "Who heals?", "output": "Bo.", "ground_truth": "Ann"}

    for row in (question, record):
        assert [found["references"] for found in read(lines(row), "t.jsonl")["cases"]] == [["Ann"]]


def test_reads_asks_what_a_text_with_a_word_of_responses_is() -> None:
    (said,) = refused(lines({"user_prompt": "Is it warm?", "output_prompt": "It is warm in Bern."}), "t.jsonl")

    assert said.startswith("t.jsonl: which columns hold responses? It has: user_prompt, output_prompt.")


def test_reads_asks_what_several_references_with_a_score_each_are() -> None:
    row = {"query": "Is it warm?", "expected_response": "It is.", "expected_score": 1}

    assert refused(lines(row, row | {"expected_response": "No.", "expected_score": 0}), "t.jsonl") == [
        "t.jsonl: expected_response may be what expected_score judges, or the reference. Say --map "
        "response=expected_response or --map reference=expected_response."
    ]


def test_reads_asks_about_errors_that_all_responses_have() -> None:
    rows = [BESIDE | {"id": str(number), "error_message": "No mistake was found."} for number in (1, 2)]

    assert refused(lines(*rows), "t.jsonl") == [
        "t.jsonl: error_message may be why no sample has a response, or said of the responses that are there. Say "
        "--map error=error_message or --map detail=error_message."
    ]


def test_reads_asks_once_whose_an_answer_is_beside_references_that_differ() -> None:
    row = {"question": "Which river?", "reference": "The Elbe.", "answer": "The Oder.", "student_score": 1}
    rows = [row, row | {"reference": "The river Elbe.", "answer": "The Elbe.", "student_score": 3}]

    assert refused(lines(*rows), "t.jsonl") == asks_which("answer", "reference")
    assert len(read(lines(*rows), "t.jsonl", columns={"answer": "response"})["responses"]) == 2
