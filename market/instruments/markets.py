"""What is traded where: one row per (exchange, symbol) with the exchange's size rules."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from market.instruments.contracts import Contract
from market.money import BoundedDecimal

FeeSide = Literal["quote", "base", "received"]
"""Which currency an exchange takes its fee in; "received": in what the order brings, base of a buy, quote of a sell."""


@dataclass(frozen=True, slots=True)
class Market:
    """One symbol on one exchange, with the exchange's own rules; amounts in base, notional in quote currency."""

    exchange: str
    region: str
    symbol: str
    base: str
    quote_currency: str
    tick_size: BoundedDecimal
    lot_step: BoundedDecimal
    minimum_amount: BoundedDecimal
    minimum_notional: BoundedDecimal
    fee_side: FeeSide
    is_fx: bool = False
    """Feeds an FX rate only; never traded."""
    contract: Contract | None = None
    """What amounts count at their source, before they become base amounts; None: base, as on every spot market."""
    coins_per_unit: BoundedDecimal = Decimal(1)
    """How much of the base one of the exchange's own code is, a power of ten: 1000 of 1000SHIB. Prices and amounts
    count such units at their source."""


@dataclass(frozen=True, slots=True)
class FxRoute:
    """How one quote currency becomes the settlement currency.

    `inverted` False: the symbol is CURRENCY/SETTLEMENT (EUR/USD); True: SETTLEMENT/CURRENCY (USD/JPY).
    """

    currency: str
    symbol: str
    inverted: bool


def fx_route(currency: str, settlement: str, markets: tuple[Market, ...]) -> FxRoute | None:
    """Return the FX market that converts `currency`, None if none is needed.

    Raises LookupError if none of `markets` converts it.
    """
    if currency == settlement:
        return None
    for market in markets:
        if market.is_fx and (market.base, market.quote_currency) == (currency, settlement):
            return FxRoute(currency, market.symbol, inverted=False)
        if market.is_fx and (market.base, market.quote_currency) == (settlement, currency):
            return FxRoute(currency, market.symbol, inverted=True)
    raise LookupError(f"no FX market converts {currency} to {settlement}")


def crosses_of(markets: Collection[Market], settlement: str) -> frozenset[Market]:
    """Return those priced in an asset that is traded itself and that no FX market converts: ETH/BTC beside BTC/USD.
    Only cycles use them."""
    every = tuple(markets)
    bases = {market.base for market in every if not market.is_fx}
    return frozenset(
        market
        for market in every
        if not market.is_fx
        and market.quote_currency in bases
        and not _converts(market.quote_currency, settlement, every)
    )


def _converts(currency: str, settlement: str, markets: tuple[Market, ...]) -> bool:
    try:
        fx_route(currency, settlement, markets)
    except LookupError:
        return False
    return True


def codes_in(symbol: str) -> tuple[str, str]:
    """Return the codes of base and quote in a symbol: BTC and USDT of BTC/USDT:USDT. The exchange is asked by them;
    what they are compared as is in the market's own fields, and may be another name."""
    base, _, quote = symbol.partition(":")[0].partition("/")
    return base, quote


def base_and_quote(exchange: str, symbol: str, markets: Iterable[Market]) -> tuple[str, str]:
    """Return base and quote currency of a market; the codes in its symbol if `markets` does not have it, as after an
    earlier session with others."""
    found = ((one.base, one.quote_currency) for one in markets if (one.exchange, one.symbol) == (exchange, symbol))
    return next(found, None) or codes_in(symbol)
