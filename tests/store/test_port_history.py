"""What happens to an arbitrage after its end or during a halt, and what is kept of each step; on both adapters."""

from dataclasses import replace
from decimal import Decimal

from market.decide.market_rules import rules_of
from market.instruments.orders import OrderReport
from market.money import Amount
from market.trade.arbitrages import Arbitrage, Leg, LegRole
from market.trade.leases import UNFENCED
from market.trade.leg_lifecycle import Advance
from market.trade.unwinding import MAX_TRIES, NOT_POSTED, advancing
from store.ports.trading import TradeStore
from tests.market.samples import MARKETS, settings_of
from tests.store.booking import finish_leg, record_sent
from tests.store.reservation_requests import (
    balances,
    close,
    complete,
    filled,
    granted,
    open_books,
    opportunity,
    ready_bot,
    request,
    reserved,
)

ID = "opportunity-1"
STOPPED = OrderReport("", True, Amount(Decimal(0)), (), is_posted=False, reason="no more requests")
REFUSED = replace(STOPPED, reason="halted")
"""What the bot reports of an order that it was granted and does not post, since trading is halted."""


def leg_of(arbitrage: Arbitrage | None, role: LegRole) -> Leg:
    assert arbitrage is not None
    leg = arbitrage.leg(role)
    assert leg is not None
    return leg


async def known(store: TradeStore) -> Arbitrage:
    arbitrage = await store.arbitrage(ID)
    assert arbitrage is not None
    return arbitrage


async def bought_alone(store: TradeStore, advance: Advance) -> Arbitrage:
    """Return an arbitrage whose buy leg is filled and whose sell leg is not, so that the bought amount must be sold."""
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, sell = await granted(store, ID, "buy"), await granted(store, ID, "sell")
    await finish_leg(store, ID, "sell", filled(sell, Decimal(0)), advance, UNFENCED)
    return await finish_leg(store, ID, "buy", filled(buy), advance, UNFENCED)


async def test_a_fill_that_comes_late_is_booked_once_and_opens_the_arbitrage_again(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, sell = await granted(store, ID, "buy"), await granted(store, ID, "sell")
    await finish_leg(store, ID, "sell", filled(sell), close, UNFENCED)
    await finish_leg(store, ID, "buy", None, close, UNFENCED)
    assert await store.unconfirmed_legs("alpha", 0) == [(ID, leg_of(await store.arbitrage(ID), "buy"))]
    assert await store.unconfirmed_legs("beta", 0) == []
    before = await balances(store)
    late = filled(buy, Decimal(1))
    for _ in range(2):
        arbitrage = await finish_leg(store, ID, "buy", late, complete("0.5"), UNFENCED)
        assert (arbitrage.state, arbitrage.reason) == ("single_leg", "late_fill")
        assert (await balances(store))["alpha", "BTC"] == (before["alpha", "BTC"][0] + 1, Decimal(0))
    assert len(await store.fills()) == 2
    assert await store.open_arbitrages() == [arbitrage]
    assert await store.unconfirmed_legs("alpha", 0) == []
    steps = [step.what for step in arbitrage.history]
    assert steps[-5:] == ["buy done", "buy acknowledged", "buy filled", "complete granted", "single_leg"]


async def test_what_is_opened_again_or_left_keeps_its_place(store: TradeStore) -> None:
    """Those that compete for one balance are resumed in this order."""
    later, advance = "opportunity-2", advancing(MARKETS)
    await open_books(store)
    await reserved(store, opportunity(), "1")
    buy, sell = await granted(store, ID, "buy"), await granted(store, ID, "sell")
    await finish_leg(store, ID, "sell", filled(sell), close, UNFENCED)
    await finish_leg(store, ID, "buy", None, close, UNFENCED)
    await reserved(store, opportunity(later, 2), "1")
    again = await finish_leg(store, ID, "buy", filled(buy, Decimal("0.5")), advance, UNFENCED)
    assert [one.arbitrage_id for one in await store.open_arbitrages()] == [ID, later]
    assert [one.arbitrage_id for one in (await store.overview()).open_arbitrages] == [ID, later]
    await store.settings.change(settings_of(trading_state="halted"), 1, "test")
    await finish_leg(store, later, "sell", REFUSED, advance, UNFENCED)
    await finish_leg(store, later, "buy", filled(await granted(store, later, "buy")), advance, UNFENCED)
    await finish_leg(store, ID, again.legs[-1].role, REFUSED, advance, UNFENCED)
    assert [one.arbitrage_id for one in await store.resumable_arbitrages()] == [ID, later]
    assert [one.arbitrage_id for one in (await store.overview()).resumable] == [ID, later]


async def test_a_fill_that_another_arbitrage_has_is_not_booked_again(store: TradeStore) -> None:
    """The ledger knows it, though the leg that it is reported for does not."""
    await open_books(store)
    first = await reserved(store, opportunity(), "1")
    booked = filled(await granted(store, ID, "buy"))
    await finish_leg(store, ID, "buy", booked, close, UNFENCED)
    await finish_leg(store, ID, "sell", filled(await granted(store, ID, "sell")), close, UNFENCED)
    second = await reserved(store, opportunity("opportunity-2", 2), "1")
    assert second.arbitrage_id != first.arbitrage_id
    await granted(store, "opportunity-2", "buy")
    before, fills = await balances(store), await store.fills()
    after = await finish_leg(store, "opportunity-2", "buy", booked, close, UNFENCED)
    held = leg_of(second, "buy").held
    free = before["alpha", "USD"][0] + held
    assert leg_of(after, "buy").fills == ()
    assert await store.fills() == fills
    assert await balances(store) == before | {("alpha", "USD"): (free, Decimal(0))}


async def test_an_order_that_turns_up_without_a_fill_is_known_and_opens_nothing(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, sell = await granted(store, ID, "buy"), await granted(store, ID, "sell")
    await finish_leg(store, ID, "sell", filled(sell), close, UNFENCED)
    await finish_leg(store, ID, "buy", None, close, UNFENCED)
    arbitrage = await finish_leg(
        store, ID, "buy", OrderReport("order-7", True, Amount(Decimal(0)), ()), close, UNFENCED
    )
    assert arbitrage.state == "closed"
    assert leg_of(arbitrage, "buy").exchange_order_id == "order-7"
    assert await store.unconfirmed_legs(buy.exchange, 0) == []


async def test_every_step_is_kept_with_who_took_it_and_when(store: TradeStore) -> None:
    await open_books(store)
    alpha, beta = await ready_bot(store, "alpha"), await ready_bot(store, "beta")
    await store.reserve(request(), alpha)
    await record_sent(store, ID, "buy", "order-1", alpha)
    await finish_leg(store, ID, "sell", filled(await granted(store, ID, "sell")), close, beta)
    arbitrage = await known(store)
    assert [(step.what, step.actor, step.token) for step in arbitrage.history] == [
        ("buy granted", "alpha-1", 1),
        ("sell granted", "alpha-1", 1),
        ("reserved", "alpha-1", 1),
        ("buy acknowledged", "alpha-1", 1),
        ("sell done", "beta-1", 1),
        ("sell acknowledged", "beta-1", 1),
        ("sell filled", "beta-1", 1),
    ]
    times = [step.at for step in arbitrage.history]
    assert times == sorted(times)
    assert times[0] > 0


async def test_while_halted_no_leg_is_posted_and_what_was_left_is_resumed_after(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy = await granted(store, ID, "buy")
    await store.settings.change(settings_of(trading_state="halted"), 1, "test")
    advance = advancing(MARKETS)
    await finish_leg(store, ID, "sell", REFUSED, advance, UNFENCED)
    assert await store.unconfirmed_legs("beta", 0) == []
    held = await finish_leg(store, ID, "buy", filled(buy), advance, UNFENCED)
    assert (held.state, held.reason) == ("residual", "halted")
    assert await store.resumable_arbitrages() == [held]
    assert not await store.resume(ID, advance, UNFENCED)
    await store.settings.change(settings_of(), 2, "test")
    assert await store.resume(ID, advance, UNFENCED)
    assert not await store.resume(ID, advance, UNFENCED)
    again = await known(store)
    flatten = leg_of(again, "flatten")
    assert (again.state, flatten.side, flatten.state) == ("single_leg", "sell", "granted")
    assert await store.open_arbitrages() == [again]


async def test_a_second_halt_does_not_use_up_the_step_that_it_kept_from_being_sent(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, advance = await granted(store, ID, "buy"), advancing(MARKETS)
    await store.settings.change(settings_of(trading_state="halted"), 1, "test")
    await finish_leg(store, ID, "sell", REFUSED, advance, UNFENCED)
    await finish_leg(store, ID, "buy", filled(buy), advance, UNFENCED)
    for version in (2, 4):
        await store.settings.change(settings_of(), version, "test")
        assert await store.resume(ID, advance, UNFENCED)
        flatten = leg_of(await store.arbitrage(ID), "flatten")
        assert (flatten.state, flatten.held > 0) == ("granted", True)
        await store.settings.change(settings_of(trading_state="halted"), version + 1, "test")
        held = await finish_leg(store, ID, "flatten", REFUSED, advance, UNFENCED)
        assert (held.state, held.reason) == ("residual", "halted")
    await store.settings.change(settings_of(), 6, "test")
    assert await store.resume(ID, advance, UNFENCED)
    last = await granted(store, ID, "flatten")
    ended = await finish_leg(store, ID, "flatten", filled(last), advance, UNFENCED)
    assert (ended.state, [leg.role for leg in ended.legs]) == ("unwound", ["buy", "sell", "flatten"])
    assert all(row.held == 0 for row in await store.balances.rows())


async def test_a_step_that_is_not_wanted_after_a_second_halt_stays_in_the_record(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, advance = await granted(store, ID, "buy"), advancing(MARKETS)
    await store.settings.change(settings_of(trading_state="halted"), 1, "test")
    await finish_leg(store, ID, "sell", REFUSED, advance, UNFENCED)
    await finish_leg(store, ID, "buy", filled(buy), advance, UNFENCED)
    await store.settings.change(settings_of(), 2, "test")
    assert await store.resume(ID, advance, UNFENCED)
    await store.settings.change(settings_of(trading_state="halted"), 3, "test")
    await finish_leg(store, ID, "flatten", REFUSED, advance, UNFENCED)
    await store.settings.change(settings_of(single_leg_policy="hold"), 4, "test")
    assert await store.resume(ID, advance, UNFENCED)
    held = await store.arbitrage(ID)
    assert held is not None
    assert (held.state, held.reason) == ("residual", "single_leg_left")
    assert [(leg.role, leg.state) for leg in held.legs][-1] == ("flatten", "not_sent")


async def test_an_unwinding_order_that_never_left_is_wanted_again_under_another_id(store: TradeStore) -> None:
    """For certain not a byte of it was sent: neither a role nor the arbitrage is used up by that."""
    advance, ids = advancing(MARKETS), set()
    await bought_alone(store, advance)
    roles: tuple[LegRole, ...] = ("complete", "reverse", "flatten", "flatten")
    for role in roles:
        ids.add((await granted(store, ID, role)).client_order_id)
        after = await finish_leg(store, ID, role, STOPPED, advance, UNFENCED)
        if after.state == "residual":
            assert after.reason == NOT_POSTED
            assert await store.resumable_arbitrages() == [after]
            assert await store.resume(ID, advance, UNFENCED)
    last = await granted(store, ID, "flatten")
    assert len({last.client_order_id, *ids}) == len(roles) + 1
    ended = await finish_leg(store, ID, "flatten", filled(last), advance, UNFENCED)
    assert ended.state == "unwound"
    assert [(step.what, step.reason) for step in ended.history if step.reason == STOPPED.reason] == [
        (f"{role} not_sent", "no more requests") for role in roles
    ]
    assert all(row.held == 0 for row in await store.balances.rows())


async def test_a_single_leg_waits_until_its_market_takes_orders_again(store: TradeStore) -> None:
    """It was given up for ever, although both markets were closed for an hour only."""
    advance, rules = advancing(MARKETS), {}
    for market in MARKETS:
        rules[f"{market.exchange}|{market.symbol}"] = rules_of(market, "maintenance")
    await open_books(store)
    await reserved(store, amount="2")
    buy, _ = await granted(store, ID, "buy"), await granted(store, ID, "sell")
    current = await store.settings.current()
    assert current is not None
    closed = current.model_copy(update={"market_rules": rules})
    assert await store.settings.change(closed, current.version, "test")
    await finish_leg(store, ID, "sell", None, advance, UNFENCED)
    held = await finish_leg(store, ID, "buy", filled(buy), advance, UNFENCED)
    assert (held.state, held.reason) == ("residual", "market_closed")
    assert await store.resumable_arbitrages() == [held]
    assert not await store.resume(ID, advance, UNFENCED)
    assert await known(store) == held
    assert await store.settings.change(closed.model_copy(update={"market_rules": {}}), current.version + 1, "test")
    assert await store.resume(ID, advance, UNFENCED)
    flatten = await granted(store, ID, "flatten")
    assert (await finish_leg(store, ID, "flatten", filled(flatten), advance, UNFENCED)).state == "unwound"


async def test_an_unwinding_order_that_may_have_left_is_not_sent_again(store: TradeStore) -> None:
    advance = advancing(MARKETS)
    await bought_alone(store, advance)
    roles: tuple[LegRole, ...] = ("complete", "reverse")
    for role in roles:
        await granted(store, ID, role)
        after = await finish_leg(store, ID, role, None, advance, UNFENCED)
    assert (after.state, after.reason) == ("residual", "single_leg_left")
    assert await store.resumable_arbitrages() == []
    assert not await store.resume(ID, advance, UNFENCED)


async def test_an_order_that_never_leaves_is_for_a_person_in_the_end(store: TradeStore) -> None:
    advance = advancing(MARKETS)
    after = await bought_alone(store, advance)
    for _ in range(2 + MAX_TRIES):
        after = await finish_leg(
            store, ID, (await granted(store, ID, after.legs[-1].role)).role, STOPPED, advance, UNFENCED
        )
        if await store.resume(ID, advance, UNFENCED):
            after = await known(store)
    assert (after.state, after.reason) == ("residual", "single_leg_left")
    assert sum(step.what == "flatten granted" for step in after.history) == MAX_TRIES


async def test_while_halted_a_leg_that_waits_for_its_bot_is_not_granted(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, sell, advance = await granted(store, ID, "buy"), await granted(store, ID, "sell"), advancing(MARKETS)
    alpha = await ready_bot(store, "alpha")
    await finish_leg(store, ID, "buy", filled(buy), advance, alpha)
    single = await finish_leg(store, ID, "sell", filled(sell, Decimal(1)), advance, alpha)
    assert leg_of(single, "complete").state == "reserved"
    await store.settings.change(settings_of(trading_state="halted"), 1, "test")
    assert await store.grant(ID, "complete", alpha) is None
    stopped = leg_of(await known(store), "complete")
    assert (stopped.state, stopped.held > 0) == ("not_sent", True)
    assert await store.grant(ID, "complete", alpha) is None


async def test_nothing_ends_before_what_was_not_sent_has_given_its_hold_back(store: TradeStore) -> None:
    """The decider died between both steps: an end would leave the hold to nobody."""
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, sell, advance = await granted(store, ID, "buy"), await granted(store, ID, "sell"), advancing(MARKETS)
    alpha = await ready_bot(store, "alpha")
    await finish_leg(store, ID, "buy", filled(buy, Decimal(1)), advance, alpha)
    await finish_leg(store, ID, "sell", filled(sell, Decimal(0)), advance, alpha)
    await store.settings.change(settings_of(trading_state="halted"), 1, "test")
    assert await store.grant(ID, "complete", alpha) is None
    # an order's last fill was overlooked
    held = await finish_leg(store, ID, "buy", filled(buy, Decimal("0.5"), fill_id="2"), advance, alpha)
    assert (held.state, held.reason) == ("residual", "halted")
    assert leg_of(held, "complete").held == 0
    assert "done" in leg_of(held, "complete").times
    assert all(row.held == 0 for row in await store.balances.rows())
