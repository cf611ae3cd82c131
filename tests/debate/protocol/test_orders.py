"""Stored orders: repeatable, independent between items, and fair."""

from __future__ import annotations

from collections import Counter

from debate.protocol.orders import Orders, OrderScheme, draw_orders

JUDGES = ("ada", "bob", "cy")


def test_draw_orders_gives_the_same_orders_again() -> None:
    first = draw_orders(seed=7, key="item-1", endpoints=JUDGES)

    assert first == draw_orders(seed=7, key="item-1", endpoints=JUDGES)
    assert sorted(first.agents) == sorted(JUDGES)


def test_draw_orders_reaches_every_permutation_about_equally() -> None:
    draws = [draw_orders(seed=1, key=str(number), endpoints=JUDGES) for number in range(1200)]

    agents = Counter(draw.agents for draw in draws)
    swapped = sum(draw.response_order for draw in draws)

    assert len(agents) == 6
    assert all(140 < count < 260 for count in agents.values())  # 200 expected each; 4.6 standard deviations of 12.9
    assert 520 < swapped < 680  # 600 expected; 4.6 standard deviations of 17.3


def test_draw_orders_cyclic_only_rotates() -> None:
    draws = {
        draw_orders(seed=1, key=str(number), endpoints=JUDGES, scheme=OrderScheme.CYCLIC).agents for number in range(60)
    }

    assert draws == {("ada", "bob", "cy"), ("bob", "cy", "ada"), ("cy", "ada", "bob")}


def test_draw_orders_keeps_an_endpoint_that_sits_twice() -> None:
    assert Counter(draw_orders(seed=3, key="x", endpoints=("ada", "ada", "bob")).agents) == {"ada": 2, "bob": 1}


def test_draw_orders_are_pinned() -> None:
    # Stored runs are replayed from these draws: if this fails, an upgrade has changed them.
    assert [draw_orders(seed=0, key=key, endpoints=JUDGES) for key in ("a", "b")] == [
        Orders(1, ("cy", "ada", "bob")),
        Orders(1, ("bob", "cy", "ada")),
    ]
