"""What is traded where: one row per (exchange, symbol) with the exchange's size rules."""

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
    """The FX market that converts `currency`, None where none is needed.

    Raises LookupError where none of `markets` converts it.
    """
    if currency == settlement:
        return None
    for market in markets:
        if market.is_fx and (market.base, market.quote_currency) == (currency, settlement):
            return FxRoute(currency, market.symbol, inverted=False)
        if market.is_fx and (market.base, market.quote_currency) == (settlement, currency):
            return FxRoute(currency, market.symbol, inverted=True)
    raise LookupError(f"no FX market converts {currency} to {settlement}")
