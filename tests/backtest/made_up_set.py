"""Two made-up recordings of BTC that a replay profile knows, wide enough apart at times to be traded."""

from pathlib import Path

import pyarrow as pa

from market.decide.settings import Settings
from streams.message_format import settings_row
from tests.backtest.recorded import write_tickers
from tests.market.samples import EUR_MARKET, USD_MARKET
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import Manifest
from tick_sets.sets.schema import SOURCE_SCHEMA
from tick_sets.sets.tick_set import TickSet, open_tick_set

BEGIN = 1_723_075_200_000_000
"""Microseconds UTC of the first row."""
ROWS = 40
STEP = 100_000
GAP = 20
"""At this row the spot market falls silent for ten seconds."""


def made_up_files(folder: Path) -> tuple[Path, Path]:
    """Write spot and USD-M: a row each every 0.1 s; from row 10 to 14 spot is 1 % dearer. One row is crossed."""
    spot, usdm = [], []
    for number in range(ROWS):
        time = BEGIN + number * STEP + (10_000_000 if number >= GAP else 0)
        bid = 60_600 if 10 <= number < 15 else 60_000
        spot.append((time, str(bid), str(bid + 10)))
        usdm.append((time + 1_000, "60000", "60010"))
    spot.append((spot[-1][0] + STEP, "60010", "60000"))
    return (
        write_tickers(folder / "spot" / "made-up.gz", "BTCUSDT", *spot),
        write_tickers(folder / "usdm" / "made-up.gz", "BTCUSDT", *usdm),
    )


def session_set(folder: Path, settings: tuple[Settings, ...]) -> TickSet:
    """Return a recorded session's log: one version of the settings after the other, then a quote of each exchange."""
    rows: list[dict[str, object]] = [
        {
            "kind": "settings",
            "received_time": BEGIN + number,
            "document": settings_row(one, BEGIN + number, ("BTC",)).decode(),
        }
        for number, one in enumerate(settings)
    ]
    rows += [
        {
            "kind": "quote",
            "exchange": market.exchange,
            "symbol": market.symbol,
            "received_time": BEGIN + STEP,
            "bid_price": 60_000.0,
            "ask_price": 60_010.0,
            "bid": "60000",
            "ask": "60010",
        }
        for market in (USD_MARKET, EUR_MARKET)
    ]
    numbered = [{"base": "BTC", "rank": 0, "offset": place, **row} for place, row in enumerate(rows)]
    with TickSetBuilder(folder, ("BTC",)) as builder:
        builder.add(pa.Table.from_pylist(numbered, schema=SOURCE_SCHEMA))
        builder.finish(Manifest(folder.name, "session", "session", "USD", (USD_MARKET, EUR_MARKET), (), (), 2))
    return open_tick_set(folder)
