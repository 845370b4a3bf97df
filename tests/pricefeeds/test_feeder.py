"""Whole feeders: simulated exchanges on their wire protocols, a real Kafka, and a store that is not there."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest

from exchanges.simulated_markets import simulated_markets
from pricefeeds.feed.feeder import run_feeder
from pricefeeds.feed.timeouts import FeedTimeouts
from pricefeeds.raw_replay import replay_raw
from pricefeeds.recording.feed_recorder import recordings_folder
from pricefeeds.recording.feed_recording import read_recording
from session.session import Placement, Session
from store.mongo.database_setup import prepare_database
from store.mongo.store import open_store
from streams.last_sequences import last_sequences
from streams.message_format import quote_of, row_of
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topics import QUOTES, REGION_TOPICS, REJECTS, TICKS
from tests.market.samples import settings_of
from tests.pricefeeds.conftest import World
from tests.pricefeeds.recorded_notes import notes_in

DEADLINE_SECONDS = 60.0
STILL_ROWS = 20
NO_STORE = "mongodb://127.0.0.1:1/?replicaSet=rs0"
Row = dict[str, object]


@pytest.fixture
async def session(world: World, kafka_address: str) -> Session:
    await ensure_topics(kafka_address, 1)
    return replace(
        world.session,
        services=replace(world.session.services, kafka=kafka_address, mongodb=NO_STORE, database="feeder"),
    )


@asynccontextmanager
async def feeding(session: Session, *exchanges: str) -> AsyncIterator[None]:
    """Feeders of `exchanges`, all ready; stopped as SIGTERM stops them."""
    ready = {exchange: asyncio.Event() for exchange in exchanges}
    patience = FeedTimeouts(stale_after=1.0)
    tasks = [asyncio.create_task(run_feeder(session, name, ready[name].set, patience)) for name in exchanges]
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await asyncio.gather(*(event.wait() for event in ready.values()))
        yield
    finally:
        for task in tasks:
            task.cancel()
        _, late = await asyncio.wait(tasks, timeout=DEADLINE_SECONDS)
        assert late == set()


@asynccontextmanager
async def moving(world: World) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(world.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


class LogView:
    """Rows of `ticks` and `rejects` since it was opened."""

    def __init__(self, reader: TopicReader) -> None:
        self._records = reader.records()
        self.rows: list[Row] = []

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not condition():
                self.rows.append(row_of((await anext(self._records)).value))

    def kinds(self, exchange: str, symbol: str) -> list[object]:
        return [row["kind"] for row in self.of(exchange, symbol)]

    def of(self, exchange: str, symbol: str) -> list[Row]:
        return [row for row in self.rows if (row.get("exchange"), row.get("symbol")) == (exchange, symbol)]


@asynccontextmanager
async def viewing(session: Session, *topics: str) -> AsyncIterator[LogView]:
    async with TopicReader(session.services.kafka, topics, "latest") as reader:
        yield LogView(reader)


async def test_every_exchange_feeds_the_log(world: World, session: Session) -> None:
    symbols = [(market.exchange, market.symbol) for market in session.markets]
    async with viewing(session, TICKS) as log:
        async with moving(world), feeding(session, *session.exchanges):
            await log.until(lambda: all(_is_fed(log.kinds(*symbol)) for symbol in symbols))
        await log.until(lambda: all(str(log.kinds(*symbol)[-1]).endswith("withdrawn") for symbol in symbols))
    for exchange, symbol in symbols:
        rows = log.of(exchange, symbol)
        sequences = [row["sequence"] for row in rows]
        assert all(isinstance(one, int) and isinstance(two, int) and one < two for one, two in pairwise(sequences))
        quotes = [quote_of(row) for row in rows if row["kind"] in ("quote", "fx")]
        assert all(len(quote.bids) == len(quote.asks) == 10 and quote.bid < quote.ask for quote in quotes)
        assert all((one.bids, one.asks) != (two.bids, two.asks) for one, two in pairwise(quotes))
    assert {row["kind"] for row in log.of("kraken", "EUR/USD")} == {"fx", "fx_alive", "fx_withdrawn"}
    assert all(row["bases"] == ["BTC"] for row in log.of("kraken", "USD/JPY"))


async def test_in_a_region_a_feed_offers_its_rows_to_other_regions(world: World, session: Session) -> None:
    await ensure_topics(session.services.kafka, session.services.partitions, REGION_TOPICS)
    here = replace(session, place=Placement("jp", ("us", "jp")))
    async with viewing(here, QUOTES) as offered, viewing(here, TICKS) as log:
        async with moving(world), feeding(here, "bitflyer"):
            await offered.until(lambda: _quotes(offered) > 0)
        await offered.until(lambda: offered.kinds("bitflyer", "BTC/JPY")[-1] == "withdrawn")
        await log.until(lambda: len(log.rows) == len(offered.rows))
    assert offered.rows == log.rows


async def test_an_exchange_that_restarts_is_withdrawn_and_comes_back(world: World, session: Session) -> None:
    exchanges = ("coinbaseexchange", "bitflyer")
    async with viewing(session, TICKS) as log, moving(world), feeding(session, *exchanges):
        await log.until(lambda: _quotes(log) > 0)
        for name in exchanges:
            await world.exchanges.gateways[name].subscribers.close()
        await log.until(lambda: all(_is_back(log.kinds(*symbol)) for symbol in RESTARTED))


async def test_a_feeder_goes_on_above_its_last_sequence(world: World, session: Session) -> None:
    async with moving(world), feeding(session, "bitflyer"):
        pass
    last = (await last_sequences(session.services.kafka, "bitflyer"))["BTC/JPY"]
    async with viewing(session, TICKS) as log, moving(world), feeding(session, "bitflyer"):
        await log.until(lambda: _quotes(log) > 0)
    first = log.of("bitflyer", "BTC/JPY")[0]["sequence"]
    assert isinstance(first, int)
    assert first > last


async def test_an_asset_on_standby_is_fed_once_it_was_added(world: World, session: Session, mongodb_uri: str) -> None:
    markets = simulated_markets(("BTC", "ETH"))
    session = replace(
        session,
        services=replace(session.services, mongodb=mongodb_uri, database="standby"),
        markets=markets,
        standby_assets=("ETH",),
    )
    first = settings_of(enabled_exchanges=("kraken",), taker_fees={"kraken": Decimal("0.001")})
    await prepare_database(session, first)
    async with viewing(session, TICKS) as log, moving(world), feeding(session, "kraken"):
        await log.until(lambda: len(log.of("kraken", "BTC/USD")) > STILL_ROWS)
        assert log.of("kraken", "ETH/USD") == []
        async with await open_store(session) as store:
            await store.settings.amend(lambda now: now.model_copy(update={"enabled_assets": ("ETH",)}), "test")
        await log.until(lambda: _is_fed(log.kinds("kraken", "ETH/USD")))


async def test_a_feed_looks_as_deep_as_trades_may_reach_and_its_recording_says_so(
    world: World, session: Session, mongodb_uri: str
) -> None:
    session = replace(
        session,
        services=replace(session.services, mongodb=mongodb_uri, database="depth"),
        upkeep=replace(session.upkeep, recordings_mb=10),
    )
    first = settings_of(enabled_exchanges=("kraken",), taker_fees={"kraken": Decimal("0.001")})
    await prepare_database(session, first)
    folder = recordings_folder(session.home) / session.session_id / "kraken"

    def depths(symbol: str) -> list[str | bytes]:
        return [note.data for note in notes_in(folder) if note.kind == "depth" and note.symbol == symbol]

    async with viewing(session, TICKS) as log, moving(world), feeding(session, "kraken"):
        await log.until(lambda: len(depths("BTC/USD")) == 1)
        async with await open_store(session) as store:
            await store.settings.amend(lambda now: now.model_copy(update={"max_notional": Decimal(100)}), "test")
        await log.until(lambda: len(depths("BTC/USD")) == 2)
        looked_at = len(log.rows)
        await log.until(lambda: len(log.rows) > looked_at + STILL_ROWS)
    assert (depths("BTC/USD"), depths("EUR/USD")) == (["5125", "625"], ["0"])
    assert replay_raw(read_recording(folder)).difference is None


async def test_a_crossed_book_goes_to_the_rejects(world: World, session: Session) -> None:
    async with viewing(session, REJECTS) as rejects, moving(world), feeding(session, "bitflyer"):
        # The reader believes a bid far above the asks: a level that the exchange itself never had.
        subscribers = world.exchanges.gateways["bitflyer"].subscribers
        channel = "lightning_board_BTC_JPY"
        message = {"mid_price": 1, "bids": [{"price": 99_000_000, "size": 1}], "asks": []}
        params = {"channel": channel, "message": message}
        subscribers.broadcast(channel, {"jsonrpc": "2.0", "method": "channelMessage", "params": params})
        await rejects.until(lambda: bool(rejects.of("bitflyer", "BTC/JPY")))
    row = rejects.of("bitflyer", "BTC/JPY")[0]
    assert row["reason"] == "crossed"
    assert str(row["bids"]).startswith('[["99000000","1"]')


RESTARTED = (("coinbaseexchange", "BTC/USD"), ("bitflyer", "BTC/JPY"))


def _is_fed(kinds: list[object]) -> bool:
    return any(kind in ("quote", "fx") for kind in kinds) and any(kind in ("alive", "fx_alive") for kind in kinds)


def _is_back(kinds: list[object]) -> bool:
    return "withdrawn" in kinds and "quote" in kinds[kinds.index("withdrawn") :]


def _quotes(log: LogView) -> int:
    return sum(row["kind"] == "quote" for row in log.rows)
