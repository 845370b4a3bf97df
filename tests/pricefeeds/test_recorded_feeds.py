"""Feeds of the simulated exchanges, recorded over a lost connection, come out of their recordings byte for byte."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from exchanges.credentials import credentials_path
from pricefeeds.feed.connection_loop import ConnectionLoop
from pricefeeds.feed.endpoints import source_of
from pricefeeds.feed.session import FeedSession
from pricefeeds.feed.timeouts import FeedTimeouts
from pricefeeds.quoting.symbol_feed import Row, SymbolFeed
from pricefeeds.raw_replay import replay_raw
from pricefeeds.recording.feed_recorder import Recorder, recording, recordings_folder
from pricefeeds.recording.feed_recording import RecordedEvent, parts_of, read_recording
from runtime.clock import SystemClock
from runtime.tasks import run_all
from session.exchange_entries import Adapter, ExchangeEntry
from session.session import Session
from tests.pricefeeds.conftest import World

DEADLINE_SECONDS = 60.0
ROWS = 20


class RecordedFeeds:
    """All feeds of one exchange, and the rows that they published."""

    def __init__(self, session: Session, exchange: str, recorder: Recorder) -> None:
        self._session = session
        self._exchange = exchange
        self._recorder = recorder
        self._patience = FeedTimeouts()
        self._listeners: list[FeedSession] = []
        self.rows: list[Row] = []

    async def run(self) -> None:
        clock = SystemClock()
        async with source_of(self._session, self._exchange, clock, self._patience.rest_seconds) as source:
            for market in self._session.markets_of(self._exchange):
                now = clock.now()
                feed = SymbolFeed(market, 0, now, self._patience.late_after)
                listener = FeedSession(feed, self.rows.extend, self._recorder, self._patience.limits)
                listener.start(0, now)
                self._listeners.append(listener)
            watches = [ConnectionLoop(source, listener, clock, self._patience) for listener in self._listeners]
            await run_all(*(watch.run() for watch in watches), self._renew())

    async def _renew(self) -> None:
        while True:
            await SystemClock().sleep(0.2)
            for listener in self._listeners:
                listener.correct(100, SystemClock().now())
                listener.renew(SystemClock().now())


@asynccontextmanager
async def recorded(session: Session, exchange: str) -> AsyncIterator[RecordedFeeds]:
    settings = {"late_after": str(FeedTimeouts().late_after)}
    with recording(session, exchange, settings) as recorder:
        feeds = RecordedFeeds(session, exchange, recorder)
        task = asyncio.create_task(feeds.run())
        try:
            yield feeds
        finally:
            task.cancel()
            await asyncio.wait({task})


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not condition():
            await SystemClock().sleep(0.01)


def withdrawals(rows: list[Row]) -> int:
    return sum("withdrawn" in str(getattr(row, "kind", "")) for row in rows)


@pytest.mark.parametrize(
    ("exchange", "adapter"),
    [*((name, "verified") for name in ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")), ("kraken", "generic")],
)
async def test_a_recorded_feed_comes_out_again(world: World, exchange: str, adapter: Adapter) -> None:
    entries = {exchange: ExchangeEntry(exchange, adapter)}
    session = replace(
        world.session,
        upkeep=replace(world.session.upkeep, recordings_mb=100),
        reach=replace(world.session.reach, entries=entries),
    )
    prices = asyncio.create_task(world.run())
    try:
        async with recorded(session, exchange) as feeds:
            await until(lambda: len(feeds.rows) >= ROWS)
            await world.exchanges.gateways[exchange].subscribers.close()
            await until(lambda: withdrawals(feeds.rows) > 0)
            before = len(feeds.rows)
            await until(lambda: len(feeds.rows) >= before + ROWS)
    finally:
        prices.cancel()
        await asyncio.wait({prices})
    folder = recordings_folder(session.home) / session.session_id / exchange
    outcome = replay_raw(read_recording(folder))
    assert outcome.difference is None
    assert sum(outcome.equal_rows.values()) == len(feeds.rows)
    assert outcome.events["opened"] > len(session.markets_of(exchange))
    assert_no_secret(session, exchange)


def assert_no_secret(session: Session, exchange: str) -> None:
    """Check that nothing sent is recorded, above all the signed subscription; nor is a key, however it is written."""
    keys = json.loads(credentials_path(session.home).read_text())[exchange]
    folder = recordings_folder(session.home) / session.session_id / exchange
    text = b"".join(gzip.decompress(path.read_bytes()) for path in parts_of(folder))
    assert len(text) > 10_000
    for name, secret in keys.items():
        assert str(secret).encode() not in text or not secret, name
    assert b"signature" not in text
    assert any(isinstance(entry, RecordedEvent) and entry.kind == "frame" for entry in read_recording(folder))
