"""What a `similarity` list says that cannot be measured."""

from __future__ import annotations

import re

from judging.specs.files.findings import error_rule, warning_rule
from judging.specs.files.yaml_reading import Node
from judging.specs.lint.lint_keywords import EMPTY_LIST
from judging.specs.lint.lint_notes import NOT_A_LIST, NOT_A_MAPPING, NOT_TEXT, Lint, join

UNKNOWN_METRIC = error_rule("unknown-metric", "Write one of: rouge1, rouge2, rougeL, rougeLsum.")
NO_REFERENCE = error_rule("similarity-without-reference", "List at least one reference: a text, or `path: file`.")
BAD_RANGE = error_rule("similarity-range", "Set max_score greater than min_score.")
NO_WORDS = warning_rule(
    "reference-without-words", "ROUGE reads only the letters a-z and digits; use another criterion."
)

METRICS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
DEFAULT_MIN = 0.3
DEFAULT_MAX = {"rouge1": 0.53}  # 0.51 for the others

_KEYS = ("metric", "references", "min_score", "max_score", "weight")


def lint_similarity(lint: Lint, metrics: Node, path: str) -> float | None:
    """Note what is wrong with a `similarity` list; return its total, None where it cannot be known."""
    if not metrics.is_list:
        lint.report(NOT_A_LIST, metrics, path, "`similarity` must be a list of metrics.")
        return None
    if not metrics.items:
        lint.report(EMPTY_LIST, metrics, path, "`similarity` is empty.", "[]")
    return sum(_lint_metric(lint, item, f"{path}[{index}]") for index, item in enumerate(metrics.items))


def _lint_metric(lint: Lint, item: Node, path: str) -> float:
    """Check one metric; return its weight."""
    if not item.is_mapping:
        lint.report(NOT_A_MAPPING, item, path, "Each metric must be a mapping with `metric` and `references`.")
        return 1.0
    lint.unknown_keys(item, _KEYS, path)
    metric = item.get("metric")
    name = metric.content if metric is not None and isinstance(metric.content, str) else ""
    if name not in METRICS:
        lint.report(UNKNOWN_METRIC, metric or item, join(path, "metric"), "There is no such similarity metric.", name)
    low = lint.number(item, "min_score", path, DEFAULT_MIN)
    high = lint.number(item, "max_score", path, DEFAULT_MAX.get(name, 0.51))
    if high <= low:
        message = f"max_score ({high:g}) is not above min_score ({low:g}), so there is no range between them."
        lint.report(BAD_RANGE, item.get("max_score") or item.get("min_score") or item, path, message)
    _lint_references(lint, item, path)
    return lint.weight(item, path)


def _lint_references(lint: Lint, item: Node, path: str) -> None:
    references, references_path = item.get("references"), join(path, "references")
    if references is None or not references.items:
        lint.report(
            NO_REFERENCE, references or item, references_path, "There is no reference to compare the response with."
        )
        return
    for index, reference in enumerate(references.items):
        _lint_reference(lint, reference, f"{references_path}[{index}]")


def _lint_reference(lint: Lint, reference: Node, path: str) -> None:
    if reference.is_mapping and ("path" in reference.fields or "content" in reference.fields):
        return
    if not isinstance(reference.content, str):
        lint.report(NOT_TEXT, reference, path, "A reference must be a text, or a mapping with `path`.")
    elif not has_words(reference.content):
        lint.report(NO_WORDS, reference, path, "This reference has no words that ROUGE can read, so every score is 0.")


def has_words(text: str) -> bool:
    """Return whether ROUGE's tokenizer finds anything in a text: runs of a-z and 0-9 after lower-casing."""
    return re.search("[a-z0-9]", text.lower()) is not None
