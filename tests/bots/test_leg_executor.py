"""One leg at an exchange that answers in every way it may."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pytest

from bots.decide.order_decision import decide
from bots.execute.leg_executor import NOTHING_FILLED, LegExecutor
from bots.execute.order_lookup import NOT_FINAL
from bots.server_clock import RESOLUTION, ServerClock
from exchanges.errors import AccountRejectedError, ExchangeUnavailableError, OrderRejectedError, OutcomeUnknownError
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from market.decide.decision_context import DecisionContext
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport
from market.money import ZERO, Amount
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, Leg, LegRole
from market.trade.leases import UNFENCED, Actor, decision_right
from market.trade.report_checks import IMPLAUSIBLE
from market.trade.reservations import SEND_WITHIN, Reservation
from market.trade.unwinding import UNCONFIRMED, EndAsResidual, advancing, markets_by_symbol
from store.memory.store import MemoryTradeStore
from store.ports.trading import TradeStore
from tests.bots.exchange_floor import OPENING
from tests.market.samples import EUR_MARKET, MARKETS, USD_MARKET, fill_of, levels, opportunity_of, settings_of
from tests.store.booking import book_reported, finish_leg

Answer = OrderReport | Exception | None
OPPORTUNITY = opportunity_of((USD_MARKET, levels(("6000", "1"))), (EUR_MARKET, levels(("5618", "1"))))
IDENTITY = OPPORTUNITY.opportunity_id
BITFLYER = replace(USD_MARKET, exchange="bitflyer")
"""An exchange without client order ids."""
OPPORTUNITY_THERE = opportunity_of((BITFLYER, levels(("6000", "1"))), (EUR_MARKET, levels(("5618", "1"))))
EXCHANGES = ("alpha", "beta", "bitflyer")
SETTINGS = settings_of(max_notional=600, enabled_exchanges=EXCHANGES, taker_fees=dict.fromkeys(EXCHANGES, ZERO))


def report(order: LimitOrder, amount: str, is_final: bool = True) -> OrderReport:
    number = Decimal(amount)
    market = replace(USD_MARKET, exchange=order.exchange)
    fills = (fill_of(market, order.side, number, order.price),) if number else ()
    return OrderReport("exchange-1", is_final, Amount(number), fills)


@dataclass
class SteppedClock:
    """The store's time; each look-up takes some of it."""

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
    owned: dict[str, Decimal] = field(default_factory=dict)
    others: list[Collection[str]] = field(default_factory=list)
    """Told with each look-up."""
    cancelled: list[str] = field(default_factory=list)
    """Exchange order ids."""
    lost_cancels: int = 0
    """So many requests to cancel get no answer, and the exchange none of them."""
    takes: int = 3_000_000
    """Microseconds that a look-up takes."""
    held_up: int = 0
    """Microseconds from when an order is handed over to when it would be written to the wire."""

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        self.clock.time += self.held_up
        permit.check()
        self.posts.append(order)
        answer = self.placing(order)
        if isinstance(answer, OrderReport):
            return answer
        raise answer or AssertionError("an order is always answered")

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        self.clock.time += self.takes
        self.others.append(others)
        answer = (self.looks.pop(0) if len(self.looks) > 1 else self.looks[0])(order)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        self.cancelled.append(exchange_order_id)
        if len(self.cancelled) <= self.lost_cancels:
            raise ExchangeUnavailableError("no answer")

    async def balances(self) -> dict[str, Decimal]:
        return self.owned

    async def open_orders(self) -> list[OpenOrder]:
        return []

    async def fills_since(self, since: int) -> list[AccountFill]:
        return []

    async def close(self) -> None:
        """Nothing is held open."""


async def reserved(clock: SteppedClock, bought_at: Market = USD_MARKET, by: Actor = UNFENCED) -> MemoryTradeStore:
    """Both legs granted, nothing posted."""
    store = MemoryTradeStore(clock)
    await open_up(store, bought_at)
    await reserve(store, OPPORTUNITY if bought_at == USD_MARKET else OPPORTUNITY_THERE, by)
    return store


async def open_up(store: MemoryTradeStore, bought_at: Market = USD_MARKET) -> None:
    await store.settings.create(SETTINGS)
    for exchange, balances in OPENING.items():
        await store.balances.replace(
            bought_at.exchange if exchange == "alpha" else exchange, balances, "before", UNFENCED
        )


async def reserve(store: MemoryTradeStore, opportunity: Opportunity, by: Actor = UNFENCED) -> None:
    context = DecisionContext(opportunity, SETTINGS, now=opportunity.event_time)
    request = decide(context, markets_by_symbol((*MARKETS, BITFLYER)))
    assert isinstance(request, Reservation)
    result = await store.reserve(request, by)
    assert result.rejection is None


async def leg_of(store: MemoryTradeStore, role: LegRole, identity: str = IDENTITY) -> Leg:
    arbitrage = await store.arbitrage(identity)
    leg = None if arbitrage is None else arbitrage.leg(role)
    assert leg is not None
    return leg


async def buy_leg(store: MemoryTradeStore) -> Leg:
    return await leg_of(store, "buy")


@dataclass
class BookedExecutor(LegExecutor):
    """What it reports is booked at once."""

    store: TradeStore
    markets: tuple[Market, ...] = MARKETS

    async def execute(self, arbitrage_id: str, leg: Leg) -> None:
        try:
            await LegExecutor.execute(self, arbitrage_id, leg)
        finally:
            await book_reported(self.store, advancing(self.markets))


async def executor(
    store: MemoryTradeStore,
    account: ScriptedAccount,
    markets: tuple[Market, ...] = MARKETS,
    by: Actor = UNFENCED,
    send_block: Callable[[], str | None] = lambda: None,
) -> BookedExecutor:
    """Return an executor that has just asked the store for its time."""
    steady = account.clock.now
    clock = ServerClock(steady)
    clock.observe(await store.server_now(), steady())
    return BookedExecutor(
        store, account, by, steady_clock=steady, send_block=send_block, server_clock=clock, markets=markets
    )


async def executed(
    placing: Callable[[LimitOrder], Answer], *looks: Callable[[LimitOrder], Answer]
) -> tuple[Leg, ScriptedAccount]:
    clock = SteppedClock()
    store = await reserved(clock)
    account = ScriptedAccount(clock, placing, list(looks))
    await (await executor(store, account)).execute(IDENTITY, await buy_leg(store))
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
        # nor do denials after them that do not last: the exchange may just be coming back
        (unknown, [*([away] * 3), nothing, found], "done", "0.05"),
        (unknown, [*([away] * 3), nothing, away, nothing, found], "done", "0.05"),
        (unknown, [*([away] * 3), nothing, nothing, found], "done", "0.05"),
        (unknown, [*([away] * 3), *([nothing] * 4), found], "not_sent", "0"),
        (lambda _: OrderRejectedError("too poor"), [], "done", "0"),
    ],
)
async def test_is_seen_through(
    placing: Callable[[LimitOrder], Answer], looks: list[Callable[[LimitOrder], Answer]], state: str, filled: str
) -> None:
    leg, _ = await executed(placing, *looks)
    assert leg.state == state
    assert leg.filled == Decimal(filled)
    assert leg.held == 0


async def test_a_rejected_account_ends_the_leg_and_the_bot() -> None:
    clock = SteppedClock()
    store = await reserved(clock)
    trader = await executor(store, ScriptedAccount(clock, lambda _: AccountRejectedError("bad key")))
    with pytest.raises(AccountRejectedError):
        await trader.execute(IDENTITY, await buy_leg(store))
    assert (await buy_leg(store)).state == "not_sent"


async def assert_never_left(store: MemoryTradeStore, account: ScriptedAccount, why: str) -> None:
    """Check that the leg has ended, its hold is free, and nobody need look for the order."""
    leg = await buy_leg(store)
    assert account.posts == []
    assert (leg.state, leg.held, "unconfirmed" in leg.times) == ("not_sent", Decimal(0), False)
    assert why in (leg.reason or "")
    assert await store.unconfirmed_legs(leg.exchange, 0) == []


LAST_MOMENT = SEND_WITHIN - RESOLUTION
"""After the grant; by then the store's clock may show a whole second more."""


@pytest.mark.parametrize("held_up", [False, True])
async def test_a_leg_is_posted_within_a_second_of_its_grant(held_up: bool) -> None:
    """Whether it came late or was held up on the way to the wire: others may count it as not sent after that."""
    for late, posts in ((LAST_MOMENT, 1), (LAST_MOMENT + 1, 0)):
        clock = SteppedClock()
        store = await reserved(clock)
        account = ScriptedAccount(clock, found, held_up=late if held_up else 0)
        trader = await executor(store, account)
        clock.time += 0 if held_up else late
        await trader.execute(IDENTITY, await buy_leg(store))
        assert len(account.posts) == posts
        if not posts:
            await assert_never_left(store, account, "too late")


async def test_a_clock_set_back_makes_no_grant_younger() -> None:
    """What counts is this process's steady clock since the store last told its time."""
    clock, steady = SteppedClock(), SteppedClock()
    store = await reserved(clock)
    account = ScriptedAccount(steady, found)
    trader = await executor(store, account)
    steady.time += SEND_WITHIN
    clock.time -= 3_600_000_000
    await trader.execute(IDENTITY, await buy_leg(store))
    await assert_never_left(store, account, "too late")


async def test_a_grant_of_a_clock_that_was_set_forward_is_of_unknown_age() -> None:
    """The store has not told its time since then: by what this process knows the order would never be too late."""
    clock, steady = SteppedClock(), SteppedClock()
    store = MemoryTradeStore(clock)
    await open_up(store)
    account = ScriptedAccount(steady, found)
    trader = await executor(store, account)
    clock.time += 60_000_000
    await reserve(store, OPPORTUNITY)
    steady.time += 30_000_000
    await trader.execute(IDENTITY, await buy_leg(store))
    await assert_never_left(store, account, "too late")


async def test_whoever_does_not_know_the_stores_time_posts_nothing() -> None:
    clock = SteppedClock()
    store = await reserved(clock)
    account = ScriptedAccount(clock, found)
    trader = BookedExecutor(store, account, UNFENCED, steady_clock=clock.now)
    await trader.execute(IDENTITY, await buy_leg(store))
    await assert_never_left(store, account, "too late")


async def test_when_it_was_posted_is_in_its_times() -> None:
    clock = SteppedClock()
    store = await reserved(clock)
    granted_at = clock.time
    account = ScriptedAccount(clock, found, held_up=400_000)
    await (await executor(store, account)).execute(IDENTITY, await buy_leg(store))
    assert (await buy_leg(store)).times["sent"] == granted_at + 400_000 + RESOLUTION // 2


async def leased(store: MemoryTradeStore, what: str, holder: str = "one") -> Actor:
    """Its lease is the holder's, who is ready for new trades."""
    lease = await store.leases.acquire(what, holder)
    assert lease is not None
    await store.leases.set_veto(lease.actor, None)
    return lease.actor


async def test_only_the_process_that_it_was_granted_to_posts_it() -> None:
    clock = SteppedClock()
    store = MemoryTradeStore(clock)
    await open_up(store)
    first = await leased(store, "alpha")
    await leased(store, "beta")
    await reserve(store, OPPORTUNITY, await leased(store, decision_right(0)))
    leg = await buy_leg(store)
    assert leg.token == first.token
    second = await leased(store, "alpha")
    account = ScriptedAccount(clock, found)
    await (await executor(store, account, by=second)).execute(IDENTITY, leg)
    await assert_never_left(store, account, "another process")


async def test_the_process_that_it_was_granted_to_does() -> None:
    clock = SteppedClock()
    store = MemoryTradeStore(clock)
    await open_up(store)
    await leased(store, "alpha")
    first = await leased(store, "alpha")
    await leased(store, "beta")
    await reserve(store, OPPORTUNITY, await leased(store, decision_right(0)))
    account = ScriptedAccount(clock, found)
    await (await executor(store, account, by=first)).execute(IDENTITY, await buy_leg(store))
    assert (len(account.posts), (await buy_leg(store)).state) == (1, "done")


@pytest.mark.parametrize("role", ["buy", "sell"])
async def test_what_is_forbidden_at_the_wire_is_certainly_not_sent(role: LegRole) -> None:
    clock = SteppedClock()
    store = await reserved(clock)
    account = ScriptedAccount(clock, found)
    trader = await executor(store, account, send_block=lambda: "halted")
    await trader.execute(IDENTITY, await leg_of(store, role))
    arbitrage = await store.arbitrage(IDENTITY)
    leg = None if arbitrage is None else arbitrage.leg(role)
    assert leg is not None
    assert (account.posts, leg.state, leg.held) == ([], "not_sent", Decimal(0))
    assert "granted" in leg.times
    assert arbitrage is not None
    reported = [step.reason for step in arbitrage.history if step.what == f"{role} not_sent"]
    assert reported == ["halted"], "why it never left"
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
    await finish_leg(store, IDENTITY, "sell", NOTHING_FILLED, advancing(MARKETS), UNFENCED)
    account = ScriptedAccount(clock, placing, [look])
    await (await executor(store, account)).execute(IDENTITY, await buy_leg(store))
    arbitrage = await store.arbitrage(IDENTITY)
    assert isinstance(arbitrage, Arbitrage)
    assert (arbitrage.state, arbitrage.reason) == ("residual", reason)
    assert arbitrage.profit is not None


async def test_a_step_of_the_stores_clock_makes_no_order_unknown() -> None:
    """Set forward by an hour while the order is on its way: what counts is for how long it was denied."""
    clock, steady = SteppedClock(), SteppedClock()
    store = await reserved(clock)

    def while_it_is_set(_: LimitOrder) -> Answer:
        clock.time += 3_600_000_000
        return None

    account = ScriptedAccount(steady, unknown, [nothing, while_it_is_set, found], takes=1_000_000)
    await (await executor(store, account)).execute(IDENTITY, await buy_leg(store))
    assert (await buy_leg(store)).filled == Decimal("0.05")


WITHOUT_IDS = (BITFLYER, EUR_MARKET)
AT_FIRST = {"USD": Decimal(20_000_000), "BTC": Decimal(300)}
"""On bitflyer; the order buys 0.1 at 6000."""
WITH_IT = {"USD": AT_FIRST["USD"] - 300, "BTC": AT_FIRST["BTC"] + Decimal("0.05")}


@pytest.mark.parametrize(
    ("owned", "state", "reason", "leg"),
    [
        (AT_FIRST, "unfilled", "nothing_filled", "not_sent"),
        # denied all along, and filled all the same
        (WITH_IT, "residual", UNCONFIRMED, "not_sent"),
    ],
)
async def test_without_client_ids_the_balances_confirm_a_denial(
    owned: dict[str, Decimal], state: str, reason: str, leg: str
) -> None:
    clock = SteppedClock()
    store = await reserved(clock, BITFLYER)
    await finish_leg(store, IDENTITY, "sell", NOTHING_FILLED, advancing(WITHOUT_IDS), UNFENCED)
    account = ScriptedAccount(clock, unknown, [nothing], exchange="bitflyer", owned=owned, takes=20_000_000)
    await (await executor(store, account, WITHOUT_IDS)).execute(IDENTITY, await buy_leg(store))
    arbitrage = await store.arbitrage(IDENTITY)
    assert arbitrage is not None
    assert (arbitrage.state, arbitrage.reason) == (state, reason)
    assert [(one.role, one.state) for one in arbitrage.legs] == [("buy", leg), ("sell", "done")]
    assert "unconfirmed" in (await buy_leg(store)).times


async def test_a_doubt_that_is_gone_soon_holds_nothing() -> None:
    """Another order's fill was not booked yet when the exchange was first asked."""
    clock = SteppedClock()
    store = await reserved(clock, BITFLYER)
    account = ScriptedAccount(clock, unknown, [*([nothing] * 5)], exchange="bitflyer", owned=dict(WITH_IT))

    def settled(_: LimitOrder) -> Answer:
        account.owned = AT_FIRST
        return None

    account.looks.append(settled)
    await (await executor(store, account, WITHOUT_IDS)).execute(IDENTITY, await buy_leg(store))
    assert (await buy_leg(store)).state == "not_sent"
    arbitrage = await store.arbitrage(IDENTITY)
    assert arbitrage is not None
    assert arbitrage.reason is None


async def test_a_doubt_starts_over_once_a_look_up_failed() -> None:
    """The half minute of a doubt begins with the new row of denials."""
    clock = SteppedClock()
    store = await reserved(clock, BITFLYER)
    await finish_leg(store, IDENTITY, "sell", NOTHING_FILLED, advancing(WITHOUT_IDS), UNFENCED)
    looks = [*([nothing] * 9), away, *([nothing] * 5), found]
    account = ScriptedAccount(clock, unknown, looks, exchange="bitflyer", owned=dict(WITH_IT))
    await (await executor(store, account, WITHOUT_IDS)).execute(IDENTITY, await buy_leg(store))
    assert (await buy_leg(store)).filled == Decimal("0.05")


async def test_orders_that_other_legs_have_are_not_looked_at() -> None:
    """Also those of arbitrages that have ended."""
    clock = SteppedClock()
    store = await reserved(clock, BITFLYER)
    account = ScriptedAccount(clock, found, exchange="bitflyer")
    trader = await executor(store, account, WITHOUT_IDS)
    await trader.execute(IDENTITY, await buy_leg(store))
    await finish_leg(store, IDENTITY, "sell", NOTHING_FILLED, EndAsResidual("whatever"), UNFENCED)
    await reserve(store, replace(OPPORTUNITY_THERE, opportunity_id="opportunity-2"))
    account.placing, account.looks = unknown, [lambda order: replace(report(order, "0.05"), exchange_order_id="2")]
    await trader.execute("opportunity-2", await leg_of(store, "buy", "opportunity-2"))
    assert account.others == [frozenset({"exchange-1"})]


async def ended(*looks: Callable[[LimitOrder], Answer]) -> tuple[Arbitrage, ScriptedAccount]:
    """Return the arbitrage whose buy leg is answered so, and whose sell leg filled as it should."""
    clock = SteppedClock()
    store = await reserved(clock)
    account = ScriptedAccount(clock, open_still, list(looks))
    await (await executor(store, account)).execute(IDENTITY, await buy_leg(store))
    sold = await leg_of(store, "sell")
    fill = fill_of(EUR_MARKET, "sell", sold.amount, sold.limit_price)
    final = OrderReport("exchange-2", True, sold.amount, (fill,))
    await finish_leg(store, IDENTITY, "sell", final, advancing(MARKETS), UNFENCED)
    arbitrage = await store.arbitrage(IDENTITY)
    assert arbitrage is not None
    return arbitrage, account


def missing_fills(order: LimitOrder) -> Answer:
    return replace(report(order, "0.05", is_final=False), fills=())


def listed_twice(order: LimitOrder) -> Answer:
    one = report(order, "0.05", is_final=False)
    return replace(one, fills=one.fills * 2)


@pytest.mark.parametrize(
    ("looks", "cancelled", "state", "reason"),
    [
        # it ends by itself in time, or once it is cancelled
        ([open_still, found], 0, "done", None),
        ([*([open_still] * 5), found], 1, "done", None),
        # neither: nobody waits for ever, and nothing is sent in its place
        ([open_still], 3, "not_sent", NOT_FINAL),
        # one fill, which is no lie
        ([listed_twice], 3, "not_sent", NOT_FINAL),
        # fills that do not sum to what it says is filled
        ([missing_fills, found], 0, "done", None),
        ([missing_fills], 3, "not_sent", IMPLAUSIBLE),
        # what was filled before is not filled any more
        ([missing_fills, lambda order: report(order, "0.01")], 0, "not_sent", IMPLAUSIBLE),
        # twice the amount, everywhere
        ([lambda order: report(order, str(2 * order.amount))], 0, "not_sent", IMPLAUSIBLE),
    ],
)
async def test_an_acknowledged_order_ends_in_time(
    looks: list[Callable[[LimitOrder], Answer]], cancelled: int, state: str, reason: str | None
) -> None:
    arbitrage, account = await ended(*looks)
    leg = arbitrage.leg("buy")
    assert leg is not None
    assert account.cancelled == ["exchange-1"] * cancelled
    assert (leg.state, leg.unresolved, leg.held) == (state, reason, ZERO)
    assert len(account.posts) == 1
    if reason is not None:
        assert (arbitrage.state, arbitrage.reason) == ("residual", reason)
        assert [one.role for one in arbitrage.legs] == ["buy", "sell"]
        # reconciliation searches for it, and knows its fills by its id
        assert leg.exchange_order_id == "exchange-1"
        assert "unconfirmed" in leg.times


async def test_a_cancel_that_gets_lost_is_sent_again() -> None:
    """Until the order has ended, and once more at giving up: what stays open may fill when nobody looks any more."""
    clock = SteppedClock()
    store = await reserved(clock)
    account = ScriptedAccount(clock, open_still, lost_cancels=1)

    def look(order: LimitOrder) -> Answer:
        return found(order) if len(account.cancelled) > account.lost_cancels else open_still(order)

    account.looks = [look]
    await (await executor(store, account)).execute(IDENTITY, await buy_leg(store))
    assert account.cancelled == ["exchange-1"] * 2
    assert (await buy_leg(store)).state == "done"


async def test_an_order_that_filled_nothing_after_all_leaves_the_other_leg_to_be_unwound() -> None:
    clock = SteppedClock()
    store = await reserved(clock)
    account = ScriptedAccount(clock, open_still, [open_still])
    await (await executor(store, account)).execute(IDENTITY, await buy_leg(store))
    sold = await leg_of(store, "sell")
    final = OrderReport("exchange-2", True, sold.amount, (fill_of(EUR_MARKET, "sell", sold.amount, sold.limit_price),))
    await finish_leg(store, IDENTITY, "sell", final, advancing(MARKETS), UNFENCED)
    nothing_filled = OrderReport("exchange-1", True, Amount(ZERO), ())
    after = await finish_leg(store, IDENTITY, "buy", nothing_filled, advancing(MARKETS), UNFENCED)
    assert (after.state, after.reason) == ("single_leg", "order_resolved")
    assert [(leg.role, leg.side, leg.amount) for leg in after.legs][2:] == [("flatten", "buy", sold.amount)]
