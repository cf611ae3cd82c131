"""Addresses of items give neither their number nor their order away."""

from __future__ import annotations

from itertools import pairwise

import pytest

from evalsite.review.models.items import ADDRESS_LENGTH, address_of, number_at


def test_address_of_belongs_to_one_number_and_leads_back() -> None:
    numbers = [0, 1, 2, 3, 41, 2**31, 2**63 - 1]

    addresses = [address_of(number) for number in numbers]

    assert [number_at(address) for address in addresses] == numbers
    assert {len(address) for address in addresses} == {ADDRESS_LENGTH}


def test_address_of_does_not_follow_the_order_of_the_numbers() -> None:
    addresses = [address_of(number) for number in range(200)]

    rising = sum(first < second for first, second in pairwise(addresses))

    assert 70 < rising < 130  # of 199; a coin would give 99.5 with a standard deviation of about 4
    assert len({address[:4] for address in addresses}) > 190


@pytest.mark.parametrize("address", ["a" * ADDRESS_LENGTH, "b" * ADDRESS_LENGTH, "7" * ADDRESS_LENGTH])
def test_number_at_refuses_what_is_no_address(address: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        number_at(address)
