"""`cond` expressions of a suite's author, evaluated without Python's `eval`.

The language: names that are passed in, literals, comparisons, boolean logic, + - * / // % on numbers, + on text and
lists, subscripts, comprehensions, a few functions and read-only methods. Nothing else, within fixed limits.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import simpleeval

from evalsite.base.json_types import JsonObject

LONGEST_EXPRESSION = 500  # characters
MOST_ITERATIONS = 1_000  # over all comprehensions of one evaluation

_TEXT_METHODS = {
    "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha", "isdigit", "islower", "isspace", "isupper",
    "lower", "lstrip", "partition", "removeprefix", "removesuffix", "rfind", "rindex", "rpartition", "rstrip", "split",
    "splitlines", "startswith", "strip", "upper",
}  # fmt: skip
_METHODS: dict[type, set[str]] = {
    str: _TEXT_METHODS,
    list: {"count", "index"},
    tuple: {"count", "index"},
    dict: {"get", "items", "keys", "values"},
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "all": all, "any": any, "bool": bool, "float": float, "int": int, "len": len, "max": max, "min": min,
    "sorted": sorted, "str": str, "sum": sum,
}  # fmt: skip
_REFUSALS = (simpleeval.InvalidExpression, simpleeval.FeatureNotAvailable, simpleeval.IterableTooLong)


class BadCondition(ValueError):
    """The expression has no value. `kind` is Python's exception name, or "Refused" for what the language lacks."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def _numbers_only(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def checked(left: object, right: object) -> Any:
        if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
            raise simpleeval.FeatureNotAvailable("this operator works on numbers only")
        return apply(left, right)

    return checked


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: simpleeval.safe_add,
    ast.Sub: operator.sub,
    ast.Mult: _numbers_only(operator.mul),
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _numbers_only(operator.mod),
    **{
        kind: simpleeval.DEFAULT_OPERATORS[kind]
        for kind in (
            *(ast.Eq, ast.NotEq, ast.Gt, ast.Lt, ast.GtE, ast.LtE),
            *(ast.Not, ast.USub, ast.UAdd, ast.In, ast.NotIn, ast.Is, ast.IsNot),
        )
    },
}
_REFUSED_NODES = (ast.JoinedStr, ast.FormattedValue, ast.Assign, ast.AugAssign, ast.Import)


class _Evaluator(simpleeval.EvalWithCompoundTypes):  # type: ignore[misc]  # the library has no types
    """The library's evaluator, tightened."""

    def __init__(self, names: JsonObject) -> None:
        super().__init__(operators=_OPERATORS, functions=dict(_FUNCTIONS), names=dict(names), allowed_attrs=_METHODS)
        self.functions = dict(_FUNCTIONS)
        self.ATTR_INDEX_FALLBACK = False
        for kind in _REFUSED_NODES:
            self.nodes.pop(kind, None)

    def value_of(self, tree: ast.expr) -> Any:
        # The library counts up to a fixed number of iterations; starting the count late lowers the limit.
        self._max_count = simpleeval.MAX_COMPREHENSION_LENGTH - MOST_ITERATIONS
        self.expr = ast.unparse(tree)
        return self._eval(tree)


def evaluate_condition(expression: object, names: JsonObject) -> bool:
    """Return whether `expression` is true, given `names`.

    Raises:
        BadCondition: it is not text, too long, malformed, uses what is not allowed, or fails.
    """
    if not isinstance(expression, str):
        raise BadCondition("TypeError", f"A condition must be text, not {expression!r}.")
    if len(expression) > LONGEST_EXPRESSION:
        raise BadCondition("Refused", f"The condition is longer than {LONGEST_EXPRESSION} characters.")
    try:
        return bool(_Evaluator(names).value_of(_parse(expression)))
    except _REFUSALS as error:
        raise BadCondition("Refused", f"Condition {expression!r} is not allowed: {error}") from error
    except Exception as error:  # whatever the author's expression raises is the author's, not ours
        raise BadCondition(type(error).__name__, f"Condition {expression!r} failed: {error}") from error


@lru_cache(maxsize=1024)
def _parse(expression: str) -> ast.expr:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(expression.strip(" \t"), mode="eval").body
