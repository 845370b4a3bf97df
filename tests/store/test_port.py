"""The contract of the store, on both adapters."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from typing import TypeVar

import pytest

from market.arbitrages import Arbitrage, Refusal
from market.clock import MICROSECONDS, SystemClock
from market.execution import advancing
from market.feeds import FeedState
from market.settings import Settings
from store.errors import StoreError, VersionConflictError
from store.port import TradeStore
from tests.market.samples import MARKETS, settings_of
from tests.store.wishes import (
    OPENING,
    balances,
    close,
    complete,
    filled,
    open_books,
    opportunity,
    reserve_both,
    sent,
    wish,
)

DEADLINE_SECONDS = 20
ID = "opportunity-1"

Item = TypeVar("Item")


async def next_of(items: AsyncIterator[Item]) -> Item:
    async with asyncio.timeout(DEADLINE_SECONDS):
        return await anext(items)


async def test_both_legs_are_reserved_sent_and_booked(store: TradeStore) -> None:
    await open_books(store)
    half = (await store.reserve(wish("buy", "2"))).arbitrage
    assert half is not None
    assert half.state == "half_reserved"
    assert (await balances(store))["alpha", "USD"] == (Decimal("799.8"), Decimal("200.2"))
    arbitrage = (await store.reserve(wish("sell", "1.5"))).arbitrage
    assert arbitrage is not None
    assert (arbitrage.state, arbitrage.amount) == ("reserved", Decimal("1.5"))
    assert (await balances(store))["alpha", "USD"] == (Decimal("849.85"), Decimal("150.15"))
    assert (await balances(store))["beta", "BTC"] == (Decimal("8.5"), Decimal("1.5"))
    buy = await sent(store, ID, "buy")
    sell = await sent(store, ID, "sell")
    await store.note_sent(ID, "buy", "order-1")
    assert (await store.finish_leg(ID, "buy", filled(buy), close)).state == "reserved"
    ended = await store.finish_leg(ID, "sell", filled(sell), close)
    assert ended.state == "closed"
    assert ended == await store.arbitrage(ID)
    assert await store.open_arbitrages() == []
    assert await balances(store) == {
        ("alpha", "BTC"): (Decimal("1.5"), Decimal(0)),
        ("alpha", "USD"): (Decimal("849.85"), Decimal(0)),
        ("beta", "BTC"): (Decimal("8.5"), Decimal(0)),
        ("beta", "EUR"): (Decimal("151.3485"), Decimal(0)),
    }
    assert ended.times.keys() == {"event", "detected", "reserved", "sent", "filled", "ended"}
    assert [sorted(leg.times) for leg in ended.legs] == [
        ["done", "reserved", "sending", "sent"],
        ["done", "reserved", "sending"],
    ]


async def test_what_comes_back_is_what_was_written(store: TradeStore) -> None:
    await open_books(store)
    written = await reserve_both(store, opportunity())
    assert await store.arbitrage(ID) == written
    assert await store.open_arbitrages() == [written]
    assert written.opportunity == opportunity()


async def test_repeats_change_nothing(store: TradeStore) -> None:
    await open_books(store)
    arbitrage = await reserve_both(store, opportunity())
    assert (await store.reserve(wish("buy", "9"))).arbitrage == arbitrage
    buy = await sent(store, ID, "buy")
    assert await store.start_sending(ID, "buy") is None
    await store.note_sent(ID, "buy", "order-1")
    await store.note_sent(ID, "buy", "order-2")
    once = await store.finish_leg(ID, "buy", filled(buy), close)
    rows = await balances(store)
    assert await store.finish_leg(ID, "buy", filled(buy), close) == once
    assert await store.finish_leg(ID, "buy", None, close) == once
    assert await balances(store) == rows
    assert len(await store.fills()) == 1
    done = once.leg("buy")
    assert done is not None
    assert (done.state, done.exchange_order_id) == ("done", "order-1")


async def test_a_fill_that_comes_late_is_booked_once_and_shown(store: TradeStore) -> None:
    await open_books(store)
    await reserve_both(store, opportunity(), ("2", "2"))
    buy, sell = await sent(store, ID, "buy"), await sent(store, ID, "sell")
    await store.finish_leg(ID, "sell", filled(sell), close)
    await store.finish_leg(ID, "buy", None, close)
    before = await balances(store)
    late = filled(buy, Decimal(1))
    for _ in range(2):
        arbitrage = await store.finish_leg(ID, "buy", late, close)
        assert (arbitrage.state, arbitrage.reason) == ("held", "late_fill")
        assert (await balances(store))["alpha", "BTC"] == (before["alpha", "BTC"][0] + 1, Decimal(0))
    assert len(await store.fills()) == 2


async def test_a_fee_in_base_is_taken_from_base(store: TradeStore) -> None:
    await open_books(store)
    await reserve_both(store, opportunity(), ("1", "1"))
    buy = await sent(store, ID, "buy")
    report = filled(buy)
    fill = replace(report.fills[0], fee=Decimal("0.00100001"), fee_currency="BTC")
    await store.finish_leg(ID, "buy", replace(report, fills=(fill,)), close)
    assert (await balances(store))["alpha", "BTC"] == (Decimal("0.99899999"), Decimal(0))
    assert (await balances(store))["alpha", "USD"] == (Decimal(900), Decimal(0))
    assert await store.fills() == [fill]


async def test_a_leg_is_added_with_its_hold(store: TradeStore) -> None:
    await open_books(store)
    await reserve_both(store, opportunity(), ("2", "2"))
    buy, sell = await sent(store, ID, "buy"), await sent(store, ID, "sell")
    advance = complete("0.5", hold="0.6")
    await store.finish_leg(ID, "buy", filled(buy), advance)
    single = await store.finish_leg(ID, "sell", filled(sell, Decimal("1.5")), advance)
    added = single.leg("complete")
    assert added is not None
    assert (single.state, added.state, added.held) == ("single_leg", "reserved", Decimal("0.6"))
    assert (await balances(store))["beta", "BTC"] == (Decimal("7.9"), Decimal("0.6"))
    assert single.send_by > await store.server_now()
    last = await store.finish_leg(ID, "complete", filled(await sent(store, ID, "complete")), advance)
    assert last.state == "closed"
    assert (await balances(store))["beta", "BTC"] == (Decimal(8), Decimal(0))


@pytest.mark.parametrize(
    ("bought", "state", "reason", "reverse"),
    [("2", "single_leg", None, "reserved"), ("0", "held", "insufficient_balance", "not_sent")],
)
async def test_a_leg_that_no_balance_bears_is_not_sent_and_the_next_step_follows(
    store: TradeStore, bought: str, state: str, reason: str | None, reverse: str
) -> None:
    """Completing sells on beta, reversing on alpha."""
    await open_books(store)
    await reserve_both(store, opportunity(), ("2", "2"))
    buy, sell = await sent(store, ID, "buy"), await sent(store, ID, "sell")
    advance = advancing(MARKETS)
    await store.finish_leg(ID, "buy", filled(buy), advance)
    await store.set_balances("alpha", {"BTC": Decimal(bought)}, "now")
    await store.set_balances("beta", {"BTC": Decimal("1.7")}, "now")
    single = await store.finish_leg(ID, "sell", filled(sell, Decimal("1.5")), advance)
    assert (single.state, single.reason) == (state, reason)
    assert [(leg.role, leg.state) for leg in single.legs[2:]] == [("complete", "not_sent"), ("reverse", reverse)]
    assert (single.profit is not None) == (state == "held")
    assert (await balances(store))["beta", "BTC"] == (Decimal("0.2"), Decimal(0))
    assert await store.arbitrage(ID) == single


async def test_a_policy_without_end_is_ended_as_held(store: TradeStore) -> None:
    def insist(arbitrage: Arbitrage, settings: Settings, now: int) -> Arbitrage:
        return complete("100")(replace(arbitrage, legs=arbitrage.legs[:2]), settings, now)

    def endless(arbitrage: Arbitrage, settings: Settings, now: int) -> Arbitrage:
        (leg,) = insist(arbitrage, settings, now).legs[2:]
        return replace(arbitrage, state="single_leg", legs=(*arbitrage.legs, leg))

    await open_books(store)
    await reserve_both(store, opportunity(), ("2", "2"))
    buy, sell = await sent(store, ID, "buy"), await sent(store, ID, "sell")
    await store.finish_leg(ID, "buy", filled(buy), endless)
    held = await store.finish_leg(ID, "sell", filled(sell), endless)
    assert (held.state, held.reason) == ("held", "insufficient_balance")
    assert await store.open_arbitrages() == []


async def test_the_end_frees_pair_and_counter(store: TradeStore) -> None:
    await open_books(store)
    await reserve_both(store, opportunity())
    second = opportunity("opportunity-2", sequence=2)
    assert (await store.reserve(wish("buy", of=second))).refusal == "pair_busy"
    await store.change_settings(settings_of(max_open_arbitrages=1), 1, "test")
    assert (await store.reserve(wish("buy", of=second))).refusal == "too_many_open"
    for role in ("buy", "sell"):
        await sent(store, ID, "buy" if role == "buy" else "sell")
    await store.finish_leg(ID, "buy", None, close)
    await store.finish_leg(ID, "sell", None, close)
    assert await balances(store) == {
        (exchange, currency): (amount, Decimal(0))
        for exchange, amounts in OPENING.items()
        for currency, amount in amounts.items()
    }
    assert (await store.reserve(wish("buy", of=second))).refusal is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"trading_enabled": False}, "trading_disabled"),
        ({"enabled_exchanges": ("alpha", "gamma")}, "exchange_disabled"),
        ({"min_net_bps": 50.1}, "below_threshold"),
        ({"max_open_arbitrages": 1}, None),
    ],
)
async def test_the_settings_in_force_decide_not_those_that_a_bot_knew(
    store: TradeStore, changes: dict[str, object], reason: str | None
) -> None:
    await open_books(store)
    half = (await store.reserve(wish("buy"))).arbitrage
    await store.change_settings(settings_of(**changes), 1, "test")
    joined = await store.reserve(wish("sell"))
    assert joined.refusal == reason
    assert (await store.reserve(wish("buy"))).arbitrage == (half if reason else joined.arbitrage)
    begun = await store.reserve(wish("buy", of=opportunity("opportunity-2", sequence=2)))
    assert begun.refusal == (reason or "too_many_open")


async def test_an_opportunity_that_is_over_by_the_store_s_clock_is_not_reserved(store: TradeStore) -> None:
    await open_books(store)
    now = await store.server_now()
    late, early = replace(wish("buy"), valid_until=now), replace(wish("buy"), valid_until=now + 60 * MICROSECONDS)
    assert (await store.reserve(late)).refusal == "expired"
    half = (await store.reserve(early)).arbitrage
    assert half is not None
    assert (await store.reserve(late)).arbitrage == half
    assert (await store.reserve(replace(wish("sell"), valid_until=now))).refusal == "expired"


async def test_liquidity_is_shared_by_the_arbitrages_of_one_quote(store: TradeStore) -> None:
    await open_books(store)
    await reserve_both(store, opportunity(), ("2", "2"))
    for leg in (await sent(store, ID, "buy"), await sent(store, ID, "sell")):
        await store.finish_leg(ID, leg.role, filled(leg), close)
    again = (await store.reserve(wish("buy", "5", of=opportunity("opportunity-2"), displayed="5"))).arbitrage
    assert again is not None
    assert again.amount == 3
    refused = await store.reserve(wish("buy", "5", of=opportunity("opportunity-3"), displayed="5"))
    assert refused.refusal in ("liquidity_used", "pair_busy")


async def test_a_half_reservation_expires_after_its_time_only(store: TradeStore) -> None:
    await open_books(store)
    half = (await store.reserve(wish("buy"))).arbitrage
    assert half is not None
    assert not await store.expire(ID)
    assert not await store.expire("unknown")
    await server_time(store, half.reserve_by)
    assert (await store.reserve(wish("sell"))).refusal == "expired"
    assert await store.expire(ID)
    assert not await store.expire(ID)
    ended = await store.arbitrage(ID)
    assert ended is not None
    assert ended.state == "expired"
    assert (await balances(store))["alpha", "USD"] == (OPENING["alpha"]["USD"], Decimal(0))
    assert (await store.reserve(wish("sell"))).refusal == "expired"


async def test_a_reserved_one_does_not_expire_but_may_be_too_late_to_send(store: TradeStore) -> None:
    await open_books(store)
    arbitrage = await reserve_both(store, opportunity())
    await server_time(store, arbitrage.send_by)
    assert not await store.expire(ID)
    assert await store.start_sending(ID, "buy") is None
    late = await store.arbitrage(ID)
    assert late is not None
    assert [leg.state for leg in late.legs] == ["not_sent", "reserved"]
    await store.finish_leg(ID, "buy", None, close)
    assert (await balances(store))["alpha", "USD"] == (OPENING["alpha"]["USD"], Decimal(0))


async def test_a_half_reserved_leg_is_not_sent(store: TradeStore) -> None:
    await open_books(store)
    await store.reserve(wish("buy"))
    assert await store.start_sending(ID, "buy") is None
    assert (await store.finish_leg(ID, "buy", None, close)).state == "half_reserved"


async def test_what_is_unknown_is_an_error(store: TradeStore) -> None:
    with pytest.raises(StoreError):
        await store.finish_leg(ID, "buy", None, close)
    await open_books(store)
    with pytest.raises(StoreError):
        await store.start_sending(ID, "buy")
    with pytest.raises(StoreError):
        await store.finish_leg(ID, "buy", None, close)
    await store.reserve(wish("buy"))
    with pytest.raises(StoreError):
        await store.finish_leg(ID, "reverse", None, close)


async def test_settings_keep_their_versions_apart(store: TradeStore) -> None:
    assert await store.settings() is None
    with pytest.raises(VersionConflictError):
        await store.change_settings(settings_of(), 1, "somebody")
    first = await store.create_settings(settings_of(version=7, min_net_bps=4))
    assert (first.version, first.min_net_bps) == (1, 4)
    assert await store.create_settings(settings_of(min_net_bps=9)) == first
    second = await store.change_settings(settings_of(min_net_bps=5), 1, "somebody")
    assert second == await store.settings()
    assert (second.version, second.min_net_bps) == (2, 5)
    with pytest.raises(VersionConflictError) as conflict:
        await store.change_settings(settings_of(min_net_bps=6), 1, "somebody else")
    assert conflict.value.current == 2
    assert (await store.settings()) == second


async def test_only_one_of_many_changes_wins(store: TradeStore) -> None:
    await store.create_settings(settings_of())
    tries = [store.change_settings(settings_of(min_net_bps=5 + index), 1, f"user {index}") for index in range(5)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(result, VersionConflictError) for result in results) == 4
    current = await store.settings()
    assert current in results


async def test_settings_are_told_in_order(store: TradeStore) -> None:
    await store.create_settings(settings_of())
    told = store.watch_settings()
    assert (await next_of(told)).version == 1
    for version in range(1, 6):
        await store.change_settings(settings_of(min_net_bps=version), version, "somebody")
    assert [(await next_of(told)).version for _ in range(5)] == [2, 3, 4, 5, 6]


async def test_arbitrages_are_told_as_they_change(store: TradeStore) -> None:
    await open_books(store)
    await store.reserve(wish("buy"))
    told = store.watch_arbitrages()
    assert (await next_of(told)).state == "half_reserved"
    reserved = (await store.reserve(wish("sell"))).arbitrage
    assert await next_of(told) == reserved
    await sent(store, ID, "buy")
    sending = (await next_of(told)).leg("buy")
    assert sending is not None
    assert sending.state == "sending"


async def watched_until_closed(store: TradeStore, seen: list[Arbitrage]) -> None:
    async for arbitrage in store.watch_arbitrages():
        seen.append(arbitrage)
        if arbitrage.state == "closed":
            return


async def test_a_watcher_that_begins_amid_changes_sees_no_state_go_back(store: TradeStore) -> None:
    await open_books(store)
    told: list[list[Arbitrage]] = [[] for _ in range(8)]
    async with asyncio.timeout(DEADLINE_SECONDS), asyncio.TaskGroup() as group:
        await store.reserve(wish("buy"))
        for seen in told:
            group.create_task(watched_until_closed(store, seen))
        await store.reserve(wish("sell"))
        legs = [await sent(store, ID, "buy"), await sent(store, ID, "sell")]
        while not all(told):
            await SystemClock().sleep(0.005)
        for leg in legs:
            await store.note_sent(ID, leg.role, "order")
            await store.finish_leg(ID, leg.role, filled(leg), close)
    for seen in told:
        progress = [sum(len(leg.times) for leg in arbitrage.legs) for arbitrage in seen]
        assert progress == sorted(set(progress))


async def test_an_opportunity_is_new_once(store: TradeStore) -> None:
    assert await store.save_opportunity(opportunity())
    assert not await store.save_opportunity(opportunity())
    assert await store.save_opportunity(opportunity("opportunity-2"))


async def test_stopping_lets_open_ones_go_on(store: TradeStore) -> None:
    await open_books(store)
    await store.reserve(wish("buy"))
    assert await store.reservations_open()
    await store.stop_reservations()
    assert not await store.reservations_open()
    refused = await store.reserve(wish("buy", of=opportunity("opportunity-2", sequence=2)))
    assert refused.refusal == "stopping"
    assert (await store.reserve(wish("sell"))).refusal is None


async def test_balances_of_the_session_are_what_the_exchanges_said(store: TradeStore) -> None:
    await open_books(store)
    await store.set_balances("alpha", {"USD": Decimal(5)}, "before")
    await store.set_balances("beta", {"BTC": Decimal(7)}, "now")
    await store.set_balances("beta", {"BTC": Decimal("8.00000001")}, "after")
    assert await store.session_balances() == (OPENING, {"beta": {"BTC": Decimal("8.00000001")}})
    assert (await balances(store))["alpha", "USD"] == (Decimal(5), Decimal(0))
    assert (await balances(store))["beta", "EUR"] == (Decimal(0), Decimal(0))


async def test_new_balances_leave_holds_held(store: TradeStore) -> None:
    await open_books(store)
    await reserve_both(store, opportunity(), ("1", "1"))
    await store.set_balances("beta", {"BTC": Decimal(12)}, "now")
    assert (await balances(store))["beta", "BTC"] == (Decimal(11), Decimal(1))


async def test_feeds_and_refusals_are_taken(store: TradeStore) -> None:
    await store.save_feed_state(FeedState("alpha", "us", "BTC/USD", "live", 1, 2, quotes=3, rejected={"crossed": 1}))
    refusal = Refusal("1", ID, "BTC", "alpha", "beta", "alpha", "too_small", 4.5, Decimal(1), 1_700_000_000_000_000)
    for identity in ("1", "2", "2"):
        await store.refuse(replace(refusal, refusal_id=identity))


async def server_time(store: TradeStore, moment: int) -> None:
    """Return once the store's clock is past `moment`."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while (left := moment - await store.server_now()) >= 0:
            await SystemClock().sleep(left / MICROSECONDS + 0.002)
