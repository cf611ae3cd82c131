"""Properties of a response that a judge may reward for their own sake: its length, its formatting, its author."""

from __future__ import annotations

import re

ASCII_PER_TOKEN = 4  # characters of English text to a token, about; other scripts take about one token a character

# What marks a model's maker in its name. A name that has none belongs to the family of its first word.
MAKERS = {
    "gpt": "gpt",
    "chatgpt": "gpt",
    "davinci": "gpt",
    "o1": "gpt",
    "o3": "gpt",
    "o4": "gpt",
    "claude": "claude",
    "gemini": "gemini",
    "gemma": "gemini",
    "palm": "gemini",
    "llama": "llama",
    "mistral": "mistral",
    "ministral": "mistral",
    "magistral": "mistral",
    "mixtral": "mistral",
    "codestral": "mistral",
    "devstral": "mistral",
    "pixtral": "mistral",
    "qwen": "qwen",
    "qwq": "qwen",
    "deepseek": "deepseek",
    "grok": "grok",
    "command": "command",
    "aya": "command",
    "phi": "phi",
    "glm": "glm",
    "chatglm": "glm",
    "kimi": "kimi",
    "nova": "nova",
    "titan": "nova",
}
_WORD = re.compile(r"o\d(?![a-z0-9])|[a-z]{2,}")
_MARKS = re.compile(
    r"^[ \t]{0,3}#{1,6}[ \t]"  # headings
    r"|^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]"  # items of lists
    r"|^[ \t]*(?:```|~~~)"  # fences of code blocks
    r"|^[ \t]*\|.*\|[ \t]*$"  # rows of tables
    r"|^[ \t]{0,3}>[ \t]"  # quotations
    r"|(?<![*\w])\*{1,3}(?=[^\s*])[^*\n]{1,300}\*{1,3}(?![*\w])"  # emphasis
    r"|(?<![`\w])`[^`\n]{1,300}`(?!`)",  # code within a line
    re.MULTILINE,
)


def approximate_tokens(text: str) -> float:
    """Return about how many tokens a text has, counted alike for every system: no tokenizer is asked."""
    ascii_count = len(text) if text.isascii() else sum(character < "\x80" for character in text)
    return ascii_count / ASCII_PER_TOKEN + len(text) - ascii_count


def formatting_marks(text: str) -> int:
    """Return how many Markdown marks a text has: headings, items, fences, table rows, quotations, emphasis, code."""
    return sum(1 for _ in _MARKS.finditer(text))


def model_family(name: str) -> str | None:
    """Return the family of a model by its name: "openai/gpt-4o-mini" is "gpt". None where the name has no word."""
    words = _WORD.findall(name.lower().rsplit("/", 1)[-1])
    maker = next((MAKERS[word] for word in words if word in MAKERS), None)
    return maker or next(iter(words), None)
