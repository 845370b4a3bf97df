"""Books what the bots report of their orders, and takes the steps that follow: whoever decides on a base is the only
writer of its arbitrages."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol

from bots.decide.write_turns import WriteTurns
from bots.retry import run_forever
from market.time_units import MICROSECONDS
from market.trade.arbitrages import CYCLE_ROLES, OPEN_STATES, Arbitrage, Leg, TradeOfLegs
from market.trade.cycle_trades import CycleOrder, CycleTrade
from market.trade.leases import Actor
from market.trade.leg_lifecycle import Advance
from market.trade.lifecycle import IllegalStepError
from market.trade.order_results import OrderResult, result_of
from market.trade.reservations import SEND_WITHIN
from market.trade.unwinding import Markets
from runtime.clock import SystemClock, steady_now
from store.errors import FencedOutError, StoreError, StoreUnavailableError
from store.ports.trading import CycleStore, DecisionStore, Overview

log = logging.getLogger(__name__)

IDLE_SECONDS = 0.25
"""Interval at which a process that does not decide looks whether it does by now."""
GIVEN_ROUNDS = 2
"""Rounds within which another part's reading of what is open stands for an own one: a bot reads it in its rounds."""


@dataclass(frozen=True, slots=True)
class DueStep:
    """One step due on an open arbitrage: `grant` a reserved leg, `book` an end that no report brings, or `abandon` a
    leg whose market is not in this session."""

    what: Literal["grant", "book", "abandon"]
    arbitrage: Arbitrage
    leg: Leg


@dataclass(frozen=True, slots=True)
class DueCycle:
    """A trade on a cycle whose next step no report brings; `abandoned`: a leg whose market is not in this session."""

    trade: CycleTrade
    abandoned: Leg | None = None


def due_cycles(trades: Iterable[CycleTrade], markets: Markets, now: int) -> list[DueCycle]:
    """Return those with an order that waits for nothing but its exchange, or whose orders all ended; `now` is the
    store's, microseconds."""
    due: list[DueCycle] = []
    for trade in trades:
        granted = [leg for leg in trade.legs if leg.state == "granted" and (leg.exchange, leg.symbol) not in markets]
        late = next((leg for leg in granted if now > leg.times["granted"] + SEND_WITHIN), None)
        if late is not None or (len(granted) == 0 and _is_due(trade)):
            due.append(DueCycle(trade, late))
    return due


def _is_due(trade: CycleTrade) -> bool:
    waiting = (order for order in trade.orders if order.state == "waiting")
    return any(_has_proceeds(trade, order) for order in waiting) or all(leg.is_final for leg in trade.legs)


def _has_proceeds(trade: CycleTrade, waiting: CycleOrder) -> bool:
    """Whether what the leg before brings is booked; an unwinding order waits for none."""
    before = trade.leg(f"leg{waiting.number}") if waiting.step == "leg" else None
    return before is None or before.is_final


def due_steps(arbitrages: Iterable[Arbitrage], markets: Markets, now: int) -> list[DueStep]:
    """One for each arbitrage that needs one; `now` is the store's, microseconds."""
    due = (_due(arbitrage, markets, now) for arbitrage in arbitrages if arbitrage.state in OPEN_STATES)
    return [step for step in due if step is not None]


def _due(arbitrage: Arbitrage, markets: Markets, now: int) -> DueStep | None:
    for leg in arbitrage.legs:
        if (leg.exchange, leg.symbol) not in markets and not leg.is_final and now > arbitrage.send_by:
            return DueStep("abandon", arbitrage, leg)
    for leg in arbitrage.legs:
        if leg.state == "reserved":
            return DueStep("grant", arbitrage, leg)
        if leg.is_final and "done" not in leg.times:
            return DueStep("book", arbitrage, leg)
    is_over = all(leg.is_final for leg in arbitrage.legs)
    return DueStep("book", arbitrage, arbitrage.legs[-1]) if is_over else None


def _is_awaited(result: OrderResult, trade: TradeOfLegs) -> bool:
    """Whether a leg of a cycle waits for what others bring."""
    return result.role in CYCLE_ROLES and any(leg.state == "reserved" for leg in trade.legs)


def _is_filled(result: OrderResult, arbitrage: TradeOfLegs) -> bool:
    legs = [leg for leg in arbitrage.legs if leg.client_order_id == result.client_order_id]
    return result.report is not None and all(result.report.filled >= leg.amount for leg in legs)


class BookingStore(DecisionStore, CycleStore, Protocol):
    """Books trades of pairs and of cycles."""


@dataclass(slots=True)
class Booker:
    """One booking at a time for each arbitrage. Both legs are booked in one transaction if both are reported by
    then; the next round books what is still alone."""

    store: BookingStore
    advance: Advance
    markets: Markets
    actor_of: Callable[[str], Actor | None]
    """As whom this process books for a base; None if another one does."""
    is_on: Callable[[], bool]
    """Whether it does for any base."""
    open_trade: Callable[[str], TradeOfLegs | None]
    """An open trade of a pair or a cycle, as this process knows it."""
    handle: Callable[[Arbitrage | CycleTrade], None]
    """Called with each trade in which a booking changed something."""
    round_seconds: float
    turns: WriteTurns
    """Shared with `bots.decide.reserver`."""
    steady_clock: Callable[[], int] = steady_now
    _tasks: asyncio.TaskGroup | None = None
    """None while it does not run."""
    _given_at: int | None = None
    _reported: dict[str, set[str]] = field(default_factory=dict)
    """Arbitrage → client order ids of the legs that ended and are not booked yet."""
    _wanted: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Trades to be booked → base, and whether it is one on a cycle."""
    _unfilled: set[str] = field(default_factory=set)
    """Those with an order that was not filled whole: their booking grants another one, which does not wait."""
    _busy: set[str] = field(default_factory=set)
    _refused: set[str] = field(default_factory=set)
    """Those that were logged as impossible to book."""

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(run_forever(partial(self._follow, tasks)))
            tasks.create_task(run_forever(partial(self._rounds, tasks)))

    async def look(self, seen: Overview) -> None:
        """Take what was just read of all that is open: to read it twice costs as much again. Raises
        StoreUnavailableError."""
        if self._tasks is not None and self.is_on():
            self._given_at = self.steady_clock()
            await self._round(self._tasks, seen)

    async def _follow(self, tasks: asyncio.TaskGroup) -> None:
        while not self.is_on():
            await SystemClock().sleep(IDLE_SECONDS)
        async for result in self.store.watch_order_results():
            if not self.is_on():
                return
            if self.actor_of(result.base) is not None and self._is_complete(result):
                self._start_reported(tasks, result)

    def _is_complete(self, result: OrderResult) -> bool:
        """Whether every open leg of its trade is reported by now, or one waits for this one."""
        if not result.is_final:
            return False
        reported = self._reported.setdefault(result.arbitrage_id, set())
        reported.add(result.client_order_id)
        trade = self.open_trade(result.arbitrage_id)
        is_awaited = trade is not None and _is_awaited(result, trade)
        if trade is None or is_awaited or not _is_filled(result, trade):
            self._unfilled.add(result.arbitrage_id)
        if trade is None or is_awaited:
            return True
        return all(leg.is_final or leg.client_order_id in reported for leg in trade.legs)

    async def _rounds(self, tasks: asyncio.TaskGroup) -> None:
        while True:
            if self.is_on() and not self._was_given():
                await self._round(tasks, await self.store.overview())
            await SystemClock().sleep(self.round_seconds)

    def _was_given(self) -> bool:
        span = GIVEN_ROUNDS * self.round_seconds * MICROSECONDS
        return self._given_at is not None and self.steady_clock() - self._given_at < span

    async def _round(self, tasks: asyncio.TaskGroup, seen: Overview) -> None:
        """Everything that is open, once. Raises StoreUnavailableError."""
        for result in seen.results:
            self._start_reported(tasks, result)
        unbooked = {result.arbitrage_id for result in seen.results}
        self._reported = {one: known for one, known in self._reported.items() if one in unbooked}
        self._unfilled &= unbooked
        for due in due_steps(seen.open_arbitrages, self.markets, seen.now):
            if due.what == "book":
                self._start(tasks, due.arbitrage.arbitrage_id, due.arbitrage.base)
            else:
                await self._take(tasks, due)
        for one in due_cycles(seen.open_cycles, self.markets, seen.now):
            await self._take_cycle(tasks, one)

    async def _take_cycle(self, tasks: asyncio.TaskGroup, due: DueCycle) -> None:
        identity, base = due.trade.trade_id, due.trade.legs[0].base
        by = self.actor_of(base)
        if by is None:
            return
        if due.abandoned is not None:
            log.error("leg abandoned: its market is not in this session", extra={"opportunity_id": identity})
            try:
                await self.store.report_order(result_of(identity, due.abandoned, None), by)
            except FencedOutError as error:
                log.warning("step left to another process: %s", error)
                return
        self._start(tasks, identity, base, is_cycle=True)

    def _start_reported(self, tasks: asyncio.TaskGroup, result: OrderResult) -> None:
        self._start(tasks, result.arbitrage_id, result.base, is_cycle=result.role in CYCLE_ROLES)

    async def _take(self, tasks: asyncio.TaskGroup, due: DueStep) -> None:
        arbitrage, leg = due.arbitrage, due.leg
        identity, by = arbitrage.arbitrage_id, self.actor_of(arbitrage.base)
        if by is None:
            return
        try:
            if due.what == "abandon":
                log.error("leg abandoned: its market is not in this session", extra={"opportunity_id": identity})
                await self.store.report_order(result_of(identity, leg, None), by)
            else:
                # an order waits for it
                async with self.turns.to_decide():
                    granted = await self.store.grant(identity, leg.role, by)
                if granted is not None:
                    return
        except FencedOutError as error:
            log.warning("step left to another process: %s", error)
            return
        # what was too late ends
        self._start(tasks, identity, arbitrage.base)

    def _start(self, tasks: asyncio.TaskGroup, arbitrage_id: str, base: str, *, is_cycle: bool = False) -> None:
        self._wanted[arbitrage_id] = base, is_cycle
        if arbitrage_id not in self._busy:
            self._busy.add(arbitrage_id)
            tasks.create_task(self._work_on(arbitrage_id))

    async def _work_on(self, arbitrage_id: str) -> None:
        try:
            while (wanted := self._wanted.pop(arbitrage_id, None)) is not None:
                await self._book(arbitrage_id, *wanted)
        finally:
            self._busy.discard(arbitrage_id)

    async def _book(self, arbitrage_id: str, base: str, is_cycle: bool) -> None:
        by = self.actor_of(base)
        if by is None:
            return
        try:
            async with self.turns.to_decide() if arbitrage_id in self._unfilled else self.turns.to_book():
                arbitrage = await self._booked(arbitrage_id, is_cycle, by)
        except (StoreUnavailableError, FencedOutError) as error:
            log.warning("booked in the next round, or by another process: %s", error)
            return
        except (StoreError, IllegalStepError) as error:
            # a bug, or another version's report: it must not stop the booking of all others
            if arbitrage_id not in self._refused:
                self._refused.add(arbitrage_id)
                log.error("cannot be booked, check it by hand: %s", error, extra={"opportunity_id": arbitrage_id})
            return
        if arbitrage.state == "residual":
            log.error(
                "arbitrage left residual, check it by hand: %s",
                arbitrage.reason,
                extra={"opportunity_id": arbitrage_id},
            )
        if arbitrage != self.open_trade(arbitrage_id):
            self.handle(arbitrage)

    async def _booked(self, trade_id: str, is_cycle: bool, by: Actor) -> Arbitrage | CycleTrade:
        if is_cycle:
            return await self.store.book_cycle(trade_id, by)
        return await self.store.book(trade_id, self.advance, by)
