"""What the graders of one response share: options, programs, metrics, handlers, time-limited searches, conditions.

A suite names a function that computes a score by `module` and `func`. One in `METRICS` is ours and runs here. Source
that came with the suite is wrapped into a program that prints its reply as one marked line of JSON; without a runner it
is not run.

Regular expressions of a suite's author are searched as Python's `re` would, under a time limit. `re` cannot be stopped,
so `re` only checks the pattern and the `regex` library searches. Constructs that mean something else to `regex` (fuzzy
braces, POSIX classes) are escaped first. A search that exceeds its time is not decided: callers must report it as such
and never take it for a miss.

`cond` expressions of a suite's author are evaluated without Python's `eval`. The language: names that are passed in,
literals, comparisons, boolean logic, + - * / // % on numbers, + on text and lists, subscripts, comprehensions, a few
functions and read-only methods. Nothing else, within fixed limits.
"""

from __future__ import annotations

import ast
import hashlib
import json
import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import simpleeval

from evalsite.base.types import JsonObject
from judging.grading.assertions import passes
from judging.grading.grades import BadSpecification, GradingOptions, NotDecided

LONGEST_PATTERN = 5_000  # characters
_QUANTIFIER = re.compile(r"\{(?:\d+(?:,\d*)?|,\d*)\}")


class Matcher:
    """Searches on behalf of one response; gives up after `timeouts_allowed` searches have run out of time."""

    def __init__(self, *, timeout_seconds: float = 0.25, timeouts_allowed: int = 4) -> None:
        self._timeout_seconds = timeout_seconds
        self._timeouts_left = timeouts_allowed

    def search(self, pattern: str, text: str) -> tuple[int, int] | None:
        """Return start and end of the first match of `pattern` anywhere in `text`, None where there is none.

        Raises:
            NotDecided: out of time or over a limit.
            BadSpecification: `re` rejects the pattern.
        """
        return self._match(pattern, text, "search")

    def fullmatch(self, pattern: str, text: str) -> tuple[int, int] | None:
        """Return start and end if `pattern` matches the whole of `text`. Raises as `search` does."""
        return self._match(pattern, text, "fullmatch")

    def _match(self, pattern: str, text: str, method: str) -> tuple[int, int] | None:
        compiled = compile_pattern(pattern)
        if self._timeouts_left <= 0:
            raise NotDecided("limit.regex", f"{shorten(pattern)} was not tried: too many searches ran out of time.")
        try:
            match = getattr(compiled, method)(text, timeout=self._timeout_seconds)
        except TimeoutError as error:
            self._timeouts_left -= 1
            raise NotDecided(
                "limit.regex", f"{shorten(pattern)} took longer than {self._timeout_seconds} s on this response."
            ) from error
        except (MemoryError, RecursionError) as error:
            raise NotDecided("limit.regex", f"{shorten(pattern)} needs too much memory.") from error
        return None if match is None else (match.start(), match.end())


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Any:
    """Return `pattern` compiled by the `regex` library to mean what it means to `re`.

    Raises:
        BadSpecification: `re` rejects it.
        NotDecided: it is longer than `LONGEST_PATTERN`, or only `re` can compile it.
    """
    import regex  # loaded with the first pattern: commands that search nothing do not wait for it

    if len(pattern) > LONGEST_PATTERN:
        raise NotDecided(
            "limit.regex", f"A pattern of {len(pattern)} characters is too long; {LONGEST_PATTERN} at most."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            checked = re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            kind = "error" if isinstance(error, re.error) else type(error).__name__
            raise BadSpecification(kind, f"{shorten(pattern)} is not a regular expression: {error}.") from error
        try:
            return regex.compile(pattern if checked.flags & re.VERBOSE else escape_extensions(pattern))
        except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
            raise NotDecided(
                "limit.regex", f"{shorten(pattern)} cannot be searched under a time limit: {error}."
            ) from error


def escape_extensions(pattern: str) -> str:
    """Return `pattern` with what only `regex` would interpret made literal: `{e<=1}`, and `[` inside a class."""
    pieces: list[str] = []
    position, inside = 0, False
    while position < len(pattern):
        width, piece = _next_piece(pattern, position, inside=inside)
        if inside:
            inside = piece != "]"
        elif piece[0] == "[":
            inside = True
        pieces.append(piece)
        position += width
    return "".join(pieces)


def _next_piece(pattern: str, position: int, *, inside: bool) -> tuple[int, str]:
    """Return how many characters to read at `position`, and what to write for them."""
    character = pattern[position]
    if character == "\\":
        if pattern.startswith("\\N{", position):
            end = pattern.find("}", position) + 1
            return end - position, pattern[position:end]
        return 2, pattern[position : position + 2]
    if character == "[":
        if inside:
            return 1, "\\["
        opening = re.compile(r"\[\^?\]?").match(pattern, position)
        text = opening.group() if opening else character
        return len(text), text
    if character == "{" and not inside:
        quantifier = _QUANTIFIER.match(pattern, position)
        return (len(quantifier.group()), quantifier.group()) if quantifier else (1, "\\{")
    return 1, character


def shorten(text: str, limit: int = 80) -> str:
    """Return `text` quoted, cut to `limit` characters."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


@dataclass(frozen=True, slots=True)
class HandlerReply:
    """What a post handler or custom function returns."""

    got: float
    total: float
    detail: Any = None


def valid_json(text: str, arguments: JsonObject) -> HandlerReply:
    """Return 1 of 1 where the whole response, code fences aside, is JSON."""
    lines = [line for line in text.strip().split("\n") if not line.lstrip().startswith("```")]
    is_json = passes("is-json", "", "\n".join(lines))
    return HandlerReply(float(is_json), 1.0, "valid JSON" if is_json else "not JSON")


def word_limit(text: str, arguments: JsonObject) -> HandlerReply:
    """Return 1 of 1 where the response has at most `arguments.limit` words (100 where none is given)."""
    limit = arguments.get("limit", 100)
    if isinstance(limit, bool) or not isinstance(limit, (int, float)):
        raise BadSpecification("TypeError", f"`limit` must be a number, not {limit!r}.")
    words = len(text.split())
    return HandlerReply(float(words <= limit), 1.0, f"{words} words, {limit} allowed")


CustomFunction = Callable[[str, JsonObject], HandlerReply]
METRICS: Mapping[tuple[str, str], CustomFunction] = {
    ("builtin", "valid_json"): valid_json,
    ("builtin", "word_limit"): word_limit,
}


HANDLER_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Handlers:
    """Calls the functions that a case names."""

    sources: Mapping[str, str]  # Python source by module name
    runner: ProgramRunner | None

    def grade(self, spec: JsonObject, text: str) -> HandlerReply:
        """Return a custom metric's reply for one response. Raises as `post_process` does."""
        module, func = _reference(spec)
        function = METRICS.get((module, func))
        if function is not None:
            arguments = spec.get("arguments", {})
            return function(text, arguments if isinstance(arguments, Mapping) else {})
        return self._run(module, func, [text])

    def post_process(self, spec: object, got: float, total: float, status: Sequence[str]) -> HandlerReply:
        """Return what a post handler makes of points and statuses.

        Raises:
            NotDecided: no source, no runner, or the runner could not run it.
            BadSpecification: the function failed or returned something else than (got, total, detail).
        """
        return self._run(*_reference(spec), [got, total, list(status)])

    def _run(self, module: str, func: str, arguments: list[Any]) -> HandlerReply:
        source = self.sources.get(module)
        if source is None:
            raise NotDecided(
                "not-run", f"The source of {module!r} did not come with the suite, so {func!r} was not run."
            )
        if self.runner is None:
            raise NotDecided("not-run", f"There is no sandbox to run {module}.{func} in.")
        program, mark = handler_program(source, func, arguments)
        outcome = self.runner.run(program)
        if outcome.passed is None:
            raise NotDecided("not-run", outcome.not_run_reason or f"{module}.{func} was not run.")
        if not outcome.passed:
            raise BadSpecification("HandlerFailed", f"{module}.{func} failed: {outcome.result_text or outcome.stderr}")
        return read_reply(outcome.stdout, mark, f"{module}.{func}")


def handler_program(source: str, func: str, arguments: Sequence[object]) -> tuple[Program, str]:
    """Return a Python program that calls `func` of `source`, and the mark that opens its reply line.

    The mark is a digest of source and arguments, so nothing inside the arguments can hold it.
    """
    payload = json.dumps(list(arguments))
    mark = f"handler-reply-{hashlib.sha256((source + func + payload).encode('utf-8', 'surrogatepass')).hexdigest()}:"
    lines = (
        "import json as _json",
        "_names = {'__name__': 'suite_handler'}",
        f"exec(compile({source!r}, 'handler', 'exec'), _names)",
        f"_reply = _names[{func!r}](*_json.loads({payload!r}))",
        "_got, _total, _detail = _reply",
        "_safe = _json.dumps([float(_got), float(_total), _detail], default=str)",
        f"print('\\n' + {mark!r} + _safe, flush=True)",
    )
    text = "\n".join(lines) + "\n"
    return Program("python", text, HANDLER_TIMEOUT_SECONDS, code=text, purpose="handler"), mark


def read_reply(stdout: str, mark: str, name: str) -> HandlerReply:
    """Return the reply in what a handler program printed.

    Raises:
        BadSpecification: there is none.
    """
    lines = [line for line in stdout.splitlines() if line.startswith(mark)]
    try:
        got, total, detail = json.loads(lines[-1][len(mark) :])
        return HandlerReply(float(got), float(total), detail)
    except (IndexError, ValueError, TypeError) as error:
        raise BadSpecification("HandlerFailed", f"{name} did not return (score, full score, detail).") from error


def _reference(spec: object) -> tuple[str, str]:
    if not isinstance(spec, Mapping):
        raise BadSpecification("TypeError", f"A handler is given by `module` and `func`, not by {spec!r}.")
    for key in ("module", "func"):
        if key not in spec:
            raise BadSpecification("KeyError", f"A handler needs `{key}`.")
    return str(spec["module"]), str(spec["func"])


@dataclass(frozen=True, slots=True)
class Program:
    """Everything a runner needs. `source` is the whole file to run, as assembled for `language`."""

    language: str  # python | javascript | typescript | java | cpp | c# | r | go | rust | ruby | php | bash | sql
    source: str
    timeout_seconds: float  # compile and run together
    code: str = ""  # `source` without the test text
    test_text: str = ""
    purpose: str = "test"  # test | handler
    test_index: int = 0
    code_origin: str = ""  # which part of the response was taken as code, in words


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """What happened. `passed` is None, with a reason, where the program was not run."""

    passed: bool | None
    result_text: str = ""  # "passed", "passed stdout: ...", "failed: returncode: 1 stderr: ...", "time out"
    not_run_reason: str = ""
    stdout: str = ""
    stderr: str = ""
    seconds: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)  # tool, library or "sandbox" -> version or profile
    ended_early: bool = False  # it left with code 0 before its tests had finished, which compat mode lets pass


class ProgramRunner(Protocol):
    """Runs a program under limits, away from everything of ours."""

    def run(self, program: Program) -> ProgramOutcome:
        """Return the outcome; never raises for anything the program does."""


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


@dataclass(frozen=True, slots=True)
class GradingContext:
    """Made for every response, because the matcher counts time-outs."""

    options: GradingOptions
    matcher: Matcher
    handlers: Handlers


def make_context(options: GradingOptions, handlers: Handlers) -> GradingContext:
    """Return a context for one response."""
    matcher = Matcher(timeout_seconds=options.regex_timeout_seconds, timeouts_allowed=options.regex_timeouts_allowed)
    return GradingContext(options, matcher, handlers)
