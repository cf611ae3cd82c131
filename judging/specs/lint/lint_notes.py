"""What every part of the suite linter shares: reporting, and checks of numbers, switches, patterns and conditions."""

from __future__ import annotations

import ast
import difflib
import math
import re
import warnings
from collections.abc import Collection
from dataclasses import dataclass

from judging.specs.files.findings import Findings, Rule, at_line, error_rule, warning_rule
from judging.specs.files.yaml_reading import Node

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


_CALLS = frozenset({"len", "any", "all", "sum", "min", "max", "abs", "int", "float", "str", "bool"})


def as_number(node: Node) -> float | None:
    """Return a finite number, also one written in quotes; None for anything else, truth values included."""
    value = node.content
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


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
