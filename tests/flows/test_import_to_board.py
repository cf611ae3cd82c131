"""From a file to its leaderboard, clicks counted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.flows.axe import DESK, faults
from tests.flows.clicks import Clicks
from tests.flows.conftest import SignIn

pytestmark = [pytest.mark.flow, pytest.mark.xdist_group("flow")]

SUITE = """\
name: Rivers of the flow
cases:
- {id: danube, prompt: Into which sea flows the Danube?, type: t, lang: l, grading: {keywords: [Black]}}
- {id: elbe, prompt: Into which sea flows the Elbe?, type: t, lang: l, grading: {keywords: [North]}}
"""
SAID = {"oak of rivers": ("The Black Sea.", "The North Sea."), "elm of rivers": ("The Black Sea.", "The Baltic Sea.")}


def files(folder: Path) -> list[Path]:
    """Return a suite and the responses of two systems, one of which is right twice."""
    rows = [
        {"case_id": key, "system": system, "response": text}
        for system, texts in SAID.items()
        for key, text in zip(("danube", "elbe"), texts, strict=True)
    ]
    suite, responses = folder / "rivers.yaml", folder / "responses.jsonl"
    suite.write_text(SUITE)
    responses.write_text("\n".join(map(json.dumps, rows)))
    return [suite, responses]


def test_a_file_becomes_a_leaderboard_in_five_clicks(signed_in: SignIn, tmp_path: Path) -> None:
    page: Page = signed_in("demo-researcher")
    page.set_viewport_size(DESK)  # type: ignore[arg-type]
    page.goto("/benchmarks/")
    click = Clicks(page)
    with page.expect_file_chooser() as chooser:
        click(page.locator("label.dropzone"))
    chooser.value.set_files(files(tmp_path))
    click(page.get_by_role("button", name="Confirm", exact=True))
    click(page.get_by_role("link", name="New run on this", exact=True))
    for name in SAID:
        expect(page.get_by_role("checkbox", name=name)).to_be_checked()
    expect(page.get_by_role("checkbox", name="Rule graders", exact=True)).to_be_checked()
    click(page.get_by_role("button", name="Start the run"))
    expect(page.get_by_role("main")).to_contain_text("Finished", timeout=60_000)
    click(page.get_by_role("link", name="Leaderboard", exact=True).first)

    board = page.locator("#leaderboard-systems")
    expect(board).to_be_visible(timeout=60_000)
    expect(board.locator("tbody tr").first).to_contain_text(re.compile("oak of rivers.*100", re.DOTALL))
    assert click.count == 5
    assert faults(page) == []
