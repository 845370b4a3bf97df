"""At most one leg in flight per product and side, where an exchange knows no client ids; on both adapters."""

import asyncio
from dataclasses import replace
from decimal import Decimal

from market.instruments.markets import Market
from market.instruments.orders import Side
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, held_currency
from market.trade.inflight_orders import inflight_key, inflight_keys
from market.trade.leases import UNFENCED
from market.trade.leg_planning import client_order_id
from market.trade.reservations import Reservation
from store.memory.memory_store import MemoryTradeStore
from store.store_port import TradeStore
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of
from tests.store.conftest import SteppedClock
from tests.store.reservation_requests import SETTINGS, close, filled, request

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
    """Each on other quotes; another pair of exchanges where `sell` is another's."""
    made = opportunity_of((buy, levels(("100", "5"))), (sell, levels(("101", "5"))), identity)
    return replace(
        made,
        buy=replace(made.buy, quote_id=f"{identity}:buy"),
        sell=replace(made.sell, quote_id=f"{identity}:sell"),
    )


def requested(of: Opportunity, side: Side) -> Reservation:
    seen = of.buy if side == "buy" else of.sell
    made = request(side, "2", of, SETTINGS_HERE)
    own = client_order_id(of.opportunity_id, side)
    leg = replace(made.leg, exchange=seen.exchange, symbol=seen.symbol, client_order_id=own)
    leg = replace(leg, quote_currency=seen.quote_currency)
    return replace(made, leg=leg, hold_currency=held_currency(leg))


FIRST, SECOND = found("first"), found("second", replace(SELL, exchange="gamma"))
OTHER_WAY = found("other way", buy=replace(SELL, exchange="gamma"), sell=YEN)


async def opened(store: TradeStore) -> TradeStore:
    await store.settings.create(SETTINGS_HERE)
    for exchange in ("bitflyer", "beta", "gamma"):
        plenty = {name: Decimal(10_000) for name in ("BTC", "USD", "EUR")}
        await store.balances.replace(exchange, plenty, "before", UNFENCED)
    return store


async def both(store: TradeStore, of: Opportunity) -> Arbitrage:
    await store.reserve(requested(of, "buy"), UNFENCED)
    result = await store.reserve(requested(of, "sell"), UNFENCED)
    assert result.arbitrage is not None, result.rejection
    return result.arbitrage


def test_both_sides_of_the_exchange_are_claimed_and_no_others() -> None:
    assert inflight_keys(FIRST) == ("bitflyer|BTC/USD|buy", "bitflyer|BTC/USD|sell")
    assert inflight_keys(found("x", buy=replace(YEN, exchange="alpha"))) == ()
    assert inflight_key(requested(FIRST, "buy").leg) in inflight_keys(FIRST)


async def test_a_second_leg_of_its_side_is_rejected_until_the_first_has_landed(store: TradeStore) -> None:
    await opened(store)
    await both(store, FIRST)
    assert (await store.reserve(requested(SECOND, "buy"), UNFENCED)).rejection == "leg_in_flight"
    leg = await store.start_sending("first", "buy", UNFENCED)
    assert leg is not None
    assert (await store.reserve(requested(SECOND, "buy"), UNFENCED)).rejection == "leg_in_flight"
    await store.finish_leg("first", "buy", filled(leg), close, UNFENCED)
    assert (await store.reserve(requested(SECOND, "buy"), UNFENCED)).rejection is None


async def test_it_is_rejected_to_whoever_comes_second_too(store: TradeStore) -> None:
    """The other bot had reserved its leg before the first one's was."""
    await opened(store)
    await store.reserve(requested(SECOND, "sell"), UNFENCED)
    await both(store, FIRST)
    assert (await store.reserve(requested(SECOND, "buy"), UNFENCED)).rejection == "leg_in_flight"


async def test_the_other_side_may_fly(store: TradeStore) -> None:
    await opened(store)
    await both(store, FIRST)
    await both(store, OTHER_WAY)
    assert await store.start_sending("first", "buy", UNFENCED) is not None
    assert await store.start_sending("other way", "sell", UNFENCED) is not None


async def test_where_client_ids_report_them_apart_many_may_fly(store: TradeStore) -> None:
    await opened(store)
    twin = found("twin", replace(SELL, exchange="gamma"), replace(YEN, exchange="beta"))
    await both(store, twin)
    assert (
        await store.reserve(requested(found("again", YEN, replace(YEN, exchange="beta")), "buy"), UNFENCED)
    ).rejection is None


async def test_two_at_once_cannot_both_have_it(store: TradeStore) -> None:
    await opened(store)
    answers = await asyncio.gather(*(store.reserve(requested(one, "buy"), UNFENCED) for one in (FIRST, SECOND)))
    assert sorted(str(answer.rejection) for answer in answers) == ["None", "leg_in_flight"]


async def test_an_order_that_was_denied_has_landed(store: TradeStore) -> None:
    """It may turn up yet, which its look-up tells by the ids of all others."""
    await opened(store)
    await both(store, FIRST)
    assert await store.start_sending("first", "buy", UNFENCED) is not None
    await store.finish_leg("first", "buy", None, close, UNFENCED)
    assert (await store.reserve(requested(SECOND, "buy"), UNFENCED)).rejection is None


async def test_an_unwinding_leg_is_reserved_and_waits_until_the_other_has_landed(store: TradeStore) -> None:
    """What is left of a single leg must not be given up for it."""
    await opened(store)
    await both(store, OTHER_WAY)
    await both(store, FIRST)
    bought, sold = (
        await store.start_sending("other way", "buy", UNFENCED),
        await store.start_sending("other way", "sell", UNFENCED),
    )
    flying = await store.start_sending("first", "buy", UNFENCED)
    assert bought is not None
    assert sold is not None
    assert flying is not None
    await store.finish_leg("other way", "buy", None, close, UNFENCED)

    amount = sold.amount

    def reverses(arbitrage: Arbitrage, *_: object) -> Arbitrage:
        """Buys back what was sold, on bitFlyer."""
        leg = replace(
            requested(FIRST, "buy").leg,
            role="reverse",
            amount=amount,
            client_order_id=client_order_id("other way", "reverse"),
        )
        return replace(arbitrage, state="single_leg", legs=(*arbitrage.legs, leg))

    await store.finish_leg("other way", "sell", filled(sold), reverses, UNFENCED)
    assert await store.start_sending("other way", "reverse", UNFENCED) is None
    waiting = await store.arbitrage("other way")
    assert waiting is not None
    reverse = waiting.leg("reverse")
    assert reverse is not None
    assert reverse.state == "reserved"
    assert waiting.send_by - reverse.times["reserved"] > 10_000_000
    await store.finish_leg("first", "buy", filled(flying), close, UNFENCED)
    assert await store.start_sending("other way", "reverse", UNFENCED) is not None
    # and now it is the one in flight
    assert (await store.reserve(requested(SECOND, "buy"), UNFENCED)).rejection == "leg_in_flight"


async def test_a_half_that_expires_has_landed(store_clock: SteppedClock) -> None:
    store = await opened(MemoryTradeStore(store_clock))
    await store.reserve(requested(FIRST, "buy"), UNFENCED)
    await store_clock.sleep(2)
    assert await store.expire("first", UNFENCED)
    assert (await store.reserve(requested(SECOND, "buy"), UNFENCED)).rejection is None
