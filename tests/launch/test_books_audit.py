"""The audit finds nothing if nothing is wrong, and each kind of fault by its own name."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest

from launch.chaos.audit.books import account_of
from launch.chaos.audit.lateness import LATEST, late_while_stopped
from launch.chaos.audit.orders import owned_postings
from launch.chaos.audit.records import Stopped, ViolationKind
from launch.chaos.audit.replacements import SEARCH_TIME
from market.money import Amount, Price
from market.trade.arbitrages import Arbitrage, Transition
from market.trade.leases import Actor
from simulators.matching.exchange_journal import Entry
from simulators.matching.order_records import OrderRequest, RejectedOrder, SimulatedOrder
from store.queries.store_snapshot import LedgerEntry, TakenStep
from tests.launch.audited_world import AMOUNT, NOON, World, clean_world


@pytest.mark.parametrize("name", ["okx", "a second account"])
def test_an_order_belongs_to_its_leg_where_ids_have_no_hyphens(name: str) -> None:
    world = clean_world().with_leg("buy", exchange=name)
    account = world.accounts["alpha"]
    bare = replace(account.orders[0], client_order_id=(account.orders[0].client_order_id or "").replace("-", ""))
    at_okx = replace(account, exchange=name, orders=(bare,))
    [(_, owner)] = owned_postings(replace(world.evidence, accounts={name: at_okx}))
    assert (owner.leg.role, owner.leg.exchange) == ("buy", name)


def order_on(world: World, exchange: str) -> SimulatedOrder:
    (order,) = world.accounts[exchange].orders
    return order


def posted_again(world: World) -> World:
    again = replace(order_on(world, "alpha"), order_id="order-again", filled=Decimal(0), state="cancelled")
    return world.with_account("alpha", orders=(*world.accounts["alpha"].orders, again))


def rejected_again(world: World) -> World:
    """Return a world in which the exchange rejected the second one, which was posted all the same."""
    order = order_on(world, "alpha")
    request = OrderRequest(order.symbol, order.side, order.amount, order.price, True, order.client_order_id)
    return world.with_account("alpha", rejected=(RejectedOrder(request, "client_id_used", NOON + 50),))


def posted_late(world: World, after: int = LATEST + 1) -> World:
    """Return a world in which the buy came `after` its grant."""
    return world.with_account("alpha", came_at={"order-buy": NOON + after})


def strange_order(world: World) -> World:
    strange = replace(order_on(world, "alpha"), order_id="strange", client_order_id="nobody's", state="cancelled")
    return world.with_account("alpha", orders=(*world.accounts["alpha"].orders, strange))


def without_leave(world: World) -> World:
    return world.with_leg("buy", times={"reserved": NOON, "done": NOON + 30})


def other_size(world: World) -> World:
    return world.with_account("alpha", orders=(replace(order_on(world, "alpha"), amount=AMOUNT * 2),))


def steps_by(*tokens: int) -> tuple[TakenStep, ...]:
    """Return steps one after the other, all on one partition but the last."""
    decided = [TakenStep("one", number, decider(token), NOON + number) for number, token in enumerate(tokens)]
    return (*decided, TakenStep("one", len(tokens), Actor("bot", "alpha", 1), NOON + len(tokens)))


def decider(token: int) -> Actor:
    return Actor(f"holder {token}", "decision|0", token)


def decided_by_the_last_holder(world: World) -> World:
    return world.with_snapshot(steps=steps_by(1, 2, 1))


def order_on_no_leg(world: World) -> World:
    """Return a world whose exchange has an order, though its leg counts as never sent."""
    return world.with_leg("buy", state="not_sent", exchange_order_id=None, fills=())


def replaced_while_it_had_filled(world: World) -> World:
    """Return a world in which the exchange denied an order, another was sent, and then the first was found and
    booked."""
    failed, replaced, found = NOON + 25, NOON + 26, NOON + 30
    buy, sell = world.arbitrage.legs
    denied = replace(buy, times=buy.times | {"unconfirmed": failed})
    again = replace(
        buy, role="complete", client_order_id="again", times={"reserved": failed, "granted": replaced}, fills=()
    )
    steps = [
        Transition("buy filled", found, "bot", 1) if one.what == "buy filled" else one
        for one in world.arbitrage.history
    ]
    both = with_state(world, legs=(denied, sell, again), history=tuple(steps))
    return both.with_account("alpha", filled_since={"order-buy": NOON + 15})


def order_still_open(world: World) -> World:
    return world.with_account("alpha", orders=(replace(order_on(world, "alpha"), state="open"),))


def fill_not_in_the_ledger(world: World) -> World:
    return world.with_snapshot(ledger=world.snapshot.ledger[1:])


def fill_on_no_leg(world: World) -> World:
    return world.with_leg("buy", fills=())


def fill_booked_twice(world: World) -> World:
    return world.with_snapshot(ledger=(*world.snapshot.ledger, world.snapshot.ledger[0]))


def fill_on_two_legs(world: World) -> World:
    (fill,) = world.arbitrage.legs[0].fills
    return world.with_leg("buy", fills=(fill, fill))


def fill_of_nobody(world: World) -> World:
    invented = replace(world.snapshot.ledger[0].fill, fill_id="invented")
    return world.with_snapshot(ledger=(*world.snapshot.ledger, LedgerEntry("opportunity-1", invented)))


def fill_of_nobody_on_a_leg(world: World) -> World:
    (fill,) = world.arbitrage.legs[0].fills
    return world.with_leg("buy", fills=(fill, replace(fill, fill_id="invented", amount=Amount(Decimal(0)))))


def other_fee(world: World) -> World:
    first, *rest = world.snapshot.ledger
    dearer = replace(first, fill=replace(first.fill, fee=first.fill.fee + Decimal("0.00000001")))
    return world.with_snapshot(ledger=(dearer, *rest))


def fill_on_another_leg(world: World) -> World:
    """Return two arbitrages on one exchange, each with the other's fill."""
    (order,), (fill,) = world.accounts["alpha"].orders, world.accounts["alpha"].fills
    other_order = replace(order, order_id="order-2", client_order_id="second")
    other_fill = replace(fill, fill_id="fill-2", order_id="order-2")
    (booked,) = world.arbitrage.legs[0].fills
    other_booked = replace(booked, fill_id="fill-2")
    leg = replace(world.arbitrage.legs[0], fills=(other_booked,))
    other_leg = replace(leg, client_order_id="second", exchange_order_id="order-2", fills=(booked,))
    sell = world.arbitrage.legs[1]
    first = replace(world.arbitrage, legs=(leg, sell))
    second = replace(world.arbitrage, arbitrage_id="opportunity-2", legs=(other_leg, replace(sell, fills=())))
    two = world.with_account("alpha", orders=(order, other_order), fills=(fill, other_fill))
    return two.with_snapshot(
        arbitrages=(first, second),
        ledger=(*world.snapshot.ledger, LedgerEntry("opportunity-2", other_booked)),
    )


def with_state(world: World, **changes: object) -> World:
    changed: Arbitrage = replace(world.arbitrage, **changes)  # type: ignore[arg-type]  # fields by their names
    return world.with_arbitrage(changed)


def still_open(world: World) -> World:
    history = world.arbitrage.history[:-1]
    return with_state(world, state="reserved", history=history)


def leg_still_granted(world: World) -> World:
    return world.with_leg("sell", state="granted")


def leg_still_holds(world: World) -> World:
    return world.with_leg("sell", held=Decimal("0.01"))


def never_sold(world: World) -> World:
    return world.with_leg("sell", fills=())


def sold_too_little(world: World) -> World:
    (fill,) = world.arbitrage.legs[1].fills
    return world.with_leg("sell", fills=(replace(fill, amount=Amount(AMOUNT / 2)),))


def held_for_no_reason(world: World) -> World:
    last = replace(world.arbitrage.history[-1], what="residual")
    return with_state(world, state="residual", history=(*world.arbitrage.history[:-1], last))


def still_held(world: World) -> World:
    first, *rest = world.snapshot.balances
    return world.with_snapshot(balances=(replace(first, free=first.free - 1, held=Decimal(1)), *rest))


def step_skipped(world: World) -> World:
    history = tuple(step for step in world.arbitrage.history if step.what != "buy granted")
    return with_state(world, history=history)


def granted_twice_by_history(world: World) -> World:
    steps = world.arbitrage.history
    return with_state(world, history=(steps[0], *steps))


def state_skipped(world: World) -> World:
    return with_state(world, history=tuple(step for step in world.arbitrage.history if step.what != "reserved"))


def time_went_back(world: World) -> World:
    *steps, last = world.arbitrage.history
    return with_state(world, history=(*steps, replace(last, at=NOON)))


def history_of_another_end(world: World) -> World:
    return with_state(world, history=(*world.arbitrage.history, Transition("residual", NOON + 60, "bot", 1)))


def off_by_the_last_digit(world: World) -> World:
    first, *rest = world.snapshot.balances
    return world.with_snapshot(balances=(replace(first, free=first.free + Decimal("0.00000001")), *rest))


def report_off(world: World) -> World:
    after = {**world.snapshot.after, "alpha": {**world.snapshot.after["alpha"], "USD": Decimal(1)}}
    return world.with_snapshot(after=after)


def opening_off(world: World) -> World:
    before = {**world.snapshot.before, "alpha": {**world.snapshot.before["alpha"], "ETH": Decimal(1)}}
    return world.with_snapshot(before=before)


Tampering = Callable[[World], World]

CASES: tuple[tuple[str, Tampering], ...] = (
    ("posted_twice", posted_again),
    ("posted_twice", rejected_again),
    ("posted_late", posted_late),
    ("unknown_order", strange_order),
    ("unknown_order", without_leave),
    ("order_unbooked", order_on_no_leg),
    ("replaced_while_filled", replaced_while_it_had_filled),
    ("order_differs", other_size),
    ("left_open", order_still_open),
    ("fill_missing", fill_not_in_the_ledger),
    ("fill_missing", fill_on_no_leg),
    ("fill_twice", fill_booked_twice),
    ("fill_twice", fill_on_two_legs),
    ("fill_unknown", fill_of_nobody),
    ("fill_unknown", fill_of_nobody_on_a_leg),
    ("fill_differs", other_fee),
    ("fill_misfiled", fill_on_another_leg),
    ("left_open", still_open),
    ("left_open", leg_still_granted),
    ("left_open", leg_still_holds),
    ("single_leg_undecided", never_sold),
    ("single_leg_undecided", sold_too_little),
    ("single_leg_undecided", held_for_no_reason),
    ("reservation_left", still_held),
    ("reservation_left", lambda world: world.with_snapshot(pairs={"pair|BTC|alpha|beta": "opportunity-1"})),
    ("reservation_left", lambda world: world.with_snapshot(open_arbitrages=1)),
    ("reservation_left", lambda world: world.with_snapshot(open_arbitrages=-1)),
    ("reservation_left", lambda world: world.with_snapshot(notional={"total": Decimal("0.01")})),
    ("liquidity_differs", lambda world: world.with_snapshot(liquidity={"alpha:BTC/USD:1|buy": AMOUNT * 2})),
    ("liquidity_differs", lambda world: world.with_snapshot(liquidity={"alpha:BTC/USD:7|buy": AMOUNT})),
    ("illegal_history", step_skipped),
    ("illegal_history", granted_twice_by_history),
    ("illegal_history", state_skipped),
    ("illegal_history", time_went_back),
    ("illegal_history", history_of_another_end),
    ("step_after_takeover", decided_by_the_last_holder),
    ("day_net_differs", lambda world: world.with_snapshot(day_net=("2023-11-14", Decimal("0.01")))),
    ("balance_missing", lambda world: world.with_snapshot(after={})),
    ("balance_differs", off_by_the_last_digit),
    ("balance_differs", report_off),
    ("balance_differs", opening_off),
)


@pytest.mark.parametrize("has_client_ids", [True, False])
def test_nothing_is_wrong_where_nothing_is(has_client_ids: bool) -> None:
    assert clean_world(has_client_ids).violations() == []


def test_a_lease_that_passes_on_is_no_violation() -> None:
    assert clean_world().with_snapshot(steps=steps_by(1, 1, 2, 2, 4)).violations() == []


def test_two_steps_of_one_moment_are_in_no_order() -> None:
    together = (TakenStep("one", 1, decider(2), NOON), TakenStep("another", 1, decider(1), NOON))
    assert clean_world().with_snapshot(steps=together).violations() == []


@pytest.mark.parametrize(("kind", "tamper"), CASES, ids=[f"{kind}-{number}" for number, (kind, _) in enumerate(CASES)])
def test_each_lie_is_found_by_its_name(kind: str, tamper: Tampering) -> None:
    assert kind in {violation.kind for violation in tamper(clean_world()).violations()}


def test_an_order_may_be_posted_for_a_second_and_travel_for_as_long_as_any_does() -> None:
    assert LATEST == 21_000_000
    assert posted_late(clean_world(), LATEST).violations() == []
    (late,) = posted_late(clean_world()).violations()
    assert (late.kind, late.arbitrage_id) == ("posted_late", "opportunity-1")
    assert "buy leg on alpha" in late.detail
    assert "21.000 s after it was granted" in late.detail


def test_an_order_that_the_exchange_rejected_came_late_all_the_same() -> None:
    world = rejected_again(clean_world())
    (rejected,) = world.accounts["alpha"].rejected
    late = world.with_account("alpha", orders=(), fills=(), rejected=(replace(rejected, at=NOON + LATEST + 1),))
    assert [one.arbitrage_id for one in late.violations() if one.kind == "posted_late"] == ["opportunity-1"]


@pytest.mark.parametrize(
    ("stop", "is_excused"),
    [
        (Stopped("alpha", NOON + 1, NOON + LATEST), True),
        # it began before the grant
        (Stopped("alpha", NOON - 5, NOON), True),
        # the machine resumed it as the order came
        (Stopped("alpha", NOON + LATEST + 1, NOON + LATEST + 9), True),
        # it was never resumed
        (Stopped("alpha", NOON + 1, None), True),
        (Stopped("alpha", NOON - 5, NOON - 1), False),
        (Stopped("alpha", NOON + LATEST + 2, None), False),
        (Stopped("beta", NOON + 1, None), False),
    ],
)
def test_late_from_a_bot_that_stood_still_meanwhile_is_counted_and_no_violation(
    stop: Stopped, is_excused: bool
) -> None:
    world = replace(posted_late(clean_world()), stops=(stop,))
    kinds = [one.kind for one in world.violations()]
    assert kinds == ([] if is_excused else ["posted_late"])
    assert late_while_stopped(world.evidence) == int(is_excused)


def test_what_came_in_time_is_not_counted_though_its_bot_stood_still() -> None:
    world = replace(clean_world(), stops=(Stopped("alpha", NOON, None), Stopped("beta", NOON, None)))
    assert late_while_stopped(world.evidence) == 0


OF_TRANSFERS = {"withdrawal_twice", "withdrawal_unknown", "transfer_differs", "transfer_left_open"}
"""Found in test_transfers_audit."""


def test_every_kind_of_violation_can_be_found() -> None:
    assert {kind for kind, _ in CASES} == set(get_args(ViolationKind)) - {"not_recovered"} - OF_TRANSFERS


def test_every_kind_is_explained() -> None:
    text = (Path(__file__).parents[2] / "docs" / "chaos.md").read_text()
    assert [kind for kind in get_args(ViolationKind) if f"| `{kind}` |" not in text] == []


def test_an_order_without_client_id_is_known_by_its_likeness() -> None:
    """bitFlyer takes no id of ours: an unacknowledged leg is recognised by side, price, size and time."""
    world = clean_world(has_client_ids=False).with_leg("buy", exchange_order_id=None)
    assert {violation.kind for violation in world.violations()} == {"order_unbooked"}
    assert "posted_twice" in {violation.kind for violation in posted_again(world).violations()}
    dearer = replace(order_on(world, "alpha"), order_id="dearer", price=Price(Decimal(60_001)), state="cancelled")
    strange = world.with_account("alpha", orders=(*world.accounts["alpha"].orders, dearer))
    assert "unknown_order" in {violation.kind for violation in strange.violations()}


def test_a_leg_that_counted_as_rejected_and_was_replaced_is_looked_at_too() -> None:
    """Whatever the reason for giving it up, its order had filled."""
    world = replaced_while_it_had_filled(clean_world())
    legs = [
        replace(leg, times={name: at for name, at in leg.times.items() if name != "unconfirmed"} | {"done": NOON + 25})
        if leg.role == "buy"
        else leg
        for leg in world.arbitrage.legs
    ]
    rejected = with_state(world, legs=tuple(legs), history=world.arbitrage.history)
    assert "replaced_while_filled" in {one.kind for one in rejected.violations()}
    booked = [
        Transition("buy filled", NOON + 25, "bot", 1) if one.what == "buy filled" else one
        for one in world.arbitrage.history
    ]
    assert "replaced_while_filled" not in {
        one.kind for one in with_state(rejected, legs=tuple(legs), history=tuple(booked)).violations()
    }, "it ended with its fills, and what followed completes it"


@pytest.mark.parametrize(
    ("filled_at", "granted_at", "booked_at", "is_replaced"),
    [
        (NOON + 15, NOON + 26, NOON + 30, True),
        # never booked
        (NOON + 15, NOON + 26, None, True),
        # before it was given up: the other first leg
        (NOON + 15, NOON + 10, NOON + 30, False),
        # after it was found: what flattens it
        (NOON + 15, NOON + 31, NOON + 30, False),
        # under way for longer than anybody waits
        (NOON + SEARCH_TIME + 1, NOON + 26, NOON + 30, False),
    ],
)
def test_replaced_is_what_was_granted_after_it_was_given_up_and_before_it_was_found(
    filled_at: int, granted_at: int, booked_at: int | None, is_replaced: bool
) -> None:
    world = replaced_while_it_had_filled(clean_world())
    legs = [
        replace(leg, times=leg.times | {"granted": granted_at}) if leg.role == "complete" else leg
        for leg in world.arbitrage.legs
    ]
    steps = [one for one in world.arbitrage.history if one.what != "buy filled"]
    found = [] if booked_at is None else [Transition("buy filled", booked_at, "bot", 1)]
    changed = with_state(world, legs=tuple(legs), history=(*steps, *found))
    kinds = {one.kind for one in changed.with_account("alpha", filled_since={"order-buy": filled_at}).violations()}
    assert ("replaced_while_filled" in kinds) == is_replaced


def test_like_orders_without_client_ids_are_each_of_its_own_leg_whatever_the_exchanges_clock_says() -> None:
    """There are two equal legs, one after the other; the order of the first was rejected. By the exchange's clock, two
    minutes ahead, both came after either leg was sent."""
    later = 30 * 1_000_000
    world = clean_world(has_client_ids=False)
    buy = world.arbitrage.legs[0]
    rejected_leg = replace(buy, exchange_order_id=None, fills=(), times={"reserved": NOON, "granted": NOON + 10})
    second = {name: at + later for name, at in buy.times.items()}
    first = replace(world.arbitrage, legs=(rejected_leg,))
    other = replace(world.arbitrage, arbitrage_id="opportunity-2", legs=(replace(buy, times=second),))
    both = world.with_snapshot(arbitrages=(first, other))
    (order,), (fill,) = world.accounts["alpha"].orders, world.accounts["alpha"].fills
    ahead = replace(order, placed_at=NOON + 5 * later)
    request = OrderRequest(order.symbol, order.side, order.amount, order.price, True, None)
    rejected = RejectedOrder(request, "order_rejected", NOON + 4 * later)
    entries = [
        Entry(opening=dict(world.accounts["alpha"].opening)),
        Entry(rejected=(rejected,), at=NOON + 12),
        Entry(orders=(ahead,), fills=(fill,), at=NOON + 12 + later),
    ]
    seen = replace(both, accounts={**both.accounts, "alpha": account_of("alpha", entries)})
    assert "posted_twice" not in {violation.kind for violation in seen.violations()}
    # a second one of the second leg is still found
    again = [*entries, Entry(rejected=(rejected,), at=NOON + 13 + later)]
    found = replace(both, accounts={**both.accounts, "alpha": account_of("alpha", again)}).violations()
    assert [one.arbitrage_id for one in found if one.kind == "posted_twice"] == ["opportunity-2"]
    # one that came when neither had just been sent may be of either
    strange = [*entries, Entry(rejected=(rejected,), at=NOON + 12 + 3 * later)]
    seen = replace(both, accounts={**both.accounts, "alpha": account_of("alpha", strange)})
    assert "posted_twice" not in {violation.kind for violation in seen.violations()}


def test_an_account_is_what_its_journal_says_last() -> None:
    order = order_on(clean_world(), "alpha")
    hung = replace(order, state="open", filled=Decimal(0))
    (fill,) = clean_world().accounts["alpha"].fills
    account = account_of(
        "alpha",
        [
            Entry(opening={"USD": Decimal(5)}),
            Entry(orders=(hung,)),
            Entry(orders=(order,), fills=(fill,), at=NOON + 7),
            Entry(orders=(order,), fills=(replace(fill, fill_id="later"),), at=NOON + 9),
        ],
    )
    assert account.orders == (order,)
    assert account.filled_since == {"order-buy": NOON + 7}
    assert account.opening == {"USD": Decimal(5)}
