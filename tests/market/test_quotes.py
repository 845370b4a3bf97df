"""Quotes: their ids and sequences, and which must not enter the log."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.prices.quotes import Level, Quote, next_sequence, rejection_of
from tests.market.samples import levels

QUOTE = Quote(
    "quote", "alpha", "us", "BTC/USD", "BTC", "USD", levels(("100", "1")), levels(("101", "2")), None, 1_000, 1_000
)


def test_best_prices_and_id() -> None:
    assert [QUOTE.bid, QUOTE.ask] == [Decimal(100), Decimal(101)]
    assert QUOTE.quote_id == "alpha:BTC/USD:1000"


@given(last=st.integers(0, 2**53), received=st.integers(0, 2**53))
def test_sequences_grow(last: int, received: int) -> None:
    assert next_sequence(last, received) > last
    assert next_sequence(last, received) >= received


@pytest.mark.parametrize(
    ("quote", "last_received", "last_mid", "reason"),
    [
        (QUOTE, 1_000, None, None),
        (QUOTE, 0, Decimal(100), None),
        (replace(QUOTE, bids=()), 0, None, "empty"),
        (replace(QUOTE, asks=()), 0, None, "empty"),
        (replace(QUOTE, bids=levels(("101", "1"))), 0, None, "crossed"),
        (replace(QUOTE, bids=levels(("102", "1"))), 0, None, "crossed"),
        (replace(QUOTE, bids=levels(("-1", "1"))), 0, None, "out_of_bounds"),
        (replace(QUOTE, bids=levels(("100", "0"))), 0, None, "out_of_bounds"),
        (QUOTE, 1_001, None, "backwards"),
        (QUOTE, 0, Decimal("66.99"), "out_of_bounds"),
        (QUOTE, 0, Decimal("67"), None),
        (QUOTE, 0, Decimal("202"), "out_of_bounds"),
    ],
)
def test_rejections(quote: Quote, last_received: int, last_mid: Decimal | None, reason: str | None) -> None:
    assert rejection_of(quote, last_received, last_mid) == reason


def test_level_reads_as_price_and_amount() -> None:
    price, amount = Level(*levels(("5", "6"))[0])
    assert [price, amount] == [Decimal(5), Decimal(6)]
