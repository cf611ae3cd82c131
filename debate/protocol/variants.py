"""Five ways to perturb a criterion's text, reproducibly from a seed, and what the perturbation does to a judge.

The five are those of the seed paper's third experiment: shortened, gibberish, shuffled, flipped, masked. The name of
the criterion and the numbers of its levels stay; only the levels' texts are perturbed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from random import Random

from debate.protocol.setups import Criterion

PERTURBED_SHARE = 0.35  # of the letters, for gibberish and masked
SYMBOLS = "$%&#@!*?<>()^€17490"
_WORD = re.compile(r"\w(?:[\w'’-]*\w)?")
_LABEL = re.compile(r"\A\s*[^.!?\n]{1,40}? [-–—] (?=\S)")


class Perturbation(StrEnum):
    """What is done to the text of each level."""

    NONE = "none"
    SHORTENED = "shortened"  # the level's label is taken off; without one, only the first sentence or half stays
    GIBBERISH = "gibberish"  # letters become symbols
    SHUFFLED = "shuffled"  # the words change places
    FLIPPED = "flipped"  # each word is written backwards
    MASKED = "masked"  # letters become underscores


# The numbers that ScaleEval's criteria files end in: helpfulness-1 (or no number) to helpfulness-6.
FILE_SUFFIXES = {
    1: Perturbation.NONE,
    2: Perturbation.SHORTENED,
    3: Perturbation.GIBBERISH,
    4: Perturbation.SHUFFLED,
    5: Perturbation.FLIPPED,
    6: Perturbation.MASKED,
}


def perturbed(criterion: Criterion, perturbation: Perturbation, *, seed: int) -> Criterion:
    """Return the criterion with every level's text perturbed: a function of the arguments alone.

    Each level has its own draw, so that changing one level's text does not change another's perturbation.
    """
    levels = {
        level: _PERTURB[perturbation](text, Random(f"{seed}|{perturbation}|{criterion.name}|{level}"))  # noqa: S311 - no secret
        for level, text in criterion.levels.items()
    }
    return Criterion(criterion.name, levels)


def _same(text: str, _: Random) -> str:
    return text


def _shortened(text: str, _: Random) -> str:
    label = _LABEL.match(text)
    if label:
        return text[label.end() :]
    sentences = re.split(r"(?<=[.!?])\s+", text.strip())
    if len(sentences) > 1:
        return sentences[0]
    words = text.split()
    return " ".join(words[: (len(words) + 1) // 2])


def _gibberish(text: str, rng: Random) -> str:
    return _replace_letters(text, rng, lambda: rng.choice(SYMBOLS))


def _masked(text: str, rng: Random) -> str:
    return _replace_letters(text, rng, lambda: "_")


def _shuffled(text: str, rng: Random) -> str:
    """Return the words in another order, where they allow one."""
    words = text.split()
    mixed = list(words)
    while len(set(words)) > 1 and mixed == words:
        rng.shuffle(mixed)
    return " ".join(mixed)


def _flipped(text: str, _: Random) -> str:
    return _WORD.sub(lambda match: match[0][::-1], text)


def _replace_letters(text: str, rng: Random, symbol: Callable[[], str]) -> str:
    """Return the text with the declared share of its letters replaced, at least one; all else stays in place."""
    letters = [index for index, character in enumerate(text) if character.isalpha()]
    if not letters:
        return text
    characters = list(text)
    for index in sorted(rng.sample(letters, max(1, round(len(letters) * PERTURBED_SHARE)))):
        characters[index] = symbol()
    return "".join(characters)


_PERTURB: dict[Perturbation, Callable[[str, Random], str]] = {
    Perturbation.NONE: _same,
    Perturbation.SHORTENED: _shortened,
    Perturbation.GIBBERISH: _gibberish,
    Perturbation.SHUFFLED: _shuffled,
    Perturbation.FLIPPED: _flipped,
    Perturbation.MASKED: _masked,
}
