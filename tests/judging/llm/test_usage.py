"""What several attempts used together."""

from __future__ import annotations

from decimal import Decimal

from judging.llm.usage import NO_DETAILS, UsageDetails, total_details


def test_total_details_adds_up_what_is_known() -> None:
    first, second = UsageDetails(1, 2, 3, Decimal("0.5")), UsageDetails(None, 5, 0, Decimal("0.25"))

    assert total_details([first, second]) == UsageDetails(1, 7, 3, Decimal("0.75"))
    assert total_details([]) == NO_DETAILS


def test_total_details_knows_no_charge_unless_each_attempt_says_it() -> None:
    assert total_details([UsageDetails(billed=Decimal(1)), NO_DETAILS]).billed is None
