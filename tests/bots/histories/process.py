"""One process of a bot: a loop of its own, a gate to the outside, and the real bot inside."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field

from bots.decide.state_cache import StateCache
from bots.draining import Draining, run_until_drained
from bots.errors import BotError
from bots.lease_keeper import LeaseKeeper
from bots.loop import BotLoop, Pace
from bots.reconcile.reconciler import Reconciliation
from bots.retry import retry_until_done
from bots.subscriptions import Signal
from market.instruments.cycles import Cycle
from market.instruments.markets import Market
from market.trade.leases import Actor
from market.trade.unwinding import advancing
from runtime.tasks import run_all
from store.errors import FencedOutError, StoreUnavailableError
from store.memory.store import MemoryTradeStore
from tests.bots.histories.exchange_model import ExchangeModel
from tests.bots.histories.gates import AccountAtTheGate, Gate, Step, store_at
from tests.bots.histories.stepped_loop import SteppedLoop, Time

ENDS_OF_A_PROCESS = (FencedOutError, BotError)
"""What a bot may end with; its supervisor starts it again. No word of an exchange is among them."""


@dataclass(eq=False)
class Process:
    """Runs only while the driver lets it."""

    name: str
    exchange: str
    loop: SteppedLoop
    gate: Gate
    signals: "asyncio.Queue[Signal]" = field(default_factory=asyncio.Queue)
    draining: Draining = field(default_factory=Draining)
    is_paused: bool = False
    hanging: set[Step] = field(default_factory=set)
    """Calls whose time has not come, however long it takes."""
    task: asyncio.Task[None] | None = None

    @property
    def is_over(self) -> bool:
        return self.task is None or self.task.done()

    @property
    def is_acting(self) -> bool:
        """It had the lease of its exchange, and has opened the streams."""
        return self.draining.bot_loop is not None

    @property
    def steps(self) -> list[Step]:
        """Those that the driver may let go on."""
        if self.is_over or self.is_paused:
            return []
        return [step for step in self.gate.steps if step not in self.hanging and not step.is_over]

    def begin(self, work: Coroutine[object, object, None]) -> None:
        self.task = self.loop.create_task(work)
        self.loop.run_ready()

    def run_ready(self) -> None:
        if not self.is_paused and not self.is_over:
            self.loop.run_ready()

    def wake(self) -> None:
        """After a pause, however long."""
        self.is_paused = False
        self.run_ready()

    def die(self) -> None:
        """As by kill -9: whatever its code still does on the way out reaches nobody."""
        self.gate.is_dead = True
        self.end()

    def end(self) -> None:
        """As by a second SIGTERM, as far as it comes without waiting."""
        self.is_paused = False
        if self.task is not None:
            self.task.cancel()
            self.loop.run_ready()

    def ask_to_go(self) -> None:
        """As by SIGTERM: it finishes what is in flight first."""
        self.draining.request()
        self.run_ready()

    def unexpected(self) -> list[str]:
        """Return what it ended with or left behind that no bot should."""
        left = [str(failure) for failure in self.loop.failures]
        if self.task is None or not self.task.done() or self.task.cancelled():
            return left
        error = self.task.exception()
        return left if error is None else left + [repr(one) for one in _leaves(error) if not _is_an_end(one)]


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for one in error.exceptions for leaf in _leaves(one)]
    return [error]


def _is_an_end(error: BaseException) -> bool:
    """Not that another process decides now: this one acts on for its exchange."""
    return isinstance(error, ENDS_OF_A_PROCESS) and "decision|" not in str(error)


def bot_of(
    process: Process,
    store: MemoryTradeStore,
    model: ExchangeModel,
    markets: tuple[Market, ...],
    time: Time,
    make_bot: type[BotLoop],
    watched: tuple[Cycle, ...] = (),
) -> Coroutine[object, object, None]:
    """Return what the process runs, put together as `bots.process` does it."""
    seen = store_at(process.gate, store)
    account = AccountAtTheGate(model, process.gate)
    lease = LeaseKeeper(seen.leases, process.exchange, process.name, time.now)

    async def signals() -> AsyncIterator[Signal]:
        while True:
            yield await process.signals.get()

    async def act(by: Actor) -> None:
        account.by = by
        settings = await retry_until_done(seen.settings.current)
        assert settings is not None
        cache = StateCache(settings, process.exchange, holds_lease=lease.is_held)
        reconciliation = Reconciliation(
            store=seen,
            account=account,
            advance=advancing(markets),
            settings=lambda: cache.settings,
            by=by,
            has_client_ids=model.has_client_ids,
            wall_clock=time.now,
        )
        pace = Pace(round_seconds=1.0, wall_clock=time.now, steady_clock=time.now)
        bot_loop = make_bot(seen, account, markets, time, cache, by, pace, (reconciliation.run,))
        if watched:
            bot_loop.trade_cycles(watched, "USD")
        reconciliation.on_report = bot_loop.books.record_change
        process.draining.bot_loop = bot_loop
        await run_all(lease.keep_renewing(), bot_loop.run(signals(), lambda: None))

    async def trade() -> None:
        by = await retry_until_done(lease.acquire)
        try:
            await act(by)
        finally:
            with suppress(StoreUnavailableError):
                await lease.release()

    return run_until_drained(trade(), process.draining)
