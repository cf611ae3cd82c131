"""What a YAML parser complains of, in words that say what to change."""

from __future__ import annotations

_COLON = (
    "A colon followed by a space starts a value, which is not possible here. Indent the line like its neighbours, or "
    "put quotes around a text that contains a colon."
)
_KEY = "The line is indented differently from the lines before it, or a quotation mark or bracket above is not closed."
_QUOTE = "A quotation mark is not closed."

# The words of libyaml and of PyYAML's own parser; the first that is found in a complaint counts.
_WORDS = (
    ("mapping values are not allowed", _COLON),
    ("expected '-' indicator", "An entry of the list is not aligned with the dash of the previous entry."),
    ("expected <block end>", _KEY),
    ("did not find expected key", _KEY),
    ("',' or ']'", "A list that starts with [ is not closed, or a comma is missing."),
    ("',' or '}'", "A mapping that starts with { is not closed, or a comma is missing."),
    ("cannot start any token", "A text cannot start with this character. Put quotes around it; indent with spaces."),
    ("unexpected end of stream", _QUOTE),
    ("node content", "A value is missing here, or a bracket above is not closed."),
    ("expected ':'", "A line above has no colon after its key, or is indented differently from its neighbours."),
    ("block sequence entries are not allowed", "A list cannot start here; begin it on a line of its own."),
    ("comment or line break", "The text after | or > starts on the next line."),
    ("unknown escape character", "In double quotes, write a backslash twice, or use single quotes."),
    ("control characters", "The file contains a control character."),
    ("special characters are not allowed", "The file contains a control character."),
)
_TAB = "There is a tab here. Indent YAML with spaces only."


def said_plainly(problem: str, line: str, column: int) -> str:
    """Return what is wrong, and the parser's own words where they are not known; `column` counts from 0."""
    if line[column : column + 1] == "\t" or line[: len(line) - len(line.lstrip())].find("\t") >= 0:
        return _TAB
    return next((words for known, words in _WORDS if known in problem), f"The parser says: {problem}.")
