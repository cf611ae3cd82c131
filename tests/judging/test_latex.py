"""Tables for papers."""

from __future__ import annotations

from typing import Any

from judging.tables import write_latex


def test_write_latex_aligns_numbers_and_escapes_texts() -> None:
    rows: list[dict[str, Any]] = [
        {"judge": "gpt_4 & co", "share": 0.81234, "n": 40},
        {"judge": r"a\b", "share": None, "n": 2},
    ]

    text = b"".join(write_latex(rows, columns=("judge", "share", "n"), caption="100%")).decode()

    assert text.splitlines() == [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        r"\caption{100\%}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"judge & share & n \\",
        r"\midrule",
        r"gpt\_4 \& co & 0.812 & 40 \\",
        r"a\textbackslash{}b & -- & 2 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
