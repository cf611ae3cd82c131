"""One small case per rule of the linter: its code, its severity, its line."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Problem, Severity
from judging.specs.suites.suites_yaml import parse_suite

HEAD = "id: x\nprompt: p\ntype: code completion\nlang: python\ngrading:\n"  # the grading starts on line 6
ERROR, WARNING = Severity.ERROR, Severity.WARNING


def lint(text: str, **files: str) -> tuple[Problem, ...]:
    """Return the remarks on one case, without the one that there is no suite file."""
    bundle = Bundle(
        {"x.yaml": text.encode()} | {name.replace("__", "."): data.encode() for name, data in files.items()}
    )
    problems = parse_suite(bundle, missing_files="warn").problems
    return tuple(problem for problem in problems if problem.code != "no-suite-file")


def short(problems: tuple[Problem, ...]) -> list[tuple[str, Severity, str]]:
    return [(problem.code, problem.severity, problem.place.split(",")[0]) for problem in problems]


KEYWORDS = [
    ("  keywords: foo\n", "not-a-list", ERROR, 6),
    ("  keywords: []\n  similarity: [{metric: rouge1, references: [a]}]\n", "empty-criterion", WARNING, 6),
    ("  keywords:\n  - 5\n", "not-text", ERROR, 7),
    ("  keywords:\n  - true\n", "not-text", ERROR, 7),
    ("  keywords:\n  - content: 5\n", "not-text", ERROR, 7),
    ("  keywords:\n  - content:\n", "not-text", ERROR, 7),
    ("  keywords:\n  - ''\n", "keyword-empty", WARNING, 7),
    ("  keywords:\n  - weight: 2\n", "keyword-without-content", ERROR, 7),
    ("  keywords:\n  - content: {regex: true}\n", "keyword-without-content", ERROR, 7),
    ("  keywords:\n  - or: [a, b]\n", "keyword-or-at-rule-level", WARNING, 7),
    ("  keywords:\n  - content: a\n    or: [b]\n", "keyword-branch-ignored", WARNING, 8),
    ("  keywords:\n  - content: {or: [a], and: [b]}\n", "keyword-branch-ignored", WARNING, 7),
    ("  keywords:\n  - content:\n      or: []\n", "empty-or", WARNING, 8),
    ("  keywords:\n  - content:\n      and: []\n", "empty-and", WARNING, 8),
    ("  keywords:\n  - content:\n      or: abc\n", "not-a-list", ERROR, 8),
    ("  keywords:\n  - content: a\n    regex: true\n", "rule-regex-ignored", WARNING, 8),
    ("  keywords:\n  - content: a\n    cond: ans\n", "rule-cond-ignored", WARNING, 8),
    ("  keywords:\n  - content:\n      content: a\n      to_lower: true\n", "nested-to-lower-ignored", WARNING, 9),
    ("  keywords:\n  - content:\n      content: a\n      weight: 2\n", "nested-weight-ignored", WARNING, 9),
    ("  keywords:\n  - content: {or: [{content: a, weight: 0.5}]}\n", "nested-weight-ignored", WARNING, 7),
    ("  keywords:\n  - content:\n      content: a\n      neg: true\n", "nested-neg-ignored", WARNING, 9),
    ("  keywords:\n  - content: a\n    wieght: 2\n", "unknown-key", WARNING, 8),
    ("  keywords:\n  - content: a\n    weight: heavy\n", "not-a-number", ERROR, 8),
    ("  keywords:\n  - b\n  - b2\n  - content: a\n    weight: -1\n", "negative-weight", WARNING, 10),
    ("  keywords:\n  - content: a\n    to_lower: 'false'\n", "text-as-switch", WARNING, 8),
    ("  keywords:\n  - content: {content: '(', regex: true}\n", "bad-regex", ERROR, 7),
    ("  keywords:\n  - content: {regex: true, or: [{and: ['[']}]}\n", "bad-regex", ERROR, 7),
    ("  keywords:\n  - content: {content: 'a\\S', regex: true}\n    to_lower: true\n", "regex-lowercased", WARNING, 7),
    ("  keywords:\n  - content: {content: a, cond: 'ans ='}\n", "bad-cond", ERROR, 7),
    ("  keywords:\n  - content: {content: a, cond: 1}\n", "not-text", ERROR, 7),
    ("  keywords:\n  - content: {content: a, cond: 'len(response) > 3'}\n", "cond-name", WARNING, 7),
    ("  keywords:\n  - content: {content: a, cond: \"context[-1] == 'match'\"}\n", "cond-index", WARNING, 7),
    ("  keywords:\n  - a\n  - content: {content: a, cond: \"context[1] == 'match'\"}\n", "cond-index", WARNING, 8),
    ("  keywords:\n  - a\n  - post_handler:\n      func: m\n", "handler-incomplete", ERROR, 9),
]

TARGETS = "  blank_filling:\n    template: a [blank].\n    targets:\n"  # the first target is on line 9

BLANKS = [
    ("  blank_filling: x\n", "not-a-mapping", ERROR, 6),
    ("  blank_filling:\n    targets: [a]\n", "blank-without-template", ERROR, 7),
    ("  blank_filling:\n    template: a [blank].\n", "not-a-list", ERROR, 7),
    ("  blank_filling:\n    template: a [blank].\n    targets: [a, b]\n", "blank-count", ERROR, 7),
    ("  blank_filling:\n    template: a [blank]\n    targets: [a]\n", "blank-at-end", ERROR, 7),
    ("  blank_filling:\n    template: '[blank] is ok'\n    targets: [a]\n", "blank-at-start", WARNING, 7),
    ("  blank_filling:\n    template: x aaa y\n    blank_str: aa\n    targets: [a, b]\n", "blank-overlap", ERROR, 7),
    ("  blank_filling:\n    template: x\n    blank_str: ''\n    targets: [a]\n", "blank-mark", ERROR, 8),
    (TARGETS + "    - weight: 1\n", "target-without-content", ERROR, 9),
    (TARGETS + "    - content: [{regex: true}]\n", "target-without-content", ERROR, 9),
    (TARGETS + "    - content: {or: [x]}\n", "blank-dict-content", WARNING, 9),
    (TARGETS + "    - content: []\n", "blank-no-answer", WARNING, 9),
    (TARGETS + "    - 'x '\n", "blank-answer-stripped", WARNING, 9),
    (TARGETS + "    - 5\n", "not-text", ERROR, 9),
    (TARGETS + "    - {content: x, regex: true}\n", "target-regex-ignored", WARNING, 9),
    (TARGETS + "    - {content: x, cond: ans_re}\n", "target-cond-ignored", WARNING, 9),
    (TARGETS + "    - content: [{content: x, to_lower: true}]\n", "answer-to-lower-ignored", WARNING, 9),
    (TARGETS + "    - content: [{content: x, weight: 2}]\n", "answer-weight-ignored", WARNING, 9),
    (TARGETS + "    - content: [{content: x, substr_match: 1}]\n", "answer-substr-match-ignored", WARNING, 9),
    (TARGETS + "    - content: [{content: '(', regex: true}]\n", "bad-regex", ERROR, 9),
    ("  blank_filling:\n    template: a [blank].\n    escape: 5\n    targets: [x]\n", "not-text", ERROR, 8),
]

PROGRAMS = [
    ("  unit_test: []\n  keywords: [a]\n", "not-a-mapping", ERROR, 6),
    ("  unit_test:\n    lang: python\n", "not-a-list", ERROR, 7),
    ("  unit_test:\n    lang: Python\n    tests: [a]\n", "unknown-test-lang", ERROR, 7),
    ("  unit_test:\n    lang: cobol\n    tests: [a]\n", "unknown-test-lang", ERROR, 7),
    ("  unit_test:\n    lang: rust\n    tests: [a]\n", "test-lang-not-in-infibench", WARNING, 7),
    ("  unit_test:\n    tests:\n    - weight: 2\n", "test-without-code", ERROR, 8),
    ("  unit_test:\n    tests:\n    - 7\n", "not-text", ERROR, 8),
    ("  unit_test:\n    tests:\n    - {content: a, timeout: 0}\n", "bad-timeout", ERROR, 8),
    ("  unit_test:\n    tests:\n    - {content: a, prefix: x = 1}\n", "prefix-lost", WARNING, 8),
    ("  unit_test:\n    tests:\n    - {path: gone.py}\n", "missing-file", WARNING, 8),
    ("  unit_test:\n    tests: []\n  keywords: [a]\n", "empty-criterion", WARNING, 7),
    ("  customized:\n    func: f\n", "handler-incomplete", ERROR, 7),
    ("  customized: f\n", "not-a-mapping", ERROR, 6),
]

SIMILARITY = [
    ("  similarity: {metric: rouge1}\n", "not-a-list", ERROR, 6),
    ("  similarity:\n  - rouge1\n", "not-a-mapping", ERROR, 7),
    ("  similarity:\n  - {metric: bleu, references: [a]}\n", "unknown-metric", ERROR, 7),
    ("  similarity:\n  - {metric: rouge1}\n", "similarity-without-reference", ERROR, 7),
    ("  similarity:\n  - {metric: rouge1, references: [5]}\n", "not-text", ERROR, 7),
    ("  similarity:\n  - {metric: rouge1, references: [a], max_score: 0.3}\n", "similarity-range", ERROR, 7),
    ("  similarity:\n  - {metric: rouge1, references: [你好]}\n", "reference-without-words", WARNING, 7),
    (
        "  similarity:\n  - {metric: rouge1, references: [用 pd 读取这个数据文件]}\n",
        "reference-without-words",
        WARNING,
        7,
    ),
]

TOTALS = [
    ("  keywords:\n  - {content: a, weight: 0}\n", "total-zero", ERROR, 6),
    ("  keywords:\n  - {content: a, neg: true}\n", "total-zero", ERROR, 6),
    ("  keywords: [a]\n  max_score: 0\n", "total-zero", ERROR, 7),
    ("  keywords: [a]\n  max_score: 2\n", "max-score-above-sum", WARNING, 7),
    ("  keywords: [a]\n  min_score: 2\n", "min-score-above-max", WARNING, 7),
    ("  keywords: [a]\n  max_score: all\n", "not-a-number", ERROR, 7),
    ("  keyword: [a]\n  keywords: [a]\n", "unknown-key", WARNING, 6),
    ("  max_score: 1\n", "no-criterion", WARNING, 6),
]


@pytest.mark.parametrize(("grading", "code", "severity", "line"), KEYWORDS + BLANKS + PROGRAMS + SIMILARITY + TOTALS)
def test_lint_notes_once_with_its_line(grading: str, code: str, severity: Severity, line: int) -> None:
    problems = lint(HEAD + grading)

    assert short(problems) == [(code, severity, f"line {line}")]
    assert problems[0].file == "x.yaml"
    assert problems[0].hint


def test_lint_places_name_the_key_path_and_quote_the_text() -> None:
    [problem] = lint(HEAD + "  keywords:\n  - a\n  - content:\n      or:\n      - {content: b, weight: 3}\n")

    assert problem.place == "line 10, grading.keywords[1].content.or[0].weight"
    assert problem.offending == "3"


@pytest.mark.parametrize(
    "grading",
    [
        "  keywords: [a, {content: b, weight: '2', to_lower: true, neg: false}]\n",
        "  keywords:\n  - {content: {content: a, to_lower: true, weight: 1.0}, to_lower: true}\n",
        "  keywords:\n  - a\n  - content: {content: b, cond: \"context[-1].startswith('match')\"}\n",
        "  keywords:\n  - content: {and: [a, {or: [b, {content: 'c+', regex: true}]}]}\n",
        "  blank_filling: {template: 'a [blank] [blank].', targets: [a, {content: [b, {content: .c, regex: true}]}]}\n",
        "  blank_filling: {template: a __ b, blank_str: __, targets: [{content: ' x', substr_match: true}]}\n",
        "  unit_test:\n    lang: c++\n    tests: [{content: a, only_longest: true, timeout: 5, weight: 2}, b]\n",
        "  similarity:\n  - {metric: rougeLsum, references: [one text, {content: another}], weight: 0.5}\n",
        "  keywords: [a, b]\n  max_score: 1.0\n  min_score: 0.0\n",
    ],
)
def test_lint_is_silent_on_sound_grading(grading: str) -> None:
    assert lint(HEAD + grading) == ()


def test_lint_warns_of_handlers_that_overrule_each_other() -> None:
    handler = "post_handler: {module: m, func: f}"

    problems = lint(HEAD + f"  keywords:\n  - a\n  - {{{handler}, weight: 1}}\n  - {{{handler}}}\n", m__py="x")

    assert short(problems) == [
        ("post-handler-with-content", WARNING, "line 8"),
        ("several-post-handlers", WARNING, "line 9"),
    ]


def test_lint_warns_of_content_beside_the_path_of_a_test() -> None:
    problems = lint(HEAD + "  unit_test:\n    tests:\n    - {path: t.py, content: b}\n", t__py="assert True")

    assert short(problems) == [("test-content-ignored", WARNING, "line 8")]


def test_lint_warns_of_an_unknown_report_type_of_a_custom_metric() -> None:
    text = "  customized: {module: m, func: f, real_metric_type: bleu}\n"

    assert short(lint(HEAD + text, m__py="x")) == [("unknown-metric-type", WARNING, "line 6")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id: x\nprompt: p\n", [("no-grading", WARNING, "line 1")]),
        ("id: x\nprompt: p\nlang: c\ngrading: {keywords: [a]}\n", [("missing-type", WARNING, "line 1")]),
        ("id: x\nprompt: p\ntype: essay\nlang: c\ngrading: {keywords: [a]}\n", [("unknown-type", WARNING, "line 3")]),
        ("id: x\nprompt: p\ntype: code debugging\ngrading: {keywords: [a]}\n", [("missing-lang", WARNING, "line 1")]),
        (
            "id: x\nprompt: p\ntype: code debugging\ngrading: {unit_test: {tests: [a]}}\n",
            [("missing-lang", WARNING, "line 1"), ("unit-test-without-lang", ERROR, "line 4")],
        ),
        ("id: x\nprompt: p\ngrading: [a]\n", [("not-a-mapping", ERROR, "line 3")]),
        ("id: x\ngrading: {}\nprompt: ' '\n", [("no-grading", WARNING, "line 2"), ("empty-prompt", WARNING, "line 3")]),
        (HEAD + "  keywords: [a]\nweight: 2\n", [("weight-in-case-file", WARNING, "line 7")]),
        (HEAD + "  keywords: [a]\nnull_score: 2\n", [("null-score-above-full", WARNING, "line 7")]),
        (HEAD + "  keywords: [a]\nfull_score: much\n", [("not-a-number", ERROR, "line 7")] * 2),
    ],
)
def test_lint_case(text: str, expected: list[tuple[str, Severity, str]]) -> None:
    assert short(lint(text)) == expected


def test_lint_stops_listing_problems_at_a_limit() -> None:
    problems = lint(HEAD + "  keywords:\n" + "  - 1\n" * 5000)

    assert (len(problems), problems[-1].code, problems[-1].severity) == (201, "more-problems", ERROR)
    assert problems[-1].message.startswith("4,800 more")


def test_lint_refuses_errors_behind_any_number_of_warnings() -> None:
    text = HEAD + "  keywords:\n" + "  - ''\n" * 3000 + "  - 1\n"

    parsed = parse_suite(Bundle({"x.yaml": text.encode()}))

    assert parsed.value is None
    assert [problem.code for problem in parsed.errors] == ["not-text"]


_scalars = st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "a", "[blank]", "(", "context[-1]"])
_KEYS = """keywords blank_filling unit_test similarity customized max_score min_score post_handler content or and
regex cond weight to_lower neg template targets escape blank_str tests path prefix_path lang metric references module
func"""
_keys = st.sampled_from(_KEYS.split())
_trees = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=25,
)


@given(st.dictionaries(_keys, _trees, max_size=5))
def test_lint_never_raises_on_any_tree(grading: dict[str, object]) -> None:
    text = yaml.safe_dump({"id": "x", "prompt": "p", "lang": "python", "grading": grading})

    parsed = parse_suite(Bundle({"x.yaml": text.encode()}))

    assert (parsed.value is None) == bool(parsed.errors)
