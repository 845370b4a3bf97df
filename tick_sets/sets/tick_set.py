"""Reads tick sets: which pieces there are, and columns of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from market.instruments.contracts import kind_of, known_contract
from market.instruments.markets import Market
from tick_sets.errors import reject
from tick_sets.sets.manifest import OPENING, TICKS, Manifest, Partition, read_manifest
from tick_sets.sets.place import recover


@dataclass(frozen=True, slots=True)
class TickSet:
    """One set in its folder."""

    folder: Path
    manifest: Manifest
    kept: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What was measured of it once, by name, because several parts of a backtest ask for it."""

    def path(self, partition: Partition) -> Path:
        return self.folder / partition.folder / TICKS

    def opening_path(self, partition: Partition) -> Path:
        return self.folder / partition.folder / OPENING

    def partitions_of(self, base: str) -> list[Partition]:
        """Return the base's partitions, by day."""
        return [partition for partition in self.manifest.partitions if partition.base == base]


def open_tick_set(folder: Path) -> TickSet:
    """Return the set. Raises ImportRejectedError if `folder` is no whole tick set, or its amounts are of the wrong
    kind."""
    found = complete_tick_set(folder)
    counted = first_unconverted(found.manifest.markets)
    if counted is not None:
        place = f"{counted.exchange} {counted.symbol}"
        reject(folder, None, f"was made when contracts of {place} were taken for base amounts; import its files again")
    return found


def complete_tick_set(folder: Path) -> TickSet:
    """Return the same, whatever its amounts are. Raises ImportRejectedError."""
    recover(folder)
    found = TickSet(folder, read_manifest(folder))
    for partition in found.manifest.partitions:
        if not found.path(partition).is_file():
            reject(folder, None, f"lacks {partition.folder / TICKS}, which its manifest names; import it again")
    return found


def first_unconverted(markets: Iterable[Market]) -> Market | None:
    """Return the first market whose amounts an older version may have taken as they stood, though they count
    contracts."""
    for market in markets:
        if market.contract is not None or kind_of(market.symbol) == "spot":
            continue
        known = known_contract(market.exchange, market.symbol)
        if known is None or not known.counts_base:
            return market
    return None


def read_ticks(path: Path, row_groups: list[int], columns: list[str] | None = None) -> pa.Table:
    """Return the row groups of one file, columns of TICK_SCHEMA (None: all). Raises ImportRejectedError."""
    with TickFile(path) as file:
        return file.read(row_groups, columns)


class TickFile:
    """One file of a set, opened once for several reads. Use as a context."""

    def __init__(self, path: Path) -> None:
        """Open it. Raises ImportRejectedError."""
        self._path = path
        try:
            self._file = pq.ParquetFile(path, memory_map=True)
        except (OSError, pa.ArrowInvalid) as error:
            self._reject(error)

    def __enter__(self) -> "TickFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, row_groups: list[int], columns: list[str] | None = None) -> pa.Table:
        """Return the row groups, columns of TICK_SCHEMA (None: all). Raises ImportRejectedError."""
        try:
            return self._file.read_row_groups(row_groups, columns=columns, use_threads=False)
        except (OSError, pa.ArrowInvalid) as error:
            self._reject(error)

    def _reject(self, error: Exception) -> NoReturn:
        reject(self._path, None, f"cannot be read as a part of a tick set ({error})")


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of one base: its file, its number there, its earliest time and its first offset."""

    partition: Partition
    number: int
    since: int
    first: int


def row_groups(tick_set: TickSet, base: str) -> Iterator[RowGroup]:
    """Return the row groups in the order of the base's log, by the statistics that each writer of a tick set keeps."""
    for partition in tick_set.partitions_of(base):
        with pq.ParquetFile(tick_set.path(partition)) as file:
            time, offset = map(file.schema_arrow.names.index, ("received_time", "offset"))
            groups = [file.metadata.row_group(number) for number in range(partition.row_groups)]
        for number, group in enumerate(groups):
            yield RowGroup(partition, number, _minimum(group, time), _minimum(group, offset))


def _minimum(group: pq.RowGroupMetaData, column: int) -> int:
    statistics = group.column(column).statistics
    if statistics is None:
        raise ValueError("a tick set without statistics of its row groups")
    minimum: int = statistics.min  # type: ignore[assignment]  # the column holds integers
    return minimum


def is_of_market(rows: pa.Table, market: Market) -> "pa.ChunkedArray[Any]":
    """Return which of the rows are of this market."""
    is_there = pc.is_in(rows["exchange"], pa.array([market.exchange]))
    is_it: Any = pc.and_(is_there, pc.is_in(rows["symbol"], pa.array([market.symbol])))
    return is_it  # type: ignore[no-any-return]  # the stub knows arrays alone


def read_opening(path: Path, row_group: int) -> pa.Table:
    """Return what to learn before `row_group`, OPENING_SCHEMA, by offset; empty before the very first.
    ImportRejectedError."""
    try:
        return pq.read_table(path, filters=[("row_group", "=", row_group)], use_threads=False)
    except (OSError, pa.ArrowInvalid) as error:
        reject(path, None, f"cannot be read as a part of a tick set ({error})")


def batches(tick_set: TickSet, base: str, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Return all rows of one base in the order of its log, a row group at a time."""
    for partition in tick_set.partitions_of(base):
        with TickFile(tick_set.path(partition)) as file:
            for number in range(partition.row_groups):
                yield file.read([number], columns)
