"""The contract of the store: what stands in a reservation's way, on both adapters."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.time_units import MICROSECONDS
from market.trade.leases import UNFENCED
from market.trade.reservations import Reservation
from market.trade.unwinding import advancing
from store.ports.trading import TradeStore
from tests.market.samples import MARKETS, settings_of
from tests.store.booking import finish_leg
from tests.store.reservation_requests import (
    STEP,
    balances,
    close,
    filled,
    granted,
    open_books,
    opportunity,
    request,
    reserved,
)

ID = "opportunity-1"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"trading_state": "halted"}, "halted"),
        ({"enabled_exchanges": ("alpha", "gamma")}, "exchange_disabled"),
        ({"min_net_bps": 50.1}, "below_threshold"),
        ({"max_open_arbitrages": 1}, "too_many_open"),
    ],
)
async def test_the_settings_in_force_decide_not_those_that_a_bot_knew(
    store: TradeStore, changes: dict[str, object], reason: str
) -> None:
    await open_books(store)
    first = await reserved(store)
    await store.settings.change(settings_of(**changes), 1, "test")
    assert (await store.reserve(request(), UNFENCED)).arbitrage == first
    before = await balances(store)
    begun = await store.reserve(request(of=opportunity("opportunity-2", sequence=2)), UNFENCED)
    assert (begun.arbitrage, begun.rejection) == (None, reason)
    assert await balances(store) == before
    assert await store.open_arbitrages() == [first]


async def test_an_opportunity_that_is_over_by_the_store_s_clock_is_not_reserved(store: TradeStore) -> None:
    await open_books(store)
    now = await store.server_now()
    late, early = replace(request(), valid_until=now), replace(request(), valid_until=now + 60 * MICROSECONDS)
    assert (await store.reserve(late, UNFENCED)).rejection == "expired"
    assert await store.arbitrage(ID) is None
    taken = (await store.reserve(early, UNFENCED)).arbitrage
    assert taken is not None
    assert (await store.reserve(late, UNFENCED)).arbitrage == taken


async def test_both_legs_are_reserved_or_neither(store: TradeStore) -> None:
    """Beta has enough of nothing."""
    await open_books(store)
    await store.balances.replace("beta", {"BTC": Decimal("0.5"), "EUR": Decimal(0)}, "now", UNFENCED)
    before = await balances(store)
    rejected = await store.reserve(request("2", minimum="1"), UNFENCED)
    assert (rejected.arbitrage, rejected.rejection) == (None, "insufficient_balance")
    assert await balances(store) == before
    assert (await store.arbitrage(ID), await store.open_arbitrages()) == (None, [])
    # neither pair nor liquidity is taken
    taken = await store.reserve(request("5", minimum="0.5"), UNFENCED)
    assert taken.arbitrage is not None
    assert [leg.amount for leg in taken.arbitrage.legs] == [Decimal("0.5")] * 2
    # both sides' quotes show no more than what the first left
    for leg in taken.arbitrage.legs:
        await finish_leg(store, ID, leg.role, filled(leg), close, UNFENCED)
    await store.balances.replace("beta", {"BTC": Decimal(10), "EUR": Decimal(0)}, "now", UNFENCED)
    second = (await store.reserve(request("5", opportunity("opportunity-2")), UNFENCED)).arbitrage
    assert second is not None
    assert second.amount == Decimal("4.5")


async def test_liquidity_is_shared_by_the_arbitrages_of_one_quote(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    for leg in (await granted(store, ID, "buy"), await granted(store, ID, "sell")):
        await finish_leg(store, ID, leg.role, filled(leg), close, UNFENCED)
    again = (await store.reserve(request("5", of=opportunity("opportunity-2"), displayed="5"), UNFENCED)).arbitrage
    assert again is not None
    assert again.amount == 3
    rejected = await store.reserve(request("5", of=opportunity("opportunity-3"), displayed="5"), UNFENCED)
    assert rejected.rejection in ("liquidity_used", "pair_busy")


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("max_total_notional", "total_limit"),
        ("max_asset_notional", "asset_limit"),
        ("max_exchange_notional", "exchange_limit"),
    ],
)
async def test_notional_is_shared_by_the_open_arbitrages(store: TradeStore, limit: str, reason: str) -> None:
    await open_books(store)
    sellers = ("beta", "gamma", "delta")
    fees = dict.fromkeys(("alpha", *sellers), Decimal("0.001"))
    settings = settings_of(enabled_exchanges=tuple(fees), taker_fees=fees, **{limit: Decimal(250)})
    await store.settings.change(settings, 1, "test")
    for seller in sellers:
        await store.balances.replace(seller, {"BTC": Decimal(10)}, "before", UNFENCED)
    results = [await store.reserve(counted("1.6", seller), UNFENCED) for seller in sellers]
    begun = [result.arbitrage for result in results if result.arbitrage is not None]
    assert [[one.amount, one.notional] for one in begun] == [[Decimal("1.6"), 160], [Decimal("0.9"), 90]]
    assert results[2].rejection == reason


def counted(amount: str, seller: str) -> Reservation:
    """Return a buy on alpha at 100 a unit, to be sold on `seller`."""
    of = opportunity(f"to-{seller}", sequence=len(seller))
    return replace(request(amount, replace(of, sell=replace(of.sell, exchange=seller))), unit_notional=Decimal(100))


async def test_a_result_that_nobody_can_value_counts_as_lost_whole(store: TradeStore) -> None:
    """A fee of 50 BNB had counted as nothing: no rate says what that is."""
    await open_books(store, settings_of(max_daily_loss=200))
    asked = replace(request("2"), unit_notional=Decimal(100))
    assert (await store.reserve(asked, UNFENCED)).arbitrage is not None
    buy, sell = await granted(store, ID, "buy"), await granted(store, ID, "sell")
    report = filled(buy)
    in_points = replace(report.fills[0], fee=Decimal(50), fee_currency="BNB")
    await finish_leg(store, ID, "sell", filled(sell), advancing(MARKETS), UNFENCED)
    ended = await finish_leg(store, ID, "buy", replace(report, fills=(in_points,)), advancing(MARKETS), UNFENCED)
    assert (ended.state, ended.profit, ended.notional) == ("closed", None, Decimal(200))
    following = await store.reserve(request("2", opportunity("opportunity-2", sequence=2)), UNFENCED)
    assert following.rejection == "daily_loss"
    # a fill that comes late opens it again: what it counted until then does not count twice
    late = filled(buy, STEP, fill_id="late")
    again = await finish_leg(store, ID, "buy", replace(report, fills=(in_points, *late.fills)), close, UNFENCED)
    assert again.profit is not None
    assert (await store.reserve(request("2", opportunity("opportunity-3", sequence=3)), UNFENCED)).arbitrage is not None
