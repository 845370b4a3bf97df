"""The measure itself: how old what was believed had become."""

from decimal import Decimal

import pytest

from market.money import Amount, Price
from market.prices.quotes import FeedMark, Level, MarkKind, Quote
from pricefeeds.quoting.symbol_feed import Row
from tests.fault_matrix.truth import Book, oldest_belief


def _quote(at: int, bid: int) -> Quote:
    bids, asks = ((Level(Price(Decimal(price)), Amount(Decimal(1))),) for price in (bid, bid + 1))
    return Quote("quote", "kraken", "us", "BTC/USD", "BTC", "USD", bids, asks, None, at, at)


def _mark(at: int, kind: MarkKind) -> FeedMark:
    return FeedMark(kind, "kraken", "us", "BTC/USD", "BTC", "USD", at, at)


def _book(bid: int) -> Book:
    return ((Decimal(bid), Decimal(1)),), ((Decimal(bid + 1), Decimal(1)),)


# the exchange shows 1 from 0 on, 2 from 10 on, 3 from 20 on
BOOKS = [(0, _book(1)), (10, _book(2)), (20, _book(3))]


@pytest.mark.parametrize(
    ("rows", "oldest"),
    [
        ([], 0),
        ([_quote(2, 1), _quote(11, 2), _quote(23, 3)], 3),
        ([_quote(2, 1), _quote(19, 2), _quote(20, 3)], 9),
        ([_quote(2, 1)], 40),
        ([_quote(2, 1), _mark(30, "alive")], 40),
        ([_quote(2, 1), _mark(15, "withdrawn")], 5),
        ([_quote(2, 1), _mark(15, "withdrawn"), _quote(25, 3)], 5),
        # never true, so as old as the true one before it
        ([_quote(11, 2), _quote(22, 7), _quote(30, 8), _quote(31, 3)], 11),
        # or, if none stood before it, as its coming
        ([_quote(2, 1), _mark(12, "withdrawn"), _quote(15, 9), _mark(33, "withdrawn")], 18),
    ],
)
def test_how_old_a_belief_becomes(rows: list[Row], oldest: int) -> None:
    assert oldest_belief(rows, BOOKS, now=50) == oldest
