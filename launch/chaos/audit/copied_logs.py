"""Compares what each region's log has of the others with what these wrote: complete, in order, nothing else.
Pure.

Sequences of a symbol grow, but have holes by design (they follow the time of receipt), so completeness cannot be
counted: it is a comparison with the region that wrote the rows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from launch.chaos.audit.records import Violation

Source = tuple[int, str, str]
"""Partition, exchange, symbol: whose sequences grow."""


class LoggedRow(NamedTuple):
    """One row with a sequence, in the order of its partition."""

    partition: int
    exchange: str
    symbol: str
    sequence: int

    @property
    def source(self) -> Source:
        return self.partition, self.exchange, self.symbol


@dataclass(frozen=True, slots=True)
class RegionLog:
    """`quotes`: what the region's own feeds wrote; `ticks`: what it reads, read later than the `quotes` of all regions
    and once the mirrors are level."""

    quotes: Sequence[LoggedRow]
    ticks: Sequence[LoggedRow]


def log_violations(logs: Mapping[str, RegionLog]) -> Iterator[Violation]:
    """Compare the logs, by region. A mirror may repeat rows that were there; a region's own rows come once."""
    for reader, log in logs.items():
        own = {row.exchange for row in log.quotes}
        yield from _disorder(reader, (row for row in log.ticks if row.exchange in own), may_repeat=False)
        mirrored = [row for row in log.ticks if row.exchange not in own]
        yield from _disorder(reader, mirrored, may_repeat=True)
        written = [row for region, other in logs.items() if region != reader for row in other.quotes]
        yield from _differences(reader, _sequences(written), _sequences(mirrored))


def _disorder(reader: str, rows: Iterable[LoggedRow], *, may_repeat: bool) -> Iterator[Violation]:
    seen: dict[Source, set[int]] = {}
    last: dict[Source, int] = {}
    for row in rows:
        known = seen.setdefault(row.source, set())
        is_repeat = may_repeat and row.sequence in known
        if not is_repeat and row.sequence <= last.get(row.source, -1):
            after = f"came after {last[row.source]}"
            yield Violation("tick_disordered", f"{_name(reader, row.source)}: {row.sequence} {after}")
        known.add(row.sequence)
        last[row.source] = max(row.sequence, last.get(row.source, -1))


def _differences(
    reader: str, written: Mapping[Source, set[int]], mirrored: Mapping[Source, set[int]]
) -> Iterator[Violation]:
    for source in sorted(written.keys() | mirrored.keys()):
        expected, found = written.get(source, set()), mirrored.get(source, set())
        # what is above the last one was written after `quotes` had been read
        known = {sequence for sequence in found if sequence <= max(expected, default=sequence)}
        if missing := expected - found:
            yield Violation("tick_missing", f"{_name(reader, source)}: {_counted(missing)}")
        if unknown := known - expected:
            yield Violation("tick_unknown", f"{_name(reader, source)}: {_counted(unknown)}")


def _counted(sequences: set[int]) -> str:
    return f"{len(sequences)} rows, the first one {min(sequences)}"


def _sequences(rows: Iterable[LoggedRow]) -> dict[Source, set[int]]:
    found: dict[Source, set[int]] = {}
    for row in rows:
        found.setdefault(row.source, set()).add(row.sequence)
    return found


def _name(reader: str, source: Source) -> str:
    partition, exchange, symbol = source
    return f"{reader}: {exchange} {symbol} in partition {partition}"
