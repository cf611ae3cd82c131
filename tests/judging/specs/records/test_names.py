"""Names of columns are compared without what people write differently, and each stands in the table once a role."""

from __future__ import annotations

import pytest

from judging.specs.records import names, preferences
from judging.specs.records.names import Holds
from judging.specs.records.neutral import Choice


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Question ID", "question_id"),
        ("questionId", "question_id"),
        ("doc.question_id", "question_id"),
        ("evaluated_model_gold_answer", "gold_answer"),
        ("inputs.row.user-input", "user_input"),
        ("\ufeffId\u200b", "id"),
        ("latencyMs", "latency_ms"),
        ("Musterlösung", "musterlosung"),
        ("Réponse attendue", "reponse_attendue"),
        ("response1", "response_1"),
        ("HTMLText", "html_text"),
        ("Nr.", "nr"),
        ("标准答案", "标准答案"),
        ("data.", "data"),
    ],
)
def test_compared_leaves_out_what_people_write_differently(name: str, key: str) -> None:
    assert names.compared(name) == key


@pytest.mark.parametrize(
    ("role", "columns"),
    [
        (Holds.CASE, "case_id Nr. Nummer identifiant 编号 番号 번호 idx uid item case_key"),
        (Holds.PROMPT, "prompt Frage question pregunta domanda 题目 質問 질문 вопрос السؤال user_input displayed_text"),
        (Holds.REFERENCE, "ground_truth Musterlösung référence risposta_attesa 参考答案 正解 정답 эталон gt_answer"),
        (Holds.ANSWER, "answer Antwort réponse respuesta risposta 答案 回答 답변 ответ الإجابة"),
        (
            Holds.RESPONSE,
            "completion Antwort Réponse 模型回答 回答 응답 actualOutput model_answer filtered_resps output_text",
        ),
        (Holds.SYSTEM, "model Modell modèle modelo 系统 モデル response_source generator target_label llm"),
        (Holds.ATTEMPT, "attempt epoch sample index_of_choice attempt_index"),
        (Holds.RATER, "rater annotator Bewerter annotateur 标注员 observer coder judge"),
        (Holds.LABEL, "label Bewertung étiquette 标签 평가 оценка value code score"),
        (Holds.SCORE, "score Punkte puntuación 总分 点数 점수"),
        (Holds.TIME, "given_at answered_at created_at timestamp"),
        (Holds.CONTEXT, "retrievalContext Kontext 上下文 material document"),
        (Holds.CASE_PATH, "filename"),
        (Holds.CONTEXT_ROLE, "context_role"),
        (Holds.RESPONSE_TURNS, "response_messages"),
        (Holds.RESPONSE_IMAGE, "response_images"),
        (Holds.SCENARIO, "scenario_code category"),
    ],
)
def test_rank_knows_the_names_of_a_role_in_every_language(role: Holds, columns: str) -> None:
    assert [name for name in columns.split() if names.rank(name, role) is None] == []


def test_rank_tells_strong_names_from_weak_ones() -> None:
    assert names.rank("text", Holds.RESPONSE) == (1, 0)
    assert (names.rank("case_id", Holds.CASE) or ()) < (names.rank("id", Holds.CASE) or ()) < (1, 0)


def test_labels_name_each_role_in_words() -> None:
    assert len({role.label for role in Holds} - {""}) == len(Holds)


@pytest.mark.parametrize("header", ["gpt-4o", "Claude 3", "meta/llama-3-8b", "[openai:gpt-4] prompt", "phi-3", "o3"])
def test_is_model_takes_headers_of_model_families(header: str) -> None:
    assert names.is_model(header)


@pytest.mark.parametrize("header", ["gpt4_score", "claude feedback", "command", "falconry", "model", "phi", "output"])
def test_is_model_leaves_out_what_is_said_about_models(header: str) -> None:
    assert not names.is_model(header)


def test_is_score_takes_scores_and_known_metrics() -> None:
    columns = ["Punkte", "llm_score", "faithfulness", "answerRelevancy", "exact match", "max_score", "scorer"]

    assert [name for name in columns if names.is_score(name)] == columns[:5]


def test_is_wide_rater_takes_one_of_several_raters() -> None:
    columns = ["annotator1", "ann_1", "rater A", "Expert 2", "human_3", "ann", "quality"]

    assert [name for name in columns if names.is_wide_rater(name)] == columns[:5]


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("A is much better", Choice.A),
        ("Response 2 is slightly better", Choice.B),
        ("The first answer is a bit better", Choice.A),
        ("About the same", Choice.TIE),
        ("2 is better", None),
        ("A is worse", None),
    ],
)
def test_preference_reads_sentences_and_no_bare_numbers(text: str, choice: Choice | None) -> None:
    assert preferences.preference(text) is choice
