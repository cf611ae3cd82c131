"""What the pages of reports add to kept figures."""

from __future__ import annotations

from typing import Any

from evalsite.reports.services.shown_rows import pair_matrix


def pair(first: str, second: str, n: int) -> dict[str, Any]:
    return {"first": first, "second": second, "percent": {"value": 0.5, "n": n}, "kappa": {"value": 0.0, "n": n}}


def test_pair_matrix_marks_coefficients_of_few_shared_items() -> None:
    names = [{"name": name} for name in ("ada", "bob", "cyd")]
    content = {"raters": names, "pairs": [pair("ada", "bob", 2), pair("ada", "cyd", 4), pair("bob", "cyd", 5)]}

    rows = pair_matrix(content)

    few = {(row["name"], cell["other"]): cell["is_few"] for row in rows for cell in row["cells"] if cell}
    assert few == {
        ("ada", "bob"): True,
        ("ada", "cyd"): True,
        ("bob", "ada"): True,
        ("bob", "cyd"): False,
        ("cyd", "ada"): True,
        ("cyd", "bob"): False,
    }
