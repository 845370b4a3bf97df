"""Stores what detection found on disk, in the order of trading, so that it is found once and traded many times."""

from collections.abc import Iterator
from heapq import merge
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from market.prices.opportunities import Opportunity
from streams.message_format import opportunity_of, row_of

BATCH_ROWS = 4_096

ORDER = "event_time bigint, buy struct<exchange: string>, sell struct<exchange: string>"
COLUMNS = ["event_time", "base", "offset", "buy", "sell", "value"]

_Row = tuple[int, str, int, str, str, str]
"""The order of `backtest.simulate.trade_simulation.trading_order`, then the message."""


def store_opportunities(messages: DataFrame, folder: Path) -> None:
    """Write `messages` (base, offset, key, value) to one file per partition of theirs, each in the order of trading."""
    value = F.col("value").cast("string")
    (
        messages.select("base", "offset", value.alias("value"), F.from_json(value, ORDER).alias("order"))
        .select("order.event_time", "base", "offset", "order.buy.exchange", "order.sell.exchange", "value")
        .toDF(*COLUMNS)
        # other rows that passed through detection have no time of an event
        .where("event_time is not null")
        .sortWithinPartitions("event_time", "base", "offset", "buy", "sell")
        .write.parquet(str(folder))
    )


def count_of(folder: Path) -> int:
    """Return how many were stored."""
    return sum(pq.read_metadata(path).num_rows for path in _files(folder))


def opportunities_of(folder: Path) -> Iterator[Opportunity]:
    """Return them by `backtest.simulate.trade_simulation.trading_order`, as if just detected. Memory: a batch
    per file."""
    for event_time, *_, value in merge(*map(_rows, _files(folder))):
        found = opportunity_of(row_of(value.encode()), event_time)
        if isinstance(found, Opportunity):
            yield found


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def _rows(path: Path) -> Iterator[_Row]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH_ROWS, columns=COLUMNS):
            columns = (column.to_pylist() for column in batch.columns)
            yield from zip(*columns, strict=True)
