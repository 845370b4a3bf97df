"""The contract of what reconciliation reads and keeps, on both adapters."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from market.accounting.differences import CannotSettleError, Difference, RowCorrection, StoredDifference
from market.trade.arbitrages import Arbitrage
from market.trade.leases import UNFENCED
from market.trade.reservation_state import BalanceRow
from runtime.clock import SystemClock
from store.errors import FencedOutError
from store.ports.trading import TradeStore
from tests.store.booking import finish_leg, record_sent
from tests.store.reservation_requests import close, filled, granted, open_books, opportunity, request, reserved

FOUND = Difference("balance_differs", "alpha", "USD", "900", "901")
KEPT = StoredDifference(FOUND.difference_id, FOUND.kind, "alpha", "USD", "900", "901", "healed", 1_000_000)


async def row_of(store: TradeStore, exchange: str = "alpha", currency: str = "USD") -> BalanceRow | None:
    rows = await store.balances.rows()
    return next((row for row in rows if (row.exchange, row.currency) == (exchange, currency)), None)


async def opened_usd(store: TradeStore) -> BalanceRow:
    """1,000 USD on alpha, free, with the time at which they were taken."""
    await open_books(store)
    row = await row_of(store)
    assert row is not None
    return row


async def test_a_difference_is_kept_once_as_it_was_first_found(store: TradeStore) -> None:
    assert await store.differences.store(KEPT)
    assert not await store.differences.store(replace(KEPT, found_at=2_000_000))
    assert await store.differences.stored() == [KEPT]


async def test_two_processes_keep_one(store: TradeStore) -> None:
    assert sorted(await asyncio.gather(*(store.differences.store(KEPT) for _ in range(3)))) == [False, False, True]


async def test_the_newest_is_reported_first(store: TradeStore) -> None:
    later = replace(KEPT, difference_id="2", found_at=3_000_000)
    between = replace(KEPT, difference_id="3", found_at=2_000_000)
    for one in (KEPT, later, between):
        await store.differences.store(one)
    assert await store.differences.stored() == [later, between, KEPT]


async def test_until_when_an_exchange_was_compared_never_goes_back(store: TradeStore) -> None:
    assert await store.differences.compared_until("alpha") is None
    await store.differences.record_compared("alpha", 2_000)
    await store.differences.record_compared("alpha", 1_000)
    assert await store.differences.compared_until("alpha") == 2_000
    assert await store.differences.compared_until("beta") is None


async def since(store: TradeStore, exchange: str, moment: int) -> list[Arbitrage]:
    """Return the arbitrages without all that may be left out of them."""
    found = await store.differences.trades_since(exchange, moment)
    return [legs_alone(one) for one in found if isinstance(one, Arbitrage)]


def legs_alone(arbitrage: Arbitrage) -> Arbitrage:
    seen = arbitrage.opportunity
    buy, sell = replace(seen.buy, levels=()), replace(seen.sell, levels=())
    return replace(arbitrage, history=(), opportunity=replace(seen, buy=buy, sell=sell))


async def test_arbitrages_of_an_exchange_open_or_since_a_time(store: TradeStore) -> None:
    await open_books(store)
    assert await store.differences.trades_since("alpha", 0) == []
    both = await reserved(store)
    reserved_at = both.legs[0].times["reserved"]
    far = reserved_at + 10**12
    assert await since(store, "beta", far) == [legs_alone(both)]
    assert await since(store, "alpha", far) == [legs_alone(both)]
    for role in ("buy", "sell"):
        await finish_leg(
            store, both.arbitrage_id, role, None, lambda one, _settings, _now: replace(one, state="unfilled"), UNFENCED
        )
    assert await store.differences.trades_since("alpha", far) == []
    [ended] = await store.differences.trades_since("alpha", reserved_at - 1_000)
    assert (ended.arbitrage_id, ended.state) == (opportunity().opportunity_id, "unfilled")
    assert await store.differences.trades_since("gamma", 0) == []


async def test_one_that_is_gone_on_with_long_after_it_began_is_among_them(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy = await granted(store, "opportunity-1", "buy")
    await finish_leg(store, "opportunity-1", "buy", None, close, UNFENCED)
    await granted(store, "opportunity-1", "sell")
    await finish_leg(store, "opportunity-1", "sell", None, close, UNFENCED)
    first = await store.arbitrage("opportunity-1")
    assert first is not None
    then = first.times["ended"] + 1
    while await store.server_now() < then:
        await SystemClock().sleep(0.001)
    assert await store.differences.trades_since("alpha", then) == []
    late = await finish_leg(store, "opportunity-1", "buy", filled(buy), close, UNFENCED)
    assert late.state == "closed"
    assert await since(store, "alpha", then) == [legs_alone(late)]


async def test_orders_of_an_exchange_by_our_own_ids(store: TradeStore) -> None:
    await open_books(store)
    await reserved(store, opportunity(), "2")
    buy, sell = await granted(store, "opportunity-1", "buy"), await granted(store, "opportunity-1", "sell")
    number = f"order-{buy.client_order_id}"
    assert await store.differences.orders_since("alpha", 0) == {}
    await record_sent(store, "opportunity-1", "buy", number, UNFENCED)
    await finish_leg(store, "opportunity-1", "sell", filled(sell), close, UNFENCED)
    assert await store.differences.orders_since("alpha", 0) == {buy.client_order_id: number}
    ended = await finish_leg(store, "opportunity-1", "buy", filled(buy), close, UNFENCED)
    assert await store.differences.orders_since("alpha", ended.times["ended"]) == {buy.client_order_id: number}
    assert list(await store.differences.orders_since("beta", 0)) == [sell.client_order_id]
    assert await store.differences.orders_since("alpha", ended.times["ended"] + 1) == {}


async def test_a_row_is_corrected_from_what_was_compared(store: TradeStore) -> None:
    usd = await opened_usd(store)
    more = replace(usd, free=Decimal("1000.00000001"))
    assert await store.differences.correct(RowCorrection(usd, more), UNFENCED)
    assert await row_of(store) == more
    # again: it is not what was compared any more
    assert not await store.differences.correct(RowCorrection(usd, replace(usd, free=Decimal(5))), UNFENCED)
    assert await row_of(store) == more


async def test_a_row_that_moved_since_is_left_alone(store: TradeStore) -> None:
    usd = await opened_usd(store)
    await reserved(store)
    held = await row_of(store)
    assert held is not None
    assert held.held > 0
    assert not await store.differences.correct(RowCorrection(usd, replace(usd, free=Decimal(5))), UNFENCED)
    assert await row_of(store) == held


async def test_a_currency_without_a_row_counts_as_nothing(store: TradeStore) -> None:
    nothing = BalanceRow("alpha", "DOGE", Decimal(0), Decimal(0))
    found = replace(nothing, free=Decimal("0.5"))
    assert await store.differences.correct(RowCorrection(nothing, found), UNFENCED)
    assert await row_of(store, currency="DOGE") == found


async def test_who_was_replaced_corrects_nothing(store: TradeStore) -> None:
    usd = await opened_usd(store)
    lease = await store.leases.acquire("alpha", "first")
    assert lease is not None
    await store.leases.release(lease)
    assert await store.leases.acquire("alpha", "second") is not None
    with pytest.raises(FencedOutError):
        await store.differences.correct(RowCorrection(usd, replace(usd, free=Decimal(5))), lease.actor)
    assert await row_of(store) == usd


SOLD = StoredDifference("sold", "balance_unexplained", "alpha", "USD", "1000", "900", "reported", 2_000_000)
FOREIGN = StoredDifference("foreign", "fill_foreign", "alpha", "fill-1", "unknown", "sell 1", "reported", 2_000_000)


async def reduce_only(store: TradeStore) -> list[str]:
    assert [one.exchange for one in (await store.overview()).health] == [
        one.exchange for one in await store.health.all()
    ]
    return [one.exchange for one in await store.health.all() if one.unexplained_since]


async def opening_of(store: TradeStore) -> Decimal:
    before, _ = await store.balances.of_session()
    return before["alpha"]["USD"]


async def test_an_unexplained_difference_makes_its_exchange_reduce_only_until_it_is_settled(store: TradeStore) -> None:
    await open_books(store)
    await store.differences.store(KEPT)
    assert await reduce_only(store) == []
    assert await store.differences.store(SOLD)
    assert await store.differences.store(FOREIGN)
    assert await reduce_only(store) == ["alpha"]
    assert (await store.reserve(request(), UNFENCED)).rejection == "unexplained_difference"
    await store.differences.settle("foreign", "acknowledged", "owner")
    assert await reduce_only(store) == ["alpha"]
    await store.differences.settle("sold", "acknowledged", "owner")
    assert await reduce_only(store) == []
    assert (await store.reserve(request(), UNFENCED)).arbitrage is not None


async def test_settling_books_what_is_unexplained_by_now_once(store: TradeStore) -> None:
    usd = await opened_usd(store)
    unexplained = replace(usd, unexplained=Decimal(-100))
    await store.differences.store(SOLD)
    assert await store.differences.correct(RowCorrection(usd, unexplained), UNFENCED)
    assert await row_of(store) == unexplained
    for _ in range(2):
        settled = await store.differences.settle("sold", "withdrawal", "owner")
        assert settled is not None
        assert (settled.settled, settled.settled_by, settled.booked) == ("withdrawal", "owner", Decimal(-100))
        booked = replace(usd, free=Decimal(900), settled_at=settled.settled_at, settled=Decimal(-100))
        assert await row_of(store) == booked
        assert await opening_of(store) == Decimal(900)
    assert (await store.differences.stored())[0] == settled


async def test_what_a_person_says_must_fit(store: TradeStore) -> None:
    usd = await opened_usd(store)
    unexplained = replace(usd, unexplained=Decimal(-100))
    assert await store.differences.settle("unheard of", "acknowledged", "owner") is None
    await store.differences.store(KEPT)
    await store.differences.store(SOLD)
    await store.differences.correct(RowCorrection(usd, unexplained), UNFENCED)
    with pytest.raises(CannotSettleError, match="alpha has 100 USD less than our books: that is no deposit"):
        await store.differences.settle("sold", "deposit", "owner")
    with pytest.raises(CannotSettleError, match="needs no settlement: it was healed"):
        await store.differences.settle(KEPT.difference_id, "acknowledged", "owner")
    assert await row_of(store) == unexplained
    assert await reduce_only(store) == ["alpha"]


async def test_all_that_was_found_of_one_balance_is_settled_with_the_newest(store: TradeStore) -> None:
    await open_books(store)
    later = replace(SOLD, difference_id="later", theirs="800", found_at=3_000_000)
    for one in (SOLD, later, replace(later, difference_id="beta", exchange="beta")):
        await store.differences.store(one)
    await store.differences.settle("later", "acknowledged", "owner")
    assert [one.difference_id for one in await store.differences.stored() if one.is_open] == ["beta"]
    assert await reduce_only(store) == ["beta"]


async def test_what_is_no_longer_found_is_explained_and_may_return(store: TradeStore) -> None:
    await open_books(store)
    for one in (SOLD, FOREIGN, KEPT):
        await store.differences.store(one)
    assert {one.difference_id for one in await store.differences.open_at("alpha")} == {"sold", "foreign"}
    # a comparison that began before it was found
    await store.differences.explain("alpha", {"foreign"}, FOREIGN.found_at)
    assert len(await store.differences.open_at("alpha")) == 2
    at = FOREIGN.found_at + 1
    await store.differences.explain("alpha", {"foreign", "of another exchange"}, at)
    assert await store.differences.open_at("alpha") == [SOLD]
    assert await reduce_only(store) == ["alpha"]
    await store.differences.explain("alpha", {"sold"}, at)
    assert await store.differences.open_at("alpha") == []
    assert await reduce_only(store) == []
    settled = {one.difference_id: one.settled for one in await store.differences.stored()}
    assert (settled["sold"], settled["foreign"]) == ("explained", "explained")
    assert not await store.differences.store(replace(FOREIGN, found_at=at))
    assert await store.differences.store(replace(FOREIGN, found_at=at + 1))
    assert await reduce_only(store) == ["alpha"]


async def test_the_same_difference_again_is_new_but_not_the_same_fill(store: TradeStore) -> None:
    await open_books(store)
    for one in (SOLD, FOREIGN):
        await store.differences.store(one)
        settled = await store.differences.settle(one.difference_id, "acknowledged", "owner")
        assert settled is not None
        # a round that began before it was settled
        assert not await store.differences.store(replace(one, found_at=settled.settled_at))
        is_new = await store.differences.store(replace(one, found_at=settled.settled_at + 1))
        assert is_new == (one is SOLD)
    assert await reduce_only(store) == ["alpha"]


TWICE = StoredDifference("twice", "settled_twice", "alpha", "USD", "doubted", "settled", "healed", 4_000_000)


async def test_what_a_settlement_had_already_is_taken_back_with_its_entry(store: TradeStore) -> None:
    opened = await opened_usd(store)
    await store.differences.store(SOLD)
    await store.differences.correct(RowCorrection(opened, replace(opened, unexplained=Decimal(-100))), UNFENCED)
    settled = await store.differences.settle("sold", "acknowledged", "owner")
    assert settled is not None
    known = await row_of(store)
    assert known == replace(opened, free=Decimal(900), settled_at=settled.settled_at, settled=Decimal(-100))
    doubted = replace(known, free=Decimal(800), unexplained=Decimal(100), doubted=Decimal(-100))
    assert await store.differences.correct(RowCorrection(known, doubted), UNFENCED)
    assert await row_of(store) == doubted
    # it is not what was compared any more
    assert not await store.differences.take_back(TWICE, replace(doubted, free=Decimal(1)), UNFENCED)
    assert await store.differences.take_back(TWICE, doubted, UNFENCED)
    had = replace(known, settled=Decimal(0))
    assert await row_of(store) == had
    assert await opening_of(store) == Decimal(1_000)
    again = replace(doubted, unexplained=Decimal(1))
    assert await store.differences.correct(RowCorrection(had, again), UNFENCED)
    assert await store.differences.take_back(TWICE, again, UNFENCED)
    [entry] = [one for one in await store.differences.stored() if one.kind == "settled_twice"]
    assert (entry.booked, entry.settled) == (Decimal(101), "explained")
    assert await reduce_only(store) == []


async def test_when_a_row_was_opened_stays_with_it(store: TradeStore) -> None:
    first = await opened_usd(store)
    assert 0 < first.opened_at <= await store.server_now()
    await store.balances.replace("alpha", {"USD": Decimal(5)}, "now", UNFENCED)
    assert await row_of(store) == replace(first, free=Decimal(5))


async def test_closing_balances_leave_the_rows_to_the_comparison(store: TradeStore) -> None:
    """A fill that is found later may be in them, and whatever nobody explained."""
    first = await opened_usd(store)
    await store.balances.replace("alpha", {"USD": Decimal(5)}, "after", UNFENCED)
    assert await row_of(store) == first
    assert (await store.balances.of_session())[1] == {"alpha": {"USD": Decimal(5)}}
