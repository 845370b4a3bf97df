"""The bots as they run live, on a clock that a test moves: a backtest must come to the same."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path

from bots.decide.state_cache import StateCache
from bots.loop import BotLoop, Pace
from bots.subscriptions import Signal
from exchanges.paper.account import PaperAccount
from exchanges.paper.conditions import FillConditions
from exchanges.paper.journal import PaperJournal
from market.decide.settings import Settings
from market.prices.opportunities import Opportunity
from market.prices.quotes import Quote
from market.time_units import MICROSECONDS
from market.trade.leases import UNFENCED
from market.trade.reservation_state import BalanceRow
from runtime.clock import Clock
from store.memory.parts import MemoryBalances, MemoryLeases
from store.memory.store import MemoryTradeStore
from tests.backtest.trading_samples import MARKETS, OPENING

ROUNDS = 4
"""Rounds of the desks after each event, two of each: by then all that follows from it is done and known."""
TURNS = 30
"""Rounds of the loop between two rounds of the desks."""


class CountingBalances(MemoryBalances):
    """Counts how often a desk looked at everything."""

    rounds = 0

    async def rows(self) -> list[BalanceRow]:
        self.rounds += 1
        return await super().rows()


class FarClock:
    """Stands still, later than all that happens: leases do not run out by it."""

    def now(self) -> int:
        return 2**62

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(f"nobody waits {seconds} s for a lease")


class CountingStore(MemoryTradeStore):
    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.leases = MemoryLeases(FarClock())
        self.balances: CountingBalances = CountingBalances(self.moment)


@dataclass
class MovedClock:
    """Shows what it is set to; sleepers wake on the way there."""

    time: int = 0
    _sleepers: list[tuple[int, int, asyncio.Event]] = field(default_factory=list)
    _slept: int = 0

    def now(self) -> int:
        return self.time

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self._slept += 1
        heappush(self._sleepers, (self.time + round(seconds * MICROSECONDS), self._slept, woken))
        await woken.wait()

    def next(self) -> int | None:
        return self._sleepers[0][0] if self._sleepers else None

    def move(self, time: int) -> None:
        """Move to `time`, waking those whose time it is."""
        self.time = max(self.time, time)
        while self._sleepers and self._sleepers[0][0] <= self.time:
            heappop(self._sleepers)[2].set()


class LiveDesks:
    """A desk for each exchange of the samples, each with its local paper account."""

    def __init__(self, folder: Path, settings: Settings, latency_ms: float) -> None:
        self.clock = MovedClock()
        self.store = CountingStore(self.clock)
        self._settings = settings
        self._signals: dict[str, asyncio.Queue[Signal]] = {}
        self._accounts = {market.exchange: self._account(folder, market.exchange, latency_ms) for market in MARKETS}

    async def trade(self, quotes: Sequence[Quote], opportunities: Sequence[Opportunity], reasons: int) -> None:
        """Show all quotes and opportunities in the order of their times, and end once `reasons` rejections are
        written."""
        await self.store.settings.create(self._settings)
        # otherwise the first desk would take the other's balances for gained ones until its next look
        for exchange, account in self._accounts.items():
            await self.store.balances.replace(exchange, await account.balances(), "before", UNFENCED)
        desks = [await self._begun(exchange) for exchange in self._accounts]
        await self._settled()
        for time in sorted({one.received_time for one in quotes} | {one.event_time for one in opportunities}):
            await self._sleep_until(time - 1)
            # a quote shown at a moment is known to the orders that arrive then
            for quote in (one for one in quotes if one.received_time == time):
                self._accounts[quote.exchange].update_quote(quote)
            await self._move(time)
            for opportunity in (one for one in opportunities if one.event_time == time):
                await self._report(opportunity)
        await self._sleep_until(None)
        await self._written(reasons)
        for bot_loop in desks:
            bot_loop.cancel()
        await asyncio.gather(*desks, return_exceptions=True)

    async def _written(self, reasons: int) -> None:
        async with asyncio.timeout(10):
            while sum((await self.store.rejection_counts()).values()) < reasons:  # noqa: ASYNC110 - the desks write them
                await asyncio.sleep(0.01)

    async def _report(self, opportunity: Opportunity) -> None:
        for signals in self._signals.values():
            signals.put_nowait(opportunity)
        await self._settled()

    async def _sleep_until(self, time: int | None) -> None:
        """Move the clock on until `time`; None: until nobody sleeps any more."""
        while (wake := self.clock.next()) is not None and (time is None or wake <= time):
            await self._move(wake)

    async def _move(self, time: int) -> None:
        self.clock.move(time)
        await self._settled()

    async def _settled(self) -> None:
        wanted = self.store.balances.rounds + ROUNDS
        async with asyncio.timeout(10):
            while self.store.balances.rounds < wanted:
                for _ in range(TURNS):
                    await asyncio.sleep(0)

    async def _begun(self, exchange: str) -> "asyncio.Future[None]":
        self._signals[exchange] = asyncio.Queue()
        # by the steady clock nothing is late, and no lease is lost while the other one goes on by minutes
        pace = Pace(round_seconds=0.0005, wall_clock=self.clock.now, steady_clock=lambda: 0)
        cache = StateCache(self._settings, exchange)
        lease = await self.store.leases.acquire(exchange, f"bot-{exchange}")
        assert lease is not None
        bot_loop = BotLoop(self.store, self._accounts[exchange], MARKETS, self.clock, cache, lease.actor, pace)
        ready = asyncio.Event()
        run = asyncio.ensure_future(bot_loop.run(self._reported(exchange), ready.set))
        await ready.wait()
        return run

    def _account(self, folder: Path, exchange: str, latency_ms: float) -> PaperAccount:
        return PaperAccount(
            exchange=exchange,
            markets=MARKETS,
            opening=OPENING[exchange],
            journal=PaperJournal(folder / f"{exchange}.jsonl"),
            clock=self.clock,
            fee_rate=lambda: self._settings.taker_fees[exchange],
            latency_ms=latency_ms,
            conditions=FillConditions(max_quote_age=lambda: self._settings.max_quote_age_ms * 1_000),
        )

    async def _reported(self, exchange: str) -> AsyncIterator[Signal]:
        while True:
            yield await self._signals[exchange].get()
