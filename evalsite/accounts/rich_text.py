"""Markdown from models and people, made safe to show inside a page.

Two fences: the parser never passes HTML through, and nh3 keeps only the tags below. Nothing is fetched from elsewhere:
an image becomes its description.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

_BLOCKS: Final = {"p", "br", "hr", "h4", "h5", "h6", "pre", "blockquote", "ul", "ol", "li"}
_TABLES: Final = {"table", "thead", "tbody", "tr", "th", "td"}
_PHRASES: Final = {"strong", "em", "s", "del", "code", "a", "span"}
_ATTRIBUTES: Final = {"a": {"href", "title"}, "code": {"class"}, "span": {"class"}, "ol": {"start"}}
_MATH: Final = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"))
_TOP_HEADING: Final = 4  # the page owns h1 to h3


def render_markdown(text: str) -> str:
    """HTML of CommonMark with tables and strike-through; safe whatever `text` holds.

    HTML in `text` is shown as text. Headings start at h4. LaTeX between $$ $$, \\[ \\] or \\( \\) is kept letter
    by letter in `<span class="math">`. Links carry `rel="noopener noreferrer nofollow"` and only http, https or mailto.
    """
    return nh3.clean(
        _parser().render(text),
        tags=_BLOCKS | _TABLES | _PHRASES,
        attributes=_ATTRIBUTES,
        attribute_filter=_keep_attribute,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def _keep_attribute(tag: str, name: str, value: str) -> str | None:
    """Classes come from us alone: `math` on span, `language-…` on code."""
    if name != "class":
        return value
    if tag == "span":
        return value if value == "math" else None
    return value if value.startswith("language-") and value.replace("-", "").isalnum() else None


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    parser.core.ruler.push("lower_headings", _lower_headings)
    parser.inline.ruler.before("escape", "math", _math)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("math", _math_html)
    return parser


def _lower_headings(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + _TOP_HEADING - 1)}"


def _math(state: StateInline, silent: bool) -> bool:
    for opening, closing in _MATH:
        if not state.src.startswith(opening, state.pos):
            continue
        end = state.src.find(closing, state.pos + len(opening), state.posMax)
        if end <= state.pos + len(opening):
            continue
        if not silent:
            state.push("math", "", 0).content = state.src[state.pos : end + len(closing)]
        state.pos = end + len(closing)
        return True
    return False


def _math_html(_: RendererHTML, tokens: Sequence[Token], index: int, *__: Any) -> str:
    return f'<span class="math">{escapeHtml(tokens[index].content)}</span>'


def _image(_: RendererHTML, tokens: Sequence[Token], index: int, *__: Any) -> str:
    return f"[image: {escapeHtml(tokens[index].content or 'no description')}]"
