"""Facts as commands print them."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from evalsite.base.command_base import AT_ONCE, json_pieces
from evalsite.base.tables import facts_text
from evalsite.base.types import ByName


def test_facts_text_prints_words_lists_and_tables_and_never_python() -> None:
    facts = {
        "run": 7,
        "calls_made": 12_345,
        "resume_at": None,
        "fresh": False,
        "share": 2 / 3,
        "spent": Decimal("0.50"),
        "graders": ["rules", "stern"],
        "budget": {"amount": 5, "left": {"today": 1.5}},
        "note": "first\nsecond",
        "rows": [{"system": "ada", "figure": {"value": 0.5, "n": 4}}, {"system": "bob", "tags": []}],
        "failures": {},
        "files": ByName({"my_labels.csv": 3, "Ann": 1, "ann": 2}),
    }

    assert facts_text(facts).splitlines() == [
        "Run: 7",
        "Calls made: 12,345",
        "Resume at: none",
        "Fresh: no",
        "Share: 0.6667",
        "Spent: 0.50",
        "Graders: rules, stern",
        "Budget:",
        "  Amount: 5",
        "  Left:",
        "    Today: 1.5",
        "Note:",
        "  first",
        "  second",
        "",
        "Rows",
        "",
        "| System | Figure | Tags |",
        "| --- | --- | --- |",
        "| ada | value 0.5, n 4 | -- |",
        "| bob | -- | -- |",
        "",
        "Failures: none",
        "Files:",
        "  my_labels.csv: 3",
        "  Ann: 1",
        "  ann: 2",
    ]


@pytest.mark.parametrize("count", [0, 1, AT_ONCE, 2 * AT_ONCE + 1])
def test_json_pieces_writes_what_an_iterator_gives_as_a_list(count: int) -> None:
    rows = [{"id": number, "text": "é, ]"} for number in range(count)]
    whole = {"spent": "0.50", "stored": {"cases": rows, "systems": []}}

    pieces = list(json_pieces({"spent": Decimal("0.50"), "stored": {"cases": iter(rows), "systems": iter(())}}))

    assert "".join(pieces) == json.dumps(whole, ensure_ascii=False)
    assert max(piece.count('"id"') for piece in pieces) <= AT_ONCE
