"""What comes of an app's requests, for one partition of its input log: each row of a sink `http-call` is a request, and
each answer a row of the log, before the app sees it.

Requests are rows of the app, so they are in the topic `apps` with their ids. Those of one sink are answered in their
order, whichever answer comes first; sinks do not wait for each other. What came before its turn is held as rows, and
a sink that holds much makes no more requests until it is less. What was answered is in the log, so whoever goes
on makes the requests again that are not: at least once. A request that is older than FRESH_SECONDS is not made any
more.
"""

import asyncio
import logging
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import orjson

from cep.apps.hosts.app_outside import AppOutside, CallSink
from cep.apps.hosts.http_caller import HttpAnswer, HttpCaller, NoAnswer
from cep.apps.hosts.input_log import CALLS, REPLAYS, InputPlace, SourceRow
from runtime.clock import wall_now
from streams.errors import StreamError
from streams.message_format import WireError, row_of
from streams.records import Record
from streams.topics import APPS

FRESH_SECONDS = 60
ROWS_OF_ONE = 1_000_000
"""More rows than come of one row of a log."""
MOST_ROW_BYTES = 1 << 19
"""The most bytes of the values in one row of an input log, which Kafka has to take."""
MOST_HELD_BYTES = 4 << 20
"""The most bytes of the rows that wait for their turn in one sink; of what is on its way then, a row each may come on
top."""
MOST_AHEAD = 8
"""Requests of a sink that are given to the caller beyond those that it makes at once: one that waits to be made again
holds up no others."""
MOST_WAITING_BYTES = 4 << 20
"""The most bytes of the requests that are not answered, of all sinks: no more are read until some are, which holds up
all. A request is not made after FRESH_SECONDS, so that is many a second."""

log = logging.getLogger("cep")


@dataclass(frozen=True, slots=True)
class CallRequest:
    """`id`: of its row, the one that it had first if it is given again. `number`: by which row of the app it is, the
    same each time that row is written. `offset`: where in the topic. `time`: by the app's clock, milliseconds."""

    sink: CallSink
    number: int
    offset: int
    time: int
    values: Mapping[str, Any]
    size: int
    """Bytes of its row."""
    id: str = ""


def call_requests(records: Iterable[Record], label: str, outside: AppOutside) -> Iterator[CallRequest]:
    """Return the requests of the app whose rows have this label; other rows are left out."""
    sinks = {sink.stream: sink for sink in outside.calls}
    for record in records:
        if record.key != label:
            continue
        try:
            row = row_of(record.value)
            found = re.search(r":(\d+):(\d+)\Z", str(row["id"]))
            if row["stream"] in sinks and found is not None:
                number = int(found[1]) * ROWS_OF_ONE + int(found[2])
                sink, time = sinks[row["stream"]], int(row["time"])
                first_id = str(row.get("replays") or row["id"])
                yield CallRequest(sink, number, record.offset, time, row["values"], len(record.value), first_id)
        except (WireError, KeyError, TypeError, ValueError):
            continue


class AppRowsReader(Protocol):
    """A partition of the topic `apps`, such as a `TopicReader`."""

    async def open(self) -> None: ...

    def batches(self) -> AsyncIterator[list[Record]]: ...

    async def close(self) -> None: ...


AnsweredRows = list[tuple[str, tuple[Any, ...]]]
"""By stream."""


@dataclass(frozen=True, slots=True)
class _Open:
    """`answer`: rows, and their bytes."""

    request: CallRequest
    answer: asyncio.Future[tuple[AnsweredRows, int]]


@dataclass(slots=True)
class _SinkRequests:
    """The requests of one sink, in their order: first those that are made, then those that wait for it."""

    made: deque[_Open] = field(default_factory=deque)
    waiting: deque[CallRequest] = field(default_factory=deque)
    on_their_way: int = 0
    held: int = 0
    """Bytes of the rows that came and wait for their turn."""


class CallSource:
    """An `InputSource` of `cep.apps.hosts.input_merger`.

    `reader`: begins where `place` says; the source opens and closes it and
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
        self._sinks = {sink.id: _SinkRequests() for sink in outside.calls}
        self._waiting_bytes = 0
        self._asked: asyncio.Future[list[Record]] | None = None

    async def open(self) -> None:
        """Raise StreamError; it is closed then."""
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
            if self._asked is None and self._waiting_bytes < MOST_WAITING_BYTES:
                self._asked = asyncio.ensure_future(anext(self._batches))
            waited: list[asyncio.Future[Any]] = [one.made[0].answer for one in self._sinks.values() if one.made]
            waited += [] if self._asked is None else [self._asked]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if self._asked is not None and self._asked.done():
                batch, self._asked = self._asked.result(), None
                self._begin(batch)

    async def close(self) -> None:
        for of_sink in self._sinks.values():
            of_sink.waiting.clear()
        waiting = [one.answer for of_sink in self._sinks.values() for one in of_sink.made]
        left: list[asyncio.Future[Any]] = [*waiting, *([] if self._asked is None else [self._asked])]
        for one in left:
            one.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._caller.close()
        await self._reader.close()

    def _begin(self, batch: list[Record]) -> None:
        """Make the requests of these rows, each once, as soon as its sink has room."""
        for request in call_requests(batch, self._label, self._outside):
            sink = request.sink
            if request.number >= self._first[sink.id]:
                self._first[sink.id] = request.number + 1
                self._waiting_bytes += request.size
                self._sinks[sink.id].waiting.append(request)
                self._make(self._sinks[sink.id])
        self._read = batch[-1].offset + 1

    def _make(self, of_sink: _SinkRequests) -> None:
        """As many as may be on their way at once, and some ahead, unless too much is held."""
        while of_sink.waiting and of_sink.held < MOST_HELD_BYTES:
            if of_sink.on_their_way >= of_sink.waiting[0].sink.in_flight + MOST_AHEAD:
                return
            request = of_sink.waiting.popleft()
            of_sink.on_their_way += 1
            of_sink.made.append(_Open(request, asyncio.ensure_future(self._answer(request, of_sink))))

    async def _answer(self, request: CallRequest, of_sink: _SinkRequests) -> tuple[AnsweredRows, int]:
        """Rows at once: a body may be far longer than what is taken of it."""
        answer = await self._caller.answer(request.sink, request.values, partial(self._is_fresh, request.time))
        rows = list(_of_errors(request, answer) if isinstance(answer, NoAnswer) else self._rows(request, answer))
        size = len(orjson.dumps(rows))
        if size > MOST_ROW_BYTES:
            log.warning("response left out: too much for one row", extra={"sink": request.sink.id, "bytes": size})
            rows, size = [], 0
        of_sink.on_their_way -= 1
        of_sink.held += size
        self._make(of_sink)
        return rows, size

    def _is_fresh(self, time: int) -> bool:
        return self._market_time(wall_now()) // 1_000 - time <= FRESH_SECONDS * 1_000

    def _answered(self) -> Iterator[SourceRow]:
        """Return a row for each request whose turn it is, of no stream if nothing of the app takes the answer: it is
        done all the same."""
        for of_sink in self._sinks.values():
            while of_sink.made and of_sink.made[0].answer.done():
                done = of_sink.made.popleft()
                rows, size = done.answer.result()
                of_sink.held -= size
                self._waiting_bytes -= done.request.size
                self._make(of_sink)
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
        first = [of_sink.made[0].request.offset for of_sink in self._sinks.values() if of_sink.made]
        return min(first, default=self._read)

    def _rows(self, request: CallRequest, answer: HttpAnswer) -> Iterator[tuple[str, tuple[Any, ...]]]:
        sink, is_taken = request.sink, False
        for source in self._outside.responses_to(sink):
            if re.fullmatch(source.status, str(answer.status)):
                is_taken = True
                try:
                    yield from ((source.stream, values) for values in source.reader.read(answer.body))
                except ValueError as error:
                    log.warning("response is none of the stream", extra={"stream": source.stream, "reason": str(error)})
        if not is_taken:
            log.warning("no source takes the status", extra={"sink": sink.id, "status": answer.status})


def _of_errors(request: CallRequest, answer: NoAnswer) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Return the request's row in its stream of errors, if the app has one."""
    if request.sink.of_errors:
        values = (request.values.get(name) for name in request.sink.of_errors)
        if request.sink.keeps_errors:
            yield REPLAYS, (request.sink.stream, request.id)
        yield f"!{request.sink.stream}", (*values, answer.reason)


def _name(sink: CallSink) -> str:
    return f"{CALLS}:{sink.id}"
