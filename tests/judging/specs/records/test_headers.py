"""Headers in other languages, and headers that name a system beside what they hold of it."""

from __future__ import annotations

import pytest

from evalsite.base.types import JsonDict
from tests.judging.specs.records.test_tables import case, read, refused, response

ASKED = {"no-reference": 2}


def label(text: str, rater: str = "", number: str = "1", **more: object) -> JsonDict:
    return {"case": number, "rater": rater, "label": text, "criterion": "", "attempt": 0, **more}


@pytest.mark.parametrize(
    "header",
    [
        "ID,Pregunta,Respuesta del modelo,Respuesta correcta,Evaluador,Puntuación (1-5),Comentario",
        "Nº,Pergunta,Resposta do modelo,Resposta esperada,Avaliador,Nota (1-5),Comentário",
        "id,Domanda,Risposta del modello,Risposta corretta,Valutatore,Voto (1-5),Commento",
        "id,Question,Réponse du modèle,Réponse attendue,Évaluateur,Note (1-5),Commentaire",
        "Nr.,Frage,Antwort des Modells,Richtige Antwort,Bewerter,Bewertung (1-5),Bemerkung",
        "№,Вопрос,Ответ модели,Эталонный ответ,Эксперт,Оценка (1-5),Комментарий",
        "번호,질문,모델의 답변,정답,평가자,점수 (1-5),코멘트",
        "番号,質問,モデルの回答,正解,評価者,評価 (1-5),コメント",
        "序号,问题,模型的回答,标准答案,标注员,人工评分 (1-5),评分理由",
        "الرقم,السؤال,إجابة النموذج,الإجابة الصحيحة,المقيم,التقييم (1-5),السبب",
    ],
)
def test_reads_takes_the_answer_of_a_model_in_each_language_for_the_response_that_is_labelled(header: str) -> None:
    rows = "1,Oslo?,In Norway.,Norway,ann,5,fine\n2,Why so?,As ever.,Rain,bo,2,\n"

    assert read(f"{header}\n{rows}") == {
        "systems": ["t"],
        "cases": [case("1", "Oslo?", "Norway"), case("2", "Why so?", "Rain")],
        "responses": [response("t", "In Norway."), response("t", "As ever.", "2")],
        "labels": [
            label("5", "ann", system="t", reason="fine"),
            label("2", "bo", "2", system="t"),
        ],
        "warnings": {"scale-from-use": 1, "system-from-file": 1},
    }


@pytest.mark.parametrize(
    "header",
    [
        "Nr.,Eingabe,Ausgabe,erwartete Antwort",
        "Nr.,Frage,tatsächliche Antwort,erwartete Antwort",
        "N°,entrée,sortie,réponse attendue",
        "N°,question,réponse obtenue,réponse attendue",
        "ID,entrada,salida,respuesta esperada",
    ],
)
def test_reads_takes_what_came_and_what_was_expected_in_each_language(header: str) -> None:
    document = read(f"{header}\n1,Oslo?,In Norway.,Norway\n2,Why so?,As ever.,Rain\n")

    assert document["cases"] == [case("1", "Oslo?", "Norway"), case("2", "Why so?", "Rain")]
    assert document["responses"] == [response("t", "In Norway."), response("t", "As ever.", "2")]


@pytest.mark.parametrize(
    ("header", "tie"),
    [
        ("Nr,Frage,Antwort A,Antwort B,Präferenz", "Unentschieden"),
        ("id,pregunta,respuesta A,respuesta B,preferencia", "empate"),
        ("id,question,réponse A,réponse B,préférence", "égalité"),
        ("编号,问题,回答A,回答B,更好的回答", "平局"),
        ("番号,質問,回答A,回答B,好み", "引き分け"),
        ("번호,질문,답변 A,답변 B,선호", "무승부"),
    ],
)
def test_reads_takes_two_answers_in_each_language_for_a_pair(header: str, tie: str) -> None:
    document = read(f"{header}\n1,Oslo?,Yes.,No.,B\n2,Why?,So.,Thus.,{tie}\n")

    a, b = header.split(",")[2:4]
    assert [(row["a"], row["b"], row["choice"]) for row in document["preferences"]] == [(a, b, "B"), (a, b, "tie")]


@pytest.mark.parametrize(
    ("header", "systems"),
    [
        ("id,question,gpt-4_response,claude_response,gpt-4_rating,claude_rating", ("gpt-4", "claude")),
        ("id,question,Response GPT-4,Response Claude,Rating GPT-4,Rating Claude", ("GPT-4", "Claude")),
        ("Nr.,Frage,Antwort GPT-4,Antwort Claude,Bewertung GPT-4,Bewertung Claude", ("GPT-4", "Claude")),
        ("编号,问题,GPT-4回答,文心一言回答,GPT-4评分,文心一言评分", ("GPT-4", "文心一言")),
    ],
)
def test_reads_takes_the_ratings_of_each_system_for_labels_of_its_responses(
    header: str, systems: tuple[str, str]
) -> None:
    first, second = systems

    assert read(f"{header}\n1,Oslo?,In Norway.,In the north.,5,4\n2,Why so?,As ever.,It rained.,3,good\n") == {
        "systems": sorted(systems),
        "cases": [case("1", "Oslo?"), case("2", "Why so?")],
        "responses": [
            *(response(first, "In Norway."), response(second, "In the north.")),
            *(response(first, "As ever.", "2"), response(second, "It rained.", "2")),
        ],
        "labels": [
            *(label("5", system=first), label("4", system=second)),
            *(label("3", number="2", system=first), label("good", number="2", system=second)),
        ],
        "warnings": ASKED | {"no-rater": 4, "scale-from-use": 1},
    }


def test_reads_takes_lists_in_cells_of_prompts_and_responses_for_turns() -> None:
    rows = '1,"[""Hi?"",""And?""]",oak,"[""Yes."",""No.""]"\n2,"[""Why?""]",oak,"[""So.""]"\n'

    document = read(f"id,prompt,model,response\n{rows}")

    asked = [{"role": "user", "text": "Hi?"}, {"role": "user", "text": "And?"}]
    replies = [{"role": "assistant", "text": "Yes."}, {"role": "assistant", "text": "No."}]
    assert document["cases"] == [
        {"id": "1", "messages": asked, "references": [], "metadata": {}},
        case("2", "Why?"),
    ]
    assert document["responses"][0]["messages"] == [asked[0], replies[0], asked[1], replies[1]]
    assert document["responses"][1] == response("oak", "So.", "2")


def test_reads_leaves_lists_in_cells_of_prompts_alone_beside_a_text() -> None:
    document = read('id,prompt,model,response\n1,"[""b"",""a""]",oak,a and b\n2,"[""d"",""c""]",oak,c and d\n')

    assert [row["prompt"] for row in document["cases"]] == ['["b","a"]', '["d","c"]']


def test_reads_takes_a_column_that_ends_in_model_for_the_system() -> None:
    document = read("question,response,source_model\nOslo?,In Norway.,oak\nOslo?,In the north.,elm\n")

    assert document["responses"] == [response("oak", "In Norway."), response("elm", "In the north.")]


def test_reads_asks_whose_a_score_of_people_is() -> None:
    assert refused("question,response,model,original_human_score\nOslo?,In Norway.,oak,4.5\n") == [
        "t.csv: original_human_score may be labels of people or scores, each by a criterion or by a person. Say it of "
        'each: --map label=original_human_score by criterion. In place of label, write "labels of" by person, score '
        "for a judge, or detail for neither."
    ]


PAIR = "id,prompt,response_a,response_b,{},{},{}\n1,Oslo?,In Norway.,In the north.,5,4,{}\n"


def test_reads_takes_the_ratings_of_two_responses_by_a_person_for_labels() -> None:
    document = read(PAIR.format("rating_a", "rating_b", "annotator", "mo"))

    assert document["labels"] == [label("5", "mo", system="response_a"), label("4", "mo", system="response_b")]
    assert document["cases"] == [case("1", "Oslo?")]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (PAIR.format("fluency_a", "fluency_b", "winner", "a") + "2,Why?,So.,Thus.,3,2,b\n", ("fluency_a", "fluency_b")),
        (
            "id,question,gpt-4_response,claude_response,gpt-4_fluency,claude_fluency\n"
            "1,Oslo?,In Norway.,In the north.,5,4\n2,Why?,As ever.,It rained.,3,2\n",
            ("gpt-4_fluency", "claude_fluency"),
        ),
        (
            "id,question,response,model,rater,helpfulness,honesty\n"
            "1,Oslo?,In Norway.,oak,mo,Agree,Strongly agree\n2,Why?,As ever.,oak,mo,Disagree,Agree\n",
            ("helpfulness", "honesty"),
        ),
    ],
)
def test_reads_asks_what_grades_of_one_of_several_responses_and_words_beside_a_rater_are(
    text: str, names: tuple[str, str]
) -> None:
    asked = " ".join(f"--map label={name}" for name in names)
    assert refused(text) == [
        f"t.csv: {', '.join(names)} may be labels of people or scores, each by a criterion or by a person. Say it of "
        f'each: {asked} by criterion. In place of label, write "labels of" by person, score for a judge, or detail for '
        "neither."
    ]


def test_reads_takes_chosen_grades_for_labels_of_the_response_that_they_name() -> None:
    text = PAIR.format("fluency_a", "fluency_b", "winner", "a") + "2,Why?,So.,Thus.,3,2,b\n"

    document = read(text, columns={"fluency_a": "label", "fluency_b": "label"})

    fluency = {"criterion": "fluency"}
    assert document["labels"] == [
        *(label("5", system="response_a") | fluency, label("4", system="response_b") | fluency),
        *(label("3", "", "2", system="response_a") | fluency, label("2", "", "2", system="response_b") | fluency),
    ]
    assert [row["choice"] for row in document["preferences"]] == ["A", "B"]


def test_reads_asks_what_objects_of_labels_are() -> None:
    row = '{"id": 1, "question": "Oslo?", "response": "In Norway.", "model": "oak", "annotations": {"mo": "good"}}'

    assert refused(row, "t.jsonl") == [
        "t.jsonl: annotations holds objects that seem to say something of each response. Bring a row for each of them. "
        "To keep them as a detail, say --map detail=annotations."
    ]


def test_reads_takes_left_and_right_for_the_sides_of_a_vote() -> None:
    text = "prompt,model_left,model_right,response_left,response_right,vote,voter\nOslo?,oak,elm,Yes.,No.,{},mo\n"

    preferences = [read(text.format(vote))["preferences"] for vote in ("right", "both bad")]

    assert [[(row["a"], row["b"], row["choice"], row["by"], row["kind"]) for row in rows] for rows in preferences] == [
        [("oak", "elm", "B", "mo", "person")],
        [("oak", "elm", "tie", "mo", "person")],
    ]


def test_reads_takes_what_is_correct_for_a_score_and_not_how_many_are() -> None:
    document = read("case_no,question,response,model,citation_correct,num_correct\n7,Oslo?,In Norway.,oak,TRUE,3\n")

    assert [(row["case"], row["grader"], row["value"]) for row in document["scores"]] == [
        ("7", "citation_correct", 1.0),
    ]


def test_reads_takes_what_stands_before_the_first_wide_cell_of_a_header_for_a_name() -> None:
    table = (
        ",gpt-4,,claude-3,\nquestion,answer,rating,answer,rating\n"
        "Oslo?,It is warm.,4,It is not.,2\nWhy so?,As it rains.,3,As ever.,1\n"
    )

    document = read(table)

    assert document["cases"] == [case("1", "Oslo?"), case("2", "Why so?")]
    assert [(row["system"], row["label"]) for row in document["labels"]] == [
        ("gpt-4", "4"),
        ("claude-3", "2"),
        ("gpt-4", "3"),
        ("claude-3", "1"),
    ]
