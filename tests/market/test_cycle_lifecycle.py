"""Trades on cycles: reserved at the size of an exact solver, and whatever fills, the books agree and nothing is left
that could be traded back."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from market.decide.settings import Settings
from market.instruments.orders import OrderReport, changes_of
from market.money import EXACT, decimal_of_whole, floor_to_step, total
from market.trade.cycle_lifecycle import cycle_booked
from market.trade.cycle_profit import cycle_profit
from market.trade.cycle_reservations import CycleRows, cycle_reserved
from market.trade.cycle_trades import CycleTrade
from market.trade.lifecycle import IllegalStepError
from market.trade.order_results import result_of
from market.trade.reservation_state import PairRow, fill_key
from tests.market.cycle_samples import NOW, RICH, Case, case_of, report_on, settings_of, triangle
from tests.market.cycle_solver import best_by_first_leg, random_cycle, worth


def begun(case: Case) -> CycleRows:
    rows, reason = cycle_reserved(case.rows, case.request)
    assert reason is None
    return rows


def trade_of(rows: CycleRows) -> CycleTrade:
    assert rows.trade is not None
    return rows.trade


def filled(rows: CycleRows, name: str, share: str = "1", price: str | None = None) -> CycleRows:
    """Book that this share of an order filled."""
    order = trade_of(rows).order(name)
    assert order is not None
    amount = floor_to_step(order.amount * Decimal(share), order.market.lot_step)
    return booked(rows, name, report_on(order, amount, None if price is None else Decimal(price)))


def booked(rows: CycleRows, name: str, report: OrderReport | None, unresolved: str | None = None) -> CycleRows:
    """Book what became of an order; the ledger has the fills that were booked before."""
    leg = trade_of(rows).leg(name)
    assert leg is not None
    known = frozenset(fill_key(fill) for fill in rows.booked)
    return cycle_booked(replace(rows, known_fills=known), (result_of("found", leg, report, unresolved),))


def names_of(rows: CycleRows, state: str) -> list[str]:
    return [order.name for order in trade_of(rows).orders if order.state == state]


def moved(before: CycleRows, after: CycleRows) -> dict[tuple[str, str], Decimal]:
    """Return what the balance rows hold more than before, free and held."""
    return {
        place: row.free + row.held - before.balance(*place).free - before.balance(*place).held
        for place, row in after.balances.items()
    }


def booked_moves(trade: CycleTrade) -> dict[tuple[str, str], Decimal]:
    sums: dict[tuple[str, str], Decimal] = {}
    for order in trade.orders:
        for fill in order.fills:
            for currency, change in changes_of(fill, order.market.base, order.market.quote_currency):
                place = fill.exchange, currency
                sums[place] = EXACT.add(sums.get(place, Decimal(0)), change)
    return sums


def assert_over(case: Case, rows: CycleRows) -> None:
    """Assert that the books agree with the fills, nothing is held or counted any more, and parts sum to the net."""
    trade = trade_of(rows)
    moves = booked_moves(trade)
    assert all(change == moves.get(place, 0) for place, change in moved(case.rows, rows).items())
    assert {place for place, change in moves.items() if change} <= rows.balances.keys()
    assert all(row.held == 0 for row in rows.balances.values())
    assert (rows.open_arbitrages, rows.on_cycle.arbitrage_id) == (0, None)
    assert all(amount == 0 for amount in rows.notional.values())
    assert {fill.fill_id for fill in rows.booked} == {order.client_order_id for order in trade.orders if order.fills}
    assert len({order.client_order_id for order in trade.orders}) == len(trade.orders)
    assert trade.profit is not None
    parts = trade.profit.parts
    assert sum(amount for part, amount in parts.items() if part != "net") == parts["net"] == rows.day_net
    assert sum(share.net for share in trade.profit.shares) == parts["net"]


def test_all_legs_that_have_their_balance_go_at_once_and_close() -> None:
    case = triangle()
    rows = begun(case)
    trade = trade_of(rows)
    assert [order.amount for order in trade.orders] == [Decimal("0.3"), Decimal(6), Decimal(6)]
    assert names_of(rows, "granted") == ["leg1", "leg2", "leg3"]
    assert [order.held for order in trade.orders] == [Decimal(12_000), Decimal("0.3"), Decimal(6)]
    assert (rows.open_arbitrages, rows.notional["total"], rows.notional["base|BTC"]) == (
        1,
        Decimal(12_000),
        Decimal(12_000),
    )
    for name in ("leg1", "leg2", "leg3"):
        rows = filled(rows, name)
    assert_over(case, rows)
    over = trade_of(rows)
    assert (over.state, over.reason) == ("closed", None)
    assert over.profit is not None
    assert (over.profit.net, over.profit.gross) == (Decimal(120), Decimal(120))
    assert over.flows == {"USD": 120, "BTC": 0, "ETH": 0}


def test_a_leg_without_its_balance_waits_for_the_one_before_and_takes_what_that_brought() -> None:
    case = triangle({("alpha", "USD"): RICH})
    rows = begun(case)
    assert (names_of(rows, "granted"), names_of(rows, "waiting")) == (["leg1"], ["leg2", "leg3"])
    rows = filled(rows, "leg1", "0.5")
    assert (names_of(rows, "granted"), names_of(rows, "waiting")) == (["leg2"], ["leg3"])
    assert [order.amount for order in trade_of(rows).orders] == [Decimal("0.3"), Decimal(3), Decimal(6)]
    rows = filled(filled(rows, "leg2"), "leg3")
    assert_over(case, rows)
    # every leg went through to a half: nothing is left to complete
    assert (trade_of(rows).state, len(trade_of(rows).orders)) == ("closed", 3)
    assert trade_of(rows).flows == {"USD": 60, "BTC": 0, "ETH": 0}


def test_nothing_follows_a_leg_that_brought_nothing() -> None:
    case = triangle({("alpha", "USD"): RICH})
    rows = filled(begun(case), "leg1", "0")
    assert names_of(rows, "not_sent") == ["leg2", "leg3"]
    assert (trade_of(rows).state, trade_of(rows).reason) == ("unfilled", "nothing_filled")
    assert_over(case, rows)


@pytest.mark.parametrize(
    ("policy", "completes", "orders", "state", "reason"),
    [
        ("complete", True, ["complete3"], "closed", None),
        ("complete", False, ["complete3", "reverse1", "reverse2"], "unwound", "reversed"),
        ("reverse", False, ["reverse1", "reverse2"], "unwound", "reversed"),
        ("hold", False, [], "residual", "single_leg_left"),
    ],
)
def test_a_leg_that_fails_is_completed_or_the_others_are_taken_back(
    policy: str, completes: bool, orders: list[str], state: str, reason: str | None
) -> None:
    case = triangle(single_leg_policy=policy)
    rows = filled(filled(filled(begun(case), "leg1"), "leg2"), "leg3", "0")
    while names_of(rows, "granted"):
        name = names_of(rows, "granted")[0]
        rows = filled(rows, name, "1" if completes or name.startswith("reverse") else "0")
    over = trade_of(rows)
    assert [order.name for order in over.orders[3:]] == orders
    assert (over.state, over.reason) == (state, reason)
    assert_over(case, rows)
    if state == "unwound":
        assert over.profit is not None
        # 0.3 BTC are sold again 50 bps lower; 6 ETH bring 0.2985 BTC, and the rest counts at what it was sold for
        assert (over.profit.gross, over.profit.unwinding) == (Decimal(0), over.profit.net)
        assert over.profit.net < -100


def test_what_was_sold_without_having_been_bought_is_no_gain() -> None:
    case = triangle(single_leg_policy="hold")
    rows = filled(filled(filled(begun(case), "leg1", "0"), "leg2", "0"), "leg3")
    over = trade_of(rows)
    assert over.state == "residual"
    assert over.profit is not None
    assert over.profit.net == 0


def test_a_halt_leaves_what_is_open_as_it_is() -> None:
    case = triangle()
    rows = filled(filled(begun(case), "leg1"), "leg2")
    halted = rows.settings.model_copy(update={"trading_state": "halted"})
    rows = filled(replace(rows, settings=halted), "leg3", "0")
    assert (trade_of(rows).state, trade_of(rows).reason) == ("residual", "halted")
    assert_over(case, rows)


def test_an_order_ends_once() -> None:
    rows = filled(begun(triangle()), "leg1")
    assert filled(rows, "leg1").trade is rows.trade
    result = result_of("found", trade_of(rows).orders[0].leg, None)
    with pytest.raises(IllegalStepError, match="has no order complete1"):
        cycle_booked(rows, (replace(result, role="complete1"),))
    with pytest.raises(IllegalStepError, match="no such trade"):
        cycle_booked(replace(rows, trade=None), (result,))


def test_the_same_cycle_is_not_begun_twice() -> None:
    case = triangle()
    rows = begun(case)
    again, reason = cycle_reserved(replace(rows, trade=None), replace(case.request, trade_id="another"))
    assert (again.trade, reason) == (None, "cycle_busy")
    assert cycle_reserved(rows, case.request) == (rows, None)


Change = Callable[[CycleRows], CycleRows]


def with_settings(**changes: object) -> Change:
    def changed(rows: CycleRows) -> CycleRows:
        return replace(rows, settings=Settings.model_validate(rows.settings.model_dump() | changes))

    return changed


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (with_settings(trading_state="halted"), "halted"),
        (with_settings(trading_state="reduce_only"), "reduce_only"),
        (with_settings(enabled_exchanges=("beta",)), "exchange_disabled"),
        (with_settings(disabled_assets=("ETH",)), "asset_disabled"),
        (with_settings(min_net_bps=51.0), "below_threshold"),
        (with_settings(cycle_thresholds={"alpha": 51.0}), "below_threshold"),
        (with_settings(cycle_notionals={"alpha": "0.001"}), "limit_reached"),
        (with_settings(quarantine_ceiling_bps=49.0), "quarantined"),
        (lambda rows: replace(rows, reservations_open=False), "stopping"),
        (lambda rows: replace(rows, day_net=Decimal(-1_000)), "daily_loss"),
        (lambda rows: replace(rows, paused_until={"alpha": NOW + 1}), "exchange_paused"),
        (lambda rows: replace(rows, unexplained=("alpha",)), "unexplained_difference"),
        (lambda rows: replace(rows, open_arbitrages=4), "too_many_open"),
        (lambda rows: replace(rows, on_cycle=PairRow("other", 0)), "cycle_busy"),
        (lambda rows: replace(with_settings(cool_down_ms=1)(rows), on_cycle=PairRow(None, NOW - 999)), "cooling_down"),
        (lambda rows: replace(rows, notional={"total": Decimal(10_000_000)}), "total_limit"),
        (lambda rows: replace(rows, notional={"base|ETH": Decimal(10_000_000)}), "asset_limit"),
        (lambda rows: replace(rows, notional={"exchange|alpha": Decimal(10_000_000)}), "exchange_limit"),
        (lambda rows: replace(rows, notional={"base|ETH": Decimal("9999999.99")}), "asset_limit"),
        (lambda rows: replace(rows, liquidity={"alpha:ETH/USD:1|sell": Decimal(6)}), "liquidity_used"),
        (lambda rows: replace(rows, balances={}), "insufficient_balance"),
    ],
)
def test_each_limit_rejects_with_its_reason(change: Change, reason: str) -> None:
    case = triangle()
    rows = change(case.rows)
    assert cycle_reserved(rows, case.request) == (rows, reason)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"worth": {}}, "no_rate"),
        ({"drift": {"BTC": Decimal(10_000_000)}}, "exposure"),
        ({"legs_left": {"alpha": 2}}, "rate_budget"),
    ],
)
def test_what_is_known_of_the_moment_rejects_too(changes: dict[str, object], reason: str) -> None:
    case = triangle()
    assert cycle_reserved(case.rows, replace(case.request, **changes)) == (case.rows, reason)  # type: ignore[arg-type] # a table


def test_what_others_took_of_a_quote_is_not_there() -> None:
    case = triangle()
    rows, _ = cycle_reserved(replace(case.rows, liquidity={"alpha:ETH/USD:1|sell": Decimal(2)}), case.request)
    assert [order.amount for order in trade_of(rows).orders] == [Decimal("0.2"), Decimal(4), Decimal(4)]
    assert rows.liquidity["alpha:ETH/USD:1|sell"] == 6


def test_a_cycles_own_size_and_threshold_hold_in_place_of_the_general_ones() -> None:
    case = triangle(
        max_notional=1_000, min_net_bps=90.0, cycle_thresholds={"alpha": 40.0}, cycle_notionals={"alpha": 8_000}
    )
    trade = trade_of(begun(case))
    assert (trade.threshold, trade.most) == ((40.0, "within alpha"), (Decimal(8_000), "within alpha"))
    assert trade.notional == 8_000


def test_limits_cap_what_the_first_leg_gives() -> None:
    case = triangle()
    rows, _ = cycle_reserved(replace(case.rows, notional={"base|ETH": Decimal(10_000_000 - 4_000)}), case.request)
    assert trade_of(rows).notional == 4_000


def random_case(seed: int) -> Case:
    sides, bounds = random_cycle(seed, 40)
    random = Random(seed)
    own = settings_of(
        min_net_bps=float(bounds.least_bps),
        max_slippage_bps=bounds.slack_bps,
        single_leg_policy=random.choice(("complete", "complete", "reverse", "hold")),
        single_leg_limit_bps=random.choice((0.0, 50.0)),
        **({} if bounds.most_given is None else {"max_notional": bounds.most_given}),
    )
    case = case_of(sides, own)
    if random.random() < 0.5:
        # nothing lies where the leg before brings it
        case = case_of(sides, own, dict.fromkeys(case.request.cycle.needs, RICH))
    return case


@given(st.integers(0, 10**9))
@settings(max_examples=200, deadline=None)
def test_sizes_are_those_of_the_exact_solver(seed: int) -> None:
    case = random_case(seed)
    rows, reason = cycle_reserved(case.rows, case.request)
    best = best_by_first_leg(case.sides, case.bounds)
    if reason is None:
        assert best == worth(trade_of(rows).planned, case.bounds) >= 0
    else:
        assert reason in ("too_small", "below_threshold", "limit_reached", "insufficient_balance")
        assert best is None or best <= 0


@given(st.integers(0, 10**9), st.randoms(use_true_random=False), st.sampled_from(("all", "some", "none", "any")))
@settings(max_examples=200, deadline=None)
def test_the_books_agree_whatever_fills_and_in_whatever_order(seed: int, random: Random, filling: str) -> None:
    case = random_case(seed)
    rows, reason = cycle_reserved(case.rows, case.request)
    if reason is not None:
        return
    while names := names_of(rows, "granted"):
        name = random.choice(names)
        order = trade_of(rows).order(name)
        assert order is not None
        assert order.step != "leg" or order.amount <= trade_of(rows).planned.legs[order.number].amount
        lots = int(order.amount / order.market.lot_step)
        share = {"all": lots, "none": 0, "some": random.randint(0, lots), "any": random.choice((0, lots))}[filling]
        amount = EXACT.multiply(decimal_of_whole(share), order.market.lot_step)
        rows = booked(rows, name, report_on(order, amount))
    over = trade_of(rows)
    assert not over.is_open
    assert all(order.is_final for order in over.orders)
    assert_ended(case, rows, filling)


def assert_ended(case: Case, rows: CycleRows, filling: str) -> None:
    over = trade_of(rows)
    assert over.profit == cycle_profit(over)
    assert over.profit is not None
    moves = booked_moves(over)
    assert all(change == moves.get(place, 0) for place, change in moved(case.rows, rows).items())
    assert all(row.held == 0 for row in rows.balances.values())
    assert (rows.open_arbitrages, rows.on_cycle.arbitrage_id) == (0, None)
    assert all(amount == 0 for amount in rows.notional.values())
    assert total(share.net for share in over.profit.shares) == over.profit.net == rows.day_net
    if filling == "none":
        assert over.state == "unfilled"
        assert over.profit.net == 0
    if filling == "all":
        assert over.state == "closed"
        assert over.shares == (Fraction(1),) * len(over.cycle.legs)
        # at their limits, fills bring no more than planned
        assert over.flows[over.cycle.currency] <= over.planned.profit
