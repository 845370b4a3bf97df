"""Seeded quotes of assets on five exchanges in the currencies that those quote, as a log would hold them."""

import random
from decimal import Decimal

from market.decide.settings import Settings
from market.instruments.markets import Market
from market.money import Amount, Price
from market.prices.quotes import Level, Quote

ASSETS = (
    "BTC", "ETH", "SOL", "XRP", "ADA", "DOGE", "LTC", "LINK", "DOT", "AVAX",
    "BCH", "UNI", "ATOM", "XLM", "ETC", "FIL", "APT", "ARB", "NEAR", "AAVE",
)  # fmt: skip
CURRENCIES = {"coinbaseexchange": "USD", "kraken": "USD", "bitstamp": "EUR", "bitflyer": "JPY", "binance": "USDT"}
RATES = {"EUR/USD": Decimal("1.08"), "USD/JPY": Decimal(150), "USDT/USD": Decimal(1)}
IN_DOLLARS = {"USD": Decimal(1), "EUR": Decimal("1.08"), "JPY": 1 / Decimal(150), "USDT": Decimal(1)}
FEE = Decimal("0.0004")
SETTINGS = Settings(enabled_exchanges=tuple(CURRENCIES), taker_fees=dict.fromkeys(CURRENCIES, FEE))
STEP_BPS = 0.4
"""Standard deviation of an asset's price between two of its quotes, and of a market's own noise."""
LAG_CHANCE, LAG_BPS, LAG_QUOTES = 0.0005, 25.0, 6
"""Chance with which a quote begins an episode; the market then lags by LAG_BPS for LAG_QUOTES of its quotes."""
LEVELS = 5
_SMALL = Decimal("0.0001")


def markets(assets: tuple[str, ...] = ASSETS) -> tuple[Market, ...]:
    traded = [_market(name, base, currency) for name, currency in CURRENCIES.items() for base in assets]
    rates = (symbol.split("/") for symbol in RATES)
    fx = [_market("kraken", base, currency, is_fx=True) for base, currency in rates]
    return (*traded, *fx)


def _market(exchange: str, base: str, currency: str, is_fx: bool = False) -> Market:
    return Market(
        exchange, "us", f"{base}/{currency}", base, currency, _SMALL, _SMALL, _SMALL, Decimal(1), "quote", is_fx
    )


class GeneratedTicks:
    """One quote after another; the same seed gives the same prices."""

    def __init__(self, seed: int, assets: tuple[str, ...] = ASSETS) -> None:
        self._random = random.Random(seed)
        self._markets = markets(assets)
        self._traded = [market for market in self._markets if not market.is_fx]
        self._prices = {base: 100.0 * (1 + number) for number, base in enumerate(assets)}
        self._behind = dict.fromkeys(self._traded, 0)
        self._count = 0

    def next(self, now: int) -> Quote:
        """Return a quote of any market, received now."""
        self._count += 1
        market = self._random.choice(self._traded)
        self._prices[market.base] *= 1 + self._random.gauss(0, STEP_BPS) / 10_000
        if self._behind[market]:
            self._behind[market] -= 1
        elif self._random.random() < LAG_CHANCE:
            self._behind[market] = LAG_QUOTES
        off = self._random.gauss(0, STEP_BPS) + (LAG_BPS if self._behind[market] else 0.0)
        middle = self._prices[market.base] * (1 + off / 10_000) / float(IN_DOLLARS[market.quote_currency])
        return self._quote(market, Decimal(f"{middle:.6f}"), now)

    def rates(self, now: int) -> list[Quote]:
        """Return all FX quotes."""
        self._count += 1
        return [self._quote(market, RATES[market.symbol], now) for market in self._markets if market.is_fx]

    def _quote(self, market: Market, middle: Decimal, now: int) -> Quote:
        step = middle / 50_000
        return Quote(
            kind="fx" if market.is_fx else "quote",
            exchange=market.exchange,
            region=market.region,
            symbol=market.symbol,
            base=market.base,
            quote_currency=market.quote_currency,
            bids=_levels(middle, -step),
            asks=_levels(middle, step),
            exchange_time=None,
            received_time=now,
            sequence=self._count,
        )


def _levels(middle: Decimal, step: Decimal) -> tuple[Level, ...]:
    return tuple(
        Level(Price(round(middle + step * depth, 6)), Amount(Decimal(depth))) for depth in range(1, LEVELS + 1)
    )
