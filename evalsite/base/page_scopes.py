"""Cuts a page down to what its reader may open: links elsewhere become text, and what is not to print is left out."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from html.parser import HTMLParser
from urllib.parse import urlsplit

ADDRESSES = frozenset({"href", "action", "src", "hx-get", "hx-post"})
LEFT_OUT_CLASS = "no-print"
BUTTON_CLASSES = frozenset({"btn", "chip"})
WITHOUT_END = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})

_NAME = re.compile(r"[^<>\s/]+")
Attributes = list[tuple[str, str | None]]
Scope = Callable[[str], str | None]  # the address to write in place of one, None where the reader may not open it


def within_scope(html: str, scope: Scope, *, left_out: frozenset[str] = frozenset()) -> str:
    """Return a page or a part of one in which every address is one that `scope` returns.

    Addresses within the page (`?page=2`, `#top`) are asked for too. A link out of scope leaves its text, one that looks
    like a button nothing; a form out of scope becomes a plain frame. What has the class of things not to print is
    left out, as is what has a tag or a class in `left_out`.
    """
    writer = _ScopeWriter(scope, left_out)
    writer.feed(html)
    writer.close()
    return "".join(writer.pieces)


class _ScopeWriter(HTMLParser):
    def __init__(self, scope: Scope, left_out: frozenset[str]) -> None:
        super().__init__(convert_charrefs=False)
        self.pieces: list[str] = []
        self._scope = scope
        self._left_out = left_out
        self._open: list[tuple[str, str]] = []  # elements that are open, and what ends each
        self._hidden_at: int | None = None  # how many were open when the outermost one left out began

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        self._start(tag, attrs, is_empty=tag in WITHOUT_END)

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        self._start(tag, attrs, is_empty=True)

    def _start(self, tag: str, attrs: Attributes, *, is_empty: bool) -> None:
        written = "" if self._hidden_at is not None else self._written(tag, attrs)
        if written is None:
            if is_empty:
                return
            self._hidden_at, written = len(self._open), ""
        self.pieces.append(written)
        if not is_empty:
            self._open.append((tag, f"</{_NAME.findall(written)[0]}>" if written else ""))

    def _written(self, tag: str, attrs: Attributes) -> str | None:
        """Return the start tag, "" to leave out the tag alone, None to leave out the element."""
        classes = set(str(dict(attrs).get("class") or "").split())
        is_foreign_form = tag == "form" and (action := dict(attrs).get("action")) and self._address(action) is None
        if LEFT_OUT_CLASS in classes or (self._left_out & {tag, *classes} and not is_foreign_form):
            return None
        attributes = [(name, value) for name, value in attrs if name != "hx-headers"]
        rewritten = [(name, self._address(value) if name in ADDRESSES else value) for name, value in attributes]
        lost = {
            name for (name, value), (_, before) in zip(rewritten, attributes, strict=True) if value is None and before
        }
        if tag == "a" and "href" in lost:
            return None if classes & BUTTON_CLASSES else ""
        if is_foreign_form:
            tag, rewritten = "div", [(name, value) for name, value in rewritten if name in ("id", "class")]
        if lost and tag in ("link", "script", "img"):
            return None
        if rewritten == attrs:
            return self.get_starttag_text()
        words = "".join(
            f" {name}" if value is None else f' {name}="{escape(value)}"'
            for name, value in rewritten
            if name not in lost
        )
        return f"<{tag}{words}>"

    def _address(self, value: str | None) -> str | None:
        return None if value is None or urlsplit(value).scheme not in ("", "http", "https") else self._scope(value)

    def handle_endtag(self, tag: str) -> None:
        while any(name == tag for name, _ in self._open):
            name, ending = self._open.pop()
            if self._hidden_at is None:
                self.pieces.append(ending)
            elif len(self._open) == self._hidden_at:
                self._hidden_at = None
            if name == tag:
                return

    def _text(self, text: str) -> None:
        if self._hidden_at is None:
            self.pieces.append(text)

    def handle_data(self, data: str) -> None:
        self._text(data)

    def handle_entityref(self, name: str) -> None:
        self._text(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._text(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._text(f"<!{decl}>")
