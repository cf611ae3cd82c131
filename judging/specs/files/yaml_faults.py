"""What a YAML parser complains of, in words that say what to change."""

from __future__ import annotations

_COLON = (
    "A colon with a space after it starts a value, and none can stand here. Indent the line like its neighbours, or "
    "put quotes around a text that holds a colon."
)
_KEY = "The line is indented otherwise than those before it, or a quotation mark or bracket above is not closed."
_QUOTE = "A quotation mark that is opened is never closed."

# The words of libyaml and of PyYAML's own parser; the first that is found in a complaint counts.
_WORDS = (
    ("mapping values are not allowed", _COLON),
    ("expected '-' indicator", "An entry of the list does not stand under the dash of the one before it."),
    ("expected <block end>", _KEY),
    ("did not find expected key", _KEY),
    ("',' or ']'", "A list that starts with [ is not closed, or a comma is missing."),
    ("',' or '}'", "A mapping that starts with { is not closed, or a comma is missing."),
    ("cannot start any token", "No text can start with this character. Put quotes around it; indent with blanks."),
    ("unexpected end of stream", _QUOTE),
    ("node content", "A value is missing here, or a bracket above is not closed."),
    ("expected ':'", "A line above has no colon after its key, or is indented otherwise than its neighbours."),
    ("block sequence entries are not allowed", "A list cannot start here; begin it on a line of its own."),
    ("comment or line break", "The text after | or > starts on the next line."),
    ("unknown escape character", "In double quotes a backslash is written twice; or use single quotes."),
    ("control characters", "The file holds a control character."),
    ("special characters are not allowed", "The file holds a control character."),
)
_TAB = "A tab stands here. YAML is indented with blanks only."


def said_plainly(problem: str, line: str, column: int) -> str:
    """Return what is wrong, and the parser's own words where they are not known; `column` counts from 0."""
    if line[column : column + 1] == "\t" or line[: len(line) - len(line.lstrip())].find("\t") >= 0:
        return _TAB
    return next((words for known, words in _WORDS if known in problem), f"The parser says: {problem}.")
