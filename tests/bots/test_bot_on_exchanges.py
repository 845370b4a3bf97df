"""Whole bots through ccxt on the simulated exchanges, every exchange buying and selling once, on real services."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from bots.process import run_bot
from exchanges.accounts.exchange_account import open_account
from exchanges.simulated_markets import taker_fees
from market.decide.settings import Settings
from market.money import ZERO
from market.trade.arbitrages import FINAL_STATES, Arbitrage
from session.session import Services, Session, SimulatedTerms
from store.mongo.store import MongoTradeStore, open_store
from streams.topic_admin import ensure_topics
from streams.topic_writer import TopicWriter
from streams.topics import OPPORTUNITIES
from tests.bots.exchange_floor import WAIT_SECONDS, until
from tests.bots.ledger import balances_by_fills
from tests.bots.opportunity_rows import opportunity_row
from tests.bots.served_opportunity import MARKETS, TRADED, served_opportunity
from tests.exchanges.served import Served, order_on, served
from tests.market.average_rules import app_rule

ROUND = (
    ("coinbaseexchange", "bitstamp"),
    ("bitstamp", "bitflyer"),
    ("bitflyer", "kraken"),
    ("kraken", "coinbaseexchange"),
)
"""Prices stand still, so these lose: the settings allow it."""
ANYTHING = Settings(
    enabled_exchanges=tuple(taker_fees()),
    taker_fees=taker_fees(),
    min_net_bps=-1_000.0,
    emit_net_bps=-1_000.0,
    max_quote_age_ms=60_000,
)


@dataclass
class Stage:
    """The exchanges, the services and a bot per exchange."""

    world: Served
    session: Session
    store: MongoTradeStore
    writer: TopicWriter
    bots: list[asyncio.Task[None]] = field(default_factory=list)

    async def trade(self, buy: str, sell: str) -> Arbitrage:
        """Offer until it is taken: whoever decides rejects the next while it still sees the last arbitrage open."""
        identity = ""
        async with asyncio.timeout(WAIT_SECONDS):
            while not identity or await self.store.arbitrage(identity) is None:
                identity = uuid4().hex
                self.writer.write(
                    OPPORTUNITIES, opportunity_row(served_opportunity(self.world, identity, buy, sell)), "BTC"
                )
                await self.writer.flush()
                await self._reported(identity)
        arbitrage = await until(
            lambda: self.store.arbitrage(identity), lambda one: one is not None and one.state in FINAL_STATES
        )
        assert arbitrage is not None
        return arbitrage

    async def _reported(self, identity: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                await until(lambda: self.store.arbitrage(identity), lambda one: one is not None)


def session_at(world: Served, kafka: str, mongodb: str) -> Session:
    return Session(
        session_id=uuid4().hex,
        mode="paper",
        home=world.home,
        services=Services(kafka=kafka, mongodb=mongodb, database=f"bots_{uuid4().hex[:8]}"),
        markets=MARKETS,
        settlement_currency="USD",
        simulated=SimulatedTerms(url=world.url, rate_limits=world.is_limited),
    )


@pytest.fixture
async def stage(kafka_address: str, mongodb_uri: str, tmp_path: Path) -> AsyncIterator[Stage]:
    await ensure_topics(kafka_address, partitions=1)
    async with served(tmp_path) as world:
        session = session_at(world, kafka_address, mongodb_uri)
        store, writer = await open_store(session), TopicWriter(kafka_address)
        await store.settings.create(ANYTHING)
        one = Stage(world, session, store, writer)
        ready = {exchange: asyncio.Event() for exchange in TRADED}
        one.bots = [
            asyncio.create_task(run_bot(session, exchange, app_rule(), ready[exchange].set)) for exchange in TRADED
        ]
        async with asyncio.timeout(WAIT_SECONDS):
            for event in ready.values():
                await event.wait()
        yield one
        for bot in one.bots:
            bot.cancel()
        await asyncio.wait(one.bots)
        await writer.close()
        await store.close()


async def test_every_exchange_buys_and_sells_and_the_books_balance(stage: Stage) -> None:
    for buy, sell in ROUND:
        arbitrage = await stage.trade(buy, sell)
        assert arbitrage.state == "closed", (buy, sell, arbitrage.reason)
        assert arbitrage.profit is not None
        assert arbitrage.profit.fees < ZERO
    await stage.store.stop_reservations()
    before, after = await until(stage.store.balances.of_session, lambda both: both[1].keys() == TRADED.keys())
    fills = await stage.store.fills()
    assert {(fill.exchange, fill.side) for fill in fills} == {
        (name, side) for name in TRADED for side in ("buy", "sell")
    }
    assert balances_by_fills(before, fills) == after


async def test_what_a_person_sells_in_the_middle_is_not_sold_again_until_they_say_so(stage: Stage) -> None:
    """By hand over the exchange's own API, while whole bots trade on the account."""
    assert (await stage.trade("coinbaseexchange", "kraken")).state == "closed"
    await stage.store.settings.amend(lambda now: now.model_copy(update={"reconcile_ms": 1_000}), "test")
    hand = open_account(stage.world.config("kraken"), MARKETS)
    owned = (await hand.balances())["BTC"]
    await hand.place(order_on(TRADED["kraken"], "sell", owned, TRADED["kraken"].tick_size))
    left = (await hand.balances())["BTC"]
    await hand.close()
    assert left < owned

    async def reduce_only() -> list[str]:
        return [one.exchange for one in await stage.store.health.all() if one.unexplained_since]

    await until(reduce_only, lambda names: names == ["kraken"])
    asked = uuid4().hex
    row = opportunity_row(served_opportunity(stage.world, asked, "coinbaseexchange", "kraken"))
    stage.writer.write(OPPORTUNITIES, row, "BTC")
    await stage.writer.flush()
    assert (await stage.trade("bitstamp", "bitflyer")).state == "closed", "the others trade on"
    assert await stage.store.arbitrage(asked) is None

    # the last of those found: each fill and each balance is one
    await until(stage.store.differences.stored, lambda known: any(one.subject == "USD" for one in known))

    async def acknowledged() -> list[str]:
        for one in await stage.store.differences.stored():
            if one.is_open:
                await stage.store.differences.settle(one.difference_id, "acknowledged", "owner")
        return await reduce_only()

    await until(acknowledged, lambda names: names == [])
    assert (await stage.trade("kraken", "coinbaseexchange")).state == "closed"
    rows = {(one.exchange, one.currency): one for one in await stage.store.balances.rows()}
    theirs = stage.world.world.gateways["kraken"].exchange.balances
    assert {name: rows["kraken", name].free for name in ("BTC", "USD")} == {
        name: theirs[name] for name in ("BTC", "USD")
    }


async def test_a_bot_begins_with_what_its_exchange_counted_before_and_leaves_what_it_counts(
    kafka_address: str, mongodb_uri: str, tmp_path: Path
) -> None:
    await ensure_topics(kafka_address, partitions=1)
    async with served(tmp_path, only=("bitflyer",), is_limited=True) as world:
        session = session_at(world, kafka_address, mongodb_uri)
        async with await open_store(session) as store:
            await store.settings.create(ANYTHING)
            before = await store.leases.acquire("bitflyer", "before")
            assert before is not None
            await store.leases.release(before, '{"trades":{"orders":[[0,77]]}}')
            ready = asyncio.Event()
            bot = asyncio.create_task(run_bot(session, "bitflyer", app_rule(), ready.set))
            async with asyncio.timeout(WAIT_SECONDS):
                await ready.wait()
            bot.cancel()
            await asyncio.wait([bot])
            after = await store.leases.acquire("bitflyer", "after")
    assert after is not None
    used = json.loads(after.used)
    assert [weight for _, weight in used["trades"]["orders"]] == [77]
    # it has asked for its balances
    assert used["polls"]["private"]
