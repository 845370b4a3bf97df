"""From the recorded rows of a session's log to a tick set: what CEP read, from its first row to the end marker."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from market.instruments.cycles import CycleTerms
from market.instruments.markets import Market
from streams.message_format import WireError, row_of
from streams.mirrored_rows import REPEATED, unrepeated_rows
from streams.topics import TICKS, partition_of
from tick_sets.errors import reject
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.log_parts import ROW_SCHEMA, LogParts
from tick_sets.sets.manifest import ImportedSource, Manifest
from tick_sets.sets.schema import SOURCE_SCHEMA

ROWS_AT_ONCE = 50_000
WHOLE = ("settings", "probe", "end")
"""Kinds whose rows stand in the set as they stood in the log."""
WORDS = ("exchange", "symbol", "bid", "bid_amount", "ask", "ask_amount", "bids", "asks")
NUMBERS = ("exchange_time", "sequence")
KINDS = {"quote", "alive", "withdrawn", "fx", "fx_alive", "fx_withdrawn", *WHOLE}


@dataclass(frozen=True, slots=True)
class LogSpan:
    """The part of the log that a session's CEP processed."""

    session_id: str
    markets: tuple[Market, ...]
    settlement_currency: str
    partitions: int
    first: dict[int, int]
    """Partition → the offset at which CEP began."""
    settings: str | None
    """The settings row in force there, as it stood in the log."""
    last: dict[str, int]
    """Base → the offset of its end marker."""
    started_at: int
    """Microseconds: what came out of CEP before that was another session's."""
    region: str | None = None
    """Whose log it is, in a session with regions: rows of the others may stand in it more than once."""
    cycles: CycleTerms | None = None
    """Which cycles it looked for."""

    @property
    def bases(self) -> tuple[str, ...]:
        return tuple(self.last)


def build_tick_set(parts: LogParts, span: LogSpan, folder: Path) -> Manifest:
    """Return the set, whole; a row that came again has the kind `streams.mirrored_rows.REPEATED` in it. Raises
    ImportRejectedError if rows of the log are missing."""
    with TickSetBuilder(folder, span.bases) as builder:
        reading = _Reading(parts, span)
        for rows in reading.tables():
            builder.add(rows)
        name = f"session-{span.session_id}"
        manifest = Manifest(
            name=name,
            title=f"Recorded session {span.session_id}",
            origin="session",
            settlement_currency=span.settlement_currency,
            markets=span.markets,
            sources=(ImportedSource(name, "log", None, reading.quotes),),
            partitions=(),
            quotes=reading.quotes,
            session_id=span.session_id,
            began_at=span.started_at,
        )
        return builder.finish(manifest)


def write_messages(parts: LogParts, topic: str, span: LogSpan, path: Path) -> int:
    """Write all that CEP wrote to a topic in the session, repeats included, in its order. Returns how many rows."""
    count = 0
    scratch = path.with_suffix(".new")
    with pq.ParquetWriter(scratch, ROW_SCHEMA, compression="zstd") as writer:
        for table in parts.tables(topic):
            mine = table.filter(pa.array(table["time"].to_numpy() >= span.started_at))
            writer.write_table(mine)
            count += len(mine)
    scratch.replace(path)
    return count


class _Reading:
    """Reads the raw rows in batches."""

    def __init__(self, parts: LogParts, span: LogSpan) -> None:
        self.quotes = 0
        self._parts = parts
        self._span = span
        self._ends = _ends_by_partition(span)
        self._unrepeated = unrepeated_rows(span.region)

    def tables(self) -> Iterator[pa.Table]:
        bundle = list(self._opening())
        expected = dict(self._span.first)
        for partition, offset, _, value in self._parts.rows(TICKS):
            if not self._span.first.get(partition, 0) <= offset <= self._ends.get(partition, -1):
                continue
            if offset != expected[partition]:
                gap = f"lacks rows {expected[partition]:,} to {offset - 1:,} of partition {partition} of the log"
                reject(self._parts.folder, None, gap)
            expected[partition] = offset + 1
            bundle += self._rows_of(partition, offset, value)
            if len(bundle) >= ROWS_AT_ONCE:
                yield _table(bundle)
                bundle = []
        for partition, end in self._ends.items():
            if expected[partition] <= end:
                reject(self._parts.folder, None, f"ends before row {end:,} of partition {partition} of the log")
        yield _table(bundle)

    def _opening(self) -> Iterator[Mapping[str, object]]:
        """Return the settings in force where CEP began, as a row before all others."""
        if self._span.settings is None:
            return
        row = row_of(self._span.settings.encode())
        for base in self._span.bases:
            first = self._span.first[partition_of(base, self._span.partitions)]
            yield _columns(row, base, first - 1, self._span.settings)

    def _rows_of(self, partition: int, offset: int, value: bytes) -> Iterator[Mapping[str, object]]:
        try:
            row = row_of(value)
        except WireError:
            return
        if row.get("kind") not in KINDS or row.get("received_time") is None:
            return
        if self._unrepeated is not None and not self._unrepeated.is_new(partition, row):
            row["kind"] = REPEATED
        self.quotes += row["kind"] in ("quote", "fx")
        for base in row.get("bases") or [row.get("base")]:
            if offset <= self._span.last.get(base, -1):
                yield _columns(row, base, offset, value.decode())


def _ends_by_partition(span: LogSpan) -> dict[int, int]:
    ends: dict[int, int] = {}
    for base, offset in span.last.items():
        partition = partition_of(base, span.partitions)
        ends[partition] = max(offset, ends.get(partition, -1))
    return ends


def _columns(row: Mapping[str, Any], base: str, offset: int, text: str) -> Mapping[str, object]:
    kind = row["kind"]
    return {
        "base": base,
        "rank": 0,
        "offset": offset,
        "kind": kind,
        "received_time": row["received_time"],
        **{name: row.get(name) for name in (*WORDS, *NUMBERS)},
        "bid_price": _double(row.get("bid")),
        "ask_price": _double(row.get("ask")),
        "document": text if kind in WHOLE else None,
    }


def _double(text: object) -> float | None:
    return float(text) if isinstance(text, str) else None


def _table(rows: list[Mapping[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SOURCE_SCHEMA)
