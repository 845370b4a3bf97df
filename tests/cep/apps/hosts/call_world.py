"""An app with requests, run without Kafka and Spark by the parts that its hosts run, on logs in memory."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field

from cep.apps.hosts.app_messages import AppRow, app_message
from cep.apps.hosts.call_source import CallSource
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.hosts.http_caller import HttpCaller
from cep.apps.hosts.input_log import InputPlace, SourceRow, input_message, place_in
from runtime.clock import wall_now
from streams.message_format import row_of
from streams.records import Record
from streams.topics import APPS, TICKS

SESSION = "s"


@dataclass(slots=True)
class AppsTopic:
    """One partition of the topic `apps`, for one reader from `first` on."""

    first: int
    records: list[Record]
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def add(self) -> None:
        self._more.set()

    async def batches(self) -> AsyncIterator[list[Record]]:
        following = self.first
        while True:
            if following < len(self.records):
                batch = self.records[following : following + 3]
                following += len(batch)
                yield batch
            else:
                self._more.clear()
                await self._more.wait()


@dataclass(slots=True)
class CallWorld:
    """`log`: the app's input log, `topic`: what it wrote; both stay while a host is killed."""

    source: AppSource
    addresses: Mapping[str, str]
    log: list[bytes] = field(default_factory=list)
    topic: list[Record] = field(default_factory=list)
    rows: dict[str, AppRow] = field(default_factory=dict)
    """By id."""
    began: int = field(default_factory=lambda: wall_now() // 1_000_000 * 1_000 + 3_600_000)
    """Milliseconds; ahead, so that no request grows old on a busy machine."""

    def opened(self) -> "RunningCalls":
        place = place_in(self.log[-1], SESSION) if self.log else InputPlace()
        reader = AppsTopic(place.next.get(APPS, 0), self.topic)
        caller = HttpCaller(self.addresses)
        calls = CallSource(self.source.outside, self.source.label, 0, reader, caller, place)
        return RunningCalls(self, HostedApp(self.source, 0), reader, calls, place)

    def write(self, rows: Iterable[AppRow]) -> None:
        for row in rows:
            assert self.rows.setdefault(row.id, row) == row
            record = Record(APPS, 0, len(self.topic), self.source.label, app_message(row), wall_now())
            self.topic.append(record)


@dataclass(slots=True)
class RunningCalls:
    """A run from the beginning of the log on, until it is closed or forgotten, as a killed one is."""

    world: CallWorld
    app: HostedApp
    reader: AppsTopic
    calls: CallSource
    place: InputPlace

    def read_again(self) -> None:
        """Read what is in the log already, as after a kill -9 without a snapshot: the same rows again."""
        for offset, message in enumerate(self.world.log):
            self.world.write(self.app.take(offset, 0, row_of(message)))
        self.reader.add()

    def take(self, row: SourceRow) -> None:
        """Put a row into the log, and from there into the app."""
        self.place = self.place.after(row)
        self.world.log.append(input_message(SESSION, row, self.place))
        self.world.write(self.app.take(len(self.world.log) - 1, 0, row_of(self.world.log[-1])))
        self.reader.add()

    def tick(self, seconds: float) -> None:
        """Let the clock tick at `seconds` after the world began."""
        at = self.world.began + int(seconds * 1_000)
        number = self.place.next.get(TICKS, 0)
        self.take(SourceRow(TICKS, 0, number, at * 1_000, ()))

    async def answered(self, count: int) -> list[SourceRow]:
        """Wait until so many requests are answered and in the log."""
        await self.calls.open()
        found: list[SourceRow] = []
        async with asyncio.timeout(30):
            while len(found) < count:
                rows = await self.calls.next()
                for row in rows:
                    self.take(row)
                found += rows
        return found

    def of(self, stream: str) -> list[dict[str, object]]:
        return [dict(row.values) for row in self.world.rows.values() if row.stream == stream]
