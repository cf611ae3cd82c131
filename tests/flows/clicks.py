"""Clicks on a page, counted: what a journey costs its user."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


class Clicks:
    """Clicks on a page, counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    def __call__(self, target: Locator) -> None:
        target.click()
        self.count += 1

    def link(self, name: str) -> None:
        """Click a link by its name."""
        self(self.page.get_by_role("link", name=name, exact=True).first)
