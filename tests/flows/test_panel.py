"""A researcher sets up a panel of three judges on the page, tries it, and reads the votes of those that disagree."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.fake_llm.fixture import FakeLLM
from tests.flows.conftest import LiveSite, SignIn

pytestmark = pytest.mark.flow

FILE = """name: {name}
kind: custom
endpoint: Panel model
options:
  prompt_text: "{{{{ response }}}} [[fake:reply={reply}]]"
  system_text: ""
  reply: last_line
"""
REPLIES = {"Ada": "Weak. GRADE: 2", "Bea": "Fair. GRADE: 4", "Cyd": "I would rather not say."}


def test_a_panel_is_set_up_tried_and_its_votes_read(
    site: LiveSite, signed_in: SignIn, fake_llm: FakeLLM, tmp_path: Path
) -> None:
    fake_llm.config(latency=1)
    site.command("endpoint", "create", "--name", "Panel model", "--base-url", fake_llm.url, "--model", "voter")
    for name, reply in REPLIES.items():
        file = tmp_path / f"{name}.yaml"
        file.write_text(FILE.format(name=name, reply=reply), encoding="utf-8")
        site.command("judge", "create", "--yaml-file", str(file))
    page = signed_in("demo-researcher")
    page.goto("/judges/new/")
    page.get_by_role("row").filter(has_text="Several judges of one kind").get_by_role("link").click()
    page.get_by_label("Name", exact=True).fill("Board")
    for number, name in enumerate(REPLIES, 1):
        page.get_by_label(f"Member {number}", exact=True).select_option(label=name)
    page.get_by_label("weight of member 2").fill("3")
    page.get_by_label("Rule").select_option(label="weighted mean")
    page.get_by_label("Margin of disagreement").fill("0.1")
    page.get_by_role("button", name="Save").click()

    page.get_by_role("button", name="Ask").click()
    main = page.get_by_role("main")
    expect(main).to_contain_text("Parsed verdict")
    page.get_by_role("link", name="open", exact=True).click()

    votes = page.get_by_role("region", name="Votes of the panel")
    expect(votes.get_by_role("row").filter(has_text="Ada")).to_contain_text("2.00 of 10")
    expect(votes.get_by_role("row").filter(has_text="Bea")).to_contain_text("4.00 of 10")
    expect(votes.get_by_role("row").filter(has_text="Cyd")).to_contain_text("no vote")
    expect(main).to_contain_text("3.50 of 10")  # (1 * 2 + 3 * 4) / 4
    expect(main).to_contain_text("the votes of the panel lie further apart than its margin")
    assert signed_in.complaints == []
