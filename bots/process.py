"""The bot process: wires one exchange's account, the store and the streams together."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial

from bots.decide.newest_quotes import NewestQuotes
from bots.decide.partner_budgets import partners_of
from bots.decide.state_cache import StateCache
from bots.draining import Draining, run_until_drained
from bots.errors import BotError
from bots.execute.dead_mans_switch import DeadMansSwitch
from bots.lease_keeper import LeaseKeeper, holder_name
from bots.loop import BotLoop
from bots.position_reporter import PositionReporter
from bots.reconcile.money_in_transit import NothingInTransit
from bots.reconcile.reconciler import Reconciliation
from bots.rehearsal import rehearse
from bots.retry import BackgroundTask, retry_until_done
from bots.strategies.average_trader import AverageTrader
from bots.subscriptions import follow_quotes, keep_pace, signals
from bots.transfers.session_transfers import know_transfers, transfer_maker
from exchanges.accounts.exchange_account import ExchangeAccount, open_session_account
from exchanges.paper.account import PaperAccount
from exchanges.paper.conditions import FillConditions
from exchanges.paper.journal import PaperJournal
from exchanges.ports.account import TradingAccount
from market.decide.market_rules import market_in_force
from market.decide.place_values import PlaceValues
from market.decide.settings import Settings
from market.money import ZERO
from market.trade.inflight_orders import WITHOUT_CLIENT_IDS
from market.trade.leases import Actor
from market.trade.moving_average import AverageRule
from market.trade.unwinding import advancing
from runtime.clock import SystemClock
from runtime.tasks import run_all
from session.session import Session
from store.errors import FencedOutError, StoreUnavailableError
from store.mongo.store import MongoTradeStore, open_store
from store.ports.trading import TradeStore
from streams.latest_rows import LatestRows
from streams.records import Newest
from streams.topic_reader import TopicReader
from streams.topics import CYCLE_OPPORTUNITIES, OPPORTUNITIES, SPREADS, TICKS

log = logging.getLogger(__name__)

RECENT_ROWS = 2_000
"""Rows read per partition at the start: enough to hold the newest quote of every live symbol."""


SETTINGS_POLL_SECONDS = 0.25


async def run_bot(
    session: Session,
    exchange: str,
    average_rule: AverageRule,
    ready: Callable[[], None],
    environment: Mapping[str, str] | None = None,
    draining: Draining | None = None,
) -> None:
    """Trade for `exchange` until cancelled. `ready` is called once the opening balances are stored and opportunities
    are read. `average_rule`: of the moving average strategy.

    `environment` holds the API keys of a real account and the switch that arms live trading.

    Returns once another process has taken over the exchange, or `draining` has finished. Raises StoreError, StreamError
    or BotError: the process exits with it and is restarted.
    """
    if exchange not in session.exchanges:
        raise BotError(f"this session has no exchange {exchange}, only {', '.join(session.exchanges)}.")
    draining = draining or Draining()
    try:
        await run_until_drained(_trade(session, exchange, average_rule, ready, environment or {}, draining), draining)
    except FencedOutError as error:
        log.warning("%s", error, extra={"exchange": exchange})
    except ExceptionGroup as failures:
        failure = _first_failure(failures)
        if not isinstance(failure, FencedOutError):
            raise failure from None
        log.warning("%s", failure, extra={"exchange": exchange})


async def _trade(
    session: Session,
    exchange: str,
    average_rule: AverageRule,
    ready: Callable[[], None],
    environment: Mapping[str, str],
    draining: Draining,
) -> None:
    async with AsyncExitStack() as stack:
        store = await retry_until_done(lambda: open_store(session))
        stack.push_async_callback(store.close)
        lease = LeaseKeeper(store.leases, exchange, holder_name(exchange))
        by = await retry_until_done(lambda: lease.acquire(ready))
        stack.push_async_callback(_release_lease, lease)
        cache = StateCache(await _settings(store), exchange, session.services.partitions)
        cache.settings_silence = store.settings_progress.silence
        cache.holds_lease = lease.is_held
        know_transfers(cache, session)
        account = _account(session, exchange, cache, environment)
        if isinstance(account, ExchangeAccount):
            lease.carry_usage(account)
        stack.push_async_callback(account.close)
        latest_rows = await _open_latest_rows(session, stack)
        quotes = NewestQuotes(latest_rows, region=session.place.region)
        strategy = AverageTrader(exchange, session, store, quotes, average_rule, session.clock(), cache, by)
        reconciliation = _reconciliation(session, store, account, cache, by)
        maker = transfer_maker(session, store, account, by, latest_rows, cache)
        own = (*_account_tasks(account, stack), *(() if maker is None else (maker.run,)))
        tasks = (strategy.run, reconciliation.run, *own)
        markets, clock = session.ordered_markets, session.clock()
        bot_loop = BotLoop(store, account, markets, clock, cache, by=by, background_tasks=tasks)
        reconciliation.transit = bot_loop.books.transit = NothingInTransit() if maker is None else maker.watch
        reconciliation.on_report = bot_loop.books.record_change
        reconciliation.rules = bot_loop.rules
        bot_loop.rehearse = partial(rehearse, store, account, by)
        draining.bot_loop = bot_loop
        await run_all(lease.keep_renewing(), _run_bot_loop(session, store, bot_loop, account, stack, ready))


async def _run_bot_loop(
    session: Session,
    store: MongoTradeStore,
    bot_loop: BotLoop,
    account: TradingAccount,
    stack: AsyncExitStack,
    ready: Callable[[], None],
) -> None:
    topics = (OPPORTUNITIES, CYCLE_OPPORTUNITIES, SPREADS) if session.trades_cycles else (OPPORTUNITIES, SPREADS)
    if session.trades_cycles:
        bot_loop.trade_cycles(session.watched_cycles(), session.settlement_currency)
    reader = await _open_reader(session, topics, stack)
    pace = partial(keep_pace, reader, bot_loop.turns.books)
    progress = (store.grants_progress, store.settings_progress)
    reporter = PositionReporter(
        bot_loop.exchange, store.consumer_positions, reader, progress, lambda: bot_loop.cache.server_ahead
    )
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reporter.run())
        tasks.create_task(retry_until_done(pace))
        if isinstance(account, PaperAccount):
            quotes = await _open_reader(session, (TICKS,), stack, Newest(RECENT_ROWS))
            tasks.create_task(follow_quotes(quotes, account))
        await bot_loop.run(signals(reader, bot_loop.decides), ready)


def _reconciliation(
    session: Session, store: TradeStore, account: TradingAccount, cache: StateCache, by: Actor
) -> Reconciliation:
    return Reconciliation(
        store=store,
        account=account,
        advance=advancing(session.traded),
        settings=lambda: cache.settings,
        by=by,
        has_client_ids=account.exchange not in WITHOUT_CLIENT_IDS,
    )


def _account_tasks(account: TradingAccount, stack: AsyncExitStack) -> tuple[BackgroundTask, ...]:
    """Return the tasks that keep an exchange's connections open, and its dead man's switch armed if it has one. Closing
    the stack disarms it."""
    if not isinstance(account, ExchangeAccount):
        return ()
    if not account.has_dead_mans_switch:
        return (account.keep_connections,)
    switch = DeadMansSwitch(account)
    stack.push_async_exit(switch.disarm)
    return account.keep_connections, switch.run


def _account(session: Session, exchange: str, cache: StateCache, environment: Mapping[str, str]) -> TradingAccount:
    """Return the account on the simulated or real exchange if the session has one, otherwise a local paper account."""
    if session.simulated.url is not None or session.mode in ("sandbox", "live"):
        account = open_session_account(session, exchange, environment)
        account.in_force = lambda market: market_in_force(market, cache.settings)
        cache.legs_left, cache.has_room = account.legs_left, account.has_room
        if account.legs_left() is not None:
            cache.partners = partners_of(exchange, {name: session.entry_of(name) for name in session.exchanges})
            pace = account.pace()
            cache.place_values = PlaceValues(cache.partners.paces() | ({} if pace is None else {exchange: pace}))
        return account
    return PaperAccount(
        exchange=exchange,
        markets=session.ordered_markets,
        opening=session.local_accounts.balances.get(exchange, {}),
        # shared by all sessions of the data folder, so that balances carry over
        journal=PaperJournal(session.home / "paper" / f"{exchange}.jsonl"),
        clock=session.clock(),
        fee_rate=lambda: cache.settings.taker_fees.get(exchange, ZERO),
        latency_ms=session.local_accounts.latency_ms,
        conditions=FillConditions(
            session.local_accounts.latency_spread, session.seed, lambda: cache.settings.max_quote_age_ms * 1_000
        ),
    )


async def _open_reader(
    session: Session, topics: tuple[str, ...], stack: AsyncExitStack, start: Newest | None = None
) -> TopicReader:
    reader = TopicReader(session.services.kafka, topics, start or "latest")
    await retry_until_done(reader.open)
    stack.push_async_callback(reader.close)
    return reader


async def _open_latest_rows(session: Session, stack: AsyncExitStack) -> LatestRows:
    latest_rows = LatestRows(session.services.kafka, TICKS)
    await retry_until_done(latest_rows.open)
    stack.push_async_callback(latest_rows.close)
    return latest_rows


async def _release_lease(lease: LeaseKeeper) -> None:
    with suppress(StoreUnavailableError):
        await lease.release()


async def _settings(store: TradeStore) -> Settings:
    """Return the settings in force. Another process creates the first ones of a session."""
    while True:
        settings = await retry_until_done(store.settings.current)
        if settings is not None:
            return settings
        await SystemClock().sleep(SETTINGS_POLL_SECONDS)


def _first_failure(failures: BaseExceptionGroup[Exception]) -> Exception:
    """Return the first failure, out of nested exception groups."""
    failure: BaseException = failures
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure if isinstance(failure, Exception) else BotError(str(failure))
