"""Code from models, coloured by its language: words of few classes, whose colours are in evalsite.css.

The code is hostile: a lexer is a heap of regular expressions, and some text makes them slow. Hence the limits below;
what exceeds them is shown without colours.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape
from itertools import groupby
from typing import Final

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, _TokenType

_Token = tuple[_TokenType, str]

MOST_CHARACTERS: Final = 12_000  # of one block
MOST_SECONDS: Final = 0.06  # of processor time for all blocks of one text
_SLOW: Final = re.compile(r"[^\n]{600}|\s{250}")  # what real code has not and lexers look through again and again
_OTHER_NAMES: Final = {
    **dict.fromkeys(("clojure", "css", "dart", "diff", "elixir", "erlang", "groovy"), ""),
    **dict.fromkeys(("haskell", "ini", "java", "jsx", "julia", "lua"), ""),
    **dict.fromkeys(("ocaml", "php", "pycon", "r", "scala", "scheme", "swift", "toml"), ""),
    "bash": "sh shell zsh",
    "c": "h",
    "cpp": "c++ cc hpp",
    "csharp": "c# cs",
    "docker": "dockerfile",
    "fsharp": "f#",
    "go": "golang",
    "html": "htm",
    "javascript": "js mjs",
    "json": "json5 jsonc",
    "kotlin": "kt",
    "make": "makefile",
    "matlab": "octave",
    "objective-c": "objc objectivec",
    "perl": "pl",
    "powershell": "ps1",
    "python": "py py3 python3",
    "ruby": "rb",
    "rust": "rs",
    "sql": "mysql postgresql sqlite",
    "tex": "latex",
    "typescript": "ts tsx",
    "xml": "svg",
    "yaml": "yml",
}
_LEXER_OF: Final = {name: lexer for lexer, others in _OTHER_NAMES.items() for name in (lexer, *others.split())}
_CLASSES: Final[dict[_TokenType, str]] = {
    Comment: "hl-comment",
    Comment.Preproc: "hl-keyword",
    Keyword: "hl-keyword",
    Keyword.Constant: "hl-number",
    Keyword.Type: "hl-type",
    Operator.Word: "hl-keyword",
    Name.Attribute: "hl-type",
    Name.Builtin: "hl-name",
    Name.Class: "hl-type",
    Name.Decorator: "hl-name",
    Name.Exception: "hl-type",
    Name.Function: "hl-name",
    Name.Tag: "hl-keyword",
    Number: "hl-number",
    String: "hl-string",
    Generic.Deleted: "hl-deleted",
    Generic.Heading: "hl-keyword",
    Generic.Inserted: "hl-inserted",
    Generic.Prompt: "hl-comment",
    Generic.Subheading: "hl-keyword",
    Generic.Traceback: "hl-deleted",
}
CLASSES: Final = frozenset(_CLASSES.values())


class Allowance:
    """Processor time that the code blocks of one text may take together."""

    def __init__(self, seconds: float = MOST_SECONDS) -> None:
        self._left = seconds

    def last(self, tokens: Iterable[_Token]) -> Iterator[_Token]:
        """The tokens, as long as the time lasts; loading a lexer is not counted, only its work."""
        began = time.thread_time()
        for token in tokens:
            if time.thread_time() - began > self._left:
                break
            yield token
        self._left -= time.thread_time() - began

    def is_spent(self) -> bool:
        return self._left <= 0


def highlight(code: str, language: str, allowance: Allowance) -> str:
    """HTML of `code`: `<span class="hl-…">` around the words of `language`.

    Only escaped where no lexer knows the language, the code exceeds the limits or the allowance is spent.
    """
    plain = escape(code, quote=False)
    lexer = _lexer(_LEXER_OF.get(language.lower(), ""))
    if lexer is None or len(code) > MOST_CHARACTERS or _SLOW.search(code):
        return plain
    pieces = [_word(name, text) for name, text in _words(allowance.last(lexer.get_tokens(code)))]
    return plain if allowance.is_spent() else "".join(pieces)


def _word(name: str, text: str) -> str:
    shown = escape(text, quote=False)
    return f'<span class="{name}">{shown}</span>' if name and not text.isspace() else shown


@lru_cache(maxsize=len(_OTHER_NAMES) + 1)
def _lexer(name: str) -> Lexer | None:
    return get_lexer_by_name(name, stripnl=False, ensurenl=False) if name else None


def _words(tokens: Iterable[_Token]) -> Iterator[tuple[str, str]]:
    """Class and text; neighbours of one class become one word."""
    named = ((_class(kind), text) for kind, text in tokens)
    for name, group in groupby(named, key=lambda pair: pair[0]):
        yield name, "".join(text for _, text in group)


@lru_cache(maxsize=512)
def _class(kind: _TokenType) -> str:
    token_type: _TokenType | None = kind
    while token_type is not None:
        if token_type in _CLASSES:
            return _CLASSES[token_type]
        token_type = token_type.parent
    return ""
