"""An app as its hosts run it: rows of one partition of a topic go in, rows of its last streams come out with ids.

The same rows of a log give the same rows with the same ids in every host, from wherever in the log it was interrupted
and continued.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cep.engine.junctions import FAULTS, RowListener
from cep.engine.snapshots import Snapshot, app_digest, read, written
from cep.engine.stream_engine import StreamEngine
from cep.hosts.product_streams import ProductStream, parse_with_product_streams, read_streams
from cep.language.app_ends import app_ends
from cep.language.app_tree import App, TableDefinition, WindowDefinition
from cep.language.expression_tree import Place
from cep.language.language_errors import AppTextError, AppUnsupportedError
from cep.language.stream_names import stream_names
from cep.parts.chunks import Row
from streams.topics import TICKS

DIGEST_CHARACTERS = 8
MOST_STATE = 64 * 1024**2
"""Bytes that an app may keep in one partition: a window or a table that grows for ever ends it, and nothing else."""
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


class AppFailedError(Exception):
    """The app cannot go on: a row cannot be computed, or it keeps too much. One sentence; running it again changes
    nothing."""


@dataclass(frozen=True)
class AppSource:
    """An app's text, and the name that it has where the text gives none."""

    file_name: str
    text: str
    variables: tuple[tuple[str, str], ...] = ()
    """What `context:getVar` gives."""

    @cached_property
    def digest(self) -> str:
        """Of all that its rows follow from but its log."""
        return app_digest(self.text if not self.variables else f"{self.text}\n{self.variables!r}")

    @cached_property
    def name(self) -> str:
        named = (item.value for one in self.app.annotations if one.name.lower() == "app:name" for item in one.items)
        return next(named, self.file_name)

    @property
    def version(self) -> str:
        return self.digest[:DIGEST_CHARACTERS]

    @cached_property
    def label(self) -> str:
        """Of name and version; it stands before the ids of the app's rows, and names its files."""
        return f"{NOT_IN_NAMES.sub('-', self.name)}-{self.version}"

    @cached_property
    def app(self) -> App:
        return parse_with_product_streams(self.text)

    @cached_property
    def topic(self) -> str:
        """The one that its streams come from. Raises AppTextError where there is none, or more than one."""
        first, *others = read_streams(self.app) or (None,)
        if first is None:
            raise AppTextError(Place(1, 1), "the app reads no stream of the product, so nothing would ever come in")
        for stream in others:
            if stream.topic != first.topic:
                at = stream_names(self.app).read[stream.name]
                problem = f"{first.name!r} and {stream.name!r} have no common order, and one app reads only one of them"
                raise AppUnsupportedError(at, f"{problem}: that is not supported yet")
        return first.topic


def app_source(text: str, file_name: str, variables: tuple[tuple[str, str], ...] = ()) -> AppSource:
    """Raises AppTextError where no host can run it as it is written."""
    source = AppSource(file_name, text, variables)
    StreamEngine(source.app)
    for end in app_ends(source.app):
        problem = f"no host runs the {end} yet; `arbitrage app test` gives and takes its rows by hand"
        raise AppUnsupportedError(end.at, f"not supported: {problem}")
    # names and types first, since they are what people get wrong
    _ = source.topic
    return source


@dataclass(frozen=True, slots=True)
class AppRow:
    """`time`: milliseconds UTC, of the app's clock."""

    id: str
    app: str
    stream: str
    time: int
    values: Mapping[str, Any]


class HostedApp:
    """One partition's run of an app that `app_source` has accepted."""

    def __init__(self, source: AppSource, partition: int | str, most_state: int = MOST_STATE) -> None:
        self._source, self._partition, self._most_state = source, partition, most_state
        self._topic = source.topic
        self._streams: tuple[ProductStream, ...] = read_streams(source.app)
        self.position: int | None = None
        """Offset of the next row; None before the first."""
        self._out: list[tuple[str, int, Row]] = []
        self._names: dict[str, tuple[str, ...]] = {}
        self._engine: StreamEngine | None = None
        """None before the first row, at whose time the app's clock begins."""

    def take(self, offset: int, written_at: int, row: Mapping[str, Any]) -> list[AppRow]:
        """A row of the topic, written at `written_at` (microseconds UTC). A row that is none of the topic's is left out
        and moves no clock.

        Raises AppFailedError.
        """
        self.position = offset + 1
        try:
            at = self._time(row, written_at)
            rows = [(stream.name, stream.row_of(row)) for stream in self._streams]
        except (ValueError, TypeError, AttributeError, KeyError):
            return []
        engine = self._engine or self._begun(at)
        try:
            engine.advance(at)
            for name, values in rows:
                if values is not None:
                    engine.send(name, engine.now, values)
        except (*FAULTS, RecursionError) as error:
            raise AppFailedError(f"row {offset} of partition {self._partition} cannot be computed: {error}") from error
        return self._taken(offset)

    def snapshot(self) -> bytes:
        """All that it has kept, and where it is in the log. Raises AppFailedError where it has kept too much."""
        position = {str(self._partition): self.position or 0}
        state = None if self._engine is None else self._engine.state()
        data = written(Snapshot(self._source.digest, position, state))
        if len(data) > self._most_state:
            problem = f"partition {self._partition} keeps more than {self._most_state:,} bytes at row {self.position}"
            raise AppFailedError(f"{problem}: a window, pattern, table or partition of the app grows without end")
        return data

    def restore(self, data: bytes) -> None:
        """To be called once, before any row. Raises SnapshotError where the bytes are no snapshot of this app."""
        snapshot = read(data, self._source.digest)
        if snapshot.state is not None:
            self._begun(0).restore(snapshot.state)
        self.position = snapshot.position[str(self._partition)]

    def _time(self, row: Mapping[str, Any], written_at: int) -> int:
        """Milliseconds."""
        return int(row["received_time"] if self._topic == TICKS else written_at) // 1_000

    def _begun(self, now: int) -> StreamEngine:
        self._engine = engine = StreamEngine(self._source.app, now, dict(self._source.variables))
        for stream in output_streams(self._source.app):
            self._names[stream] = tuple(column.name for column in engine.columns_of(stream))
            engine.listen(stream, self._listener(stream))
        return engine

    def _listener(self, stream: str) -> RowListener:
        return lambda at, row: self._out.append((stream, at, row))

    def _taken(self, offset: int) -> list[AppRow]:
        if not self._out:
            return []
        label = self._source.label
        rows = [
            AppRow(
                f"{label}:{self._partition}:{offset}:{number}",
                self._source.name,
                stream,
                at,
                dict(zip(self._names[stream], values, strict=True)),
            )
            for number, (stream, at, values) in enumerate(self._out)
        ]
        self._out.clear()
        return rows


def output_streams(app: App) -> tuple[str, ...]:
    """Streams that the app writes to and does not read; where it reads all of them, all."""
    names = stream_names(app)
    kept = {one.name for one in app.definitions if isinstance(one, TableDefinition | WindowDefinition)}
    targets = tuple(name for name in names.inserted if name not in kept)
    return tuple(name for name in targets if name not in names.read) or targets
