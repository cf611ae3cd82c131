"""Gold items in the browser: taken from the file by a lead, who is told of a pause and asks the work again by keys."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from evalsite.accounts.roles import Role
from evalsite.review.models import Annotation, PausedPerson, Queue
from tests import factories
from tests.evalsite.review.test_gold_items import PAUSED, annotate, lazy, sheet
from tests.flows.axe import DESK, faults
from tests.flows.conftest import close_pages, expect_item
from tests.flows.test_form_queue import PHONE, look, signed_in

pytestmark = [pytest.mark.flow, pytest.mark.django_db(transaction=True)]
ADDRESS = "/review/queues/responses-1/"


def test_a_lead_takes_gold_items_and_resolves_who_was_paused(live_server: Any, browser: Browser) -> None:
    factories.user("lea", Role.RESEARCHER)
    zoe = factories.user("zoe", Role.ANNOTATOR)

    phone = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    make(signed_in(browser, live_server.url, "lea", viewport=DESK))
    answer_one_by_touch(signed_in(browser, live_server.url, "zoe", **phone))
    close_pages(browser)
    list(annotate(Queue.objects.get(), zoe, lazy))
    resolve(signed_in(browser, live_server.url, "lea", viewport=DESK, color_scheme="dark"))
    annotator = signed_in(browser, live_server.url, "zoe", **phone)
    annotator.goto(ADDRESS)
    expect(annotator.get_by_text(PAUSED)).to_be_visible()

    pause, queue = PausedPerson.objects.get(), Queue.objects.get()
    given = Annotation.objects.filter(annotator=zoe, item__retest_of=None)
    assert (pause.labels, pause.resumed_at, queue.open_count) == ("asked-again", None, 180)
    assert not given.filter(left_out_at=None).exists()


def make(page: Page) -> None:
    """Make a queue of a file, and gold items of the rows that have an answer."""
    page.goto("/review/queues/new/")
    page.locator("input[type=file]").set_input_files(
        {"name": "a.csv", "mimeType": "text/csv", "buffer": sheet(200, gold=20)}
    )
    page.locator("input[name=scale]").fill("bad, fair, good")
    page.get_by_label("Annotators per item").fill("1")
    page.get_by_role("button", name="Create queue").last.click()
    expect(page.get_by_text("The queue has 200 items")).to_be_visible()
    page.get_by_role("link", name="Take gold items").click()
    page.locator("input[name=column]").fill("nowhere")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No open item of this queue has an answer in a column “nowhere”.")).to_be_visible()
    assert faults(page) == []
    page.locator("input[name=column]").fill("gold_label")
    page.keyboard.press("Enter")
    expect(page.get_by_text("20 items taken as gold")).to_be_visible()


def answer_one_by_touch(page: Page) -> None:
    page.goto(ADDRESS)
    page.locator("#start-button button").tap()
    expect_item(page)
    expect(page.locator(".review-place")).to_contain_text("1 of about 212")
    page.locator("#item-form label.choice").first.tap()
    page.get_by_role("button", name="Submit and next").tap()
    expect(page.locator(".review-place")).to_contain_text("2 of about 212")


def resolve(page: Page) -> None:
    """Read the notice, look at the score, and ask the items of the paused person again, by keys alone."""
    page.goto("/review/notices/")
    expect(page.get_by_text("An annotator of “Responses 1” was paused (zoe:")).to_be_visible()
    page.goto(ADDRESS)
    row = page.locator("#gold tbody tr")
    expect(row).to_contain_text("zoe")
    expect(row).to_contain_text("Paused")
    look(page, "gold-queue")
    assert faults(page) == []
    row.get_by_role("link", name="Decide").focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Decide on paused people")
    page.locator("input[name=labels]").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Left out, and asked of other people again")).to_be_checked()
    page.get_by_label("Reason").focus()
    page.keyboard.type("Always the same label")
    look(page, "gold-resolve")
    assert faults(page) == []
    page.keyboard.press("Enter")
    expect(page.get_by_text("The labels of zoe are left out, and asked of other people again")).to_be_visible()
    page.goto("/reports/agreement/responses-1/")
    expect(page.locator("h1")).to_be_visible()
