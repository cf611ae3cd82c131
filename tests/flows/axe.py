"""What axe-core and the widths of a laptop and of a phone say about the page that is open."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect

from tests.flows.conftest import PAINTED, REPOSITORY
from tests.sizes import IS_WHOLE

AXE = REPOSITORY / "tests" / "vendor" / "axe-core" / "axe.min.js"
RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOURS = ["color-contrast", "link-in-text-block"]
TOUCH = ["target-size", "scrollable-region-focusable"]
DARK_PHONE = {"type": "rule", "values": [*COLOURS, *TOUCH]}  # colours do not depend on the width
CUT_TABLES = """() => [...document.querySelectorAll(".table-wrap")]
    .filter((table) => table.scrollWidth > table.clientWidth)
    .map((table) => `${table.querySelector("th")?.innerText}: ${table.scrollWidth} in ${table.clientWidth}`)"""
DESK = {"width": 1440, "height": 900}
LAPTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
RUN = "only => axe.run(document, {runOnly: only, resultTypes: ['violations'], iframes: false})"


def violations(page: Page, only: dict[str, Any] | None = None) -> list[str]:
    """Return what axe-core finds wrong with the page, one line each."""
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)
    page.evaluate("Promise.all(document.getAnimations().map(one => one.finished.catch(() => 0)))")
    page.evaluate(PAINTED)
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate(RUN, only or RULES)
    return [f"{one['id']}: {one['nodes'][0]['target']} {one['nodes'][0]['html'][:120]}" for one in found["violations"]]


def faults(page: Page, *, laptop: bool = False, is_dark_too: bool = IS_WHOLE) -> list[str]:
    """Return what is wrong at a desk in light, and in the dark on a phone, where nothing may scroll sideways.

    `laptop`: tables show all their columns there. `is_dark_too`: axe-core looks at the dark phone as well.
    """
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size(DESK)  # type: ignore[arg-type]
    wrong = [f"light, {one}" for one in violations(page)]
    for size in (DESK, LAPTOP) if laptop else ():
        page.set_viewport_size(size)  # type: ignore[arg-type]
        wrong += [f"cut at {size['width']} px, {table}" for table in page.evaluate(CUT_TABLES)]
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    if is_dark_too:
        wrong += [f"dark, phone, {one}" for one in violations(page, DARK_PHONE)]
    width = page.evaluate("document.scrollingElement.scrollWidth")
    return wrong if width <= PHONE["width"] else [*wrong, f"phone, the page is {width} px wide"]
