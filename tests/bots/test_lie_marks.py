"""An exchange whose report contradicts its order trades nothing more until it is known what is true, or a person says
so: whatever the circuit breaker is set to, and for as long as it takes."""

from dataclasses import replace

import pytest

from bots.execute.order_lookup import OrderLookup, ignore_failure
from market.instruments.orders import AccountFill, OrderReport
from market.money import Amount
from market.trade.arbitrages import Leg
from market.trade.leases import UNFENCED
from market.trade.report_checks import IMPLAUSIBLE
from market.trade.unwinding import advancing
from tests.bots.reconciling_bench import ID, MINUTE, Bench, buy_sent, finish, opened_bench
from tests.market.samples import MARKETS
from tests.store.booking import book_reported
from tests.store.reservation_requests import filled, opportunity, request


@pytest.fixture
async def bench() -> Bench:
    opened = await opened_bench()
    off = {"breaker_failures": 0, "max_open_arbitrages": 100}
    opened.settings = await opened.store.settings.change(opened.settings.model_copy(update=off), 1, "test")
    return opened


def doubled(report: OrderReport) -> OrderReport:
    """Twice the amount, everywhere."""
    fills = tuple(replace(one, amount=Amount(2 * one.amount), cost=2 * one.cost) for one in report.fills)
    return replace(report, filled=Amount(2 * report.filled), fills=fills)


async def lied_to(bench: Bench) -> Leg:
    """Fill the buy on alpha; the report says twice as much."""
    buy = await buy_sent(bench)
    bench.exchange.fill(filled(buy))
    bench.exchange.fills.clear()
    lookup = OrderLookup(bench.store, bench.exchange, UNFENCED, ignore_failure)
    await lookup.report(ID, buy, doubled(filled(buy)))
    await book_reported(bench.store, advancing(MARKETS))
    assert ((await bench.arbitrage()).state, (await bench.arbitrage()).reason) == ("residual", IMPLAUSIBLE)
    return buy


async def rejection(bench: Bench, number: int = 2) -> str | None:
    result = await bench.store.reserve(request("0.1", opportunity(f"opportunity-{number}", number)), UNFENCED)
    return result.rejection


async def test_it_is_marked_at_once_and_with_the_breaker_off(bench: Bench) -> None:
    await lied_to(bench)
    assert await bench.reduce_only() == ["alpha"]
    assert await rejection(bench) == "unexplained_difference"
    [health] = await bench.store.health.all()
    assert (health.pauses, health.paused_until) == (0, 0)


async def test_the_mark_outlasts_the_search_for_the_order(bench: Bench) -> None:
    await lied_to(bench)
    for _ in range(4):
        bench.clock.time += 11 * MINUTE
        await bench.rounds(bench.process(), 2)
    assert "report_implausible" in {one.kind for one in await bench.store.differences.open_at("alpha")}
    assert await rejection(bench) == "unexplained_difference"


async def test_it_goes_once_the_order_is_booked(bench: Bench) -> None:
    buy = await lied_to(bench)
    process = bench.process()
    bench.exchange.looks = lambda _: doubled(filled(buy))
    await bench.rounds(process, 2)
    assert await bench.reduce_only() == ["alpha"]
    bench.exchange.looks = lambda _: filled(buy)
    await bench.rounds(process, 1)
    assert (await bench.arbitrage()).state == "closed"
    await bench.rounds(process, 1)
    [mark] = [one for one in await bench.store.differences.stored() if one.kind == "report_implausible"]
    assert mark.settled == "explained"
    assert await bench.reduce_only() == []


async def test_a_person_settles_it_once_whatever_the_exchange_says_then(bench: Bench) -> None:
    buy = await lied_to(bench)
    bench.exchange.looks = lambda _: doubled(filled(buy))
    process = bench.process()
    await bench.rounds(process, 1)
    [mark] = await bench.store.differences.open_at("alpha")
    await bench.store.differences.settle(mark.difference_id, "acknowledged", "owner")
    assert await bench.reduce_only() == []
    bench.exchange.looks = lambda _: doubled(doubled(filled(buy)))
    for _ in range(3):
        await bench.rounds(process, 1)
        assert "report_implausible" not in {one.kind for one in await bench.store.differences.open_at("alpha")}


async def test_another_lie_is_another_mark(bench: Bench) -> None:
    buy = await lied_to(bench)
    [first] = await bench.store.differences.open_at("alpha")
    await bench.store.differences.settle(first.difference_id, "acknowledged", "owner")
    lookup = OrderLookup(bench.store, bench.exchange, UNFENCED, ignore_failure)
    await lookup.report("arbitrage-2", replace(buy, client_order_id="another"), doubled(filled(buy)))
    assert await bench.reduce_only() == ["alpha"]


async def test_a_lie_about_what_is_booked_stays_until_a_person_settles_it(bench: Bench) -> None:
    """The order was booked as it was; then the exchange lists more of it than was ordered, once."""
    buy = await buy_sent(bench)
    report = filled(buy)
    bench.exchange.fill(report)
    await finish(bench, "buy", report)
    process = bench.process()
    await bench.rounds(process, 2)
    assert await bench.store.differences.stored() == []
    lie = AccountFill(replace(report.fills[0], fill_id="lie"), report.exchange_order_id, buy.client_order_id)
    bench.exchange.fills.append(lie)
    await bench.rounds(process, 1)
    bench.exchange.fills.remove(lie)
    for _ in range(3):
        await bench.rounds(process, 2)
        assert await rejection(bench) == "unexplained_difference"
    [mark] = await bench.store.differences.open_at("alpha")
    assert (mark.kind, mark.subject) == ("report_implausible", report.exchange_order_id)
    await bench.store.differences.settle(mark.difference_id, "acknowledged", "owner")
    bench.exchange.fills.append(lie)
    await bench.rounds(process, 2)
    assert await bench.reduce_only() == []
    booked = (await bench.arbitrage()).leg("buy")
    assert booked is not None
    assert booked.fills == report.fills
