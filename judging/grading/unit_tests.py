"""Unit tests: a program is assembled from response and test and run by the runner that is passed in.

Without a runner, a toolchain or a stored test file a test is not run: the criterion is then incomplete, never 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.base.types import JsonDict, JsonObject
from judging.grading.contexts import Program, ProgramOutcome, ProgramRunner
from judging.grading.grades import (
    BadSpecification,
    CriterionGrade,
    GradingOptions,
    NotDecided,
    Note,
    number,
    readable_weight,
)
from judging.grading.rubric_tree import ScoreStatus

# Response and tests share a process, so a response that knows the sandbox could say "passed" by itself; to do so it has
# to name one of these. Honest programs name them now and then: a sign is for a person to look at, never points lost.
SIGNS = re.compile(
    # the open files and sources of the run
    r"/proc/\w+|/src/[\w.]*|/dev/fd\b|php://fd\b|memfd"
    # the harness's frames
    r"|\b_getframe\b|\bcurrentframe\b|\bf_locals\b|\bf_back\b|\bget_objects\b|\bsettrace\b|\bctypes\b"
    # leaving early
    r"|\b_exit\s*\(|\bquick_exit\b|\breallyExit\b|\.halt\s*\(|\bbeforeExit\b|\bat_exit\b|\batexit\b|\bexit!"
    # the entry point, and what the tests stand on
    r"|\b__wrap_\w+|\b__real_\w+|\b__attribute__\s*\(\(\s*constructor"
    r"|\bAssertionError\s*=|\bbuiltins\.\w+\s*=|__builtins__"
    # what tests compare with, made always equal or true
    r"|\b__(?:eq|ne)__\b|\boperator\s*[!=]=|#\s*define\s+(?:assert|NDEBUG)\b|\b__assert\w*"
    r"|\bModule\._load\b|\brequire\.cache\b|\bassert\.\w+\s*=(?!=)"
)
MOST = 5


def suspicious_parts(code: str) -> tuple[str, ...]:
    """Return the first few different places in a response's code that deserve a look, as they are written."""
    return tuple(dict.fromkeys(match[0].strip() for match in SIGNS.finditer(code)))[:MOST]


FENCES = ("```", "\\begin{code}", "\\end{code}")
_STOP_WORDS = {
    "python": ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\nassert"),
    "go": ("\n//", "\nfunc main(", "struct", "\nfunc"),
}
_BRACES = {"java", "javascript", "go", "cpp", "rust"}
_JAVA_MAIN = "public static void main"


def extract_code(text: str, language: str, *, only_longest: bool = False) -> str:
    """Return the code in `text` (prefix and response) for a canonical language name.

    With two or more fence marks: the lines strictly between the 1st and 2nd, 3rd and 4th, ... line that holds a
    mark, joined by an empty line (or the block with most lines, the first on a tie). With fewer: `truncate` decides.
    """
    if sum(text.count(fence) for fence in FENCES) < 2:
        return truncate(text, language)
    blocks = [block.lines for block in _blocks(text)]
    if only_longest:
        blocks = [max(blocks, key=len)] if blocks else []
    return "\n\n".join("\n".join(block) for block in blocks)


@dataclass(frozen=True, slots=True)
class _CodeBlock:
    """The lines between two lines that hold a fence."""

    opening: str
    lines: list[str]

    @property
    def language(self) -> str:
        tag = re.search(r"`{3}([\w+#-]{1,20})", self.opening)
        return tag[1] if tag else "no language"


def _blocks(text: str) -> list[_CodeBlock]:
    lines = text.split("\n")
    marked = _marked(lines)
    return [
        _CodeBlock(lines[start], lines[start + 1 : end]) for start, end in zip(marked[::2], marked[1::2], strict=False)
    ]


def _marked(lines: list[str]) -> list[int]:
    return [index for index, line in enumerate(lines) if any(fence in line for fence in FENCES)]


def code_origin(text: str, *, only_longest: bool = False) -> str:
    """Return which part of `text` is taken as code by `extract_code`, and which fences are not read, in sentences."""
    lines = text.split("\n")
    fences, blocks = sum(text.count(fence) for fence in FENCES), _blocks(text)
    if fences < 2:
        sentences = ["No closed code block: the response was read as the rest of a function."]
        sentences += ["A fence without an end opens no block."] if fences else []
    else:
        sentences = [_taken(blocks, only_longest)]
        sentences += ["What follows the last fence, which has no end, was left out."] if len(_marked(lines)) % 2 else []
    if any(block.opening[:1].isspace() for block in blocks):
        sentences.append("A block that stands indented, as in a list item, keeps its indent.")
    if any(line.lstrip().startswith("~~~") for line in lines):
        sentences.append("Fences of ~~~ open no block.")
    return " ".join(sentences)


def _taken(blocks: Sequence[_CodeBlock], only_longest: bool) -> str:
    if len(blocks) < 2:
        return f"The code block ({blocks[0].language})." if blocks else "No code: there is no line between two fences."
    if not only_longest:
        return f"All {len(blocks)} code blocks, joined ({', '.join(block.language for block in blocks[:MOST])})."
    number = max(range(len(blocks)), key=lambda index: len(blocks[index].lines))
    return f"Code block {number + 1} of {len(blocks)}, the longest ({blocks[number].language})."


def truncate(text: str, language: str) -> str:
    """Return unfenced `text` cut where a completion of a function body ends; unknown languages are kept whole."""
    for word in _STOP_WORDS.get(language, ()):
        text = text.partition(word)[0]
    if language == "python":
        lines = text.split("\n")
        for index, line in enumerate(lines):
            if line.strip() and line[0] not in " \t":
                return "\n".join(lines[:index])
        return text
    return _close_braces(text, language) if language in _BRACES else text


def _close_braces(text: str, language: str) -> str:
    """Return `text` up to the brace that closes the function (java: the class) the response is taken to be in."""
    depth = 2 if language == "java" else 1
    for index, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return text[: index + 1]
    if language == "java":
        return _close_java(text)
    return text[: text.rfind("}") + 1] if "}" in text else text


def _close_java(text: str) -> str:
    head, main, _ = text.partition(_JAVA_MAIN)
    if main:
        text = head + "}"
    if "}" in text:
        text = text[: text.rfind("}") + 1]
    if text.count("{") - 1 == text.count("}"):
        text += "\n}"
    return text


__all__ = ["Program", "ProgramOutcome", "ProgramRunner", "build_program", "canonical_language", "grade_unit_tests"]

_NAMES = {
    **dict.fromkeys(("c", "c++", "cpp", "c/c++", "c++/c", "cpp/c", "c/cpp"), "cpp"),
    **dict.fromkeys(("js", "javascript"), "javascript"),
    **dict.fromkeys(("c#", "c-sharp", "csharp", "cs"), "c#"),
    **dict.fromkeys(("ts", "typescript"), "typescript"),
    **{name: name for name in ("python", "java", "r", "go")},
}
_ADDED_NAMES = {"rust": "rust", "ruby": "ruby", "php": "php", "bash": "bash", "sql": "sql"}  # not in compat mode
TIMEOUT_SECONDS = {
    "python": 10, "cpp": 60, "javascript": 10, "typescript": 20, "java": 10, "go": 20, "c#": 20, "r": 20,
    "rust": 60, "ruby": 10, "php": 10, "bash": 10, "sql": 10,
}  # fmt: skip
_PYTHON_MODULES = (
    *(
        "math",
        "re",
        "sys",
        "copy",
        "datetime",
        "itertools",
        "collections",
        "heapq",
        "statistics",
        "functools",
        "hashlib",
    ),
    *("numpy", "numpy as np", "pandas as pd", "string", "requests", "openpyxl", "xlsxwriter", "yolk"),
)
_CPP_HEADERS = (
    *(
        "stdlib.h",
        "algorithm",
        "cmath",
        "math.h",
        "numeric",
        "stdio.h",
        "vector",
        "set",
        "map",
        "queue",
        "stack",
        "list",
    ),
    *("deque", "boost/any.hpp", "string", "climits", "cstring", "iostream", "sstream", "fstream"),
)
PRELUDES = {
    "python": (
        *(f"import {module}" for module in _PYTHON_MODULES),
        *("from typing import *", "from collections import *"),
    ),
    "cpp": ("using namespace std;", *(f"#include<{header}>" for header in _CPP_HEADERS)),
    "r": ("rm(list=ls())", "library(assert)"),
}


def canonical_language(name: object, *, compat: bool = False) -> str:
    """Return the runner's name of a language; names count exactly as written, in lower case.

    Raises:
        BadSpecification: nothing runs it.
    """
    names = _NAMES if compat else _NAMES | _ADDED_NAMES
    if not isinstance(name, str) or name not in names:
        raise BadSpecification(
            "NotImplementedError", f"Tests cannot be run in {name!r}; use one of {', '.join(names)}.", "13.19"
        )
    return names[name]


def build_program(test: object, response: str, language: str, index: int = 0) -> Program:
    """Return the program for one entry of `tests`; `language` is a canonical name.

    Raises:
        BadSpecification: the entry is malformed.
        NotDecided: a file it names is not stored.
    """
    entry = {"content": test} if isinstance(test, str) else test
    if not isinstance(entry, Mapping):
        raise BadSpecification("TypeError", f"A test must be text or a mapping, not {entry!r}.")
    if "path" not in entry and "content" not in entry:
        raise BadSpecification("AssertionError", "A test needs `path` or `content`.")
    test_text = _file_text(entry, "path", "content") if "path" in entry else _text(entry["content"], "content")
    text = _text(entry.get("prefix", ""), "prefix") + "\n" + response
    file_prefix = _file_text(entry, "prefix_path", "prefix_content")
    _file_text(entry, "cleanup_path", "cleanup_content")  # never run: the folder of a program goes with it
    timeout = TIMEOUT_SECONDS[language] if entry.get("timeout") is None else number(entry["timeout"], "`timeout`")
    only_longest = bool(entry.get("only_longest", False))
    code = file_prefix + "\n" + extract_code(text, language, only_longest=only_longest)
    if language in PRELUDES:
        code = "\n".join((*PRELUDES[language], code)).strip()
    if language == "python":
        lines = code.split("\n")
        lines.sort(key=lambda line: not line.startswith("from __future__"))  # stable: moves them to the top
        code = "\n".join(lines)
    return Program(
        language=language,
        source=code + "\n" + test_text,
        timeout_seconds=float(timeout),
        code=code,
        code_origin=code_origin(text, only_longest=only_longest),
        test_text=test_text,
        test_index=index,
    )


def grade_unit_tests(
    spec: object, text: str, lang: str, options: GradingOptions, runner: ProgramRunner | None
) -> CriterionGrade:
    """Return points for the tests that pass; `lang` is the case's language, which `spec.lang` overrides.

    Raises:
        BadSpecification: the specification is malformed or nothing runs the language.
    """
    if not isinstance(spec, Mapping):
        raise BadSpecification("TypeError", "`unit_test` must be a mapping.")
    if not lang and "lang" not in spec:
        raise BadSpecification("KeyError", "Unit tests need a language: give `lang`.")
    language = canonical_language(spec.get("lang", lang), compat=options.compat)
    if not isinstance(spec.get("tests"), (list, tuple)):
        kind = "TypeError" if "tests" in spec else "KeyError"
        raise BadSpecification(kind, "`unit_test` needs a list of `tests`.")
    got = total = 0.0
    shown: list[JsonDict] = []
    notes: list[Note] = []
    environment: dict[str, str] = {}
    for index, test in enumerate(spec["tests"]):
        weight = number(test.get("weight", 1.0), "`weight`") if isinstance(test, Mapping) else 1.0
        outcome, program = _run(test, text, language, index, runner)
        total += weight
        got += weight if outcome.passed else 0.0
        notes += _notes(outcome, program, index)
        environment |= outcome.environment
        shown.append(_shown(outcome, program, weight))
    detail = {"language": language, "tests": shown} | ({"environment": environment} if environment else {})
    if any(test["passed"] is None for test in shown):
        return CriterionGrade("unit_test", None, total, ScoreStatus.INCOMPLETE, detail, tuple(notes))
    return CriterionGrade("unit_test", got, total, detail=detail, notes=tuple(notes))


def nominal_total(spec: object) -> float:
    """Return the points that a faulty specification would have been worth: the sum of readable weights."""
    tests = spec.get("tests") if isinstance(spec, Mapping) else None
    weights = [test.get("weight", 1.0) if isinstance(test, Mapping) else 1.0 for test in _listed(tests)]
    return sum(readable_weight(weight) for weight in weights)


def _listed(tests: object) -> list[Any]:
    return list(tests) if isinstance(tests, (list, tuple)) else []


def _run(
    test: object, text: str, language: str, index: int, runner: ProgramRunner | None
) -> tuple[ProgramOutcome, Program | None]:
    try:
        program = build_program(test, text, language, index)
    except NotDecided as reason:
        return ProgramOutcome(None, not_run_reason=reason.message), None
    if runner is None:
        return ProgramOutcome(None, not_run_reason="There is no sandbox to run it in."), program
    return runner.run(program), program


def _notes(outcome: ProgramOutcome, program: Program | None, index: int) -> list[Note]:
    if outcome.passed is None:
        return [Note("not-run", f"Test {index + 1} was not run: {outcome.not_run_reason}")]
    if outcome.ended_early:
        return [Note("13.23", f"Test {index + 1}: the program ended itself before its tests had finished.")]
    suspicions = suspicious_parts(program.code) if outcome.passed and program else ()
    if suspicions:
        return [
            Note("suspicious", f"Test {index + 1} passed, but look at the response: it names {', '.join(suspicions)}.")
        ]
    return []


def _shown(outcome: ProgramOutcome, program: Program | None, weight: float) -> JsonDict:
    return {
        "passed": outcome.passed,
        "result": outcome.result_text,
        "not_run_reason": outcome.not_run_reason,
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "seconds": outcome.seconds,
        "ended_early": outcome.ended_early,
        "weight": weight,
        "points": weight if outcome.passed else 0.0,
        "code": program.code if program else "",
        "code_origin": program.code_origin if program else "",
        "program": program.source if program else "",
    }


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise BadSpecification("TypeError", f"`{name}` must be text, not {value!r}.")
    return value


def _file_text(test: JsonObject, path: str, content: str) -> str:
    """Return the stored text of the file that `path` names; nothing where no file is named."""
    if test.get(path) is None:
        return ""
    if not isinstance(test.get(content), str):
        raise NotDecided("not-run", f"The file {test[path]!r} is not stored with the case.")
    return str(test[content])
