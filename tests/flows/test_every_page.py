"""Every page of the site, found by its links: nothing that axe-core finds wrong, and no table cut, in any light."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import databases
from tests.evalsite.test_access import TABLE
from tests.flows.axe import AXE, faults
from tests.flows.conftest import LiveSite, SignIn, end_shared_site, expect_item
from tests.flows.examples import lengthen_names, make_examples, told
from tests.page_walk import name_of, pages_by_name
from tests.sizes import sized

pytestmark = [pytest.mark.flow, pytest.mark.sized]

NOT_PAGES = {  # parts of pages, and files
    "api:openapi-view",  # the documentation that django-ninja brings
    "judging:day-budget-set",  # the page of budgets once more, where a form is refused
    "act",  # the form of an act that says its own button: test_recipes.py
    "review:training",  # looked at, by axe too, where somebody trains: test_training_round.py
    "review:guidelines",  # the same where somebody reads what changed: test_guidelines.py
    *("home-running", "logout", "accounts:audit-export", "judging:case-edit-trial", "judging:rubric-workbook"),
    *("judging:judge-export", "judging:picture", "judging:import-picture"),
    *("judging:import-problems", "judging:run-progress", "judging:run-rescoring", "judging:esi-files"),
    "debate:set-estimate",
    *("debate:set-progress", "debate:debate-live", "review:queue-export", "review:run-people", "review:form-preview"),
    # lead elsewhere: to the results of a suite, and to a run
    *("reports:results-newest", "reports:run-results", "reports:results-export"),
    *(
        "reports:board-export",
        "reports:leaderboard-export",
        "reports:agreement-export",
        "reports:labels-export",
        "reports:debate-export",
    ),
    *("reports:arena-export", "reports:robustness-export", "reports:judge-export"),
    *("reports:judge-trust", "reports:trust-chart", "reports:trust-export"),
    *("reports:agreement-items", "reports:agreement-data-set", "reports:labels-items", "reports:leaderboard-chart"),
    *("reports:leaderboard-bundle", "reports:case-export", "reports:charts-export"),
    "reports:spend-export",
    "reports:pace-export",
    "reports:adjudications-export",
    "reports:golden-export",
    *("reports:judge-bias", "reports:bias-export", "reports:debate-bias", "reports:debate-bias-export"),
    *("judging:import-template", "judging:esi-create", "debate:set-export", "debate:set-archive"),
}
FILES = {name for name in NOT_PAGES if name.endswith(("-export", "-chart", "-bundle", "-archive", "picture"))}
SECTIONS = {  # of the site, as long as each other; what begins like none of them belongs to the last
    "help": ("/help/",),
    "golden": ("/reports/golden/",),
    "reports": ("/reports/",),
    "review": ("/review/", "/people/", "/audit/"),
    "debates": ("/debates/", "/judges/", "/prompts/", "/endpoints/"),
    "rest": ("/",),
}
TOPICS = "/help/"  # of the help, which are the same for everybody


def section_of(address: str) -> str:
    """Return the section of the site that a page belongs to."""
    return next(name for name, begins in SECTIONS.items() if address.startswith(begins))


def pages_of(page: Page) -> dict[str, str]:
    """Return one address of every page that links lead to for who is signed in, by its name."""

    def text_at(address: str) -> str:
        if name_of(address) in FILES:
            return ""
        answer = page.request.get(address)
        return answer.text() if answer.ok else ""

    return {name: address for name, address in pages_by_name(text_at).items() if name not in NOT_PAGES}


def take(page: Page, queue: str) -> None:
    """Open the next item of the queue."""
    page.goto(f"/review/queues/{queue}/")
    page.locator("form[action$='/next/'] button").first.click()
    expect_item(page)


@pytest.fixture(scope="module")
def site(shared_site: LiveSite) -> LiveSite:
    """Return a demo beside that of the other flows, for the processes that share these tests out."""
    return shared_site


@pytest.fixture(autouse=True)
def leave(request: pytest.FixtureRequest, site: LiveSite) -> Iterator[None]:
    """End the demo once all processes of the run have left the last of these tests."""
    yield
    with databases.alone("every-page"):
        kept = databases.FOLDER / "every-page-left"
        count = 1 + (int(kept.read_text()) if kept.exists() else 0)
        kept.write_text(f"{count}")
        if count == sum(item.path == request.path for item in request.session.items):
            end_shared_site()


@dataclass(frozen=True, slots=True)
class Prepared:
    """What has been made for these tests: a queue of pairs, and an address of every page, by its name."""

    queue: str
    pages: dict[str, str]


@pytest.fixture(scope="module")
def prepared(chromium: Browser, site: LiveSite, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Return what the first process of the run that asked has made."""
    kept = databases.FOLDER / "every-page.json"
    with databases.alone("every-page"):
        if not kept.exists():
            signed_in = SignIn(chromium, site)
            made = _prepare(site, signed_in, tmp_path_factory.mktemp("pages"))
            signed_in.close()
            assert signed_in.complaints == []
            kept.write_text(json.dumps(asdict(made)))
    return Prepared(**json.loads(kept.read_text()))


def _prepare(site: LiveSite, signed_in: SignIn, folder: Path) -> Prepared:
    """Make long names, examples and disagreeing people, and look every page up that links of an admin lead to."""
    lengthen_names(site)
    queue, labels = _make_queue(site, folder), _import_labels(site, folder)
    split = answer_apart(queue, signed_in)
    page = signed_in("demo-admin")
    found = pages_of(page) | make_examples(page, site, folder)
    found |= {
        "judging:lunar-import": "/runs/esi/import/",
        "token-list": "/tokens/",
        "review:item-adjudicate": f"{split}adjudicate/",
        "review:queue-release": link_on(page, f"/review/queues/{queue}/", f"/review/queues/{queue}/release/"),
        "reports:agreement-confusion": f"/reports/agreement/{queue}/confusion/?first=demo-ben&second=demo-chloe",
        "reports:labels-detail": f"/reports/labels/{labels}/",
        "reports:labels-confusion": f"/reports/labels/{labels}/confusion/?first=ann&second=ben",
        "debate, compared": f"{found['debate:debate-detail']}?diff=1",
        "adjudication, compared": f"{split}adjudicate/?diff=1",
    }
    return Prepared(queue, {name: address.removeprefix(site.url) for name, address in found.items()})


def _make_queue(site: LiveSite, folder: Path) -> str:
    """Return the slug of a queue of pairs that asks two people."""
    path = folder / "pairs.jsonl"
    row = {
        "response_a": "Two, since $$\\frac{4}{2} = 2$$\n\n```python\nassert 1 + 1 == 2  # " + "long " * 40 + "\n```",
        "response_b": "| a | b |\n|---|---|\n| 1 | **2** |\n\n> It costs $5 or $10.\n\n[more](https://example.org)",
        "criterion_text": "# Which one helps more?\n\n- the *right* one",
    }
    path.write_text(
        "\n".join(
            json.dumps({"id": f"pages-{number}", "question": f"What is ${number} + 1$, in code?", **row})
            for number in range(3)
        )
    )
    return str(told(site, "queue", "create", "--file", str(path), "--name", "Every page", "--quorum", "2")["queue"])


def _import_labels(site: LiveSite, folder: Path) -> str:
    """Return the slug of a table of labels from elsewhere."""
    path = folder / "labels.csv"
    lines = [
        f"{item},{rater},{'ab'[(item + place) % 2]},s{item % 2}"
        for item in range(12)
        for place, rater in enumerate(("ann", "ben", "cat"))
    ]
    path.write_text("item,rater,label,scenario\n" + "\n".join(lines) + "\n")
    return str(told(site, "labels", "create", "--file", str(path), "--name", "From elsewhere")["table"])


def walk(page: Page, addresses: dict[str, str]) -> dict[str, list[str]]:
    """Return the faults of the pages that have any; in the gate axe-core looks once at what looks the same.

    Every second page opens on the phone on which the page before it ended.
    """
    wrong = {}
    page.add_init_script(path=AXE)  # compiled once, not brought to each page
    for place, (name, address) in enumerate(addresses.items()):
        answer = page.goto(address)
        ok = answer is not None and answer.ok
        turned = place % 2 == 1
        found = (
            faults(page, laptop=True, is_dark_too=True, phone_first=turned)
            if ok
            else [f"answered {answer and answer.status}"]
        )
        wrong[f"{name} {address}"] = found
    return {name: found for name, found in wrong.items() if found}


def answer_apart(queue: str, signed_in: SignIn) -> str:
    """Let two people answer one item differently; return its address."""
    for name, choice in (("demo-ben", 0), ("demo-chloe", 2)):
        page = signed_in(name)
        take(page, queue)
        address = page.url
        page.locator("#item-form input[name=label]").nth(choice).check()
        page.get_by_role("button", name="Submit and next").click()
        expect(page.locator("[data-panel-focus]")).to_contain_text("2 of")
    return address


def link_on(page: Page, address: str, part: str) -> str:
    """Return where the first link with this part in its address leads."""
    page.goto(address)
    return str(page.locator(f"main a[href*='{part}']").first.get_attribute("href"))


def test_every_page_has_an_address(prepared: Prepared) -> None:
    pages = {name for name, kinds in TABLE.items() if "get" in kinds} - NOT_PAGES

    assert pages - set(prepared.pages) == {"help-topic", "password_change_done"}  # topics stand under their addresses


@pytest.mark.parametrize("section", SECTIONS)
def test_every_page_of_an_admin(section: str, prepared: Prepared, signed_in: SignIn) -> None:
    page = signed_in("demo-admin")
    pages = [(name, address) for name, address in prepared.pages.items() if section_of(address) == section]
    topics = [name for name, _ in pages if name.startswith(TOPICS)]
    left_out = set(topics) - set(topics[:: sized(3, whole=1)])  # one template shows them all

    assert pages
    assert walk(page, {name: address for name, address in pages if name not in left_out}) == {}
    assert signed_in.complaints == []


def test_every_page_of_an_annotator(prepared: Prepared, signed_in: SignIn) -> None:
    page = signed_in("demo-anna")
    found = {name: address for name, address in pages_of(page).items() if not name.startswith(TOPICS)}

    assert found
    assert walk(page, found) == {}
    take(page, prepared.queue)
    assert walk(page, {"item": page.url, "item, compared": f"{page.url}?diff=1"}) == {}
    take(page, "demo-debates-helpfulness")
    assert walk(page, {"item with a debate": page.url}) == {}
    assert signed_in.complaints == []


def test_the_pages_that_differ_for_a_researcher_and_for_nobody(site: LiveSite, signed_in: SignIn) -> None:
    page = signed_in("demo-researcher")
    assert walk(page, {"home": "/", "endpoints": "/endpoints/", "help": "/help/"}) == {}

    stranger = signed_in.browser.new_context(base_url=site.url).new_page()
    signed_in.pages.append(stranger)
    assert walk(stranger, {"sign in": "/login/"}) == {}
