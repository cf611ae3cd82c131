"""What a judge that compares leaves open is asked of people as a pair, by keyboard, and their label comes back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Page, expect

from tests.fake_llm.fixture import FakeLLM
from tests.flows.axe import faults
from tests.flows.conftest import LiveSite, SignIn, open_item
from tests.judging.services.comparison_rows import PAIRWISE, READ

pytestmark = [pytest.mark.flow, pytest.mark.xdist_group("flow")]

A_MINUTE = 60_000
QUESTION = "How is a tap closed?"
REPLIES = {"reply-base": "Turn it.", "reply-other": "Turn it clockwise, gently, until the water stops."}


def set_up(site: LiveSite, folder: Path, url: str) -> str:
    """Store a suite that two systems replied to and a judge that compares; return the suite's number."""
    suite = {"name": "Taps", "version": "1", "cases": [{"id": "tap", "prompt": QUESTION}]}
    (folder / "taps.yaml").write_text(yaml.safe_dump(suite))
    rows = [{"case_id": "tap", "system": name, "response": text} for name, text in REPLIES.items()]
    (folder / "replies.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = READ | {"prompt_text": PAIRWISE}
    said = [
        site.command("import_suite", str(folder / "taps.yaml"), "--json"),
        site.command("import_responses", str(folder / "replies.jsonl"), "--json"),
        site.command("add_endpoint", "--name", "Pair model", "--url", url, "--model", "pairs"),
        site.command(
            *("add_judge", "--name", "Which is better", "--kind", "custom", "--endpoint", "Pair model"),
            *(part for name, value in options.items() for part in ("--option", f"{name}={value}")),
        ),
    ]
    assert [one.returncode for one in said] == [0] * 4, [one.stderr for one in said]
    return str(json.loads(said[0].stdout)["suite_id"])


def answer_by_key(page: Page, queue: str) -> None:
    """Find the fuller reply better, on whichever side it stands."""
    open_item(page, queue)
    expect(page.locator("#item-panel")).to_contain_text("Which response is better?")
    text = page.locator("#item-panel").inner_text()
    assert "reply-" not in text  # no system is named
    page.keyboard.press("1" if text.index(REPLIES["reply-other"]) < text.index(REPLIES["reply-base"]) else "2")
    page.keyboard.press("Control+Enter")
    expect(page.locator("main")).to_contain_text(re.compile("no items|nothing|All", re.IGNORECASE))


def test_people_decide_what_two_orders_left_open(
    site: LiveSite, signed_in: SignIn, fake_llm: FakeLLM, tmp_path: Path
) -> None:
    fake_llm.config(latency=1, reply="The first.\n[[A]]")  # in both orders
    suite = set_up(site, tmp_path, fake_llm.url)
    page = signed_in("demo-researcher")
    page.goto(f"/runs/new/?suite={suite}")
    page.get_by_label("Which is better").check()
    page.get_by_role("combobox", name="Baseline").select_option(label="reply-base")
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    expect(page.locator("#run-progress")).to_contain_text("Finished", timeout=A_MINUTE)
    run = page.url
    link = page.locator("#run-people a[href*='/review/queues/']").first
    expect(link).to_be_visible(timeout=A_MINUTE)
    queue = str(link.get_attribute("href")).rstrip("/").rpartition("/")[2]

    for person in ("demo-anna", "demo-ben"):
        answer_by_key(signed_in(person), queue)

    page.goto(run)
    page.locator("a[href*='/verdicts/']").first.click()
    expect(page.locator("#verdict-people")).to_contain_text("Their label: better than reply-base.", timeout=A_MINUTE)
    assert faults(page) == []
    assert signed_in.complaints == []
