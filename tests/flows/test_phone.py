"""Tables of figures on a phone: rows are cards, so that no figure lies outside the screen, and tasks stay short."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.flows.axe import PHONE
from tests.flows.conftest import SignIn

pytestmark = pytest.mark.flow

# the cells of a table that a reader of a phone cannot see without scrolling sideways, by their columns
OUTSIDE = """() => [...document.querySelectorAll('table.cards tbody :is(th, td)')]
  .filter(cell => cell.innerText.trim() && !cell.closest('details:not([open])'))
  .map(cell => [cell, cell.getBoundingClientRect()])
  .filter(([, box]) => !box.width || box.left < 0 || box.right > innerWidth)
  .map(([cell]) => cell.dataset.label)"""


def open_on_phone(signed_in: SignIn, address: str) -> Page:
    page = signed_in("demo-researcher", viewport=PHONE, has_touch=True)
    page.goto(address)
    expect(page.locator("table.cards tbody tr").first).to_be_visible()
    return page


def names_of_first_row(page: Page) -> list[str]:
    cells = page.locator("table.cards:visible").first.locator("tbody tr").first.locator("th, td")
    return [str(cell.get_attribute("data-label")) for cell in cells.all()]


def test_escape_closes_the_menu_and_gives_its_button_the_focus(signed_in: SignIn) -> None:
    page = open_on_phone(signed_in, "/runs/")
    menu = page.get_by_role("button", name="Menu")
    menu.press("Enter")
    link = page.locator("#rail").get_by_role("link", name="Benchmarks")
    link.focus()

    page.keyboard.press("Escape")

    expect(menu).to_be_focused()
    expect(menu).to_have_attribute("aria-expanded", "false")
    expect(link).not_to_be_visible()


def test_a_leaderboard_shows_rank_score_and_interval_on_a_phone(signed_in: SignIn) -> None:
    page = open_on_phone(signed_in, "/reports/leaderboards/1/")

    assert page.evaluate(OUTSIDE) == []
    assert {"Rank", "Score", "95% interval"} <= set(names_of_first_row(page))
    interval = page.locator("table.cards tbody tr").first.locator("[data-label='95% interval'] .cards-only")
    expect(interval).to_be_visible()
    low, _, high = interval.inner_text().partition(" to ")
    assert (low.endswith("%"), high.endswith("%")) == (True, True)
    page.get_by_role("link", name="Score", exact=True).click()
    expect(page).to_have_url(re.compile("sort="))
    assert page.evaluate(OUTSIDE) == []
    assert signed_in.complaints == []


def test_a_pair_and_the_judges_show_their_figures_on_a_phone(signed_in: SignIn) -> None:
    page = open_on_phone(signed_in, "/reports/leaderboards/1/")
    for box in page.locator("[data-select-row]").all()[:2]:
        box.check()
    page.get_by_role("button", name="Compare two").click()
    expect(page.locator("#leaderboard-compare table.cards").last).to_be_visible()
    pair = (page.evaluate(OUTSIDE), names_of_first_row(page)[-1])
    page.goto("/reports/judges/")
    expect(page.locator("#judge-list table.cards").first).to_be_visible()

    assert pair == ([], "Difference")
    assert page.evaluate(OUTSIDE) == []
    assert {"Parsed replies", "Agrees with people", "Cost per verdict"} <= set(names_of_first_row(page))


def test_the_tasks_of_a_run_are_short_cards_on_a_phone(signed_in: SignIn) -> None:
    page = open_on_phone(signed_in, "/runs/1/")

    page.locator("#run-tasks summary").click()
    heights = page.locator("#run-tasks tbody tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")

    assert page.evaluate(OUTSIDE) == []
    assert len(heights) == 50
    assert max(heights) <= 110
    assert sum(heights) / 50 <= 80


def test_words_are_whole_on_a_phone(signed_in: SignIn) -> None:
    page = open_on_phone(signed_in, "/cases/1/")
    lines = "words => words.map(one => Math.round(one.clientHeight / parseFloat(getComputedStyle(one).lineHeight)))"

    shown = page.locator(".case-words").evaluate_all(lines)
    page.goto("/debates/sets/1/")
    states = page.locator("td .status:has-text('Unresolved')")
    expect(states.first).to_be_visible()

    assert max(shown) == 4  # of seven; dots stand where it goes on
    assert set(states.evaluate_all(lines)) == {1}


def test_without_javascript_the_tables_scroll_sideways(signed_in: SignIn) -> None:
    page = signed_in("demo-researcher", viewport=PHONE, java_script_enabled=False)
    page.goto("/reports/leaderboards/1/")

    head = page.locator("#leaderboard-systems thead th").nth(4)
    expect(head).to_be_visible()


def test_a_preset_fills_in_the_form_of_an_endpoint_on_a_phone(signed_in: SignIn) -> None:
    page = signed_in("demo-admin", viewport=PHONE, has_touch=True)
    page.goto("/endpoints/new/")

    page.get_by_role("link", name="Azure OpenAI").click()  # its note holds the longest address

    expect(page.get_by_label("Key variable")).to_have_value("AZURE_OPENAI_API_KEY")
    assert page.evaluate("document.documentElement.scrollWidth") == page.evaluate("window.innerWidth")
