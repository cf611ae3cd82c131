"""Code extraction and truncation."""

from __future__ import annotations

import pytest

from judging.grading.rule_graders.extraction import extract_code


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
