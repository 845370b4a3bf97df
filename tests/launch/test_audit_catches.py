"""That the audit can fail, from end to end: bots without the at-most-once rule are caught, on real wire protocols.

Two processes of one exchange, the first of which dies between posting an order and telling anybody. The rule is one
method of the store, `start_sending`; the bots get a store that has it, or one that has not.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from bots.decide.order_decision import Rejected, decide
from bots.execute.leg_executor import LegExecutor
from exchanges.orders.ccxt_account import CcxtAccount, open_session_account
from exchanges.simulated_markets import taker_fees
from launch.chaos.audit_records import Violation
from launch.chaos.books_audit import account_of, violations_of
from market.decide.decision_context import DecisionContext
from market.decide.settings import Settings
from market.trade.arbitrages import Leg, LegRole
from market.trade.leases import UNFENCED, Actor
from market.trade.leg_planning import advancing, markets_by_symbol
from session.clock import SystemClock, wall_now
from session.session import Session
from simulators.faults.faults import Fault
from simulators.matching.exchange_journal import read_journal
from simulators.simulator_server import ACCOUNTS
from store.mongo.mongo_store import MongoTradeStore
from store.queries.store_snapshot import read_snapshot
from store.server.mongo_client import connect
from tests.bots.served_opportunity import MARKETS, TRADED, served_opportunity
from tests.exchanges.served import Served, served

ARBITRAGE = "opportunity-1"
ANYTHING = Settings(
    enabled_exchanges=tuple(taker_fees()),
    taker_fees=taker_fees(),
    min_net_bps=-1_000.0,
    emit_net_bps=-1_000.0,
    max_quote_age_ms=60_000,
)
PAIRS = (("coinbaseexchange", "bitstamp"), ("bitflyer", "kraken"))
"""With and without client order ids."""
WAIT_SECONDS = 20.0


class ForgetfulStore(MongoTradeStore):
    """Whoever asks may send, whether somebody was allowed to before or not."""

    async def start_sending(self, arbitrage_id: str, role: LegRole, by: Actor) -> Leg | None:
        allowed = await super().start_sending(arbitrage_id, role, by)
        arbitrage = await self.arbitrage(arbitrage_id)
        return allowed or (None if arbitrage is None else arbitrage.leg(role))


@dataclass(frozen=True)
class Stage:
    """Simulated exchanges with a database."""

    world: Served
    session: Session

    def account(self, exchange: str) -> CcxtAccount:
        return open_session_account(self.session, exchange, {})

    async def violations(self) -> list[Violation]:
        folder = self.world.home / ACCOUNTS
        accounts = [account_of(name, read_journal(folder / f"{name}.jsonl")) for name in TRADED]
        return violations_of(accounts, await read_snapshot(self.session), MARKETS)


@pytest.fixture
async def stage(mongodb_uri: str, tmp_path: Path) -> AsyncIterator[Stage]:
    async with served(tmp_path) as world:
        session = Session(
            session_id=uuid4().hex,
            mode="paper",
            home=tmp_path,
            kafka="",
            mongodb=mongodb_uri,
            database=f"audit_{uuid4().hex[:8]}",
            markets=MARKETS,
            settlement_currency="USD",
            exchanges_url=world.url,
            rate_limits=False,
        )
        yield Stage(world, session)


async def reserve_both(stage: Stage, store: MongoTradeStore, buy: str, sell: str) -> None:
    opportunity = served_opportunity(stage.world, ARBITRAGE, buy, sell)
    free = {(row.exchange, row.currency): row.free for row in await store.balances.rows()}
    for side in ("buy", "sell"):
        context = DecisionContext(opportunity, ANYTHING, now=wall_now(), free=free)
        reservation = decide(context, side, markets_by_symbol(MARKETS))
        assert not isinstance(reservation, Rejected), reservation
        result = await store.reserve(reservation, UNFENCED)
        assert result.rejection is None
    assert result.arbitrage is not None
    assert result.arbitrage.state == "reserved"


async def die_after_posting(stage: Stage, trader: LegExecutor, exchange: str, role: LegRole) -> None:
    """The exchange has the order and keeps its answer to itself; the process does not live to hear it."""
    stage.world.faults.switch_on(Fault(exchange, "lost_acknowledgement", count=1, manner="timeout"))
    process = asyncio.create_task(trader.execute(ARBITRAGE, role))
    async with asyncio.timeout(WAIT_SECONDS):
        while not stage.world.world.gateways[exchange].exchange.customer.orders:
            await SystemClock().sleep(0.01)
    process.cancel()
    await asyncio.gather(process, return_exceptions=True)


async def take_over(store: MongoTradeStore, trader: LegExecutor, role: LegRole) -> None:
    """Send, where the store allows it, then see the leg through: what every bot does with what it finds."""
    await trader.execute(ARBITRAGE, role)
    arbitrage = await store.arbitrage(ARBITRAGE)
    leg = None if arbitrage is None else arbitrage.leg(role)
    if leg is not None and not leg.is_final:
        await trader.lookup.resolve(ARBITRAGE, leg)


async def traded(stage: Stage, store: MongoTradeStore, buy: str, sell: str) -> list[Violation]:
    """The buying process dies after it has posted, another takes over; what the audit says in the end."""
    accounts = {exchange: stage.account(exchange) for exchange in TRADED}
    try:
        await store.prepare()
        await store.settings.create(ANYTHING)
        for exchange, account in accounts.items():
            await store.balances.replace(exchange, await account.balances(), "before", UNFENCED)
        await reserve_both(stage, store, buy, sell)
        await die_after_posting(stage, LegExecutor(store, accounts[buy], advancing(MARKETS), by=UNFENCED), buy, "buy")
        await take_over(store, LegExecutor(store, accounts[buy], advancing(MARKETS), by=UNFENCED), "buy")
        await take_over(store, LegExecutor(store, accounts[sell], advancing(MARKETS), by=UNFENCED), "sell")
        for exchange, account in accounts.items():
            await store.balances.replace(exchange, await account.balances(), "after", UNFENCED)
        return await stage.violations()
    finally:
        await store.close()
        for account in accounts.values():
            await account.close()


@pytest.mark.parametrize(("buy", "sell"), PAIRS)
async def test_without_the_rule_the_audit_catches_the_second_order(stage: Stage, buy: str, sell: str) -> None:
    session = stage.session
    store = ForgetfulStore(connect(session.mongodb), session.database, session.session_id)
    found = await traded(stage, store, buy, sell)
    assert [one.arbitrage_id for one in found if one.kind == "posted_twice"] == [ARBITRAGE], found


@pytest.mark.parametrize(("buy", "sell"), PAIRS)
async def test_with_the_rule_the_same_death_leaves_nothing_to_object_to(stage: Stage, buy: str, sell: str) -> None:
    session = stage.session
    store = MongoTradeStore(connect(session.mongodb), session.database, session.session_id)
    assert await traded(stage, store, buy, sell) == []
