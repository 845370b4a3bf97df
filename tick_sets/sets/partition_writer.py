"""Writes one base's log, day by day, and beside each row group what is known at its start."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from tick_sets.sets.manifest import OPENING, TICKS, Partition
from tick_sets.sets.opening_rows import OpeningRows
from tick_sets.sets.schema import OPENING_SCHEMA, ROW_GROUP_ROWS, TICK_SCHEMA

CODED = ["kind", "exchange", "symbol", "bid_price", "ask_price", "bid", "ask"]
"""Few words, and prices on a grid of ticks: half the time and less space than whole numbers compressed."""
STEADY = ["offset", "received_time", "exchange_time", "sequence"]
"""Columns that grow by small steps: stored as differences."""
COMPACT = {*CODED, *STEADY} - {"bid", "ask"}
"""Columns that are small already and read often: not compressed, so that detection reads twice as fast."""
QUICK = {"bid", "bid_amount", "ask", "ask_amount"}
"""Short texts, which zstd would make a third smaller in twice the time."""


class PartitionWriter:
    """Writes the partitions of one base, in the order of its days; it keeps what is known from one to the next."""

    def __init__(self, folder: Path, row_group_rows: int = ROW_GROUP_ROWS) -> None:
        """Take `folder`: the set's."""
        self._folder = folder
        self._rows = row_group_rows
        self._known = OpeningRows()

    def write(self, day: str, base: str, rows: pa.Table) -> Partition:
        """Write all rows of one day, TICK_SCHEMA, in the order of the log; at least one."""
        times = rows["received_time"]
        groups = -(-len(rows) // self._rows)
        partition = Partition(day, base, len(rows), groups, times[0].as_py(), times[-1].as_py())
        folder = self._folder / partition.folder
        folder.mkdir(parents=True)
        with (
            _parquet(folder / TICKS, TICK_SCHEMA) as ticks,
            _parquet(folder / OPENING, OPENING_SCHEMA) as opening,
        ):
            for number, group in enumerate(self._groups(rows)):
                before = self._known.before(number)
                if len(before):
                    opening.write_table(before)
                ticks.write_table(group, row_group_size=self._rows)
                self._known.learn(group)
        return partition

    def _groups(self, rows: pa.Table) -> Iterator[pa.Table]:
        for start in range(0, len(rows), self._rows):
            yield rows.slice(start, self._rows)


def _compression(name: str) -> Literal["none", "lz4", "zstd"]:
    if name in COMPACT:
        return "none"
    return "lz4" if name in QUICK else "zstd"


def _parquet(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        schema,
        compression={name: _compression(name) for name in schema.names},
        # the stubs know the switch alone, not the list of columns
        use_dictionary=CODED,  # type: ignore[arg-type]
        column_encoding=dict.fromkeys(STEADY, "DELTA_BINARY_PACKED"),
        write_statistics=["offset", "received_time", "exchange_time", "exchange", "symbol"],
    )
