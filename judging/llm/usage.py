"""What a reply used beside its prompt and its text, as providers report it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class UsageDetails:
    """Parts of the tokens of a reply; None where the provider does not report them."""

    cached_tokens: int | None = None  # of the prompt tokens, those read from the provider's cache
    reasoning_tokens: int | None = None  # of the completion tokens, those of thinking
    apart_tokens: int = 0  # of the completion tokens, those of thinking that the provider counts on top
    billed: Decimal | None = None  # USD, where the provider says what it charged


NO_DETAILS = UsageDetails()


def total_details(each: Sequence[UsageDetails]) -> UsageDetails:
    """Return the details of several attempts together; what was charged is known only where each of them says so."""
    billed = [details.billed for details in each if details.billed is not None]
    return UsageDetails(
        cached_tokens=known_sum([details.cached_tokens for details in each]),
        reasoning_tokens=known_sum([details.reasoning_tokens for details in each]),
        apart_tokens=sum(details.apart_tokens for details in each),
        billed=sum(billed, Decimal(0)) if billed and len(billed) == len(each) else None,
    )


def known_sum(counts: Sequence[int | None]) -> int | None:
    """Return the sum of the counts that are known; None where none is."""
    known_counts = [count for count in counts if count is not None]
    return sum(known_counts) if known_counts else None
