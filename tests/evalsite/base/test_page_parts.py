"""Tests of the slots that upper apps fill in pages of lower ones."""

from __future__ import annotations

import pytest
from django.template import Context, Template

from evalsite.base import page_parts
from evalsite.base.page_parts import add_part, set_row_part, subject_as

PAGE = Template(
    '{% load ui %}{% parts "test.slot" run %}|{% row_parts "test.rows" rows as cells %}{{ cells|of_key:2 }}'
)


@pytest.fixture(autouse=True)
def no_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_parts, "PARTS", {})
    monkeypatch.setattr(page_parts, "ROW_PARTS", {})


def page() -> str:
    return PAGE.render(Context({"run": "<b>", "rows": [1, 2]}))


def test_parts_shows_nothing_where_no_app_fills_the_slot() -> None:
    assert page() == "|"


def test_parts_shows_the_templates_of_a_slot_in_order_and_leaves_out_those_without_facts() -> None:
    add_part("test.slot", "_stat.html", lambda run: {"label": run, "value": 7})
    add_part("test.slot", "_stat.html", lambda run: None)
    add_part("test.slot", "_stat.html", subject_as("label"))

    shown = page()

    assert shown.count('<div class="stat">') == 2
    assert "<b>" not in shown
    assert shown.count("&lt;b&gt;") == 2


def test_row_parts_asks_once_for_all_rows() -> None:
    asked: list[object] = []

    def facts(rows: list[int]) -> dict[int, dict[str, object]]:
        asked.append(rows)
        return {row: {"label": f"row {row}", "value": row} for row in rows}

    set_row_part("test.rows", "_stat.html", facts)

    shown = page()

    assert asked == [[1, 2]]
    assert "row 2" in shown
    assert "row 1" not in shown
