"""What a row of an app's log is to the app: its time, and its values in each stream; what came again is left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cep.apps.hosts.input_log import time_of
from cep.apps.hosts.product_streams import ProductStream
from cep.apps.parts.chunks import Row
from streams.mirrored_rows import UnrepeatedRows, market_of
from streams.topics import TICKS


@dataclass(slots=True)
class RowReading:
    """What a row of a product's topic is to the apps that take it: read by the first that asks, for all of them.

    `time`: milliseconds. `values`: by stream; None if it is no row of that. `whole`: what `LogRows.read` returns, by
    the streams of an app."""

    time: int | None = None
    values: dict[str, Row | None] = field(default_factory=dict)
    whole: dict[str, "ReadRow"] = field(default_factory=dict)


ReadRow = tuple[str, int, list[tuple[str, Row]]]
"""The topic that a row came from, its time in milliseconds, and what it is in each stream; apps may share it."""


class LogRows:
    """The rows of one partition of a log."""

    def __init__(
        self, topic: str, streams: tuple[ProductStream, ...], *, is_merged: bool, unrepeated: UnrepeatedRows | None
    ) -> None:
        """`streams`: those that the app reads. `unrepeated`: of no row yet, if rows of `ticks` may come again."""
        self._topic, self._is_merged = topic, is_merged
        self._streams = [(stream.name, stream.row_of) for stream in streams]
        self._names = " ".join(stream.name for stream in streams)
        self._unrepeated = unrepeated if topic == TICKS else None
        self._taken_of: dict[str, int] = {}
        """Topic → offset of its next row, of an input log: what its writer wrote twice is taken once."""

    def read(self, row: Mapping[str, Any], written_at: int, read: RowReading | None = None) -> ReadRow:
        """Return the row. `read`: as far as other apps have read it.

        Raises ValueError, TypeError, AttributeError, KeyError if it is none of the log's, or came again.
        """
        return self._merged(row) if self._is_merged else self._plain(row, written_at, read or RowReading())

    @property
    def taken(self) -> dict[str, int]:
        """How far it has come beside the log's offset: the next row of each topic in an input log, or the last sequence
        of each market (`exchange:symbol`)."""
        if self._unrepeated is None:
            return self._taken_of
        return {f"{exchange}:{symbol}": sequence for (exchange, symbol), sequence in self._unrepeated.last.items()}

    def is_like(self, other: "LogRows") -> bool:
        """Return whether `taken` of the other means the same here."""
        return (self._is_merged, self._unrepeated is None) == (other._is_merged, other._unrepeated is None)

    def restore(self, taken: dict[str, int]) -> None:
        if self._unrepeated is None:
            self._taken_of = taken
            return
        for source, sequence in taken.items():
            exchange, _, symbol = source.partition(":")
            self._unrepeated.last[exchange, symbol] = sequence

    def _plain(self, row: Mapping[str, Any], written_at: int, read: RowReading) -> ReadRow:
        if self._unrepeated is not None:
            source, sequence = market_of(row), row.get("sequence")
            if not self._unrepeated.counts(source, sequence):
                raise ValueError(f"row {sequence} of {source} was there before")
        whole = read.whole.get(self._names)
        if whole is not None:
            return whole
        at = read.time
        if at is None:
            at = read.time = time_of(self._topic, row, written_at) // 1_000
        rows, known = list[tuple[str, Row]](), read.values
        for name, row_of in self._streams:
            if name not in known:
                known[name] = row_of(row)
            values = known[name]
            if values is not None:
                rows.append((name, values))
        read.whole[self._names] = whole = self._topic, at, rows
        return whole

    def _merged(self, row: Mapping[str, Any]) -> ReadRow:
        topic, offset = str(row["topic"]), int(row["offset"])
        at = int(row["time"]) // 1_000
        rows = [(str(name), tuple(values)) for name, values in row["rows"]]
        if offset < self._taken_of.get(topic, 0):
            raise ValueError(f"row {offset} of {topic} was there before")
        self._taken_of[topic] = offset + 1
        return topic, at, rows
