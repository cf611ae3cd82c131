"""LaTeX from models as MathML, which every browser draws by itself: no script, no style, no font to fetch.

A formula that cannot be read is shown as it was written. The source is hostile: it is bounded in length and in depth
before it is read, and what comes of it in size; whoever shows the result still sanitises it with the lists below.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from typing import Final

from math_core import LatexError, LatexToMathML

MOST_CHARACTERS: Final = 2_000  # of one formula
MOST_DEPTH: Final = 50
MOST_HTML: Final = 60_000  # characters that one formula may become: a matrix of 2,000 characters stays far below
MOST_HTML_OF_A_TEXT: Final = 250_000  # and all formulas of one text
MOST_EXPANSIONS: Final = 60

TAGS: Final = {
    *(
        "math",
        "menclose",
        "mfrac",
        "mi",
        "mmultiscripts",
        "mn",
        "mo",
        "mover",
        "mpadded",
        "mphantom",
        "mprescripts",
        "mroot",
    ),
    *("mrow", "mspace", "msqrt", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover"),
}
_SPACES: Final = frozenset({"lspace", "rspace"})
ATTRIBUTES: Final[dict[str, frozenset[str]]] = {
    "math": frozenset({"display"}),
    "menclose": frozenset({"notation"}),
    "mfrac": frozenset({"displaystyle", "linethickness"}),
    "mi": frozenset({"mathvariant"}),
    "mo": _SPACES | {"form", "largeop", "maxsize", "minsize", "movablelimits", "stretchy", "symmetric"},
    "mover": frozenset({"accent"}),
    "mpadded": frozenset({"depth", "height", "lspace", "voffset", "width"}),
    "mrow": frozenset({"displaystyle", "scriptlevel"}),
    "mspace": frozenset({"class", "depth", "height", "width"}),
    "mtable": frozenset({"class", "displaystyle", "scriptlevel"}),
    "mtd": frozenset({"class"}),
    "munder": frozenset({"accentunder"}),
    "munderover": frozenset({"accent", "accentunder"}),
}
VALUE: Final = re.compile(
    r"-?\d{0,3}(\.\d{1,9})?(em)?|true|false|block|normal|prefix|infix|postfix|box|(up|down)?diagonal\w*( \w+)?"
)
# Our policy of contents forbids styles inside a page, so what the converter writes as a style becomes a class.
_CLASS_OF: Final = {
    "text-align:left": "tex-left",
    "text-align:right": "tex-right",
    "padding-left:0": "tex-close-left",
    "padding-right:0": "tex-close-right",
    "padding-left:1em": "tex-apart",
    "width:100%": "tex-wide",
    "width:50%": "tex-margin",
    "border-top:0.05emsolidcurrentcolor": "tex-line-top",
    "border-right:0.05emsolidcurrentcolor": "tex-line-right",
    "border-bottom:0.05emsolidcurrentcolor": "tex-line-bottom",
    "border-left:0.05emsolidcurrentcolor": "tex-line-left",
    "margin-left:-0.16666667em": "tex-back",
}
CLASSES: Final = frozenset(_CLASS_OF.values())
_STYLE: Final = re.compile(r' style="([^"]*)"')
_STEP: Final = re.compile(r"\\(?:begin|left)\b|\\(?:end|right)\b|\\(?:[A-Za-z]+|.)|[{}\[\]^_]|\s+|.", re.DOTALL)
_OPENS: Final = frozenset({"{", "[", "\\begin", "\\left"})
_CLOSES: Final = frozenset({"}", "]", "\\end", "\\right"})


def formula(source: str, *, is_display: bool) -> str | None:
    """MathML of a formula without its delimiters; None where it is no LaTeX that we know, or too long or too deep."""
    if len(source) > MOST_CHARACTERS or _depth(source) > MOST_DEPTH:
        return None
    try:
        html = _converter().convert_with_local_state(_known(source, is_display), displaystyle=is_display)
    except LatexError:
        return None
    return None if len(html) > MOST_HTML else _STYLE.sub(_class, html)


@lru_cache(maxsize=1)
def _converter() -> LatexToMathML:
    return LatexToMathML(fancy_error=False, allow_unreliable_rendering=True, max_expansions=MOST_EXPANSIONS)


def _known(source: str, is_display: bool) -> str:
    """The same formula in words that the converter knows; models put tags and line ends where it refuses them."""
    supported = source.replace("{split}", "{aligned}").replace("{eqnarray}", "{align}")
    if not is_display:
        return supported
    if "\\\\" in supported and "\\begin" not in supported:
        supported = f"\\begin{{gathered}}{supported}\\end{{gathered}}"
    if "\\tag" in supported and not re.search(r"\\begin\{(align|gather|equation|multline)\*?\}", supported):
        supported = f"\\begin{{equation*}}{supported}\\end{{equation*}}"
    return supported


def _depth(source: str) -> int:
    """How deep the parser would go at most: open groups, and commands that stand before another without an end."""
    deepest = groups = chain = 0
    for match in _STEP.finditer(source):
        step = match[0]
        if step in _OPENS:
            groups += 1
        elif step in _CLOSES:
            groups, chain = max(0, groups - 1), 0
        elif step[0] == "\\" or step in "^_":
            chain += 1
        elif not step.isspace():
            chain = 0
        deepest = max(deepest, groups + chain)
    return deepest


def _class(style: re.Match[str]) -> str:
    rules = style[1].replace(" ", "").split(";")
    names = [_CLASS_OF[rule] for rule in rules if rule in _CLASS_OF]
    return f' class="{escape(" ".join(names))}"' if names else ""
