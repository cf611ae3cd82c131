"""A study in a browser: an own prompt, a golden set, two versions, their flips, the test, the certificate, a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.evalsite.golden import LABELS, PLAIN, grading_model
from tests.fake_llm.fixture import FakeLLM
from tests.flows.axe import faults
from tests.flows.conftest import FLAGS, find_chromium
from tests.judging.services.own_site import OwnSite, own_site
from tests.judging.services.served_site import ServedSite

pytestmark = [pytest.mark.flow, pytest.mark.xdist_group("flow")]

A_MINUTE = 60_000
PASSWORD = "a long passphrase"  # of everybody whom the factories make
EXAMPLES = """- {question: What is 2+2?, response: Four., reply: "It says four. GRADE: C"}
- {question: What is 2+2?, response: Five., reply: "It says five. GRADE: I"}"""


@dataclass
class Study:
    """A served site whose suite has labels, a model that grades, and a researcher at a browser."""

    own: OwnSite
    page: Page

    def ask(self, *arguments: str) -> Any:
        return self.own.ask(*arguments, module="tests.flows.golden_process")


@pytest.fixture
def study(tmp_path: Path, own_database: str) -> Iterator[Study]:
    path = find_chromium()
    with grading_model() as model, own_site(tmp_path, own_database) as own, sync_playwright() as playwright:
        own.environment["DJANGO_SETTINGS_MODULE"] = "evalsite.settings"  # with the hashed files that a browser loads
        own.environment["EVALSITE_REVIEW_AUDIT_SHARE"] = "0"
        served = ServedSite(own.environment, threads=8, web=2)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            fill(own, model)
            served.wait_until(served.answers, "the site")
            yield Study(own, sign_in(browser, f"http://{served.address}"))
        finally:
            browser.close()
            served.close()


def fill(own: OwnSite, model: FakeLLM) -> None:
    module = "tests.flows.golden_process"
    own.ask("label", "rita", module=module)
    own.ask("run", "add_endpoint", "--name", "Grading model", "--url", model.url, "--model", "fake", module=module)


def sign_in(browser: Browser, address: str) -> Page:
    page = browser.new_context(base_url=address).new_page()
    page.set_default_timeout(20_000)
    page.goto("/")
    page.get_by_label("Username").fill("rita")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/")
    return page


def test_a_judge_is_aligned_with_people(study: Study) -> None:
    page = study.page
    judge = paste_prompt(page)
    for place in range(3):
        try_on_response(page, judge, place)
    make_set(page)
    golden = page.url

    run_on_development(page, golden)
    accept_proposed_wording(page, golden)
    run_on_development(page, golden)
    page.get_by_role("link", name="Compare the newest two").click()
    expect(page.get_by_role("main")).to_contain_text(
        re.compile(r"(\d+) of 45 responses: \1 now agree with people, 0 no")
    )
    expect(page.get_by_role("main")).to_contain_text("sly answer")
    assert faults(page) == []

    page.goto(golden)
    expect(page.locator("#golden-detail")).to_contain_text("Nobody has seen a figure of the test part.")
    open_test(page, golden)
    certify(page)
    choose_threshold(page)
    run = start_run(page)
    assert study.ask("routed_by", run) == [1.0]


def paste_prompt(page: Page) -> str:
    """Set up the judge; return the address at which it is tried."""
    page.goto("/judges/new/?kind=custom")
    page.get_by_label("Name", exact=True).fill("Grader")
    page.get_by_label("Endpoint").select_option(label="Grading model")
    page.get_by_label("System text").fill("")
    page.get_by_label("Examples").fill(EXAMPLES)
    page.get_by_label("Form of the reply").select_option(label="at the end of the last line")
    page.get_by_label("Labels").fill(LABELS)
    page.get_by_role("textbox", name="Prompt").fill(PLAIN)
    page.locator("[name=option_confidence]").select_option("samples", force=True)
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(re.compile(r"/judges/\d+/try/"))
    return page.url


def try_on_response(page: Page, judge: str, place: int) -> None:
    page.goto(judge)
    page.locator("[name=response]").select_option(index=place)
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("main")).to_contain_text("Parsed verdict", timeout=A_MINUTE)


def make_set(page: Page) -> None:
    page.goto("/judges/")
    page.get_by_role("link", name="Golden sets").click()
    page.get_by_role("link", name="New golden set").first.click()
    page.get_by_label("Suite and criterion").select_option(index=1)
    page.get_by_role("textbox", name="Name").fill("Desk")
    page.get_by_role("button", name="Count the labels").click()
    expect(page.get_by_role("main")).to_contain_text("Labels found")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#golden-detail")).to_contain_text("No judge has been run on development yet.")
    assert faults(page) == []


def run_on_development(page: Page, golden: str) -> None:
    """Start the judge on development once its cost is shown, and wait for its figures."""
    page.goto(golden)
    rows = page.locator("section[aria-labelledby=development-title] tbody tr")
    before = rows.count()
    page.get_by_role("link", name="Run judges on development").first.click()
    page.get_by_label("Grader").check()
    page.get_by_role("button", name="Show the cost").click()
    expect(page.get_by_role("main")).to_contain_text("unknown: the price of Grader is not known")
    page.get_by_role("button", name="Start").click()
    expect(rows).to_have_count(before + 1, timeout=A_MINUTE)


def accept_proposed_wording(page: Page, golden: str) -> None:
    page.get_by_role("link", name="Disagreements").first.click()
    page.get_by_role("link", name="Example, rule or doubt").first.click()
    page.get_by_label("Rule for the rubric or the prompt").fill("Distrust sly answers.")
    page.get_by_role("button", name="Note the rule").click()
    expect(page.get_by_role("main")).to_contain_text("Distrust sly answers.")
    assert faults(page) == []
    page.go_back()
    page.goto(golden)
    page.get_by_role("link", name="Disagreements").first.click()
    page.get_by_role("link", name="Propose wording").click()
    page.get_by_label("Model that proposes").select_option(label="Grading model")
    page.get_by_role("button", name="Ask the model").click()
    page.get_by_role("checkbox", name="Accept change 1").check(timeout=A_MINUTE)
    assert faults(page) == []
    page.get_by_role("button", name="Accept the ticked lines").click()
    expect(page.locator("#golden-detail")).to_contain_text("Grading model on Grader: accepted")


def open_test(page: Page, golden: str) -> None:
    page.get_by_role("link", name="Open the test").first.click()
    expect(page.get_by_role("main")).to_contain_text("It has never been opened.")
    assert faults(page) == []
    page.get_by_role("button", name="Open the test for this version").click()
    expect(page.locator("#golden-detail")).to_contain_text("never opened before", timeout=A_MINUTE)
    page.get_by_role("link", name="Certificate and threshold").click()
    expect(page.get_by_role("main")).to_contain_text("by rita, never opened before")


def certify(page: Page) -> None:
    page.get_by_role("button", name="Issue certificate").click()
    expect(page.locator("#judge-trust")).to_contain_text("40 of 40 cases")
    expect(page.locator("#judge-trust")).to_contain_text("Winning rate")
    assert faults(page) == []


def choose_threshold(page: Page) -> None:
    page.get_by_role("link", name="Choose a threshold").click()
    page.get_by_role("button", name="Save threshold").click()
    expect(page.locator("#judge-trust")).to_contain_text("below 1.00 are sent to review")


def start_run(page: Page) -> str:
    """Start a run of the suite with the aligned judge; return its key."""
    page.get_by_role("link", name="Start a run").click()
    rules = page.get_by_label("Rule graders")
    if rules.is_enabled():
        rules.uncheck()
    page.get_by_label("Grader", exact=True).check()
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    expect(page.locator("#run-progress")).to_contain_text("Finished", timeout=A_MINUTE)
    return page.url.rstrip("/").rpartition("/")[2]
