"""Code cut out of a response: fenced blocks, or what truncation leaves of unfenced text; as the original does it."""

from __future__ import annotations

FENCES = ("```", "\\begin{code}", "\\end{code}")
_STOP_WORDS = {
    "python": ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\nassert"),
    "go": ("\n//", "\nfunc main(", "struct", "\nfunc"),
}
_BRACES = {"java", "javascript", "go", "cpp", "rust"}
_JAVA_MAIN = "public static void main"


def extract_code(text: str, language: str, *, only_longest: bool = False) -> str:
    """Return the code in `text` (prefix and response) for a canonical language name.

    With two or more fence marks: the lines strictly between the 1st and 2nd, 3rd and 4th, ... line that holds a
    mark, joined by an empty line (or the block with most lines, the first on a tie). With fewer: `truncate` decides.
    """
    if sum(text.count(fence) for fence in FENCES) < 2:
        return truncate(text, language)
    lines = text.split("\n")
    marked = [index for index, line in enumerate(lines) if any(fence in line for fence in FENCES)]
    blocks = [lines[start + 1 : end] for start, end in zip(marked[::2], marked[1::2], strict=False)]
    if only_longest:
        blocks = [max(blocks, key=len)] if blocks else []
    return "\n\n".join("\n".join(block) for block in blocks)


def truncate(text: str, language: str) -> str:
    """Return unfenced `text` cut where a completion of a function body ends; unknown languages are kept whole."""
    for word in _STOP_WORDS.get(language, ()):
        text = text.partition(word)[0]
    if language == "python":
        return _indented_head(text)
    return _close_braces(text, language) if language in _BRACES else text


def _indented_head(text: str) -> str:
    """Return the lines before the first that is neither blank nor indented."""
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if line.strip() and line[0] not in " \t":
            return "\n".join(lines[:index])
    return text


def _close_braces(text: str, language: str) -> str:
    """Return `text` up to the brace that closes the function (java: the class) the response is taken to be in."""
    depth = 2 if language == "java" else 1
    for index, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return text[: index + 1]
    if language == "java":
        return _close_java(text)
    return text[: text.rfind("}") + 1] if "}" in text else text


def _close_java(text: str) -> str:
    head, main, _ = text.partition(_JAVA_MAIN)
    if main:
        text = head + "}"
    if "}" in text:
        text = text[: text.rfind("}") + 1]
    if text.count("{") - 1 == text.count("}"):
        text += "\n}"
    return text
