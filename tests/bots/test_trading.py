"""One leg at an exchange that answers in every way it may."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal

import pytest

from bots.checks import Circumstances
from bots.deciding import decided
from bots.trading import NOTHING_FILLED, Trader
from exchanges.errors import AccountRefusedError, ExchangeUnavailableError, OrderRefusedError, OutcomeUnknownError
from exchanges.permits import ANY_TIME, Permit
from market.arbitrages import Arbitrage, Leg, LegRole
from market.execution import advancing, markets_by_symbol
from market.money import Amount
from market.orders import AccountFill, LimitOrder, OpenOrder, OrderReport
from store.memory import MemoryTradeStore
from store.port import Reservation
from tests.bots.exchange_floor import OPENING
from tests.market.samples import EUR_MARKET, MARKETS, USD_MARKET, fill_of, levels, opportunity_of, settings_of

Answer = OrderReport | Exception | None
OPPORTUNITY = opportunity_of((USD_MARKET, levels(("6000", "1"))), (EUR_MARKET, levels(("5618", "1"))))
IDENTITY = OPPORTUNITY.opportunity_id
SETTINGS = settings_of(max_notional=600)


def report(order: LimitOrder, amount: str, is_final: bool = True) -> OrderReport:
    number = Decimal(amount)
    fills = (fill_of(USD_MARKET, order.side, number, order.price),) if number else ()
    return OrderReport("exchange-1", is_final, Amount(number), fills)


@dataclass
class SteppedClock:
    """The store's time; each look-up takes three seconds of it."""

    time: int = 1_000_000

    def now(self) -> int:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += round(seconds * 1_000_000)


@dataclass
class ScriptedAccount:
    """Answers in the order written down; the last answer to a look-up stays."""

    clock: SteppedClock
    placing: Callable[[LimitOrder], Answer]
    looks: list[Callable[[LimitOrder], Answer]] = field(default_factory=list)
    posts: list[LimitOrder] = field(default_factory=list)
    exchange: str = "alpha"

    async def place(self, order: LimitOrder, permit: Permit = ANY_TIME) -> OrderReport:
        permit.ask()
        self.posts.append(order)
        answer = self.placing(order)
        if isinstance(answer, OrderReport):
            return answer
        raise answer or AssertionError("an order is always answered")

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        self.clock.time += 3_000_000
        answer = (self.looks.pop(0) if len(self.looks) > 1 else self.looks[0])(order)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def balances(self) -> dict[str, Decimal]:
        return {}

    async def open_orders(self) -> list[OpenOrder]:
        return []

    async def fills_since(self, since: int) -> list[AccountFill]:
        return []

    async def close(self) -> None:
        """Nothing is held open."""


async def reserved(clock: SteppedClock) -> MemoryTradeStore:
    """Both legs reserved, nothing sent."""
    store = MemoryTradeStore(clock)
    await store.create_settings(SETTINGS)
    for exchange, balances in OPENING.items():
        await store.set_balances(exchange, balances, "before")
    for side in ("buy", "sell"):
        wish = decided(
            OPPORTUNITY,
            "buy" if side == "buy" else "sell",
            markets_by_symbol(MARKETS),
            {},
            Circumstances(SETTINGS, None, OPPORTUNITY.event_time),
        )
        assert isinstance(wish, Reservation)
        result = await store.reserve(wish)
        assert result.refusal is None
    return store


async def buy_leg(store: MemoryTradeStore) -> Leg:
    arbitrage = await store.arbitrage(IDENTITY)
    leg = None if arbitrage is None else arbitrage.leg("buy")
    assert leg is not None
    return leg


async def executed(
    placing: Callable[[LimitOrder], Answer], *looks: Callable[[LimitOrder], Answer]
) -> tuple[Leg, ScriptedAccount]:
    clock = SteppedClock()
    store = await reserved(clock)
    account = ScriptedAccount(clock, placing, list(looks))
    trader = Trader(store, account, advancing(MARKETS))
    await trader.execute(IDENTITY, "buy")
    await trader.execute(IDENTITY, "buy")
    assert len(account.posts) == 1
    return await buy_leg(store), account


def unknown(_: LimitOrder) -> Answer:
    return OutcomeUnknownError("timed out")


def nothing(_: LimitOrder) -> Answer:
    return None


def away(_: LimitOrder) -> Answer:
    return ExchangeUnavailableError("maintenance")


def found(order: LimitOrder) -> Answer:
    return report(order, "0.05")


def open_still(order: LimitOrder) -> Answer:
    return report(order, "0", is_final=False)


@pytest.mark.parametrize(
    ("placing", "looks", "state", "filled"),
    [
        (found, [], "done", "0.05"),
        (open_still, [open_still, found], "done", "0.05"),
        # acknowledged: that the exchange does not show it for a while never means that it is not there
        (open_still, [*([nothing] * 3), found], "done", "0.05"),
        (unknown, [nothing, found], "done", "0.05"),
        (unknown, [nothing], "not_sent", "0"),
        # a look-up that failed says nothing: only answered ones count
        (unknown, [*([away] * 3), found], "done", "0.05"),
        # nor does one denial after them: the exchange may just be coming back
        (unknown, [*([away] * 3), nothing, found], "done", "0.05"),
        (unknown, [*([away] * 3), nothing, away, nothing, found], "done", "0.05"),
        (unknown, [*([away] * 3), nothing, nothing, found], "not_sent", "0"),
        (lambda _: OrderRefusedError("too poor"), [], "done", "0"),
    ],
)
async def test_is_seen_through(
    placing: Callable[[LimitOrder], Answer], looks: list[Callable[[LimitOrder], Answer]], state: str, filled: str
) -> None:
    leg, _ = await executed(placing, *looks)
    assert leg.state == state
    assert leg.filled == Decimal(filled)
    assert leg.held == 0


async def test_a_refused_account_ends_the_leg_and_the_bot() -> None:
    clock = SteppedClock()
    store = await reserved(clock)
    trader = Trader(store, ScriptedAccount(clock, lambda _: AccountRefusedError("bad key")), advancing(MARKETS))
    with pytest.raises(AccountRefusedError):
        await trader.execute(IDENTITY, "buy")
    assert (await buy_leg(store)).state == "not_sent"


async def test_past_its_time_a_leg_is_not_sent() -> None:
    clock = SteppedClock()
    store = await reserved(clock)
    account = ScriptedAccount(clock, found)
    clock.time += 60_000_000
    await Trader(store, account, advancing(MARKETS)).execute(IDENTITY, "buy")
    leg = await buy_leg(store)
    assert account.posts == []
    assert (leg.state, leg.held) == ("not_sent", Decimal(0))


async def test_who_was_held_up_after_the_intent_posts_no_more() -> None:
    clock = SteppedClock()
    store = await reserved(clock)
    account = ScriptedAccount(clock, found)
    moments = iter((0, 1_600_000))
    await Trader(store, account, advancing(MARKETS), steady_clock=lambda: next(moments)).execute(IDENTITY, "buy")
    leg = await buy_leg(store)
    assert account.posts == []
    assert (leg.state, "unconfirmed" in leg.times) == ("not_sent", False), "nobody need look for it"


@pytest.mark.parametrize("role", ["buy", "sell"])
async def test_what_is_forbidden_at_the_wire_is_certainly_not_sent(role: LegRole) -> None:
    clock = SteppedClock()
    store = await reserved(clock)
    account = ScriptedAccount(clock, found)
    trader = Trader(store, account, advancing(MARKETS), forbids=lambda: "halted")
    await trader.execute(IDENTITY, role)
    await trader.execute(IDENTITY, role)
    arbitrage = await store.arbitrage(IDENTITY)
    leg = None if arbitrage is None else arbitrage.leg(role)
    assert leg is not None
    assert (account.posts, leg.state, leg.held) == ([], "not_sent", Decimal(0))
    assert "sending" in leg.times
    assert await store.unconfirmed_legs(leg.exchange, 0) == []


@pytest.mark.parametrize(
    ("placing", "look", "reason"),
    [
        (unknown, lambda _: OutcomeUnknownError("two matches"), "ambiguous_order"),
        (open_still, nothing, "order_lost"),
    ],
)
async def test_an_order_of_which_nobody_knows_holds_the_arbitrage(
    placing: Callable[[LimitOrder], Answer], look: Callable[[LimitOrder], Answer], reason: str
) -> None:
    clock = SteppedClock()
    store = await reserved(clock)
    await store.start_sending(IDENTITY, "sell")
    await store.finish_leg(IDENTITY, "sell", NOTHING_FILLED, advancing(MARKETS))
    await Trader(store, ScriptedAccount(clock, placing, [look]), advancing(MARKETS)).execute(IDENTITY, "buy")
    arbitrage = await store.arbitrage(IDENTITY)
    assert isinstance(arbitrage, Arbitrage)
    assert (arbitrage.state, arbitrage.reason) == ("held", reason)
    assert arbitrage.profit is not None


async def test_anybody_ends_a_leg_past_its_time_and_never_sends_it() -> None:
    clock = SteppedClock()
    store = await reserved(clock)
    account = ScriptedAccount(clock, found, exchange="beta")
    clock.time += 60_000_000
    await Trader(store, account, advancing(MARKETS)).lapse(IDENTITY, "buy")
    leg = await buy_leg(store)
    assert account.posts == []
    assert (leg.state, leg.held) == ("not_sent", Decimal(0))
