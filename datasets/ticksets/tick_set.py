"""Reads tick sets: which pieces there are, and columns of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from datasets.rows.quote_rows import reject
from datasets.ticksets.manifest import OPENING, TICKS, Manifest, Partition, read_manifest
from datasets.ticksets.tick_set_place import recover
from market.instruments.contracts import kind_of, known_contract
from market.instruments.markets import Market


@dataclass(frozen=True, slots=True)
class TickSet:
    """One set in its folder."""

    folder: Path
    manifest: Manifest

    def path(self, partition: Partition) -> Path:
        return self.folder / partition.folder / TICKS

    def opening_path(self, partition: Partition) -> Path:
        return self.folder / partition.folder / OPENING

    def partitions_of(self, base: str) -> list[Partition]:
        """By day."""
        return [partition for partition in self.manifest.partitions if partition.base == base]


def open_tick_set(folder: Path) -> TickSet:
    """Raises ImportRejectedError where `folder` is no whole tick set, or its amounts are of the wrong kind."""
    found = complete_tick_set(folder)
    counted = uncounted(found.manifest.markets)
    if counted is not None:
        place = f"{counted.exchange} {counted.symbol}"
        reject(folder, None, f"was made when contracts of {place} were taken for base amounts; import its files again")
    return found


def complete_tick_set(folder: Path) -> TickSet:
    """The same, whatever its amounts are. Raises ImportRejectedError."""
    recover(folder)
    found = TickSet(folder, read_manifest(folder))
    for partition in found.manifest.partitions:
        if not found.path(partition).is_file():
            reject(folder, None, f"lacks {partition.folder / TICKS}, which its manifest names; import it again")
    return found


def uncounted(markets: Iterable[Market]) -> Market | None:
    """The first whose amounts an older version may have taken as they stood, though they count contracts."""
    for market in markets:
        if market.contract is not None or kind_of(market.symbol) == "spot":
            continue
        known = known_contract(market.exchange, market.symbol)
        if known is None or not known.counts_base:
            return market
    return None


def read_ticks(path: Path, row_groups: list[int], columns: list[str] | None = None) -> pa.Table:
    """So many row groups of one file, columns of TICK_SCHEMA (None: all). Raises ImportRejectedError."""
    try:
        with pq.ParquetFile(path, memory_map=True) as file:
            return file.read_row_groups(row_groups, columns=columns, use_threads=False)
    except (OSError, pa.ArrowInvalid) as error:
        reject(path, None, f"cannot be read as a part of a tick set ({error})")


def read_opening(path: Path, row_group: int) -> pa.Table:
    """What to learn before `row_group`, OPENING_SCHEMA, by offset; empty before the very first. ImportRejectedError."""
    try:
        return pq.read_table(path, filters=[("row_group", "=", row_group)], use_threads=False)
    except (OSError, pa.ArrowInvalid) as error:
        reject(path, None, f"cannot be read as a part of a tick set ({error})")


def batches(tick_set: TickSet, base: str, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """All rows of one base in the order of its log, a row group at a time."""
    for partition in tick_set.partitions_of(base):
        for number in range(partition.row_groups):
            yield read_ticks(tick_set.path(partition), [number], columns)
