"""What an app reads of MongoDB, for one partition of its input log: trades, fills and rejections of the session."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cep.apps.hosts.input_log import InputPlace, SourceRow
from cep.apps.hosts.product_streams import STORE, ProductStream
from cep.apps.hosts.trading_rows import base_of, fill_row, rejection_row, trade_rows
from market.time_units import MICROSECONDS
from runtime.clock import steady_now, wall_now
from session.session import Session
from store.queries.session_export import ExportedFill
from store.queries.trading_changes import ArbitrageSteps, Trading, TradingChange, TradingChanges
from streams.topics import partition_of

LOOK_SECONDS = 0.1
"""How often it looks whether the server has sent all earlier changes, until it has."""
MARK_SECONDS = 60.0
"""After so long without a row of the partition the log records how far the source has come: MongoDB keeps its changes
only for a while, so a successor must not ask for the first of them."""
TRADING: tuple[Trading, ...] = ("trades", "fills", "rejections")

log = logging.getLogger("launch")


class TradingSource:
    """An `InputSource` of `cep.apps.hosts.input_merger`.

    A row's offset is its number among those of the partition, which follows
    from the order in which the store took them."""

    topic = STORE

    def __init__(
        self,
        session: Session,
        streams: Sequence[ProductStream],
        partition: int,
        place: InputPlace,
        market_time: Callable[[int], int] = int,
        mark_seconds: float = MARK_SECONDS,
    ) -> None:
        """Take `place`, where it goes on. Raises StoreError if the database's address is invalid."""
        self._mark_seconds, self._marked_at = mark_seconds, steady_now()
        self._session, self._partition, self._market_time = session, partition, market_time
        self._streams = {stream.name: stream for stream in streams if stream.topic == STORE}
        wanted = [name for name in TRADING if name in self._streams]
        self._changes = TradingChanges(session, wanted, place.token)
        self._next = place.next.get(STORE, 0)
        self._asked: asyncio.Future[TradingChange | None] | None = None

    @property
    def is_behind(self) -> bool:
        return self._changes.is_behind

    async def open(self) -> None:
        """Open the source; if it raises StoreError, it is closed."""
        await self._changes.open()

    async def next(self) -> list[SourceRow]:
        self._asked = self._asked or asyncio.ensure_future(self._changes.next())
        was_behind = self.is_behind
        while not self._asked.done() and self.is_behind:
            await asyncio.wait((self._asked,), timeout=LOOK_SECONDS)
        if was_behind and not self._asked.done():
            return []
        done, _ = await asyncio.wait((self._asked,), timeout=max(0.0, self._until_mark))
        if not done:
            return self._mark()
        change, self._asked = await self._asked, None
        if change is None:
            log.warning(
                "MongoDB no longer has the first changes of the session: what of them was not read is left out",
                extra={"session": self._session.session_id},
            )
            return []
        rows = self._rows(change)
        if not rows and self._until_mark <= 0:
            return self._mark()
        if rows:
            self._marked_at = steady_now()
        return rows

    @property
    def _until_mark(self) -> float:
        """Return seconds until the next mark."""
        return self._mark_seconds - (steady_now() - self._marked_at) / MICROSECONDS

    def _mark(self) -> list[SourceRow]:
        """Return a row that only says how far the source has come."""
        self._marked_at, token = steady_now(), self._changes.token
        if token is None:
            return []
        number, self._next = self._next, self._next + 1
        return [SourceRow(STORE, self._partition, number, self._market_time(wall_now()), (), None, token)]

    async def close(self) -> None:
        if self._asked is not None:
            self._asked.cancel()
            await asyncio.gather(self._asked, return_exceptions=True)
        await self._changes.close()

    def _rows(self, change: TradingChange) -> list[SourceRow]:
        """Return the change's one row, or none if it is another partition's."""
        mine = [row for row in self._found(change) if self._is_mine(row["base"])]
        rows = [(name, values) for row in mine if (values := self._values(name := str(row["kind"]), row)) is not None]
        if not rows:
            return []
        number, self._next = self._next, self._next + 1
        at = self._market_time(change.at)
        return [SourceRow(STORE, self._partition, number, at, rows, str(mine[0]["base"]), change.token)]

    def _found(self, change: TradingChange) -> Iterator[Mapping[str, Any]]:
        match change.what:
            case ArbitrageSteps(arbitrage, numbers):
                yield from trade_rows(arbitrage, numbers)
            case ExportedFill(arbitrage_id, fill):
                yield fill_row(fill, arbitrage_id, base_of(fill, self._session.markets))
            case count:
                yield rejection_row(count.rejection, count.number)

    def _is_mine(self, base: str) -> bool:
        return partition_of(base, self._session.services.partitions) == self._partition

    def _values(self, name: str, row: Mapping[str, Any]) -> Sequence[Any] | None:
        return self._streams[name].row_of(row)
