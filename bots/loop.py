"""The bot's main loop: follows settings, grants and streams, decides and books when it is its turn, executes what is
granted at its exchange and resolves what was left open.

The loop keeps no state that has to survive: a new one recovers everything from the store and the exchange.
"""

import asyncio
import logging
from collections.abc import AsyncIterable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from bots.account_lockout import AccountLockout
from bots.decide.booker import Booker
from bots.decide.cycle_reserver import CycleReserver
from bots.decide.failover import DecisionTurns
from bots.decide.reserver import Reserver
from bots.decide.state_cache import StateCache
from bots.exchange_health import ExchangeHealthWatch
from bots.execute.cycle_rejection_log import CycleRejectionLog
from bots.execute.due_actions import DueAction, Executing, due_actions, has_leg_at
from bots.execute.leg_executor import LegExecutor
from bots.execute.order_lookup import UNKNOWN_AFTER_SECONDS
from bots.execute.posted_orders import PostedOrders
from bots.execute.rejection_log import RejectionLog
from bots.reconcile.balance_snapshots import BalanceSnapshots
from bots.retry import BackgroundTask, retry_until_done, run_forever
from bots.rounds import ROUND_SECONDS
from bots.server_clock import ServerClock
from bots.subscriptions import Signal
from bots.trade_veto import TradeVeto
from bots.undecided import UndecidedOpportunities
from exchanges.errors import ExchangeError, ExchangeUnavailableError
from exchanges.ports.account import TradingAccount
from market.decide.kill_switch import HALTED, permits_orders
from market.decide.settings import Settings
from market.instruments.cycles import Cycle
from market.instruments.markets import Market
from market.prices.cycle_opportunities import CycleOpportunity
from market.prices.spread_statistics import SpreadWindow
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, TradeOfLegs
from market.trade.cycle_trades import CycleTrade
from market.trade.cycle_unwinding import unposted_orders
from market.trade.cycle_unwinding import waits_for_market as cycle_waits_for_market
from market.trade.grants import Grant, grants_in
from market.trade.leases import Actor
from market.trade.report_checks import ReportRules
from market.trade.unwinding import CLOSED, Markets, advancing, markets_by_symbol, waits_for_market
from runtime.clock import Clock, ReplayClock, SystemClock, steady_now, wall_now
from store.errors import StoreUnavailableError
from store.ports.trading import TradeStore
from streams.records import Record

log = logging.getLogger(__name__)

PATIENT_ROUNDS = 4
"""How much longer a round is while another process decides: grants come by a stream, so it finds little there."""
REJECTIONS_SECONDS = 1.0
"""Rejections are counted by the second, and each write wakes all who follow changes of the store."""
CYCLE_REJECTIONS_SECONDS = 5.0
DRAIN_SECONDS = 15.0
DRAIN_POLL_SECONDS = 0.1
HEARING_POLL_SECONDS = 0.02


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


def report_rules(markets: Markets, clock: Clock, cache: StateCache) -> ReportRules:
    """Return what an exchange's reports are checked by: in a replay, the times of fills are recorded ones."""
    rules = ReportRules(markets, lambda: cache.settings, cache.held)
    return replace(rules, on_exchange=clock.at) if isinstance(clock, ReplayClock) else rules


async def no_rehearsal() -> None:
    """Rehearse nothing; `BotLoop.rehearse` loads what a first trade needs once everything else is ready."""


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
        self.rejection_log, self._cycle_rejections = RejectionLog(cache.bounds_of), CycleRejectionLog()
        self._markets = markets_by_symbol(markets)
        self.health = ExchangeHealthWatch(self.exchange, store, cache, pace.wall_clock)
        self._lockout = AccountLockout(account, self.health, cache, pace.steady_clock)
        self.server_clock = ServerClock(pace.steady_clock)
        self.rules = report_rules(self._markets, clock, cache)
        hooks = self.health.record_failure, cache.send_block, self.server_clock, self.rules, cache.final_within
        self.trader = LegExecutor(store, account, by, pace.unknown_after, pace.steady_clock, *hooks)
        self._advance, self._by = advancing(markets), by
        self._posted = PostedOrders(pace.steady_clock)
        self._own = Executing(self.exchange, by.token, self._markets, self._posted)
        self.turns = DecisionTurns(store.leases, by.name, cache.partitions, pace.steady_clock)
        cache.decides = self.turns.books
        self._undecided = UndecidedOpportunities(self.turns.partition_of)
        self.reserver = self._made_reserver(clock, pace)
        self.booker = self._made_booker(pace)
        self._veto = TradeVeto(store.leases, cache, by)
        self._errands, self.rehearse = background_tasks, no_rehearsal
        self.cycles: CycleReserver | None = None
        self._resumed_version = 0
        """Version of the settings under which halted arbitrages were last resumed."""
        self.books = BalanceSnapshots(store, account, by)
        self._pace = pace
        self._orders: set[str] = set()
        """Those that this process is working on, by client order id: one that is being sent must not be looked up."""
        self._tasks = asyncio.TaskGroup()

    def _made_reserver(self, clock: Clock, pace: Pace) -> Reserver:
        return Reserver(
            store=self.store,
            markets=self._markets,
            clock=clock,
            cache=self.cache,
            rejection_log=self.rejection_log,
            execute=self._execute_own,
            actor_of=self.turns.decider_of,
            places_left=self.cache.places_left,
            wall_clock=pace.wall_clock,
        )

    def _made_booker(self, pace: Pace) -> Booker:
        return Booker(
            store=self.store,
            advance=self._advance,
            markets=self._markets,
            actor_of=self.turns.booker_of,
            is_on=self.turns.books,
            open_trade=self.cache.open_trade,
            handle=self._handle_booked,
            round_seconds=pace.round_seconds,
            turns=self.reserver.turns,
            steady_clock=pace.steady_clock,
        )

    def trade_cycles(self, cycles: Iterable[Cycle], currency: str) -> None:
        """Trade these cycles too; their markets must be among those of this loop. `currency`: the settlement
        currency."""
        reserver = self.reserver
        self._errands = (*self._errands, self._write_cycle_rejections)
        self.cycles = CycleReserver(
            store=self.store,
            cycles={cycle.cycle_id: cycle for cycle in cycles},
            currency=currency,
            clock=reserver.clock,
            cache=self.cache,
            execute=self._execute_own,
            # a session with cycles has one partition
            actor=partial(self.turns.decider_of, ""),
            reject=self._cycle_rejections.reject,
            turns=reserver.turns,
            wall_clock=reserver.wall_clock,
        )

    async def run(self, signals: AsyncIterable[Signal], ready: Callable[[], None]) -> None:
        """Recover open arbitrages, store the opening balances, then trade on `signals`. Waits while the account is
        rejected."""
        async with self._tasks as tasks:
            tasks.create_task(run_forever(self._follow_settings))
            tasks.create_task(run_forever(self.health.run))
            tasks.create_task(run_forever(self._lockout.run))
            tasks.create_task(run_forever(self._veto.run))
            # whatever is open is booked by whoever decides, maybe this process
            tasks.create_task(self.turns.run(self._begin_turn))
            tasks.create_task(self.booker.run())
            await retry_until_done(partial(self._lockout.guard, self._recover))
            for task in (self._follow_grants, self._reconcile, self._write_rejections, *self._errands):
                tasks.create_task(run_forever(partial(self._lockout.guard, task)))
            tasks.create_task(self._follow(signals))
            tasks.create_task(self.reserver.work())
            if self.cycles is not None:
                tasks.create_task(self.cycles.work())
            while not self.cache.hears_settings():
                await SystemClock().sleep(HEARING_POLL_SECONDS)
            with suppress(ExchangeUnavailableError):
                await self._lockout.guard(self.rehearse, of_an_order=True)
            self._veto.is_ready = True
            await retry_until_done(self._veto.write)
            ready()

    def decides(self, partition: int) -> bool:
        """Whether this process decides on that partition of the opportunities now."""
        return self.turns.decides(partition)

    async def drain(self) -> None:
        """Reserve nothing new, finish what is in flight and store the closing balances; then this process may exit.

        Waits without limit for its own orders, since no other process can look them up. Waits up to `DRAIN_SECONDS`
        until they are booked and the other legs of their arbitrages ended, for which it books if no other process
        does. Raises FencedOutError.
        """
        self.cache.is_draining = True
        # when the whole session ends, nobody has to go on
        goes_on = await retry_until_done(self.store.reservations_open)
        await retry_until_done(partial(self.turns.leave, to_others=goes_on))
        deadline = self._pace.steady_clock() + int(DRAIN_SECONDS * MICROSECONDS)
        while not await self._is_drained(self._pace.steady_clock() > deadline):
            await SystemClock().sleep(DRAIN_POLL_SECONDS)
        with suppress(StoreUnavailableError):
            await self._cycle_rejections.write(self.store, self.reserver.wall_clock())
        await retry_until_done(self.turns.end)

    async def _is_drained(self, is_late: bool) -> bool:
        try:
            await self._veto.write()
            # checked before the read, which must see the result of a reservation under way; no further one begins
            if self._is_reserving() or self.cache.is_reserving_signal:
                return False
            seen = await self.store.overview()
            reported = {result.client_order_id for result in seen.results if result.is_final}
            if any(one.leg.client_order_id not in reported for one in grants_in(seen.open_trades, self.exchange)):
                return False
            if not self._orders and not has_leg_at(seen.open_trades, self.exchange):
                await self.books.record_closing()
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

    def _is_reserving(self) -> bool:
        return bool(self.reserver.reserving) or (self.cycles is not None and self.cycles.is_reserving)

    async def _follow_settings(self) -> None:
        async for settings in self.store.settings.watch():
            self.cache.settings = settings
            self._forget_refusals()

    async def _follow_grants(self) -> None:
        async for grant in self.store.watch_grants(self.exchange):
            self._start_due([grant])

    def _handle_booked(self, trade: Arbitrage | CycleTrade) -> None:
        self._forget_refusals()
        if isinstance(trade, CycleTrade):
            self.cache.update_cycle(trade)
        else:
            self.cache.update_arbitrage(trade)
            self.rejection_log.follow(trade)
        self._execute_own(trade)

    def _forget_refusals(self) -> None:
        if self.cycles is not None:
            self.cycles.forget_refusals()

    async def _follow(self, signals: AsyncIterable[Signal]) -> None:
        async for signal in signals:
            if isinstance(signal, SpreadWindow):
                self.cache.update_window(signal)
            elif isinstance(signal, CycleOpportunity):
                if self.cycles is not None:
                    self.cycles.consider(signal)
            elif isinstance(signal, Record) or self.turns.decider_of(signal.base) is None:
                self._undecided.add(signal)
            else:
                self.turns.record_seen(signal)
                self.rejection_log.see(signal, self.reserver.clock.now())
                self.reserver.consider(signal)

    async def _begin_turn(self, partition: int, looked_at: int) -> None:
        """Go on with the episodes of the last process that decided, and decide on what came since it looked at
        anything. Raises StoreUnavailableError."""
        # what the other accounts have used was not looked at before
        self.health.observe(await self.store.overview())
        now = self.reserver.clock.now()
        self.rejection_log.episodes.resume(await self.store.running_episodes(now))
        # how far the last one looked is stored with its lease, so not up to its end
        traded = await self.store.traded([one.opportunity_id for one in self._undecided.read()])
        for opportunity in self._undecided.take(partition):
            if opportunity.detected_time >= looked_at and opportunity.opportunity_id not in traded:
                self.turns.record_seen(opportunity)
                self.rejection_log.see(opportunity, now)
                self.reserver.consider_left(opportunity)

    async def _recover(self) -> None:
        """Finish what the previous process left open, then store the opening balances that the exchange reports."""
        while not await self.books.ensure_opening():
            await self._round()
            await SystemClock().sleep(self._pace.round_seconds)
        await self._round()

    async def _reconcile(self) -> None:
        while True:
            await SystemClock().sleep(self._pace.round_seconds * (1 if self.turns.books() else PATIENT_ROUNDS))
            await self._round()
            if self.cache.is_stopping and not self._is_reserving() and not self._orders:
                await self.books.close()

    async def _round(self) -> None:
        """Handle everything that is open, once."""
        asked_at = self._pace.steady_clock()
        seen = await self.store.overview()
        self.server_clock.observe(seen.now, asked_at)
        self.cache.server_ahead = seen.now - self._pace.wall_clock()
        self.cache.is_stopping = self.cache.is_stopping or not seen.reservations_open
        self.cache.replace_open(seen.open_arbitrages, seen.open_cycles)
        # together, since what arrives goes from the one to the other
        self.cache.update_transfers(seen.transfers)
        self.cache.update_balances(seen.balances)
        self.health.observe(seen)
        self._undecided.forget(seen.leases)
        self._posted.forget_old()
        self._start_due(grants_in(seen.open_trades, self.exchange))
        settings = self.cache.settings
        if permits_orders(settings.trading_state):
            await self._resume(seen.resumable, settings)
            await self._resume_cycles(seen.resumable_cycles, settings)
            self._resumed_version = settings.version
        await self.booker.look(seen)

    async def _resume(self, resumable: Iterable[Arbitrage], settings: Settings) -> None:
        """Resume what a halt stopped, once at the start and after each change of the settings; what waited for its
        market, once that takes orders; and unwinding orders that were not posted here, once the rate limits allow
        one."""
        is_changed, can_send = settings.version != self._resumed_version, self.cache.can_send()
        for arbitrage in resumable:
            if arbitrage.reason == CLOSED:
                if not waits_for_market(arbitrage, settings):
                    await self._resume_one(arbitrage.arbitrage_id)
                continue
            was_halted = arbitrage.reason == HALTED
            is_sendable_here = can_send and arbitrage.legs[-1].exchange == self.exchange
            if (was_halted and is_changed) or (not was_halted and is_sendable_here):
                await self._resume_one(arbitrage.arbitrage_id)
        if is_changed:
            await self._close_ordered(settings.close_now)

    async def _resume_cycles(self, resumable: Iterable[CycleTrade], settings: Settings) -> None:
        """Resume trades on cycles as `_resume` those of pairs; one whose orders were not posted, once those of this
        exchange could be."""
        is_changed, can_send = settings.version != self._resumed_version, self.cache.can_send()
        for trade in resumable:
            is_unposted_here = any(order.leg.exchange == self.exchange for order in unposted_orders(trade))
            if trade.reason == CLOSED:
                is_due = not cycle_waits_for_market(trade, settings)
            else:
                is_due = is_changed if trade.reason == HALTED else can_send and is_unposted_here
            if is_due:
                await self._resume_cycle(trade.trade_id)

    async def _resume_cycle(self, trade_id: str) -> None:
        if await self.store.resume_cycle(trade_id, self._by):
            log.warning("trade on a cycle resumed", extra={"opportunity_id": trade_id})

    async def _close_ordered(self, ordered: Iterable[str]) -> None:
        """Resume what an operator closes; whichever bot comes first does it, and the others find it done."""
        for arbitrage_id in ordered:
            if await self.store.arbitrage(arbitrage_id) is not None:
                await self._resume_one(arbitrage_id)

    async def _resume_one(self, arbitrage_id: str) -> None:
        if await self.store.resume(arbitrage_id, self._advance, self._by):
            log.warning("single leg resumed", extra={"opportunity_id": arbitrage_id})

    def _execute_own(self, trade: TradeOfLegs) -> None:
        self._start_due(grants_in([trade], self.exchange))

    def _start_due(self, grants: Iterable[Grant]) -> None:
        for pending in due_actions(grants, self._own):
            self._start_action(pending)

    def _start_action(self, pending: DueAction) -> None:
        """While the account is rejected, look-ups wait for the next round."""
        if not (self._lockout.is_on and pending.what == "resolve"):
            self._start(pending.leg.client_order_id, partial(self._work_on, pending))

    async def _work_on(self, pending: DueAction) -> None:
        """Post it, once, or look it up: whoever comes here again for the same order looks it up."""
        order = pending.leg.client_order_id
        if pending.what == "execute" and self._posted.begin(order):
            await self.trader.execute(pending.arbitrage_id, pending.leg)
        else:
            await self.trader.lookup.resolve(pending.arbitrage_id, pending.leg)
        self._posted.end(order)
        self.books.record_change()

    def _start(self, order: str, work: BackgroundTask) -> None:
        """Run `work` as a task, unless this process is already working on the order."""
        if order in self._orders:
            return
        self._orders.add(order)
        task = self._tasks.create_task(self._guarded(work))
        task.add_done_callback(lambda _: self._orders.discard(order))

    async def _guarded(self, work: BackgroundTask) -> None:
        try:
            await self._lockout.guard(work, of_an_order=True)
        except (StoreUnavailableError, ExchangeUnavailableError) as error:
            log.warning("order looked up in the next round: %s", error, extra={"exchange": self.exchange})

    async def _write_rejections(self) -> None:
        while True:
            await SystemClock().sleep(REJECTIONS_SECONDS)
            await self.rejection_log.write(self.store, self.reserver.clock.now())

    async def _write_cycle_rejections(self) -> None:
        while True:
            await SystemClock().sleep(CYCLE_REJECTIONS_SECONDS)
            await self._cycle_rejections.write(self.store, self.reserver.wall_clock())
