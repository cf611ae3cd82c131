"""What a `blank_filling` mapping says that the grader will not do, or that no response can win."""

from __future__ import annotations

import itertools

from judging.specs.files.findings import error_rule, warning_rule
from judging.specs.files.yaml_reading import Node
from judging.specs.lint.lint_notes import NOT_A_LIST, NOT_A_MAPPING, NOT_TEXT, Lint, as_number, join

DEFAULT_BLANK = "[blank]"
DEFAULT_ESCAPE = " '\"`"

NO_TEMPLATE = error_rule("blank-without-template", "Give `template`, a text that contains the blank placeholders.")
BAD_BLANK = error_rule("blank-mark", "Give a `blank_str` of at least one character, such as [blank].")
COUNT = error_rule("blank-count", "Write one target per blank, in order.")
AT_END = error_rule("blank-at-end", "Add text after the last blank of the template, for example a full stop.")
AT_START = warning_rule("blank-at-start", "Add some text before the first blank.")
OVERLAP = error_rule("blank-overlap", "Choose a `blank_str` that cannot overlap itself.")
NO_CONTENT = error_rule("target-without-content", "Give `content`: a text, or a list of accepted texts.")
DICT_CONTENT = warning_rule("blank-dict-content", "Write a list of accepted answers instead of a mapping.")
NO_ANSWER = warning_rule("blank-no-answer", "List at least one accepted answer.")
STRIPPED = warning_rule("blank-answer-stripped", "Remove these characters from the answer, or set `escape`.")
TARGET_REGEX = warning_rule("target-regex-ignored", "Nest it: content: [{content: …, regex: true}].")
TARGET_COND = warning_rule("target-cond-ignored", "Nest it: content: [{content: …, cond: …}].")
NESTED_LOWER = warning_rule("answer-to-lower-ignored", "Move to_lower next to the target's `content`.")
NESTED_WEIGHT = warning_rule("answer-weight-ignored", "Move weight next to the target's `content`.")
NESTED_SUBSTRING = warning_rule("answer-substr-match-ignored", "Move substr_match next to the target's `content`.")

_KEYS = ("template", "blank_str", "escape", "prefix", "targets", "post_handler")
_TARGET_KEYS = ("content", "weight", "to_lower", "substr_match", "regex", "cond")
_ANSWER_KEYS = ("content", "regex", "cond", "to_lower", "weight", "substr_match")
_COND_NAMES = ("grading_details", "ans_str", "ans_re", "response_str")


def lint_blanks(lint: Lint, blanks: Node, path: str) -> float | None:
    """Note what is wrong with a `blank_filling` mapping; return its total, None where a post handler may change it."""
    if not blanks.is_mapping:
        lint.report(NOT_A_MAPPING, blanks, path, "`blank_filling` must be a mapping.")
        return None
    lint.unknown_keys(blanks, _KEYS, path)
    for key in ("template", "blank_str", "escape", "prefix"):
        node = blanks.get(key)
        if node is not None and not node.is_text:
            lint.report(NOT_TEXT, node, join(path, key), f"`{key}` must be text.")
    targets = blanks.get("targets")
    if targets is None or not targets.is_list:
        lint.report(
            NOT_A_LIST, targets or blanks, join(path, "targets"), "`targets` must be a list, one entry per blank."
        )
        return None
    _lint_template(lint, blanks, path, len(targets.items))
    escape = _text(blanks, "escape", DEFAULT_ESCAPE)
    total = 0.0
    for index, target in enumerate(targets.items):
        total += _lint_target(lint, target, f"{join(path, 'targets')}[{index}]", escape)
    return None if "post_handler" in blanks.fields else total


def _text(owner: Node, key: str, default: str) -> str:
    node = owner.get(key)
    return node.content if node is not None and isinstance(node.content, str) else default


def blank_offsets(template: str, blank: str) -> tuple[int, ...]:
    """Return where the blanks start, overlapping ones included. `blank` must not be empty."""
    offsets: list[int] = []
    start = template.find(blank)
    while start >= 0:
        offsets.append(start)
        start = template.find(blank, start + 1)
    return tuple(offsets)


def _lint_template(lint: Lint, blanks: Node, path: str, targets: int) -> None:
    node = blanks.get("template")
    if node is None or not isinstance(node.content, str) or not node.content:
        lint.report(NO_TEMPLATE, node or blanks, path, "There is no `template` to compare the response with.")
        return
    blank, template, template_path = _text(blanks, "blank_str", DEFAULT_BLANK), node.content, join(path, "template")
    if not blank:
        lint.report(
            BAD_BLANK, blanks.fields["blank_str"], join(path, "blank_str"), "The blank placeholder is empty.", "''"
        )
        return
    offsets = blank_offsets(template, blank)
    if len(offsets) != targets:
        message = f"The template contains {len(offsets)} blank(s) {blank!r}, but there are {targets} target(s)."
        lint.report(COUNT, node, template_path, message)
    if any(later - earlier < len(blank) for earlier, later in itertools.pairwise(offsets)):
        lint.report(OVERLAP, node, template_path, "Blanks overlap.")
    if offsets and template.endswith(blank):
        lint.report(
            AT_END, node, template_path, "The template ends with a blank, which makes the grading fail.", template[-40:]
        )
    if offsets and offsets[0] == 0:
        message = "The template starts with a blank; the first characters of its answer are lost in the comparison."
        lint.report(AT_START, node, template_path, message, template[:40])


def _lint_target(lint: Lint, target: Node, path: str, escape: str) -> float:
    """Check one target; return its weight."""
    if not target.is_mapping:
        _lint_answer_text(lint, target, path, escape)
        return 1.0
    lint.unknown_keys(target, _TARGET_KEYS, path)
    weight = lint.weight(target, path)
    lowered, substring = lint.switch(target, "to_lower", path), lint.switch(target, "substr_match", path)
    regex, cond, content = target.get("regex"), target.get("cond"), target.get("content")
    if regex is not None and regex.content:
        lint.report(TARGET_REGEX, regex, join(path, "regex"), "`regex` next to the target's `content` is ignored.")
    if cond is not None:
        lint.report(TARGET_COND, cond, join(path, "cond"), "`cond` next to the target's `content` is ignored.")
    if content is None:
        lint.report(NO_CONTENT, target, path, "The target has no `content`.", ", ".join(target.fields))
    else:
        _lint_content(lint, content, join(path, "content"), "" if substring else escape, lowered=lowered)
    return weight


def _lint_content(lint: Lint, content: Node, path: str, escape: str, *, lowered: bool) -> None:
    if content.is_mapping:
        keys = ", ".join(content.fields)
        message = f"A mapping as content is read as its keys: only the literal answer {keys!r} matches this blank."
        lint.report(DICT_CONTENT, content, path, message, keys)
    elif not content.is_list:
        _lint_answer_text(lint, content, path, escape)
    elif not content.items:
        lint.report(NO_ANSWER, content, path, "No answer is accepted, so no response can match this blank.", "[]")
    for index, answer in enumerate(content.items):
        _lint_answer(lint, answer, f"{path}[{index}]", escape, lowered=lowered)


def _lint_answer(lint: Lint, answer: Node, path: str, escape: str, *, lowered: bool) -> None:
    if not answer.is_mapping:
        _lint_answer_text(lint, answer, path, escape)
        return
    lint.unknown_keys(answer, _ANSWER_KEYS, path)
    _lint_ignored(lint, answer, path, lowered=lowered)
    content, cond = answer.get("content"), answer.get("cond")
    if content is None:
        lint.report(NO_CONTENT, answer, path, "The answer has no `content`.", ", ".join(answer.fields))
    elif lint.switch(answer, "regex", path) and content.is_text:
        lint.pattern(content, join(path, "content"), lowered=lowered)
    else:
        _lint_answer_text(lint, content, join(path, "content"), escape)
    if cond is not None:
        lint.condition(cond, join(path, "cond"), _COND_NAMES)


def _lint_ignored(lint: Lint, answer: Node, path: str, *, lowered: bool) -> None:
    lower, weight, substring = answer.get("to_lower"), answer.get("weight"), answer.get("substr_match")
    if lower is not None and bool(lower.content) != lowered:
        lint.report(NESTED_LOWER, lower, join(path, "to_lower"), "`to_lower` inside an answer is ignored.")
    if weight is not None and as_number(weight) != 1.0:
        lint.report(NESTED_WEIGHT, weight, join(path, "weight"), "`weight` inside an answer is ignored.")
    if substring is not None and substring.content:
        lint.report(
            NESTED_SUBSTRING, substring, join(path, "substr_match"), "`substr_match` inside an answer is ignored."
        )


def _lint_answer_text(lint: Lint, node: Node, path: str, escape: str) -> None:
    if not isinstance(node.content, str):
        lint.report(NOT_TEXT, node, path, "An accepted answer must be text.")
    elif node.content != node.content.strip(escape):
        message = "These characters at the ends of the response's text are stripped, so the answer can never be equal."
        lint.report(STRIPPED, node, path, message, repr(node.content))
