"""The pages of the researcher's desk without JavaScript, on paper and by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.flows.axe import DESK
from tests.flows.conftest import LiveSite, SignIn
from tests.sizes import sized

pytestmark = [pytest.mark.flow, pytest.mark.sized]

ALL_PAGES = (
    "/reports/results/1/?grader=1",
    "/reports/results/1/?grader=1&show=differ",
    "/reports/leaderboards/1/board/",
    "/reports/leaderboards/1/charts/",
    "/reports/spend/",
    "/runs/1/",
    "/judges/",
    "/judges/1/",
    "/judges/1/prompts/",
    "/judges/1/try/",
    "/rubrics/1/?tab=table",
    "/systems/1/",
    "/cases/1/",
    "/search/?q=git",
    "/jobs/",
    "/reports/results/1/send/?show=low",
)
PAGES = sized(ALL_PAGES[::2], whole=ALL_PAGES)
PAPER = {"width": 794, "height": 1123}  # A4 at 96 dots an inch
OVERHANG = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def computed(site: LiveSite) -> None:
    """Compute what the pages show before two browsers look at them."""
    for report in (("leaderboard", "--suite", "desk-questions"), ("judges",), ("results", "--suite", "desk-questions")):
        done = site.command("report", *report, "--json")
        assert done.returncode == 0, done.stderr


def _opened(page: Page, address: str) -> Page:
    page.goto(address)
    for _ in range(20):  # what another flow changed meanwhile is computed again
        if not page.locator("[hx-trigger='every 3s']").count():
            break
        page.wait_for_timeout(500)
        page.goto(address)
    return page


@pytest.mark.usefixtures("computed")
def test_pages_say_the_same_without_javascript(signed_in: SignIn) -> None:
    plain, lively = signed_in("demo-researcher", java_script_enabled=False), signed_in("demo-researcher")
    for address in PAGES:
        _opened(plain, address)
        _opened(lively, address)

        heading = plain.get_by_role("heading", level=1).inner_text()
        expect(lively.get_by_role("heading", level=1)).to_have_text(heading)
        rows = [page.locator("main tbody tr").count() for page in (plain, lively)]
        assert rows[0] == rows[1], address
        for form in plain.locator("main form[data-autosubmit]").all():
            assert form.locator("[type=submit]").first.is_visible(), address


@pytest.mark.usefixtures("computed")
def test_pages_fit_on_paper_without_the_rail(signed_in: SignIn) -> None:
    page = signed_in("demo-researcher", viewport=PAPER)
    for address in PAGES:
        page.emulate_media(media="screen")
        _opened(page, address)
        page.emulate_media(media="print")

        assert page.evaluate(OVERHANG) <= 0, address
        assert not page.get_by_role("navigation", name="Main").is_visible(), address
        assert page.get_by_role("heading", level=1).is_visible(), address


def test_a_judge_is_reached_and_tried_by_keyboard_alone(signed_in: SignIn) -> None:
    page = signed_in("demo-researcher")
    page.set_viewport_size(DESK)  # type: ignore[arg-type]
    page.goto("/judges/")
    for link in ("Lexical levels (reference)", "Try"):
        page.get_by_role("link", name=link, exact=True).focus()
        page.keyboard.press("Enter")
        page.wait_for_load_state()
    page.get_by_label("Response").focus()
    page.keyboard.press("ArrowDown")
    page.get_by_role("button", name="Ask").focus()
    page.keyboard.press("Enter")

    expect(page.get_by_role("main")).to_contain_text("Parsed verdict")


def test_the_page_of_the_api_has_the_colours_of_the_site_and_sends_with_the_session(signed_in: SignIn) -> None:
    researcher = signed_in("demo-researcher", color_scheme="dark")

    researcher.goto("/api/v1/docs")
    operation = researcher.locator("#operations-runs-run-list")
    operation.locator("button.opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()

    answer = operation.locator(".live-responses-table .response")
    expect(answer.locator(".response-col_status")).to_contain_text("200")
    expect(answer.locator(".response-col_description")).to_contain_text('"rows": [')
    expect(researcher.locator("#operations-runs-run-check-lunar .opblock-summary-description")).to_have_text(
        "Say what a settings.json of Lunar-Bench becomes: endpoints, systems, judges, options and suites"
    )
    background = researcher.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == "rgb(28, 32, 34)"
    assert signed_in.complaints == []
