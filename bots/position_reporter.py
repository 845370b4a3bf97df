"""Tells how far this bot has read, for people to look at; nothing depends on it."""

import logging
from collections.abc import Callable, Iterable

from session.clock import SystemClock, wall_now
from session.lag import ConsumerPosition
from store.errors import StoreError
from store.mongo.consumer_positions import ConsumerPositions
from store.server.change_streams import ChangeStanding
from streams.topic_reader import TopicReader

REPORT_SECONDS = 2.0

log = logging.getLogger(__name__)


class PositionReporter:
    """One row in the store, written over and over beside the trading."""

    def __init__(
        self,
        exchange: str,
        book: ConsumerPositions,
        reader: TopicReader,
        standings: Iterable[ChangeStanding],
        server_ahead: Callable[[], int],
    ) -> None:
        """`server_ahead`: microseconds by which the store's clock is ahead of ours."""
        self._exchange = exchange
        self._book = book
        self._reader = reader
        self._standings = tuple(standings)
        self._server_ahead = server_ahead

    async def run(self) -> None:
        """For ever; an outage of the store is waited through."""
        while True:
            await SystemClock().sleep(REPORT_SECONDS)
            try:
                await self._book.note(self.reach())
            except StoreError as error:
                log.info("reach not told", extra={"exchange": self._exchange, "error": str(error)})

    def reach(self) -> ConsumerPosition:
        lags = [standing.lag(wall_now(), self._server_ahead()) for standing in self._standings]
        known = [lag for lag in lags if lag is not None]
        return ConsumerPosition(
            part=f"bot-{self._exchange}",
            exchange=self._exchange,
            told_at=0,
            change_lag=max(known) if len(known) == len(lags) else None,
            offsets={f"{topic}/{partition}": at for (topic, partition), at in self._reader.next_offsets.items()},
            streams_lost=sum(standing.lost for standing in self._standings),
        )
