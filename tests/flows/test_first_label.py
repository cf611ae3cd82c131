"""Somebody who was told nothing gives a first label by doing what the pages say, and nothing else."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.flows.axe import DESK, PHONE
from tests.flows.conftest import PAINTED, PATIENCE, LiveSite

pytestmark = pytest.mark.flow
MOST_ACTS = 6  # at five seconds to read a page and do one thing on it, half a minute


@pytest.mark.parametrize("has_keys", [True, False], ids=["keys", "touch"])
def test_the_words_on_the_pages_lead_from_sign_in_to_the_first_label(
    has_keys: bool, chromium: Browser, site: LiveSite, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = f"nora-{'keys' if has_keys else 'touch'}"
    queue, password = _work_for(site, name, tmp_path, request.node.name)
    size = DESK if has_keys else PHONE
    context = chromium.new_context(base_url=site.url, viewport=size, has_touch=not has_keys)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    try:
        page.goto("/")
        page.get_by_label("User name").fill(name)
        page.get_by_label("Password", exact=True).fill(password)
        page.get_by_role("button", name="Sign in", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("1 waits for you")

        acts: list[str] = []
        while not (given := _labels(site, queue, tmp_path / f"{len(acts)}.csv")) and len(acts) < MOST_ACTS:
            acts.append(_do_what_it_says(page, has_keys=has_keys))

        first = "press 1" if has_keys else "tap A is better"
        last = "press Enter" if has_keys else "tap Submit and next"
        assert (acts, given) == (["tap Continue reviewing", first, last], [(name, "a")])
    finally:
        context.close()


def _work_for(site: LiveSite, person: str, folder: Path, name: str) -> tuple[str, str]:
    """Make a person and a queue of one pair for them; return the queue's slug and the password."""
    made = site.command("person", "create", "--username", person, "--role", "annotator", "--json")
    assert made.returncode == 0, made.stderr
    path = folder / "pair.jsonl"
    path.write_text(json.dumps({"question": "Which one?", "response_a": "This one.", "response_b": "That one."}))
    options = ("--file", str(path), "--name", name, "--quorum", "1", "--members", person, "--json")
    queue = site.command("queue", "create", *options)
    assert queue.returncode == 0, queue.stderr
    return str(json.loads(queue.stdout)["queue"]), str(json.loads(made.stdout)["password"])


def _labels(site: LiveSite, queue: str, path: Path) -> list[tuple[str, str]]:
    """Return who gave which label in a queue."""
    exported = site.command("queue", "export", queue, "--output", str(path))
    assert exported.returncode == 0, exported.stderr
    with path.open(newline="") as file:
        return [(row["annotator"], row["blind_label"]) for row in csv.DictReader(file) if row["blind_label"]]


def _do_what_it_says(page: Page, *, has_keys: bool) -> str:
    """Do the one thing that the page asks for next: answer what is open, else what its one large button says."""
    page.wait_for_load_state()
    page.evaluate(PAINTED)
    choices = page.locator("#item-form fieldset.part .choice")
    is_open = choices.count() > 0 and page.locator("#item-form fieldset.part input:checked").count() == 0
    said = choices.first if is_open else page.locator("main .btn-primary:visible, .page-head .btn-primary:visible")
    expect(said).to_have_count(1)
    key = said.locator("kbd")
    if has_keys and key.count():
        page.keyboard.press(key.inner_text())
        return f"press {key.inner_text()}"
    words = said.locator("span").first.inner_text() if is_open else said.inner_text().removesuffix("Enter").strip()
    said.click() if has_keys else said.tap()
    return f"tap {words}"
