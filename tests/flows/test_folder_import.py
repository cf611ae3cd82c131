"""A folder on the import page: chosen, and dropped as a file manager drops it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.flows.conftest import LiveSite, SignIn

pytestmark = pytest.mark.flow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a suite, its cases one level below, and files that nobody means to upload."""
    top = tmp_path / "whys"
    for name, text in {
        "suite.yaml": "name: Whys of a folder\ncases: [cases/eval_a.yaml, cases/eval_b.yaml]\n",
        "cases/eval_a.yaml": "id: a\nprompt_path: a.txt\ntype: t\nlang: l\ngrading: {keywords: [x]}\n",
        "cases/eval_b.yaml": "id: b\nprompt: Why not?\ntype: t\nlang: l\ngrading: {keywords: [x]}\n",
        "cases/a.txt": "Why a folder?",
        ".git/broken.yaml": "a: [",
    }.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return top


def drop(page: Page, path: Path) -> None:
    """Drop a file or folder on the page as the system does; a script can make no folder entries."""
    session = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 400, "y": 400, "data": data})


def expect_preview(page: Page) -> None:
    """Expect the dry run of the folder's suite."""
    main = page.get_by_role("main")
    expect(main).to_contain_text("This upload can be imported.")
    expect(main).to_contain_text("Suite Whys of a folder")
    expect(main).to_contain_text("Why a folder?")


def test_folder_that_is_chosen_is_read_with_its_paths(folder: Path, site: LiveSite, signed_in: SignIn) -> None:
    page = signed_in("demo-researcher")
    page.goto("/imports/new/")

    page.get_by_label("Or a whole folder").set_input_files(folder)
    expect(page.locator(".dropzone-names")).to_contain_text("suite.yaml")
    page.get_by_role("button", name="Check the files").click()

    expect_preview(page)


def test_folder_that_is_dropped_is_read_with_its_paths(folder: Path, site: LiveSite, signed_in: SignIn) -> None:
    page = signed_in("demo-researcher")
    page.goto("/imports/new/")

    drop(page, folder)
    expect(page.locator(".dropzone-names")).to_contain_text("suite.yaml")
    page.get_by_role("button", name="Check the files").click()

    expect_preview(page)


def test_folder_dropped_on_the_benchmarks_is_sent_at_once(folder: Path, site: LiveSite, signed_in: SignIn) -> None:
    page = signed_in("demo-researcher")
    page.goto("/benchmarks/")

    drop(page, folder)

    expect_preview(page)
