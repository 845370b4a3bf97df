"""A store, and an exchange whose lists a test writes, to be compared by a bot's reconciliation."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

from bots.reconcile.reconciler import Reconciliation
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from market.decide.settings import Settings
from market.instruments.orders import AccountFill, Fill, LimitOrder, OpenOrder, OrderReport
from market.money import Amount, Price
from market.trade.arbitrages import Arbitrage, Leg, LegRole
from market.trade.leases import UNFENCED, Actor
from market.trade.reservation_state import BalanceRow
from market.trade.unwinding import advancing
from store.memory.store import MemoryTradeStore
from tests.market.cycle_samples import triangle
from tests.market.samples import MARKETS
from tests.store.booking import book_reported, finish_leg
from tests.store.reservation_requests import OPENING, SETTINGS, filled, granted, open_books, reserved

ID = "opportunity-1"
START = 1_700_000_000_000_000
MINUTE = 60_000_000
ONE = Decimal(1)
Answer = TypeVar("Answer")


@dataclass
class SteppedClock:
    time: int = START

    def now(self) -> int:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += round(seconds * 1_000_000)


async def nothing() -> None:
    """Happens after most questions."""


@dataclass
class Exchange:
    """An account whose lists the test writes."""

    exchange: str = "alpha"
    owned: dict[str, Decimal] = field(default_factory=lambda: dict(OPENING["alpha"]))
    orders: list[OpenOrder] = field(default_factory=list)
    fills: list[AccountFill] = field(default_factory=list)
    looks: Callable[[LimitOrder], OrderReport | None] = lambda _: None
    first: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    """What happens once, right before the exchange answers."""
    then: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    """What happens once, right after the exchange was asked for it."""
    asked_for: list[str] = field(default_factory=list)
    taken: Collection[str] = ()
    since: int = 0

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        raise AssertionError("reconciliation sends nothing")

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        self.asked_for.append(order.client_order_id)
        self.taken = others
        return self.looks(order)

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        raise AssertionError("reconciliation cancels nothing")

    async def balances(self) -> dict[str, Decimal]:
        return await self._reported("balances", lambda: dict(self.owned))

    async def open_orders(self) -> list[OpenOrder]:
        return await self._reported("orders", lambda: list(self.orders))

    async def fills_since(self, since: int) -> list[AccountFill]:
        self.since = since
        return await self._reported("fills", lambda: list(self.fills))

    async def close(self) -> None:
        """Nothing is held open."""

    async def _reported(self, moment: str, answer: Callable[[], Answer]) -> Answer:
        await self.first.pop(moment, nothing)()
        reported = answer()
        await self.then.pop(moment, nothing)()
        return reported

    def fill(self, report: OrderReport) -> None:
        """List the fills of an order, and move what they moved."""
        for one in report.fills:
            sign = 1 if one.side == "buy" else -1
            self.owned["BTC"] += sign * one.amount
            self.owned["USD"] -= sign * one.cost
            self.owned[one.fee_currency] -= one.fee
            self.fills.append(AccountFill(one, report.exchange_order_id))


@dataclass
class Bench:
    clock: SteppedClock
    store: MemoryTradeStore
    exchange: Exchange
    settings: Settings = SETTINGS
    has_client_ids: bool = True

    def process(self, by: Actor = UNFENCED) -> Reconciliation:
        """Return a new one, that knows nothing of those before."""
        return Reconciliation(
            store=self.store,
            account=self.exchange,
            advance=advancing(MARKETS),
            settings=lambda: self.settings,
            by=by,
            has_client_ids=self.has_client_ids,
            wall_clock=self.clock.now,
        )

    async def rounds(self, of: Reconciliation, count: int) -> list[str]:
        """Return the kinds acted on, the clock going on between."""
        kinds: list[str] = []
        for _ in range(count):
            kinds += [one.kind for one in await of.round()]
            await book_reported(self.store, advancing(MARKETS))
            self.clock.time += 15_000_000
        return kinds

    async def stored(self) -> list[str]:
        return [f"{one.kind} {one.handled}" for one in await self.store.differences.stored()]

    async def row(self, currency: str = "USD") -> BalanceRow:
        rows = await self.store.balances.rows()
        return next(row for row in rows if (row.exchange, row.currency) == ("alpha", currency))

    async def reduce_only(self) -> list[str]:
        return [one.exchange for one in await self.store.health.all() if one.unexplained_since]

    async def arbitrage(self) -> Arbitrage:
        found = await self.store.arbitrage(ID)
        assert found is not None
        return found


async def opened_bench() -> Bench:
    """Open the books of both exchanges."""
    clock = SteppedClock()
    bench = Bench(clock, MemoryTradeStore(clock), Exchange())
    await open_books(bench.store)
    return bench


async def bench_with_cycle() -> Bench:
    """Have all legs of a trade on a cycle under way at alpha, in a session that did not begin there yet."""
    clock, case = SteppedClock(), triangle()
    owned = {"USD": Decimal(100_000), "BTC": Decimal(10), "ETH": Decimal(100)}
    bench = Bench(clock, MemoryTradeStore(clock), Exchange(owned=dict(owned)), case.rows.settings)
    await bench.store.settings.create(case.rows.settings)
    await bench.store.balances.replace("alpha", owned, "now", UNFENCED)
    trade, reason = await bench.store.reserve_cycle(case.request, UNFENCED)
    assert trade is not None, reason
    return bench


async def buy_sent(bench: Bench, sold: str = "2") -> Leg:
    """Have the buy on alpha under way and the sell on beta filled so far."""
    await reserved(bench.store, amount="2")
    buy, sell = await granted(bench.store, ID, "buy"), await granted(bench.store, ID, "sell")
    await finish(bench, "sell", filled(sell, Decimal(sold)))
    return buy


async def finish(bench: Bench, role: LegRole, report: OrderReport | None) -> None:
    await finish_leg(bench.store, ID, role, report, advancing(MARKETS), UNFENCED)


async def ended_without(bench: Bench, sold: str = "0") -> Leg:
    """Return the exchange denied the buy; the arbitrage has ended."""
    buy = await buy_sent(bench, sold)
    await finish(bench, "buy", None)
    return buy


def resting(order_id: str) -> OpenOrder:
    return OpenOrder("alpha", "BTC/USD", order_id, None, "buy", Amount(ONE), Price(Decimal(50)), START)


def fill_of_a_stranger() -> OrderReport:
    fill = Fill(
        "strange", "alpha", "BTC/USD", "buy", Price(Decimal(90)), Amount(ONE), Decimal(90), Decimal(0), "USD", START
    )
    return OrderReport("strange-order", True, Amount(ONE), (fill,))
