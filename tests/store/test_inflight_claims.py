"""At most one leg in flight per product and side, if an exchange knows no client ids; on both adapters."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from market.instruments.markets import Market
from market.instruments.orders import OrderReport
from market.money import Amount
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage
from market.trade.inflight_orders import inflight_key, inflight_keys
from market.trade.leases import UNFENCED
from market.trade.reservations import Reservation
from market.trade.unwinding import client_order_id
from store.ports.trading import TradeStore
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of
from tests.store.booking import finish_leg, record_sent
from tests.store.reservation_requests import SETTINGS, close, filled, granted, leg_request, request

YEN = replace(USD_MARKET, exchange="bitflyer", symbol="BTC/USD")
"""Dollars, to need no rate; the name is what counts."""
SELL = replace(EUR_MARKET, exchange="beta")
SETTINGS_HERE = SETTINGS.model_copy(
    update={
        "enabled_exchanges": ("bitflyer", "beta", "gamma"),
        "taker_fees": dict.fromkeys(("bitflyer", "beta", "gamma"), Decimal("0.001")),
        "max_open_arbitrages": 10,
    }
)


def found(identity: str, sell: Market = SELL, buy: Market = YEN) -> Opportunity:
    """Each on other quotes; another pair of exchanges if `sell` is another's."""
    made = opportunity_of((buy, levels(("100", "5"))), (sell, levels(("101", "5"))), identity)
    return replace(
        made,
        buy=replace(made.buy, quote_id=f"{identity}:buy"),
        sell=replace(made.sell, quote_id=f"{identity}:sell"),
    )


def requested(of: Opportunity) -> Reservation:
    return request("2", of, SETTINGS_HERE)


FIRST, SECOND = found("first"), found("second", replace(SELL, exchange="gamma"))
OTHER_WAY = found("other way", buy=replace(SELL, exchange="gamma"), sell=YEN)


async def opened(store: TradeStore) -> TradeStore:
    await store.settings.create(SETTINGS_HERE)
    for exchange in ("bitflyer", "beta", "gamma"):
        plenty = {name: Decimal(10_000) for name in ("BTC", "USD", "EUR")}
        await store.balances.replace(exchange, plenty, "before", UNFENCED)
    return store


async def both(store: TradeStore, of: Opportunity) -> Arbitrage:
    result = await store.reserve(requested(of), UNFENCED)
    assert result.arbitrage is not None, result.rejection
    return result.arbitrage


def test_both_sides_of_the_exchange_are_claimed_and_no_others() -> None:
    assert inflight_keys(FIRST) == ("bitflyer|BTC/USD|buy", "bitflyer|BTC/USD|sell")
    assert inflight_keys(found("x", buy=replace(YEN, exchange="alpha"))) == ()
    assert inflight_key(leg_request("buy", FIRST).leg) in inflight_keys(FIRST)


async def test_a_second_leg_of_its_side_is_rejected_until_the_first_has_landed(store: TradeStore) -> None:
    await opened(store)
    leg = (await both(store, FIRST)).legs[0]
    assert (leg.exchange, leg.state) == ("bitflyer", "granted")
    before = await store.balances.rows()
    rejected = await store.reserve(requested(SECOND), UNFENCED)
    assert (rejected.arbitrage, rejected.rejection) == (None, "leg_in_flight")
    # the leg on the other exchange, which could fly, is not taken alone
    assert await store.balances.rows() == before
    await record_sent(store, "first", "buy", "order-1", UNFENCED)
    assert (await store.reserve(requested(SECOND), UNFENCED)).rejection == "leg_in_flight"
    await finish_leg(store, "first", "buy", filled(leg), close, UNFENCED)
    assert (await store.reserve(requested(SECOND), UNFENCED)).rejection is None


async def test_the_other_side_may_fly(store: TradeStore) -> None:
    await opened(store)
    await both(store, FIRST)
    await both(store, OTHER_WAY)
    assert (await granted(store, "first", "buy")).exchange == "bitflyer"
    assert (await granted(store, "other way", "sell")).exchange == "bitflyer"


async def test_where_client_ids_report_them_apart_many_may_fly(store: TradeStore) -> None:
    await opened(store)
    twin = found("twin", replace(SELL, exchange="gamma"), replace(YEN, exchange="beta"))
    await both(store, twin)
    await both(store, found("again", YEN, replace(YEN, exchange="beta")))


async def test_two_at_once_cannot_both_have_it(store: TradeStore) -> None:
    await opened(store)
    answers = await asyncio.gather(*(store.reserve(requested(one), UNFENCED) for one in (FIRST, SECOND)))
    assert sorted(str(answer.rejection) for answer in answers) == ["None", "leg_in_flight"]


@pytest.mark.parametrize("report", [None, OrderReport("", True, Amount(Decimal(0)), (), is_posted=False)])
async def test_an_order_that_was_denied_or_never_posted_has_landed(
    store: TradeStore, report: OrderReport | None
) -> None:
    """One that was denied may turn up yet, which its look-up tells by the ids of all others."""
    await opened(store)
    await both(store, FIRST)
    await finish_leg(store, "first", "buy", report, close, UNFENCED)
    assert (await store.reserve(requested(SECOND), UNFENCED)).rejection is None


async def test_an_unwinding_leg_is_reserved_and_waits_until_the_other_has_landed(store: TradeStore) -> None:
    """What is left of a single leg must not be given up for it."""
    await opened(store)
    sold = (await both(store, OTHER_WAY)).legs[1]
    flying = (await both(store, FIRST)).legs[0]
    await finish_leg(store, "other way", "buy", None, close, UNFENCED)
    single = await finish_leg(store, "other way", "sell", filled(sold), reverses, UNFENCED)
    reverse = single.leg("reverse")
    assert reverse is not None
    assert reverse.state == "reserved"
    assert single.send_by - reverse.times["reserved"] > 10_000_000
    assert await store.grant("other way", "reverse", UNFENCED) is None
    assert await store.arbitrage("other way") == single
    await finish_leg(store, "first", "buy", filled(flying), close, UNFENCED)
    assert await store.grant("other way", "reverse", UNFENCED) == await granted(store, "other way", "reverse")
    # and now it is the one in flight
    assert (await store.reserve(requested(SECOND), UNFENCED)).rejection == "leg_in_flight"


async def test_an_unwinding_leg_that_is_alone_is_granted_at_once_and_in_flight(store: TradeStore) -> None:
    await opened(store)
    sold = (await both(store, OTHER_WAY)).legs[1]
    await finish_leg(store, "other way", "buy", None, close, UNFENCED)
    await finish_leg(store, "other way", "sell", filled(sold), reverses, UNFENCED)
    reverse = await granted(store, "other way", "reverse")
    assert (await store.reserve(requested(FIRST), UNFENCED)).rejection == "leg_in_flight"
    await finish_leg(store, "other way", "reverse", filled(reverse), close, UNFENCED)
    assert (await store.reserve(requested(FIRST), UNFENCED)).rejection is None


def reverses(arbitrage: Arbitrage, *_: object) -> Arbitrage:
    """Buys back what was sold, on bitFlyer."""
    leg = replace(
        leg_request("buy", FIRST).leg,
        role="reverse",
        amount=arbitrage.legs[1].amount,
        client_order_id=client_order_id("other way", "reverse"),
    )
    return replace(arbitrage, state="single_leg", legs=(*arbitrage.legs, leg))
