"""Conditions: what holds, what fails, and what is refused."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.grading.rule_graders.conditions import BadCondition, evaluate_condition

NAMES: dict[str, Any] = {"ans": True, "context": ["match", "unmatch"], "rule": {"content": "a"}}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("context[-1].startswith('match')", False),
        ("context[0] == 'match' and ans", True),
        ("len(context) == 2 or nothing", True),
        ("[1]", True),
        ("not ans", False),
        ("all(word == 'match' for word in context)", False),
        ("'match' in context", True),
        ("1 < 2 < 3 and 7 % 4 == 3 and 2 * 3 == 6", True),
        ("rule['content'] == 'a'", True),
        ("  ans", True),
        ("r'\\d' == '\\\\d'", True),
    ],
)
def test_evaluate_condition_gives_pythons_answer(expression: str, expected: bool) -> None:
    assert evaluate_condition(expression, NAMES) is expected


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("context[5]", "IndexError"),
        ("rule['x']", "KeyError"),
        ("1/0", "ZeroDivisionError"),
        ("context +", "SyntaxError"),
        ("x = 1", "SyntaxError"),
        ("", "SyntaxError"),
        (True, "TypeError"),
        ("ans < context", "TypeError"),
    ],
)
def test_evaluate_condition_names_the_error_python_raises(expression: Any, kind: str) -> None:
    with pytest.raises(BadCondition) as fault:
        evaluate_condition(expression, NAMES)

    assert fault.value.kind == kind


@pytest.mark.parametrize(
    "expression",
    [
        "().__class__.__bases__[0].__subclasses__()",
        "__import__('os').system('true')",
        "os.getcwd()",
        "context.append('x')",
        "'{0.__class__}'.format(ans)",
        "f'{ans}'",
        "'a' * 1000000",
        "[0] * 1000000",
        "'%1000000d' % 1",
        "9 ** 9 ** 9",
        "1 << 1000000",
        "'a'.replace('a', 'aa')",
        "'a'.join(context)",
        "lambda: 1",
        "(y := 1)",
        "[1 for a in context for b in context for c in context for d in context for e in context for f in context"
        " for g in context for h in context for i in context for j in context]",
        "open('x')",
        "print(1)",
        "ans" + " " * 600,
    ],
)
def test_evaluate_condition_refuses_what_could_harm(expression: str) -> None:
    with pytest.raises(BadCondition) as fault:
        evaluate_condition(expression, NAMES)

    assert fault.value.kind in {"Refused", "SyntaxError"}
    assert NAMES["context"] == ["match", "unmatch"]


@pytest.mark.timeout(60)  # it ends long before; a runaway would not
@given(st.text(alphabet="anscontext()[]{}'\".,:=<>+-*/%!~^&| 0123456789_\nfor if in not", max_size=80))
def test_evaluate_condition_survives_any_text(expression: str) -> None:
    with suppress(BadCondition):
        assert evaluate_condition(expression, NAMES) in {True, False}


@pytest.mark.parametrize("expression", ["(" * 250 + ")" * 250, "-" * 499 + "1", "not " * 124 + "1", "[" * 490])
def test_evaluate_condition_survives_deep_nesting(expression: str) -> None:
    with suppress(BadCondition):
        assert evaluate_condition(expression, NAMES) in {True, False}
