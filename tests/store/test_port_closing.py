"""An operator's order to close what is left of an arbitrage, step by step, on both adapters."""

from decimal import Decimal
from typing import Literal

import pytest

from market.decide.settings import MOST_CLOSE_ORDERS, CloseOrder, Settings
from market.instruments.orders import Side
from market.trade.closing import CLOSE_WITHIN
from market.trade.leases import UNFENCED
from market.trade.unwinding import advancing
from store.ports.trading import TradeStore
from tests.market.samples import MARKETS
from tests.store.booking import finish_leg
from tests.store.reservation_requests import filled, granted, open_books, opportunity, ready_bot, reserved
from tests.store.test_port_history import ID, STOPPED, bought_alone, known, leg_of

ADVANCE = advancing(MARKETS)


async def left_alone(store: TradeStore) -> None:
    """Its buy leg filled, and neither completing nor reversing did."""
    await bought_alone(store, ADVANCE)
    roles: tuple[Literal["complete", "reverse"], ...] = ("complete", "reverse")
    for role in roles:
        leg = await granted(store, ID, role)
        await finish_leg(store, ID, role, filled(leg, Decimal(0)), ADVANCE, UNFENCED)
    held = await known(store)
    assert (held.state, held.reason) == ("residual", "single_leg_left")


async def ordered(store: TradeStore, price: str, age: int = 0, side: Side | None = None) -> None:
    """As the dashboard orders it, so many microseconds ago."""
    order = CloseOrder(price=Decimal(price), asked_at=await store.server_now() - age, side=side)

    def with_order(settings: Settings) -> Settings:
        return settings.model_copy(update={"close_now": {ID: order}})

    assert await store.settings.amend(with_order, "operator") is not None


async def test_what_is_left_is_flattened_at_the_price_of_now_and_once(store: TradeStore) -> None:
    await left_alone(store)
    assert not await store.resume(ID, ADVANCE, UNFENCED)
    # the market fell by a fifth since it was bought at 100
    await ordered(store, "80")
    assert await store.resume(ID, ADVANCE, UNFENCED)
    again = await known(store)
    flatten = leg_of(again, "flatten")
    assert (again.state, again.reason) == ("single_leg", "close_now")
    # 200 bps below
    assert (flatten.side, flatten.exchange, flatten.limit_price) == ("sell", "alpha", Decimal("78.4"))
    assert not await store.resume(ID, ADVANCE, UNFENCED)
    closed = await finish_leg(store, ID, "flatten", filled(flatten), ADVANCE, UNFENCED)
    assert (closed.state, closed.profit is not None) == ("unwound", True)
    assert not await store.resume(ID, ADVANCE, UNFENCED)
    assert all(row.held == 0 for row in await store.balances.rows())


async def test_what_could_not_be_read_again_is_not_stored(store: TradeStore) -> None:
    await left_alone(store)
    before = await store.settings.current()
    order = CloseOrder(price=Decimal(80), asked_at=0)
    too_many = {str(number): order for number in range(MOST_CLOSE_ORDERS + 1)}
    with pytest.raises(ValueError, match="close_now"):
        await store.settings.amend(lambda now: now.model_copy(update={"close_now": too_many}), "operator")
    assert await store.settings.current() == before


async def test_an_order_that_is_over_closes_nothing(store: TradeStore) -> None:
    await left_alone(store)
    await ordered(store, "80", CLOSE_WITHIN + 1_000_000)
    before = await known(store)
    assert not await store.resume(ID, ADVANCE, UNFENCED)
    assert await known(store) == before


async def test_an_order_that_did_not_fill_is_not_sent_a_second_time(store: TradeStore) -> None:
    await left_alone(store)
    await ordered(store, "80")
    assert await store.resume(ID, ADVANCE, UNFENCED)
    flatten = await granted(store, ID, "flatten")
    held = await finish_leg(store, ID, "flatten", filled(flatten, Decimal(0)), ADVANCE, UNFENCED)
    assert (held.state, held.reason) == ("residual", "single_leg_left")
    await ordered(store, "70")
    assert not await store.resume(ID, ADVANCE, UNFENCED)


async def test_one_that_never_left_is_sent_again_at_the_new_price(store: TradeStore) -> None:
    await left_alone(store)
    await ordered(store, "80")
    assert await store.resume(ID, ADVANCE, UNFENCED)
    first = await granted(store, ID, "flatten")
    ended = await finish_leg(store, ID, "flatten", STOPPED, ADVANCE, UNFENCED)
    # bots resume what waits for room in the rate limits, and this price will be long gone
    assert (ended.state, ended.reason) == ("residual", "single_leg_left")
    await ordered(store, "70")
    assert await store.resume(ID, ADVANCE, UNFENCED)
    second = await granted(store, ID, "flatten")
    assert second.client_order_id != first.client_order_id
    assert second.limit_price == Decimal("68.6")


async def test_while_an_order_is_in_doubt_nothing_is_closed(store: TradeStore) -> None:
    await bought_alone(store, ADVANCE)
    roles: tuple[Literal["complete", "reverse"], ...] = ("complete", "reverse")
    for role in roles:
        await granted(store, ID, role)
        # nobody knows whether it left
        await finish_leg(store, ID, role, None, ADVANCE, UNFENCED)
    await ordered(store, "80")
    assert not await store.resume(ID, ADVANCE, UNFENCED)
    assert (await known(store)).state == "residual"


async def test_while_trading_is_halted_nothing_is_closed(store: TradeStore) -> None:
    await left_alone(store)
    await store.settings.amend(lambda now: now.model_copy(update={"trading_state": "halted"}), "operator")
    await ordered(store, "80")
    assert not await store.resume(ID, ADVANCE, UNFENCED)


async def test_an_open_leg_is_flattened_in_place_of_the_policys_next_step(store: TradeStore) -> None:
    await bought_alone(store, ADVANCE)
    complete = await granted(store, ID, "complete")
    await ordered(store, "80")
    # an order is under way: a second one for the same amount would be one too many
    assert not await store.resume(ID, ADVANCE, UNFENCED)
    again = await finish_leg(store, ID, "complete", filled(complete, Decimal("0.5")), ADVANCE, UNFENCED)
    flatten = leg_of(again, "flatten")
    assert (again.state, again.reason, again.leg("reverse")) == ("single_leg", "close_now", None)
    assert (flatten.side, flatten.amount, flatten.limit_price) == ("sell", Decimal("1.5"), Decimal("78.4"))
    closed = await finish_leg(store, ID, "flatten", filled(flatten), ADVANCE, UNFENCED)
    assert (closed.state, closed.profit is not None) == ("unwound", True)
    assert all(row.held == 0 for row in await store.balances.rows())


async def test_an_open_leg_whose_order_completed_it_needs_no_other(store: TradeStore) -> None:
    await bought_alone(store, ADVANCE)
    complete = await granted(store, ID, "complete")
    await ordered(store, "80")
    closed = await finish_leg(store, ID, "complete", filled(complete), ADVANCE, UNFENCED)
    assert (closed.state, [leg.role for leg in closed.legs]) == ("closed", ["buy", "sell", "complete"])


async def test_an_order_of_which_nobody_has_the_grant_gives_way(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, sell, alpha = (
        await granted(store, ID, "buy"),
        await granted(store, ID, "sell"),
        await ready_bot(store, "alpha"),
    )
    await finish_leg(store, ID, "buy", filled(buy), ADVANCE, alpha)
    # beta has no bot: completing there waits for one
    single = await finish_leg(store, ID, "sell", filled(sell, Decimal(0)), ADVANCE, alpha)
    assert leg_of(single, "complete").state == "reserved"
    await ordered(store, "80")
    assert await store.grant(ID, "complete", alpha) is None
    assert leg_of(await known(store), "complete").state == "not_sent"
    again = await store.book(ID, ADVANCE, alpha)
    flatten = leg_of(again, "flatten")
    assert (again.reason, flatten.state, flatten.limit_price) == ("close_now", "granted", Decimal("78.4"))
    closed = await finish_leg(store, ID, "flatten", filled(flatten), ADVANCE, alpha)
    assert closed.state == "unwound"
    assert all(row.held == 0 for row in await store.balances.rows())


async def test_what_turned_round_meanwhile_is_not_ordered_at_that_price(store: TradeStore) -> None:
    await bought_alone(store, ADVANCE)
    complete = await granted(store, ID, "complete")
    await ordered(store, "80", side="buy")
    again = await finish_leg(store, ID, "complete", filled(complete, Decimal(0)), ADVANCE, UNFENCED)
    assert (again.leg("flatten"), leg_of(again, "reverse").state) == (None, "granted")
