"""Tick sets of two markets and a rate at any pace, imported as bars or as quotes."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from market.instruments.markets import Market
from tests.market.samples import EUR_MARKET, USD_MARKET
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import ImportedSource, Manifest, Origin
from tick_sets.sets.schema import SOURCE_SCHEMA
from tick_sets.sets.tick_set import TickSet, open_tick_set

SECOND = 1_000_000
BEGIN = 1_723_075_200 * SECOND
RATE = replace(USD_MARKET, exchange="bank", symbol="EUR/USD", base="EUR", quote_currency="USD", is_fx=True)
MARKETS = (USD_MARKET, EUR_MARKET, RATE)

KnownQuote = tuple[Market, float, float, float]
"""Market, seconds after BEGIN, bid, ask."""


def steady(market: Market, every: float, until: float, bid: float = 100.0) -> list[KnownQuote]:
    """Return a quote each `every` seconds, each of another price."""
    return [(market, number * every, bid + number, bid + number + 2) for number in range(int(until / every) + 1)]


def set_of(folder: Path, shown: Iterable[KnownQuote], *, is_of_bars: bool, origin: Origin = "import") -> TickSet:
    rows = [_row(*one) for one in sorted(shown, key=lambda one: one[1])]
    sources = tuple(
        ImportedSource("a.csv", "csv", None, 1, exchange=one.exchange, symbol=one.symbol, is_of_bars=is_of_bars)
        for one in MARKETS
    )
    with TickSetBuilder(folder) as builder:
        builder.add(pa.Table.from_pylist(rows, schema=SOURCE_SCHEMA))
        builder.finish(Manifest(folder.name, "made up", origin, "USD", MARKETS, sources, (), len(rows)))
    return open_tick_set(folder)


def _row(market: Market, seconds: float, bid: float, ask: float) -> dict[str, object]:
    return {
        "base": None if market.is_fx else market.base,
        "rank": 0 if market.is_fx else 1,
        "kind": "fx" if market.is_fx else "quote",
        "exchange": market.exchange,
        "symbol": market.symbol,
        "received_time": BEGIN + round(seconds * SECOND),
        "bid_price": bid,
        "ask_price": ask,
        "bid": str(bid),
        "bid_amount": "1",
        "ask": str(ask),
        "ask_amount": "1",
    }
