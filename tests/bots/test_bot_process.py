"""Two whole bots on local paper accounts, with a real Kafka and a real MongoDB between them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import pytest

from bots.errors import BotError
from bots.process import run_bot
from market.money import ZERO
from market.prices.quotes import Quote
from market.trade.arbitrages import Arbitrage
from runtime.clock import wall_now
from session.session import LocalAccounts, Services, Session
from store.mongo.store import MongoTradeStore, open_store
from streams.tick_writer import TickWriter
from streams.topic_admin import ensure_topics
from streams.topic_writer import TopicWriter
from streams.topics import OPPORTUNITIES
from tests.bots.exchange_floor import OPENING, WAIT_SECONDS, until
from tests.bots.ledger import balances_by_fills
from tests.bots.opportunity_rows import opportunity_row
from tests.market.average_rules import app_rule
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, settings_of

MARKETS = (USD_MARKET, EUR_MARKET)
LOW, HIGH = levels(("5900", "1")), levels(("5700", "1"))


@dataclass
class Stage:
    """Services, and one bot per exchange."""

    session: Session
    store: MongoTradeStore
    writer: TopicWriter
    bots: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    offers: int = 0

    async def start(self, exchange: str) -> None:
        ready = asyncio.Event()
        self.bots[exchange] = asyncio.create_task(run_bot(self.session, exchange, app_rule(), ready.set))
        waiting = asyncio.ensure_future(ready.wait())
        await asyncio.wait([waiting, self.bots[exchange]], timeout=20, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        assert ready.is_set()

    async def stop(self, exchange: str) -> None:
        self.bots[exchange].cancel()
        with suppress(asyncio.CancelledError):
            await self.bots[exchange]

    async def offer(self, identity: str) -> None:
        """Fresh quotes on the log, the opportunity in them on its topic.

        The amounts are others than before: what was taken of a level stays taken while it stands."""
        self.offers += 1
        amount = "0.3" if self.offers % 2 else "0.31"
        asks, bids = levels(("6000", amount), ("6001", amount)), levels(("5618", amount), ("5617", amount))
        rows, now = TickWriter(self.writer, ("BTC",), self.session.services.partitions), wall_now()
        for market, shown_bids, shown_asks in ((USD_MARKET, LOW, asks), (EUR_MARKET, bids, HIGH)):
            place = (market.exchange, market.region, market.symbol, market.base, market.quote_currency)
            rows.quote(Quote("quote", *place, shown_bids, shown_asks, None, now, now))
        opportunity = opportunity_of(
            (USD_MARKET, asks),
            (EUR_MARKET, bids),
            identity=identity,
            event_time=now,
            lifetime=20_000_000,
            sequence=now,
        )
        await self.writer.flush()
        self.writer.write(OPPORTUNITIES, opportunity_row(opportunity), "BTC")
        await self.writer.flush()

    async def trade(self, count: int) -> None:
        """Offer until so many more arbitrages have closed: one offered while a bot still sees the last is rejected."""
        closed = len(await self.closed()) + count
        async with asyncio.timeout(WAIT_SECONDS):
            while len(await self.closed()) < closed:
                await self.offer(uuid4().hex)

    async def closed(self) -> list[Arbitrage]:
        return [one for one in await self.store.session_arbitrages() if one.state == "closed"]


@pytest.fixture
async def stage(kafka_address: str, mongodb_uri: str, tmp_path: Path) -> AsyncIterator[Stage]:
    await ensure_topics(kafka_address, partitions=1)
    session = Session(
        session_id=uuid4().hex,
        mode="paper",
        home=tmp_path,
        services=Services(kafka=kafka_address, mongodb=mongodb_uri, database=f"bots_{uuid4().hex[:8]}"),
        markets=MARKETS,
        settlement_currency="USD",
        local_accounts=LocalAccounts(balances=OPENING, latency_ms=5),
    )
    store, writer = await open_store(session), TopicWriter(kafka_address)
    await store.settings.create(settings_of(max_notional=1_500, max_quote_age_ms=20_000))
    one = Stage(session, store, writer)
    for market in MARKETS:
        await one.start(market.exchange)
    yield one
    for exchange in one.bots:
        await one.stop(exchange)
    await writer.close()
    await store.close()


async def test_trades_and_closes_its_books(stage: Stage) -> None:
    await stage.trade(5)
    await stage.stop("beta")
    await stage.start("beta")
    await stage.trade(3)
    await stage.store.stop_reservations()
    before, after = await until(stage.store.balances.of_session, lambda both: both[1].keys() == OPENING.keys())
    assert before == OPENING
    assert balances_by_fills(before, await stage.store.fills()) == after
    for balance in await stage.store.balances.rows():
        assert (balance.held, balance.free) == (ZERO, after[balance.exchange][balance.currency])


async def test_a_raised_threshold_is_obeyed_at_once(stage: Stage) -> None:
    settings = await stage.store.settings.current()
    assert settings is not None
    raised = settings.model_copy(update={"min_net_bps": 90.0, "max_notional": Decimal(700)})
    raised = await stage.store.settings.change(raised, settings.version, "test")
    async with asyncio.timeout(WAIT_SECONDS):
        # on a slow machine a bot may hear of the settings too seldom to take a trade at all
        while "below_threshold" not in await stage.store.rejection_counts():
            await stage.offer(uuid4().hex)
    assert await stage.store.session_arbitrages() == []
    await stage.store.settings.change(settings, raised.version, "test")
    await stage.trade(1)


async def test_whoever_is_replaced_ends_without_a_fault_and_the_next_trades_on(stage: Stage) -> None:
    await stage.trade(1)
    holder = next(lease.holder for lease in await stage.store.leases.all() if lease.exchange == "beta")
    # a renewal may come between
    lease = await until(lambda: stage.store.leases.acquire("beta", holder), lambda taken: taken is not None)
    assert lease is not None
    await asyncio.wait_for(stage.bots["beta"], WAIT_SECONDS)
    await stage.store.leases.release(lease)
    await stage.start("beta")
    await stage.trade(1)


async def test_an_exchange_that_the_session_has_not(stage: Stage) -> None:
    with pytest.raises(BotError, match="no exchange nowhere"):
        await run_bot(stage.session, "nowhere", app_rule(), lambda: None)
