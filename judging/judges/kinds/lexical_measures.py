"""How much of one text's content another text holds: the whole knowledge of the lexical baselines.

Content terms are words without stop words and without the verbs in which criteria are phrased; code tokens such as
`-zone` or `park_mount` are kept whole. Nothing here understands a sentence, negation or synonym.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

LENSES = ("reference", "criterion", "balance")
CONCISE_WORDS = 150  # up to here an answer is not penalised for length
MAX_TEXT = 60_000  # characters that are looked at

_TERM = re.compile(r"-{0,2}[a-z_][a-z0-9_]*(?:[.\-][a-z0-9_]+)*|\d+(?:\.\d+)*|[\u4e00-\u9fff]")
_STOP = frozenset(
    _TERM.findall(
        "a an and any are as at be because been being both but by can could did do does doing each either for "
        "from had has have he her here his how i if in into is it its may me might more most must my no nor not "
        "of on only or other our out over own same she should so some such than that the their them then there "
        "these they this those through to too under up us very was we were what when where which while who whom "
        "why will with would you your "
    )
)
_PHRASING = frozenset(
    _TERM.findall(
        "advise answer answers command commands correct correctly criterion describe describes example explain "
        "explains flag give gives good great mention mentions name names number option options point points poor "
        "pick provide provides question reason response responses say says set state states submission text whole "
        "score level "
    )
)


class UnknownLens(ValueError):
    """There is no lexical baseline of this name."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A share of 0..1 and the words that say what was measured."""

    share: float
    words: str


@lru_cache(maxsize=4096)
def terms(text: str) -> frozenset[str]:
    """Return the content terms of a text, lower-cased, plurals as singulars."""
    singulars = map(_singular, _TERM.findall(text[:MAX_TEXT].casefold()))
    return frozenset(term for term in singulars if term not in _STOP and term not in _PHRASING)


def _singular(term: str) -> str:
    return term[:-1] if len(term) > 3 and term.endswith("s") and not term.endswith("ss") else term


def coverage(source: str, target: str) -> float | None:
    """Return the share of the source's content terms that the target holds; None where the source has none."""
    source_terms = terms(source)
    return len(source_terms & terms(target)) / len(source_terms) if source_terms else None


def conciseness(text: str) -> float:
    """Return 1 up to 150 words, falling as 150 / words beyond; 0 for an empty text."""
    words = len(text.split())
    return 0.0 if not words else min(1.0, CONCISE_WORDS / words)


def structure(text: str) -> float:
    """Return 1 for a text with paragraphs, a list or code, 1/2 for one block of prose, 0 for an empty text."""
    body = text.strip()
    if not body:
        return 0.0
    listed = re.search(r"^\s*(?:[-*\u2022]|\d+[.)])\s", body, re.MULTILINE)
    return 1.0 if listed or "```" in body or "\n\n" in body else 0.5


def measure(lens: str, response: str, *, question: str, reference: str, criterion: str) -> Measure:
    """Return how the lens rates a response as a whole.

    Raises:
        UnknownLens: not one of reference, criterion and balance.
    """
    if lens not in LENSES:
        raise UnknownLens(f"A lexical baseline is one of {', '.join(LENSES)}, not {lens!r}.")
    question_coverage = coverage(question, response) or 0.0
    if lens == "balance":
        share = 0.6 * question_coverage + 0.25 * conciseness(response) + 0.15 * structure(response)
        return Measure(share, "coverage of the question's terms, weighed with conciseness and structure")
    source, name = (reference, "reference") if lens == "reference" else (criterion, "criterion")
    source_coverage = coverage(source, response)
    if source_coverage is None:
        return Measure(question_coverage, f"no {name} terms to look for, so coverage of the question's terms")
    return Measure(source_coverage, f"coverage of the {name}'s terms")


def criterion_share(lens: str, response: str, *, question: str, reference: str, criterion: str) -> float:
    """Return how far a response meets one criterion, 0..1; the other two lenses average it with their own view."""
    whole = measure(lens, response, question=question, reference=reference, criterion=criterion).share
    met = coverage(criterion, response)
    if met is None:
        return whole
    return met if lens == "criterion" else (met + whole) / 2
