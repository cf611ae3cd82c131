"""Every page of the site, found by its links."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from django.urls import Resolver404, resolve

SKIPPED = re.compile(r"^/(static|logout)/")


def pages_by_name(text_at: Callable[[str], str]) -> dict[str, str]:
    """Return one address of every page that links lead to, by its name; every topic of the help counts for itself.

    `text_at` returns what an address answers, or nothing where it refuses.
    """
    found: dict[str, str] = {}
    seen: set[str] = set()
    waiting = ["/"]
    while waiting:
        address = waiting.pop(0)
        name = name_of(address)
        if not name or name in seen:
            continue
        seen.add(name)
        text = text_at(address)
        if not text.lstrip().startswith("<!DOCTYPE html>"):
            continue
        found[name] = address
        waiting += links_of(text)
    return found


def links_of(text: str) -> list[str]:
    """Return the addresses of the site that a page links to."""
    return [html.unescape(link) for link in re.findall(r'href="(/[^"#]*)', text)]


def name_of(address: str) -> str:
    """Return the name of the page at an address; nothing where that is no page."""
    path = address.partition("?")[0]
    try:
        match = resolve(path)
    except Resolver404:
        return ""
    if SKIPPED.match(path):
        return ""
    return path if match.view_name == "help-topic" else match.view_name
