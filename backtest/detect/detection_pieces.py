"""Cuts a tick set into pieces of even work, each of which a task reads by itself from the middle of a log."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from cep.detection.kernel.log import COLUMNS, DOCUMENT, SEEN, KernelLog, KernelResult, SettingsInForce
from cep.detection.market_layout import Layout
from tick_sets.rows.arrow_columns import MarketKey
from tick_sets.sets.exchange_times import seen_times
from tick_sets.sets.manifest import Partition
from tick_sets.sets.tick_set import TickFile, TickSet, read_opening


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Consecutive row groups of one file. `continues`: the rows before them are in the piece too."""

    base: str
    ticks: Path
    opening: Path
    numbers: tuple[int, ...]
    continues: bool


Piece = tuple[RowGroups, ...]


@dataclass(frozen=True, slots=True)
class SearchedGroup:
    """One row group that is being searched; take `found` to its end before asking for the next."""

    log: KernelLog
    place: RowGroups
    number: int
    first_row: int
    """Its first row's number in `log`."""
    rows: int
    found: Iterator[KernelResult]
    opening: pa.Table | None
    """What the log learned first, if this is the first of a base in the piece: its rows 0, 1, 2, …"""


def pieces_of(tick_set: TickSet, count: int) -> list[Piece]:
    """At most `count` pieces in the order of bases and of their logs; cut between row groups, within a base too."""
    units = list(_units(tick_set))
    total = sum(rows for *_, rows in units)
    cut: list[list[tuple[Partition, int]]] = [[] for _ in range(count)]
    before = 0.0
    for partition, number, rows in units:
        # by the middle of the row group, so that pieces come out as even as row groups allow
        cut[min(int((before + rows / 2) * count / total), count - 1)].append((partition, number))
        before += rows
    return [_piece(tick_set, piece) for piece in cut if piece]


def _units(tick_set: TickSet) -> Iterator[tuple[Partition, int, float]]:
    for base in tick_set.manifest.bases:
        for partition in tick_set.partitions_of(base):
            for number in range(partition.row_groups):
                yield partition, number, partition.rows / partition.row_groups


def _piece(tick_set: TickSet, units: list[tuple[Partition, int]]) -> Piece:
    partitions = dict.fromkeys(partition for partition, _ in units)
    groups: list[RowGroups] = []
    for partition in partitions:
        numbers = tuple(number for mine, number in units if mine == partition)
        continues = bool(groups) and groups[-1].base == partition.base
        paths = tick_set.path(partition).resolve(), tick_set.opening_path(partition).resolve()
        groups.append(RowGroups(partition.base, *paths, numbers, continues))
    return tuple(groups)


def searched_groups(
    piece: Piece, layout: Layout, settings: SettingsInForce | None, trusted: frozenset[MarketKey] = frozenset()
) -> Iterator[SearchedGroup]:
    """Return the piece's row groups in their order; `trusted`: markets whose quotes' age counts from the exchange's
    time.

    Raises ImportRejectedError if a file cannot be read.
    """
    columns = [*COLUMNS, "exchange_time"] if trusted else COLUMNS
    log, first = KernelLog(layout, "", settings), 0
    for place in piece:
        opening = None
        if not place.continues:
            log = KernelLog(layout, place.base, settings)
            opening = read_opening(place.opening, place.numbers[0])
            log.learn(_with_seen(opening, trusted))
            first = len(opening)
        with TickFile(place.ticks) as file:
            for number in place.numbers:
                rows = file.read([number], columns)
                if log.has_settings(rows):
                    rows = file.read([number], [*columns, DOCUMENT])
                found = log.found(_with_seen(rows, trusted))
                yield SearchedGroup(log, place, number, first, len(rows), found, opening)
                first, opening = first + len(rows), None


def _with_seen(rows: pa.Table, trusted: frozenset[MarketKey]) -> pa.Table:
    return rows.append_column(SEEN, pa.array(seen_times(rows, trusted))) if trusted else rows
