"""What a session adds to trades on cycles: late, unknown and restated fills, halts, and exchanges without a bot."""

from dataclasses import replace
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from market.instruments.orders import OrderReport
from market.money import EXACT, Amount, decimal_of_whole
from market.trade import leg_lifecycle
from market.trade.cycle_lifecycle import WAIT_WITHIN, cycle_booked, cycle_resumed
from market.trade.cycle_reservations import CycleRows, cycle_reserved
from market.trade.leases import Actor, Lease
from market.trade.order_results import result_of
from market.trade.reservation_state import PairRow, fill_key
from tests.market.cycle_samples import NOW, RICH, report_on, triangle
from tests.market.test_cycle_lifecycle import (
    assert_over,
    begun,
    booked,
    booked_moves,
    filled,
    moved,
    names_of,
    random_case,
    trade_of,
)

UNPOSTED = OrderReport("", is_final=True, filled=Amount(Decimal(0)), fills=(), is_posted=False, reason="too late")
SECOND = 1_000_000


def whole(rows: CycleRows, name: str) -> OrderReport:
    order = trade_of(rows).order(name)
    assert order is not None
    return report_on(order, order.amount)


def unknown(rows: CycleRows, *names: str) -> CycleRows:
    """Book that the exchange does not know these orders."""
    for name in names:
        rows = booked(rows, name, None)
    return rows


def later(rows: CycleRows, seconds: float) -> CycleRows:
    return replace(rows, now=rows.now + round(seconds * SECOND))


def led(rows: CycleRows, *exchanges: str, token: int = 7) -> CycleRows:
    """Return the rows with a bot at these exchanges and at no other."""
    return replace(
        rows, leases={name: Lease(name, f"{name}-1", token, rows.now + SECOND, veto=None) for name in exchanges}
    )


def test_an_order_that_turns_up_after_the_end_opens_the_trade_and_is_flattened() -> None:
    case = triangle()
    over = unknown(begun(case), "leg1", "leg2", "leg3")
    assert (trade_of(over).state, over.open_arbitrages) == ("unfilled", 0)
    assert all("unconfirmed" in leg.times for leg in trade_of(over).legs)
    again = booked(over, "leg1", whole(over, "leg1"))
    assert (trade_of(again).state, trade_of(again).reason, again.open_arbitrages) == ("single_leg", "late_fill", 1)
    assert again.notional["total"] == trade_of(again).notional
    flatten = trade_of(again).order("flatten1")
    assert flatten is not None
    # further from the price seen than completing would be
    assert (flatten.state, flatten.side, flatten.amount, flatten.limit_price) == (
        "granted",
        "sell",
        Decimal("0.3"),
        Decimal(40_000) * (1 - Decimal(str(case.rows.settings.flatten_limit_bps)) / 10_000),
    )
    ended = filled(again, "flatten1")
    assert (trade_of(ended).state, trade_of(ended).reason) == ("unwound", "reversed")
    assert_over(case, ended)
    # a second one is left for a person to look at
    twice = booked(ended, "leg2", whole(ended, "leg2"))
    assert (trade_of(twice).state, trade_of(twice).reason) == ("residual", "single_leg_left")
    assert_over(case, twice)


def test_a_trade_that_opens_again_does_not_free_the_cycle_for_the_one_that_is_open_on_it() -> None:
    over = unknown(begun(triangle()), "leg1", "leg2", "leg3")
    other = replace(over, on_cycle=PairRow("another", NOW))
    again = filled(booked(other, "leg1", whole(other, "leg1")), "flatten1")
    assert trade_of(again).state == "unwound"
    assert again.on_cycle == PairRow("another", NOW)


def test_of_an_order_that_nobody_can_say_anything_of_nothing_follows_until_it_is_known() -> None:
    case = triangle()
    rows = filled(filled(begun(case), "leg1"), "leg2")
    held = booked(rows, "leg3", None, "order_not_final")
    assert (trade_of(held).state, trade_of(held).reason, len(trade_of(held).orders)) == (
        "residual",
        "order_not_final",
        3,
    )
    closed = booked(held, "leg3", whole(held, "leg3"))
    assert (trade_of(closed).state, trade_of(closed).profit) == ("closed", trade_of(filled(rows, "leg3")).profit)
    assert_over(case, closed)
    nothing = booked(held, "leg3", report_on(trade_of(held).orders[2], Decimal(0)))
    assert (trade_of(nothing).state, trade_of(nothing).reason) == ("single_leg", "order_resolved")
    assert names_of(nothing, "granted") == ["flatten1", "flatten2"]


def test_fills_that_were_not_true_are_restated_and_what_follows_from_them_is_taken_back() -> None:
    case = triangle()
    over = filled(filled(filled(begun(case), "leg1"), "leg2"), "leg3")
    third = trade_of(over).orders[2]
    half = report_on(third, Decimal(3))
    result = replace(result_of("found", third.leg, half), instead_of=third.fills)
    again = cycle_booked(replace(over, known_fills=frozenset(map(fill_key, over.booked))), (result,))
    assert (trade_of(again).state, trade_of(again).reason) == ("single_leg", "fill_restated")
    assert again.unbooked == third.fills
    assert again.day_net == 0
    assert names_of(again, "granted") == ["flatten1", "flatten2"]
    # they were replaced already
    assert cycle_booked(again, (result,)).trade is again.trade


def test_what_a_halt_stopped_goes_on_once_trading_does() -> None:
    case = triangle()
    rows = filled(filled(begun(case), "leg1"), "leg2")
    halted = rows.settings.model_copy(update={"trading_state": "halted"})
    held = filled(replace(rows, settings=halted), "leg3", "0")
    assert (trade_of(held).state, trade_of(held).reason) == ("residual", "halted")
    assert cycle_resumed(held) is held
    again = cycle_resumed(replace(held, settings=rows.settings))
    assert (trade_of(again).state, trade_of(again).reason) == ("single_leg", "resumed")
    assert names_of(again, "granted") == ["flatten1", "flatten2"]
    ended = filled(filled(again, "flatten1"), "flatten2")
    assert trade_of(ended).state == "unwound"
    assert_over(case, ended)


def test_an_unwinding_order_that_never_left_is_sent_again_under_another_id() -> None:
    rows = filled(filled(filled(begun(triangle(single_leg_policy="reverse")), "leg1"), "leg2"), "leg3", "0")
    held = booked(booked(rows, "reverse1", UNPOSTED), "reverse2", UNPOSTED)
    assert (trade_of(held).state, trade_of(held).reason) == ("residual", "not_posted")
    again = cycle_resumed(held)
    assert names_of(again, "granted") == ["flatten1", "flatten2"]
    held = booked(booked(again, "flatten1", UNPOSTED), "flatten2", UNPOSTED)
    assert (trade_of(held).state, trade_of(held).reason) == ("residual", "not_posted")
    twice = cycle_resumed(held)
    first, second = (trade_of(one).leg("flatten1") for one in (again, twice))
    assert first is not None
    assert second is not None
    assert first.client_order_id != second.client_order_id
    # a report of the first is not one of the second
    assert cycle_booked(twice, (result_of("found", first, None),)) is twice


@pytest.mark.parametrize(
    ("policy", "completes", "state"),
    [("complete", True, "closed"), ("reverse", True, "unwound"), ("complete", False, "unwound")],
)
def test_what_follows_a_leg_that_waited_makes_all_legs_equal(policy: str, completes: bool, state: str) -> None:
    """The second leg waited, and is of half the size; the third had its balance and filled whole, or not at all."""
    free = {("alpha", "USD"): RICH, ("alpha", "ETH"): RICH, ("alpha", "BTC"): Decimal("0.2")}
    case = triangle(free, single_leg_policy=policy)
    assert names_of(begun(case), "waiting") == ["leg2"]
    rows = filled(begun(case), "leg1", "0.5")
    rows = filled(filled(rows, "leg2"), "leg3")
    while names := names_of(rows, "granted"):
        rows = filled(rows, names[0], "1" if completes or names[0].startswith("reverse") else "0")
    over = trade_of(rows)
    assert (over.state, set(over.shares)) == (state, {over.shares[0]})
    assert_over(case, rows)


def test_a_leg_whose_balance_came_late_counts_as_more_than_the_one_that_waited_for_it() -> None:
    case = triangle({("alpha", "USD"): RICH})
    rows = filled(filled(filled(begun(case), "leg1", "0.5"), "leg2"), "leg3")
    assert trade_of(rows).state == "closed"
    first = trade_of(rows).orders[0]
    rest = report_on(first, Decimal("0.1"))
    (fill,) = rest.fills
    late = booked(rows, "leg1", replace(rest, fills=(replace(fill, fill_id="late"),)))
    flatten = trade_of(late).order("flatten1")
    assert flatten is not None
    assert (flatten.side, flatten.amount) == ("sell", Decimal("0.1"))


def test_orders_are_granted_to_the_process_that_acts_for_their_exchange() -> None:
    case = triangle()
    rows = replace(led(case.rows, "alpha"), by=Actor("decider", "decision|0", 3))
    trade = trade_of(begun(replace(case, rows=rows)))
    assert [leg.token for leg in trade.legs] == [7, 7, 7]
    assert {(step.actor, step.token) for step in trade.history} == {("decider", 3)}
    assert cycle_reserved(led(case.rows), case.request) == (led(case.rows), "no_bot")


@pytest.mark.parametrize(("seconds", "state"), [(1, "granted"), (leg_lifecycle.WAIT_WITHIN / SECOND + 1, "not_sent")])
def test_an_unwinding_order_waits_for_the_bot_of_its_exchange(seconds: float, state: str) -> None:
    rows = filled(filled(led(begun(triangle(single_leg_policy="reverse")), "alpha"), "leg1"), "leg2")
    waiting = filled(led(rows), "leg3", "0")
    assert (trade_of(waiting).state, names_of(waiting, "waiting")) == ("single_leg", ["reverse1", "reverse2"])
    assert cycle_booked(waiting) is waiting
    back = cycle_booked(led(later(waiting, seconds), "alpha", token=8))
    order = trade_of(back).order("reverse1")
    assert order is not None
    assert order.state == state
    assert order.leg.token == (8 if state == "granted" else 0)


@pytest.mark.parametrize(("seconds", "state"), [(1, "granted"), (WAIT_WITHIN / SECOND + 1, "not_sent")])
def test_a_leg_that_waits_for_proceeds_waits_for_its_bot_too(seconds: float, state: str) -> None:
    rows = led(begun(triangle({("alpha", "USD"): RICH})), "alpha")
    waiting = filled(led(rows), "leg1")
    assert names_of(waiting, "waiting") == ["leg2", "leg3"]
    back = cycle_booked(led(later(waiting, seconds), "alpha"))
    order = trade_of(back).order("leg2")
    assert order is not None
    assert order.state == state


def test_where_orders_have_no_ids_of_ours_one_at_a_time_is_in_flight() -> None:
    case = triangle(exchange="bitflyer")
    key = "bitflyer|ETH/BTC|buy"
    taken = replace(case.rows, in_flight={key: "another:leg2"})
    assert cycle_reserved(taken, case.request) == (taken, "leg_in_flight")
    rows = begun(case)
    assert rows.in_flight[key] == "found:leg2"
    rows = filled(filled(filled(rows, "leg1"), "leg2"), "leg3", "0")
    assert rows.in_flight[key] is None
    # another trade sells there: the reversal waits until that has landed
    rows = filled(filled(begun(case), "leg1"), "leg2")
    selling = replace(rows, in_flight={**rows.in_flight, "bitflyer|ETH/BTC|sell": "another:sell"})
    busy = filled(filled(selling, "leg3", "0"), "complete3", "0")
    assert (names_of(busy, "granted"), names_of(busy, "waiting")) == (["reverse1"], ["reverse2"])
    free = cycle_booked(replace(busy, in_flight={**busy.in_flight, "bitflyer|ETH/BTC|sell": None}))
    assert names_of(free, "granted") == ["reverse1", "reverse2"]


def some_report(rows: CycleRows, name: str, random: Random) -> OrderReport | None:
    """Return what may become of an order: it is unknown, filled to some share, or never left."""
    order = trade_of(rows).order(name)
    assert order is not None
    lots = random.choice(
        (0, int(order.amount / order.market.lot_step), random.randint(0, int(order.amount / order.market.lot_step)))
    )
    full = report_on(order, EXACT.multiply(decimal_of_whole(lots), order.market.lot_step))
    return random.choice((full, full, full, None, UNPOSTED))


@given(st.integers(0, 10**9), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_the_books_agree_whatever_turns_up_late(seed: int, random: Random) -> None:
    case = random_case(seed)
    rows, reason = cycle_reserved(case.rows, case.request)
    if reason is not None:
        return
    for _ in range(40):
        granted = names_of(rows, "granted")
        lost = [order.name for order in trade_of(rows).orders if "unconfirmed" in order.times and not order.fills]
        if granted and random.random() < 0.8:
            name = random.choice(granted)
            rows = booked(
                rows, name, some_report(rows, name, random), random.choice((None, None, None, "ambiguous_order"))
            )
        elif lost:
            rows = booked(rows, (name := random.choice(lost)), whole(rows, name))
        rows = cycle_resumed(later(rows, random.choice((0, 0.1, 6, 20))))
        assert all(row.free >= 0 for row in rows.balances.values())
    while names := names_of(rows, "granted"):
        rows = filled(rows, names[0])
    rows = cycle_booked(later(rows, 20))
    trade = trade_of(rows)
    assert not trade.is_open
    moves = booked_moves(trade)
    assert all(change == moves.get(place, 0) for place, change in moved(case.rows, rows).items())
    assert all(row.held == 0 for row in rows.balances.values())
    assert (rows.open_arbitrages, rows.on_cycle.arbitrage_id) == (0, None)
    assert all(amount == 0 for amount in rows.notional.values())
    assert trade.profit is not None
    assert rows.day_net == trade.profit.net
    posted = [step.what for step in trade.history if step.what.endswith("granted")]
    assert len(posted) == len(set(posted)) or all(
        name.startswith("flatten") for name in posted if posted.count(name) > 1
    )
