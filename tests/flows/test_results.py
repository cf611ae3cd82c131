"""The journeys of a researcher from the first page to the texts behind a figure, their clicks counted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.flows.axe import DESK, faults
from tests.flows.clicks import Clicks
from tests.flows.conftest import PAINTED, SignIn

pytestmark = pytest.mark.flow

SYSTEMS = ("alder-medium", "moss-small", "willow-large")
ADD_WIDEST_LABEL = """all => all.forEach(
    one => one.insertAdjacentHTML("beforeend", '<span class="outline-fact">people 100.0%</span>'))"""


@pytest.fixture
def researcher(signed_in: SignIn) -> Page:
    """Return the first page of a researcher."""
    page = signed_in("demo-researcher")
    page.set_viewport_size(DESK)  # type: ignore[arg-type]
    page.goto("/")
    return page


def open_results(click: Clicks) -> None:
    """Open the results of the demo's suite by its rules; other flows may have made newer ones."""
    click.link("Results")
    expect(click.page.locator("h1")).to_contain_text("Results of")
    click.page.goto("/reports/results/1/?grader=1")
    expect(click.page.locator(".results-table thead")).to_be_visible()
    keys = [
        click.page.get_by_role("checkbox", name=name, exact=True, include_hidden=True).get_attribute("value")
        for name in SYSTEMS
    ]
    click.page.goto("/reports/results/1/?grader=1&" + "&".join(f"system={key}" for key in keys))
    expect(click.page.locator(".results-table thead")).to_contain_text(re.compile(r"\s+".join(SYSTEMS)))


def test_the_worst_responses_of_a_system_and_why_take_three_clicks(researcher: Page) -> None:
    click = Clicks(researcher)
    open_results(click)
    click.link("moss-small")
    expect(researcher).to_have_url(re.compile("sort=1"))
    scores = researcher.locator("tbody tr").locator("td.result-cell >> nth=1").locator("strong").all_inner_texts()
    assert scores == sorted(scores, key=lambda score: float(score.rstrip("%")))
    click(researcher.locator(".results-table tbody th a").first)

    panel = researcher.locator("#results-panel")
    expect(panel.get_by_role("region", name="Response of moss-small")).to_be_visible()
    expect(panel.locator("section", has=researcher.get_by_role("heading", name="moss-small"))).to_contain_text("0%")
    assert click.count == 3


def test_two_systems_where_they_differ_take_two_clicks_with_both_texts(researcher: Page) -> None:
    click = Clicks(researcher)
    open_results(click)
    click.link("Differ")

    panel = researcher.locator("#results-panel")
    for system in ("alder-medium", "moss-small"):
        expect(panel.get_by_role("region", name=f"Response of {system}")).not_to_be_empty()
    assert click.count == 2
    researcher.locator(".result-cell .tabular").evaluate_all(ADD_WIDEST_LABEL)
    assert faults(researcher) == []


def test_cases_where_judges_disagree_take_three_clicks(researcher: Page) -> None:
    click = Clicks(researcher)
    open_results(click)
    click(researcher.locator("#results").get_by_role("link", name="Judges", exact=True))
    expect(researcher.locator(".results-table thead")).to_contain_text("System")
    click.link("Differ")

    expect(researcher.locator("#results-panel").get_by_role("region", name="Response of")).to_be_visible()
    first = researcher.locator(".results-table tbody tr").first.locator("strong").all_inner_texts()
    assert len(set(first)) > 1
    assert click.count == 3
    assert faults(researcher) == []


def test_rows_are_walked_by_keys_and_the_address_follows(researcher: Page) -> None:
    researcher.goto("/reports/results/1/")
    first, second = researcher.locator(".results-table tbody th a").all()[:2]
    names = [first.inner_text(), second.inner_text()]
    researcher.evaluate(PAINTED)

    heading = researcher.locator("#results-panel h2")
    researcher.keyboard.press("j")
    expect(heading).to_contain_text(names[0])
    researcher.evaluate(PAINTED)
    researcher.keyboard.press("j")
    expect(heading).to_contain_text(names[1])
    researcher.evaluate(PAINTED)
    researcher.keyboard.press("k")
    expect(heading).to_contain_text(names[0])
    address = researcher.url
    researcher.reload()
    expect(heading).to_contain_text(names[0])
    assert researcher.url == address

    researcher.evaluate(PAINTED)
    researcher.keyboard.press("Enter")
    expect(researcher).to_have_url(re.compile("/responses/"))


def test_filters_say_after_back_what_the_page_shows(researcher: Page) -> None:
    researcher.goto("/reports/results/1/")
    words = researcher.locator("main input[name=q]")
    words.fill("git")
    words.press("Enter")
    expect(researcher).to_have_url(re.compile(r"[?&]q=git(&|$)"))

    researcher.go_back()

    expect(researcher).to_have_url(re.compile("/reports/results/1/$"))
    expect(words).to_have_value("")


def test_filters_work_without_javascript(signed_in: SignIn) -> None:
    page = signed_in("demo-researcher", java_script_enabled=False)
    page.goto("/reports/results/1/")
    page.locator("input[name=most]").fill("10")

    page.get_by_role("button", name="Filter").click()

    expect(page).to_have_url(re.compile(r"[?&]most=10(&|$)"))
    page.locator(".results-table tbody th a").first.click()
    expect(page.locator("#results-panel")).to_be_visible()


def test_sharing_a_leaderboard_takes_two_clicks(researcher: Page, signed_in: SignIn) -> None:
    researcher.goto("/reports/leaderboards/1/?evaluator=1")
    expect(researcher.locator("#leaderboard-systems")).to_be_visible()
    click = Clicks(researcher)
    click.link("Share")
    click(researcher.get_by_role("button", name="Create link"))

    link = researcher.get_by_label("Link", exact=True).input_value()
    assert click.count == 2
    assert faults(researcher) == []
    researcher.get_by_role("button", name="Copy link").click()
    expect(researcher.locator("#toasts")).to_contain_text(re.compile("Copied|Selected"))

    stranger = signed_in.browser.new_context(java_script_enabled=True).new_page()
    signed_in.pages.append(stranger)
    stranger.goto(link)
    expect(stranger.locator("#leaderboard-systems")).to_contain_text("moss-small")
    assert stranger.locator(".rail").count() == 0
    assert faults(stranger) == []
    stranger.locator("#leaderboard-systems td a").first.click()
    stranger.locator(".results-table tbody th a").first.click()
    expect(stranger.locator("#results-panel")).to_be_visible()
    assert faults(stranger) == []
