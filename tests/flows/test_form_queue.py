"""A form of one's own in the browser: written with a live preview, answered by keyboard alone and on a phone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from evalsite.accounts.roles import Role
from evalsite.review.models import Annotation
from tests import factories
from tests.flows.axe import DESK, faults
from tests.flows.conftest import expect_item

pytestmark = [pytest.mark.flow, pytest.mark.django_db(transaction=True)]
SLUG = "pairs-1"
PHONE = {"width": 390, "height": 844}
PAIRS = (
    "id,question,response_a,response_b\n"
    "p1,What is two and two?,It is four.,It is five.\n"
    "p2,What is three and three?,It is six.,It is seven.\n"
)
FORM = """form:
  - {key: better, ask: Which response is better?, kind: preference, grades: 5}
  - key: why
    ask: What decided it?
    kind: choices
    options: {fact: Facts, style: Style}
    show_if: {better: [2, -2]}
    keys: {fact: a}
  - {key: use, ask: How useful is it?, kind: scale, anchors: {1: useless, 5: complete}, per: response}
  - {key: topic, ask: What is it about?, kind: choice, options: {sum: Sums, other: Something else}}
  - {key: days, ask: How many numbers are in it?, kind: number, low: 0, high: 31, step: 1}
  - {key: note, ask: Anything else?, kind: text, required: false, help: In a few words.}
"""


def look(page: Page, name: str) -> None:
    """Keep a picture of the page where somebody wants to look at it."""
    if folder := os.environ.get("EVALSITE_TEST_PICTURES"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def signed_in(browser: Browser, url: str, name: str, **options: Any) -> Page:
    """Return a page of somebody who is signed in, as the form does it, which is filled in in other flows."""
    page = browser.new_context(base_url=url, **options).new_page()
    sign_in(page, url, name)
    return page


def sign_in(page: Page, url: str, name: str) -> None:
    """Give the browser of a page the cookie of somebody who is signed in."""
    client = Client()
    client.force_login(User.objects.get(username=name))
    value = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": value, "url": url}])


def test_a_form_is_written_and_answered_by_keys_and_on_a_phone(
    live_server: Any, browser: Browser, tmp_path: Path
) -> None:
    factories.user("rosa", Role.RESEARCHER)
    factories.user("ada", Role.ANNOTATOR)
    factories.user("ben", Role.ANNOTATOR)
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(PAIRS, encoding="utf-8")

    write(signed_in(browser, live_server.url, "rosa", viewport=DESK), pairs)
    answer_by_keys(signed_in(browser, live_server.url, "ada", viewport=DESK, color_scheme="dark"))
    phone = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    answer_by_touch(signed_in(browser, live_server.url, "ben", **phone))

    ada, ben = Annotation.objects.get(annotator__username="ada"), Annotation.objects.get(annotator__username="ben")
    swapped = [row.assignment.swapped for row in (ada, ben)]
    seen = {"better": 2, "why": ["fact", "style"], "use.a": 4, "use.b": 1, "topic": "sum", "days": 7, "note": "So, so"}
    turned = seen | {"better": -2, "use.a": 1, "use.b": 4}
    assert ada.parts == (turned if swapped[0] else seen)
    seen = {"better": 0, "use.a": 5, "use.b": 5, "topic": "other", "days": 2}
    assert ben.parts == seen


def write(page: Page, pairs: Path) -> None:
    """Write a form that is wrong at first, see it as annotators do, and make the queue."""
    page.goto("/review/queues/new/")
    preview, field = page.locator("#form-preview"), page.locator("textarea[name=form]")
    page.get_by_role("button", name="Preference between two responses").click()
    expect(preview.get_by_text("A is much better")).to_be_visible()
    field.fill(FORM.replace("grades: 5", "grades: 4"))
    expect(preview.get_by_text("line 2: A preference has 2, 3, 5 or 7 grades.")).to_be_visible()
    field.fill(FORM)
    expect(preview.get_by_text("How useful is it?")).to_have_count(2)
    expect(preview.get_by_text("What decided it?")).to_be_hidden()
    preview.get_by_text("A is much better").click()
    expect(preview.get_by_text("What decided it?")).to_be_visible()
    assert faults(page) == []
    look(page, "form-write")
    page.locator("input[type=file]").set_input_files(pairs)
    page.get_by_label("Annotators per item").fill("2")
    page.get_by_role("button", name="Create queue").last.click()
    expect(page.get_by_text("The queue has 2 items")).to_be_visible()


def take(page: Page) -> None:
    page.goto(f"/review/queues/{SLUG}/")
    page.locator("#start-button button").click()
    expect_item(page)


def answer_by_keys(page: Page) -> None:
    """Answer all questions by keys: the first that is missing is jumped to, a dependent one appears."""
    take(page)
    keys = page.keyboard
    assert faults(page) == []
    keys.press("1")  # A is much better
    expect(page.get_by_text("What decided it?")).to_be_visible()
    keys.press("a")
    keys.press("2")
    expect(page.locator("input[name=part-why]:checked")).to_have_count(2)
    keys.press("j")
    keys.press("4")
    keys.press("1")
    look(page, "form-item-dark")
    keys.press("Enter")  # the topic is missing
    expect(page.locator("[data-current]")).to_contain_text("What is it about?")
    keys.press("1")
    expect(page.locator("input[name=part-days]")).to_be_focused()
    keys.type("7")
    keys.press("j")  # no letter of a number: the key of the next question
    keys.type("So, so")
    keys.press("Control+Enter")
    expect(page.locator(".review-place")).to_contain_text("2 of 2")
    expect(page.locator("[data-current]")).to_contain_text("Which response is better?")


def answer_by_touch(page: Page) -> None:
    take(page)
    form = page.locator("#item-form")
    look(page, "form-item-phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    form.get_by_text("Neither is better").tap()
    expect(form.get_by_text("What decided it?")).to_be_hidden()
    for side in ("a", "b"):
        form.locator(f"label:has(input[name='part-use.{side}'][value='5'])").tap()
    form.get_by_text("Something else").tap()
    form.locator("input[name=part-days]").fill("2")
    assert faults(page) == []
    form.get_by_role("button", name="Submit and next").tap()
    expect(page.locator(".review-place")).to_contain_text("2 of 2")
