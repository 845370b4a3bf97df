"""The exchange's own word at both ends of a session: once at the start, and of nothing that moved after it."""

from decimal import Decimal

import pytest

from bots.reconcile.balance_snapshots import BalanceSnapshots
from exchanges.errors import ExchangeUnavailableError
from market.trade.leases import UNFENCED
from market.trade.order_results import result_of
from tests.bots.reconciling_bench import Bench, bench_with_cycle, ended_without, opened_bench
from tests.market.cycle_samples import report_on
from tests.store.reservation_requests import OPENING

USD = OPENING["alpha"]["USD"]


@pytest.fixture
async def bench() -> Bench:
    return await opened_bench()


def books(bench: Bench) -> BalanceSnapshots:
    return BalanceSnapshots(bench.store, bench.exchange, by=UNFENCED)


async def closing_usd(bench: Bench) -> Decimal:
    _, after = await bench.store.balances.of_session()
    return after["alpha"]["USD"]


async def test_a_bot_that_comes_back_leaves_what_differs_to_reconciliation(bench: Bench) -> None:
    bench.exchange.owned["USD"] -= 7
    assert await books(bench).ensure_opening()
    assert (await bench.row()).free == USD
    assert await bench.rounds(bench.process(), 2) == ["balance_unexplained"]
    assert (await bench.row()).usable == USD - 7


async def test_what_comes_after_the_closing_is_in_it_in_the_end(bench: Bench) -> None:
    await ended_without(bench)
    closing = books(bench)
    await closing.close()
    bench.exchange.owned["USD"] -= 3
    await closing.close()
    assert await closing_usd(bench) == USD
    closing.record_change()
    await closing.close()
    assert await closing_usd(bench) == USD - 3


async def test_a_change_while_the_exchange_is_asked_has_it_asked_again(bench: Bench) -> None:
    await ended_without(bench)
    closing = books(bench)

    async def moves() -> None:
        bench.exchange.owned["USD"] -= 3
        closing.record_change()

    bench.exchange.then["balances"] = moves
    await closing.close()
    assert await closing_usd(bench) == USD
    await closing.close()
    assert await closing_usd(bench) == USD - 3


async def test_an_exchange_that_does_not_answer_is_asked_again(bench: Bench) -> None:
    closing = books(bench)

    async def fails() -> None:
        raise ExchangeUnavailableError("not now")

    bench.exchange.first["balances"] = fails
    with pytest.raises(ExchangeUnavailableError):
        await closing.close()
    await closing.close()
    assert await closing_usd(bench) == USD


@pytest.fixture
async def cycling() -> Bench:
    return await bench_with_cycle()


async def fill_whole(bench: Bench) -> None:
    """Have all legs filled and booked."""
    [trade] = await bench.store.open_cycles()
    for order in trade.orders:
        await bench.store.report_order(result_of("found", order.leg, report_on(order, order.amount)), UNFENCED)
    await bench.store.book_cycle("found", UNFENCED)
    bench.exchange.owned["USD"] += 120


async def test_the_opening_waits_for_a_cycle_whose_fills_would_be_booked_on_top_of_it(cycling: Bench) -> None:
    opening = books(cycling)
    assert not await opening.ensure_opening()
    await fill_whole(cycling)
    assert await opening.ensure_opening()
    assert (await cycling.row()).usable == cycling.exchange.owned["USD"] == 100_120


async def test_the_closing_waits_for_a_cycle(cycling: Bench) -> None:
    closing = books(cycling)
    await closing.close()
    assert await cycling.store.balances.of_session() == ({}, {})
    await fill_whole(cycling)
    await closing.close()
    assert await closing_usd(cycling) == 100_120
