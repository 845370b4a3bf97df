"""Shows that the audit can fail, end to end: it catches bots without the at-most-once rule, on real wire
protocols.

There are two processes of one exchange, the first of which dies between posting an order and reporting it. The rule is
the token that a leg is granted to; the bots get a store that keeps it, or one that says that it is the asker's.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pytest

from bots.decide.order_decision import Rejected, decide
from bots.execute.due_actions import Executing, due_actions
from bots.execute.leg_executor import LegExecutor
from bots.server_clock import ServerClock
from exchanges.accounts.exchange_account import ExchangeAccount, open_session_account
from exchanges.ports.account import TradingAccount
from exchanges.simulated_markets import taker_fees
from launch.chaos.audit.books import account_of, evidence_of, violations_of
from launch.chaos.audit.records import Violation
from market.decide.decision_context import DecisionContext
from market.decide.settings import Settings
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.grants import grants_in
from market.trade.leases import UNFENCED, Actor
from market.trade.unwinding import advancing, markets_by_symbol
from runtime.clock import SystemClock, wall_now
from session.session import Services, Session, SimulatedTerms
from simulators.faults.fault_kinds import Fault
from simulators.matching.exchange_journal import read_journal
from simulators.server import ACCOUNTS
from store.mongo.store import MongoTradeStore
from store.queries.store_snapshot import read_snapshot
from store.server.client import connect
from tests.bots.served_opportunity import MARKETS, TRADED, served_opportunity
from tests.exchanges.served import Served, served
from tests.store.booking import book_reported

ARBITRAGE = "opportunity-1"
ANYTHING = Settings(
    enabled_exchanges=tuple(taker_fees()),
    taker_fees=taker_fees(),
    min_net_bps=-1_000.0,
    emit_net_bps=-1_000.0,
    max_quote_age_ms=60_000,
)
PAIRS = (("coinbaseexchange", "bitstamp"), ("bitflyer", "kraken"))
"""Exchanges with and without client order ids."""
WAIT_SECONDS = 20.0


class ForgetfulStore(MongoTradeStore):
    """Grants every leg to whoever acts for its exchange now, whether it was granted to another before or not."""

    async def open_arbitrages(self) -> list[Arbitrage]:
        tokens = {lease.exchange: lease.token for lease in await self.leases.all()}
        return [
            replace(one, legs=tuple(replace(leg, token=tokens[leg.exchange]) for leg in one.legs))
            for one in await super().open_arbitrages()
        ]


@dataclass(frozen=True)
class Stage:
    """Simulated exchanges with a database."""

    world: Served
    session: Session

    def account(self, exchange: str) -> ExchangeAccount:
        return open_session_account(self.session, exchange, {})

    async def violations(self) -> list[Violation]:
        folder = self.world.home / ACCOUNTS
        accounts = [account_of(name, read_journal(folder / f"{name}.jsonl")) for name in TRADED]
        return violations_of(evidence_of(accounts, await read_snapshot(self.session), MARKETS))


@pytest.fixture
async def stage(mongodb_uri: str, tmp_path: Path) -> AsyncIterator[Stage]:
    async with served(tmp_path) as world:
        session = Session(
            session_id=uuid4().hex,
            mode="paper",
            home=tmp_path,
            services=Services(kafka="", mongodb=mongodb_uri, database=f"audit_{uuid4().hex[:8]}"),
            markets=MARKETS,
            settlement_currency="USD",
            simulated=SimulatedTerms(url=world.url, rate_limits=False),
        )
        yield Stage(world, session)


async def reserve_both(
    stage: Stage, store: MongoTradeStore, buy: str, sell: str, by: Actor = UNFENCED
) -> tuple[Leg, Leg]:
    """Return the buy and the sell, granted."""
    opportunity = served_opportunity(stage.world, ARBITRAGE, buy, sell)
    free = {(row.exchange, row.currency): row.free for row in await store.balances.rows()}
    reservation = decide(DecisionContext(opportunity, ANYTHING, now=wall_now(), free=free), markets_by_symbol(MARKETS))
    assert not isinstance(reservation, Rejected), reservation
    result = await store.reserve(reservation, by)
    assert result.arbitrage is not None, result.rejection
    bought, sold = result.arbitrage.legs
    assert (bought.state, sold.state) == ("granted", "granted")
    return bought, sold


def trader_of(store: MongoTradeStore, account: TradingAccount, leg: Leg, by: Actor = UNFENCED) -> LegExecutor:
    """Return a trader by whose clock it is always the moment of the grant of `leg`: a busy machine stops no order, only
    the token can."""
    clock = ServerClock(lambda: 0)
    clock.observe(leg.times["granted"], 0)
    return LegExecutor(store, account, by=by, server_clock=clock)


async def ready_bot(store: MongoTradeStore, exchange: str) -> Actor:
    """Return a bot whose process holds the lease; the next of the same name takes it over at once."""
    lease = await store.leases.acquire(exchange, f"bot-{exchange}")
    assert lease is not None
    await store.leases.set_veto(lease.actor, None)
    return lease.actor


async def die_after_posting(stage: Stage, trader: LegExecutor, exchange: str, leg: Leg) -> None:
    """Post an order whose answer the exchange keeps to itself, and end the process before it could hear it."""
    stage.world.faults.switch_on(Fault(exchange, "lost_acknowledgement", count=1, manner="timeout"))
    process = asyncio.create_task(trader.execute(ARBITRAGE, leg))
    async with asyncio.timeout(WAIT_SECONDS):
        while not stage.world.world.gateways[exchange].exchange.customer.orders:
            await SystemClock().sleep(0.01)
    process.cancel()
    await asyncio.gather(process, return_exceptions=True)


async def take_over(store: MongoTradeStore, trader: LegExecutor, exchange: str) -> str:
    """Act on what is found as every bot does. Returns what that was."""
    own = Executing(exchange, trader.by.token, markets_by_symbol(MARKETS))
    [due] = due_actions(grants_in(await store.open_arbitrages(), exchange), own)
    follow = {"execute": trader.execute, "resolve": trader.lookup.resolve}
    await follow[due.what](due.arbitrage_id, due.leg)
    await book_reported(store, advancing(MARKETS))
    return due.what


async def traded(stage: Stage, store: MongoTradeStore, buy: str, sell: str) -> tuple[str, list[Violation]]:
    """Let the buying process die after it has posted, and another take over. Returns what that one did, and the audit's
    result."""
    accounts = {exchange: stage.account(exchange) for exchange in TRADED}
    try:
        await store.prepare()
        await store.settings.create(ANYTHING)
        for exchange, account in accounts.items():
            await store.balances.replace(exchange, await account.balances(), "before", UNFENCED)
        first, other = await ready_bot(store, buy), await ready_bot(store, sell)
        bought, sold = await reserve_both(stage, store, buy, sell, first)
        assert bought.token == first.token
        await die_after_posting(stage, trader_of(store, accounts[buy], bought, first), buy, bought)
        second = await ready_bot(store, buy)
        assert second.token > first.token
        what = await take_over(store, trader_of(store, accounts[buy], bought, second), buy)
        assert await take_over(store, trader_of(store, accounts[sell], sold, other), sell) == "execute"
        for exchange, account in accounts.items():
            await store.balances.replace(exchange, await account.balances(), "after", UNFENCED)
        return what, await stage.violations()
    finally:
        await store.close()
        for account in accounts.values():
            await account.close()


@pytest.mark.parametrize(("buy", "sell"), PAIRS)
async def test_without_the_rule_the_audit_catches_the_second_order(stage: Stage, buy: str, sell: str) -> None:
    session = stage.session
    store = ForgetfulStore(connect(session.services.mongodb), session.services.database, session.session_id)
    what, found = await traded(stage, store, buy, sell)
    assert what == "execute"
    assert [one.arbitrage_id for one in found if one.kind == "posted_twice"] == [ARBITRAGE], found


@pytest.mark.parametrize(("buy", "sell"), PAIRS)
async def test_with_the_rule_the_same_death_leaves_nothing_to_object_to(stage: Stage, buy: str, sell: str) -> None:
    session = stage.session
    store = MongoTradeStore(connect(session.services.mongodb), session.services.database, session.session_id)
    assert await traded(stage, store, buy, sell) == ("resolve", [])
