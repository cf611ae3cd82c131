"""Prompt files, versioned by hash, and the one way in which texts are put into them.

A text is inserted as a value in a single pass: braces in it survive, and nothing in it is read as a placeholder. Judged
text stands between two marker lines that carry a digest of the text itself, so that the text cannot hold its own end.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

MAX_PROMPT = 10_000_000  # characters of a filled prompt
MAX_BOUNDED = 1_000_000  # of one from a template that a researcher wrote
OTHER = "response_b"
CRITERIA = "criteria"
VARIABLES: Mapping[str, str] = {  # of templates that researchers write -> what each holds
    "question": "what was asked",
    "response": "the response to judge",
    OTHER: "the response of a baseline system to the same case; a prompt with it compares both",
    "reference": "the reference answer of the case; may be empty",
    "context": "the context of the case; may be empty",
    "context_role": "reference, supplementary, or empty",
    "instruction": "what the system was told beside the question; may be empty",
    "description": "the description of the benchmark; may be empty",
    "language": "the language of the case; may be empty",
    "metadata": "what the suite's file says further of the case, by name, such as metadata.topic",
    "messages": "the turns of the case, each under its role, where it is a conversation; empty otherwise",
    "lowest": "the lowest score of the scale",
    "highest": "the highest score of the scale",
    "labels": "the labels of the reply, separated by commas",
    "rubric": "the rubric of the case as text",
    CRITERIA: "the criteria of the rubric, to go through: each has key, text, level, points, scale and anchors",
}
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_MARKER = re.compile(r"\[(?=\s*(?:BEGIN|END)\b)", re.IGNORECASE)


# Placeholders that a prompt had before; texts that were edited then are still filled in.
_EARLIER: Mapping[str, frozenset[str]] = {
    "level_cascade_holistic": frozenset({"question", "criteria", "response", "top_rule", "level_25_value"}),
}


class BadPrompt(ValueError):
    """A prompt text lacks a placeholder that its judge needs, or names one that it does not have."""


@dataclass(frozen=True, slots=True)
class VersionedPrompt:
    """A prompt's text with the hash that versions it."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def placeholders(self) -> frozenset[str]:
        return frozenset(_PLACEHOLDER.findall(self.text))


@cache
def load_prompt(name: str) -> VersionedPrompt:
    """Return the prompt shipped under `name`."""
    path = files("judging.judges").joinpath("prompts", f"{name}.md")
    return VersionedPrompt(name, path.read_text(encoding="utf-8").strip())


def chosen_prompt(name: str, own_text: str) -> VersionedPrompt:
    """Return the shipped prompt, or the edited text that stands in for it.

    Raises:
        BadPrompt: the edited text lacks a placeholder of the shipped one, or has one more.
    """
    shipped = load_prompt(name)
    if not own_text:
        return shipped
    edited = VersionedPrompt(name, own_text.strip())
    if edited.placeholders not in (shipped.placeholders, _EARLIER.get(name)):
        differing = ", ".join(f"{{{{{word}}}}}" for word in sorted(edited.placeholders ^ shipped.placeholders))
        raise BadPrompt(f"The prompt must use exactly the placeholders of {name}.md; these differ: {differing}.")
    return edited


def fill(prompt: VersionedPrompt, values: Mapping[str, str]) -> str:
    """Return the prompt with each placeholder replaced by its value, which is not looked into again.

    Raises:
        BadPrompt: a placeholder has no value, or the text would have more than `MAX_PROMPT` characters.
    """
    missing = prompt.placeholders - set(values)
    if missing:
        raise BadPrompt(f"The prompt {prompt.name!r} needs {', '.join(sorted(missing))}.")
    size = len(prompt.text) + sum(len(values[each[1]]) - len(each[0]) for each in _PLACEHOLDER.finditer(prompt.text))
    if size > MAX_PROMPT:
        raise BadPrompt(f"The prompt {prompt.name!r} has {size:,} characters here; {MAX_PROMPT:,} at most.")
    return _PLACEHOLDER.sub(lambda match: values[match[1]], prompt.text)


def as_data(text: str, label: str) -> str:
    """Return `text` between marker lines that it cannot imitate; markers inside it lose their bracket."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    body = _MARKER.sub("(", text) or "(empty)"
    return f"[BEGIN {label} {digest}]\n{body}\n[END {label} {digest}]"


def bounded_text(pieces: Iterable[str]) -> str:
    """Return the pieces as one text.

    Raises:
        BadPrompt: it would have more than `MAX_BOUNDED` characters.
    """
    kept, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_BOUNDED:
            raise BadPrompt(f"The prompt for this response has more than {MAX_BOUNDED:,} characters.")
        kept.append(piece)
    return "".join(kept)
