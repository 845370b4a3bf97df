"""The bot's main loop: follows settings, arbitrages and streams, reserves legs, executes them and resolves open ones.

The loop keeps no state that has to survive: a new one recovers everything from the store and the exchange.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass
from functools import partial

from bots.account_lockout import AccountLockout
from bots.decide.decision_turns import DecisionTurns
from bots.decide.reserver import Reserver
from bots.decide.state_cache import StateCache
from bots.exchange_health import ExchangeHealthWatch
from bots.execute.due_actions import DueAction, Executing, due_actions, has_leg_at, is_in_flight_at
from bots.execute.leg_executor import LegExecutor, LegKey
from bots.execute.order_lookup import UNKNOWN_AFTER_SECONDS
from bots.execute.posted_orders import PostedOrders
from bots.execute.rejection_log import RejectionLog
from bots.reconcile.balance_snapshots import BalanceSnapshots
from bots.retry import BackgroundTask, retry_until_done, run_forever
from bots.server_clock import ServerClock
from bots.subscriptions import Signal, opportunity_in
from bots.trade_veto import TradeVeto
from exchanges.account_port import TradingAccount
from exchanges.errors import ExchangeError, ExchangeUnavailableError
from market.instruments.markets import Market
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.leases import Actor
from market.trade.leg_planning import HALTED, advancing, markets_by_symbol
from session.clock import Clock, SystemClock, steady_now, wall_now
from store.errors import StoreUnavailableError
from store.store_port import TradeStore
from streams.records import Record

log = logging.getLogger(__name__)

ROUND_SECONDS = 0.5
REJECTIONS_SECONDS = 0.5
WORKERS = 3
DRAIN_SECONDS = 15.0
MAX_UNDECIDED = 2_000
DRAIN_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    """How long an order may be unknown, and the interval between two rounds over everything open; both in seconds.

    The clocks are this machine's wall clock and its monotonic clock, in microseconds.
    """

    unknown_after: float = UNKNOWN_AFTER_SECONDS
    round_seconds: float = ROUND_SECONDS
    wall_clock: Callable[[], int] = wall_now
    steady_clock: Callable[[], int] = steady_now


DEFAULT_PACE = Pace()


class BotLoop:
    """The bot of one exchange. `run` ends by cancellation, or by an error that a retry cannot mend."""

    def __init__(
        self,
        store: TradeStore,
        account: TradingAccount,
        markets: tuple[Market, ...],
        clock: Clock,
        cache: StateCache,
        by: Actor,
        pace: Pace = DEFAULT_PACE,
        background_tasks: tuple[BackgroundTask, ...] = (),
    ) -> None:
        self.exchange = account.exchange
        self.store = store
        self.cache = cache
        self.rejection_log = RejectionLog(cache.bounds_of)
        self._markets = markets_by_symbol(markets)
        self.health = ExchangeHealthWatch(self.exchange, store, cache, pace.wall_clock)
        self._lockout = AccountLockout(account, self.health, cache, pace.steady_clock)
        self.server_clock = ServerClock(pace.steady_clock)
        hooks = self.health.record_failure, cache.send_block, self.server_clock
        self.trader = LegExecutor(store, account, advancing(markets), by, pace.unknown_after, pace.steady_clock, *hooks)
        self._posted = PostedOrders(pace.steady_clock)
        self._own = Executing(self.exchange, by.token, self._markets, self._posted)
        self.turns = DecisionTurns(store, by.name, cache.partitions, pace.steady_clock)
        self._undecided: deque[Opportunity | Record] = deque(maxlen=MAX_UNDECIDED)
        """The newest opportunities that another process decides on, for the case that it dies."""
        self.reserver = self._made_reserver(clock, pace)
        self._veto = TradeVeto(store, cache, by)
        self._errands = background_tasks
        self._resumed_version = 0
        """Version of the settings under which halted arbitrages were last resumed."""
        self._books = BalanceSnapshots(store, account, by)
        self._pace = pace
        self._legs: set[LegKey] = set()
        """Legs that this process is working on: an order that is being sent must not be looked up."""
        self._tasks = asyncio.TaskGroup()

    def _made_reserver(self, clock: Clock, pace: Pace) -> Reserver:
        return Reserver(
            store=self.store,
            markets=self._markets,
            clock=clock,
            cache=self.cache,
            rejection_log=self.rejection_log,
            execute=self._execute_own,
            actor_of=self.turns.actor_of,
            legs_left=self.cache.legs_left_of,
            wall_clock=pace.wall_clock,
        )

    async def run(self, signals: AsyncIterable[Signal], ready: Callable[[], None]) -> None:
        """Recover open arbitrages, store the opening balances, then trade on `signals`. Waits while the account is
        rejected."""
        async with self._tasks as tasks:
            tasks.create_task(run_forever(self._follow_settings))
            tasks.create_task(run_forever(self.health.run))
            tasks.create_task(run_forever(self._lockout.run))
            tasks.create_task(run_forever(self._veto.run))
            await retry_until_done(partial(self._lockout.guard, self._recover))
            for task in (self._follow_arbitrages, self._reconcile, self._write_rejections, *self._errands):
                tasks.create_task(run_forever(partial(self._lockout.guard, task)))
            tasks.create_task(self._follow(signals))
            tasks.create_task(self.turns.run(self._begin_turn))
            for _ in range(WORKERS):
                tasks.create_task(self.reserver.work())
            self._veto.is_ready = True
            await retry_until_done(self._veto.write)
            ready()

    def decides(self, partition: int) -> bool:
        """Whether this process decides on that partition of the opportunities now."""
        return self.turns.actor(partition) is not None

    async def drain(self) -> None:
        """Reserve nothing new, finish what is in flight and store the closing balances; then this process may exit.

        Waits without limit for its own orders, since no other process can look them up. Waits up to `DRAIN_SECONDS` for
        the other legs of an arbitrage, which other bots finish. Raises FencedOutError.
        """
        self.cache.is_draining = True
        await retry_until_done(self.turns.end)
        deadline = self._pace.steady_clock() + int(DRAIN_SECONDS * MICROSECONDS)
        while not await self._is_drained(self._pace.steady_clock() > deadline):
            await SystemClock().sleep(DRAIN_POLL_SECONDS)

    async def _is_drained(self, is_late: bool) -> bool:
        try:
            await self._veto.write()
            # checked before the read, which must see the result of a reservation under way; no further one begins
            if self.reserver.reserving or self.cache.is_reserving_signal:
                return False
            arbitrages = await self.store.open_arbitrages()
            if is_in_flight_at(arbitrages, self.exchange):
                return False
            if not self._legs and not has_leg_at(arbitrages, self.exchange):
                await self._books.record_closing()
                return True
        except (StoreUnavailableError, ExchangeError) as error:
            log.warning("still draining: %s", error, extra={"exchange": self.exchange})
            return is_late and isinstance(error, ExchangeError)
        if is_late:
            log.error(
                "drained with an arbitrage open; its orders on this exchange have ended",
                extra={"exchange": self.exchange},
            )
        return is_late

    async def _follow_settings(self) -> None:
        async for settings in self.store.settings.watch():
            self.cache.settings = settings

    async def _follow_arbitrages(self) -> None:
        async for arbitrage in self.store.watch_arbitrages():
            self.cache.update_arbitrage(arbitrage)
            self._books.record_change(arbitrage)
            self.rejection_log.follow(arbitrage)
            self._execute_own(arbitrage)

    async def _follow(self, signals: AsyncIterable[Signal]) -> None:
        async for signal in signals:
            if isinstance(signal, SpreadWindow):
                self.cache.update_window(signal)
            elif isinstance(signal, Record) or self.turns.actor_of(signal.base) is None:
                self._undecided.append(signal)
            else:
                self.turns.record_seen(signal)
                self.rejection_log.see(signal, self.reserver.clock.now())
                self.reserver.consider(signal)

    async def _begin_turn(self, partition: int, looked_at: int) -> None:
        """Go on with the episodes of the last process that decided, and decide on what came since it looked at
        anything. Raises StoreUnavailableError."""
        now = self.reserver.clock.now()
        self.rejection_log.episodes.resume(await self.store.running_episodes(now))
        left, self._undecided = self._undecided, deque(maxlen=MAX_UNDECIDED)
        for one in left:
            opportunity = opportunity_in(one) if isinstance(one, Record) else one
            if opportunity is None or opportunity.detected_time < looked_at:
                continue
            if self.turns.partition_of(opportunity) == partition:
                self.turns.record_seen(opportunity)
                self.rejection_log.see(opportunity, now)
                self.reserver.consider_left(opportunity)
            else:
                self._undecided.append(opportunity)

    async def _recover(self) -> None:
        """Finish what the previous process left open, then store the opening balances that the exchange reports."""
        while not await self._books.ensure_opening():
            await self._round()
            await SystemClock().sleep(self._pace.round_seconds)
        await self._round()

    async def _reconcile(self) -> None:
        while True:
            await SystemClock().sleep(self._pace.round_seconds)
            await self._round()
            if self.cache.is_stopping and not self.reserver.reserving and not self._legs:
                await self._books.close()

    async def _round(self) -> None:
        """Handle everything that is open, once."""
        self.cache.is_stopping = self.cache.is_stopping or not await self.store.reservations_open()
        # before the read, which must see the resumed arbitrages in their new state
        await self._resume()
        arbitrages = await self.store.open_arbitrages()
        asked_at = self._pace.steady_clock()
        now = await self.store.server_now()
        self.server_clock.observe(now, asked_at)
        self.cache.replace_open(arbitrages)
        self._posted.forget_old()
        self.cache.server_ahead = now - self._pace.wall_clock()
        self.cache.update_balances(await self.store.balances.rows())
        for pending in due_actions(arbitrages, self._own, now):
            self._start_action(pending)

    async def _resume(self) -> None:
        """Resume what a halt stopped, once at the start and after each change of the settings; and unwinding orders
        that were not posted here, once the rate limits allow one."""
        settings = self.cache.settings
        if settings.trading_state == "halted":
            return
        is_changed, can_send = settings.version != self._resumed_version, self.cache.can_send()
        for arbitrage in await self.store.resumable_arbitrages():
            was_halted = arbitrage.reason == HALTED
            is_sendable_here = can_send and arbitrage.legs[-1].exchange == self.exchange
            if (was_halted and is_changed) or (not was_halted and is_sendable_here):
                await self.trader.resume(arbitrage.arbitrage_id)
        self._resumed_version = settings.version

    def _execute_own(self, arbitrage: Arbitrage) -> None:
        for pending in due_actions([arbitrage], self._own, arbitrage.send_by):
            if pending.what in ("execute", "grant"):
                self._start_action(pending)

    def _start_action(self, pending: DueAction) -> None:
        """While the account is rejected, look-ups wait for the next round."""
        identity, leg = pending.arbitrage_id, pending.leg
        if self._lockout.is_on and pending.what == "resolve":
            return
        if pending.what == "execute":
            self._start((identity, leg.role), lambda: self._execute(identity, leg))
        elif pending.what == "grant":
            self._start((identity, leg.role), lambda: self.trader.grant(identity, leg.role))
        else:
            work = {"resolve": self.trader.lookup.resolve, "settle": self.trader.settle, "abandon": self.trader.abandon}
            self._start((identity, leg.role), lambda: work[pending.what](identity, leg))

    async def _execute(self, arbitrage_id: str, leg: Leg) -> None:
        """Post it, once: whoever comes here again for the same order looks it up."""
        if self._posted.begin(leg.client_order_id):
            await self.trader.execute(arbitrage_id, leg)
        else:
            await self.trader.lookup.resolve(arbitrage_id, leg)
        self._posted.end(leg.client_order_id)

    def _start(self, key: LegKey, work: BackgroundTask) -> None:
        """Run `work` as a task, unless this process is already working on the leg."""
        if key in self._legs:
            return
        self._legs.add(key)
        task = self._tasks.create_task(self._guarded(work))
        task.add_done_callback(lambda _: self._legs.discard(key))

    async def _guarded(self, work: BackgroundTask) -> None:
        try:
            await self._lockout.guard(work, of_an_order=True)
        except (StoreUnavailableError, ExchangeUnavailableError) as error:
            log.warning("leg retried in the next round: %s", error, extra={"exchange": self.exchange})

    async def _write_rejections(self) -> None:
        while True:
            await SystemClock().sleep(REJECTIONS_SECONDS)
            await self.rejection_log.write(self.store, self.reserver.clock.now())
