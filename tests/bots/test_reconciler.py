"""A bot's comparison of its books with its exchange's word: orders, fills, and work in flight."""

import logging
from dataclasses import replace
from decimal import Decimal

import pytest

from bots.reconcile.reconciler import OVERLAP, SEARCH_BACK
from exchanges.errors import ExchangeUnavailableError, OutcomeUnknownError
from market.instruments.orders import LimitOrder, OrderReport
from market.trade.leases import UNFENCED
from market.trade.reservation_state import SIDES
from market.trade.unwinding import UNCONFIRMED, EndAsResidual, advancing
from tests.bots.reconciling_bench import (
    ID,
    MINUTE,
    ONE,
    START,
    Bench,
    buy_sent,
    ended_without,
    fill_of_a_stranger,
    finish,
    opened_bench,
    resting,
)
from tests.market.samples import MARKETS
from tests.store.booking import finish_leg, record_sent
from tests.store.reservation_requests import OPENING, close, filled, granted, opportunity, reserved


@pytest.fixture
async def bench() -> Bench:
    return await opened_bench()


async def test_books_that_agree_are_compared_and_recorded(bench: Bench) -> None:
    buy = await buy_sent(bench)
    bench.exchange.fill(filled(buy))
    await finish(bench, "buy", filled(buy))
    process = bench.process()
    assert await bench.rounds(process, 3) == []
    assert await bench.stored() == []
    assert await bench.store.differences.compared_until("alpha") == START + 2 * 15_000_000


async def test_a_leg_in_flight_is_left_to_whoever_sends_it(bench: Bench) -> None:
    """Its order rests, its fill is listed and the balances have moved, and nobody has noted as much as its id."""
    buy = await buy_sent(bench)
    bench.exchange.fill(filled(buy, ONE))
    bench.exchange.orders.append(resting("order-of-nobody-yet"))
    assert await bench.rounds(bench.process(), 3) == []
    assert bench.exchange.asked_for == []


@pytest.mark.parametrize("moment", ["orders", "fills"])
async def test_a_leg_that_ends_while_the_exchange_is_asked_is_no_difference(bench: Bench, moment: str) -> None:
    """Whatever it showed by then, the store has more by the time it is read."""
    buy = await buy_sent(bench)
    report = filled(buy)
    bench.exchange.fill(report)

    async def ends() -> None:
        await finish(bench, "buy", report)

    bench.exchange.then[moment] = ends
    assert await bench.rounds(bench.process(), 3) == []
    assert (await bench.arbitrage()).state == "closed"
    assert await bench.stored() == []


@pytest.mark.parametrize("moment", ["balances", "orders", "fills"])
async def test_a_whole_arbitrage_while_the_exchange_is_asked_is_no_difference(bench: Bench, moment: str) -> None:
    async def trades() -> None:
        buy = await buy_sent(bench)
        bench.exchange.fill(filled(buy))
        await finish(bench, "buy", filled(buy))

    bench.exchange.first[moment] = trades
    process = bench.process()
    assert await bench.rounds(process, 1) == []
    # nothing is left to be seen a second time either
    assert await bench.store.differences.compared_until("alpha") == START
    assert await bench.rounds(process, 2) == []
    assert await bench.stored() == []


async def test_an_order_that_was_denied_and_is_there_after_all_is_booked_by_its_leg(bench: Bench) -> None:
    buy = await ended_without(bench, sold="2")
    before = await bench.row("BTC")
    report = filled(buy, Decimal(2))
    bench.exchange.fill(report)
    bench.exchange.looks = lambda _: report
    process = bench.process()
    assert await bench.rounds(process, 1) == ["order_found"]
    assert (await bench.row("BTC")).free == before.free + 2
    leg = (await bench.arbitrage()).leg("buy")
    assert leg is not None
    assert (leg.state, leg.exchange_order_id) == ("done", report.exchange_order_id)
    assert leg.filled == 2
    # whatever the exchange repeats
    await bench.rounds(process, 3)
    await bench.rounds(bench.process(), 3)
    assert (await bench.row("BTC")).free == before.free + 2
    assert await bench.stored() == ["order_found healed"]
    assert bench.exchange.asked_for == [buy.client_order_id]


async def test_what_was_bought_late_and_alone_is_sold_again(bench: Bench) -> None:
    buy = await ended_without(bench)
    assert (await bench.arbitrage()).state == "unfilled"
    bench.exchange.looks = lambda _: filled(buy)
    assert await bench.rounds(bench.process(), 1) == ["order_found"]
    reopened = await bench.arbitrage()
    assert reopened.state == "single_leg"
    assert [(leg.side, leg.amount) for leg in reopened.legs if leg.state == "granted"] == [("sell", buy.amount)]


async def test_an_order_that_was_denied_is_asked_for_ten_minutes(bench: Bench) -> None:
    buy = await ended_without(bench)
    process = bench.process()
    assert await bench.rounds(process, 3) == []
    assert bench.exchange.asked_for == [buy.client_order_id] * 3
    bench.clock.time = START + SEARCH_BACK
    await bench.rounds(process, 1)
    assert len(bench.exchange.asked_for) == 4
    bench.clock.time = START + SEARCH_BACK + 1
    await bench.rounds(process, 1)
    assert len(bench.exchange.asked_for) == 4


async def test_one_that_may_be_two_is_for_a_person(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    await ended_without(bench)

    def ambiguous(_: LimitOrder) -> OrderReport | None:
        raise OutcomeUnknownError("two fit")

    bench.exchange.looks = ambiguous
    with caplog.at_level(logging.WARNING):
        assert await bench.rounds(bench.process(), 2) == ["order_ambiguous"] * 2
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert await bench.stored() == ["order_ambiguous reported"]


async def test_what_one_that_may_be_two_moved_names_it_and_it_goes_once_it_is_known(bench: Bench) -> None:
    """Nobody could see that an order in doubt was behind a balance that differed."""
    buy = await ended_without(bench)

    def ambiguous(_: LimitOrder) -> OrderReport | None:
        raise OutcomeUnknownError("two fit")

    bench.exchange.looks = ambiguous
    bench.exchange.fill(filled(buy))
    bench.exchange.fills.clear()
    process = bench.process()
    await bench.rounds(process, 1)
    bench.clock.time += SEARCH_BACK
    await bench.rounds(process, 2)
    found = {one.kind: one for one in await bench.store.differences.open_at("alpha")}
    assert found["balance_unexplained"].cause == found["order_ambiguous"].subject == f"{ID}:buy"
    await finish_leg(bench.store, ID, "buy", filled(buy), close, UNFENCED)
    await bench.rounds(process, 1)
    assert await bench.reduce_only() == []
    assert {one.settled for one in await bench.store.differences.stored()} == {"explained"}


async def test_orders_known_to_be_other_legs_are_not_taken_for_it(bench: Bench) -> None:
    """Where no client id tells them apart, neither the exchange's search nor what it finds may take another's."""
    bench.has_client_ids = False
    await ended_without(bench)
    second = opportunity("opportunity-2", sequence=2)
    bench.clock.time += MINUTE
    await reserved(bench.store, second, "2")
    other = await granted(bench.store, "opportunity-2", "buy")
    report = filled(other)
    bench.exchange.looks = lambda _: report
    # in flight: nobody knows yet whose it is
    assert await bench.rounds(bench.process(), 2) == []
    await record_sent(bench.store, "opportunity-2", "buy", report.exchange_order_id, UNFENCED)
    assert await bench.rounds(bench.process(), 2) == []
    assert report.exchange_order_id in bench.exchange.taken


async def test_one_order_is_found_for_one_of_two_like_legs(bench: Bench) -> None:
    """Both were denied, and either may have sent it: it is booked once, by one of them."""
    bench.has_client_ids = False
    first = await ended_without(bench)
    bench.clock.time += MINUTE
    await reserved(bench.store, opportunity("opportunity-2", sequence=2), "2")
    for role in SIDES:
        await finish_leg(bench.store, "opportunity-2", role, None, advancing(MARKETS), UNFENCED)
    report = filled(first)
    bench.exchange.fill(report)
    bench.exchange.looks = lambda _: None if report.exchange_order_id in bench.exchange.taken else report
    assert await bench.rounds(bench.process(), 1) == ["order_found"]
    both = [await bench.store.arbitrage(name) for name in (ID, "opportunity-2")]
    legs = [one.leg("buy") for one in both if one is not None]
    assert [leg.exchange_order_id for leg in legs if leg is not None] == [report.exchange_order_id, None]


async def test_a_leg_whose_market_is_gone_keeps_nothing_else_from_being_compared(bench: Bench) -> None:
    await ended_without(bench)

    def gone(_: LimitOrder) -> OrderReport | None:
        raise ExchangeUnavailableError("not here")

    bench.exchange.looks = gone
    bench.exchange.orders.append(resting("strange"))
    assert await bench.rounds(bench.process(), 2) == ["order_foreign"]


async def test_a_strangers_order_is_reported_once_and_never_touched(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.exchange.orders.append(resting("strange"))
    process = bench.process()
    with caplog.at_level(logging.WARNING):
        assert await bench.rounds(process, 1) == []
        await bench.rounds(process, 3)
        await bench.rounds(bench.process(), 3)
    assert await bench.stored() == ["order_foreign reported"]
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_a_fill_that_comes_late_is_booked_once_and_traded_away(bench: Bench) -> None:
    buy = await buy_sent(bench, sold="1")
    first, late = filled(buy, ONE), filled(buy, Decimal("0.5"), fill_id="2")
    bench.exchange.fill(first)
    await finish(bench, "buy", first)
    assert (await bench.arbitrage()).state == "closed"
    bench.exchange.fill(late)
    process = bench.process()
    assert await bench.rounds(process, 1) == ["fill_late"]
    reopened = await bench.arbitrage()
    assert reopened.state == "single_leg"
    assert [(leg.side, leg.amount) for leg in reopened.legs if leg.state == "granted"] == [("sell", Decimal("0.5"))]
    await bench.rounds(process, 2)
    assert len([fill for fill in await bench.store.fills() if fill.exchange == "alpha"]) == 2
    assert await bench.stored() == ["fill_late healed"]


async def test_what_a_strangers_fill_moved_is_reported_and_never_healed(bench: Bench) -> None:
    bench.exchange.fill(fill_of_a_stranger())
    before = await bench.row("BTC"), await bench.row("USD")
    process = bench.process()
    assert await bench.rounds(process, 1) == []
    assert sorted(await bench.rounds(process, 1)) == ["balance_unexplained", "balance_unexplained", "fill_foreign"]
    # nor once the fill is not listed any more, by whichever process
    bench.exchange.fills.clear()
    bench.clock.time += 60 * MINUTE
    assert set(await bench.rounds(bench.process(), 4)) == {"balance_unexplained"}
    after = await bench.row("BTC"), await bench.row("USD")
    assert [replace(row, unexplained=Decimal(0)) for row in after] == list(before)
    assert [row.usable for row in after] == [0, 910]
    assert await bench.store.fills() == []
    assert sorted(await bench.stored()) == ["balance_unexplained reported"] * 2 + ["fill_foreign reported"]


async def test_an_order_held_as_unconfirmed_keeps_its_balances_from_being_healed(bench: Bench) -> None:
    """It filled, the exchange denies it, and its dates do not say when: what moved is not explained away."""
    bench.has_client_ids = False
    buy = await buy_sent(bench)
    await finish_leg(bench.store, ID, "buy", None, EndAsResidual(UNCONFIRMED), UNFENCED)
    assert (await bench.arbitrage()).reason == UNCONFIRMED
    bench.exchange.fill(filled(buy))
    bench.exchange.fills.clear()
    row = await bench.row("BTC")
    assert set(await bench.rounds(bench.process(), 3)) == {"order_unconfirmed", "balance_unexplained"}
    assert await bench.row("BTC") == replace(row, unexplained=Decimal(2))
    assert await bench.reduce_only() == ["alpha"]
    # found after all: booked, and the balances are what the books say, so that nothing is unexplained any more
    bench.exchange.looks = lambda _: filled(buy)
    assert await bench.rounds(bench.process(), 1) == ["order_found", "order_unconfirmed"]
    assert (await bench.row("BTC")).free == bench.exchange.owned["BTC"]
    await bench.rounds(bench.process(), 1)
    assert (await bench.row("BTC")).unexplained == 0
    assert await bench.reduce_only() == []


async def test_a_store_whose_clock_was_set_is_compared_on(bench: Bench) -> None:
    """Exchanges are asked by this machine's clock: the store's may be ahead by an hour, or go back by one."""
    process = bench.process()
    machine = bench.clock.time
    process.wall_clock = lambda: machine
    await bench.rounds(process, 1)
    for step in (60 * MINUTE, -120 * MINUTE):
        bench.clock.time += step
        await process.round()
        assert bench.exchange.since <= machine - OVERLAP


async def test_what_was_seen_once_is_looked_at_again_however_late(bench: Bench) -> None:
    """The fills of the next round reach back to it, by whichever process."""
    process = bench.process()
    await bench.rounds(process, 2)
    noted = await bench.store.differences.compared_until("alpha")
    bench.exchange.fill(fill_of_a_stranger())
    bench.exchange.owned = dict(OPENING["alpha"])
    await bench.rounds(process, 1)
    assert await bench.store.differences.compared_until("alpha") == noted
    bench.clock.time += 10 * MINUTE
    await bench.rounds(bench.process(), 1)
    assert noted is not None
    assert bench.exchange.since == noted - 2 * OVERLAP
