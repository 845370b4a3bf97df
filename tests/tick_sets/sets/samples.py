"""Rows and manifests for tick sets, and the plain loop that says what a set must contain."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tests.pricefeeds.samples import FX_MARKET, MARKET
from tick_sets.sets.manifest import ImportedSource, Manifest
from tick_sets.sets.schema import SOURCE_SCHEMA
from tick_sets.sets.tick_set import batches, open_tick_set

ETH_MARKET = replace(MARKET, symbol="ETH/EUR", base="ETH")
KRAKEN_MARKET = replace(MARKET, exchange="kraken", symbol="BTC/USD", quote_currency="USD")
DAY = 86_400_000_000
START = 20_000 * DAY


class TickRow(NamedTuple):
    """What a test gives of a row; `base` None for a row that is for every base."""

    time: int
    kind: str = "quote"
    exchange: str = "bitstamp"
    symbol: str = "BTC/EUR"
    base: str | None = "BTC"
    rank: int = 1
    sequence: int = 0
    offset: int | None = None


def source_table(rows: Iterable[TickRow]) -> pa.Table:
    listed = list(rows)
    given: dict[str, list[object]] = {
        "base": [row.base for row in listed],
        "rank": [row.rank for row in listed],
        "offset": [row.offset for row in listed],
        "kind": [row.kind for row in listed],
        "exchange": [row.exchange for row in listed],
        "symbol": [row.symbol for row in listed],
        "received_time": [START + row.time for row in listed],
        "sequence": [row.sequence for row in listed],
    }
    arrays = [pa.array(given.get(field.name, [None] * len(listed)), field.type) for field in SOURCE_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SOURCE_SCHEMA)


def manifest(name: str = "made-up") -> Manifest:
    markets = (MARKET, KRAKEN_MARKET, ETH_MARKET, FX_MARKET)
    return Manifest(name, "made up", "import", "USD", markets, (ImportedSource("made up", "test", None, 0),), (), 0)


class LoggedRow(NamedTuple):
    """What a test looks at in a row of a set."""

    offset: int
    kind: str
    exchange: str
    symbol: str
    time: int
    sequence: int


def logged(table: pa.Table) -> list[LoggedRow]:
    return [
        LoggedRow(
            row["offset"], row["kind"], row["exchange"], row["symbol"], row["received_time"] - START, row["sequence"]
        )
        for row in table.to_pylist()
    ]


def log_of(folder: Path, base: str) -> list[LoggedRow]:
    return [row for table in batches(open_tick_set(folder), base) for row in logged(table)]
