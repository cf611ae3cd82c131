"""Hints about suites that can be read but hardly mean what they say."""

from __future__ import annotations

import ast
import difflib
import itertools
import re
import warnings
from collections.abc import Collection
from dataclasses import dataclass

from evalsite.base.formats import finite_number
from judging.specs.files.findings import Findings, Rule, at_line, error_rule, warning_rule
from judging.specs.files.yaml_files import Node

NOT_A_NUMBER = error_rule("not-a-number", "Write a number, without quotes.")
NOT_A_LIST = error_rule("not-a-list", "Write a list with one entry per line, each starting with a dash.")
NOT_A_MAPPING = error_rule("not-a-mapping", "Write `key: value` lines.")
NOT_TEXT = error_rule("not-text", "Put quotes around it.")
NEGATIVE_WEIGHT = warning_rule("negative-weight", "To deduct points for a wrong answer, write `neg: true`.")
TEXT_AS_SWITCH = warning_rule("text-as-switch", "Write true or false without quotes.")
UNKNOWN_KEY = warning_rule("unknown-key", "Remove it, or correct its spelling.")
BAD_REGEX = error_rule("bad-regex", "Correct the regular expression; in double quotes, write every backslash twice.")
REGEX_LOWERED = warning_rule(
    "regex-lowercased", "Drop to_lower and write (?i) at the start of the regular expression instead."
)
BAD_COND = error_rule("bad-cond", "Write one Python expression, such as context[-1] == 'match'.")
COND_NAME = warning_rule("cond-name", "Use only names that are documented for the format.")

_MAX_PATTERN = 5000
_MAX_COND = 1000
_UPPER_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\[SWDBAZ]")


def join(path: str, key: str) -> str:
    """Return the key path of an entry of a mapping."""
    return f"{path}.{key}" if path else key


@dataclass(slots=True)
class Lint:
    """The linter's pen: the file it reads and where its remarks go."""

    findings: Findings
    file: str

    def report(self, rule: Rule, node: Node, path: str, message: str, offending: object = None) -> None:
        """Note one problem at a node; quotes the node's own text unless another is given."""
        shown = node.raw if offending is None else offending
        self.findings.add(rule, self.file, at_line(node.line, path), message, shown)

    def number(self, owner: Node, key: str, path: str, default: float) -> float:
        """Return the number at a key, or the default where it is absent or, with an error, unreadable."""
        node = owner.get(key)
        if node is None:
            return default
        value = as_number(node)
        if value is None:
            self.report(NOT_A_NUMBER, node, join(path, key), f"`{key}` must be a number.")
            return default
        return value

    def weight(self, owner: Node, path: str) -> float:
        """Return the weight of a rule, blank, test or metric; 1 where none is given."""
        value = self.number(owner, "weight", path, 1.0)
        if value < 0:
            message = "A negative weight lowers the highest possible score and rewards responses that do not match."
            self.report(NEGATIVE_WEIGHT, owner.fields["weight"], join(path, "weight"), message)
        return value

    def switch(self, owner: Node, key: str, path: str, inherited: bool = False) -> bool:
        """Return whether a switch is on; any text that is not empty is, "false" too, which is warned of."""
        node = owner.get(key)
        if node is None:
            return inherited
        if node.is_text:
            message = f"`{key}` is text here, and every non-empty text counts as true."
            self.report(TEXT_AS_SWITCH, node, join(path, key), message)
        return bool(node.content)

    def misspelt(self, key: str, node: Node, known_keys: Collection[str], path: str) -> bool:
        """Warn of a key that nothing reads and that is nearly a known one; return whether it is."""
        close_keys = difflib.get_close_matches(key, sorted(known_keys), n=1)
        if close_keys:
            message = f"`{key}` has no effect; did you mean `{close_keys[0]}`?"
            self.report(UNKNOWN_KEY, node, join(path, key), message, key)
        return bool(close_keys)

    def unknown_keys(self, owner: Node, known_keys: Collection[str], path: str) -> None:
        """Warn of keys that nothing reads, with the nearest known one."""
        for key, node in owner.fields.items():
            if key not in known_keys and not self.misspelt(key, node, known_keys, path):
                self.report(UNKNOWN_KEY, node, join(path, key), f"`{key}` has no effect.", key)

    def texts(self, owner: Node, keys: Collection[str], path: str) -> None:
        """Check that what is given at these keys is text."""
        for key in keys:
            node = owner.get(key)
            if node is not None and not node.is_text:
                self.report(NOT_TEXT, node, join(path, key), f"`{key}` must be text.")

    def ignored(self, owner: Node, rules: dict[str, Rule], path: str, where: str, *, lowered: bool = False) -> None:
        """Warn of keys that are not read at this place and ask for something else than what holds there."""
        for key, rule in rules.items():
            node = owner.get(key)
            if node is not None and _asks_else(key, node, lowered):
                self.report(rule, node, join(path, key), f"`{key}` {where} is ignored.")

    def pattern(self, node: Node, path: str, *, lowered: bool) -> None:
        """Check that a regular expression compiles, and survives lower-casing where that is asked for."""
        pattern = str(node.content)
        if lowered and _UPPER_ESCAPE.search(pattern):
            message = "to_lower also lower-cases the expression, which reverses classes such as \\S."
            self.report(REGEX_LOWERED, node, path, message)
        fault = regex_fault(pattern.lower() if lowered else pattern)
        if fault:
            self.report(BAD_REGEX, node, path, f"The regular expression does not compile: {fault}.")

    def condition(self, node: Node, path: str, names: Collection[str]) -> ast.Expression | None:
        """Return the parsed condition; None, with an error, where it is not an expression."""
        if not isinstance(node.content, str):
            self.report(NOT_TEXT, node, path, "`cond` must be text.")
            return None
        tree = parse_condition(node.content)
        if tree is None:
            self.report(BAD_COND, node, path, "This condition is not a valid Python expression.")
            return None
        for name in sorted({part.id for part in ast.walk(tree) if isinstance(part, ast.Name)} - set(names) - _CALLS):
            message = f"The condition uses `{name}`, which is not among {', '.join(sorted(names))}."
            self.report(COND_NAME, node, path, message)
        return tree


def _asks_else(key: str, node: Node, lowered: bool) -> bool:
    if key == "cond":
        return True
    if key == "weight":
        return as_number(node) != 1.0
    return bool(node.content) != (lowered and key == "to_lower")


_CALLS = frozenset({"len", "any", "all", "sum", "min", "max", "abs", "int", "float", "str", "bool"})


def as_number(node: Node) -> float | None:
    """Return a finite number, also one written in quotes; None for anything else, truth values included."""
    value = node.content
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    return finite_number(value)


def regex_fault(pattern: str) -> str:
    """Return why a regular expression cannot be used; empty if it can."""
    if len(pattern) > _MAX_PATTERN:
        return f"it is longer than {_MAX_PATTERN} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError) as failure:
        return str(failure)
    except RecursionError:
        return "it is nested too deeply"
    return ""


def parse_condition(text: str) -> ast.Expression | None:
    """Return the syntax tree of an expression; None where there is none. Nothing is evaluated."""
    if len(text) > _MAX_COND:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


DEFAULT_BLANK = "[blank]"
DEFAULT_ESCAPE = " '\"`"

NO_TEMPLATE = error_rule("blank-without-template", "Give `template`, a text that contains the blank placeholders.")
BAD_BLANK = error_rule("blank-mark", "Give a `blank_str` of at least one character, such as [blank].")
COUNT = error_rule("blank-count", "Write one target per blank, in order.")
AT_END = error_rule("blank-at-end", "Add text after the last blank of the template, for example a full stop.")
AT_START = warning_rule("blank-at-start", "Add some text before the first blank.")
OVERLAP = error_rule("blank-overlap", "Choose a `blank_str` that cannot overlap itself.")
NO_ACCEPTED_ANSWER = error_rule("target-without-content", "Give `content`: a text, or a list of accepted texts.")
DICT_CONTENT = warning_rule("blank-dict-content", "Write a list of accepted answers instead of a mapping.")
NO_ANSWER = warning_rule("blank-no-answer", "List at least one accepted answer.")
STRIPPED = warning_rule("blank-answer-stripped", "Remove these characters from the answer, or set `escape`.")
TARGET_REGEX = warning_rule("target-regex-ignored", "Nest it: content: [{content: …, regex: true}].")
TARGET_COND = warning_rule("target-cond-ignored", "Nest it: content: [{content: …, cond: …}].")
ANSWER_LOWER = warning_rule("answer-to-lower-ignored", "Move to_lower next to the target's `content`.")
ANSWER_WEIGHT = warning_rule("answer-weight-ignored", "Move weight next to the target's `content`.")
NESTED_SUBSTRING = warning_rule("answer-substr-match-ignored", "Move substr_match next to the target's `content`.")

_BLANK_KEYS = ("template", "blank_str", "escape", "prefix", "targets", "post_handler")
_TARGET_KEYS = ("content", "weight", "to_lower", "substr_match", "regex", "cond")
_ANSWER_KEYS = ("content", "regex", "cond", "to_lower", "weight", "substr_match")
_NOT_IN_ANSWERS = {"to_lower": ANSWER_LOWER, "weight": ANSWER_WEIGHT, "substr_match": NESTED_SUBSTRING}
_ANSWER_COND_NAMES = ("grading_details", "ans_str", "ans_re", "response_str")


def lint_blanks(lint: Lint, blanks: Node, path: str) -> float | None:
    """Note what is wrong with a `blank_filling` mapping; return its total, None where a post handler may change it."""
    lint.unknown_keys(blanks, _BLANK_KEYS, path)
    lint.texts(blanks, ("template", "blank_str", "escape", "prefix"), path)
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
    lint.ignored(target, {"regex": TARGET_REGEX, "cond": TARGET_COND}, path, "next to the target's `content`")
    content = target.get("content")
    if content is None:
        lint.report(NO_ACCEPTED_ANSWER, target, path, "The target has no `content`.", ", ".join(target.fields))
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
    lint.ignored(answer, _NOT_IN_ANSWERS, path, "inside an answer", lowered=lowered)
    content, cond = answer.get("content"), answer.get("cond")
    if content is None:
        lint.report(NO_ACCEPTED_ANSWER, answer, path, "The answer has no `content`.", ", ".join(answer.fields))
    elif lint.switch(answer, "regex", path) and content.is_text:
        lint.pattern(content, join(path, "content"), lowered=lowered)
    else:
        _lint_answer_text(lint, content, join(path, "content"), escape)
    if cond is not None:
        lint.condition(cond, join(path, "cond"), _ANSWER_COND_NAMES)


def _lint_answer_text(lint: Lint, node: Node, path: str, escape: str) -> None:
    if not isinstance(node.content, str):
        lint.report(NOT_TEXT, node, path, "An accepted answer must be text.")
    elif node.content != node.content.strip(escape):
        message = "These characters at the ends of the response's text are stripped, so the answer can never be equal."
        lint.report(STRIPPED, node, path, message, repr(node.content))


UNKNOWN_METRIC = error_rule("unknown-metric", "Write one of: rouge1, rouge2, rougeL, rougeLsum.")
NO_REFERENCE = error_rule("similarity-without-reference", "List at least one reference: a text, or `path: file`.")
BAD_RANGE = error_rule("similarity-range", "Set max_score greater than min_score.")
NO_WORDS = warning_rule(
    "reference-without-words", "ROUGE reads only the letters a-z and digits; use another criterion."
)

MOSTLY = 0.75  # of a text: below, words that are not read may decide
METRICS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
DEFAULT_MIN = 0.3
DEFAULT_MAX = {"rouge1": 0.53}  # 0.51 for the others

_METRIC_KEYS = ("metric", "references", "min_score", "max_score", "weight")


def _lint_metric(lint: Lint, item: Node, path: str) -> float:
    """Check one metric; return its weight."""
    if not item.is_mapping:
        lint.report(NOT_A_MAPPING, item, path, "Each metric must be a mapping with `metric` and `references`.")
        return 1.0
    lint.unknown_keys(item, _METRIC_KEYS, path)
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
    elif problem := unread_words(reference.content):
        lint.report(NO_WORDS, reference, path, problem)


def unread_words(text: str) -> str:
    """Return what ROUGE misses of a reference, in a sentence; empty where it reads most of it.

    Its tokenizer finds runs of a-z and 0-9 after lower-casing: two Chinese sentences with one English word are equal.
    """
    letters = [letter for letter in text.lower() if letter.isalnum()]
    read = sum(letter.isascii() for letter in letters)
    if not read:
        return "This reference has no words that ROUGE can read, so every score is 0."
    if read < MOSTLY * len(letters):
        return (
            f"ROUGE reads {read} of the {len(letters)} letters and digits of this reference; a response that differs "
            "only in the others gets a full score."
        )
    return ""


NO_LANG = error_rule("unit-test-without-lang", "Give `lang`, in the case or next to the tests.")
OTHER_LANG = warning_rule(
    "test-lang-not-in-infibench", "Scores for it cannot be compared with those of InfiBench's own grader."
)
NO_CODE = error_rule("test-without-code", "Give `path` or `content`.")
CONTENT_IGNORED = warning_rule("test-content-ignored", "Keep either `path` or `content`.")
PREFIX_LOST = warning_rule("prefix-lost", "Use prefix_path, which is put before the extracted code.")
BAD_TIMEOUT = error_rule("bad-timeout", "Give the time limit in seconds, more than 0.")
NO_FUNCTION = error_rule("handler-incomplete", "Give both `module` and `func`.")
UNKNOWN_METRIC_TYPE = warning_rule(
    "unknown-metric-type", "Write one of: keywords, blank_filling, unit_test, similarity."
)

CRITERIA = ("keywords", "blank_filling", "unit_test", "similarity", "customized")
_LISTED = {"keywords": "a list of rules", "similarity": "a list of metrics"}  # the others are mappings
INFIBENCH_LANGS = frozenset(
    {"python", "javascript", "js", "typescript", "ts", "java", "r", "go", "c#", "c-sharp", "csharp", "cs"}
    | {"c", "c++", "cpp", "c/c++", "c++/c", "cpp/c", "c/cpp"}
)
OTHER_LANGS = frozenset({"rust", "ruby", "php", "bash", "sql"})
_LANG_NAMES = ("python", "javascript", "typescript", "java", "c", "c++", "c#", "r", "go", *sorted(OTHER_LANGS))
UNKNOWN_LANG = error_rule("unknown-test-lang", f"Write one of: {', '.join(_LANG_NAMES)}.")

_UNIT_TEST_KEYS = ("lang", "tests")
_TEST_KEYS = ("path", "content", "prefix", "prefix_path", "cleanup_path", "weight", "timeout", "only_longest")
_CUSTOM_KEYS = ("module", "func", "real_metric_type")


def lint_unit_tests(lint: Lint, unit_test: Node, path: str, case_lang: str) -> float | None:
    """Note what is wrong with a `unit_test` mapping; return its total, None where it cannot be known."""
    lint.unknown_keys(unit_test, _UNIT_TEST_KEYS, path)
    _lint_lang(lint, unit_test, path, case_lang)
    tests = unit_test.get("tests")
    if tests is None or not tests.is_list:
        lint.report(NOT_A_LIST, tests or unit_test, join(path, "tests"), "`tests` must be a list.")
        return None
    if not tests.items:
        lint.report(EMPTY_LIST, tests, join(path, "tests"), "`tests` is empty.", "[]")
    return sum(_lint_test(lint, test, f"{join(path, 'tests')}[{index}]") for index, test in enumerate(tests.items))


def _lint_lang(lint: Lint, unit_test: Node, path: str, case_lang: str) -> None:
    node = unit_test.get("lang")
    lang = node.raw if node is not None else case_lang
    lang_node = node or unit_test
    if not lang:
        lint.report(NO_LANG, lang_node, path, "The language of the tests is not given.")
    elif lang in OTHER_LANGS:
        lint.report(OTHER_LANG, lang_node, path, f"InfiBench itself cannot run tests in {lang}.", lang)
    elif lang not in INFIBENCH_LANGS:
        hint = f"; names are lower-case: {lang.lower()}" if lang.lower() in INFIBENCH_LANGS | OTHER_LANGS else ""
        lint.report(UNKNOWN_LANG, lang_node, path, f"Tests cannot be run in {lang!r}{hint}.", lang)


def _lint_test(lint: Lint, test: Node, path: str) -> float:
    """Check one test; return its weight."""
    if not test.is_mapping:
        if not test.is_text:
            lint.report(NOT_TEXT, test, path, "A test must be text, or a mapping with `path` or `content`.")
        return 1.0
    lint.unknown_keys(test, _TEST_KEYS, path)
    weight = lint.weight(test, path)
    lint.switch(test, "only_longest", path)
    if "path" not in test.fields and "content" not in test.fields:
        lint.report(NO_CODE, test, path, "The test has neither `path` nor `content`.", ", ".join(test.fields))
    if "path" in test.fields and "content" in test.fields:
        lint.report(
            CONTENT_IGNORED, test.fields["content"], join(path, "content"), "`content` is ignored next to `path`."
        )
    lint.texts(test, ("path", "content", "prefix", "prefix_path", "cleanup_path"), path)
    _lint_prefix_and_timeout(lint, test, path)
    return weight


def _lint_prefix_and_timeout(lint: Lint, test: Node, path: str) -> None:
    prefix, timeout = test.get("prefix"), test.get("timeout")
    if prefix is not None and isinstance(prefix.content, str) and prefix.content and "```" not in prefix.content:
        message = "`prefix` is put before the response, so it is lost if the code of the response is in a code block."
        lint.report(PREFIX_LOST, prefix, join(path, "prefix"), message)
    if timeout is not None and lint.number(test, "timeout", path, 1.0) <= 0:
        lint.report(BAD_TIMEOUT, timeout, join(path, "timeout"), "The time limit is not positive.")


def lint_customized(lint: Lint, custom: Node, path: str) -> None:
    """Note what is wrong with a `customized` mapping. Its total is only known once it runs."""
    lint.unknown_keys(custom, _CUSTOM_KEYS, path)
    lint_handler(lint, custom, path)
    metric = custom.get("real_metric_type")
    if metric is not None and metric.content not in CRITERIA[:4]:
        message = "The report lists scores under this name, but the name is unknown."
        lint.report(UNKNOWN_METRIC_TYPE, metric, join(path, "real_metric_type"), message)


def lint_handler(lint: Lint, handler: Node, path: str) -> None:
    """Check that a handler names a module and a function."""
    for key in ("module", "func"):
        node = handler.get(key)
        if node is None or not isinstance(node.content, str) or not node.content:
            lint.report(NO_FUNCTION, node or handler, join(path, key), f"`{key}` is missing or not text.")


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
_NODE_KEYS = ("content", "or", "and", "json", "regex", "cond", "to_lower", "weight", "neg")
_NOT_INSIDE_RULES = {"to_lower": NESTED_LOWER, "weight": NESTED_WEIGHT, "neg": NESTED_NEG}
_COND_NAMES = ("ans", "context")


@dataclass(frozen=True, slots=True)
class _LintedRule:
    """What holds for every node of one rule."""

    to_lower: bool
    earlier: int  # how many statuses `context` has by then


def lint_keywords(lint: Lint, rules: Node, path: str) -> float | None:
    """Note what is wrong with a `keywords` list; return its total, None where a post handler may change it."""
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
    lint.ignored(rule, {"regex": RULE_REGEX, "cond": RULE_COND}, path, "next to the rule's `content`")
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
    lint.ignored(node, _NOT_INSIDE_RULES, path, "inside a rule's content", lowered=rule.to_lower)
    regex = lint.switch(node, "regex", path, inherited=regex)
    _lint_branches(lint, node, path, rule, regex=regex)
    cond = node.get("cond")
    if cond is not None:
        _lint_cond(lint, cond, join(path, "cond"), rule)


def _lint_branches(lint: Lint, node: Node, path: str, rule: _LintedRule, *, regex: bool) -> None:
    present = [key for key in ("or", "and", "content") if key in node.fields]
    if not present and "json" in node.fields:
        return
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
    subscripts = [part for part in ast.walk(tree) if isinstance(part, ast.Subscript)]
    used = [part.slice for part in subscripts if isinstance(part.value, ast.Name) and part.value.id == "context"]
    return tuple(index for index in map(_constant, used) if index is not None)


def _constant(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        return None
    return int(value) if isinstance(value, int) else None


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
    listed = _LISTED.get(criterion)
    if not (node.is_list if listed else node.is_mapping):
        rule = NOT_A_LIST if listed else NOT_A_MAPPING
        lint.report(rule, node, path, f"`{criterion}` must be {listed or 'a mapping'}.")
        return None
    if listed and not node.items:
        lint.report(EMPTY_LIST, node, path, f"`{criterion}` is empty.", "[]")
    if criterion == "keywords":
        return lint_keywords(lint, node, path)
    if criterion == "blank_filling":
        return lint_blanks(lint, node, path)
    if criterion == "unit_test":
        return lint_unit_tests(lint, node, path, lang)
    if criterion == "similarity":
        return sum(_lint_metric(lint, item, f"{path}[{index}]") for index, item in enumerate(node.items))
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
