"""A small market for bots: two exchanges' accounts on scripted quotes, a store, and desks that may be killed."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Literal, TypeVar

from bots.decide.state_cache import StateCache
from bots.draining import Draining, run_until_drained
from bots.lease_keeper import LeaseKeeper
from bots.loop import BotLoop, Pace
from bots.subscriptions import Signal
from exchanges.errors import (
    AccountRejectedError,
    ExchangeUnavailableError,
    NotPostedError,
    OrderRejectedError,
    OutcomeUnknownError,
)
from exchanges.paper.account import PaperAccount
from exchanges.paper.journal import PaperJournal
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from market.decide.settings import Settings
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport
from market.prices.opportunities import Opportunity
from market.prices.quotes import Quote
from market.trade.arbitrages import Arbitrage, Leg, LegRole
from market.trade.leases import Actor
from market.trade.leg_lifecycle import Advance
from market.trade.order_results import OrderResult
from market.trade.reservations import Reservation, ReservationResult
from runtime.clock import Clock
from runtime.tasks import run_all
from store.memory.store import MemoryTradeStore
from tests.bots.hurried_loop import LoopClock
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of

OPENING = {
    "alpha": {"USD": Decimal(20_000_000), "BTC": Decimal(300)},
    "beta": {"EUR": Decimal(20_000_000), "BTC": Decimal(300)},
}
WAIT_SECONDS = 20.0
LONG_SECONDS = 1_000.0
"""Where every answer of the exchanges may be lost."""
Answer = TypeVar("Answer")
Book = tuple[tuple[str, str], ...]


@dataclass
class Mishaps:
    """What goes wrong, drawn from one seed."""

    random: Random
    share: float = 0.0

    def happens(self) -> bool:
        return self.random.random() < self.share

    async def pause(self) -> None:
        """Wait for some turns of the loop, in each of which the caller may be cancelled."""
        for _ in range(self.random.randrange(3)):
            await asyncio.sleep(0)


class SlowStore(MemoryTradeStore):
    """The memory store, with a moment before and after each step, as over a network."""

    def __init__(self, clock: Clock, mishaps: Mishaps) -> None:
        super().__init__(clock)
        self._mishaps = mishaps

    async def reserve(self, reservation: Reservation, by: Actor) -> ReservationResult:
        await self._mishaps.pause()
        result = await super().reserve(reservation, by)
        await self._mishaps.pause()
        return result

    async def grant(self, arbitrage_id: str, role: LegRole, by: Actor) -> Leg | None:
        await self._mishaps.pause()
        leg = await super().grant(arbitrage_id, role, by)
        await self._mishaps.pause()
        return leg

    async def report_order(self, result: OrderResult, by: Actor) -> None:
        await self._mishaps.pause()
        await super().report_order(result, by)
        await self._mishaps.pause()

    async def book(self, arbitrage_id: str, advance: Advance, by: Actor) -> Arbitrage:
        await self._mishaps.pause()
        arbitrage = await super().book(arbitrage_id, advance, by)
        await self._mishaps.pause()
        return arbitrage


class FlakyAccount:
    """A paper account behind a bad line: an order may be lost, its answer may be, and reads may fail."""

    def __init__(self, account: PaperAccount, mishaps: Mishaps) -> None:
        self.paper = account
        self.posts: Counter[str] = Counter()
        self.stuck: Literal["before", "after"] | None = None
        """Where orders get stuck for ever: before or after the exchange has them."""
        self.reached = asyncio.Event()
        """An order got stuck."""
        self.freed = asyncio.Event()
        """Those that are stuck go on."""
        self.is_banned = False
        """Whatever is asked, the exchange rejects the account."""
        self.room: int | None = None
        """So many orders find room in the rate limits; None: any number."""
        self._mishaps = mishaps

    @property
    def exchange(self) -> str:
        return self.paper.exchange

    def has_room(self) -> bool:
        return self.room is None or self.posts.total() < self.room

    def _check_ban(self) -> None:
        if self.is_banned:
            raise AccountRejectedError("IP address not allowed")

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        self._check_ban()
        if not self.has_room():
            raise NotPostedError("no more requests for now")
        self.posts[order.client_order_id] += 1
        await self._mishaps.pause()
        if self._mishaps.happens():
            raise OutcomeUnknownError("lost on the way")
        if self._mishaps.happens():
            raise OrderRejectedError("not today")
        if self.stuck == "before":
            self.reached.set()
            await self.freed.wait()
        # the exchange goes on with what it has, whoever is killed meanwhile
        report = await asyncio.shield(self.paper.place(order, permit))
        if self.stuck == "after":
            self.reached.set()
            await self.freed.wait()
        await self._mishaps.pause()
        if self._mishaps.happens():
            raise OutcomeUnknownError("answer lost")
        return report

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        await self._mishaps.pause()
        self._check_ban()
        if self._mishaps.happens():
            raise ExchangeUnavailableError("no answer")
        return await self.paper.look_up(order, others)

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        await self.paper.cancel(order, exchange_order_id)

    async def balances(self) -> dict[str, Decimal]:
        await self._mishaps.pause()
        self._check_ban()
        return await self.paper.balances()

    async def open_orders(self) -> list[OpenOrder]:
        await self._mishaps.pause()
        self._check_ban()
        return await self.paper.open_orders()

    async def fills_since(self, since: int) -> list[AccountFill]:
        await self._mishaps.pause()
        self._check_ban()
        return await self.paper.fills_since(since)

    async def close(self) -> None:
        await self.paper.close()


@dataclass
class Floor:
    """Both exchanges, the store, and one desk each. Made on a hurried loop."""

    folder: Path
    settings: Settings
    mishaps: Mishaps = field(default_factory=lambda: Mishaps(Random(1)))
    market_clock: Clock = field(default_factory=LoopClock)
    """Another one than the store's in a replay."""

    def __post_init__(self) -> None:
        self.clock = LoopClock()
        self.store = SlowStore(self.clock, self.mishaps)
        self.accounts = {market.exchange: self._account(market) for market in (USD_MARKET, EUR_MARKET)}
        self.streams: dict[str, asyncio.Queue[Signal]] = {name: asyncio.Queue() for name in self.accounts}
        self.desks: dict[str, asyncio.Task[None]] = {}
        self.departures: dict[str, Draining] = {}
        self._sequence = 0

    async def open(self) -> None:
        await self.store.settings.create(self.settings)
        for exchange in self.accounts:
            await self.start(exchange)

    async def start(self, exchange: str) -> None:
        """Start a new desk; wait until it is ready or has ended."""
        # the next desk of an exchange has the name of the last, so that it need not wait for the lease
        lease = LeaseKeeper(self.store.leases, exchange, f"{exchange}-desk", self.clock.now)
        ready, draining = asyncio.Event(), Draining()
        self.departures[exchange] = draining
        self.desks[exchange] = asyncio.create_task(self._trade(exchange, lease, ready, draining))
        waiting = asyncio.ensure_future(ready.wait())
        await asyncio.wait([waiting, self.desks[exchange]], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def _trade(self, exchange: str, lease: LeaseKeeper, ready: asyncio.Event, draining: Draining) -> None:
        by = await lease.acquire()
        settings = await self.store.settings.current()
        assert settings is not None
        account = self.accounts[exchange]
        cache = StateCache(settings, exchange, has_room=account.has_room, holds_lease=lease.is_held)
        pace = Pace(round_seconds=0.1, wall_clock=self.clock.now, steady_clock=self.clock.now)
        bot_loop = BotLoop(self.store, account, (USD_MARKET, EUR_MARKET), self.market_clock, cache, by, pace)
        draining.bot_loop = bot_loop
        trading = run_all(lease.keep_renewing(), bot_loop.run(self._signals(exchange), ready.set))
        await run_until_drained(trading, draining)
        await lease.release()

    async def kill(self, exchange: str) -> None:
        """Kill the desk in the middle of whatever it does."""
        self.desks[exchange].cancel()
        with suppress(asyncio.CancelledError):
            await self.desks[exchange]

    async def dismiss(self, exchange: str) -> None:
        """Ask the desk to go, and wait until it is gone."""
        self.departures[exchange].request()
        async with asyncio.timeout(WAIT_SECONDS):
            await self.desks[exchange]

    def show(self, market: Market, bids: Book, asks: Book) -> Quote:
        """Return a new quote, at once seen by the account of its exchange."""
        self._sequence += 1
        quote = Quote(
            kind="quote",
            exchange=market.exchange,
            region=market.region,
            symbol=market.symbol,
            base=market.base,
            quote_currency=market.quote_currency,
            bids=levels(*bids),
            asks=levels(*asks),
            exchange_time=None,
            received_time=self.market_clock.now(),
            sequence=self._sequence,
        )
        self.accounts[market.exchange].paper.update_quote(quote)
        return quote

    def offer(
        self,
        asks: Book = (("6000", "0.5"),),
        bids: Book = (("5618", "0.5"),),
        reported: Sequence[str] = ("alpha", "beta"),
    ) -> Opportunity:
        """Buying on alpha and selling on beta pays."""
        low, high = str(Decimal(asks[0][0]) - 1), str(Decimal(bids[0][0]) + 1)
        buy = self.show(USD_MARKET, ((low, "1"),), asks)
        sell = self.show(EUR_MARKET, bids, ((high, "1"),))
        opportunity = opportunity_of(
            (USD_MARKET, buy.asks),
            (EUR_MARKET, sell.bids),
            identity=f"opportunity-{self._sequence}",
            event_time=self.market_clock.now(),
            lifetime=int(WAIT_SECONDS * 1_000_000),
            sequence=self._sequence,
        )
        for exchange in reported:
            self.streams[exchange].put_nowait(opportunity)
        return opportunity

    async def close(self) -> None:
        """Stop, wait for the closing balances of both, end the desks."""
        await self.store.stop_reservations()
        await until(self.store.balances.of_session, lambda both: both[1].keys() == OPENING.keys(), LONG_SECONDS)
        for exchange in self.desks:
            await self.kill(exchange)

    def _account(self, market: Market) -> FlakyAccount:
        account = PaperAccount(
            exchange=market.exchange,
            markets=(USD_MARKET, EUR_MARKET),
            opening=OPENING[market.exchange],
            journal=PaperJournal(self.folder / f"{market.exchange}.jsonl"),
            clock=self.market_clock,
            fee_rate=lambda: self.settings.taker_fees[market.exchange],
            latency_ms=0,
        )
        return FlakyAccount(account, self.mishaps)

    async def _signals(self, exchange: str) -> AsyncIterator[Signal]:
        while True:
            yield await self.streams[exchange].get()


async def until(
    question: Callable[[], Awaitable[Answer]], answered: Callable[[Answer], bool], seconds: float = WAIT_SECONDS
) -> Answer:
    """Return the answer once it is right; fails after a while."""
    async with asyncio.timeout(seconds):
        while not answered(answer := await question()):  # noqa: ASYNC110 - other tasks change the answer
            await asyncio.sleep(0.01)
        return answer
