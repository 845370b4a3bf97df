"""What an exchange reported falsely is replaced by what it lists: fill, leg, arbitrage and balances in one step."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.accounting.differences import RowCorrection
from market.instruments.orders import Fill, OrderReport
from market.money import Amount, total
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.leases import UNFENCED
from market.trade.order_results import OrderResult, result_of
from market.trade.unwinding import advancing
from store.ports.trading import TradeStore
from tests.market.samples import MARKETS
from tests.store.booking import finish_leg
from tests.store.reservation_requests import filled, granted, leg_of, open_books, reserved

ID = "opportunity-1"
ADVANCE = advancing(MARKETS)


async def closed(store: TradeStore) -> Leg:
    """Return the buy of an arbitrage that closed with both legs filled, as it was reported."""
    await open_books(store)
    await reserved(store, amount="2")
    buy, sell = await granted(store, ID, "buy"), await granted(store, ID, "sell")
    await finish_leg(store, ID, "sell", filled(sell), ADVANCE, UNFENCED)
    ended = await finish_leg(store, ID, "buy", filled(buy), ADVANCE, UNFENCED)
    assert ended.state == "closed"
    return leg_of(ended, "buy")


def restating(leg: Leg, *fills: Fill) -> OrderResult:
    report = OrderReport(str(leg.exchange_order_id), True, Amount(total(fill.amount for fill in fills)), fills)
    return replace(result_of(ID, leg, report), instead_of=leg.fills)


async def book(store: TradeStore, result: OrderResult) -> Arbitrage:
    await store.report_order(result, UNFENCED)
    return await store.book(ID, ADVANCE, UNFENCED)


async def free(store: TradeStore, currency: str) -> Decimal:
    return next(row.free for row in await store.balances.rows() if (row.exchange, row.currency) == ("alpha", currency))


async def bought(store: TradeStore) -> list[Fill]:
    return [fill for fill in await store.fills() if fill.exchange == "alpha"]


def half(fill: Fill) -> Fill:
    return replace(fill, amount=Amount(fill.amount / 2), cost=fill.cost / 2, fee=fill.fee / 2)


async def test_the_arbitrage_is_open_again_and_what_is_left_is_unwound(store: TradeStore) -> None:
    leg = await closed(store)
    [fill] = leg.fills
    opening, _ = await store.balances.of_session()
    ended = await store.arbitrage(ID)
    assert ended is not None
    again = await book(store, restating(leg, half(fill)))
    assert await bought(store) == [half(fill)]
    assert leg_of(again, "buy").fills == (half(fill),)
    assert (again.state, again.reason, again.profit) == ("single_leg", "fill_restated", None)
    flatten = leg_of(again, "flatten")
    assert (flatten.side, flatten.amount, flatten.state) == ("buy", Decimal(1), "granted")
    steps = [step.what for step in again.history[len(ended.history) :]]
    assert steps == ["buy restated", "flatten granted", "single_leg"]
    assert await free(store, "BTC") == Decimal(1)
    assert await free(store, "USD") == Decimal(1_000) - half(fill).cost - half(fill).fee
    assert (await store.balances.of_session())[0] == opening
    assert await store.open_arbitrages() == [again]
    unwound = await finish_leg(store, ID, "flatten", filled(flatten), ADVANCE, UNFENCED)
    assert unwound.state == "unwound"


async def test_it_is_restated_once_and_only_from_what_was_compared(store: TradeStore) -> None:
    leg = await closed(store)
    [fill] = leg.fills
    cheaper = replace(fill, cost=fill.cost - 1)
    first = restating(leg, cheaper)
    after = await book(store, first)
    assert (after.state, leg_of(after, "buy").fills) == ("closed", (cheaper,))
    assert after.profit is not None
    # compared before that was booked
    assert await book(store, first) == after
    assert await book(store, restating(leg, half(fill))) == after
    assert await store.order_results() == []
    assert await bought(store) == [cheaper]
    assert await free(store, "USD") == Decimal(1_000) - cheaper.cost - cheaper.fee


async def test_fills_that_never_were_go_and_others_come(store: TradeStore) -> None:
    leg = await closed(store)
    [fill] = leg.fills
    one, other = replace(half(fill), fill_id="one"), replace(half(fill), fill_id="other")
    await book(store, restating(leg, one, other))
    assert sorted(await bought(store), key=lambda each: each.fill_id) == [one, other]
    assert await free(store, "BTC") == Decimal(2)
    known = leg_of(await store.arbitrage(ID), "buy")
    await book(store, restating(known))
    assert await bought(store) == []
    assert await free(store, "BTC") == Decimal(0)


async def test_a_fill_that_another_leg_has_is_not_taken_from_it(store: TradeStore) -> None:
    leg = await closed(store)
    sold = leg_of(await store.arbitrage(ID), "sell").fills
    before = await store.arbitrage(ID)
    assert await book(store, restating(leg, *leg.fills, *sold)) == before
    assert len(await store.fills()) == 2


@pytest.mark.parametrize("unexplained", ["-50", "-150", "50"])
async def test_it_explains_what_was_unexplained(store: TradeStore, unexplained: str) -> None:
    """As far as that goes; the next comparison says the rest."""
    leg = await closed(store)
    dearer = replace(leg.fills[0], cost=leg.fills[0].cost + 50)
    row = next(one for one in await store.balances.rows() if (one.exchange, one.currency) == ("alpha", "USD"))
    marked = replace(row, unexplained=Decimal(unexplained))
    assert await store.differences.correct(RowCorrection(row, marked), UNFENCED)
    await book(store, restating(leg, dearer))
    after = next(one for one in await store.balances.rows() if (one.exchange, one.currency) == ("alpha", "USD"))
    assert after.free == row.free - 50
    assert after.unexplained == {"-50": 0, "-150": -100, "50": 50}[unexplained]
