"""Whether an order may go is asked last of all: what comes between the decision and the bytes stops it.

Each exchange runs on a clock that stands still, and holds up what the order waits for until the test lets it go on.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import pytest

from bots.decide.state_cache import StateCache
from bots.execute.leg_executor import LegExecutor
from bots.server_clock import RESOLUTION, ServerClock
from exchanges.accounts.exchange_account import ExchangeAccount, open_account
from exchanges.catalogue import EXCHANGES
from exchanges.ccxt.client import make_exchange
from exchanges.errors import NotPostedError
from market.decide.settings import Settings
from market.instruments.markets import Market
from market.instruments.orders import LimitOrder
from market.prices.opportunities import Opportunity
from market.prices.quotes import Level
from market.trade.arbitrages import Leg
from market.trade.leases import UNFENCED
from market.trade.reservations import SEND_WITHIN, LegRequest, Reservation
from market.trade.unwinding import advancing, client_order_id
from runtime.clock import SystemClock
from simulators.faults.fault_kinds import Fault
from store.memory.store import MemoryTradeStore
from tests.exchanges.served import TRADED, Served, order_on, served
from tests.exchanges.stepped_clock import SteppedClock
from tests.market.samples import USD_MARKET, leg_of, opportunity_of, settings_of
from tests.store.booking import book_reported

BY_EXCHANGE = {market.exchange: market for market in TRADED}
LIMIT = 30


@dataclass
class Place:
    """One exchange that takes its time, and the account there."""

    exchange: str
    outside: Served
    clock: SteppedClock
    account: ExchangeAccount

    def order(self) -> LimitOrder:
        market = BY_EXCHANGE[self.exchange]
        # nobody sells so low: what is there stays there
        price, amount = self.outside.best(market, "buy")
        return order_on(market, "buy", max(amount, market.minimum_amount), price)

    @property
    def orders(self) -> int:
        """How many the exchange has had."""
        return len(self.outside.world.gateways[self.exchange].exchange.customer.orders)

    async def _is_held_up(self) -> None:
        while not self.clock.sleepers:
            await SystemClock().sleep(0.001)

    @asynccontextmanager
    async def held_up(self, desk: "Desk") -> AsyncIterator["asyncio.Task[None]"]:
        """Yield an order that waits for a slow answer of the exchange: the time that it is signed by, or on Kraken,
        which needs none, the order before it."""
        self.outside.faults.switch_on(Fault(self.exchange, "latency", count=1, milliseconds=200))
        ahead = [asyncio.create_task(self.account.place(self.order()))] if self.exchange == "kraken" else []
        async with asyncio.timeout(LIMIT):
            if ahead:
                await self._is_held_up()
            task = asyncio.create_task(desk.post())
            await desk.looked.wait()
            await self._is_held_up()
        yield task
        while not all(order.done() for order in (task, *ahead)):
            self.clock.advance(0.1)
            await SystemClock().sleep(0.001)
        await asyncio.gather(*ahead)


@pytest.fixture(params=sorted(BY_EXCHANGE))
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    clock = SteppedClock()
    async with served(tmp_path, clock=clock, only=(request.param,)) as outside:
        account = open_account(outside.config(request.param), [BY_EXCHANGE[request.param]])
        yield Place(request.param, outside, clock, account)
        await account.close()


@dataclass
class Desk:
    """A bot of the exchange, and one leg that was granted to it."""

    trader: LegExecutor
    store: MemoryTradeStore
    leg: Leg
    arbitrage_id: str
    steady: list[int]
    lease: list[bool]
    looked: asyncio.Event
    """It has looked at its clock: the order is on its way."""

    async def post(self) -> None:
        await self.trader.execute(self.arbitrage_id, self.leg)
        await book_reported(self.store, advancing(TRADED))

    async def ended(self) -> Leg:
        arbitrage = await self.store.arbitrage(self.arbitrage_id)
        leg = None if arbitrage is None else arbitrage.leg("buy")
        assert leg is not None
        return leg

    def stop(self, cache: StateCache, what: str) -> None:
        """Let `what` happen while the order waits."""
        if what == "late":
            self.steady[0] += SEND_WITHIN - RESOLUTION + 1
        elif what == "just in time":
            self.steady[0] += SEND_WITHIN - RESOLUTION
        elif what == "halted":
            cache.settings = settings_of(trading_state="halted")
        elif what == "lease":
            self.lease[0] = False


async def granted_desk(place: Place) -> tuple[Desk, StateCache]:
    """Make a world in which the exchange's clock stands still and is the store's."""
    market, order = BY_EXCHANGE[place.exchange], place.order()
    settings = settings_of(enabled_exchanges=(place.exchange,), taker_fees={place.exchange: Decimal(0)})
    store = MemoryTradeStore(place.clock)
    await store.settings.create(settings)
    await store.balances.replace(place.exchange, {market.quote_currency: Decimal("1e9")}, "before", UNFENCED)
    book = (Level(order.price, order.amount),)
    seen = opportunity_of((USD_MARKET, book), (USD_MARKET, book), uuid4().hex)
    seen = replace(seen, buy=leg_of(market, book), sell=leg_of(market, book))
    result = await store.reserve(one_leg(market, order, seen, settings), UNFENCED)
    assert result.arbitrage is not None, result.rejection
    [leg] = result.arbitrage.legs
    assert (leg.state, leg.amount) == ("granted", order.amount)
    steady, lease, looked = [0], [True], asyncio.Event()

    def steady_clock() -> int:
        looked.set()
        return steady[0]

    cache = StateCache(settings, holds_lease=lambda: lease[0])
    clock = ServerClock(steady_clock)
    clock.observe(await store.server_now(), 0)
    trader = LegExecutor(store, place.account, send_block=cache.send_block, by=UNFENCED, server_clock=clock)
    return Desk(trader, store, leg, result.arbitrage.arbitrage_id, steady, lease, looked), cache


def one_leg(market: Market, order: LimitOrder, opportunity: Opportunity, settings: Settings) -> Reservation:
    """`order` is the whole trade."""
    leg = Leg(
        role="buy",
        exchange=market.exchange,
        symbol=market.symbol,
        base=market.base,
        quote_currency=market.quote_currency,
        side="buy",
        amount=order.amount,
        limit_price=order.price,
        client_order_id=client_order_id(opportunity.opportunity_id, "buy"),
    )
    step = market.lot_step
    wanted = LegRequest(leg, market.quote_currency, order.price, Decimal(1), step, order.amount)
    return Reservation(opportunity, (wanted,), order.amount, step, step, settings, strategy="ma")


STOPPED = {
    "late": "too late: the order was held up on its way",
    "halted": "halted",
    "lease": "another process may have taken over the lease",
}


@pytest.mark.parametrize("what", ["late", "halted", "lease", "just in time", "nothing"])
async def test_what_happens_before_the_bytes_leave_stops_the_order(place: Place, what: str) -> None:
    desk, cache = await granted_desk(place)
    async with place.held_up(desk) as task:
        before = place.orders
        desk.stop(cache, what)
    await task
    ahead, leg = 1 if place.exchange == "kraken" else 0, await desk.ended()
    if what in STOPPED:
        assert place.orders == ahead, "only the one that went before it"
        assert (leg.is_unposted, leg.reason) == (True, STOPPED[what])
        return
    assert place.orders - before <= ahead + 1
    assert place.orders == ahead + 1
    assert leg.state == "done"
    assert leg.times["sent"] == leg.times["granted"] + RESOLUTION // 2 + desk.steady[0], "the best estimate"
    assert leg.times["sent"] <= leg.times["granted"] + SEND_WITHIN


async def test_an_order_that_nobody_permitted_does_not_leave(place: Place) -> None:
    client = make_exchange(place.outside.config(place.exchange), posts_only=True)
    try:
        with pytest.raises(NotPostedError, match="the request has no permit"):
            await client.load_markets()
    finally:
        await client.close()


@pytest.mark.parametrize("exchange", sorted(EXCHANGES))
async def test_with_the_live_limits_no_order_waits(exchange: str, tmp_path: Path) -> None:
    """The limiter's clock stands still, so that whatever waited for it would wait for ever. The exchange's does not:
    it would reject what is signed a second after its own time."""
    market = BY_EXCHANGE[exchange]
    async with served(tmp_path, only=(exchange,)) as outside:
        config = replace(outside.config(exchange), is_limited=True)
        account = open_account(config, [market], steady_clock=lambda: 0)
        place = Place(exchange, outside, SteppedClock(), account)
        try:
            posted = 0
            async with asyncio.timeout(LIMIT):
                while account.legs_left():
                    await account.place(place.order())
                    posted += 1
                # no new trade begins, and what ends one leaves all the same, as long as anything is left
                assert account.has_room()
                while account.has_room():
                    assert not await _rejected(account, place)
                assert await _rejected(account, place)
            assert place.orders > posted > 0
        finally:
            await account.close()


async def _rejected(account: ExchangeAccount, place: Place) -> bool:
    """Whether a further order is rejected before it leaves; one that leaves, leaves at once."""
    before, order = place.orders, asyncio.create_task(account.place(place.order()))
    while not order.done() and place.orders == before:
        await SystemClock().sleep(0.001)
    order.cancel()
    [result] = await asyncio.gather(order, return_exceptions=True)
    return isinstance(result, NotPostedError) and place.orders == before
