"""The contract of the store, on both adapters."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.decide.circuit_breaker import Failure
from market.decide.settings import Settings
from market.prices.feed_state import FeedState
from market.trade.arbitrages import Arbitrage, Rejection
from market.trade.leases import UNFENCED
from market.trade.lifecycle import IllegalStepError
from market.trade.order_results import result_of
from market.trade.unwinding import advancing
from store.errors import StoreError
from store.ports.trading import TradeStore
from tests.market.samples import MARKETS, settings_of
from tests.store.booking import finish_leg, record_sent
from tests.store.reservation_requests import (
    OPENING,
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

DEADLINE_SECONDS = 20
ID = "opportunity-1"


async def test_both_legs_are_reserved_and_granted_at_once_posted_and_booked(store: TradeStore) -> None:
    await open_books(store)
    arbitrage = (await store.reserve(request("1.5"), UNFENCED)).arbitrage
    assert arbitrage is not None
    assert (arbitrage.state, arbitrage.amount) == ("reserved", Decimal("1.5"))
    assert arbitrage.send_by == arbitrage.times["reserved"] + 1_000_000
    assert (await balances(store))["alpha", "USD"] == (Decimal("849.85"), Decimal("150.15"))
    assert (await balances(store))["beta", "BTC"] == (Decimal("8.5"), Decimal("1.5"))
    buy = await granted(store, ID, "buy")
    sell = await granted(store, ID, "sell")
    await record_sent(store, ID, "buy", "order-1", UNFENCED)
    posted_at = await store.server_now()
    bought = replace(filled(buy), posted_at=posted_at)
    assert (await finish_leg(store, ID, "buy", bought, close, UNFENCED)).state == "reserved"
    ended = await finish_leg(store, ID, "sell", filled(sell), close, UNFENCED)
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
        ["done", "granted", "reserved", "sent"],
        ["done", "granted", "reserved"],
    ]
    assert ended.times["sent"] == ended.legs[0].times["sent"] == posted_at


async def test_what_comes_back_is_what_was_written(store: TradeStore) -> None:
    await open_books(store)
    written = await reserved(store, opportunity())
    assert await store.arbitrage(ID) == written
    assert await store.open_arbitrages() == [written]
    assert await store.traded([ID, "another"]) == {ID}
    assert written.opportunity == opportunity()


async def test_an_overview_is_what_each_part_says(store: TradeStore) -> None:
    await open_books(store)
    empty = await store.overview()
    assert (empty.reservations_open, empty.open_arbitrages, empty.results, empty.health) == (True, (), (), ())
    assert empty.opening == (await store.balances.of_session())[0] == OPENING
    legs = (await reserved(store, opportunity())).legs
    await store.report_order(result_of(ID, legs[0], filled(legs[0])), UNFENCED)
    await store.health.record("alpha", Failure("order-1", "outcome_unknown"))
    await ready_bot(store, "beta")
    seen = await store.overview()
    assert list(seen.open_arbitrages) == await store.open_arbitrages() != []
    assert list(seen.results) == await store.order_results() != []
    assert list(seen.balances) == await store.balances.rows() != []
    assert list(seen.health) == await store.health.all() != []
    assert list(seen.leases) == await store.leases.all() != []
    assert empty.now <= seen.now <= await store.server_now()
    await store.stop_reservations()
    assert not (await store.overview()).reservations_open


async def test_an_overview_has_what_can_be_resumed(store: TradeStore) -> None:
    await open_books(store)
    bought, sold = (await reserved(store, opportunity())).legs
    await store.settings.change(settings_of(trading_state="halted"), 1, "test")
    await finish_leg(store, ID, "buy", filled(bought), advancing(MARKETS), UNFENCED)
    held = await finish_leg(store, ID, "sell", None, advancing(MARKETS), UNFENCED)
    assert (held.state, held.reason) == ("residual", "halted")
    assert list((await store.overview()).resumable) == await store.resumable_arbitrages() == [held]
    assert sold.role == "sell"


async def test_repeats_change_nothing(store: TradeStore) -> None:
    await open_books(store)
    arbitrage = await reserved(store, opportunity())
    untouched = await balances(store)
    assert (await store.reserve(request("9"), UNFENCED)).arbitrage == arbitrage
    buy = await granted(store, ID, "buy")
    assert await store.grant(ID, "buy", UNFENCED) is None
    assert await store.arbitrage(ID) == arbitrage
    assert await balances(store) == untouched
    number = f"order-{buy.client_order_id}"
    await record_sent(store, ID, "buy", number, UNFENCED)
    await record_sent(store, ID, "buy", "order-2", UNFENCED)
    once = await finish_leg(store, ID, "buy", filled(buy), close, UNFENCED)
    rows = await balances(store)
    assert await finish_leg(store, ID, "buy", filled(buy), close, UNFENCED) == once
    assert await finish_leg(store, ID, "buy", None, close, UNFENCED) == once
    assert await balances(store) == rows
    assert len(await store.fills()) == 1
    done = once.leg("buy")
    assert done is not None
    assert (done.state, done.exchange_order_id) == ("done", number)


async def test_a_fee_in_base_is_taken_from_base(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "1")
    buy = await granted(store, ID, "buy")
    report = filled(buy)
    fill = replace(report.fills[0], fee=Decimal("0.00100001"), fee_currency="BTC")
    await finish_leg(store, ID, "buy", replace(report, fills=(fill,)), close, UNFENCED)
    assert (await balances(store))["alpha", "BTC"] == (Decimal("0.99899999"), Decimal(0))
    assert (await balances(store))["alpha", "USD"] == (Decimal(900), Decimal(0))
    assert await store.fills() == [fill]


async def test_a_leg_is_added_with_its_hold(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, sell = await granted(store, ID, "buy"), await granted(store, ID, "sell")
    advance = complete("0.5", hold="0.6")
    await finish_leg(store, ID, "buy", filled(buy), advance, UNFENCED)
    single = await finish_leg(store, ID, "sell", filled(sell, Decimal("1.5")), advance, UNFENCED)
    added = single.leg("complete")
    assert added is not None
    assert (single.state, added.state, added.held) == ("single_leg", "granted", Decimal("0.6"))
    assert (await balances(store))["beta", "BTC"] == (Decimal("7.9"), Decimal("0.6"))
    assert single.send_by > await store.server_now()
    last = await finish_leg(store, ID, "complete", filled(await granted(store, ID, "complete")), advance, UNFENCED)
    assert last.state == "closed"
    assert (await balances(store))["beta", "BTC"] == (Decimal(8), Decimal(0))


@pytest.mark.parametrize(
    ("bought", "state", "reason", "reverse"),
    [("2", "single_leg", None, "granted"), ("0", "residual", "insufficient_balance", "not_sent")],
)
async def test_a_leg_that_no_balance_bears_is_not_sent_and_the_next_step_follows(
    store: TradeStore, bought: str, state: str, reason: str | None, reverse: str
) -> None:
    """Completing sells on beta, reversing on alpha."""
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, sell = await granted(store, ID, "buy"), await granted(store, ID, "sell")
    advance = advancing(MARKETS)
    await finish_leg(store, ID, "buy", filled(buy), advance, UNFENCED)
    await store.balances.replace("alpha", {"BTC": Decimal(bought)}, "now", UNFENCED)
    await store.balances.replace("beta", {"BTC": Decimal("1.7")}, "now", UNFENCED)
    single = await finish_leg(store, ID, "sell", filled(sell, Decimal("1.5")), advance, UNFENCED)
    assert (single.state, single.reason) == (state, reason)
    assert [(leg.role, leg.state) for leg in single.legs[2:]] == [("complete", "not_sent"), ("reverse", reverse)]
    assert (single.profit is not None) == (state == "residual")
    assert (await balances(store))["beta", "BTC"] == (Decimal("0.2"), Decimal(0))
    assert await store.arbitrage(ID) == single


async def test_a_policy_without_end_is_ended_as_held(store: TradeStore) -> None:
    def insist(arbitrage: Arbitrage, settings: Settings, now: int) -> Arbitrage:
        return complete("100")(replace(arbitrage, legs=arbitrage.legs[:2]), settings, now)

    def endless(arbitrage: Arbitrage, settings: Settings, now: int) -> Arbitrage:
        (leg,) = insist(arbitrage, settings, now).legs[2:]
        return replace(arbitrage, state="single_leg", legs=(*arbitrage.legs, leg))

    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, sell = await granted(store, ID, "buy"), await granted(store, ID, "sell")
    await finish_leg(store, ID, "buy", filled(buy), endless, UNFENCED)
    held = await finish_leg(store, ID, "sell", filled(sell), endless, UNFENCED)
    assert (held.state, held.reason) == ("residual", "insufficient_balance")
    assert await store.open_arbitrages() == []


async def test_the_end_frees_pair_and_counter(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity())
    second = opportunity("opportunity-2", sequence=2)
    assert (await store.reserve(request(of=second), UNFENCED)).rejection == "pair_busy"
    await store.settings.change(settings_of(max_open_arbitrages=1), 1, "test")
    assert (await store.reserve(request(of=second), UNFENCED)).rejection == "too_many_open"
    for role in ("buy", "sell"):
        await granted(store, ID, "buy" if role == "buy" else "sell")
    await finish_leg(store, ID, "buy", None, close, UNFENCED)
    await finish_leg(store, ID, "sell", None, close, UNFENCED)
    assert await balances(store) == {
        (exchange, currency): (amount, Decimal(0))
        for exchange, amounts in OPENING.items()
        for currency, amount in amounts.items()
    }
    assert (await store.reserve(request(of=second), UNFENCED)).rejection is None


async def test_what_is_unknown_is_an_error(store: TradeStore) -> None:
    with pytest.raises(StoreError):
        await store.book(ID, close, UNFENCED)
    await open_books(store)
    with pytest.raises(StoreError):
        await store.grant(ID, "buy", UNFENCED)
    with pytest.raises(StoreError):
        await store.book(ID, close, UNFENCED)
    legs = (await reserved(store)).legs
    await store.report_order(result_of(ID, replace(legs[0], role="reverse"), None), UNFENCED)
    with pytest.raises(IllegalStepError, match="no reverse leg"):
        await store.book(ID, close, UNFENCED)


async def test_stopping_lets_open_ones_go_on(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store)
    assert await store.reservations_open()
    await store.stop_reservations()
    assert not await store.reservations_open()
    rejected = await store.reserve(request(of=opportunity("opportunity-2", sequence=2)), UNFENCED)
    assert rejected.rejection == "stopping"
    assert (await store.reserve(request(), UNFENCED)).rejection is None
    bought, sold, advance = await granted(store, ID, "buy"), await granted(store, ID, "sell"), complete("0.5")
    await finish_leg(store, ID, "buy", filled(bought), advance, UNFENCED)
    await finish_leg(store, ID, "sell", filled(sold, Decimal(1)), advance, UNFENCED)
    added = await granted(store, ID, "complete")
    assert (await finish_leg(store, ID, "complete", filled(added), advance, UNFENCED)).state == "closed"


async def test_balances_of_the_session_are_what_the_exchanges_said(store: TradeStore) -> None:
    await open_books(store)
    await store.balances.replace("alpha", {"USD": Decimal(5)}, "before", UNFENCED)
    await store.balances.replace("beta", {"BTC": Decimal(7)}, "now", UNFENCED)
    await store.balances.replace("beta", {"BTC": Decimal("8.00000001")}, "after", UNFENCED)
    assert await store.balances.of_session() == (OPENING, {"beta": {"BTC": Decimal("8.00000001")}})
    assert (await balances(store))["alpha", "USD"] == (Decimal(5), Decimal(0))
    assert (await balances(store))["beta", "EUR"] == (Decimal(0), Decimal(0))


async def test_new_balances_leave_holds_held(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "1")
    await store.balances.replace("beta", {"BTC": Decimal(12)}, "now", UNFENCED)
    assert (await balances(store))["beta", "BTC"] == (Decimal(11), Decimal(1))


async def test_feeds_and_rejections_are_taken(store: TradeStore) -> None:
    await store.save_feed_states([FeedState("alpha", "us", "BTC/USD", "live", 1, 2, quotes=3, rejected={"crossed": 1})])
    rejection = Rejection("1", ID, "BTC", "alpha", "beta", "alpha", "too_small", 4.5, Decimal(1), 1_700_000_000_000_000)
    for identity in ("1", "2", "2"):
        await store.reject([replace(rejection, rejection_id=identity)])
