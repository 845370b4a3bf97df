"""How an order meets a book: never beyond its limit, never more than is offered, never more than it wants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.instruments.order_matching import filled_offers, is_within_limit
from market.instruments.orders import Side

BIDS = ((100, 1), (99, 2), (98, 3))
ASKS = ((101, 1), (102, 2), (103, 3))


def filled(side: Side, amount: int, limit: int, levels: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    return list(filled_offers(side, limit, amount, ((price, price, shown) for price, shown in levels)))


@pytest.mark.parametrize(
    ("side", "amount", "limit", "expected"),
    [
        ("buy", 1, 101, [(101, 1)]),
        ("buy", 2, 102, [(101, 1), (102, 1)]),
        ("buy", 9, 102, [(101, 1), (102, 2)]),
        ("buy", 9, 999, [(101, 1), (102, 2), (103, 3)]),
        ("buy", 1, 100, []),
        ("sell", 2, 99, [(100, 1), (99, 1)]),
        ("sell", 9, 99, [(100, 1), (99, 2)]),
        ("sell", 1, 101, []),
        ("buy", 0, 999, []),
    ],
)
def test_fills_level_by_level_up_to_the_limit(
    side: Side, amount: int, limit: int, expected: list[tuple[int, int]]
) -> None:
    assert filled(side, amount, limit, ASKS if side == "buy" else BIDS) == expected


def test_a_level_without_a_whole_lot_left_is_passed_over() -> None:
    assert filled("buy", 2, 103, ((101, 0), (102, -1), (103, 5))) == [(103, 2)]


levels = st.dictionaries(st.integers(90, 110), st.integers(0, 9), max_size=8)


@given(levels, st.sampled_from(("buy", "sell")), st.integers(0, 40), st.integers(90, 110))
def test_takes_all_that_is_offered_within_the_limit_or_all_that_is_wanted(
    shown: dict[int, int], side: Side, amount: int, limit: int
) -> None:
    found = filled(side, amount, limit, tuple(sorted(shown.items(), reverse=side == "sell")))
    offered = sum(size for price, size in shown.items() if is_within_limit(side, limit, price))
    assert sum(size for _, size in found) == min(amount, offered)
    assert all(0 < size <= shown[price] and is_within_limit(side, limit, price) for price, size in found)
