"""Teams in the browser: a lead makes one, gives it a queue, and reads its pace and agreement beside everybody's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from evalsite.accounts.roles import Role
from evalsite.api.models import ApiToken
from evalsite.review.models import Queue, Team
from tests import factories
from tests.flows.axe import DESK, faults
from tests.flows.conftest import close_pages, expect_item
from tests.flows.test_form_queue import look, signed_in

pytestmark = [pytest.mark.flow, pytest.mark.django_db(transaction=True)]
ADDRESS = "/review/queues/pairs/"


def test_a_lead_gives_a_queue_to_a_team_and_reads_its_pace_and_agreement(
    live_server: Any, browser: Browser, tmp_path: Path
) -> None:
    factories.user("lea", Role.RESEARCHER)
    for name in ("ada", "ben", "cora"):
        factories.user(name, Role.ANNOTATOR)
    queue = factories.queue(name="Pairs", slug="pairs", quorum=2)
    factories.review_item(queue=queue)

    lead = signed_in(browser, live_server.url, "lea", viewport=DESK)
    make_team(lead, "Night shift", "ada", "ben")
    give(lead, "Night shift")
    members = list(Queue.objects.get().members.order_by("username").values_list("username", flat=True))
    change_team(lead, "Night shift", "cora")
    for name in ("ada", "ben"):
        annotate(signed_in(browser, live_server.url, name, viewport=DESK))
    make_team(lead, "Day shift", "ben", "cora")
    read_pace(lead, tmp_path / "teams.csv")
    read_agreement(lead)
    close_pages(browser)

    assert members == ["ada", "ben"]
    assert Queue.objects.get().team == Team.objects.get(name="Night shift")


def test_a_button_that_is_clicked_twice_acts_once(live_server: Any, browser: Browser) -> None:
    rita = factories.user("rita", Role.RESEARCHER)
    page = signed_in(browser, live_server.url, "rita", viewport=DESK)
    page.goto("/tokens/")
    page.get_by_role("textbox", name="Name").fill("nightly")
    held: list[Route] = []
    page.route("**/tokens/", lambda route: held.append(route))

    button = page.get_by_role("button", name="Make token")
    button.scroll_into_view_if_needed()
    place = button.bounding_box()
    assert place is not None
    for _ in range(2):
        page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
        page.wait_for_timeout(200)  # a browser sends what is clicked once more, and forgets the first answer
    sent = len(held)
    held[-1].continue_()
    expect(page.locator("tbody tr", has_text="nightly")).to_have_count(1)
    close_pages(browser)

    assert (sent, list(ApiToken.objects.values_list("owner", "name"))) == (1, [(rita.pk, "nightly")])


def make_team(page: Page, name: str, *people: str) -> None:
    page.goto("/review/")
    page.get_by_role("link", name="Teams").click()
    page.get_by_role("textbox", name="Name").fill(name)
    for person in people:
        page.get_by_label(person).check()
    assert faults(page) == []
    page.get_by_role("button", name="New team").click()
    expect(page.locator(".toasts")).to_contain_text(f"{name} saved")
    expect(page.locator("tbody tr", has_text=name)).to_contain_text(", ".join(people))


def give(page: Page, team: str) -> None:
    page.goto(f"{ADDRESS}settings/")
    page.get_by_label("Question for annotators").fill("Which one is better?")
    page.locator("select[name=team]").select_option(label=team)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".toasts")).to_contain_text("Queue saved")


def change_team(page: Page, team: str, joins: str) -> None:
    page.goto("/review/teams/")
    row = page.locator("tbody tr", has_text=team)
    expect(row.get_by_role("link", name="Pairs")).to_be_visible()
    row.get_by_role("link", name="Change").click()
    page.get_by_label(joins).check()
    page.get_by_role("button", name="Change").click()
    expect(page.locator(".toasts")).to_contain_text(f"{team} saved")


def annotate(page: Page) -> None:
    page.goto(ADDRESS)
    page.locator("#start-button button").click()
    expect_item(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1 annotated")).to_be_visible()


def read_pace(page: Page, path: Path) -> None:
    """Open the pace by team, and its file."""
    page.goto(ADDRESS)
    page.locator("#pace > summary").click()
    page.locator("#pace summary", has_text="by day and person").click()
    page.locator("#pace summary", has_text="by day and team").click()
    by_person, by_team = page.locator("#pace details").all()
    expect(by_person.locator("tbody tr")).to_have_count(2)
    expect(by_team.locator("tbody tr")).to_have_count(2)
    expect(by_team.locator("tbody tr").nth(1)).to_contain_text("Night shift")
    expect(by_team.locator("tbody tr").nth(1).locator("td.num").first).to_have_text("2")
    look(page, "team-pace")
    assert faults(page) == []
    with page.expect_download() as download:
        by_team.get_by_role("link", name="All as CSV").click()
    download.value.save_as(path)
    assert [line.split(",")[1:4] for line in path.read_text(encoding="utf-8-sig").splitlines()] == [
        ["team", "people", "items"],
        ["Day shift", "1", "1"],
        ["Night shift", "2", "2"],
    ]


def read_agreement(page: Page) -> None:
    """Choose a team on the page of the agreement: its tables by person show its people."""
    page.goto("/reports/agreement/pairs/")
    expect(page.get_by_role("cell", name="ada").first).to_be_visible()
    page.locator("select[name=team]").select_option(label="Day shift")
    expect(page.get_by_text("people of Day shift; other figures are of everybody")).to_be_visible()
    expect(page.get_by_role("rowheader", name="ada")).to_have_count(0)
    look(page, "team-agreement")
    assert faults(page) == []
