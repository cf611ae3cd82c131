"""What a case says that the graders ignore, cannot do, or that no response can win.

The points come from reading and running InfiBench's grader: an author who moves a file over learns what it did
silently. A warning keeps the meaning InfiBench gives the file; an error marks what stops its grading.
"""

from __future__ import annotations

from judging.specs.files.findings import error_rule, warning_rule
from judging.specs.files.yaml_reading import Node
from judging.specs.lint.lint_blanks import lint_blanks
from judging.specs.lint.lint_keywords import lint_keywords
from judging.specs.lint.lint_notes import NOT_A_MAPPING, Lint, as_number, join
from judging.specs.lint.lint_programs import CRITERIA, lint_customized, lint_handler, lint_unit_tests
from judging.specs.lint.lint_similarity import lint_similarity

NO_GRADING = warning_rule(
    "no-grading", "Correct for cases that only judges or annotators assess; otherwise add a criterion."
)
NO_CRITERION = warning_rule("no-criterion", "Add keywords, blank_filling, unit_test, similarity or customized.")
TOTAL_ZERO = error_rule("total-zero", "Give a rule a positive weight: a score is a share of the total.")
MAX_ABOVE_SUM = warning_rule("max-score-above-sum", "Lower max_score; otherwise the full score cannot be reached.")
MIN_ABOVE_MAX = warning_rule(
    "min-score-above-max", "Lower min_score; otherwise every response gets more than the total."
)
MISSING_TYPE = warning_rule("missing-type", "Give `type`, so that reports can group the case.")
UNKNOWN_TYPE = warning_rule(
    "unknown-type",
    "InfiBench knows: code debugging, code completion, knowledge question-answering, non-code debugging.",
)
MISSING_LANG = warning_rule("missing-lang", "Give `lang`, so that reports can group the case.")
NULL_ABOVE_FULL = warning_rule(
    "null-score-above-full", "Lower null_score: otherwise a missing response would score more than the best one."
)

TYPES = frozenset({"code debugging", "code completion", "knowledge question-answering", "non-code debugging"})


def lint_case(lint: Lint, case: Node, path: str = "") -> None:
    """Note everything worth saying about one case: a mapping of a case file, or an inline entry of a suite."""
    grading = case.get("grading")
    if grading is None or not grading.content:
        lint.report(NO_GRADING, grading or case, join(path, "grading"), "The case has no grading rules.", "")
        return
    if not grading.is_mapping:
        lint.report(NOT_A_MAPPING, grading, join(path, "grading"), "`grading` must be a mapping.")
        return
    _lint_type_and_lang(lint, case, path)
    lint_grading(lint, grading, join(path, "grading"), lang=_raw(case, "lang"))
    full, null = lint.number(case, "full_score", path, 1.0), lint.number(case, "null_score", path, 0.0)
    if null > full:
        lint.report(
            NULL_ABOVE_FULL, case.fields["null_score"], path, f"null_score {null:g} is above full_score {full:g}."
        )


def _raw(owner: Node, key: str) -> str:
    node = owner.get(key)
    return node.raw if node is not None else ""


def _lint_type_and_lang(lint: Lint, case: Node, path: str) -> None:
    """`type` and `lang` matter to graded cases: InfiBench's report groups by them, and stops without `lang`."""
    kind = case.get("type")
    if kind is None or not kind.raw:
        lint.report(MISSING_TYPE, kind or case, join(path, "type"), "The case has no `type`.", "")
    elif kind.raw not in TYPES:
        lint.report(UNKNOWN_TYPE, kind, join(path, "type"), "InfiBench does not know this question type.")
    if not _raw(case, "lang"):
        lint.report(MISSING_LANG, case.get("lang") or case, join(path, "lang"), "The case has no `lang`.", "")


def lint_grading(lint: Lint, grading: Node, path: str, *, lang: str) -> None:
    """Note everything worth saying about a `grading` mapping of a case in language `lang`."""
    lint.unknown_keys(grading, (*CRITERIA, "max_score", "min_score"), path)
    totals: list[float | None] = []
    for criterion in CRITERIA:
        node = grading.get(criterion)
        if node is not None:
            totals.append(_lint_criterion(lint, criterion, node, join(path, criterion), lang))
    if not totals:
        message = "None of the five criteria is given, so nothing can be graded."
        lint.report(NO_CRITERION, grading, path, message, ", ".join(grading.fields))
        return
    for handler_path, handler in handlers_of(grading, path):
        lint_handler(lint, handler, handler_path)
    _lint_totals(lint, grading, path, totals)


def _lint_criterion(lint: Lint, criterion: str, node: Node, path: str, lang: str) -> float | None:
    if criterion == "keywords":
        return lint_keywords(lint, node, path)
    if criterion == "blank_filling":
        return lint_blanks(lint, node, path)
    if criterion == "unit_test":
        return lint_unit_tests(lint, node, path, lang)
    if criterion == "similarity":
        return lint_similarity(lint, node, path)
    lint_customized(lint, node, path)
    return None


def handlers_of(grading: Node, path: str) -> list[tuple[str, Node]]:
    """Return the post handlers of keywords and blanks with their key paths."""
    handlers: list[tuple[str, Node]] = []
    keywords = grading.get("keywords")
    for index, rule in enumerate(keywords.items if keywords is not None else ()):
        if "post_handler" in rule.fields:
            handlers.append((f"{path}.keywords[{index}].post_handler", rule.fields["post_handler"]))
    blanks = grading.get("blank_filling")
    if blanks is not None and "post_handler" in blanks.fields:
        handlers.append((f"{path}.blank_filling.post_handler", blanks.fields["post_handler"]))
    return handlers


def _lint_totals(lint: Lint, grading: Node, path: str, totals: list[float | None]) -> None:
    """Compare max_score and min_score with what the rules add up to, where that is known before running."""
    sum_of_rules = None if None in totals else sum(total for total in totals if total is not None)
    most, least = grading.get("max_score"), grading.get("min_score")
    maximum = as_number(most) if most is not None else None
    lint.number(grading, "max_score", path, 1.0)
    minimum = lint.number(grading, "min_score", path, float("-inf"))
    total = maximum if maximum is not None else sum_of_rules
    if total == 0:
        message = "The total that can be reached is 0, so the score would be a division by zero."
        lint.report(TOTAL_ZERO, most or grading, path, message, "0")
    if most is not None and maximum is not None and sum_of_rules is not None and maximum > sum_of_rules + 1e-9:
        message = f"max_score is {maximum:g}, but the rules add up to {sum_of_rules:g} only."
        lint.report(MAX_ABOVE_SUM, most, join(path, "max_score"), message)
    if least is not None and total is not None and minimum > total:
        message = f"min_score is {minimum:g}, above the total of {total:g}."
        lint.report(MIN_ABOVE_MAX, least, join(path, "min_score"), message)
