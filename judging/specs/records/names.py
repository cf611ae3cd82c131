"""The one table of names that people and tools give to columns, by the role of the column, in eleven languages.

A name that people bring stands here and nowhere else. Names are compared as `compared` writes them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from functools import lru_cache

from evalsite.base.types import JsonObject
from judging.specs.records.values import as_number
from judging.specs.types import Scale


class Holds(StrEnum):
    """What a column of a table may hold; the values are what `--map ROLE=COLUMN` takes, the labels what pages show."""

    label: str

    def __new__(cls, value: str, label: str = "") -> Holds:
        """Return a role with its label."""
        role = str.__new__(cls, value)
        role._value_, role.label = value, label
        return role

    CASE = "case", "Case ID"
    CASE_PATH = "case-path", "Path of the case"
    PROMPT = "prompt", "Prompt"
    INSTRUCTION = "instruction", "Instruction above the prompt"
    TURNS = "turns", "Conversation"
    SYSTEM_TEXT = "system-text", "System prompt"
    CONTEXT = "context", "Context"
    CONTEXT_ROLE = "context-role", "Role of the context"
    REFERENCE = "reference", "Reference"
    CHOICES = "choices", "Choices"
    RUBRIC = "rubric", "Rubric of the case"
    IMAGE = "image", "Image"
    SYSTEM = "system", "System"
    RESPONSE = "response", "Response"
    RESPONSE_TURNS = "response-turns", "Conversation of the response"
    RESPONSE_IMAGE = "response-image", "Image of the response"
    RESPONSES_OF = "responses of", "Responses of the system in the header"
    RESPONSE_A = "response-a", "Response A"
    RESPONSE_B = "response-b", "Response B"
    SYSTEM_A = "system-a", "System A"
    SYSTEM_B = "system-b", "System B"
    ATTEMPT = "attempt", "Attempt"
    ATTEMPT_FROM_1 = "attempt-from-1", "Attempt (1 is the first)"
    ROW_ID = "row-id", "ID of the row"
    STOP = "stop", "Stop reason"
    ERROR = "error", "Error or status"
    SECONDS = "seconds", "Seconds"
    COST = "cost", "Cost"
    TOKENS = "tokens", "Tokens"
    RATER = "rater", "Rater"
    LABEL = "label", "Label"
    LABELS_OF = "labels of", "Labels of the rater in the header"
    PREFERENCE = "preference", "Preference"
    RANK = "rank", "Rank (1 is best)"
    BEST = "best", "Best of the responses"
    WORST = "worst", "Worst of the responses"
    JUDGE = "judge", "Judge"
    SCORE = "score", "Score"
    CRITERION = "criterion", "Criterion"
    REASON = "reason", "Reason"
    TIME = "time", "Time"
    SCENARIO = "scenario", "Scenario"
    TYPE = "type", "Question type"
    LANGUAGE = "language", "Language"
    SPLIT = "split", "Split or tag"
    ANSWER = "answer", "Answer"  # of a person or a system: what it is depends on the columns beside it
    DETAIL = "detail", "Keep as detail"
    IGNORE = "ignore", "Ignore"


MENU = tuple(role for role in Holds if role is not Holds.ANSWER)  # what a person may choose
COLUMN_FIELDS = [(str(role), role.label) for role in MENU]  # the same in words
_REPEATED = (
    "reference,context,responses of,labels of,label,score,rank,image,response-image,choices,error,cost,tokens,scenario,"
    "split,row-id,time,detail,ignore"
)
ATTEMPTS = (Holds.ATTEMPT, Holds.ATTEMPT_FROM_1)
REPEATED = frozenset(map(Holds, _REPEATED.split(",")))  # roles that several columns may have

# Strongest first. Names behind the bar are weak: they count where the table has no other column for the role. Those
# behind a second bar name what a response is made from, which is the prompt where nothing else asks, or what was taken
# out of a response, which is the response where nothing else is one.
TABLE: Mapping[Holds, str] = {
    Holds.CASE: "case_id, case, question_id, prompt_id, item_id, dataset_item_id, task_id, test_id, instance_id,"
    " example_id, sample_id, doc_id, query_id, case_key, case_no, case_number, question_no, question_number,"
    " uid, uuid, qid, id, idx, key, instance, item, Nr, Nummer, Kennung, lfd Nr, identifiant,"
    " numéro, 编号, 题号, 序号, 番号, 번호, номер, الرقم, problem_id | index, no, number, unit, example, debate",
    Holds.CASE_PATH: "case_path, case_file, file_name",
    Holds.PROMPT: "prompt, question, query, instruction, user_input, input, problem, question_text, displayed_text,"
    " user_prompt, user_message, user_query, input_text, model_input, prompt_text, prompt_raw, input_0_content,"
    " input_1_content, messages_0_content, arguments_gen_args_0_arg_0, arguments_0_0, arguments_0,"
    " question_body, stem, full_text,"
    " Frage, Fragestellung, Aufgabe, Eingabe, entrée, entrada,"
    " consigne, pregunta, pergunta, domanda, 问题, 题目, 提问, 質問, 質問文, 질문, 문제,"
    " вопрос, السؤال, سؤال, ques, instr,"
    " task_description, problem_description,"
    " problem_text, problem_statement, inputs | request, task, text, questions, ctx, sentence, claim"
    " | source, src, source_text, source_document, article, dialogue, document, post",
    Holds.TURNS: "messages, conversation, conversations, turns, turn, chat_history, history, conversation_input,"
    " dialogue, context | questions",
    Holds.SYSTEM_TEXT: "system_prompt, system, instructions, custom_system_prompt, system_message, test_case_prompt,"
    " sys",
    Holds.CONTEXT: "context, contexts, retrieved_contexts, retrieval_context, retrieved_docs, retrieved_documents,"
    " retrieved_passages, retrieved_chunks, source_documents, passage, passages, documents, background, source_text,"
    " article, Kontext, contexte, contexto, contesto, 上下文, 文脈, 문맥, контекст, السياق"
    " | document, material, body, story, chunks",
    Holds.CONTEXT_ROLE: "context_role",
    Holds.REFERENCE: "reference, references, reference_answer, ground_truth, gold, gold_answer, golden_answer,"
    " best_answer, std_answer, standard_answer, target, targets, expected, expected_output, expected_answer,"
    " expected_response, ideal, solution, solutions, lSolutions, correct_answer, ref, gt_answer, ground_truth_answer,"
    " reference_output, target_output, answer_key, answer_idx, answer_index, target_scores, correct_option,"
    " correct_index, gold_index, mc_targets, reference_response,"
    " Musterlösung, Referenz, erwartet, réponse attendue, canonical_solution, gt, référence, respuesta esperada,"
    " refr, tgt, true, true_answer, target_answer, reference_summary, gold_summary,"
    " human_translation, reference_translation, esperado, resposta_correta,"
    " Referenzantwort, erwartete Antwort, richtige Antwort, réponse correcte, bonne réponse, réponse de référence,"
    " respuesta correcta, respuesta de referencia, resposta esperada, resposta de referência, risposta attesa,"
    " risposta corretta, 标准答案, 参考答案, 正确答案, 期望答案, 正解, 模範解答, 정답, 모범답안, эталон,"
    " эталонный ответ, правильный ответ, الإجابة الصحيحة",
    Holds.ANSWER: "answer, answers, answer_text, final_answer, final_decision, assistant, Antwort, réponse, respuesta,"
    " resposta, answers_spans, 回答, 答案, risposta, 답변, ответ, الإجابة, إجابة, جواب",
    Holds.RESPONSE: "response, output, output_list, completion, model_output, model_response, model_answer,"
    " response_body, model_patch, prediction, predicted, predicted_answer, generation, generated_text,"
    " generated_answer, actual_output, reply, candidate, outputs, sampled, hypothesis, decoded, llm_output,"
    " llm_response, llm_answer,"
    " output_text, response_text, response_output, prompt_response, responses, completions, generations, predictions,"
    " actual_answer, actual_response, actual_result,"
    " output_completion, output_choices_0_message_content, filtered_resps, filtered_resps_0, resps, resps_0,"
    " Antwort, réponse, respuesta, resposta, resp, 回答, 模型回答, 模型输出, 实际答案, 实际回答, 응답, mt,"
    " tatsächliche Antwort, tatsächliches Ergebnis, réponse obtenue, respuesta obtenida, resposta obtida,"
    " risposta ottenuta, Ausgabe, sortie, salida, saída,"
    " system_output, system_summary, generated_summary, llm_result, model_result"
    " | text, result, summary, translation, hyp | pred, preds, predicted_label, pred_label, predicted_class, actual",
    Holds.RESPONSE_TURNS: "response_messages, response_turns",
    Holds.SYSTEM: "system, sys, model, model_name, model_id, generator, system_name, model_label, response_source,"
    " response_model, response_model_name, system_id, output_model, model_type, model_name_or_path, provider_label,"
    " provider_id, target_model, evaluated_model, llm, llm_name, Modell, System, modèle, modelo, modello,"
    " model_identifier, 模型, 系统, モデル, 모델, модель, модели, النموذج, Modells"
    " | provider, app, assistant_model, provider_model, deployment, engine, target_label, agent_name, mt",
    Holds.ATTEMPT: "attempt, epoch, sample_index, repeat, trial, index_of_choice, attempt_index, repeat_index, Versuch"
    " | sample",
    Holds.ROW_ID: "row_id, pair_id, annotation_id, answer_id, response_id, ans_id, comparison_id, record_id",
    Holds.RATER: "rater, annotator, annotator_id, rater_id, user, user_id, worker, worker_id, person, coder,"
    " completed_by, expert, labeler, observer, participant, participant_id, prolific_pid, respondent, reviewer, voter,"
    " reviewer_id, assessor, assessor_id, rater_name, annotator_name, Bewerter, Prüfer, annotateur, evaluador,"
    " avaliador, évaluateur, valutatore, 标注员, 评价人, 評価者, 평가자, эксперт, оценщик, المقيم | judge",
    Holds.LABEL: "label, rating, annotation, verdict, quality, human_score, human_rating, human_label, human_judgment,"
    " human_judgement, human_annotation, expert_score, expert_rating, gold_score, gold_label,"
    " true_label, ground_truth_label, expected_label, correct_label, reference_label, actual_label,"
    " response_label, answer_label,"
    " Bewertung, Urteil, étiquette, avaliação, evaluación, calificación, valutazione, nota, voto, 标签, 评分, 人工评分,"
    " 評価, 평가, оценка, التقييم"
    " | score, note, category, value, code, preference, winner",
    Holds.SCORE: "score, scores, points, grade, reward, Punkte, Punktzahl, note, puntuación, pontuação, punteggio,"
    " 得分, 分数, 总分, 点数, 점수, балл",
    Holds.REASON: "reason, rationale, explanation, justification, comment, comments, remark, remarks, why, feedback,"
    " judgment, critique, Begründung, Kommentar, Bemerkung, commentaire, comentario, comentário, commento, motivo,"
    " 理由, 评分理由, 备注, コメント, 이유, 코멘트, причина, комментарий, السبب",
    Holds.CRITERION: "criterion, criteria, dimension, aspect, metric, metrics, schema, question_name, Kriterium",
    Holds.JUDGE: "judge, judge_model, judge_name, judge_model_id, judge_id, evaluator, eval_model_name, grader",
    Holds.PREFERENCE: "preference, winner, better, preferred, overall_preference, Präferenz, préférence, preferencia,"
    " preferência, preferenza, 偏好, 更好的回答, 好み, 선호, предпочтение, التفضيل | decision, choice, label, verdict",
    Holds.BEST: "best, best_response, best_model, best_system, most_preferred",
    Holds.WORST: "worst, worst_response, worst_model, worst_system, worst_answer, least_preferred",
    Holds.STOP: "stop_reason, finish_reason | stop",
    Holds.ERROR: "error, error_message, status, success, failure, failure_reason",
    Holds.SECONDS: "seconds, latency, latency_ms, latency_s, latency_sec, latency_seconds, duration, duration_ms,"
    " duration_s, duration_seconds, response_time, response_time_seconds, response_time_ms, elapsed_seconds,"
    " elapsed_sec, elapsed_ms",
    Holds.COST: "cost, price, total_cost, Kosten",
    Holds.TOKENS: "completion_tokens, output_tokens, tokens, usage, total_tokens, prompt_tokens, input_tokens",
    Holds.SCENARIO: "scenario, scenario_code, category, Kategorie, catégorie, categoría, 类别, カテゴリ, 카테고리,"
    " категория",
    Holds.TYPE: "type, question_type",
    Holds.LANGUAGE: "lang, language, locale, Sprache, langue",
    Holds.SPLIT: "split, datasplit, subset, dataset, benchmark, domain, topic, difficulty, tags, metadata, subject,"
    " task_name, section, task, level, source, Thema",
    Holds.CHOICES: "choices, options, endings, alternatives, alternativas, answer_choices, answer_options",
    Holds.RUBRIC: "rubric, rubrics, rubric_items, criteria, checklist, scoring_rubric, grading_criteria",
    Holds.IMAGE: "image, images",
    Holds.RESPONSE_IMAGE: "response_image",
    Holds.TIME: "at, given_at, answered_at, created_at, updated_at, time, timestamp, tstamp, date, Datum, Zeit",
}
CLASSES = ((Holds.TYPE, "question_type"), (Holds.LANGUAGE, "lang"), (Holds.SCENARIO, "scenario"))  # fields of a case
_ENDS = (("1", "2"), ("a", "b"), ("0", "1"), ("left", "right"))
_PAIRS = (("chosen", "rejected"), ("preferred_output", "non_preferred_output"), ("left", "right"), ("a", "b"))
_OWN_SYSTEMS = (
    *(("chosen_model", "rejected_model"), ("preferred_model", "non_preferred_model"), ("left_model", "right_model")),
    *(("left_system", "right_system"), ("answer_1_model_id", "answer_2_model_id")),
)
PLACES = ("start", "begin", "start_offset", "span_start", "end", "end_offset", "span_end")  # of a piece of a text
PREFERRED_FIRST = frozenset({"chosen", "preferred_output"})  # headers that say themselves which one is better

DEBATE_SETS = frozenset({"set", "set_id", "file", "cell"})  # columns of labels of debates that name the set of an item

SHARE: Scale = (0.0, 1.0)
_METRIC_NAMES = (  # of known tools, which are shares where no value is above 1
    "faithfulness answer_relevancy answer_relevance response_relevancy context_precision context_recall "
    "context_entity_recall context_relevancy context_relevance context_utilization groundedness "
    "response_groundedness answer_similarity semantic_similarity answer_correctness factual_correctness "
    "llm_context_precision_with_reference llm_context_precision_without_reference noise_sensitivity "
    "noise_sensitivity_relevant noise_sensitivity_irrelevant non_llm_string_similarity string_present "
    "exact_match em f_1 f_1_score accuracy acc acc_norm precision recall correct is_correct correctness passed "
    "pass pass_1 pass_at_1 hallucination toxicity bias contextual_precision contextual_recall "
    "contextual_relevancy rouge_score rouge_1 rouge_2 rouge_l bleu bleu_score meteor mrr ndcg topic_adherence "
    "tool_call_accuracy agent_goal_accuracy follow_all_instructions reciprocal_rank mean_reciprocal_rank resolved "
    "is_resolved success solved factuality levenshtein closed_qa embedding_similarity cosine_similarity chrf ter "
    "comet bleurt bertscore bert_score gleu sacrebleu rouge "
    "准确率 准确度 准确性 正确率 正确性 正確性 正答率 정확도 정확성"
)
METRICS: Mapping[str, Scale] = dict.fromkeys(_METRIC_NAMES.split(), SHARE)
_NO_SCORES = frozenset(  # max_score is no score
    ["max", "maximum", "full", "min", "minimum", "null", "possible", "threshold", "reason", "explanation", "result"]
)

NOT_GIVEN = frozenset({"discarded", "draft", "skipped", "rejected", "pending"})  # labels that do not count
FAILED_STATUS = frozenset(
    {"error", "errored", "failed", "failure", "timeout", "timed_out", "expired", "cancelled", "canceled", "aborted"}
)

_ABOUT_WORDS = (  # of columns that say something about a row and are no text of a system
    "id ids key score scores status pass reason comment comments note notes source author url link date time "
    "timestamp latency token tokens cost difficulty tag tags explanation hint rating grade description title "
    "name version metric verdict level points weight feedback judge judgment judgement winner label type "
    "category format length count number rank confidence template metadata meta index file path hash subject "
    "topic domain split lang language correct rationale evidence citation license keywords summary facts entity "
    "entities steps test tests entry subcategory subdomain subtopic subtag granularity provenance"
)
_ABOUT = frozenset(_ABOUT_WORDS.split())
_MEDIA = frozenset({"video", "audio", "image", "img", "picture", "photo", "figure", "clip", "speech", "screenshot"})
_COUNTED_WORDS = (  # at the end of names of columns that keep the books of a run
    "batch epoch seed fold index idx step page row line id token cost price latency time duration count number no "
    "length size year month day hour age order position temperature iteration trial attempt version timestamp second "
    "char word sentence turn shot group cluster bin block session chapter threshold num replication run round hop"
)
_COUNTED = frozenset(_COUNTED_WORDS.split())
_OF_SYSTEMS = frozenset(["temperature", "version", "step", "shot", "shots", "size", "threshold", "top"])  # settings
_UNITS = frozenset({"ms", "s", "sec", "usd", "eur", "in", "out", "used"})  # behind such words
_RANKS_WORDS = frozenset({"rank", "ranks", "ranking", "rankings"})
_WIDE_RATER = re.compile(
    r"(annotator|rater|coder|person|observer|labeler|reviewer|bewerter)(_?\w{1,40})?"
    r"|(judge|human|expert)(_?(\d{1,3}|[a-z]))?|ann_\w{1,20}"
)
_RATER_AND_CRITERION = re.compile(
    r"((?:annotator|rater|coder|person|observer|labell?er|reviewer|bewerter)[ _-]?(?:\d{1,3}|[a-z]))[ _.:-]+(.{2,})",
    re.IGNORECASE,
)
_NUMBERED_RATING = re.compile(r"(?:rating|label|score|bewertung|note)_\d{1,2}")
_GIVERS = frozenset({"judge", "human", "expert", "turker", "llm"})  # words of columns of opinions: human_fluency
_PEOPLE = frozenset({"human", "expert"})
_SUM_WORDS = "mean avg average median mode std sd var min max sum count total agreement kappa alpha diff delta"
_SUMS = frozenset(_SUM_WORDS.split())
_SUM_ROWS = _SUMS | {"overall", "score", "scores", "mittelwert", "durchschnitt", "summe", "gesamt", "moyenne", "平均"}
_SUM_ROWS |= {"n", "note", "notes", "source", "legend", "hinweis", "anmerkung", "quelle"}
_CHOOSES = frozenset({"winner", "preference", "preferred", "better", "pick", "vote", "choice"})  # of a response
_MAY_CHOOSE = _CHOOSES | {"best", "selected", "selection", "pref", "decision", "result", "outcome", "gewinner"}
_DONE = frozenset({"predicted", "pred", "generated", "actual"})  # by a system
_NUMBERED_LABEL = re.compile(r"annotation_\d{1,2}")
_MODEL = re.compile(
    r"(?:[\w.-]+/)?(?:(?:chatgpt|gpt|claude|gemini|gemma|llama|mi[sx]tral|qwen|qwq|deepseek|grok|olmo|kimi|jamba|vicuna"
    r"|codestral|(?:text-|code-)?(?:davinci|curie)|chatglm|baichuan|internlm|wizardlm|zephyr|flan-t5|o[134]|ernie|doubao"
    r"|hunyuan|文心一言|通义千问|豆包|混元)(?![a-z])"
    r"|(?:phi|nova|command|falcon|yi|glm|granite)[ _.-]?(?:\d|r\b|r\+|pro|lite|micro))"
)
PROVIDER_HEADER = re.compile(r"\[([^\]]+)\]\s*(.*)", re.DOTALL)  # of promptfoo: "[provider] prompt"

_CONTAINER = re.compile(
    r"^(?:(?:doc|vars|inputs|row|example|data|fields|testCase|question|request|Input|Answer)\.|evaluated_model_)(?=.)"
)
CONTAINERS = (
    *("doc", "vars", "inputs", "row", "example", "data", "fields", "question", "request"),
    *("request_body", "modelInput", "inputRecord"),  # of gateways and of Bedrock
)
_OF_SCORES = re.compile(r"(?:(?:feedback_)?scores?|feedback|ratings?|outputs\.\w+)\.(?=.)", re.IGNORECASE)  # scores.A
_HOW = re.compile(r"\(\w+=[^()]*\)$")  # how a metric is computed: "rouge_score(mode=fmeasure)"
_SCALE = re.compile(
    r"\s*(?:[(\[]\s*(?P<low>\d+)\s*(?:-|–|to|bis|à|a|\.\.|[-–=:]\s*[^\W\d]+\s*[,;-])"  # (1-5), (1 = bad, 5 = good)
    r"\s*(?P<high>\d+)(?:\s*[-–=:]\s*[^\W\d]+)?\s*[)\]]"
    r"|[(\[][^()\[\]/\d]+(?:/[^()\[\]/\d]+)+[)\]]"  # (Y/N), (A/B/Tie)
    r"|[(\[]?(?:/|\b(?:out of|sur|von|sobre|su))\s*(?P<top>\d+)\s*[)\]]?)\s*$"
)
_UPPER = re.compile(r"(?<=[^\W_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DIGITS = re.compile(r"(?<=[^\W\d_])(?=\d)")
_BETWEEN = re.compile(r"[\W_]+")


def bare(name: str) -> str:
    """Return a column's name without the container before it and the scale behind it: scores.Clarity (1-5)."""
    while match := _CONTAINER.match(name) or _OF_SCORES.match(name):
        name = name[match.end() :]
    return _SCALE.sub("", name) or name


@lru_cache(maxsize=4096)
def compared(name: str) -> str:
    """Return a name as it is compared: "Question ID", "questionId" and "doc.question_id" are question_id.

    Case, accents and invisible characters do not count; words are split at spaces, signs, digits and case changes.
    """
    text = bare("".join(letter for letter in name.strip() if unicodedata.category(letter) != "Cf"))
    text = unicodedata.normalize("NFKD", text.replace("N°", "No"))
    plain = "".join(letter for letter in text if not unicodedata.combining(letter))
    split = _DIGITS.sub("_", _UPPER.sub("_", plain)).casefold()
    return _BETWEEN.sub("_", split).strip("_")


def _ranks() -> dict[str, dict[Holds, tuple[int, int]]]:
    """Return compared name -> role -> (0 strong or 1 weak, place in the table)."""
    ranks: dict[str, dict[Holds, tuple[int, int]]] = {}
    for role, line in TABLE.items():
        for weakness, names in enumerate(line.split("|")):
            for place, name in enumerate(names.split(",")):
                for spelling in _spellings(compared(name)):
                    ranks.setdefault(spelling, {}).setdefault(role, (weakness, place))
    return ranks


def _spellings(name: str) -> list[str]:
    """Return a name as it is compared and, where it has several words, in one word and of one or several things."""
    if "_" not in name:
        return [name]
    return [name, name.replace("_", ""), name.removesuffix("s") if name.endswith("s") else f"{name}s"]


_RANKS = _ranks()
_SAID = {Holds.PROMPT, Holds.ANSWER, Holds.RESPONSE, Holds.LABEL}  # what texts in objects are called, as value is
_OF_TEXTS = {Holds.PROMPT, Holds.ANSWER, Holds.RESPONSE, Holds.REFERENCE}


def _one_word(role: Holds) -> set[str]:
    """Return the strong names of a role that are one word, as they are written and as they are compared."""
    written = {name.strip() for name in TABLE[role].partition("|")[0].split(",")}
    return {spelling for name in written if "_" not in compared(name) for spelling in (name, compared(name))}


_SYSTEM_WORDS = "llm ai bot chatbot assistant generated agent candidate cand ki ia mt nmt machine baseline"
WORDS_OF_SYSTEMS = _one_word(Holds.SYSTEM).union(_SYSTEM_WORDS.split())  # "LLM answer", not "long answer", is of one
ANSWERS = _one_word(Holds.ANSWER) - WORDS_OF_SYSTEMS
_REFERENCE_WORDS = "reference ref expected gold golden truth ideal 参考 标准 正确 模範"
_QUESTION_WORDS = "question prompt query frage pregunta pergunta domanda 问题 質問 질문 вопрос سؤال"
_MADE = ("response", "reply", "output", "completion", "generation", "prediction", "pred", "answer")
WORDS: Mapping[Holds, frozenset[str]] = {  # where one column alone has such a word in its name
    Holds.REFERENCE: frozenset(_REFERENCE_WORDS.split()),
    Holds.PROMPT: frozenset(_QUESTION_WORDS.split()),
    Holds.RESPONSE: frozenset({"response", "resp", "output", "reply", "completion", "prediction", "pred", *ANSWERS}),
    Holds.SYSTEM: frozenset({"provider", *_one_word(Holds.SYSTEM)}),
}
_UNSPACED = {word for words in (*WORDS.values(), WORDS_OF_SYSTEMS) for word in words if word.upper() == word.lower()}
_SPACED_ANSWERS = "|".join(sorted({"resp", *_MADE, *ANSWERS} - _UNSPACED))
_UNSPACED_ANSWERS = "|".join(sorted(ANSWERS & _UNSPACED))
_RESPONSE_OF = re.compile(rf"(.{{2,}}?)(?:[_. -](?:{_SPACED_ANSWERS})s?|[_. -]?(?:{_UNSPACED_ANSWERS}))", re.IGNORECASE)
_SYSTEM_BEHIND = re.compile(r"[_. -](?:model|system|bot|chatbot|assistant|llm|ai|ki)$", re.IGNORECASE)
_OF_RESPONSES = re.compile(  # "responses.ours", "response.gpt-4o", "answer_gpt-4o"
    r"(?:(?:model|system|llm|agent)_)?(?:responses|outputs|completions|generations|predictions|answers)\.(?=.)"
    rf"|(?P<one>{'|'.join(_MADE)}|{_SPACED_ANSWERS}|{_UNSPACED_ANSWERS})[_. -](?={_MODEL.pattern})",
    re.IGNORECASE,
)


def _sided(*words: str) -> list[tuple[str, str]]:
    return [(f"{word}_{first}", f"{word}_{second}") for word in words for first, second in _ENDS]


_RESPONDING = {
    *_MADE,
    *ANSWERS,
    "conversation",
    "messages",
    "turns",
    "dialogue",
    "chat",
    "translation",
    "summary",
    "mt",
}
_BEHIND = re.compile(r"(.+?)\s*\(([^()]+)\)\s*")
_SYSTEMS = (*_sided("generator", "model", "system", "model_name", "model_id", "system_name"), *_OWN_SYSTEMS)


def systems_beside(by_name: Mapping[str, str]) -> tuple[str, ...]:
    """Return the two columns that name the systems of a pair, of columns by their compared names; empty without."""
    return next(((by_name[a], by_name[b]) for a, b in _SYSTEMS if a in by_name and b in by_name), ())


def responses_beside(by_name: Mapping[str, str]) -> tuple[str, ...]:
    """Return the two columns of responses of a pair, response_a and response_b, of columns by their compared names;
    empty where there are none, or a third."""
    sides: dict[str, dict[str, str]] = {}
    for name in by_name.values():
        about, end = sided(name)
        sides.setdefault(about, {})[end] = name
    found = (tuple(each[end] for end in sorted(each)) for each in sides.values() if tuple(sorted(each)) in _ENDS)
    own = ((by_name[a], by_name[b]) for a, b in _PAIRS if a in by_name and b in by_name and "c" not in by_name)
    return next(found, ()) or next(own, ())


def rank(name: str, role: Holds) -> tuple[int, int] | None:
    """Return how strongly a column's name says a role: (0 strong, 1 or 2 weak, place in the table); None: not.

    The text in an object has the role of the object (output.answer, attributes.input.value), and else what its name
    says: sample.target.
    """
    if is_of_scores(name):
        return (0, 0) if role is Holds.SCORE else None
    head, _, tail = name.rpartition(".")
    known = _RANKS.get(compared(name), {})
    if head and not known and role in _OF_TEXTS:
        inner, is_text = _RANKS.get(compared(tail), {}), compared(tail) == "content"
        is_text = is_text or not _SAID.isdisjoint(inner)
        known = (is_text and _RANKS.get(compared(head.rpartition(".")[2]))) or inner
    return known.get(role)


def is_strong(name: str, role: Holds) -> bool:
    """Return whether a column's name says a role strongly."""
    return (rank(name, role) or (1, 0))[0] == 0


def strongest(columns: Iterable[str], role: Holds) -> str:
    """Return the column whose name says a role most strongly; empty where none does or only weakly."""
    return min(
        (name for name in columns if is_strong(name, role)), key=lambda name: rank(name, role) or (0, 0), default=""
    )


def is_id(name: str) -> bool:
    """Return whether a name is that of ids: of cases, rows, events or tasks."""
    return compared(name).rpartition("_")[2] == "id" or is_strong(name, Holds.CASE)


def is_of_answers(name: str) -> bool:
    """Return whether the name of a file or column says answers, and nothing of questions: answers_gpt4."""
    words = {word.rstrip("s") for word in compared(name).split("_")}
    return bool(words & {"answer", "response", "output", "prediction", "completion", "generation"}) and not (
        words & {"question", "prompt"}
    )


def is_source(name: str) -> bool:
    """Return whether a column's name is that of what a response is made from, as an article is of a summary."""
    return (rank(name, Holds.PROMPT) or (0, 0))[0] == 2


def letter_of_choice(name: str) -> tuple[str, str]:
    """Return what a column of a choice is called and its letter or number: ("", "A"), ("option", "1"); else empty."""
    if re.fullmatch(r"\s*[A-Ja-j]\s*", name):
        return "", name.strip()
    match = re.fullmatch(r"(option|choice|answer|ans|a|ending|opt|alternative)_([a-j]|\d)", compared(name))
    return (match[1], match[2]) if match else ("", "")


def is_numbered_response(name: str) -> bool:
    """Return whether a column's name is one of several responses of a row: response_1, output_b."""
    return re.fullmatch(r"(response|output|completion|generation|candidate)_([a-j]|\d)", compared(name)) is not None


def sided(name: str) -> tuple[str, str]:
    """Return a header of responses without the word for one of several, and that word: ("model_response", "2") of
    "Model 2 response"; empty for others."""
    words = compared(re.sub(r"\s*\([^()]*\)\s*$", "", name)).split("_")
    ends = [word for word in words if re.fullmatch(r"[a-j]|\d|left|right", word)]
    is_about = is_about_row("_".join(word for word in words if word not in _RESPONDING))  # not summary_a
    is_right = is_strong(unnumbered(name), Holds.REFERENCE)  # ref_1
    is_wrong = not {"incorrect", "wrong", "bad", "distractor"}.isdisjoint(words_of(name))
    is_other = named_responses(name) or has_word(name, Holds.PROMPT) or is_right or is_wrong
    if len(ends) != 1 or is_about or is_other or _RESPONDING.isdisjoint(words):
        return "", ""
    return "_".join(word for word in words if word != ends[0]), ends[0]


def are_numbered(names: Collection[str]) -> bool:
    """Return whether several names are one, but for a number or letter at their end: sample_1, sample_2."""
    return len({re.sub(r"_([a-j]|\d+)$", "", compared(name)) for name in names}) == 1 < len(names)


def scale_said(name: str) -> tuple[float, float] | None:
    """Return the scale that a header says: "Score (0-10)", "Rating [1 to 5]", "grade / 20"; None where it says none."""
    match = _SCALE.search(name)
    if match is None or not (match["high"] or match["top"]):
        return None
    low, high = float(match["low"] or 0), float(match["high"] or match["top"])
    return (low, high) if low < high else None


def text_in(entry: JsonObject) -> str | None:
    """Return the text of an object that asks something; None where none of its entries is one."""
    known = ("content", "text", "stem", "question", "full_text", "prompt")
    return next((value for name in known if isinstance(value := entry.get(name), str)), None)


def is_in_table(name: str) -> bool:
    """Return whether a column's name is one of the table."""
    return compared(name) in _RANKS


def is_known(name: str) -> bool:
    """Return whether a column's name is one of the table, of a metric, or speaks about its row."""
    return is_in_table(name) or compared(name) in METRICS or (is_about_row(name) and not _is_made(name))


def _is_made(name: str) -> bool:
    """Return whether a name is that of a text that a system makes of another: mt_translation, bot_summary."""
    words = compared(name).split("_")
    return words[-1] in ("translation", "summary") and not WORDS_OF_SYSTEMS.isdisjoint(words)


def is_score(name: str) -> bool:
    """Return whether a column's name is that of a score: one of the table, `*_score`, or a known metric."""
    key = compared(name := _HOW.sub("", name))
    words = key.split("_")
    by_word = words[-1] in ("score", "punkte") and _NO_SCORES.isdisjoint(words)
    by_word = by_word or (words[-1] == "correct" and words[0] not in ("n", "num", "number", "count", "total"))
    by_word = by_word or (words[0] in ("points", "marks") and words[-1] in ("awarded", "given", "earned", "obtained"))
    return rank(name, Holds.SCORE) is not None or key in METRICS or by_word or is_of_scores(name)


def is_opinion(name: str, value: object) -> bool:
    """Return whether an entry of an object is a score or a preference: {"score": 4}, {"winner": "A"}."""
    is_chosen = isinstance(value, str) and (chooses(name) or compared(name) == "choice")
    is_graded = (is_score(name) or is_rating(name)) and not is_number_of(name)
    return is_chosen or (is_graded and as_number(value) is not None)


_RATINGS = frozenset({"rating", "label", "score", "grade", "mark", "stars", "feedback", "verdict"})
_RATINGS |= {"judgment", "judgement", "likert", "evaluation", "assessment", "eval"}


def is_rating(name: str) -> bool:
    """Return whether a name has a word of labels: rating_helpfulness."""
    return not _RATINGS.isdisjoint(compared(name).split("_"))


def says_opinion(name: str) -> bool:
    """Return whether a name has a word of labels or preferences (rating_helpfulness, verdict_gpt4), or asks one."""
    words = compared(name).split("_")
    is_said = not _CHOOSES.isdisjoint(words) or any(is_strong(word, Holds.LABEL) for word in words)
    return is_said or is_rating(name) or name.rstrip().endswith("?")


def scale_of(name: str) -> Scale | None:
    """Return the scale of a known metric: "Answer Relevancy Score"; None for other names."""
    key = compared(_HOW.sub("", name).rpartition(".")[2])
    return METRICS.get(key) or METRICS.get(key.removesuffix("_score"))


def is_of_scores(name: str) -> bool:
    """Return whether a column's name is that of a score in an object of scores: scores.Factuality."""
    words = compared(name).split("_")
    is_about_one = len(words) > 1 and words[-1] in ("passed", "status", "properties")
    return is_in_scores(name) and not is_about_one and _NO_SCORES.isdisjoint(words)


def is_in_scores(name: str) -> bool:
    """Return whether a column's name is one of an object of scores and of what is said of them."""
    return _OF_SCORES.match(name) is not None


def system_of_responses(name: str) -> str:
    """Return the system of an entry of an object of responses, or of a column named after both: "gpt-4o" of
    responses.gpt-4o and answer_gpt-4o; empty for others."""
    match = _OF_RESPONSES.match(name)
    system = name[match.end() :] if match else ""
    behind = None if match else _BEHIND.fullmatch(name)  # "Response A (GPT-4o)"
    if behind and _MODEL.match(behind[2].lower()) and not _RESPONDING.isdisjoint(compared(behind[1]).split("_")):
        return behind[2]
    return "" if match and match["one"] and is_about_row(system) else system


def system_of_entry(path: str) -> str:
    """Return the system of an entry of an object: gpt-4o of runs.gpt-4o; empty where it is of something else."""
    head, _, entry = path.partition(".")
    is_of_responses = not (is_of_scores(path) or is_about_row(head) or rank(head, Holds.REASON))
    is_model_behind = bool(head) and is_of_responses and _MODEL.match(entry.lower()) is not None
    return system_of_responses(path) or (entry if is_model_behind else "")


def systems_of(name: str) -> set[str]:
    """Return what may name the system of a column of responses: its header, and the system in it."""
    return {name, system_of_entry(name), named_responses(name)} - {""}


def named_responses(name: str) -> str:
    """Return the system that a header of responses names: gpt-4o of gpt-4o_response; empty for others."""
    match = _RESPONSE_OF.fullmatch(name.strip())
    system = _SYSTEM_BEHIND.sub("", match[1]) if match else ""  # gpt-4o of "gpt-4o model response"
    head, _, rest = name.strip().partition(" ")
    system = head if not system and is_strong(rest, Holds.RESPONSE) else system  # of "gpt-4o generated_text"
    return system if _MODEL.match(system.lower()) else ""


def system_of_file(stem: str) -> str:
    """Return the system after which a file of responses is named: oak of answers_oak, gpt-4 of gpt-4_outputs."""
    return named_responses(stem) or re.sub(rf"(?i)^(?:{'|'.join(_MADE)})s?[_. -]+(?=.)", "", stem)


def says_response(name: str) -> bool:
    """Return whether a header says by its words that it is of responses of a system: gpt4_answer, respuesta_modelo."""
    return has_word(name, Holds.RESPONSE) and bool(named_responses(name) or words_of(name) & WORDS_OF_SYSTEMS)


def may_be_of_responses(name: str) -> bool:
    """Return whether a name ends as those of responses do (oak_pred), begins so (predicted_sql), or has that of a model
    in it (qa_vicuna). An answer may be that of a person: raw_answer."""
    match = _RESPONSE_OF.fullmatch(name.strip())
    is_ended = match is not None and not re.search(rf"(?:{'|'.join(ANSWERS)})s?$", compared(name))
    words = compared(name).split("_")
    is_done = len(words) > 1 and not is_score(name) and not _DONE.isdisjoint((words[0], words[-1]))
    return is_ended or is_done or _is_made(name) or any(map(_MODEL.fullmatch, words))


def said_of(name: str, system: str) -> str:
    """Return by what a column judges the responses of a system: "accuracy" of gpt-4o_accuracy, "score" of gpt-4o,
    "Rating" of "Rating GPT-4o"; empty where it does not."""
    if name == system or (is_of_scores(name) and bare(name) == system):
        return "score"
    is_before = name.startswith(system)
    if not (system and (is_before or name.endswith(system))):
        return ""
    rest = name.removeprefix(system) if is_before else name.removesuffix(system)
    by, between = rest.strip("_-. "), rest[0 if is_before else -1]
    return by if between in "_-. " or not between.isascii() or judges(by) else ""


def said_of_side(name: str, side: str) -> str:
    """Return by what a column judges one response of a pair: "score" of score_a beside response_a, "rating" of
    chosen-rating beside chosen; empty where it does not."""
    words, end = compared(name).split("_"), sided(side)[1] or compared(side).rpartition("_")[2]
    is_of_one = end in words and not any(is_strong(word, Holds.RATER) for word in words)  # score_rater_1
    return "_".join(word for word in words if word not in (end, "response")) if is_of_one else ""


def judges(name: str) -> bool:
    """Return whether what is left of a header says scores or labels: accuracy, Rating, Bewertung."""
    return is_score(name) or labels(name)


def labels(name: str) -> bool:
    """Return whether what is left of a header says labels, and no scores: Rating, Bewertung."""
    return not is_score(name) and (is_rating(name) or is_strong(name, Holds.LABEL))


def is_about_row(name: str) -> bool:
    """Return whether a name has a word of columns that say something about their row, such as `answer_date`, and not
    as claim_level_accuracy has."""
    return not _ABOUT.isdisjoint(compared(name).replace("_level_", "_").split("_"))


def is_of_media(name: str) -> bool:
    """Return whether a column's name is that of what is shown beside a question, and not of what a system made."""
    words = set(compared(name).split("_"))
    made = words & (WORDS[Holds.RESPONSE] | WORDS_OF_SYSTEMS)
    return bool(words & _MEDIA) and not made and not is_score(name)


def is_retrieved(name: str) -> bool:
    """Return whether a column's name is that of passages that a system found: retrieved_contexts, contexts."""
    key = compared(name)
    return key == "contexts" or key.startswith("retriev")


def is_number_of(name: str) -> bool:
    """Return whether numbers under a name count or name something: batch, n_tokens, cost_usd, page_2."""
    words = [word for word in unnumbered(name).split("_") if word not in _UNITS] or [""]
    return words[0] in ("n", "i", "num", "nr", "top") or not {words[-1], words[-1].removesuffix("s")}.isdisjoint(
        _COUNTED
    )


def counts_attempts(name: str) -> bool:
    """Return whether values under a name only count repeated responses: run, seed; not settings as a temperature is."""
    return rank(name, Holds.ATTEMPT) is not None or (is_number_of(name) and _OF_SYSTEMS.isdisjoint(words_of(name)))


def ranks(name: str) -> bool:
    """Return whether a column's name is that of an order of responses: ranking, rank_gpt4; not reciprocal_rank."""
    return not _RANKS_WORDS.isdisjoint(compared(name).split("_")) and compared(name) not in METRICS


def is_model(name: str) -> bool:
    """Return whether a header is that of a system's responses: it names a model's family, or `[provider]`."""
    is_named = _MODEL.match(name.lower()) and not is_about_row(name.rpartition("/")[2])
    return bool(system_of_entry(name) or is_named or PROVIDER_HEADER.fullmatch(name))


def are_models(names: Collection[str]) -> bool:
    """Return whether most of several names are those of models, so that each names one: gpt-4, claude-3, ours-7b."""
    return 2 * sum(map(is_model, names)) > len(names)


def unnumbered(name: str) -> str:
    """Return a name as it is compared, without numbers: part for "Part 1" and "Part 2"."""
    return "_".join(word for word in compared(name).split("_") if not word.isdigit())


def is_wide_rater(name: str) -> bool:
    """Return whether a header may name one of several raters: annotator1, "rater A", annotation_2, ann@oak.org."""
    if re.fullmatch(r"[^\s@]+@[^\s@]+\.\w+", name):
        return True
    key = compared(name)
    match = _RATER_AND_CRITERION.fullmatch(bare(name))
    is_rater = is_rating(match[2]) if match else False  # rater1_score
    is_rater = is_rater or (_WIDE_RATER.fullmatch(key) is not None and not is_known(name))
    return _NUMBERED_LABEL.fullmatch(key) is not None or (is_rater and not sums_up(name))


def rater_and_criterion(name: str, criterion: str = "") -> tuple[str, str]:
    """Return whose labels a header is of, and by which criterion: "Rater 1" and "Tone" of "Rater 1 Tone"."""
    match = None if criterion else _RATER_AND_CRITERION.fullmatch(bare(name))
    if match is None:
        return bare(name), criterion
    return match[1], "" if rank(match[2], Holds.LABEL) or rank(match[2], Holds.SCORE) else match[2]


def may_be_of_people(name: str) -> bool:
    """Return whether a header may be that of labels of people or judges, by rater or by criterion: human_fluency,
    toxic_gpt4, rating_2."""
    words = [word for word in compared(name).split("_") if not word.isdigit()]
    rest = "_".join(word for word in words if not (word in _GIVERS or _MODEL.fullmatch(word)))
    is_about = is_about_row(rest) and not (is_rating(rest) or is_score(rest))
    is_given = (
        len(rest.split("_")) < len(words) and not is_about if rest else bool((_GIVERS - {"llm"}).intersection(words))
    )
    is_named = is_given or bool(_NUMBERED_RATING.fullmatch(compared(name)))
    return is_named and rank(name, Holds.JUDGE) is None and not sums_up(name)


def may_be_rated(name: str) -> bool:
    """Return whether a header says labels, what they are about, or who gives them: score_rater_1, toxicity, judge_2."""
    is_said = is_rating(name) or may_be_of_people(name) or compared(name) in METRICS
    return is_said and not is_in_table(name)


def says_people(name: str) -> bool:
    """Return whether a header has a word for people: human_label."""
    return not _PEOPLE.isdisjoint(compared(name).split("_"))


def says_judge(text: str) -> bool:
    """Return whether the name of who labels is that of a model: gpt-4, "LLM judge"."""
    is_numbered = len(text) > 3 and re.search(r"\d", text) is not None
    return "llm" in compared(text).split("_") or (is_numbered and is_model(text))


def says_right(name: str) -> bool:
    """Return whether a header is that of the right labels: gold_label, correct_choice."""
    words = compared(name).split("_")
    return words[-1] in ("label", "choice") and not (WORDS[Holds.REFERENCE] | {"true", "correct", "actual"}).isdisjoint(
        words
    )


def is_address(name: str) -> bool:
    """Return whether a header is that of addresses or ids of documents."""
    return compared(name) in ("url", "link", "docid", "doc_id")


def sums_up(name: str) -> bool:
    """Return whether a name is that of a figure made of several: human_accuracy_mean."""
    return not _SUMS.isdisjoint(compared(name).split("_"))


def is_sum(text: str) -> bool:
    """Return whether the first cell of a row sums others up or is a note of them: Average, Total: 12, Source: …"""
    return _SUM_ROWS.issuperset(compared(re.split("[:=]", text)[0]).split("_"))


def chooses(name: str) -> bool:
    """Return whether a header has the word of a preference at its end: ground_truth_winner, "which is better?"."""
    return compared(name).rpartition("_")[2] in _CHOOSES and not compared(name).startswith("explain")


def may_choose(name: str) -> bool:
    """Return whether a header may be that of a preference where two responses stand side by side: best, selected."""
    return not _MAY_CHOOSE.isdisjoint(compared(name).split("_"))


def words_of(name: str) -> set[str]:
    """Return the words of a name as they are compared; of names in scripts without spaces those of the table."""
    key = compared(name)
    return {*key.split("_"), *(word for word in _UNSPACED if word in key)}


def has_word(name: str, role: Holds) -> bool:
    """Return whether a name has a word of a role."""
    return not WORDS[role].isdisjoint(words_of(name))


def says_reference(name: str) -> bool:
    """Return whether a name has a word of references, and is not about passages or rows."""
    is_context = "context" in compared(name).split("_")
    return has_word(name, Holds.REFERENCE) and not (is_context or is_about_row(name))
