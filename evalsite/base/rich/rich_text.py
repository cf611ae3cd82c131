"""Markdown from models and people, made safe to show inside a page.

Two fences: the parser never passes HTML through, and nh3 keeps only the tags below. Nothing is fetched from elsewhere:
an image becomes its description. No word is lost: what Markdown would swallow is shown as written.
Code is coloured by `highlighting`, LaTeX drawn by `formulas`.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from typing import Any, Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, reference
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from evalsite.base.json_types import JsonDict
from evalsite.base.rich import formulas
from evalsite.base.rich.code_colours import CLASSES, Allowance, highlight
from evalsite.base.rich.math_marks import find_block_formulas, find_formulas

MOST_CHARACTERS: Final = 100_000  # longer text is shown as it is: reading its marks would hold up the page
KEPT_CHARACTERS: Final = 20_000  # the HTML of texts up to here is kept for the next reader
KEPT_TEXTS: Final = 128  # of this process
_DEEPEST: Final = 30  # quotes and lists inside each other; text that goes deeper is shown as it is
_LINE_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_BLOCKS: Final = {"p", "br", "hr", "h4", "h5", "h6", "pre", "blockquote", "ul", "ol", "li"}
_TABLES: Final = {"table", "thead", "tbody", "tr", "th", "td"}
_PHRASES: Final = {"strong", "em", "s", "del", "code", "a", "span"}
_ATTRIBUTES: Final = {
    "a": {"href", "title"},
    "code": {"class"},
    "span": {"class"},
    "ol": {"start"},
    **{tag: set(names) for tag, names in formulas.ATTRIBUTES.items()},
}
_SPAN_CLASSES: Final = CLASSES | {"math-block"}
_TOP_HEADING: Final = 4  # the page owns h1 to h3


def render_markdown(text: str) -> str:
    """HTML of CommonMark with tables, strike-through, coloured code and drawn LaTeX; safe whatever `text` holds.

    HTML in `text` is shown as text. Headings start at h4. LaTeX stands between $ $, $$ $$, \\( \\) or \\[ \\]; what
    cannot be drawn is shown as code. Links carry `rel="noopener noreferrer nofollow"` and only http, https or mailto.
    """
    return _kept(text) if len(text) <= KEPT_CHARACTERS else _render(text)


def _render(text: str) -> str:
    env: JsonDict = {"allowance": Allowance(), "formulas": formulas.MOST_HTML_OF_A_TEXT}
    tokens = _parser().parse(text, env) if len(text) <= MOST_CHARACTERS else None
    if tokens is None or any(token.level >= _DEEPEST - 2 for token in tokens):  # the parser drops what lies deeper
        html = f"<pre><code>{escapeHtml(text)}</code></pre>"
    else:
        html = _parser().renderer.render(tokens, _parser().options, env)
    return nh3.clean(
        html,
        tags=_BLOCKS | _TABLES | _PHRASES | formulas.TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_keep_attribute,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


_kept = lru_cache(maxsize=KEPT_TEXTS)(_render)


def _keep_attribute(tag: str, name: str, value: str) -> str | None:
    """Classes come from us alone; of MathML only values that place and size."""
    if name == "class":
        return value if _is_own_class(tag, value) else None
    if tag in formulas.ATTRIBUTES:
        return value if formulas.VALUE.fullmatch(value) else None
    return value


def _is_own_class(tag: str, value: str) -> bool:
    if tag == "span":
        return value in _SPAN_CLASSES
    if tag == "code":
        return value == "math" or (value.startswith("language-") and value.replace("-", "").isalnum())
    return formulas.CLASSES.issuperset(value.split(" "))


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    options = {"html": False, "breaks": True, "maxNesting": _DEEPEST}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    parser.core.ruler.push("lower_headings", _lower_headings)
    parser.inline.ruler.before("escape", "math", find_formulas)
    interrupted = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("fence", "math_block", find_block_formulas, {"alt": interrupted})
    parser.block.ruler.at("reference", _definition)
    parser.inline.ruler.before("autolink", "line_break", _line_break)
    parser.add_render_rule("definition", _definition_as_written)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("fence", _code)
    parser.add_render_rule("math", _math)
    parser.add_render_rule("math_block", _math_block)
    return parser


def _lower_headings(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + _TOP_HEADING - 1)}"


def _definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read `[label]: address` and keep its words on the page; `[^1]: ...` is a footnote, so text."""
    if state.src.startswith("[^", state.bMarks[start] + state.tShift[start]) or not reference(
        state, start, end, silent
    ):
        return False
    if not silent:
        token = state.push("definition", "p", 0)
        token.content = state.getLines(start, state.line, state.blkIndent, False).strip()
    return True


def _definition_as_written(_: RendererHTML, tokens: Sequence[Token], index: int, *__: object) -> str:
    return f"<p>{escapeHtml(tokens[index].content)}</p>\n"


def _line_break(state: StateInline, silent: bool) -> bool:
    """Take `<br>`, which models write into tables, for what it means."""
    match = _LINE_BREAK.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos = match.end()
    return True


def _image(_: RendererHTML, tokens: Sequence[Token], index: int, *__: object) -> str:
    return f"[image: {escapeHtml(tokens[index].content or 'no description')}]"


def _code(_: RendererHTML, tokens: Sequence[Token], index: int, __: object, env: MutableMapping[str, Any]) -> str:
    language = (tokens[index].info.split() or [""])[0]
    kind = f' class="language-{escapeHtml(language)}"' if language else ""
    return f"<pre><code{kind}>{highlight(tokens[index].content, language, env['allowance'])}</code></pre>\n"


def _math(_: RendererHTML, tokens: Sequence[Token], index: int, __: object, env: MutableMapping[str, Any]) -> str:
    token = tokens[index]
    is_display = token.markup in {"$$", "\\["}
    drawn = formulas.formula(token.content, is_display=is_display) if env["formulas"] > 0 else None
    if drawn is None:
        return f'<code class="math">{escapeHtml(token.meta["written"])}</code>'
    env["formulas"] -= len(drawn)
    return f'<span class="math-block">{drawn}</span>' if is_display else drawn


def _math_block(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f"<p>{_math(renderer, tokens, index, options, env)}</p>\n"
