"""What axe-core and the widths of a laptop and of a phone say about the page that is open.

Colours and sizes take axe-core two thirds of its time. A walk over many pages can keep what it has `seen`: then they
are looked at once for every combination of the colours and the font of a text with what lies behind it, and of the
place of something to click, not on each page and in each row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
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
BY_LOOKS: dict[str, Any] = {"type": "rule", "values": [*COLOURS, "target-size"]}  # what `seen` spares
SCROLLING = {"type": "rule", "values": ["scrollable-region-focusable"]}
RUN = """([only, left, isFresh]) => axe.run(isFresh ? {include: window.fresh} : document, {
    runOnly: only, rules: Object.fromEntries(left.map(id => [id, {enabled: false}])),
    resultTypes: ["violations"], iframes: false})"""
# keeps the elements that look like none before in `window.fresh` and returns how they look
LOOKS = """seen => {
    const known = new Set(seen), behind = new Map([[document.documentElement, ""]]);
    const under = one => {
        if (!behind.has(one)) {
            const {backgroundColor, backgroundImage, opacity} = getComputedStyle(one);
            const own = backgroundColor === "rgba(0, 0, 0, 0)" ? "" : backgroundColor;
            const more = (backgroundImage === "none" ? "" : "image") + (opacity === "1" ? "" : opacity);
            behind.set(one, under(one.parentElement) + own + more);
        }
        return behind.get(one);
    };
    const place = one => one === document.body
        ? "" : `${place(one.parentElement)}>${one.tagName}.${one.getAttribute("class")}`;
    window.fresh = [];
    for (const one of document.body.querySelectorAll("*")) {
        const isTarget = one.matches("a, button, input, select, textarea, summary, [tabindex]");
        if (!one.checkVisibility() || !(isTarget || [...one.childNodes].some(n => n.nodeType === 3 && n.data.trim()))) {
            continue;
        }
        const {color, fontSize, fontWeight, textDecorationLine} = getComputedStyle(one);
        const around = one.tagName === "A" ? getComputedStyle(one.parentElement).color : "";
        const font = [color, fontSize, fontWeight, textDecorationLine, around];
        const look = [...font, under(one), isTarget && place(one)].join();
        if (!known.has(look)) {
            known.add(look);
            window.fresh.push(one);
        }
    }
    return [...known];
}"""


def violations(page: Page, only: dict[str, Any] | None = None) -> list[str]:
    """Return what axe-core finds wrong with the page, one line each."""
    _settle(page)
    return _run(page, only or RULES)


def _settle(page: Page) -> None:
    """Wait until nothing moves, and bring axe-core to the page."""
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)
    page.evaluate("Promise.all(document.getAnimations().map(one => one.finished.catch(() => 0)))")
    page.evaluate(PAINTED)
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text())


def _run(page: Page, only: dict[str, Any], *, left: Iterable[str] = (), is_fresh: bool = False) -> list[str]:
    found: dict[str, Any] = page.evaluate(RUN, [only, [*left], is_fresh])
    return [f"{one['id']}: {one['nodes'][0]['target']} {one['nodes'][0]['html'][:120]}" for one in found["violations"]]


def _fresh_violations(page: Page, seen: set[str]) -> list[str]:
    """Return what is wrong with colours and sizes of what looks like nothing in `seen`, which holds it from now on."""
    looks = set(page.evaluate(LOOKS, [*seen]))
    if looks == seen:
        return []
    seen |= looks
    return _run(page, BY_LOOKS, is_fresh=True)


@dataclass(slots=True)
class Seen:
    """How what a walk has met looks at a desk in light, and in the dark on a phone."""

    light: set[str] = field(default_factory=set)
    dark: set[str] = field(default_factory=set)


def faults(page: Page, *, laptop: bool = False, is_dark_too: bool = IS_WHOLE, seen: Seen | None = None) -> list[str]:
    """Return what is wrong at a desk in light, and in the dark on a phone, where nothing may scroll sideways.

    `laptop`: tables show all their columns there. `is_dark_too`: axe-core looks at the dark phone as well. `seen`: what
    need not be looked at again.
    """
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size(DESK)  # type: ignore[arg-type]
    _settle(page)
    if seen is None:
        wrong = [f"light, {one}" for one in _run(page, RULES)]
    else:
        found = _run(page, RULES, left=BY_LOOKS["values"]) + _fresh_violations(page, seen.light)
        wrong = [f"light, {one}" for one in found]
    for size in (DESK, LAPTOP) if laptop else ():
        page.set_viewport_size(size)  # type: ignore[arg-type]
        wrong += [f"cut at {size['width']} px, {table}" for table in page.evaluate(CUT_TABLES)]
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    if is_dark_too:
        _settle(page)
        found = _run(page, DARK_PHONE) if seen is None else _run(page, SCROLLING) + _fresh_violations(page, seen.dark)
        wrong += [f"dark, phone, {one}" for one in found]
    width = page.evaluate("document.scrollingElement.scrollWidth")
    return wrong if width <= PHONE["width"] else [*wrong, f"phone, the page is {width} px wide"]
