"""Sends the rows of one sink: destinations take turns, so that none waits for another.

A row that is not taken is sent again with back-off, in its order; what its sink's `on.error` says decides for how long.
A row that the other side refuses is given up at once: it would hold up all behind it for ever. A sink that waits for
each of its rows gives them up slowly once one after the other is refused: a server that refuses everything has changed.

Rows may name a million destinations. So what is known of them is in the outbox, and at each server a bounded number has
its turn at a time. A server that is away, or takes nothing from many in turn, is asked for one at a time, until it
takes something.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from cep.apps.ends.sink_ends import OnError
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.transports.outbox import AddedRow, RowOutbox, WaitingDestination, WaitingRow
from cep.apps.transports.ports import NotTakenError, OutgoingRow, RowsRefusedError, SinkSender
from market.time_units import MICROSECONDS
from runtime.backoff import jittered
from runtime.clock import wall_now

MOST_ATTEMPTS = 5
"""After so many a row is given up, unless its sink says `wait`."""
LONGEST_SECONDS = 30.0
"""Between two attempts."""
MOST_ASKED_SECONDS = 600.0
"""For so long at most a destination may ask to be left alone."""
MOST_AT_ONCE = 96
"""Destinations of one server to which is sent at the same time."""
MOST_RETRIED = 32
"""As many of those that took nothing the last time, beside the others: they hold up none that takes its rows."""
MOST_IN_VAIN = 96
"""After so many attempts in turn that a server took nothing of, whatever the destinations, it counts as away."""
MOST_REFUSED = 10
"""So many rows in turn may be refused before a sink that waits gives up one at a time, and waits in between."""
MOST_REFUSING = 10_000
"""Destinations whose refusals in turn are counted."""
SHOWN_DESTINATIONS = 20

KeepFailed = Callable[[Sequence[OutgoingRow], str], Awaitable[None]]
"""Keeps rows that were given up, with the reason. Raises NotTakenError."""


@dataclass(slots=True)
class _Server:
    """`busy`, `retrying`: destinations that have their turn, those in the latter took nothing the last time. `in_vain`:
    attempts in turn that it took nothing of; `refused`: rows in turn that it refused. `failures`: how often in turn it
    counted as away, for `reason`; it is not asked before `until`, microseconds UTC, or if it `answers` for new
    destinations alone."""

    busy: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    retrying: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    in_vain: int = 0
    refused: int = 0
    failures: int = 0
    until: int = 0
    answers: bool = False
    reason: str = ""

    def note_taken(self) -> None:
        self.refused = 0
        self.note_answer()

    def note_answer(self) -> None:
        """Note that somebody is there, whatever the answer to the rows."""
        self.in_vain, self.failures, self.until, self.reason = 0, 0, 0, ""

    def note_refusals(self, reason: str, until: int) -> None:
        """Note that it refuses whatever comes: it counts as a server that takes nothing."""
        self.in_vain = MOST_IN_VAIN
        self.note_failure(NotTakenError(reason), until)

    def note_failure(self, error: NotTakenError, until: int) -> None:
        """`until`: when it is asked again if it counts as away."""
        self.in_vain += 1
        if not error.is_of_server and self.in_vain < MOST_IN_VAIN:
            self.failures, self.until, self.reason = 0, 0, ""
        elif wall_now() >= self.until:
            # of requests that were on their way at the same time, one counts
            self.failures, self.until, self.reason = self.failures + 1, until, str(error)
            self.answers = not error.is_of_server


@dataclass(slots=True)
class DeliveryCounts:
    """Since the app was begun here."""

    delivered: int = 0
    retries: int = 0
    dead: int = 0
    """Rows given up."""


@dataclass(slots=True)
class SinkDelivery:
    """`sink`: its name in the outbox. `first_seconds`: until the second attempt."""

    sink: str
    sender: SinkSender
    outbox: RowOutbox
    on_error: OnError
    keep_failed: KeepFailed
    first_seconds: float = 0.5
    counts: DeliveryCounts = field(default_factory=DeliveryCounts)
    warnings: CountedWarnings = field(default_factory=lambda: CountedWarnings({}))
    _servers: dict[str, _Server] = field(default_factory=dict)
    _refused: dict[str, int] = field(default_factory=dict)
    """Destination → rows in turn that were refused there, of a sink that waits."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _fault: BaseException | None = None

    def note(self, rows: Iterable[AddedRow]) -> None:
        """Take notice of new rows in the outbox."""
        added = [one for one in rows if one.sink == self.sink]
        for server in {one.server for one in added}:
            self._servers.setdefault(server, _Server())
        if self.sender.linger_seconds:
            for destination in {one.destination for one in added}:
                self.outbox.end_linger(self.sink, destination, self.sender.most_rows, wall_now())
        self._changed.set()

    async def run(self, *, until_done: bool = False) -> None:
        """Send until cancelled; `until_done`: or until no row waits."""
        self._servers = {server: _Server() for server in self.outbox.servers(self.sink)}
        try:
            while not until_done or self.outbox.sinks().get(self.sink, 0):
                self._changed.clear()
                seconds = self._begin_turns(wall_now())
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._changed.wait()
                if self._fault is not None:
                    raise self._fault
        finally:
            servers = self._servers.values()
            tasks = [task for one in servers for task in (*one.busy.values(), *one.retrying.values())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.sender.close()

    def figures(self, now: int) -> Mapping[str, Any]:
        """Return what the app's status says of the sink. `now`: the app's clock, milliseconds."""
        worst = self.outbox.oldest(self.sink, SHOWN_DESTINATIONS)
        return {
            "sink": self.sink,
            "delivered": self.counts.delivered,
            "waiting": self.outbox.sinks().get(self.sink, 0),
            "lag_ms": max((now - one.time for one in worst), default=0),
            "retries": self.counts.retries,
            "dead": self.counts.dead,
            "destinations": [
                {
                    "destination": self.sender.shown(one.destination),
                    "waiting": one.rows,
                    "lag_ms": now - one.time,
                    "reason": self._why(one),
                }
                for one in worst
            ],
        }

    def _why(self, one: WaitingDestination) -> str:
        server = self._servers.get(one.server)
        return one.reason or ("" if server is None else server.reason)

    def _begin_turns(self, now: int) -> float | None:
        """Begin the turns that are due; return in how many seconds the next one is, None if none is known."""
        found = [
            self._begin(name, server, now, retried=retried)
            for name, server in self._servers.items()
            for retried in (False, True)
        ]
        times = [one for one in found if one is not None]
        return (min(times) - now) / MICROSECONDS if times else None

    def _begin(self, name: str, server: _Server, now: int, *, retried: bool) -> int | None:
        """As `_begin_turns`, of one server; return when the next one is due."""
        if server.until > now and (retried or not server.answers):
            return server.until
        turns, most = (server.retrying, MOST_RETRIED) if retried else (server.busy, MOST_AT_ONCE)
        free = (1 if server.failures else most) - len(turns)
        if free > 0:
            busy = server.busy.keys() | server.retrying.keys()
            due = self.outbox.due(self.sink, name, now, free + len(busy), retried=retried)
            for destination in [one for one in due if one not in busy][:free]:
                turns[destination] = task = asyncio.create_task(self._turn(server, turns, destination))
                task.add_done_callback(self._on_end)
        return self.outbox.next_due(self.sink, name, now, retried=retried)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fault = fault
        self._changed.set()

    async def _turn(self, server: _Server, turns: dict[str, asyncio.Task[None]], destination: str) -> None:
        """Send what is next once."""
        try:
            rows = self.outbox.first(self.sink, destination, self.sender.most_rows)
            if rows and not self._lingers(destination, len(rows)):
                await self._send(server, destination, rows)
        finally:
            del turns[destination]

    def _lingers(self, destination: str, count: int) -> bool:
        """Whether the rows wait for more, which they do once."""
        seconds = self.sender.linger_seconds
        if not seconds or count >= self.sender.most_rows:
            return False
        found = self.outbox.destination(self.sink, destination)
        if found is None or found.lingers or found.failures:
            return False
        self.outbox.linger(self.sink, destination, wall_now() + int(seconds * MICROSECONDS))
        return True

    async def _send(self, server: _Server, destination: str, rows: Sequence[WaitingRow]) -> bool:
        """Send the rows, by halves if one among them is refused and not named; return whether those behind them may
        go."""
        try:
            await self.sender.send(destination, [one.row for one in rows])
        except RowsRefusedError as error:
            if server.refused < MOST_REFUSED:
                server.note_answer()
            return await self._refuse(server, destination, rows, error)
        except NotTakenError as error:
            self._note_taken(server, destination, rows[: error.taken])
            await self._put_off(server, destination, rows[error.taken :], error)
            return False
        self._note_taken(server, destination, rows)
        return True

    def _note_taken(self, server: _Server, destination: str, rows: Sequence[WaitingRow]) -> None:
        if rows:
            server.note_taken()
            self._refused.pop(destination, None)
            self.counts.delivered += len(rows)
            self.outbox.remove(self.sink, destination, rows, wall_now())

    async def _refuse(
        self, server: _Server, destination: str, rows: Sequence[WaitingRow], error: RowsRefusedError
    ) -> bool:
        """Give up what is refused among the rows; return whether those behind them may go now."""
        if len(rows) == 1:
            return await self._refuse_one(server, destination, rows, error)
        if not error.refused:
            half = len(rows) // 2
            is_done = await self._send(server, destination, rows[:half])
            return is_done and await self._send(server, destination, rows[half:])
        named = [one for one in rows if one.row.id in error.refused]
        self._note_taken(server, destination, [one for one in rows if one.row.id not in error.refused])
        for one in named:
            if not await self._refuse_one(server, destination, [one], error):
                return False
        return True

    async def _refuse_one(
        self, server: _Server, destination: str, rows: Sequence[WaitingRow], error: RowsRefusedError
    ) -> bool:
        """Give a refused row up; return whether those behind it may go now."""
        if not await self._give_up(destination, rows, error):
            return False
        if self.on_error != "wait":
            return True
        # the newest is the last one to be forgotten
        self._refused[destination] = count = self._refused.pop(destination, 0) + 1
        if len(self._refused) > MOST_REFUSING:
            del self._refused[next(iter(self._refused))]
        server.refused += 1
        in_turn = max(count, server.refused)
        if in_turn < MOST_REFUSED:
            return True
        reason, now = f"{in_turn:,} rows in turn are refused ({error})", wall_now()
        self.outbox.put_off(self.sink, destination, now + self._delay(in_turn - MOST_REFUSED), reason)
        if server.refused >= MOST_REFUSED:
            server.note_refusals(reason, now + self._delay(server.failures))
        where = self.sender.shown(destination)
        self.warnings.tell("one row after the other is refused", reason, where, sink=self.sink, destination=where)
        return False

    async def _put_off(
        self, server: _Server, destination: str, rows: Sequence[WaitingRow], error: NotTakenError
    ) -> None:
        """Send the rows later; those that were sent in vain often enough are given up, if the sink says so."""
        self._note_failure(destination, rows, error)
        server.note_failure(error, wall_now() + self._delay(server.failures))
        # rows that came later have not had theirs
        tired = [one for one in rows if one.attempts + 1 >= MOST_ATTEMPTS]
        if tired and self.on_error != "wait":
            await self._give_up(destination, tired, error)

    def _note_failure(self, destination: str, rows: Sequence[WaitingRow], error: NotTakenError) -> None:
        self.counts.retries += len(rows)
        self.outbox.note_attempt(rows)
        found = self.outbox.destination(self.sink, destination)
        asked = 0.0 if error.wait_seconds is None else min(error.wait_seconds, MOST_ASKED_SECONDS)
        wait = max(self._delay(0 if found is None else found.failures), int(asked * MICROSECONDS))
        self.outbox.put_off(self.sink, destination, wall_now() + wait, str(error))
        where = self.sender.shown(destination)
        self.warnings.tell("rows are not taken", str(error), where, sink=self.sink, destination=where)

    def _delay(self, failures: int) -> int:
        """Return the microseconds until the next attempt after so many failures before."""
        return int(jittered(min(self.first_seconds * 2.0 ** min(failures, 20), LONGEST_SECONDS)) * MICROSECONDS)

    async def _give_up(self, destination: str, rows: Sequence[WaitingRow], error: Exception) -> bool:
        """Return whether the rows are given up: who waits for each row loses none, so the error store has them then."""
        if self.on_error != "log":
            try:
                await self.keep_failed([one.row for one in rows], str(error))
            except NotTakenError as failure:
                self._note_failure(destination, rows, failure)
                return False
        self.counts.dead += len(rows)
        where = self.sender.shown(destination)
        self.warnings.tell(
            "rows are given up", str(error), where, sink=self.sink, destination=where, row=rows[0].row.id
        )
        self.outbox.remove(self.sink, destination, rows, wall_now())
        return True
