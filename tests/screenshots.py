"""Makes the pictures of the README: `python -m tests.screenshots` starts the demo and photographs four of its pages."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests.flows.conftest import (
    FLAGS,
    REPOSITORY,
    LiveSite,
    SignIn,
    find_chromium,
    free_port,
    start_site,
    stop_site,
)

FOLDER = REPOSITORY / "static" / "screenshots"
QUALITY = 70  # of JPEG: text stays sharp, and each picture is some 100 kB
SIZE = {"width": 1440, "height": 900}


def photograph(page: Page, name: str) -> None:
    """Store what a page shows in its first screen."""
    page.wait_for_load_state("networkidle")
    page.screenshot(path=FOLDER / f"{name}.jpg", type="jpeg", quality=QUALITY)


def tour(site: LiveSite) -> None:
    """Photograph the pages that people see most."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)

        people = SignIn(browser, site)
        look = {"viewport": SIZE, "color_scheme": "light"}
        researcher = people("demo-researcher", **look)
        researcher.goto("/runs/1/")
        expect(researcher.locator("main")).to_contain_text("Finished")
        photograph(researcher, "run")
        researcher.goto("/reports/leaderboards/1/")
        expect(researcher.locator("#leaderboard-detail table").first).to_be_visible()
        photograph(researcher, "leaderboard")
        researcher.goto("/debates/sets/1/")
        researcher.locator("main a[href^='/debates/']").last.wait_for()
        photograph(researcher, "debates")
        annotator = people("demo-anna", **look)
        annotator.locator("form[action$='/next/'] button").first.click()
        expect(annotator.locator("#item-panel")).to_be_visible()
        photograph(annotator, "item")
        browser.close()


def main() -> None:
    """Start a demo, photograph it, end it."""
    folder = Path(tempfile.mkdtemp(prefix="evalsite-screenshots-"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVALSITE_")}
    environment |= {"DJANGO_SETTINGS_MODULE": "evalsite.settings", "EVALSITE_LOG_LEVEL": "WARNING"}
    environment |= {"EVALSITE_DEMO": "1", "EVALSITE_DATA_DIR": str(folder)}
    FOLDER.mkdir(exist_ok=True)
    site = start_site(free_port(), folder, environment)
    try:
        tour(site)
    finally:
        stop_site(site)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
