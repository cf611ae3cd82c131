"""Guesses what the columns of a table are by their names and first cells, as other programs name them.

Columns of lm-evaluation-harness (samples), promptfoo (CSV and JSON results) and Inspect (JSON logs) are among them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from judging.specs.replies.response_rows import ATTEMPT_FIELDS, CASE_FIELDS, SYSTEM_FIELDS, TEXT_FIELDS
from judging.specs.replies.table_columns import ColumnField, mapped_columns
from judging.specs.suites.questions_jsonl import ANSWER_FIELDS, QUESTION_FIELDS, SCENARIO_FIELDS

Names = tuple[str, ...]

_AS_RESPONSE_OR_REFERENCE = "answer"
_MEANINGS: Mapping[ColumnField, Names] = {
    ColumnField.CASE: (
        *CASE_FIELDS,
        *("query_id", "item_id", "prompt_id", "task_id", "test_id", "example_id", "instance_id", "doc_id", "sample_id"),
        *("qid", "uid", "uuid", "index", "no", "nr", "number"),
    ),
    ColumnField.PROMPT: (
        *QUESTION_FIELDS,
        *("user_input", "user_prompt", "user_message", "user_query", "input_text", "problem", "input", "question_text"),
        *("prompt_raw", "prompt_text", "input_0_content", "input_1_content", "messages_0_content", "instruction"),
        *("arguments_gen_args_0_arg_0", "arguments_0_0", "arguments_0", "request"),
    ),
    ColumnField.REFERENCE: (
        *(name for name in ANSWER_FIELDS if name != _AS_RESPONSE_OR_REFERENCE),
        *("ground_truth", "gold", "gold_answer", "golden_answer", "expected", "expected_output", "expected_answer"),
        *("expected_response", "correct_answer", "target", "ideal", "solution", "reference_output", "label"),
    ),
    ColumnField.CONTEXT: ("context", "contexts", "retrieved_contexts", "passage", "background", "documents"),
    ColumnField.SYSTEM: (
        *SYSTEM_FIELDS,
        *("model_id", "system_name", "provider_label", "provider_id", "provider", "output_model", "engine", "llm"),
        *("deployment", "generator", "target_label"),
    ),
    ColumnField.RESPONSE: (
        *(name for name in TEXT_FIELDS if name != _AS_RESPONSE_OR_REFERENCE),
        *("model_output", "model_response", "llm_output", "llm_response", "actual_output", "generated_answer"),
        *("generated_text", "reply", "prediction", "predicted", "generation", "candidate", "response_output"),
        *("output_completion", "output_choices_0_message_content", "filtered_resps", "filtered_resps_0", "resps_0"),
        *("resps", "output_text", "response_text", "result"),
    ),
    ColumnField.ATTEMPT: (*ATTEMPT_FIELDS, "sample_index", "repeat_index"),
    ColumnField.SCENARIO: (*SCENARIO_FIELDS, "topic", "domain", "subject", "subset", "task_name", "section"),
    ColumnField.TYPE: ("type", "question_type"),
    ColumnField.LANGUAGE: ("lang", "language", "locale"),
}
_WORDS: Mapping[ColumnField, frozenset[str]] = {
    ColumnField.REFERENCE: frozenset({"reference", "expected", "gold", "truth", "ideal"}),
    ColumnField.PROMPT: frozenset({"question", "prompt", "query"}),
    ColumnField.RESPONSE: frozenset({"answer", "response", "output", "reply", "completion", "prediction"}),
    ColumnField.SYSTEM: frozenset({"model", "system", "provider"}),
}
_CONTAINERS = re.compile(r"(?:doc|vars|inputs|example|row|testCase\.vars)\.(.+)")
_PROVIDER_HEADER = re.compile(r"\[[^\]]+\]\s.*", re.DOTALL)
_MODEL = re.compile(
    r"(?:[\w-]+/)?(gpt|claude|gemini|gemma|llama|mi[sx]tral|qwen|qwq|deepseek|phi|grok|nova|command|falcon|olmo|yi|glm|kimi"
    r"|granite|jamba|codestral|o[134])(?![a-z])"
)
_ABOUT_ROWS = re.compile(
    r".*(score|status|pass|reason|comment|note|source|author|url|link|date|time|latency|token|cost|difficulty|tag"
    r"|explanation|hint|rating|grade|description|title|name|version|metric|verdict|level|points|weight).*"
)


def guess_fields(
    names: Sequence[str], samples: Sequence[Sequence[str]] = (), *, is_known: bool = False
) -> dict[str, ColumnField]:
    """Return the likely field of each column that has a name; `samples` are the first rows as text.

    Where readers know the table already, only columns with names of models or providers are taken for systems.
    """
    meanings = {name: _meant(name) for name in names if name}
    cells = {
        name: [row[position] for row in samples if position < len(row)] for position, name in enumerate(names) if name
    }
    guessed: dict[str, ColumnField] = {}
    for field, usual_names in _MEANINGS.items():
        unguessed_names = [name for name in meanings if name not in guessed and meanings[name] in usual_names]
        if unguessed_names:
            best = min(unguessed_names, key=lambda name: (not any(cells[name]), usual_names.index(meanings[name])))
            guessed[best] = field
    _drop_row_ids(meanings, cells, guessed)
    _guess_answer(meanings, guessed)
    _guess_by_words(meanings, guessed)
    if has_provider_columns(names):
        return _guess_of_providers(names, guessed)
    if ColumnField.RESPONSE not in guessed.values() and {ColumnField.CASE, ColumnField.PROMPT} & set(guessed.values()):
        systems = _system_columns(cells, guessed, is_known=is_known)
        if systems:  # each names its own, and what stands beside it is not about the others
            guessed = {name: field for name, field in guessed.items() if field is not ColumnField.SYSTEM}
            guessed |= dict.fromkeys(systems, ColumnField.RESPONSES_OF)
            return {name: guessed.get(name, ColumnField.IGNORE) for name in meanings}
    rest = {name: ColumnField.IGNORE if "." in name else ColumnField.DETAIL for name in meanings}
    return {name: guessed.get(name, rest[name]) for name in meanings}


def _meant(name: str) -> str:
    """Return a name as it is compared: "Question ID", "questionId" and "doc.question_id" are question_id."""
    match = _CONTAINERS.fullmatch(name)
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", match[1] if match else name)
    return re.sub(r"[^a-z0-9]+", "_", snake.lower()).strip("_")


def has_provider_columns(names: Sequence[str]) -> bool:
    """Return whether a table has columns "[provider] prompt", as promptfoo's CSV has."""
    return any(map(_PROVIDER_HEADER.fullmatch, names))


def _guess_of_providers(names: Sequence[str], guessed: Mapping[str, ColumnField]) -> dict[str, ColumnField]:
    """Return the fields of promptfoo's CSV: the variables of a test first, then the columns of each provider."""
    guesses: dict[str, ColumnField] = {}
    for name in filter(None, names):
        if _PROVIDER_HEADER.fullmatch(name):
            guesses[name] = ColumnField.RESPONSES_OF
        elif ColumnField.RESPONSES_OF in guesses.values():
            guesses[name] = ColumnField.IGNORE
        else:
            field = guessed.get(name, ColumnField.DETAIL)
            guesses[name] = ColumnField.DETAIL if field is ColumnField.SYSTEM else field
    return guesses


def _drop_row_ids(
    meanings: Mapping[str, str], cells: Mapping[str, Sequence[str]], guessed: dict[str, ColumnField]
) -> None:
    """Take no column for the case that numbers the rows: where one prompt has several of its values.

    promptfoo's results are such rows; they name the test by `testIdx`.
    """
    columns = {field: name for name, field in guessed.items()}
    case, prompt = columns.get(ColumnField.CASE), columns.get(ColumnField.PROMPT)
    if case is None or prompt is None:
        return
    pairs = {(question, key) for question, key in zip(cells[prompt], cells[case], strict=False) if question and key}
    if "test_idx" in meanings.values() or len(pairs) > len({question for question, _ in pairs}):
        del guessed[case]


def _guess_answer(meanings: Mapping[str, str], guessed: dict[str, ColumnField]) -> None:
    """Take `answer` as the response where nothing else is and the row says who answered or asks nothing, else as the
    reference."""
    column = next((name for name, meaning in meanings.items() if meaning == _AS_RESPONSE_OR_REFERENCE), "")
    fields = set(guessed.values())
    if not column:
        return
    if ColumnField.RESPONSE not in fields and (ColumnField.SYSTEM in fields or ColumnField.PROMPT not in fields):
        guessed[column] = ColumnField.RESPONSE
    elif ColumnField.REFERENCE not in fields:
        guessed[column] = ColumnField.REFERENCE


def _guess_by_words(meanings: Mapping[str, str], guessed: dict[str, ColumnField]) -> None:
    """Give a field that no name stands for to the one column whose name has a word for it, as "LLM answer" has."""
    unguessed_names = [name for name in meanings if name not in guessed and "." not in name]
    fields_by_word = {
        name: [field for field, words in _WORDS.items() if words & set(meanings[name].split("_"))]
        for name in unguessed_names
    }
    for field in _WORDS:
        columns = [
            name
            for name in unguessed_names
            if fields_by_word[name] == [field] and not _ABOUT_ROWS.fullmatch(meanings[name])
        ]
        if len(columns) == 1 and field not in guessed.values():
            guessed[columns[0]] = field


def _system_columns(
    cells: Mapping[str, Sequence[str]], guessed: Mapping[str, ColumnField], *, is_known: bool
) -> list[str]:
    """Return the columns that each hold the responses of one system: named by models, or else texts."""
    unguessed_names = [name for name in cells if name not in guessed]
    models = [name for name in unguessed_names if _MODEL.match(name.lower())]
    if models or is_known:
        return models
    texts = [name for name in unguessed_names if not _ABOUT_ROWS.fullmatch(_meant(name)) and _holds_texts(cells[name])]
    return texts if len(texts) > 1 else []


def _holds_texts(cells: Sequence[str]) -> bool:
    """Return whether half of the filled cells have words, so that they are no numbers, dates or ticks."""
    filled = [cell for cell in cells if cell.strip()]
    worded = [cell for cell in filled if re.search(r"[^\W\d_]{3}", cell) and cell.lower() not in ("true", "false")]
    return bool(filled) and len(worded) * 2 >= len(filled)


def holds_mapped_responses(fields: Mapping[str, str]) -> bool:
    """Return whether rows with columns of these fields are responses: what was answered, and to what."""
    mapped = set(mapped_columns(list(fields), fields).field_names)
    return "response" in mapped and not mapped.isdisjoint(("case_id", "question"))


def holds_mapped_questions(fields: Mapping[str, str]) -> bool:
    """Return whether rows with columns of these fields are questions."""
    mapped = set(mapped_columns(list(fields), fields).field_names)
    return "question" in mapped and "response" not in mapped
