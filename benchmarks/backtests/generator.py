"""Generated quotes of 5 exchanges × 50 assets in dollars, as a tick set and as the one file that suits the peers.

A random walk for each asset and an AR(1) about it for each exchange; about 0.5 % of the rows have an opportunity. Ten
million quotes are a day (8.64 ms between two, 2.16 s between two of one market), whatever the number of rows. `python
-m benchmarks.backtests.generator FOLDER ROWS`
"""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.backtests.definition import ASSETS, EXCHANGES, PRICE_DECIMALS, START
from market.instruments.markets import Market
from market.time_units import MICROSECONDS
from tick_sets.sets.manifest import ImportedSource, Manifest, Partition, write_manifest
from tick_sets.sets.partition_writer import PartitionWriter
from tick_sets.sets.schema import TICK_SCHEMA

SEED = 20260105
DAY_ROWS = 10_000_000
DAY = 86_400 * MICROSECONDS
CHUNK_ROWS = 1_000_000
"""Also the row group of the peers' file: each of them reads groups of a million rows at full speed."""

WALK, PULL, DEVIATION, HALF_SPREAD = 1.0e-5, 0.98, 1.04e-4, 2.5e-4
"""Step of an asset, pull of the AR(1) and its step, as fractions of the price; half of the quoted spread."""
TICKS = 10**PRICE_DECIMALS
AMOUNTS = pa.array([f"{number / 1000:.3f}" for number in range(1, 4001)])

_PEER_FIELDS: list["pa.Field[Any]"] = [
    pa.field("time", pa.int64()),
    pa.field("exchange", pa.int8()),
    pa.field("asset", pa.int8()),
    pa.field("bid", pa.float64()),
    pa.field("ask", pa.float64()),
]
PEER_SCHEMA = pa.schema(_PEER_FIELDS)
"""Codes are places in EXCHANGES and ASSETS; sorted by time, which no two rows share."""

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Quotes:
    """Columns of consecutive rows, the first of them of rank `first`; prices in ticks."""

    first: int
    times: Integers
    exchanges: Codes
    assets: Codes
    bids: Integers
    asks: Integers

    def taken(self, places: Integers) -> "Quotes":
        return Quotes(
            self.first,
            self.times[places],
            self.exchanges[places],
            self.assets[places],
            self.bids[places],
            self.asks[places],
        )


def tick_set_folder(folder: Path) -> Path:
    return folder / "set"


def peer_file(folder: Path) -> Path:
    return folder / "quotes.parquet"


def generate(folder: Path, rows: int) -> None:
    """Write both forms below `folder`; neither appears before it is complete. Memory: the numbers of one day."""
    work = folder.with_name(f".{folder.name}.building")
    shutil.rmtree(work, ignore_errors=True)
    tick_set_folder(work).mkdir(parents=True)
    writers = [PartitionWriter(tick_set_folder(work)) for _ in ASSETS]
    partitions: list[Partition] = []
    written = [0] * len(ASSETS)
    with pq.ParquetWriter(
        peer_file(work),
        PEER_SCHEMA,
        # by far the quickest to read of those tried; twice the size of lz4
        compression="none",
        # the stubs only know the switch, not the list of columns
        use_dictionary=["exchange", "asset"],  # type: ignore[arg-type]
    ) as peers:
        for day, quotes in enumerate(_days(rows, peers)):
            for asset, mine in enumerate(_by_asset(quotes)):
                if len(mine.times):
                    name = datetime.fromtimestamp(START // MICROSECONDS + day * 86_400, UTC).date().isoformat()
                    partitions.append(writers[asset].write(name, ASSETS[asset], _ticks(mine, asset, written[asset])))
                    written[asset] += len(mine.times)
    write_manifest(tick_set_folder(work), _manifest(rows, tuple(partitions)))
    shutil.rmtree(folder, ignore_errors=True)
    work.rename(folder)


def _days(rows: int, peers: pq.ParquetWriter) -> Iterator[Quotes]:
    """Yield a day at a time, each chunk written for the peers."""
    held: list[Quotes] = []
    for quotes in _chunks(rows):
        peers.write_table(_peer_table(quotes), row_group_size=CHUNK_ROWS)
        held.append(quotes)
        if (quotes.first + len(quotes.times)) % DAY_ROWS == 0:
            yield _joined(held)
            held = []
    if held:
        yield _joined(held)


def _chunks(rows: int) -> Iterator[Quotes]:
    generator = np.random.default_rng(SEED)
    middles = generator.uniform(1_000, 8_000, len(ASSETS))
    deviations = np.zeros(len(ASSETS) * len(EXCHANGES))
    for first in range(0, rows, CHUNK_ROWS):
        size = min(CHUNK_ROWS, rows - first)
        exchanges = generator.integers(0, len(EXCHANGES), size, dtype=np.int8)
        assets = generator.integers(0, len(ASSETS), size, dtype=np.int8)
        noise = generator.standard_normal((2, size))
        bids, asks = _prices(middles, deviations, exchanges, assets, noise)
        yield Quotes(first, _times(generator, first, size), exchanges, assets, bids, asks)


def _times(generator: np.random.Generator, first: int, size: int) -> Integers:
    """Return times that grow by at least a microsecond, and such that a day has as many rows as it should."""
    gaps = np.cumsum(generator.standard_exponential(size))
    start, end = (DAY * row // DAY_ROWS for row in (first, first + size))
    spread: Integers = (gaps * ((end - start - size) / (gaps[-1] + 1))).astype(np.int64)
    return START + start + spread + np.arange(size)


@numba.njit(cache=True)
def _prices(
    middles: Floats, deviations: Floats, exchanges: Codes, assets: Codes, noise: Floats
) -> tuple[Integers, Integers]:
    """Return bids and asks in ticks; `middles` and `deviations` go on from chunk to chunk."""
    bids, asks = np.empty(len(assets), np.int64), np.empty(len(assets), np.int64)
    for row in range(len(assets)):
        asset = assets[row]
        market = asset * len(EXCHANGES) + exchanges[row]
        middles[asset] *= 1.0 + WALK * noise[0, row]
        deviations[market] = PULL * deviations[market] + DEVIATION * noise[1, row]
        price = middles[asset] * (1.0 + deviations[market]) * TICKS
        bids[row] = np.int64(np.floor(price * (1.0 - HALF_SPREAD)))
        asks[row] = np.int64(np.ceil(price * (1.0 + HALF_SPREAD)))
    return bids, asks


def _joined(parts: list[Quotes]) -> Quotes:
    return Quotes(
        parts[0].first,
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.exchanges for part in parts]),
        np.concatenate([part.assets for part in parts]),
        np.concatenate([part.bids for part in parts]),
        np.concatenate([part.asks for part in parts]),
    )


def _by_asset(quotes: Quotes) -> Iterator[Quotes]:
    for asset in range(len(ASSETS)):
        yield quotes.taken(np.flatnonzero(quotes.assets == asset))


def _peer_table(quotes: Quotes) -> pa.Table:
    columns = (quotes.times, quotes.exchanges, quotes.assets, quotes.bids / TICKS, quotes.asks / TICKS)
    return pa.table([pa.array(column) for column in columns], schema=PEER_SCHEMA)


def _ticks(quotes: Quotes, asset: int, offset: int) -> pa.Table:
    size = len(quotes.times)
    same = np.zeros(size, np.int32)
    nothing = pa.nulls(size, pa.string())
    amounts = np.random.default_rng([SEED, asset, offset]).integers(0, len(AMOUNTS), (2, size))
    columns = {
        "offset": pa.array(np.arange(offset, offset + size)),
        "kind": pa.DictionaryArray.from_arrays(same, pa.array(["quote"])),
        "exchange": pa.DictionaryArray.from_arrays(quotes.exchanges.astype(np.int32), pa.array(EXCHANGES)),
        "symbol": pa.DictionaryArray.from_arrays(same, pa.array([f"{ASSETS[asset]}/USD"])),
        "received_time": pa.array(quotes.times),
        "exchange_time": pa.array(quotes.times - 1_000),
        "sequence": pa.array(np.arange(offset + 1, offset + size + 1)),
        # divided once, so that they are exactly the doubles of the text
        "bid_price": pa.array(quotes.bids / TICKS),
        "ask_price": pa.array(quotes.asks / TICKS),
        "bid": _texts(quotes.bids),
        "bid_amount": AMOUNTS.take(pa.array(amounts[0])),
        "ask": _texts(quotes.asks),
        "ask_amount": AMOUNTS.take(pa.array(amounts[1])),
        "bids": nothing,
        "asks": nothing,
        "document": nothing,
    }
    return pa.table(columns, schema=TICK_SCHEMA)


def _texts(ticks: Integers) -> "pa.Array[Any]":
    """Return decimals as text: the low halves of Arrow's decimals are the ticks, the high ones are zero."""
    halves = np.zeros((len(ticks), 2), np.int64)
    halves[:, 0] = ticks
    decimals = pa.Array.from_buffers(
        pa.decimal128(18, PRICE_DECIMALS), len(ticks), [None, pa.py_buffer(halves.tobytes())]
    )
    return decimals.cast(pa.string())


def _manifest(rows: int, partitions: tuple[Partition, ...]) -> Manifest:
    return Manifest(
        name="set",
        title=f"{rows:,} generated quotes",
        origin="generated",
        settlement_currency="USD",
        markets=tuple(market(exchange, asset) for asset in ASSETS for exchange in EXCHANGES),
        sources=(ImportedSource(f"seed {SEED}", "generated", None, rows),),
        partitions=tuple(sorted(partitions, key=lambda partition: (partition.day, partition.base))),
        quotes=rows,
    )


def market(exchange: str, asset: str) -> Market:
    return Market(
        exchange=exchange,
        region="us",
        symbol=f"{asset}/USD",
        base=asset,
        quote_currency="USD",
        tick_size=Decimal("0.01"),
        lot_step=Decimal("0.001"),
        minimum_amount=Decimal("0.001"),
        minimum_notional=Decimal(1),
        fee_side="quote",
    )


if __name__ == "__main__":
    generate(Path(sys.argv[1]), int(sys.argv[2]))
