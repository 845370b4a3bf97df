"""A recorded topic as the rows that its readers got live: partition by partition, by offset."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from pathlib import Path
from typing import Any, Protocol

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from backtest.verify.recorded_session import OPPORTUNITIES, RecordedSession
from streams.message_format import row_of
from streams.mirrored_rows import REPEATED
from streams.topics import partition_of
from tick_sets.sets.log_tick_set import WHOLE
from tick_sets.sets.tick_set import TickSet, read_ticks

LOG_COLUMNS = [
    *("offset", "kind", "exchange", "symbol", "bid", "bid_amount", "ask", "ask_amount"),
    *("exchange_time", "received_time", "sequence", "document"),
]
Message = tuple[int, int, Mapping[str, Any]]
"""Offset, time at which it was written (microseconds UTC; 0 in a tick set, which keeps none), row."""


@dataclass(frozen=True, slots=True)
class BaseFiles:
    """Files of one base by day, each with the number of its row groups."""

    base: str
    files: tuple[tuple[Path, int], ...]


@dataclass(frozen=True, slots=True)
class RecordedTicks:
    """One partition of `ticks`; of an imported set each base is a partition by itself."""

    partition: int | str
    first: int
    """The session's detection began here; earlier rows are of no session."""
    bases: tuple[BaseFiles, ...]
    markets: Mapping[tuple[str, str], tuple[str, str]]
    """Exchange and symbol → base and quote currency."""

    def messages(self) -> Iterator[Message]:
        """Return the messages. Raises ImportRejectedError if a file cannot be read."""
        logs = [self._of_base(one) for one in self.bases]
        before = -1
        for message in merge(*logs, key=lambda message: message[0]):
            # a row that is for several bases is in the log of each
            if message[0] >= self.first and message[0] != before:
                yield message
            before = message[0]

    def _of_base(self, base: BaseFiles) -> Iterator[Message]:
        for path, row_groups in base.files:
            for number in range(row_groups):
                for row in read_ticks(path, [number], LOG_COLUMNS).to_pylist():
                    if row["kind"] != REPEATED:
                        yield row["offset"], 0, self._whole(row)

    def _whole(self, row: dict[str, Any]) -> Mapping[str, Any]:
        """Return the row as it was in the log."""
        if row["kind"] in WHOLE:
            whole: Mapping[str, Any] = orjson.loads(row["document"])
            return whole
        base, quote_currency = self.markets[row["exchange"], row["symbol"]]
        return row | {"base": base, "quote_currency": quote_currency}


@dataclass(frozen=True, slots=True)
class RecordedOpportunities:
    """One partition of `opportunities`."""

    partition: int
    path: Path

    def messages(self) -> Iterator[Message]:
        """Return the messages. Raises OSError, ArrowInvalid if the file cannot be read."""
        with pq.ParquetFile(self.path) as file:
            for number in range(file.num_row_groups):
                table = file.read_row_group(number, use_threads=False)
                mine = table.filter(pc.equal(table["partition"], pa.scalar(self.partition)))
                for row in mine.select(["offset", "time", "value"]).to_pylist():
                    yield row["offset"], row["time"], row_of(row["value"])


class RecordedPartition(Protocol):
    """One partition of an app's log."""

    @property
    def partition(self) -> int | str: ...

    def messages(self) -> Iterator[Message]:
        """Return the messages in their order. Raises ImportRejectedError, CannotVerifyError, WireError, OSError,
        ArrowInvalid."""
        ...


def recorded_ticks(tick_set: TickSet, session: RecordedSession | None) -> list[RecordedTicks]:
    """Return the partitions of `ticks`; `session`: the one that the set is the log of, None if it was imported."""
    manifest = tick_set.manifest
    markets = {(one.exchange, one.symbol): (one.base, one.quote_currency) for one in manifest.markets}
    files = {
        base: BaseFiles(
            base, tuple((tick_set.path(one).resolve(), one.row_groups) for one in tick_set.partitions_of(base))
        )
        for base in manifest.bases
    }
    if session is None:
        return [RecordedTicks(base, 0, (of_base,), markets) for base, of_base in files.items()]
    span = session.head.span
    grouped: dict[int, list[BaseFiles]] = {}
    for base, of_base in files.items():
        grouped.setdefault(partition_of(base, span.partitions), []).append(of_base)
    return [
        RecordedTicks(partition, span.first[partition], tuple(bases), markets)
        for partition, bases in sorted(grouped.items())
    ]


def recorded_opportunities(session: RecordedSession) -> list[RecordedOpportunities]:
    """Return the partitions of `opportunities`. Raises CannotVerifyError if the session's files are damaged."""
    path = (session.folder / OPPORTUNITIES).resolve()
    return [RecordedOpportunities(partition, path) for partition in sorted(session.head.span.first)]
