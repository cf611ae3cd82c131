"""A table of labels from elsewhere in a browser: checked, corrected, imported, read on a leaderboard, deleted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import openpyxl
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.flows.axe import faults
from tests.flows.conftest import REPOSITORY, LiveSite, SignIn, reload_until

pytestmark = pytest.mark.flow

RESPONSES = REPOSITORY / "evalsite" / "demo" / "data" / "responses.jsonl"
LABELS = {"willow-large": "right", "alder-medium": "partly right", "moss-small": "wrong"}
CASES = 32


def write_table(path: Path, *, wrong: str = "") -> Path:
    """Write one label for each response of the demo; `wrong` stands in the cell D3 in place of a label."""
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Labels")
    sheet.append(["case", "system", "rater", "label"])
    for place, line in enumerate(RESPONSES.read_text().splitlines(), start=2):
        row = json.loads(line)
        label = wrong if wrong and place == 3 else LABELS[row["system"]]
        sheet.append([row["case_id"], row["system"], "Ann of the lab", label])
    book.save(path)
    return path


@pytest.fixture
def run(site: LiveSite) -> int:
    """Return a run of rules over the demo's responses of which nothing goes to people."""
    made = site.command("run", "create", "--suite", "desk-questions", "--people", "nobody", "--wait", "--json")
    assert made.returncode == 0, made.stderr
    return int(json.loads(made.stdout)["run"])


def test_labels_from_elsewhere_enter_a_leaderboard_until_their_table_is_deleted(
    run: int, signed_in: SignIn, tmp_path: Path
) -> None:
    page = signed_in("demo-researcher")

    page.goto(f"/runs/{run}/")
    page.get_by_role("link", name="Import labels").click()
    check_wrong_row(page, write_table(tmp_path / "labels.xlsx", wrong="splendid"))
    table = import_labels(page, write_table(tmp_path / "labels.xlsx"))
    draw_all(page, run)
    rows = board(page, run)

    assert [name in row for name, row in zip(LABELS, rows, strict=True)] == [True] * 3
    assert all(f"{CASES} of {CASES}" in row and "%" in row for row in rows), rows

    delete(page, table)
    assert not any(f"{CASES} of {CASES}" in row for row in board(page, run))
    assert signed_in.complaints == []


def check_wrong_row(page: Page, path: Path) -> None:
    """Check a table with a label off the scale: its cell is named and nothing can be imported."""
    page.get_by_label("Blind labels").check()
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Check the file").click()
    problems = page.get_by_role("region", name="Problems in the file")
    expect(problems.locator("tbody tr", has_text="splendid")).to_contain_text("Labels!D3")
    expect(problems.locator("tbody tr", has_text="splendid")).to_contain_text("labels.xlsx")
    expect(page.get_by_role("button", name="Import", exact=True)).to_have_count(0)
    assert faults(page) == []


def import_labels(page: Page, path: Path) -> str:
    """Choose the corrected table, check it, import it, and return the address of its page."""
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Check the file").click()
    expect(fact(page, "Source")).to_contain_text("Ann of the lab, blind")
    expect(fact(page, "New final labels")).to_have_text(str(len(LABELS) * CASES))
    expect(fact(page, "Already stored")).to_contain_text("0")  # the check of the wrong table stored nothing
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("body")).to_contain_text("96 labels of 96 items imported, 96 final labels created")
    return page.url


def fact(page: Page, name: str) -> Locator:
    """Return what the check page says under a name."""
    return page.locator("dt", has_text=name).locator("xpath=following-sibling::dd[1]")


def draw_all(page: Page, run: int) -> None:
    """Draw every case for the audit: all have their label, so nobody is asked."""
    page.goto(f"/review/audits/runs/{run}/")
    page.get_by_label("Number of cases").fill(str(CASES))
    page.get_by_role("button", name="Draw sample").click()
    reload_until(page, lambda: f"{CASES} drawn so far" in page.get_by_role("main").inner_text())
    page.goto(f"/runs/{run}/")
    expect(page.locator("#run-people")).to_contain_text(re.compile(r"Labels reused: \d+, new items: 0"))


def board(page: Page, run: int) -> list[str]:
    """Return the rows of the run's leaderboard by people's labels alone, once it is computed."""
    page.goto("/reports/leaderboards/1/")
    option = page.locator("select[name=evaluator] option", has_text=re.compile(rf"run {run}\b")).first
    page.goto(f"/reports/leaderboards/1/?evaluator={option.get_attribute('value')}&mode=human")
    expect(page.locator("#leaderboard-detail:not([hx-trigger])")).to_be_visible()
    rows = page.locator("#leaderboard-systems tbody tr")
    expect(rows).to_have_count(len(LABELS))
    return rows.all_inner_texts()


def delete(page: Page, table: str) -> None:
    page.goto(table)
    page.get_by_role("button", name="Delete the table").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the table").click()
    expect(page.locator("body")).to_contain_text("“labels” was deleted")
