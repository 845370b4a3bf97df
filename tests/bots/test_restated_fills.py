"""An exchange reports an order falsely in a way that the order allows: booked at first, and taken back once its own
list and its balances say otherwise, whoever settled what before."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.reconcile.reconciler import MOST_RESTATING, Reconciliation
from exchanges.errors import ExchangeUnavailableError, OutcomeUnknownError
from market.instruments.orders import AccountFill, LimitOrder, OrderReport, changes_of
from market.money import Amount
from tests.bots.reconciling_bench import ID, Bench, buy_sent, finish, opened_bench
from tests.store.reservation_requests import OPENING, filled, leg_of

CURRENCIES = ("BTC", "USD")


def doubled(report: OrderReport) -> OrderReport:
    """Twice the amount and its cost, everywhere."""
    fills = tuple(replace(one, amount=Amount(2 * one.amount), cost=2 * one.cost) for one in report.fills)
    return replace(report, filled=Amount(2 * report.filled), fills=fills)


@dataclass
class Scene:
    """Half of a buy of two bitcoins filled on alpha, which reported it whole: the arbitrage closed."""

    bench: Bench
    true: OrderReport
    process: Reconciliation

    async def happens(self, event: str) -> None:
        exchange = self.bench.exchange
        match event:
            case "compares":
                await self._unwind()
                await self.bench.rounds(self.process, 1)
            case "lists it":
                exchange.fills = [AccountFill(fill, self.true.exchange_order_id) for fill in self.true.fills]
                exchange.looks = lambda _: self.true
            case "settles":
                for one in await self.bench.store.differences.open_at("alpha"):
                    await self.bench.store.differences.settle(one.difference_id, "acknowledged", "owner")
                self.bench.clock.time += 1_000_000
            case "withdraws":
                exchange.owned["USD"] -= 70
            case "a new process":
                self.process = self.bench.process()

    async def _unwind(self) -> None:
        """Fill what was granted meanwhile, on beta."""
        for leg in (await self.bench.arbitrage()).legs:
            if leg.state == "granted":
                await finish(self.bench, leg.role, filled(leg))

    async def are_books_the_account(self) -> bool:
        rows = [await self.bench.row(currency) for currency in CURRENCIES]
        exact = all(row.free + row.held == self.bench.exchange.owned[row.currency] for row in rows)
        return exact and all(row.unexplained == row.doubted == 0 for row in rows)

    async def by_entries(self) -> dict[str, Decimal]:
        """Return the session's opening balances, with what the orders moved."""
        opening, _ = await self.bench.store.balances.of_session()
        owned = dict(opening["alpha"])
        for fill in await self.bench.store.fills():
            if fill.exchange == "alpha":
                for currency, change in changes_of(fill, "BTC", "USD"):
                    owned[currency] += change
        return owned


async def scene(events: Sequence[str] = ()) -> Scene:
    bench = await opened_bench()
    buy = await buy_sent(bench)
    true = filled(buy, Decimal(1))
    bench.exchange.fill(true)
    # it lies in its list and of the order as well, at first
    told = doubled(true)
    bench.exchange.fills = [AccountFill(fill, told.exchange_order_id) for fill in told.fills]
    bench.exchange.looks = lambda _: told
    await finish(bench, "buy", told)
    assert (await bench.arbitrage()).state == "closed"
    bench.clock.time += 1_000_000
    stage = Scene(bench, true, bench.process())
    for event in events:
        await stage.happens(event)
    return stage


async def test_it_is_taken_back_before_anybody_is_asked() -> None:
    stage = await scene(("lists it", "compares"))
    assert await stage.bench.stored() == []
    # what it may not have is not counted on
    assert (await stage.bench.row("BTC")).usable == Decimal(1)
    await stage.happens("compares")
    assert await stage.bench.stored() == ["fill_restated healed"]
    assert await stage.are_books_the_account()
    again = await stage.bench.arbitrage()
    assert (again.state, leg_of(again, "buy").fills) == ("single_leg", stage.true.fills)
    assert leg_of(again, "flatten").amount == Decimal(1)
    assert (await stage.bench.store.balances.of_session())[0]["alpha"] == OPENING["alpha"]
    assert await stage.bench.reduce_only() == []


LATER = ("lists it", *["compares"] * 6)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (LATER, {"fill_restated"}),
        (("compares", *LATER), {"fill_restated", "balance_unexplained"}),
        (("compares", "compares", *LATER), {"fill_restated", "balance_unexplained"}),
        # a person was asked, since the exchange listed what it had reported
        (("compares", "compares", "settles", *LATER), {"fill_restated", "balance_unexplained", "settled_twice"}),
        (("lists it", "compares", "a new process", "compares", "compares"), {"fill_restated"}),
    ],
)
async def test_whoever_settled_what_the_books_are_the_account(events: tuple[str, ...], expected: set[str]) -> None:
    stage = await scene(events)
    assert {one.kind for one in await stage.bench.store.differences.stored()} <= expected
    assert "fill_restated healed" in await stage.bench.stored()
    assert ("settled_twice healed" in await stage.bench.stored()) == ("settled_twice" in expected)
    assert await stage.are_books_the_account()
    assert await stage.by_entries() == stage.bench.exchange.owned
    assert (await stage.bench.store.balances.of_session())[0]["alpha"] == OPENING["alpha"]
    assert await stage.bench.store.differences.open_at("alpha") == []


async def test_a_lagging_machine_takes_nothing_out() -> None:
    """Its list and its balances are of before the order for some minutes; orders work."""
    bench = await opened_bench()
    buy = await buy_sent(bench)
    await finish(bench, "buy", filled(buy))
    before = await bench.arbitrage()
    assert before.state == "closed"
    bench.clock.time += 1_000_000
    process = bench.process()
    await bench.rounds(process, 12)
    assert await bench.arbitrage() == before
    assert {one.kind for one in await bench.store.differences.open_at("alpha")} == {
        "fill_not_listed",
        "balance_unexplained",
    }
    assert await bench.reduce_only() == ["alpha"]
    # it catches up
    bench.exchange.fill(filled(buy))
    await bench.rounds(process, 2)
    assert await bench.arbitrage() == before
    assert await bench.store.differences.open_at("alpha") == []


async def test_what_is_not_booked_in_some_rounds_is_for_a_person() -> None:
    """Nobody decides, so the restatement is reported and not booked."""
    stage = await scene(("lists it",))
    for _ in range(MOST_RESTATING):
        await stage.process.round()
    assert await stage.bench.stored() == ["fill_restated healed"]
    assert await stage.bench.reduce_only() == []
    for _ in range(2):
        await stage.process.round()
    kinds = {one.kind for one in await stage.bench.store.differences.open_at("alpha")}
    assert kinds == {"fill_differs", "balance_unexplained"}
    assert await stage.bench.reduce_only() == ["alpha"]


@pytest.mark.parametrize("error", [ExchangeUnavailableError("busy"), OutcomeUnknownError("two orders match")])
async def test_an_order_in_question_that_is_not_answered_for_stays(error: Exception) -> None:
    def fails(_: LimitOrder) -> None:
        raise error

    stage = await scene(("lists it",))
    stage.bench.exchange.looks = fails
    for _ in range(3):
        await stage.happens("compares")
    assert "fill_restated healed" not in await stage.bench.stored()
    assert await stage.bench.reduce_only() == ["alpha"]
    await stage.happens("lists it")
    for _ in range(6):
        await stage.happens("compares")
    assert await stage.are_books_the_account()
    assert await stage.bench.store.differences.open_at("alpha") == []


async def test_what_the_balances_do_not_confirm_is_for_a_person() -> None:
    """A withdrawal at the same time."""
    stage = await scene(("withdraws", *LATER))
    kinds = {one.kind for one in await stage.bench.store.differences.open_at("alpha")}
    assert kinds == {"fill_differs", "balance_unexplained"}
    assert await stage.bench.reduce_only() == ["alpha"]
    assert leg_of(await stage.bench.store.arbitrage(ID), "buy").filled == Decimal(2)


@given(
    st.lists(
        st.sampled_from(["compares", "compares", "settles", "lists it", "withdraws", "a new process"]), max_size=10
    )
)
def test_in_any_order_the_books_are_the_account_in_the_end(events: list[str]) -> None:
    async def ends() -> None:
        stage = await scene((*events, "lists it"))
        for event in ("compares", "compares", "compares", "settles") * 4:
            await stage.happens(event)
        assert await stage.bench.store.differences.open_at("alpha") == []
        assert await stage.are_books_the_account()
        assert await stage.by_entries() == stage.bench.exchange.owned
        assert leg_of(await stage.bench.arbitrage(), "buy").fills in (stage.true.fills, doubled(stage.true).fills)

    asyncio.run(ends())
