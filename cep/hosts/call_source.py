"""What comes of an app's requests, for one partition of its input log: each row of a sink `http-call` is a request, and
each answer a row of the log, before the app sees it.

Requests are rows of the app, so they are in the topic `apps` with their ids. Those of one sink are answered in their
order, whichever answer comes first; sinks do not wait for each other. What was answered is in the log, so whoever goes
on makes the requests again that are not: at least once. A request that is older than FRESH_SECONDS is not made any
more.
"""

import asyncio
import logging
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import orjson

from cep.hosts.app_outside import AppOutside, CallSink
from cep.hosts.http_caller import HttpAnswer, HttpCaller
from cep.hosts.input_log import CALLS, InputPlace, SourceRow
from cep.hosts.response_rows import response_rows
from session.clock import wall_now
from streams.errors import StreamError
from streams.message_format import WireError, row_of
from streams.records import Record
from streams.topics import APPS

FRESH_SECONDS = 60
ROWS_OF_ONE = 1_000_000
"""More rows than come of one row of a log."""
MOST_ROW_BYTES = 1 << 19
"""Of the values in one row of an input log, which Kafka has to take."""
MOST_OPEN = 1_000
"""Requests that wait or are on their way, and a batch more."""

log = logging.getLogger("cep")


@dataclass(frozen=True, slots=True)
class CallRequest:
    """`number`: by which row of the app it is, the same each time that row is written. `offset`: where in the topic.
    `time`: by the app's clock, milliseconds."""

    sink: CallSink
    number: int
    offset: int
    time: int
    values: Mapping[str, Any]


def call_requests(records: Iterable[Record], label: str, outside: AppOutside) -> Iterator[CallRequest]:
    """Of the app whose rows have this label; other rows are left out."""
    sinks = {sink.stream: sink for sink in outside.calls}
    for record in records:
        if record.key != label:
            continue
        try:
            row = row_of(record.value)
            found = re.search(r":(\d+):(\d+)\Z", str(row["id"]))
            if row["stream"] in sinks and found is not None:
                number = int(found[1]) * ROWS_OF_ONE + int(found[2])
                yield CallRequest(sinks[row["stream"]], number, record.offset, int(row["time"]), row["values"])
        except (WireError, KeyError, TypeError, ValueError):
            continue


class AppRowsReader(Protocol):
    """A partition of the topic `apps`, such as a `TopicReader`."""

    async def open(self) -> None: ...

    def batches(self) -> AsyncIterator[list[Record]]: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Open:
    request: CallRequest
    answer: asyncio.Future[HttpAnswer | None]


class CallSource:
    """`cep.hosts.input_merger.InputSource`. `reader`: begins where `place` says; the source opens and closes it and
    `caller`. `market_time`: of the wall's, microseconds."""

    topic = CALLS
    is_behind = False

    def __init__(
        self,
        outside: AppOutside,
        label: str,
        partition: int,
        reader: AppRowsReader,
        caller: HttpCaller,
        place: InputPlace,
        market_time: Callable[[int], int] = int,
    ) -> None:
        self._outside, self._label, self._partition = outside, label, partition
        self._reader, self._caller, self._market_time = reader, caller, market_time
        self._batches = reader.batches()
        self._first = {sink.id: place.next.get(_name(sink), 0) for sink in outside.calls}
        self._read = place.next.get(APPS, 0)
        self._open: dict[str, deque[_Open]] = {sink.id: deque() for sink in outside.calls}
        self._asked: asyncio.Future[list[Record]] | None = None

    async def open(self) -> None:
        """Raises StreamError; it is closed then."""
        try:
            await self._reader.open()
            await self._caller.open()
        except StreamError:
            await self.close()
            raise

    async def next(self) -> list[SourceRow]:
        while True:
            rows = list(self._answered())
            if rows:
                return rows
            if self._asked is None and sum(map(len, self._open.values())) < MOST_OPEN:
                self._asked = asyncio.ensure_future(anext(self._batches))
            waited: list[asyncio.Future[Any]] = [one[0].answer for one in self._open.values() if one]
            waited += [] if self._asked is None else [self._asked]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if self._asked is not None and self._asked.done():
                batch, self._asked = self._asked.result(), None
                self._begin(batch)

    async def close(self) -> None:
        waiting = [one.answer for of_sink in self._open.values() for one in of_sink]
        left: list[asyncio.Future[Any]] = [*waiting, *([] if self._asked is None else [self._asked])]
        for one in left:
            one.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._caller.close()
        await self._reader.close()

    def _begin(self, batch: list[Record]) -> None:
        """The requests of these rows are on their way, each once."""
        for request in call_requests(batch, self._label, self._outside):
            sink = request.sink
            if request.number >= self._first[sink.id]:
                self._first[sink.id] = request.number + 1
                is_fresh = partial(self._is_fresh, request.time)
                answer = asyncio.ensure_future(self._caller.answer(sink, request.values, is_fresh))
                self._open[sink.id].append(_Open(request, answer))
        self._read = batch[-1].offset + 1

    def _is_fresh(self, time: int) -> bool:
        return self._market_time(wall_now()) // 1_000 - time <= FRESH_SECONDS * 1_000

    def _answered(self) -> Iterator[SourceRow]:
        """A row for each request whose turn it is, of no stream where nothing of the app takes the answer: it is done
        all the same."""
        for waiting in self._open.values():
            while waiting and waiting[0].answer.done():
                done = waiting.popleft()
                rows = [] if (answer := done.answer.result()) is None else list(self._rows(done.request, answer))
                if len(orjson.dumps(rows)) > MOST_ROW_BYTES:
                    log.warning("response left out: too much for one row", extra={"sink": done.request.sink.id})
                    rows = []
                yield SourceRow(
                    _name(done.request.sink),
                    self._partition,
                    done.request.number,
                    self._market_time(wall_now()),
                    rows,
                    passed=(APPS, self._lowest),
                )

    @property
    def _lowest(self) -> int:
        """The offset of the first request that has no row, or of the next row of the topic."""
        return min((of_sink[0].request.offset for of_sink in self._open.values() if of_sink), default=self._read)

    def _rows(self, request: CallRequest, answer: HttpAnswer) -> Iterator[tuple[str, tuple[Any, ...]]]:
        sink, is_taken = request.sink, False
        for source in self._outside.responses_to(sink):
            if re.fullmatch(source.status, str(answer.status)):
                is_taken = True
                try:
                    yield from ((source.stream, values) for values in response_rows(source, answer.body))
                except ValueError as error:
                    log.warning("response is none of the stream", extra={"stream": source.stream, "reason": str(error)})
        if not is_taken:
            log.warning("no source takes the status", extra={"sink": sink.id, "status": answer.status})


def _name(sink: CallSink) -> str:
    return f"{CALLS}:{sink.id}"
