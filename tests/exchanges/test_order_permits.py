"""Whether an order may go is asked last of all: what comes between the decision and the bytes stops it.

Each exchange runs on a clock that stands still, and holds up what the order waits for until the test lets it go on.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bots.decide.state_cache import StateCache
from bots.execute.leg_executor import POST_WITHIN_SECONDS, LegExecutor
from exchanges.ccxt_client import make_exchange
from exchanges.errors import NotPostedError
from exchanges.orders.ccxt_account import CcxtAccount, open_account
from exchanges.requests.order_permits import Permit
from exchanges.requests.rate_limits import LIMITS
from market.instruments.orders import LimitOrder
from market.time_units import MICROSECONDS
from market.trade.leases import UNFENCED
from market.trade.leg_planning import advancing
from session.clock import SystemClock
from simulators.faults.faults import Fault
from store.memory.memory_store import MemoryTradeStore
from tests.exchanges.served import TRADED, Served, order_on, served
from tests.exchanges.stepped_clock import SteppedClock
from tests.market.samples import MARKETS, settings_of

BY_EXCHANGE = {market.exchange: market for market in TRADED}
LIMIT = 30


@dataclass
class Place:
    """One exchange that takes its time, and the account there."""

    exchange: str
    outside: Served
    clock: SteppedClock
    account: CcxtAccount

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
    async def held_up(self, permit: Permit) -> AsyncIterator["asyncio.Task[object]"]:
        """An order that waits for what the exchange is slow to answer: the time it is signed by, or on Kraken, which
        needs none, the order before it."""
        self.outside.faults.switch_on(Fault(self.exchange, "latency", count=1, milliseconds=200))
        ahead = [asyncio.create_task(self.account.place(self.order()))] if self.exchange == "kraken" else []
        async with asyncio.timeout(LIMIT):
            if ahead:
                await self._is_held_up()
            task: asyncio.Task[object] = asyncio.create_task(self.account.place(self.order(), permit))
            await self._is_held_up()
        yield task
        while not task.done():
            self.clock.advance(0.1)
            await SystemClock().sleep(0.001)
        await asyncio.gather(*ahead)


@pytest.fixture(params=sorted(BY_EXCHANGE))
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    clock = SteppedClock()
    async with served(tmp_path, clock=clock) as outside:
        account = open_account(outside.config(request.param), [BY_EXCHANGE[request.param]])
        yield Place(request.param, outside, clock, account)
        await account.close()


def stop(steady: list[int], cache: StateCache, lease: list[bool], what: str) -> None:
    """What happens while the order waits."""
    if what == "late":
        steady[0] += int(POST_WITHIN_SECONDS * MICROSECONDS) + 1
    elif what == "halted":
        cache.settings = settings_of(trading_state="halted")
    elif what == "lease":
        lease[0] = False


@pytest.mark.parametrize("what", ["late", "halted", "lease", "nothing"])
async def test_what_happens_before_the_bytes_leave_stops_the_order(place: Place, what: str) -> None:
    steady, lease = [0], [True]
    cache = StateCache(settings_of(), holds_lease=lambda: lease[0])
    trader = LegExecutor(
        MemoryTradeStore(place.clock),
        place.account,
        advancing(MARKETS),
        steady_clock=lambda: steady[0],
        send_block=cache.send_block,
        by=UNFENCED,
    )
    async with place.held_up(trader.permit()) as task:
        before = place.orders
        stop(steady, cache, lease, what)
    ahead = 1 if place.exchange == "kraken" else 0
    if what == "nothing":
        await task
        assert place.orders - before <= ahead + 1
        assert place.orders >= ahead + 1
        return
    with pytest.raises(NotPostedError):
        await task
    assert place.orders == ahead, "only the one that went before it"


async def test_an_order_that_nobody_permitted_does_not_leave(place: Place) -> None:
    client = make_exchange(place.outside.config(place.exchange), posts_only=True)
    try:
        with pytest.raises(NotPostedError, match="the request has no permit"):
            await client.load_markets()
    finally:
        await client.close()


@pytest.mark.parametrize("exchange", sorted(LIMITS))
async def test_with_the_live_limits_no_order_waits(exchange: str, tmp_path: Path) -> None:
    """The limiter's clock stands still, so that whatever waited for it would wait for ever. The exchange's does not:
    it would reject what is signed a second after its own time."""
    market = BY_EXCHANGE[exchange]
    async with served(tmp_path) as outside:
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


async def _rejected(account: CcxtAccount, place: Place) -> bool:
    """Whether a further order is rejected before it leaves; one that leaves, leaves at once."""
    before, order = place.orders, asyncio.create_task(account.place(place.order()))
    while not order.done() and place.orders == before:
        await SystemClock().sleep(0.001)
    order.cancel()
    [result] = await asyncio.gather(order, return_exceptions=True)
    return isinstance(result, NotPostedError) and place.orders == before
