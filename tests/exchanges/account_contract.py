"""What every trading account does, whatever is behind it. Inherit `AccountContract` and give it a `bench`."""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol

import pytest

from exchanges.errors import OrderRejectedError, OutcomeUnknownError
from exchanges.ports.account import TradingAccount
from exchanges.ports.orders import FILLS_MARGIN
from market.instruments.fees import fee_currency
from market.instruments.markets import Market
from market.instruments.orders import OrderReport, Side
from market.money import Amount, Price, floor_to_step, total
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.exchanges.balancing import balances_after
from tests.exchanges.served import order_on

SIDES: tuple[Side, ...] = ("buy", "sell")


class Bench(Protocol):
    """A funded account on a market whose book stands still while the account trades."""

    @property
    def account(self) -> TradingAccount: ...

    @property
    def market(self) -> Market: ...

    def best(self, side: Side) -> tuple[Price, Amount]:
        """Best bid ("buy") or ask ("sell") with the amount there, as the exchange first showed it."""
        ...

    @property
    def keeps_client_ids(self) -> bool:
        """Whether an id is taken for ever. The others free it with the end of its order, or know none."""
        ...

    def reopened(self) -> AbstractAsyncContextManager[TradingAccount]:
        """Return the same account as another process sees it, or this one after a crash."""
        ...


@dataclass(frozen=True)
class Trade:
    before: dict[str, Decimal]
    report: OrderReport
    after: dict[str, Decimal]


class AccountContract:
    @pytest.fixture
    def bench(self) -> Bench:
        raise NotImplementedError("a test class of an account brings its own bench")

    @pytest.mark.parametrize("side", ["buy", "sell"])
    async def test_fills_whole_within_the_limit(self, bench: Bench, side: Side) -> None:
        market, limit = bench.market, _limit(bench, side, "0.002")
        trade = await _traded(bench, side, Decimal("0.5"), at_worst="0.002")
        assert trade.report.filled == sum(fill.amount for fill in trade.report.fills)
        for fill in trade.report.fills:
            assert (fill.exchange, fill.symbol, fill.side) == (market.exchange, market.symbol, side)
            assert fill.price <= limit if side == "buy" else fill.price >= limit
            assert fill.fee > 0
            assert fill.fee_currency == fee_currency(market, side)

    @pytest.mark.parametrize("side", ["buy", "sell"])
    async def test_balances_follow_the_reported_fills(self, bench: Bench, side: Side) -> None:
        trade = await _traded(bench, side, Decimal("2.5"), at_worst="0.002")
        assert trade.report.fills
        assert trade.after == balances_after(trade.before, trade.report.fills)

    async def test_what_the_limit_keeps_out_is_not_filled(self, bench: Bench) -> None:
        price, amount = bench.best("sell")
        order = order_on(bench.market, "buy", amount + 1, price)
        before = await bench.account.balances()
        report = await bench.account.place(order)
        assert report.is_final
        assert report.filled == amount
        assert {fill.price for fill in report.fills} == {price}
        assert await bench.account.balances() == balances_after(before, report.fills)

    async def test_an_order_out_of_reach_ends_with_nothing(self, bench: Bench) -> None:
        price, amount = bench.best("buy")
        before = await bench.account.balances()
        report = await bench.account.place(order_on(bench.market, "buy", amount, price))
        assert report.is_final
        assert report.filled == 0
        assert not report.fills
        assert await bench.account.balances() == before

    @pytest.mark.parametrize("reach", ["0", "0.002"])
    async def test_looking_up_reports_what_placing_reported(self, bench: Bench, reach: str) -> None:
        price = _limit(bench, "buy", reach) if reach != "0" else bench.best("buy")[0]
        order = order_on(bench.market, "buy", bench.best("sell")[1], price)
        report = await bench.account.place(order)
        assert await bench.account.look_up(order) == report

    async def test_an_order_never_sent_is_not_found(self, bench: Bench) -> None:
        price, amount = bench.best("sell")
        await bench.account.place(order_on(bench.market, "buy", amount, price))
        assert await bench.account.look_up(order_on(bench.market, "sell", amount, price)) is None

    async def test_more_than_the_account_has_is_rejected(self, bench: Bench) -> None:
        before = await bench.account.balances()
        order = order_on(bench.market, "buy", Decimal(1_000), bench.best("sell")[0])
        with pytest.raises(OrderRejectedError):
            await bench.account.place(order)
        assert await bench.account.look_up(order) is None
        assert await bench.account.balances() == before

    @pytest.mark.parametrize("fault", ["below the least", "between two ticks", "between two lots", "nothing"])
    async def test_sizes_the_exchange_does_not_take_are_rejected(self, bench: Bench, fault: str) -> None:
        market, (price, amount) = bench.market, bench.best("sell")
        order = order_on(market, "buy", amount, price)
        wrong = {
            "below the least": replace(order, amount=Amount(market.lot_step)),
            "between two ticks": replace(order, price=Price(price + market.tick_size / 2)),
            "between two lots": replace(order, amount=Amount(amount + market.lot_step / 2)),
            "nothing": replace(order, amount=Amount(Decimal(0))),
        }[fault]
        with pytest.raises(OrderRejectedError):
            await bench.account.place(wrong)
        assert await bench.account.look_up(wrong) is None

    async def test_every_fill_has_its_own_id(self, bench: Bench) -> None:
        first = await _traded(bench, "buy", Decimal("1.5"), at_worst="0.002")
        second = await _traded(bench, "sell", Decimal("1.5"), at_worst="0.002")
        ids = [fill.fill_id for fill in (*first.report.fills, *second.report.fills)]
        assert len(set(ids)) == len(ids) >= 2
        assert first.report.exchange_order_id != second.report.exchange_order_id

    async def test_every_fill_is_listed_once_as_it_was_reported(self, bench: Bench) -> None:
        began = wall_now()
        trades = [await _traded(bench, side, Decimal("1.5"), at_worst="0.002") for side in SIDES]
        listed = await bench.account.fills_since(began)
        reported = {fill: trade.report.exchange_order_id for trade in trades for fill in trade.report.fills}
        assert {one.fill: one.exchange_order_id for one in listed} == reported
        assert len(listed) == len(reported)
        assert [one.fill.filled_at for one in listed] == sorted(fill.filled_at for fill in reported)

    async def test_fills_before_are_not_listed(self, bench: Bench) -> None:
        await _traded(bench, "buy", Decimal("1.5"), at_worst="0.002")
        assert await bench.account.fills_since(wall_now() + 10 * MICROSECONDS + FILLS_MARGIN) == []

    async def test_what_has_ended_does_not_rest(self, bench: Bench) -> None:
        await _traded(bench, "buy", Decimal("0.5"), at_worst="0.002")
        assert await bench.account.open_orders() == []

    @pytest.mark.parametrize("side", SIDES)
    async def test_what_was_taken_is_not_there_again(self, bench: Bench, side: Side) -> None:
        """Each level gives what it shows once, however many orders ask for it."""
        price, shown = bench.best("sell" if side == "buy" else "buy")
        part = floor_to_step(shown * Decimal("0.6"), bench.market.lot_step)
        orders = [order_on(bench.market, side, max(part, bench.market.minimum_amount), price) for _ in range(3)]
        reports = [await bench.account.place(order) for order in orders]
        assert reports[0].filled == orders[0].amount
        assert total(report.filled for report in reports) == shown
        assert reports[2].filled == 0

    async def test_orders_placed_at_once_share_what_is_there(self, bench: Bench) -> None:
        price, shown = bench.best("sell")
        amount = max(floor_to_step(shown / 2, bench.market.lot_step), bench.market.minimum_amount)
        orders = [order_on(bench.market, "buy", amount, price) for _ in range(4)]
        before = await bench.account.balances()
        reports = await asyncio.gather(*(bench.account.place(order) for order in orders))
        assert all(report.is_final for report in reports)
        assert total(report.filled for report in reports) == min(shown, 4 * amount)
        assert len({report.exchange_order_id for report in reports}) == 4
        fills = [fill for report in reports for fill in report.fills]
        assert await bench.account.balances() == balances_after(before, fills)

    async def test_another_process_finds_all_that_was_done(self, bench: Bench) -> None:
        """Nothing lives in the adapter: orders, fills, balances and the depth that is gone are the exchange's."""
        began = wall_now()
        price, shown = bench.best("sell")
        order = order_on(bench.market, "buy", shown, price)
        report = await bench.account.place(order)
        assert report.filled == shown
        async with bench.reopened() as later:
            assert await later.look_up(order) == report
            assert await later.balances() == await bench.account.balances()
            assert await later.fills_since(began) == await bench.account.fills_since(began)
            assert await later.open_orders() == []
            assert (await later.place(order_on(bench.market, "buy", shown, price))).filled == 0

    async def test_a_client_id_used_before_is_never_a_second_order(self, bench: Bench) -> None:
        """A rejection looks like the repeat of a lost answer, so it must be looked up."""
        if not bench.keeps_client_ids:
            pytest.skip("this exchange forgets ids")
        price, amount = bench.best("sell")
        order = order_on(bench.market, "buy", max(amount / 2, bench.market.minimum_amount), price)
        first = await bench.account.place(order)
        balances = await bench.account.balances()
        async with bench.reopened() as later:
            for account in (bench.account, later):
                with pytest.raises(OutcomeUnknownError):
                    await account.place(order)
                assert await account.look_up(order) == first
                assert await account.balances() == balances

    async def test_a_notional_below_the_least_is_rejected(self, bench: Bench) -> None:
        market = bench.market
        if market.minimum_notional == 0:
            pytest.skip("this market has no least notional")
        highest = market.minimum_notional / market.minimum_amount - market.tick_size
        price = floor_to_step(min(bench.best("buy")[0], highest), market.tick_size)
        order = order_on(market, "buy", market.minimum_amount, price)
        assert order.amount * order.price < market.minimum_notional
        with pytest.raises(OrderRejectedError, match="below the minimum"):
            await bench.account.place(order)
        assert await bench.account.look_up(order) is None

    @pytest.mark.parametrize("other", [{"symbol": "ETH/USD"}, {"exchange": "elsewhere"}])
    async def test_an_order_of_another_market_is_rejected(self, bench: Bench, other: dict[str, str]) -> None:
        price, amount = bench.best("sell")
        before = await bench.account.balances()
        order = order_on(bench.market, "buy", amount, price)
        elsewhere = replace(
            order, symbol=other.get("symbol", order.symbol), exchange=other.get("exchange", order.exchange)
        )
        with pytest.raises(OrderRejectedError, match=elsewhere.symbol):
            await bench.account.place(elsewhere)
        assert await bench.account.balances() == before


def _limit(bench: Bench, side: Side, at_worst: str) -> Decimal:
    price, _ = bench.best("sell" if side == "buy" else "buy")
    reach = 1 + Decimal(at_worst) if side == "buy" else 1 - Decimal(at_worst)
    return floor_to_step(price * reach, bench.market.tick_size)


async def _traded(bench: Bench, side: Side, share_of_best: Decimal, at_worst: str) -> Trade:
    """Trade a multiple of what the best level shows."""
    _, shown = bench.best("sell" if side == "buy" else "buy")
    amount = max(floor_to_step(shown * share_of_best, bench.market.lot_step), bench.market.minimum_amount)
    before = await bench.account.balances()
    report = await bench.account.place(order_on(bench.market, side, amount, _limit(bench, side, at_worst)))
    assert report.is_final
    assert report.filled == amount
    return Trade(before, report, await bench.account.balances())
