"""Markets and books that tests need, each with one word on what is special about it."""

from dataclasses import replace
from decimal import Decimal

from market.money import Amount, Price
from market.prices.book_top import BookTop
from market.prices.quotes import Level
from tests.market.samples import EUR_MARKET

MARKET = replace(EUR_MARKET, exchange="bitstamp", tick_size=Decimal(1), lot_step=Decimal("0.00000001"))
FX_MARKET = replace(MARKET, exchange="kraken", symbol="EUR/USD", base="EUR", quote_currency="USD", is_fx=True)


def level(price: str, amount: str = "1") -> Level:
    return Level(Price(Decimal(price)), Amount(Decimal(amount)))


def book(bid: str, ask: str, amount: str = "1") -> BookTop:
    return BookTop((level(bid, amount),), (level(ask, amount),))
