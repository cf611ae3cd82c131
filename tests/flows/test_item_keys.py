"""Keys while somebody types, what stays true on the page after an act, and messages that cover nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.flows.axe import DESK
from tests.flows.conftest import PAINTED, LiveSite, SignIn, open_item

pytestmark = pytest.mark.flow


@pytest.fixture
def queue(site: LiveSite, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Return the slug of a queue of four pairs, the test's own."""
    path = tmp_path / "pairs.jsonl"
    row = {"response_a": "This one.", "response_b": "That one."}
    rows = [row | {"id": str(number), "question": f"Which one, {number}?"} for number in range(4)]
    path.write_text("\n".join(map(json.dumps, rows)))
    made = site.command("queue", "create", "--file", str(path), "--name", request.node.name, "--quorum", "5", "--json")
    assert made.returncode == 0, made.stderr
    return str(json.loads(made.stdout)["queue"])


def open_painted(page: Page, queue: str) -> None:
    """Open an item and wait until keys are alive."""
    page.set_viewport_size(DESK)  # type: ignore[arg-type]
    open_item(page, queue)


def test_ctrl_enter_submits_and_escape_leaves_the_field(queue: str, signed_in: SignIn) -> None:
    page = signed_in("demo-anna")
    open_painted(page, queue)
    place = page.locator(".review-place")
    expect(place).to_contain_text("1 of 4")

    page.keyboard.press("1")
    page.keyboard.press("w")
    page.keyboard.type("because")
    page.keyboard.press("Control+Enter")
    expect(place).to_contain_text("2 of 4")

    page.evaluate(PAINTED)
    page.keyboard.press("w")
    page.keyboard.type("because")
    page.keyboard.press("Escape")
    expect(page.locator("#id_note")).not_to_be_focused()
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(place).to_contain_text("3 of 4")


def test_escape_leaves_a_field_and_then_folds_what_a_key_unfolded(queue: str, signed_in: SignIn) -> None:
    page = signed_in("demo-anna")
    open_painted(page, queue)
    summary = page.locator("summary[data-key=f]")

    page.keyboard.press("f")
    expect(page.locator("#id_text")).to_be_focused()
    page.keyboard.press("Escape")
    expect(summary).to_be_focused()
    expect(page.locator("#id_text")).to_be_visible()
    page.keyboard.press("Escape")

    expect(page.locator("#id_text")).not_to_be_visible()
    expect(summary).to_be_focused()
    page.keyboard.press("x")
    expect(page.locator(".review-reasons button").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("summary[data-key=x]")).to_be_focused()
    expect(page.locator(".review-reasons button").first).not_to_be_visible()


def test_the_number_in_the_rail_follows_what_is_answered(queue: str, signed_in: SignIn) -> None:
    page = signed_in("demo-anna")
    open_painted(page, queue)
    badge = page.locator("#rail-badge")
    before = int(badge.inner_text().split()[0])

    page.keyboard.press("1")
    page.keyboard.press("Enter")

    expect(badge).to_contain_text(str(before - 1))


def test_messages_cover_nothing_of_the_item_and_end_with_the_next_act(queue: str, signed_in: SignIn) -> None:
    page = signed_in("demo-anna")
    open_painted(page, queue)

    page.keyboard.press("s")
    page.locator("form[action$='/skip/'].review-reasons button").first.click()

    note = page.locator(".toast-note")
    expect(note).to_contain_text("Skipped")
    message, item = note.bounding_box(), page.locator("#item-panel .split").bounding_box()
    assert message is not None
    assert item is not None
    assert message["y"] + message["height"] <= item["y"]
    page.evaluate(PAINTED)
    page.keyboard.press("u")
    expect(note).to_have_count(1)
    expect(note).not_to_contain_text("Skipped")


def test_a_message_of_a_failed_request_goes_with_the_next_success(queue: str, signed_in: SignIn) -> None:
    page = signed_in("demo-anna")
    open_painted(page, queue)
    failed = page.locator(".toast-note[data-tone=bad]")

    acts: list[Callable[[Route], None]] = [
        Route.abort,
        partial(Route.fulfill, status=500, body=""),
        Route.continue_,
    ]
    answers = iter(acts)
    page.route("**/annotate/", lambda route: next(answers)(route))
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(failed).to_contain_text("The site cannot be reached")
    expect(page.locator(".htmx-request")).to_have_count(0)  # the form takes no second key before
    page.keyboard.press("Enter")
    expect(failed.last).to_contain_text("Whether it has stored anything is not known")
    page.keyboard.press("Enter")

    expect(page.locator(".review-place")).to_contain_text("2 of 4")
    expect(failed).to_have_count(0)
