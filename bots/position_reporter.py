"""Reports this bot's consumer offsets and change stream lag, for monitoring only."""

import logging
from collections.abc import Callable, Iterable

from runtime.clock import SystemClock, wall_now
from store.errors import StoreError
from store.mongo.consumer_positions import ConsumerPositions
from store.records.consumer_position import ConsumerPosition
from store.server.change_streams import ChangeStreamProgress
from streams.topic_reader import TopicReader

REPORT_SECONDS = 2.0

log = logging.getLogger(__name__)


class PositionReporter:
    """Overwrites one row in the store every few seconds."""

    def __init__(
        self,
        exchange: str,
        positions: ConsumerPositions,
        reader: TopicReader,
        progress: Iterable[ChangeStreamProgress],
        server_ahead: Callable[[], int],
    ) -> None:
        """`server_ahead` returns by how many microseconds the store's clock is ahead of ours."""
        self._exchange = exchange
        self._positions = positions
        self._reader = reader
        self._progress = tuple(progress)
        self._server_ahead = server_ahead

    async def run(self) -> None:
        """Run until cancelled; outages of the store are skipped."""
        while True:
            await SystemClock().sleep(REPORT_SECONDS)
            try:
                await self._positions.record(self.position())
            except StoreError as error:
                log.info("consumer position not reported", extra={"exchange": self._exchange, "error": str(error)})

    def position(self) -> ConsumerPosition:
        lags = [one.lag(wall_now(), self._server_ahead()) for one in self._progress]
        known = [lag for lag in lags if lag is not None]
        return ConsumerPosition(
            part=f"bot-{self._exchange}",
            exchange=self._exchange,
            reported_at=0,
            change_lag=max(known) if len(known) == len(lags) else None,
            offsets={f"{topic}/{partition}": at for (topic, partition), at in self._reader.next_offsets.items()},
            lost_streams=sum(one.lost for one in self._progress),
        )
