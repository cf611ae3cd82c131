"""What a `unit_test` or `customized` mapping says that cannot be run."""

from __future__ import annotations

from judging.specs.files.findings import error_rule, warning_rule
from judging.specs.files.yaml_reading import Node
from judging.specs.lint.lint_keywords import EMPTY_LIST
from judging.specs.lint.lint_notes import NOT_A_LIST, NOT_A_MAPPING, NOT_TEXT, Lint, join

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
INFIBENCH_LANGS = frozenset(
    {"python", "javascript", "js", "typescript", "ts", "java", "r", "go", "c#", "c-sharp", "csharp", "cs"}
    | {"c", "c++", "cpp", "c/c++", "c++/c", "cpp/c", "c/cpp"}
)
OTHER_LANGS = frozenset({"rust", "ruby", "php", "bash", "sql"})
_NAMES = ("python", "javascript", "typescript", "java", "c", "c++", "c#", "r", "go", *sorted(OTHER_LANGS))
UNKNOWN_LANG = error_rule("unknown-test-lang", f"Write one of: {', '.join(_NAMES)}.")

_KEYS = ("lang", "tests")
_TEST_KEYS = ("path", "content", "prefix", "prefix_path", "cleanup_path", "weight", "timeout", "only_longest")
_CUSTOM_KEYS = ("module", "func", "real_metric_type")


def lint_unit_tests(lint: Lint, unit_test: Node, path: str, case_lang: str) -> float | None:
    """Note what is wrong with a `unit_test` mapping; return its total, None where it cannot be known."""
    if not unit_test.is_mapping:
        lint.report(NOT_A_MAPPING, unit_test, path, "`unit_test` must be a mapping.")
        return None
    lint.unknown_keys(unit_test, _KEYS, path)
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
    for key in ("path", "content", "prefix", "prefix_path", "cleanup_path"):
        node = test.get(key)
        if node is not None and not node.is_text:
            lint.report(NOT_TEXT, node, join(path, key), f"`{key}` must be text.")
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
    if not custom.is_mapping:
        lint.report(NOT_A_MAPPING, custom, path, "`customized` must be a mapping.")
        return
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
