"""The shapes of tools, one module a family. A new shape: its module, a line here, a folder in the tests' corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from judging.specs.records.api_replies import are_replies, asks_beside
from judging.specs.records.names import compared
from judging.specs.records.parts import Part
from judging.specs.records.shapes import Shape
from judging.specs.records.tools import (
    annotation_tools,
    arenas,
    harnesses,
    inspect_logs,
    label_studio,
    logged_runs,
    openai_logs,
    own_exports,
    pair_sets,
    prompt_tests,
    question_sets,
    rating_sets,
    rubric_sets,
    traces,
)
from judging.specs.records.values import object_of, parsed


def _document(*needed: Iterable[str]) -> Callable[[Part], bool]:
    """Return whether a document has all keys of one of these sets."""
    return lambda part: any(set(names) <= set(part.document) for names in needed)


def _shape(kind: str, tool: str, fits: Callable[[Part], bool], refusal: str, rank: int = 60) -> Shape:
    return Shape(kind, tool, fits, "", rank=rank, refusal=refusal)


_OF_SURVEYS = (
    ("respondent_id", "collector_id"),
    ("response_id", "recorded_date"),
    ("submitdate", "lastpage"),
    ("response_id", "last_page"),
)


def _is_survey(part: Part) -> bool:
    """Return whether a table is what a survey's site exports: it numbers the people, or says when each replied."""
    said = {compared(name) for name in part.columns}
    if any(said.issuperset(names) for names in _OF_SURVEYS):
        return True
    first = part.columns[0].lower() if part.columns else ""
    is_dated = first in ("timestamp", "zeitstempel", "horodateur", "marca temporal", "时间戳记", "タイムスタンプ")
    questions = sum(name.endswith(("?", "]", "？")) for name in part.columns)
    names_people = any(
        word in name.lower() for name in part.columns[1:2] for word in ("mail", "username", "correo", "メール", "邮")
    )
    return is_dated and (names_people or (questions > 0 and questions * 2 >= len(part.columns) - 2))


_UNREAD: tuple[Shape, ...] = (  # each is refused by its name, so that nobody is sent the wrong way
    _shape(
        "api-replies",
        "the APIs of models",
        lambda part: are_replies(part) and not asks_beside(part),
        "these are replies of a model's API, which do not say what was asked. Bring a row for each: id, prompt, and "
        "the reply as response.",
    ),
    _shape(
        "answer-reviews",
        "FastChat, before MT-Bench",
        lambda part: (
            part.has("text") and (part.has("answer1_id", "answer2_id") or part.has("reviewer_id", "answer_ids"))
        ),
        "these are reviews of pairs that name answers by the ids of another file, which are not read. Bring a row with "
        "both systems, or both answers, and who is better.",
    ),
    _shape(
        "debate-records",
        "ScaleEval",
        lambda part: part.has("Submission 1", "Submission 2", "Speaker 1 - Initial Evaluation"),
        "these are recorded debates. Bring their folder (results/, responses/, criteria/) under Debates, or to the "
        "command debate_set import.",
    ),
    _shape(
        "platform-labels",
        "Labelbox, Scale, LightTag, SageMaker Ground Truth",
        lambda part: (
            part.has("data_row", "projects")
            or part.has("task_id", "params", "response", "status")
            or part.has("example_id", "classifications")
            or (part.has("source") and any(name.endswith("-metadata") for name in part.columns))
        ),
        "these are labels as a labelling platform keeps them, which are not read. Bring a table with a row for each "
        "label: id, text, rater, label.",
    ),
    _shape(
        "survey",
        "Qualtrics, Google Forms, SurveyMonkey, LimeSurvey",
        _is_survey,
        "these are replies to a survey, a row for each person, which are not read. Bring a row for each person and "
        "item: item, rater, label.",
    ),
    _shape(
        "infibench-results",
        "InfiBench",
        lambda part: part.has("full_score", "now_score", "detail", "prompt_path"),
        "these are results of InfiBench's grader, which hold no responses and are not read. Bring the suite and the "
        "responses, and run the rule graders with “Grade like InfiBench's own grader”: they give the same scores.",
    ),
    _shape(
        "garak",
        "garak",
        lambda part: part.has("entry_type", "probe_classname"),
        "this is a report of garak, which is not read. Bring a row for each output: id, prompt, response, and what "
        "each detector said as a score.",
    ),
    _shape(
        "swe-bench-report",
        "SWE-bench",
        _document(("resolved_ids", "unresolved_ids"), ("resolved_instances", "total_instances")),
        "this is a report of SWE-bench, which counts instances and holds no responses. Bring the predictions "
        "(instance_id, model_name_or_path, model_patch), and a table with instance_id and resolved.",
    ),
    _shape(
        "otlp-logs",
        "OpenTelemetry: logs",
        lambda part: not {"resourceLogs", "resource_logs"}.isdisjoint({*part.columns, *part.document, *part.lists}),
        "these are log records of OpenTelemetry, which are not read. Bring the traces of the same calls "
        "(resourceSpans).",
    ),
    _shape(
        "promptfoo-heads",
        "promptfoo, before 0.60",
        lambda part: part.is_cells and all("provider" in object_of(parsed(name)) for name in part.columns[-1:]),
        "this is a table of an old promptfoo, whose header holds JSON, which is not read. Bring the results as JSON: "
        "promptfoo eval -o results.json.",
    ),
    _shape(
        "notebook",
        "Jupyter",
        _document(("cells", "nbformat")),
        "this is a Jupyter notebook, which is not read. Save the table that it makes as CSV or JSON Lines.",
    ),
    _shape(
        "coco",
        "COCO",
        lambda part: {"images", "annotations", "categories"} <= part.lists.keys(),  # of objects
        "these are COCO annotations of objects in pictures, which are not read.",
    ),
    _shape(
        "package",
        "npm",
        _document(
            ("name", "version", "dependencies"), ("name", "version", "devDependencies"), ("lockfileVersion", "packages")
        ),
        "this is the description of a program package, and holds no data.",
    ),
    _shape(
        "model-settings",
        "Hugging Face",
        _document(
            ("architectures", "model_type"),
            ("tokenizer_class",),
            ("weight_map", "metadata"),
            ("added_tokens", "model", "pre_tokenizer"),
        ),
        "these are settings of a model, and hold no data.",
    ),
    _shape(
        "json-schema",
        "JSON Schema",
        _document(("$schema", "properties")),
        "this is a JSON schema, which describes data and holds none.",
    ),
)


MODULES = (
    *(harnesses, inspect_logs, logged_runs, openai_logs, prompt_tests, question_sets, traces),
    *(annotation_tools, label_studio, own_exports, arenas, pair_sets, rating_sets, rubric_sets),
)
_FOUND = [*_UNREAD, *(found for module in MODULES for found in vars(module).values())]
ALL: tuple[Shape, ...] = tuple(
    shape for found in _FOUND for shape in (found if isinstance(found, tuple) else (found,)) if isinstance(shape, Shape)
)
