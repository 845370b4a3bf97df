"""The watchdog over streams of its own making: silent, broken, refused, unbelievable."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from market.clock import SystemClock
from pricefeeds.books import BookTop
from pricefeeds.errors import FeedDroppedError, FeedRefusedError
from pricefeeds.symbolfeed import RejectedQuote, Row, SymbolFeed
from pricefeeds.watching import Patience, watch_symbol
from tests.pricefeeds.samples import MARKET, book

IMPATIENT = Patience(first_book=0.3, silence=0.15)
DEADLINE_SECONDS = 10.0
SILENCE = "silence"

Script = list[BookTop | Exception | str]


@dataclass
class ScriptedExchange:
    """Each connection plays the next script: books, then silence or an error; the last one is played again."""

    scripts: list[Script]
    opened: int = 0
    closed: int = 0
    rows: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncIterator[BookTop]]:
        script = self.scripts[min(self.opened, len(self.scripts) - 1)]
        self.opened += 1
        try:
            yield self._books(script)
        finally:
            self.closed += 1

    async def _books(self, script: Script) -> AsyncIterator[BookTop]:
        for entry in script:
            if isinstance(entry, Exception):
                raise entry
            if isinstance(entry, str):
                await asyncio.Event().wait()
            else:
                yield entry

    def publish(self, rows: list[Row]) -> None:
        self.rows += [row.reason if isinstance(row, RejectedQuote) else row.kind for row in rows]
        self.changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not condition():
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def watched(exchange: ScriptedExchange) -> AsyncIterator[tuple[SymbolFeed, asyncio.Task[None]]]:
    feed = SymbolFeed(MARKET, 0, 0)
    task = asyncio.create_task(watch_symbol(feed, exchange.open, exchange.publish, SystemClock(), IMPATIENT))
    try:
        yield feed, task
    finally:
        task.cancel()
        await asyncio.wait({task})


RECOVERIES: dict[str, tuple[Script, list[str]]] = {
    "silent": ([book("1", "2"), SILENCE], ["quote", "withdrawn", "quote"]),
    "silent from the start": ([SILENCE], ["quote"]),
    "broken": ([book("1", "2"), FeedDroppedError("cut")], ["quote", "withdrawn", "quote"]),
    "broken at once": ([FeedDroppedError("refused")], ["quote"]),
    "ended": ([book("1", "2")], ["quote", "withdrawn", "quote"]),
    "crossed, then silent": ([book("1", "2"), book("3", "2"), SILENCE], ["quote", "crossed", "withdrawn", "quote"]),
}


@pytest.mark.parametrize(("script", "expected"), RECOVERIES.values(), ids=RECOVERIES.keys())
async def test_a_lost_feed_is_withdrawn_and_opened_anew(script: Script, expected: list[str]) -> None:
    exchange = ScriptedExchange([script, [book("1", "3"), SILENCE]])
    async with watched(exchange) as (feed, _):
        await exchange.until(lambda: exchange.rows[-1:] == ["quote"] and exchange.opened == 2)
        assert exchange.rows == expected
        assert (feed.state.reconnects, feed.state.status, exchange.closed) == (1, "live", 1)
    assert exchange.closed == 2


async def test_a_feed_that_sends_only_nonsense_is_given_up_as_stale() -> None:
    """Messages alone do not keep a connection: only books that can be believed do."""
    crossed: Script = [book("3", "2")] * 3
    exchange = ScriptedExchange([[book("1", "2"), *crossed, SILENCE], [book("1", "3"), SILENCE]])
    async with watched(exchange) as (feed, _):
        await exchange.until(lambda: exchange.opened == 2 and exchange.rows[-1] == "quote")
        assert feed.state.rejected == {"crossed": 3}
        assert exchange.rows == ["quote", "crossed", "withdrawn", "crossed", "crossed", "quote"]


async def test_a_refusal_ends_the_watching() -> None:
    exchange = ScriptedExchange([[FeedRefusedError("unknown key")]])
    async with watched(exchange) as (_, task):
        with pytest.raises(FeedRefusedError, match="unknown key"):
            await asyncio.wait_for(task, DEADLINE_SECONDS)
    assert (exchange.opened, exchange.closed) == (1, 1)


async def test_unchanged_books_keep_a_feed_live_without_rows() -> None:
    """For four times as long as silence would be borne."""
    books = 40
    all_sent = asyncio.Event()

    class Repeating(ScriptedExchange):
        async def _books(self, script: Script) -> AsyncIterator[BookTop]:
            for _ in range(books):
                yield book("1", "2")
                await SystemClock().sleep(4 * IMPATIENT.silence / books)
            all_sent.set()

    exchange = Repeating([[]])
    async with watched(exchange) as (feed, _):
        async with asyncio.timeout(DEADLINE_SECONDS):
            await all_sent.wait()
        assert (exchange.rows, exchange.opened, feed.state.status) == (["quote"], 1, "live")
