"""Keeps the candles of a session: those that grow in memory, those that are over on disk. Reads both as one."""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from market.prices.candles import INTERVALS, QuoteCandle
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now, wall_now
from ui.candles.candle_book import CandleBook, MarketName
from ui.candles.candle_files import END, KEPT, MOST_READ, CandleFiles, KeptInterval

WRITE_SECONDS = 5.0
"""At most this much is lost by a kill, if the log does not bring it again."""
REMOVE_MICROSECONDS = 3_600 * MICROSECONDS

log = logging.getLogger("ui")


@dataclass(frozen=True, slots=True)
class _Batch:
    """What waited for the disk when it was taken."""

    market: MarketName
    interval: KeptInterval
    candles: tuple[QuoteCandle, ...]


class CandleKeeper:
    """Runs on one event loop; the disk is read and written in threads."""

    def __init__(self, folder: Path, markets: Iterable[MarketName]) -> None:
        self.book = CandleBook()
        self._files = CandleFiles(folder)
        self._known = tuple(markets)
        self._writing = asyncio.Lock()
        self._is_failing = False
        self._removed_at: int | None = None

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await SystemClock().sleep(WRITE_SECONDS)
            await self.write()

    async def resume(self) -> None:
        """Go on behind what is on disk; to be called before any tick is applied."""
        for market in self._known:
            self.book.of(*market).resume(*await asyncio.to_thread(self._unfinished, market))

    async def write(self) -> None:
        """Write what is over. A disk that takes nothing is tried again; candles wait in memory as far as there is
        room. Cancelled, it is done all the same: what a thread writes must be known, or is written again."""
        await asyncio.shield(asyncio.ensure_future(self._write_all()))

    async def _write_all(self) -> None:
        async with self._writing:
            try:
                await self._write_batches()
            except OSError as error:
                if not self._is_failing:
                    log.warning("candles not written", extra={"error": str(error)})
                self._is_failing = True
            else:
                self._is_failing = False

    async def _write_batches(self) -> None:
        """Raise OSError; what was written before is known to be."""
        batches = [
            _Batch(market, interval, tuple(candles.waiting[interval]))
            for market, candles in self.book.markets.items()
            for interval in KEPT
            if candles.waiting[interval]
        ]
        written = list[_Batch]()
        try:
            await asyncio.to_thread(self._write, batches, written)
        finally:
            for batch in written:
                self.book.of(*batch.market).forget_written(batch.interval, batch.candles[-1].start + 1)

    async def candles(
        self, market: MarketName, interval: KeptInterval, since: int, until: int, most: int = MOST_READ
    ) -> list[QuoteCandle]:
        """Return the newest `most` candles with `since` ≤ start < `until`, oldest first, the one that grows included.

        Raises OSError.
        """
        # first what is in memory: what is written meanwhile is found twice, and not missed
        newest = [one for one in self.book.of(*market).newest(interval) if since <= one.start < until]
        kept = await asyncio.to_thread(self._files.read, *market, interval, since, until, most)
        by_start = {one.start: one for one in (*kept, *newest)}
        return [by_start[start] for start in sorted(by_start)][-most:]

    def _write(self, batches: list[_Batch], written: list[_Batch]) -> None:
        for batch in batches:
            self._files.append(*batch.market, batch.interval, batch.candles)
            written.append(batch)
        if self._removed_at is None or steady_now() - self._removed_at > REMOVE_MICROSECONDS:
            self._removed_at = steady_now()
            self._files.remove_old(wall_now())

    def _unfinished(self, market: MarketName) -> tuple[list[QuoteCandle], list[QuoteCandle], int]:
        """Return the minutes and the seconds that are in no longer candle on disk, and until when there are seconds."""
        second, minute, hour = (self._files.newest(*market, interval) for interval in KEPT)
        minutes = self._files.read(*market, "1m", _end(hour, "1h"), END)
        return minutes, self._files.read(*market, "1s", _end(minute, "1m"), END), _end(second, "1s")


def _end(candle: QuoteCandle | None, interval: KeptInterval) -> int:
    return 0 if candle is None else candle.start + INTERVALS[interval]
