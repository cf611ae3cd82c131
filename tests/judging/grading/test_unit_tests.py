"""Unit tests: languages, assembly of programs, points; nothing is run here."""

from __future__ import annotations

from typing import Any

import pytest

from judging.grading.contexts import Program, ProgramOutcome
from judging.grading.grades import BadSpecification, GradingOptions, NotDecided, ResponseGrade, grade_to_json
from judging.grading.rubric_tree import ScoreStatus
from judging.grading.unit_tests import (
    PRELUDES,
    TIMEOUT_SECONDS,
    build_program,
    canonical_language,
    extract_code,
    grade_unit_tests,
    nominal_total,
    suspicious_parts,
)

FENCED = "Sure:\n```python\nfrom __future__ import annotations\nx = 1\n```"


class Scripted:
    """Gives prepared outcomes in turn and remembers the programs."""

    def __init__(self, *passed: bool | None) -> None:
        self.outcomes = [
            ProgramOutcome(value, str(value), "" if value is not None else "no toolchain") for value in passed
        ]
        self.programs: list[Program] = []

    def run(self, program: Program) -> ProgramOutcome:
        self.programs.append(program)
        return self.outcomes[len(self.programs) - 1]


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("c", "cpp"),
        ("c++/c", "cpp"),
        ("js", "javascript"),
        ("csharp", "c#"),
        ("ts", "typescript"),
        ("r", "r"),
        ("go", "go"),
    ],
)
def test_canonical_language_follows_the_table(name: str, canonical: str) -> None:
    assert canonical_language(name) == canonical_language(name, compat=True) == canonical


@pytest.mark.parametrize("name", ["Python", "dart", "", None, ["python"]])
def test_canonical_language_refuses_what_nothing_runs(name: Any) -> None:
    with pytest.raises(BadSpecification) as fault:
        canonical_language(name)

    assert (fault.value.kind, fault.value.code) == ("NotImplementedError", "13.19")


def test_canonical_language_adds_languages_by_default_only() -> None:
    assert canonical_language("rust") == "rust"
    with pytest.raises(BadSpecification):
        canonical_language("rust", compat=True)


def test_every_canonical_language_has_a_timeout() -> None:
    names = ("python", "cpp", "java", "js", "ts", "c#", "r", "go", "rust", "ruby", "php", "bash", "sql")

    assert {canonical_language(name) for name in names} == set(TIMEOUT_SECONDS)


def test_build_program_hoists_future_imports_above_the_prelude_and_appends_the_test() -> None:
    program = build_program("assert x == 1", FENCED, "python")

    # prelude, newline, (empty) file prefix, newline, code
    assert program.code == "\n".join(["from __future__ import annotations", *PRELUDES["python"], "", "x = 1"])
    assert program.source == program.code + "\nassert x == 1"
    assert program.timeout_seconds == 10.0


def test_build_program_uses_files_prefix_and_timeout() -> None:
    test = {
        "path": "t.js",
        "content": "check()",
        "prefix": "gone, because the response has fences",
        "prefix_path": "p.js",
        "prefix_content": "setup()",
        "cleanup_path": "c.py",
        "cleanup_content": "tidy()",
        "timeout": 3,
    }

    program = build_program(test, "```\nrun()\n```", "javascript", 2)

    assert program == Program(
        *("javascript", "setup()\nrun()\ncheck()", 3.0, "setup()\nrun()", "check()", "test", 2),
        code_origin="The code block (no language).",
    )


def test_build_program_keeps_the_prefix_of_an_unfenced_response() -> None:
    assert build_program({"content": "t", "prefix": "let a;"}, "b", "typescript").source == "\nlet a;\nb\nt"


@pytest.mark.parametrize(
    "test", [{"path": "gone.py"}, {"content": "t", "prefix_path": "gone"}, {"content": "t", "cleanup_path": "gone"}]
)
def test_build_program_needs_the_files_it_names(test: dict[str, str]) -> None:
    with pytest.raises(NotDecided, match=r"gone.* is not stored"):
        build_program(test, "x", "python")


def test_grade_unit_tests_adds_weights_of_passed_tests() -> None:
    runner = Scripted(True, False)
    spec = {"lang": "python", "tests": ["a", {"content": "b", "weight": 2}]}

    graded = grade_unit_tests(spec, FENCED, "rust", GradingOptions(), runner)

    assert (graded.got, graded.total, graded.status) == (1.0, 3.0, ScoreStatus.COMPLETE)
    assert [(test["passed"], test["points"], test["result"]) for test in graded.detail["tests"]] == [
        (True, 1.0, "True"),
        (False, 0.0, "False"),
    ]
    assert [program.test_text for program in runner.programs] == ["a", "b"]


def test_grade_unit_tests_is_incomplete_where_a_test_was_not_run() -> None:
    spec = {"tests": ["a", "b", {"path": "gone.py"}]}

    graded = grade_unit_tests(spec, FENCED, "python", GradingOptions(), Scripted(True, None))

    assert (graded.got, graded.total, graded.status) == (None, 3.0, ScoreStatus.INCOMPLETE)
    assert [note.text for note in graded.notes] == [
        "Test 2 was not run: no toolchain",
        "Test 3 was not run: The file 'gone.py' is not stored with the case.",
    ]


def test_grade_unit_tests_without_a_runner_runs_nothing() -> None:
    graded = grade_unit_tests({"tests": ["a"]}, FENCED, "python", GradingOptions(), None)

    assert (graded.got, graded.detail["tests"][0]["not_run_reason"]) == (None, "There is no sandbox to run it in.")


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ([], "TypeError"),
        ({}, "KeyError"),
        ({"tests": "a"}, "TypeError"),
        ({"tests": [5]}, "TypeError"),
        ({"tests": [{}]}, "AssertionError"),
        ({"tests": [{"content": 5}]}, "TypeError"),
        ({"tests": [{"content": "a", "weight": "x"}]}, "TypeError"),
    ],
)
def test_grade_unit_tests_refuses_malformed_specifications(spec: Any, kind: str) -> None:
    with pytest.raises(BadSpecification) as fault:
        grade_unit_tests(spec, "x", "python", GradingOptions(), Scripted(True))

    assert fault.value.kind == kind


def test_nominal_total_sums_readable_weights() -> None:
    assert nominal_total({"tests": ["a", {"weight": 2}, {"weight": []}]}) == 4.0


def test_grade_unit_tests_flags_a_pass_whose_response_looks_for_the_harness() -> None:
    text = "```python\nimport os\nos._exit(0)\n```"

    passed, failed = (
        grade_unit_tests({"tests": ["assert f()"]}, text, "python", GradingOptions(), Scripted(outcome))
        for outcome in (True, False)
    )

    assert [note.code for note in (*passed.notes, *failed.notes)] == ["suspicious"]
    assert passed.notes[0].text == "Test 1 passed, but look at the response: it names _exit(."


@pytest.mark.parametrize(
    ("code", "sign"),
    [
        ("class Yes:\n    def __eq__(self, other): return True", "__eq__"),
        ("#include <assert.h>\n#define NDEBUG", "#define NDEBUG"),
        ("#define assert(x) ((void)0)", "#define assert"),
        ("void __assert_fail(const char *a) { }", "__assert_fail"),
        ("template <class T> bool operator==(Yes, T) { return true; }", "operator=="),
        ("require('module')._load; Module._load = f", "Module._load"),
        ("delete require.cache[name]", "require.cache"),
        ("assert.strictEqual = () => {}", "assert.strictEqual ="),
    ],
)
def test_suspicious_parts_names_what_makes_every_comparison_true(code: str, sign: str) -> None:
    assert suspicious_parts(code) == (sign,)


def test_suspicious_parts_leaves_plain_tests_alone() -> None:
    assert suspicious_parts("assert.strictEqual(f(1), 2); if (a == b) assert(x == y); // operator+") == ()


def test_grade_unit_tests_keeps_what_the_tests_ran_with() -> None:
    runner = Scripted(True, True)
    runner.outcomes = [ProgramOutcome(True, environment={"python": "3.11.2", "sandbox": "profile 1"})] * 2

    grade = grade_unit_tests({"tests": ["a", "b"]}, "x", "python", GradingOptions(), runner)
    stored = grade_to_json(ResponseGrade(2.0, 2.0, 1.0, 1.0, ScoreStatus.COMPLETE, (grade,)))

    assert stored["environment"] == {"python": "3.11.2", "sandbox": "profile 1"}
    assert "environment" not in stored["criteria"][0]["detail"]


@pytest.mark.parametrize(
    ("text", "language", "only_longest", "code"),
    [
        ("hi\n```python\na=1\n```\nbye", "python", False, "a=1"),
        ("```\na\n```\nt\n```\nb\n```", "python", False, "a\n\nb"),
        ("```\na\n```\nt\n```\nb\nc\n```", "python", True, "b\nc"),
        ("```\na\n```\nt\n```\nb\n```", "python", True, "a"),
        ("```\na\n```\nt\n```\nb", "python", False, "a"),
        ("see ```x``` then\n```\ny=1\n```", "python", False, ""),  # the inline mark shifts the pairing
        ("use ```x=1``` ok", "python", True, ""),
        ("\\begin{code}\ny=1\n\\end{code}", "r", False, "y=1"),
        ("~~~\ny=1\n~~~", "python", False, ""),
        ("\ndef f(x):\n    return x", "python", False, ""),
        ("\n    return x\nprint(1)", "python", False, "\n    return x"),
        ("f(){ a }\nb", "javascript", False, "f(){ a }"),  # depth 1 + 1 - 1 never gets to 0: kept up to the last brace
        ("x; } y", "cpp", False, "x; }"),
        ("console.log(1)", "javascript", False, "console.log(1)"),
        ("class A { int f(){ return 1; } }\nx", "java", False, "class A { int f(){ return 1; } }"),
        # cut at main and closed: 2 opening, 1 closing brace; 2 - 1 == 1, so one more closing brace on a line of its own
        ("class A { int f(){ public static void main(String[] a) {", "java", False, "class A { int f(){ }\n}"),
        ("package main\nfunc main() {}", "go", False, "package main"),
        ("a\ntype T struct { x int }", "go", False, "a\ntype T "),
        ("class A{} } b", "c#", False, "class A{} } b"),
        ("fn f() { 1 } x", "rust", False, "fn f() { 1 }"),
        ("SELECT 1", "sql", False, "SELECT 1"),
    ],
)
def test_extract_code_takes_what_the_original_takes(text: str, language: str, only_longest: bool, code: str) -> None:
    assert extract_code(text, language, only_longest=only_longest) == code


BASH_THEN_PYTHON = "```bash\npip install x\n```\nthen\n```python\nx = 1\ny = 2\n```"


@pytest.mark.parametrize(
    ("text", "only_longest", "words"),
    [
        ("a\n```python\nx = 1\n```", False, "The code block (python)."),
        ("```\nx = 1\n```", False, "The code block (no language)."),
        (BASH_THEN_PYTHON, False, "All 2 code blocks, joined (bash, python)."),
        (BASH_THEN_PYTHON, True, "Code block 2 of 2, the longest (python)."),
        (
            f"{BASH_THEN_PYTHON}\n```\nlost",
            True,
            "Code block 2 of 2, the longest (python). What follows the last fence, which has no end, was left out.",
        ),
        (
            "1. So:\n   ```python\n   x = 1\n   ```",
            False,
            "The code block (python). A block that stands indented, as in a list item, keeps its indent.",
        ),
        (
            "```python\nx = 1",
            False,
            "No closed code block: the response was read as the rest of a function. "
            "A fence without an end opens no block.",
        ),
        (
            "~~~python\nx = 1\n~~~",
            False,
            "No closed code block: the response was read as the rest of a function. Fences of ~~~ open no block.",
        ),
        (
            "```x```",
            False,
            "No code: there is no line between two fences. What follows the last fence, which has no "
            "end, was left out.",
        ),
    ],
)
def test_the_origin_of_the_code_says_which_block_was_taken(text: str, only_longest: bool, words: str) -> None:
    spec = {"tests": [{"content": "a", "only_longest": only_longest}]}

    graded = grade_unit_tests(spec, text, "python", GradingOptions(), Scripted(True))

    assert graded.detail["tests"][0]["code_origin"] == words


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("import os\nos._exit(0)", ("_exit(",)),
        ("open('/proc/self/fd/3').read(); open('/src/program.py')", ("/proc/self", "/src/program.py")),
        ("sys._getframe(1).f_locals", ("_getframe", "f_locals")),
        ("__attribute__((constructor)) void f(void)", ("__attribute__((constructor",)),
        ("process.once('beforeExit', f); process.reallyExit(0)", ("beforeExit", "reallyExit")),
        ("Runtime.getRuntime().halt(0);", (".halt(",)),
        ("def exit_code(): return 0\npath = 'src/main.py'", ()),
        ("os._exit(0)\n" * 9, ("_exit(",)),
    ],
)
def test_suspicious_parts_names_each_once(code: str, parts: tuple[str, ...]) -> None:
    assert suspicious_parts(code) == parts
