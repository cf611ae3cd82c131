"""A study in a browser: an own prompt, a golden set, two versions, their flips, the test, the certificate, a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from evalsite.base.formats import number, percent
from tests.evalsite.golden import LABELS, PLAIN, grading_model
from tests.flows.axe import faults
from tests.flows.conftest import PATIENCE
from tests.judging.services.own_site import OwnSite, own_site
from tests.judging.services.served_site import ServedSite
from tests.local_llm import server as local
from tests.local_llm.server_process import local_model

pytestmark = [pytest.mark.flow, pytest.mark.slow]  # its pages and acts are in the walk and in test_threshold

PASSWORD = "a long passphrase"  # of everybody whom the factories make


@dataclass(frozen=True)
class Grading:
    """A model that grades, what it is asked, and how the second version comes about."""

    model: str
    prompt: str
    examples: str
    labels: str
    cases: int  # of the suite; at least 30 of them are in the test part, so that a certificate can be issued
    patience: int  # milliseconds that a run may take
    new_labels: str = ""  # of the second version; without them, the model proposes its wording


FAKE = Grading(
    model="fake",
    prompt=PLAIN,
    examples="""- {question: What is 2+2?, response: Four., reply: "It says four. GRADE: C"}
- {question: What is 2+2?, response: Five., reply: "It says five. GRADE: I"}""",
    labels=LABELS,
    cases=100,
    patience=PATIENCE,
)
# of what it is asked, a model of 135 million parameters can do this: repeat an adjective
LOCAL = Grading(
    model=local.MODEL,
    prompt="Answer to grade: {{ response }}\nWhich word describes the work?",
    examples="""- {question: "", response: Answer 99 is poor work., reply: poor}
- {question: "", response: Answer 98 is fine work., reply: fine}""",
    labels="fine = 1\npoor = 0\nsly = 1",
    new_labels="fine = 1\npoor = 0\nsly = 0",
    cases=90,
    patience=3 * PATIENCE,
)


@dataclass
class Study:
    """A served site whose suite has labels, a model that grades, and a researcher at a browser."""

    own: OwnSite
    page: Page
    grading: Grading

    def ask(self, *arguments: str) -> Any:
        return self.own.ask(*arguments, module="tests.flows.golden_process")

    def stored(self, part: str) -> list[dict[str, Any]]:
        """Return the stored figures of the versions on a part, the newest first."""
        rows: list[dict[str, Any]] = self.ask("run", "report", "golden", "--golden-set", "Desk")[part]
        return rows


@contextmanager
def address_of(grading: Grading) -> Iterator[str]:
    if grading is LOCAL:
        with local_model() as address:
            yield address
    else:
        with grading_model() as model:
            yield model.url


@pytest.fixture
def study(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path, own_database: str) -> Iterator[Study]:
    grading: Grading = request.param
    with address_of(grading) as model, own_site(tmp_path, own_database) as own:
        own.environment["DJANGO_SETTINGS_MODULE"] = "evalsite.settings"  # with the hashed files that a browser loads
        own.environment["EVALSITE_REVIEW_AUDIT_SHARE"] = "0"
        served = ServedSite(own.environment, threads=8, web=2)
        try:
            fill(own, model, grading)
            served.wait_until(served.answers, "the site")
            yield Study(own, sign_in(browser, f"http://{served.address}"), grading)
        finally:
            served.close()


def fill(own: OwnSite, url: str, grading: Grading) -> None:
    module = "tests.flows.golden_process"
    calls = ["--max-concurrency=1"] if grading is LOCAL else []  # it serves one at a time
    own.ask("label", "rita", grading.cases, module=module)
    new = ("endpoint", "create", "--name=Grading model", f"--base-url={url}", f"--model={grading.model}", *calls)
    own.ask("run", *new, module=module)


def sign_in(browser: Browser, address: str) -> Page:
    page = browser.new_context(base_url=address).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto("/")
    page.get_by_label("Username").fill("rita")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/")
    return page


@pytest.mark.parametrize(
    "study",
    [
        pytest.param(FAKE, id="fake"),
        pytest.param(LOCAL, id="local", marks=[pytest.mark.local_llm, pytest.mark.timeout(1800)]),
    ],
    indirect=True,
)
def test_a_judge_is_aligned_with_people(study: Study) -> None:
    page = study.page
    judge = paste_prompt(page, study.grading)
    for place in range(3):
        try_on_response(page, judge, place)
    make_set(page)
    golden = page.url

    run_on_development(study, golden)
    if study.grading.new_labels:
        change_labels(page, judge, study.grading.new_labels)
    else:
        accept_proposed_wording(page, golden)
    run_on_development(study, golden)
    flips = read_flips(study)
    page.goto(golden)
    expect(page.locator("#golden-detail")).to_contain_text("Nobody has seen a figure of the test part.")
    open_test(study, golden)
    certificate = certify(study)
    threshold = choose_threshold(study)
    run = start_run(study)

    assert study.ask("routed_by", run) == [threshold]
    if study.grading is FAKE:  # whose verdicts are known: with the second version all agree with people
        assert (flips["losses"], flips["responses"], certificate["figures"]["cases"], threshold) == (0, 45, 40, 1.0)
        assert flips["gains"] == len(flips["flips"]) > 0


def paste_prompt(page: Page, grading: Grading) -> str:
    """Set up the judge; return the address at which it is tried."""
    page.goto("/judges/new/?kind=custom")
    page.get_by_label("Name", exact=True).fill("Grader")
    page.get_by_label("Endpoint").select_option(label="Grading model")
    page.get_by_label("System text").fill("")
    page.get_by_label("Examples").fill(grading.examples)
    page.get_by_label("Form of the reply").select_option(label="at the end of the last line")
    page.get_by_label("Labels").fill(grading.labels)
    page.get_by_role("textbox", name="Prompt").fill(grading.prompt)
    page.locator("[name=option_confidence]").select_option("samples", force=True)
    page.locator("[name=option_max_tokens]").evaluate("(field) => { field.value = '16'; }")  # a small model goes on
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(re.compile(r"/judges/\d+/try/"))
    return page.url


def try_on_response(page: Page, judge: str, place: int) -> None:
    page.goto(judge)
    page.locator("[name=response]").select_option(index=place)
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("main")).to_contain_text("Parsed verdict")


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


def run_on_development(study: Study, golden: str) -> None:
    """Start the judge on development once its cost is shown, and wait for its figures."""
    page = study.page
    page.goto(golden)
    rows = page.locator("section[aria-labelledby=development-title] tbody tr")
    before = rows.count()
    page.get_by_role("link", name="Run judges on development").first.click()
    page.get_by_label("Grader").check()
    page.get_by_role("button", name="Show the cost").click()
    expect(page.get_by_role("main")).to_contain_text("unknown: the price of Grader is not known")
    page.get_by_role("button", name="Start").click()
    expect(rows).to_have_count(before + 1, timeout=study.grading.patience)
    shows_figures(rows.first, study.stored("development")[0])


def shows_figures(row: Locator, stored: dict[str, Any]) -> None:
    """Pass where a row of the page shows the figures that are stored of its version."""
    agreement, kappa = stored["agreement"], stored["kappa"]
    expect(row).to_contain_text(stored["key"][:8])
    expect(row).to_contain_text(agreement["reason"] if agreement["value"] is None else percent(agreement["value"]))
    expect(row).to_contain_text(f"{stored['items']} responses")
    expect(row.locator("td").nth(3)).to_have_text(str(stored["unread"]))
    if kappa["value"] is not None:
        expect(row.locator("td").nth(1)).to_contain_text(number(kappa["value"], 2))


def change_labels(page: Page, judge: str, labels: str) -> None:
    page.goto(judge.replace("/try/", "/change/"))
    page.get_by_label("Labels").fill(labels)
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(re.compile(r"/judges/\d+/(try/)?"))


def read_flips(study: Study) -> dict[str, Any]:
    """Compare the newest two versions; return what is stored of their difference."""
    page = study.page
    page.get_by_role("link", name="Compare the newest two").click()
    after, before = study.stored("development")
    flips: dict[str, Any] = study.ask(
        "run", "report", "golden-comparison", "--golden-set", "Desk", "--before", before["key"], "--after", after["key"]
    )
    counted = f"{len(flips['flips'])} of {flips['responses']} responses: {flips['gains']} now agree with people"
    expect(page.get_by_role("main")).to_contain_text(f"{counted}, {flips['losses']} no longer do")
    expect(page.get_by_role("main")).to_contain_text("sly answer" if flips["flips"] else "No difference")
    assert faults(page) == []
    return flips


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
    page.get_by_role("checkbox", name="Accept change 1").check()
    assert faults(page) == []
    page.get_by_role("button", name="Accept the ticked lines").click()
    expect(page.locator("#golden-wording")).to_contain_text("1 line accepted")


def open_test(study: Study, golden: str) -> None:
    page = study.page
    page.get_by_role("link", name="Open the test").first.click()
    expect(page.get_by_role("main")).to_contain_text("It has never been opened.")
    assert faults(page) == []
    page.get_by_role("button", name="Open the test for this version").click()
    expect(page.locator("#golden-detail")).to_contain_text("never opened before", timeout=study.grading.patience)
    shows_figures(page.locator("section[aria-labelledby=test-title] tbody tr").first, study.stored("test")[0])
    page.get_by_role("link", name="Certificate and threshold").click()
    expect(page.get_by_role("main")).to_contain_text("by rita, never opened before")


def certify(study: Study) -> dict[str, Any]:
    """Issue the certificate, which has to say what is stored; return that."""
    page, trust = study.page, study.page.locator("#judge-trust")
    page.get_by_role("button", name="Issue certificate").click()
    expect(trust).to_contain_text("Winning rate")
    certificate: dict[str, Any] = study.ask("trusted", study.stored("test")[0]["key"])
    figures = certificate["figures"]
    expect(trust).to_contain_text(f"{certificate['items']} of {figures['cases']} cases")
    expect(trust).to_contain_text(f"{percent(figures['test']['winning_rate'], 0)} of the annotators")
    assert faults(page) == []
    return certificate


def choose_threshold(study: Study) -> float:
    """Save the threshold, which has to be the one that is stored; return it."""
    page = study.page
    page.get_by_role("link", name="Choose a threshold").click()
    page.get_by_label("Looks").select_option("1")
    expect(page.locator("#judge-threshold")).to_contain_text("One look is planned")
    page.get_by_role("button", name="Take look 1 of 1").click()
    expect(page.locator("#judge-trust")).to_contain_text("it applies to the next runs of this version")
    threshold: float = study.ask("trusted", study.stored("test")[0]["key"])["threshold"]
    expect(page.locator("#judge-trust")).to_contain_text(f"below {threshold:.2f} are sent to review")
    return threshold


def start_run(study: Study) -> str:
    """Start a run of the suite with the aligned judge; return its key."""
    page = study.page
    page.get_by_role("link", name="Start a run").click()
    rules = page.get_by_label("Rule graders")
    if rules.is_enabled():
        rules.uncheck()
    page.get_by_label("Grader", exact=True).check()
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    expect(page.locator("#run-progress")).to_contain_text("Finished", timeout=study.grading.patience)
    return page.url.rstrip("/").rpartition("/")[2]
