"""Fills of the local paper account, level by level."""

from decimal import Decimal

import pytest

from exchanges.paper.depth import TakenDepth
from exchanges.paper.matching import executions, fill_of, taken_by
from market.instruments.markets import Market
from market.instruments.orders import LimitOrder, Side
from market.money import Amount, Price
from market.prices.quotes import Quote
from tests.market.samples import JPY_MARKET, USD_MARKET, levels

BIDS = (("100", "1"), ("99", "2"), ("98", "3"))
ASKS = (("101", "1"), ("102", "2"), ("103", "3"))


def quote(sequence: int = 1) -> Quote:
    return Quote("quote", "alpha", "us", "BTC/USD", "BTC", "USD", levels(*BIDS), levels(*ASKS), None, 1, sequence)


def order(side: Side, amount: str, price: str) -> LimitOrder:
    return LimitOrder("id", "alpha", "BTC/USD", side, Amount(Decimal(amount)), Price(Decimal(price)), 0)


@pytest.mark.parametrize(
    ("side", "amount", "price", "expected"),
    [
        ("buy", "0.5", "101", [("101", "0.5")]),
        ("buy", "1", "100.99", []),
        ("sell", "2", "99", [("100", "1"), ("99", "1")]),
        ("sell", "1", "100.01", []),
    ],
)
def test_walks_the_book_up_to_the_limit(side: Side, amount: str, price: str, expected: list[tuple[str, str]]) -> None:
    found = executions(order(side, amount, price), quote(), TakenDepth(), USD_MARKET)
    assert [(one.price, one.amount) for one in found] == [(Decimal(at), Decimal(size)) for at, size in expected]


def test_what_was_taken_is_gone() -> None:
    depth = TakenDepth()
    depth.take("BTC/USD", "buy", taken_by(executions(order("buy", "1.5", "102"), quote(), depth, USD_MARKET)))
    (one,) = executions(order("buy", "1", "102"), quote(), depth, USD_MARKET)
    assert (one.price, one.amount, one.shown) == (Decimal(102), Decimal(1), Decimal(2))


def test_only_whole_lots_are_filled() -> None:
    book = Quote("quote", "alpha", "us", "BTC/USD", "BTC", "USD", levels(*BIDS), levels(("101", "0.00019")), None, 1, 1)
    (one,) = executions(order("buy", "1", "102"), book, TakenDepth(), USD_MARKET)
    assert one.amount == USD_MARKET.lot_step


@pytest.mark.parametrize(
    ("market", "rate", "fee", "currency"),
    [
        (USD_MARKET, "0.001", "0.101", "USD"),
        (USD_MARKET, "0.000000001", "0.00000011", "USD"),
        (JPY_MARKET, "0.0015", "0.0015", "BTC"),
        # a rebate becomes no more by it
        (USD_MARKET, "-0.0000000019", "-0.00000019", "USD"),
    ],
)
def test_fees_in_their_currency_rounded_up(market: Market, rate: str, fee: str, currency: str) -> None:
    (one,) = executions(order("buy", "1", "101"), quote(), TakenDepth(), USD_MARKET)
    fill = fill_of(order("buy", "1", "101"), one, market, Decimal(rate), "1", 5)
    assert (fill.fee, fill.fee_currency, fill.cost, fill.filled_at) == (Decimal(fee), currency, Decimal(101), 5)
