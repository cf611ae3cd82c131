"""What a `keywords` list says that the grader will not do.

The grader reads `weight`, `to_lower` and `neg` at the level of the rule only, `regex` and `cond` inside the content
only, and of `or`, `and` and `content` in one node only the first.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from judging.specs.files.findings import error_rule, warning_rule
from judging.specs.files.yaml_reading import Node
from judging.specs.lint.lint_notes import NOT_A_LIST, NOT_TEXT, Lint, as_number, join

NO_CONTENT = error_rule("keyword-without-content", "Give `content`, or `or` / `and` with a list.")
OR_AT_RULE = warning_rule(
    "keyword-or-at-rule-level", "Put `or` / `and` below `content:` so that InfiBench can read it."
)
OR_WINS = warning_rule("keyword-branch-ignored", "Keep one of or, and, content in each node.")
EMPTY_OR = warning_rule("empty-or", "Add alternatives, or remove the rule.")
EMPTY_AND = warning_rule("empty-and", "Add parts, or remove the rule.")
EMPTY_LIST = warning_rule("empty-criterion", "Add entries, or remove the criterion.")
EMPTY_KEYWORD = warning_rule("keyword-empty", "Write the text to look for.")
RULE_REGEX = warning_rule("rule-regex-ignored", "Nest it: content: {content: …, regex: true}.")
RULE_COND = warning_rule("rule-cond-ignored", "Nest it: content: {content: …, cond: …}.")
NESTED_LOWER = warning_rule("nested-to-lower-ignored", "Move to_lower next to the rule's outermost `content`.")
NESTED_WEIGHT = warning_rule(
    "nested-weight-ignored", "Move weight next to the rule's outermost `content`, or split the rule."
)
NESTED_NEG = warning_rule("nested-neg-ignored", "Move neg next to the rule's outermost `content`.")
COND_INDEX = warning_rule("cond-index", "Refer only to earlier rules in the list.")
HANDLER_MIXED = warning_rule("post-handler-with-content", "Give the post_handler a list entry of its own.")
HANDLER_TWICE = warning_rule("several-post-handlers", "Keep one; only the last one runs.")

_RULE_KEYS = ("content", "weight", "to_lower", "neg", "post_handler", "regex", "cond", "or", "and")
_NODE_KEYS = ("content", "or", "and", "regex", "cond", "to_lower", "weight", "neg")
_COND_NAMES = ("ans", "context")


@dataclass(frozen=True, slots=True)
class _LintedRule:
    """What holds for every node of one rule."""

    to_lower: bool
    earlier: int  # how many statuses `context` has by then


def lint_keywords(lint: Lint, rules: Node, path: str) -> float | None:
    """Note what is wrong with a `keywords` list; return its total, None where a post handler may change it."""
    if not rules.is_list:
        lint.report(NOT_A_LIST, rules, path, "`keywords` must be a list of rules.")
        return None
    if not rules.items:
        lint.report(EMPTY_LIST, rules, path, "`keywords` is empty.", "[]")
    total, earlier, handlers = 0.0, 0, 0
    for index, rule in enumerate(rules.items):
        rule_path = f"{path}[{index}]"
        if "post_handler" in rule.fields:
            handlers += 1
            _lint_handler_entry(lint, rule, rule_path, handlers)
            continue
        total += _lint_rule(lint, rule, rule_path, earlier)
        earlier += 1
    return None if handlers else total


def _lint_handler_entry(lint: Lint, rule: Node, path: str, count: int) -> None:
    if len(rule.fields) > 1:
        lint.report(
            HANDLER_MIXED, rule, path, "Beside `post_handler` every other key of the entry is ignored.", "post_handler"
        )
    if count > 1:
        lint.report(HANDLER_TWICE, rule, path, "There are several post handlers.", "post_handler")


def _lint_rule(lint: Lint, rule: Node, path: str, earlier: int) -> float:
    """Check one rule; return what it adds to the total."""
    if not rule.is_mapping:
        _lint_literal(lint, rule, path)
        return 1.0
    lint.unknown_keys(rule, _RULE_KEYS, path)
    weight = lint.weight(rule, path)
    negative = lint.switch(rule, "neg", path)
    inside = _LintedRule(to_lower=lint.switch(rule, "to_lower", path), earlier=earlier)
    content = rule.get("content")
    if content is None and ("or" in rule.fields or "and" in rule.fields):
        message = (
            "`or` / `and` directly in a rule stop InfiBench's own grader; they are read here as if below `content`."
        )
        lint.report(OR_AT_RULE, rule, path, message, "or" if "or" in rule.fields else "and")
        _lint_branches(lint, rule, path, inside, regex=lint.switch(rule, "regex", path))
    elif content is None:
        lint.report(NO_CONTENT, rule, path, "The rule has no `content`.", ", ".join(rule.fields))
    else:
        _lint_ignored_at_rule(lint, rule, path)
        _lint_node(lint, content, join(path, "content"), inside, regex=False)
    return 0.0 if negative else weight


def _lint_ignored_at_rule(lint: Lint, rule: Node, path: str) -> None:
    regex, cond = rule.get("regex"), rule.get("cond")
    if regex is not None and regex.content:
        lint.report(RULE_REGEX, regex, join(path, "regex"), "`regex` next to the rule's `content` is ignored.")
    if cond is not None:
        lint.report(RULE_COND, cond, join(path, "cond"), "`cond` next to the rule's `content` is ignored.")
    for key in ("or", "and"):
        if key in rule.fields:
            lint.report(
                OR_WINS, rule.fields[key], join(path, key), f"`{key}` next to the rule's `content` is ignored.", key
            )


def _lint_node(lint: Lint, node: Node, path: str, rule: _LintedRule, *, regex: bool) -> None:
    """Check one node of a rule's content."""
    if not node.is_mapping:
        _lint_literal(lint, node, path)
        if regex and node.is_text:
            lint.pattern(node, path, lowered=rule.to_lower)
        return
    lint.unknown_keys(node, _NODE_KEYS, path)
    _lint_ignored_inside(lint, node, path, rule)
    regex = lint.switch(node, "regex", path, inherited=regex)
    _lint_branches(lint, node, path, rule, regex=regex)
    cond = node.get("cond")
    if cond is not None:
        _lint_cond(lint, cond, join(path, "cond"), rule)


def _lint_ignored_inside(lint: Lint, node: Node, path: str, rule: _LintedRule) -> None:
    lower, weight, negative = node.get("to_lower"), node.get("weight"), node.get("neg")
    if lower is not None and bool(lower.content) != rule.to_lower:
        lint.report(NESTED_LOWER, lower, join(path, "to_lower"), "`to_lower` inside a rule's content is ignored.")
    if weight is not None and as_number(weight) != 1.0:
        lint.report(NESTED_WEIGHT, weight, join(path, "weight"), "`weight` inside a rule's content is ignored.")
    if negative is not None and negative.content:
        lint.report(NESTED_NEG, negative, join(path, "neg"), "`neg` inside a rule's content is ignored.")


def _lint_branches(lint: Lint, node: Node, path: str, rule: _LintedRule, *, regex: bool) -> None:
    present = [key for key in ("or", "and", "content") if key in node.fields]
    if not present:
        lint.report(NO_CONTENT, node, path, "The node has none of `content`, `or`, `and`.", ", ".join(node.fields))
        return
    for key in present[1:]:
        message = f"`{key}` is ignored next to `{present[0]}`."
        lint.report(OR_WINS, node.fields[key], join(path, key), message, key)
    branch, branch_path = node.fields[present[0]], join(path, present[0])
    if present[0] == "content":
        _lint_node(lint, branch, branch_path, rule, regex=regex)
    else:
        _lint_list(lint, branch, branch_path, rule, regex=regex)


def _lint_list(lint: Lint, branch: Node, path: str, rule: _LintedRule, *, regex: bool) -> None:
    word = path.rsplit(".", 1)[-1]
    if not branch.is_list:
        lint.report(NOT_A_LIST, branch, path, f"`{word}` must be a list.")
    elif not branch.items and word == "or":
        lint.report(EMPTY_OR, branch, path, "An empty `or` never matches.", "or: []")
    elif not branch.items:
        lint.report(EMPTY_AND, branch, path, "An empty `and` always matches.", "and: []")
    for index, child in enumerate(branch.items):
        _lint_node(lint, child, f"{path}[{index}]", rule, regex=regex)


def _lint_literal(lint: Lint, node: Node, path: str) -> None:
    if not node.is_text:
        lint.report(NOT_TEXT, node, path, "A keyword must be text; otherwise the grading of the case fails.")
    elif node.content == "":
        lint.report(EMPTY_KEYWORD, node, path, "An empty keyword matches every response.", "''")


def _lint_cond(lint: Lint, node: Node, path: str, rule: _LintedRule) -> None:
    tree = lint.condition(node, path, _COND_NAMES)
    for index in _context_indexes(tree) if tree is not None else ():
        if not -rule.earlier <= index < rule.earlier:
            message = f"context[{index}] does not exist: {rule.earlier} rule(s) are graded before this one."
            lint.report(COND_INDEX, node, path, message)


def _context_indexes(tree: ast.Expression) -> tuple[int, ...]:
    """Return the constant indexes that a condition applies to `context`."""
    indexes: list[int] = []
    for part in ast.walk(tree):
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and part.value.id == "context":
            index = _constant(part.slice)
            if index is not None:
                indexes.append(index)
    return tuple(indexes)


def _constant(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _constant(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    return None
