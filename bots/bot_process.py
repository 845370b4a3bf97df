"""One bot process: one exchange's account, the store and the streams, put together."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress

from bots.bot_loop import BotLoop
from bots.dead_mans_switch import DeadMansSwitch
from bots.decide.partner_budgets import partners_of
from bots.decide.quote_lookup import NewestQuotes
from bots.decide.state_cache import StateCache
from bots.draining import Draining, until_left
from bots.errors import BotError
from bots.lease_keeper import LeaseKeeper, holder_name
from bots.position_reporter import PositionReporter
from bots.reconcile.reconciler import Reconciliation
from bots.retry import Errand, wait_for
from bots.strategies.average_trader import AverageTrader
from bots.subscriptions import follow_quotes, signals
from exchanges.account_port import TradingAccount
from exchanges.orders.ccxt_account import CcxtAccount, open_session_account
from exchanges.paper.paper_account import PaperAccount
from exchanges.paper.paper_conditions import FillConditions
from exchanges.paper.paper_journal import PaperJournal
from market.decide.settings import Settings
from market.money import ZERO
from market.trade.inflight_orders import WITHOUT_CLIENT_IDS
from market.trade.leases import Actor
from market.trade.leg_planning import advancing
from session.clock import SystemClock
from session.session import Session
from session.tasks import together
from store.errors import FencedOutError, StoreUnavailableError
from store.mongo.mongo_store import MongoTradeStore, open_store
from store.store_port import TradeStore
from streams.latest_rows import LatestRows
from streams.records import Newest
from streams.topic_reader import TopicReader
from streams.topics import OPPORTUNITIES, SPREADS, TICKS

log = logging.getLogger(__name__)

RECENT_ROWS = 2_000
"""Of each partition of the log: enough to hold the newest quote of every live symbol."""


SETTINGS_SECONDS = 0.25


async def run_bot(
    session: Session,
    exchange: str,
    ready: Callable[[], None],
    environment: Mapping[str, str] | None = None,
    departure: Draining | None = None,
) -> None:
    """Trade for `exchange` until cancelled; `ready` once its books are open and it reads opportunities.

    `environment` has the keys of a real account, and whether trading for real is armed.

    Ends by itself once another process of the exchange has taken over, or `departure` is over. Raises StoreError,
    StreamError or BotError: the process ends with it and is started again.
    """
    if exchange not in session.exchanges:
        raise BotError(f"this session has no exchange {exchange}, only {', '.join(session.exchanges)}.")
    departure = departure or Draining()
    try:
        await until_left(_trade(session, exchange, ready, environment or {}, departure), departure)
    except FencedOutError as error:
        log.warning("%s", error, extra={"exchange": exchange})
    except ExceptionGroup as failures:
        failure = _first(failures)
        if not isinstance(failure, FencedOutError):
            raise failure from None
        log.warning("%s", failure, extra={"exchange": exchange})


async def _trade(
    session: Session, exchange: str, ready: Callable[[], None], environment: Mapping[str, str], departure: Draining
) -> None:
    async with AsyncExitStack() as stack:
        store = await wait_for(lambda: open_store(session))
        stack.push_async_callback(store.close)
        tenure = LeaseKeeper(store, exchange, holder_name(exchange))
        by = await wait_for(lambda: tenure.take(ready))
        stack.push_async_callback(_released, tenure)
        knowledge = StateCache(await _settings(store))
        knowledge.holds_lease = tenure.is_held
        account = _account(session, exchange, knowledge, environment)
        if isinstance(account, CcxtAccount):
            tenure.carry(account)
        stack.push_async_callback(account.close)
        glance = await _glance(session, stack)
        strategy = AverageTrader(exchange, session, store, NewestQuotes(glance), session.clock(), knowledge, by)
        reconciliation = _reconciliation(session, store, account, knowledge, by)
        errands = (strategy.run, reconciliation.run, *_switched(account, stack))
        desk = BotLoop(store, account, session.traded, session.clock(), knowledge, by=by, errands=errands)
        departure.desk = desk
        await together(tenure.keep(), _work(session, store, desk, account, stack, ready))


async def _work(
    session: Session,
    store: MongoTradeStore,
    desk: BotLoop,
    account: TradingAccount,
    stack: AsyncExitStack,
    ready: Callable[[], None],
) -> None:
    reader = await _opened(session, (OPPORTUNITIES, SPREADS), stack)
    standings = (store.arbitrages_standing, store.settings_standing)
    teller = PositionReporter(desk.exchange, store.reach, reader, standings, lambda: desk.knowledge.server_ahead)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(teller.run())
        if isinstance(account, PaperAccount):
            quotes = await _opened(session, (TICKS,), stack, Newest(RECENT_ROWS))
            tasks.create_task(follow_quotes(quotes, account))
        await desk.run(signals(reader, desk.exchange), ready)


def _reconciliation(
    session: Session, store: TradeStore, account: TradingAccount, knowledge: StateCache, by: Actor
) -> Reconciliation:
    return Reconciliation(
        store=store,
        account=account,
        advance=advancing(session.traded),
        settings=lambda: knowledge.settings,
        by=by,
        has_client_ids=account.exchange not in WITHOUT_CLIENT_IDS,
    )


def _switched(account: TradingAccount, stack: AsyncExitStack) -> tuple[Errand, ...]:
    """The errand that keeps the exchange's dead man's switch armed, where it has one; disarmed with the stack."""
    if not isinstance(account, CcxtAccount) or not account.has_dead_mans_switch:
        return ()
    switch = DeadMansSwitch(account)
    stack.push_async_exit(switch.leave)
    return (switch.run,)


def _account(session: Session, exchange: str, knowledge: StateCache, environment: Mapping[str, str]) -> TradingAccount:
    """On the exchange, simulated or real, where the session has one; else local paper."""
    if session.exchanges_url is not None or session.mode in ("sandbox", "live"):
        account = open_session_account(session, exchange, environment)
        knowledge.legs_left, knowledge.has_room = account.legs_left, account.has_room
        if account.legs_left() is not None:
            knowledge.partners = partners_of(exchange, session.exchanges)
        return account
    return PaperAccount(
        exchange=exchange,
        markets=session.traded,
        opening=session.paper_balances.get(exchange, {}),
        # one for all sessions of the data folder: what was earned stays there
        journal=PaperJournal(session.home / "paper" / f"{exchange}.jsonl"),
        clock=session.clock(),
        fee_rate=lambda: knowledge.settings.taker_fees.get(exchange, ZERO),
        latency_ms=session.paper_latency_ms,
        conditions=FillConditions(
            session.paper_latency_spread, session.seed, lambda: knowledge.settings.max_quote_age_ms * 1_000
        ),
    )


async def _opened(
    session: Session, topics: tuple[str, ...], stack: AsyncExitStack, start: Newest | None = None
) -> TopicReader:
    reader = TopicReader(session.kafka, topics, start or "latest")
    await wait_for(reader.open)
    stack.push_async_callback(reader.close)
    return reader


async def _glance(session: Session, stack: AsyncExitStack) -> LatestRows:
    glance = LatestRows(session.kafka, TICKS)
    await wait_for(glance.open)
    stack.push_async_callback(glance.close)
    return glance


async def _released(tenure: LeaseKeeper) -> None:
    with suppress(StoreUnavailableError):
        await tenure.release()


async def _settings(store: TradeStore) -> Settings:
    """Those in force; the first of a session are created beside us."""
    while True:
        settings = await wait_for(store.settings)
        if settings is not None:
            return settings
        await SystemClock().sleep(SETTINGS_SECONDS)


def _first(failures: BaseExceptionGroup[Exception]) -> Exception:
    """The first failure itself; groups within groups say nothing more."""
    failure: BaseException = failures
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure if isinstance(failure, Exception) else BotError(str(failure))
