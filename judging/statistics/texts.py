"""Figures of texts: marks that people set in them, and features of responses such as their length."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from judging.specs.types import Mark

# Marked parts of texts, and the F1 of two people over characters. It loads no numpy: pages need it at their start.
#
# Everything is counted in characters, as code points: where one mark ends and the next begins does not matter, only
# which label a character has. Marks of one person do not overlap and come in the order of the text.

UNMARKED = ""


def stretches(people: Sequence[Sequence[Mark]], length: int = 0) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the parts of a text between any two ends of marks, with the label that each person gives them.

    `length` is that of the text; without it the part after the last mark is left out.
    """
    ends = sorted({0, length, *(end for marks in people for mark in marks for end in mark[:2])})
    places = [0] * len(people)
    for start, end in pairwise(ends):
        labels = []
        for person, marks in enumerate(people):
            while places[person] < len(marks) and marks[places[person]].end <= start:
                places[person] += 1
            mark = marks[places[person]] if places[person] < len(marks) else None
            labels.append(mark.label if mark is not None and mark.start <= start else UNMARKED)
        yield start, end, labels


def f1_of(first: Sequence[Mark], second: Sequence[Mark]) -> float:
    """Return the F1 of two people over the characters that both give the same label, in [0, 1].

    F1 = 2 c / (a + b): a and b characters marked by each, c of them with the same label. 1 where neither marks any.
    """
    marked = sum(mark.end - mark.start for marks in (first, second) for mark in marks)
    same = sum(end - start for start, end, (a, b) in stretches((first, second)) if a == b != UNMARKED)
    return 2 * same / marked if marked else 1.0


def mean_f1_of(people: Sequence[Sequence[Mark]]) -> float | None:
    """Return the mean F1 over all pairs of people; None with fewer than two."""
    values = [f1_of(first, second) for first, second in combinations(people, 2)]
    return sum(values) / len(values) if values else None


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
