"""A bot's comparison of its books with its exchange's word: balances, holds, halts, and other processes."""

from dataclasses import replace
from decimal import Decimal

import pytest

from bots.reconcile.reconciler import OVERLAP
from market.accounting.differences import CannotSettleError, PersonsVerdict, RowCorrection
from market.instruments.orders import AccountFill
from market.prices.opportunities import Opportunity
from market.trade.leases import UNFENCED
from market.trade.order_results import result_of
from market.trade.report_checks import ReportRules
from market.trade.reservation_state import SIDES
from market.trade.unwinding import advancing
from store.errors import FencedOutError
from tests.bots.reconciling_bench import (
    ID,
    MINUTE,
    ONE,
    START,
    Bench,
    bench_with_cycle,
    buy_sent,
    fill_of_a_stranger,
    finish,
    opened_bench,
    resting,
)
from tests.market.cycle_samples import report_on
from tests.market.samples import MARKETS
from tests.store.booking import finish_leg
from tests.store.reservation_requests import OPENING, SETTINGS, close, filled, granted, opportunity, request, reserved

CENT = Decimal("0.001")
"""Little enough to be an exchange's rounding."""


@pytest.fixture
async def bench() -> Bench:
    return await opened_bench()


async def test_a_balance_that_differs_by_rounding_is_the_exchanges(bench: Bench) -> None:
    bench.exchange.owned["USD"] += Decimal("0.00000001")
    process = bench.process()
    assert await bench.rounds(process, 1) == ["balance_differs"]
    assert (await bench.row()).free == OPENING["alpha"]["USD"] + Decimal("0.00000001")
    assert await bench.rounds(process, 2) == []
    assert await bench.stored() == ["balance_differs healed"]


async def test_balances_are_not_compared_while_anything_is_open(bench: Bench) -> None:
    await buy_sent(bench)
    bench.exchange.owned["USD"] -= 50
    assert await bench.rounds(bench.process(), 4) == []


async def test_a_row_that_moves_while_the_exchange_is_asked_is_not_compared(bench: Bench) -> None:
    async def moves() -> None:
        row = await bench.row()
        await bench.store.differences.correct(RowCorrection(row, replace(row, free=row.free + 1)), UNFENCED)

    process = bench.process()
    for _ in range(4):
        bench.exchange.then["balances"] = moves
        assert await bench.rounds(process, 1) == []


async def test_what_an_arbitrage_moves_while_the_exchange_is_asked_is_not_compared(bench: Bench) -> None:
    """What comes in is held by no row, so that only a look before and one after tell that something was open."""
    process = bench.process()
    for number in (1, 2):
        one = opportunity(f"opportunity-{number}", sequence=number)

        async def trades(one: Opportunity = one) -> None:
            await reserved(bench.store, one, "2")
            bench.exchange.fill(filled(await granted(bench.store, one.opportunity_id, "buy")))

        bench.exchange.first["balances"] = trades
        assert await bench.rounds(process, 1) == []
        for role in SIDES:
            await finish_leg(bench.store, one.opportunity_id, role, None, close, UNFENCED)
        await bench.store.balances.replace("alpha", OPENING["alpha"], "now", UNFENCED)
        bench.exchange.owned = dict(OPENING["alpha"])
        bench.exchange.fills.clear()
    assert await bench.stored() == []


async def test_what_an_arbitrage_moved_after_the_comparison_is_not_undone(bench: Bench) -> None:
    """Between the look and the correction: the row is not what was compared any more."""
    bench.exchange.owned["USD"] += CENT
    process = bench.process()
    [differs] = await process.round()
    assert isinstance(differs.remedy, RowCorrection)
    row = await bench.row()
    assert row.free == OPENING["alpha"]["USD"] + CENT
    moved = replace(row, free=row.free - 100)
    await bench.store.differences.correct(RowCorrection(row, moved), UNFENCED)
    assert not await bench.store.differences.correct(differs.remedy, UNFENCED)
    assert await bench.row() == moved


async def test_what_nothing_holds_any_more_is_free_again(bench: Bench) -> None:
    row = await bench.row()
    await bench.store.differences.correct(RowCorrection(row, row.holding(Decimal(5))), UNFENCED)
    assert await bench.rounds(bench.process(), 2) == ["hold_left"]
    assert await bench.row() == row


async def test_what_a_halt_left_goes_on_once_trading_does(bench: Bench) -> None:
    buy = await buy_sent(bench)
    halted = await bench.store.settings.change(SETTINGS.model_copy(update={"trading_state": "halted"}), 1, "test")
    await finish(bench, "buy", filled(buy, ONE))
    assert (await bench.arbitrage()).reason == "halted"
    bench.exchange.fill(filled(buy, ONE))
    bench.settings = halted
    assert await bench.rounds(bench.process(), 3) == []
    bench.settings = await bench.store.settings.change(
        halted.model_copy(update={"trading_state": "running"}), 2, "test"
    )
    assert await bench.rounds(bench.process(), 2) == ["resumable_after_halt"]
    assert (await bench.arbitrage()).state == "single_leg"


async def test_what_a_halt_left_of_a_cycle_goes_on_once_trading_does() -> None:
    bench = await bench_with_cycle()
    store, running = bench.store, bench.settings
    bench.settings = await store.settings.change(running.model_copy(update={"trading_state": "halted"}), 1, "test")
    [trade] = await store.open_cycles()
    for order, share in zip(trade.orders, (1, 1, 0), strict=True):
        report = report_on(order, order.amount * share)
        bench.exchange.fills += [AccountFill(fill, report.exchange_order_id) for fill in report.fills]
        await store.report_order(result_of(trade.trade_id, order.leg, report), UNFENCED)
    assert (await store.book_cycle(trade.trade_id, UNFENCED)).reason == "halted"
    bench.exchange.owned = {row.currency: row.free for row in await store.balances.rows()}
    assert await bench.rounds(bench.process(), 3) == []
    bench.settings = await store.settings.change(running, 2, "test")
    assert await bench.rounds(bench.process(), 2) == ["resumable_after_halt"]
    assert [one.state for one in await store.open_cycles()] == ["single_leg"]


async def test_what_is_traded_away_long_after_it_began_is_no_strangers(bench: Bench) -> None:
    buy = await buy_sent(bench, "0")
    halted = await bench.store.settings.change(SETTINGS.model_copy(update={"trading_state": "halted"}), 1, "test")
    bench.exchange.fill(filled(buy, ONE))
    await finish(bench, "buy", filled(buy, ONE))
    process = bench.process()
    assert await bench.rounds(process, 2) == []
    for _ in range(3):
        bench.clock.time += 60 * MINUTE
        assert await bench.rounds(process, 1) == []
        # from then on it is older than what the exchange is asked for
        bench.exchange.fills.clear()
    await bench.store.settings.change(halted.model_copy(update={"trading_state": "running"}), 2, "test")
    assert await bench.store.resume(ID, advancing(MARKETS), UNFENCED)
    flatten = await granted(bench.store, ID, "flatten")
    bench.exchange.fill(filled(flatten))
    await finish_leg(bench.store, ID, "flatten", filled(flatten), advancing(MARKETS), UNFENCED)
    assert await bench.rounds(process, 4) == []


async def test_who_was_replaced_mends_nothing(bench: Bench) -> None:
    lease = await bench.store.leases.acquire("alpha", "first")
    assert lease is not None
    await bench.store.leases.release(lease)
    await bench.store.leases.acquire("alpha", "second")
    bench.exchange.owned["USD"] += CENT
    process = bench.process(lease.actor)
    with pytest.raises(FencedOutError):
        await process.round()
    assert (await bench.row()).free == OPENING["alpha"]["USD"]
    assert await bench.stored() == []


async def test_the_next_process_goes_on_where_the_last_one_was(bench: Bench) -> None:
    await bench.rounds(bench.process(), 2)
    noted = await bench.store.differences.compared_until("alpha")
    assert noted == START + 15_000_000
    bench.clock.time += 30 * MINUTE
    await bench.process().round()
    assert bench.exchange.since == noted - 2 * OVERLAP
    bench.clock.time += 3 * 24 * 60 * MINUTE
    await bench.process().round()
    assert bench.exchange.since == bench.clock.time - 24 * 60 * MINUTE - OVERLAP


async def test_after_a_person_sold_everything_nothing_is_sized_by_what_is_gone(bench: Bench) -> None:
    """The ledger had kept ten for eight rounds, and a sell was granted."""
    bench.exchange.owned["USD"] -= 900
    process = bench.process()
    await bench.rounds(process, 1)
    row = await bench.row()
    assert (row.free, row.usable) == (OPENING["alpha"]["USD"], OPENING["alpha"]["USD"] - 900)
    assert await bench.reduce_only() == []
    small = await bench.store.reserve(request("2"), UNFENCED)
    assert small.arbitrage is not None
    assert small.arbitrage.legs[0].held <= row.usable
    for role in SIDES:
        await finish_leg(bench.store, ID, role, None, close, UNFENCED)
    assert await bench.rounds(process, 1) == ["balance_unexplained"]
    assert await bench.reduce_only() == ["alpha"]
    second = opportunity("opportunity-2", sequence=2)
    bench.clock.time += MINUTE
    rejected = await bench.store.reserve(request("2", second), UNFENCED)
    assert (rejected.arbitrage, rejected.rejection) == (None, "unexplained_difference")


@pytest.mark.parametrize("verdict", ["acknowledged", "withdrawal"])
async def test_settled_it_is_in_the_books_to_the_last_digit_and_trading_goes_on(
    bench: Bench, verdict: PersonsVerdict
) -> None:
    bench.exchange.owned["USD"] -= Decimal("899.99999999")
    process = bench.process()
    await bench.rounds(process, 2)
    [found] = await bench.store.differences.stored()
    settled = await bench.store.differences.settle(found.difference_id, verdict, "owner")
    assert settled is not None
    assert (settled.settled, settled.settled_by, settled.booked) == (verdict, "owner", Decimal("-899.99999999"))
    assert (await bench.row()).free == bench.exchange.owned["USD"]
    # exposure is measured from what is left on purpose
    opening, _ = await bench.store.balances.of_session()
    assert opening["alpha"]["USD"] == bench.exchange.owned["USD"]
    assert await bench.reduce_only() == []
    assert await bench.rounds(process, 3) == []
    bench.clock.time += MINUTE
    assert (await bench.store.reserve(request("2"), UNFENCED)).arbitrage is not None


async def test_the_same_again_is_another_difference(bench: Bench) -> None:
    process = bench.process()
    for change in (-100, 100, -100):
        bench.exchange.owned["USD"] += change
        assert await bench.rounds(process, 2) == ["balance_unexplained"]
        assert await bench.reduce_only() == ["alpha"]
        [found] = [one for one in await bench.store.differences.stored() if one.is_open]
        await bench.store.differences.settle(found.difference_id, "acknowledged", "owner")
        assert (await bench.row()).free == bench.exchange.owned["USD"]
        assert await bench.reduce_only() == []


async def test_a_balance_that_is_ours_again_needs_nobody(bench: Bench) -> None:
    """A machine of the exchange that lagged behind, or a person who undid what they had done."""
    bench.exchange.owned["USD"] -= 100
    process = bench.process()
    assert await bench.rounds(process, 2) == ["balance_unexplained"]
    bench.exchange.owned["USD"] += 100
    await bench.rounds(process, 1)
    assert await bench.reduce_only() == []
    [found] = await bench.store.differences.stored()
    assert (found.settled, found.booked) == ("explained", Decimal(0))
    assert (await bench.row()).usable == OPENING["alpha"]["USD"]


async def test_a_strangers_fill_waits_for_a_person_also_where_its_balances_are_settled(bench: Bench) -> None:
    bench.exchange.fill(fill_of_a_stranger())
    process = bench.process()
    await bench.rounds(process, 2)
    found = {one.subject: one for one in await bench.store.differences.stored()}
    for currency in ("BTC", "USD"):
        await bench.store.differences.settle(found[currency].difference_id, "acknowledged", "owner")
    assert await bench.reduce_only() == ["alpha"]
    with pytest.raises(CannotSettleError, match="only a balance can be adopted"):
        await bench.store.differences.settle(found["strange"].difference_id, "deposit", "owner")
    await bench.store.differences.settle(found["strange"].difference_id, "acknowledged", "owner")
    assert await bench.reduce_only() == []
    # listed for a while yet, and known by now
    await bench.rounds(process, 3)
    assert await bench.reduce_only() == []


async def test_what_a_lagging_machine_showed_is_explained_without_anybody(bench: Bench) -> None:
    """Every kind but a stranger's fill, which was there: that was reduce-only until a person came."""
    bench.exchange.orders = [resting("lagging")]
    process = bench.process()
    assert await bench.rounds(process, 2) == ["order_foreign"]
    assert await bench.reduce_only() == ["alpha"]
    bench.exchange.orders = []
    await bench.rounds(process, 1)
    assert await bench.reduce_only() == []
    # it was there after all
    bench.exchange.orders = [resting("lagging")]
    await bench.rounds(process, 2)
    assert await bench.reduce_only() == ["alpha"]


async def test_a_fill_that_is_listed_again_much_later_is_explained(bench: Bench) -> None:
    buy = await buy_sent(bench, sold="2")
    report = filled(buy, Decimal(2))
    bench.exchange.fill(report)
    await finish(bench, "buy", report)
    bench.exchange.fills, listed = [], bench.exchange.fills
    process = bench.process()
    bench.clock.time += 1_000_000
    assert await bench.rounds(process, 2) == ["fill_not_listed"]
    await bench.rounds(bench.process(), 40)
    assert await bench.reduce_only() == ["alpha"]
    bench.exchange.fills = listed
    await bench.rounds(bench.process(), 1)
    assert await bench.reduce_only() == []


async def test_a_strangers_fill_is_not_explained_by_its_age(bench: Bench) -> None:
    bench.exchange.fill(fill_of_a_stranger())
    process = bench.process()
    await bench.rounds(process, 2)
    bench.exchange.fills = []
    await bench.rounds(process, 60)
    assert {one.kind for one in await bench.store.differences.open_at("alpha")} >= {"fill_foreign"}


async def test_rounding_in_each_round_never_adds_up(bench: Bench) -> None:
    """While orders are sent no two rounds see the same totals, so that what waits to be seen twice is never healed."""
    process = bench.process()
    for _ in range(50):
        bench.exchange.owned["USD"] -= Decimal("0.01")
        await bench.rounds(process, 1)
    assert (await bench.row()).free == bench.exchange.owned["USD"]
    assert await bench.reduce_only() == []


async def test_what_a_crash_left_open_is_explained_in_the_next_round(bench: Bench) -> None:
    """Between the row that says that nothing is unexplained, and the difference."""
    bench.exchange.owned["USD"] -= 100
    await bench.rounds(bench.process(), 2)
    process = bench.process()
    await process.round()
    row = await bench.row()
    assert row.unexplained == -100
    await bench.store.differences.correct(RowCorrection(row, replace(row, unexplained=Decimal(0))), UNFENCED)
    bench.exchange.owned["USD"] += 100
    await bench.rounds(bench.process(), 1)
    assert await bench.reduce_only() == []


async def test_what_nobody_trades_here_stops_nothing(bench: Bench) -> None:
    process = bench.process()
    process.rules = ReportRules({(one.exchange, one.symbol): one for one in MARKETS})
    bench.exchange.owned |= {"USD.F": Decimal("0.001"), "AIRDROP": Decimal(10**6)}
    assert await bench.rounds(process, 3) == ["balance_differs"] * 2
    assert await bench.reduce_only() == []
    assert (await bench.row("AIRDROP")).free == 10**6
