"""What responses look like, apart from what they say: length, formatting, and the model that wrote them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models.functions import Length

from judging.models import Response
from judging.statistics.response_features import approximate_tokens, formatting_marks, model_family

CHUNK = 1_000  # texts at a time
MANY = 10_000  # numbers at a time


@dataclass(frozen=True, slots=True)
class ResponseFacts:
    """One response as a biased judge may see it."""

    tokens: float
    marks: int
    family: str | None  # of the system's model; None: not known


def response_facts(response_ids: Iterable[int]) -> dict[int, ResponseFacts]:
    """Return the facts by response. One query for each thousand texts."""
    ids, facts = sorted(set(response_ids)), dict[int, ResponseFacts]()
    for start in range(0, len(ids), CHUNK):
        rows = Response.objects.filter(pk__in=ids[start : start + CHUNK]).order_by("pk")
        for pk, text, model, name in rows.values_list("pk", "text", "system__model", "system__name"):
            facts[pk] = ResponseFacts(approximate_tokens(text), formatting_marks(text), model_family(model or name))
    return facts


def response_lengths(response_ids: Iterable[int]) -> dict[int, int]:
    """Return the number of characters of each response; the database counts them."""
    ids, lengths = sorted(set(response_ids)), dict[int, int]()
    for start in range(0, len(ids), MANY):
        rows = Response.objects.filter(pk__in=ids[start : start + MANY]).order_by()
        lengths |= dict(rows.values_list("pk", Length("text")))
    return lengths


def output_tokens(response_ids: Iterable[int]) -> dict[int, int]:
    """Return the number of tokens of the responses that were imported with it."""
    ids, counts = sorted(set(response_ids)), dict[int, int]()
    for start in range(0, len(ids), MANY):
        rows = Response.objects.filter(pk__in=ids[start : start + MANY], completion_tokens__isnull=False).order_by()
        counts |= {pk: tokens for pk, tokens in rows.values_list("pk", "completion_tokens") if tokens is not None}
    return counts
