"""The contract of the store: what stands in a reservation's way, and what time does to one, on both adapters."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from market.time_units import MICROSECONDS
from market.trade.leases import UNFENCED
from market.trade.reservations import Reservation
from session.clock import SystemClock
from store.store_port import TradeStore
from tests.market.samples import settings_of
from tests.store.reservation_requests import (
    OPENING,
    balances,
    close,
    filled,
    open_books,
    opportunity,
    request,
    reserve_both,
    sent,
)

DEADLINE_SECONDS = 20
ID = "opportunity-1"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"trading_state": "halted"}, "halted"),
        ({"enabled_exchanges": ("alpha", "gamma")}, "exchange_disabled"),
        ({"min_net_bps": 50.1}, "below_threshold"),
        ({"max_open_arbitrages": 1}, None),
    ],
)
async def test_the_settings_in_force_decide_not_those_that_a_bot_knew(
    store: TradeStore, changes: dict[str, object], reason: str | None
) -> None:
    await open_books(store)
    half = (await store.reserve(request("buy"), UNFENCED)).arbitrage
    await store.settings.change(settings_of(**changes), 1, "test")
    joined = await store.reserve(request("sell"), UNFENCED)
    assert joined.rejection == reason
    assert (await store.reserve(request("buy"), UNFENCED)).arbitrage == (half if reason else joined.arbitrage)
    begun = await store.reserve(request("buy", of=opportunity("opportunity-2", sequence=2)), UNFENCED)
    assert begun.rejection == (reason or "too_many_open")


async def test_an_opportunity_that_is_over_by_the_store_s_clock_is_not_reserved(store: TradeStore) -> None:
    await open_books(store)
    now = await store.server_now()
    late, early = replace(request("buy"), valid_until=now), replace(request("buy"), valid_until=now + 60 * MICROSECONDS)
    assert (await store.reserve(late, UNFENCED)).rejection == "expired"
    half = (await store.reserve(early, UNFENCED)).arbitrage
    assert half is not None
    assert (await store.reserve(late, UNFENCED)).arbitrage == half
    assert (await store.reserve(replace(request("sell"), valid_until=now), UNFENCED)).rejection == "expired"


async def test_liquidity_is_shared_by_the_arbitrages_of_one_quote(store: TradeStore) -> None:
    await open_books(store)
    await reserve_both(store, opportunity(), ("2", "2"))
    for leg in (await sent(store, ID, "buy"), await sent(store, ID, "sell")):
        await store.finish_leg(ID, leg.role, filled(leg), close, UNFENCED)
    again = (
        await store.reserve(request("buy", "5", of=opportunity("opportunity-2"), displayed="5"), UNFENCED)
    ).arbitrage
    assert again is not None
    assert again.amount == 3
    rejected = await store.reserve(request("buy", "5", of=opportunity("opportunity-3"), displayed="5"), UNFENCED)
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
    results = [await store.reserve(counted("1.6", seller), UNFENCED) for seller in sellers]
    begun = [result.arbitrage for result in results if result.arbitrage is not None]
    assert [[one.amount, one.notional] for one in begun] == [[Decimal("1.6"), 160], [Decimal("0.9"), 90]]
    assert results[2].rejection == reason


def counted(amount: str, seller: str) -> Reservation:
    """A buy on alpha at 100 a unit, to be sold on `seller`."""
    of = opportunity(f"to-{seller}", sequence=len(seller))
    return replace(
        request("buy", amount, replace(of, sell=replace(of.sell, exchange=seller))), unit_notional=Decimal(100)
    )


async def test_a_half_reservation_expires_after_its_time_only(store: TradeStore) -> None:
    await open_books(store)
    half = (await store.reserve(request("buy"), UNFENCED)).arbitrage
    assert half is not None
    assert not await store.expire(ID, UNFENCED)
    assert not await store.expire("unknown", UNFENCED)
    await server_time(store, half.reserve_by)
    assert (await store.reserve(request("sell"), UNFENCED)).rejection == "expired"
    assert await store.expire(ID, UNFENCED)
    assert not await store.expire(ID, UNFENCED)
    ended = await store.arbitrage(ID)
    assert ended is not None
    assert ended.state == "expired"
    assert (await balances(store))["alpha", "USD"] == (OPENING["alpha"]["USD"], Decimal(0))
    assert (await store.reserve(request("sell"), UNFENCED)).rejection == "expired"


async def test_a_reserved_one_does_not_expire_but_may_be_too_late_to_send(store: TradeStore) -> None:
    await open_books(store)
    arbitrage = await reserve_both(store, opportunity())
    await server_time(store, arbitrage.send_by)
    assert not await store.expire(ID, UNFENCED)
    assert await store.start_sending(ID, "buy", UNFENCED) is None
    late = await store.arbitrage(ID)
    assert late is not None
    assert [leg.state for leg in late.legs] == ["not_sent", "reserved"]
    await store.finish_leg(ID, "buy", None, close, UNFENCED)
    assert (await balances(store))["alpha", "USD"] == (OPENING["alpha"]["USD"], Decimal(0))


async def test_a_awaiting_second_leg_leg_is_not_sent(store: TradeStore) -> None:
    await open_books(store)
    await store.reserve(request("buy"), UNFENCED)
    assert await store.start_sending(ID, "buy", UNFENCED) is None
    assert (await store.finish_leg(ID, "buy", None, close, UNFENCED)).state == "awaiting_second_leg"


async def server_time(store: TradeStore, moment: int) -> None:
    """Return once the store's clock is past `moment`."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while (left := moment - await store.server_now()) >= 0:
            await SystemClock().sleep(left / MICROSECONDS + 0.002)
