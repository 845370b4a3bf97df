"""Markets and books that tests need, each with one word on what is special about it."""

from dataclasses import replace
from decimal import Decimal

from market.markets import Market
from market.money import Amount, Price
from market.quotes import Level
from pricefeeds.books import BookTop

MARKET = Market(
    exchange="bitstamp",
    region="eu",
    symbol="BTC/EUR",
    base="BTC",
    quote_currency="EUR",
    tick_size=Decimal(1),
    lot_step=Decimal("0.00000001"),
    minimum_amount=Decimal("0.0001"),
    minimum_notional=Decimal(10),
    fee_side="quote",
)
FX_MARKET = replace(MARKET, exchange="kraken", symbol="EUR/USD", base="EUR", quote_currency="USD", is_fx=True)


def level(price: str, amount: str = "1") -> Level:
    return Level(Price(Decimal(price)), Amount(Decimal(amount)))


def book(bid: str, ask: str, amount: str = "1") -> BookTop:
    return BookTop((level(bid, amount),), (level(ask, amount),))
