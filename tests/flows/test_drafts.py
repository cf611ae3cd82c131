"""What somebody types is never lost: not by the end of a session, a reload, a closed page or a second device."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.flows.conftest import LiveSite, SignIn, make_queue, open_item

pytestmark = pytest.mark.flow


@pytest.fixture
def queue(site: LiveSite, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Return the slug of a queue of one pair, the test's own."""
    row = {"id": "one", "question": "Which one?", "response_a": "This one.", "response_b": "That one."}
    return make_queue(site, tmp_path, request.node.name, row)


def write(page: Page, words: str) -> None:
    """Type a reason and wait until the server has it."""
    with page.expect_response(lambda answer: answer.url.endswith("/draft/") and answer.status == 204):
        page.locator("#id_note").fill(words)


def forget(page: Page) -> None:
    """Empty the browser's own store, as another device's is."""
    page.evaluate("localStorage.clear()")


def sign_in(page: Page, site: LiveSite, name: str) -> None:
    """Fill in the page that asks who somebody is."""
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(site.passwords[name])
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".gate-card")).to_have_count(0)


def test_what_is_typed_into_any_form_is_put_back_after_the_end_of_a_session(signed_in: SignIn, site: LiveSite) -> None:
    page = signed_in("demo-researcher")
    page.goto("/prompts/custom/")
    shipped = page.locator("#id_text").input_value()

    def lose(text: str, by: str) -> None:
        page.locator("#id_label").fill("Stricter")
        page.locator("#id_text").fill(text)
        page.context.clear_cookies(name="sessionid")
        page.get_by_role("button", name="Store the version").click()
        expect(page.locator(".gate-card")).to_contain_text("What you had typed is kept.")
        sign_in(page, site, by)

    lose(f"Be strict.\n{shipped}", "demo-researcher")
    expect(page.locator("#toasts")).to_contain_text("What you had typed is back")
    expect(page.locator("#id_text")).to_have_value(f"Be strict.\n{shipped}")
    page.reload()
    expect(page.locator("#id_text")).to_have_value(shipped)

    lose("Only mine.", "demo-admin")
    page.goto("/prompts/custom/")
    expect(page.locator("#id_text")).to_have_value(shipped)
    assert signed_in.complaints == []


def test_the_end_of_a_session_leads_to_sign_in_and_back_to_the_item_with_its_draft(
    queue: str, signed_in: SignIn, site: LiveSite
) -> None:
    page = signed_in("demo-anna")
    open_item(page, queue)
    address = page.url
    page.locator("#item-form input[name=label]").first.check()
    page.locator("#id_note").fill("a long thought")
    page.context.clear_cookies(name="sessionid")

    page.get_by_role("button", name="Submit and next").click()
    sign_in(page, site, "demo-anna")

    expect(page).to_have_url(address)
    expect(page.locator("#id_note")).to_have_value("a long thought")
    expect(page.locator("#item-form input[name=label]").first).to_be_checked()
    page.get_by_role("button", name="Submit and next").click()
    expect(page.locator("#item-none")).to_be_visible()


def test_a_restored_draft_is_saved_on_the_server(queue: str, signed_in: SignIn) -> None:
    page = signed_in("demo-anna")
    open_item(page, queue)
    page.route("**/draft/", lambda route: route.abort())
    page.locator("#id_note").fill("typed while the network was away")
    page.wait_for_timeout(600)  # kept in this browser

    with page.expect_response(lambda answer: answer.url.endswith("/draft/") and answer.status == 204):
        page.unroute("**/draft/")
        page.reload()

    forget(page)
    page.reload()
    expect(page.locator("#id_note")).to_have_value("typed while the network was away")


def test_a_page_that_is_left_sends_its_draft_first(queue: str, signed_in: SignIn) -> None:
    page = signed_in("demo-anna")
    open_item(page, queue)
    address = page.url

    page.locator("#id_note").fill("typed and gone")
    page.goto("/help/")
    forget(page)
    page.wait_for_timeout(2_000)  # the request goes on behind the page that has ended, which Playwright does not show
    page.goto(address)
    expect(page.locator("#id_note")).to_have_value("typed and gone")


def test_newer_text_is_never_replaced_by_an_older_draft(queue: str, signed_in: SignIn) -> None:
    first = signed_in("demo-anna")
    open_item(first, queue)
    address = first.url
    write(first, "older words")
    second = signed_in("demo-anna")
    second.goto(address)
    expect(second.locator("#id_note")).to_have_value("older words")
    write(second, "newer words from elsewhere")

    with first.expect_response(lambda answer: answer.url.endswith("/draft/")) as answered:
        first.locator("#id_note").fill("older words and one more")

    assert answered.value.status == 412
    expect(first.locator("[data-draft-state]")).to_contain_text("Newer text was saved from another page")
    first.reload()
    expect(first.locator("#id_note")).to_have_value("newer words from elsewhere")
    first.get_by_role("button", name="Use the text of this browser").click()
    expect(first.locator("#id_note")).to_have_value("older words and one more")


def test_a_page_that_is_reloaded_goes_on_with_its_own_draft(queue: str, signed_in: SignIn) -> None:
    page = signed_in("demo-anna")
    open_item(page, queue)
    write(page, "first")
    page.reload()
    write(page, "first and second")
    page.reload()

    write(page, "first, second and third")

    forget(page)
    page.reload()
    expect(page.locator("#id_note")).to_have_value("first, second and third")
