"""When a leg may be posted, and what fills do to the books, in whatever portions and order they are reported."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.decide.settings import Settings
from market.instruments.orders import Fill, OrderReport, Side
from market.money import ZERO, Amount, Price, total
from market.trade.arbitrages import Arbitrage, Leg, LegRole, LegState
from market.trade.inflight_orders import inflight_key
from market.trade.leases import UNFENCED, Actor, Lease, Veto
from market.trade.leg_lifecycle import WAIT_WITHIN, Advance, booked, granted
from market.trade.lifecycle import IllegalStepError, Moment, with_history
from market.trade.order_results import OrderResult, result_of
from market.trade.profit import day_result
from market.trade.reservation_state import BalanceRow, ReservationState, fill_key
from market.trade.reservations import SEND_WITHIN, reserved
from market.trade.unwinding import advancing
from tests.market.samples import MARKETS, settings_of
from tests.store.reservation_requests import (
    OPENING,
    SETTINGS,
    Completion,
    close,
    complete,
    filled,
    opportunity,
    request,
)

NOW = 1_700_000_000_000_000
MOMENT = Moment(NOW, UNFENCED)
SIDES: tuple[Side, Side] = ("buy", "sell")

Reports = list[tuple[Side, list[int]]]
"""Which fills of which leg are reported, call by call."""
BOT = Actor("alpha-1", "alpha", 3)
LATER = NOW + 5_000_000
"""When what is left of a single leg is to be unwound."""
HALTED = settings_of(trading_state="halted")


def opened_rows() -> ReservationState:
    rows = ReservationState(now=NOW, opportunity=opportunity(), by=UNFENCED)
    for exchange, amounts in OPENING.items():
        for currency, amount in amounts.items():
            rows = rows.with_balance(BalanceRow(exchange, currency, amount, ZERO))
    return rows


def granted_rows() -> ReservationState:
    """Both legs may be posted."""
    rows, _ = reserved(opened_rows(), request("2"))
    return rows


def arbitrage_of(rows: ReservationState) -> Arbitrage:
    assert rows.arbitrage is not None
    return rows.arbitrage


def leg_of(rows: ReservationState, side: Side) -> Leg:
    leg = arbitrage_of(rows).leg(side)
    assert leg is not None
    return leg


def finished(
    rows: ReservationState, role: LegRole, report: OrderReport | None, settings: Settings, advance: Advance
) -> ReservationState:
    """Book what became of one order."""
    leg = arbitrage_of(rows).leg(role)
    assert leg is not None
    return booked(rows, [result_of("opportunity-1", leg, report)], settings, advance)


def fill(leg: Leg, number: int) -> Fill:
    """Odd ones pay their fee in base, even ones in quote currency, each third in neither."""
    amount = Amount(Decimal(number + 1) / 1_000)
    return Fill(
        fill_id=str(number),
        exchange=leg.exchange,
        symbol=leg.symbol,
        side=leg.side,
        price=Price(leg.limit_price),
        amount=amount,
        cost=amount * leg.limit_price,
        fee=Decimal(number) / 10_000,
        fee_currency="POINTS" if number % 3 == 0 else leg.base if number % 2 else leg.quote_currency,
        filled_at=NOW,
    )


def flows(fills: Mapping[str, Fill]) -> dict[tuple[str, str], Decimal]:
    changes: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for one in fills.values():
        sign = 1 if one.side == "buy" else -1
        base, quote = one.symbol.split("/")
        changes[one.exchange, base] += sign * one.amount
        changes[one.exchange, quote] -= sign * one.cost
        changes[one.exchange, one.fee_currency] -= one.fee
    return changes


reports: st.SearchStrategy[Reports] = st.lists(
    st.tuples(st.sampled_from(SIDES), st.lists(st.integers(0, 6), max_size=4)), max_size=8
)


@given(calls=reports)
def test_books_are_opening_and_each_fill_once(calls: Reports) -> None:
    rows = granted_rows()
    ledger: dict[str, Fill] = {}
    for side, numbers in calls:
        fills = tuple(fill(leg_of(rows, side), number) for number in numbers)
        report = OrderReport("order", is_final=True, filled=Amount(total(one.amount for one in fills)), fills=fills)
        rows = finished(replace(rows, known_fills=ledger.keys(), booked=()), side, report, SETTINGS, close)
        ledger |= {fill_key(one): one for one in rows.booked}
    reported = {fill_key(one): one for side, numbers in calls for one in fills_of(rows, side, numbers)}
    assert ledger == reported
    changes = flows(reported)
    for key, row in rows.balances.items():
        opening = OPENING.get(key[0], {}).get(key[1], ZERO)
        assert row.free + row.held == opening + changes[key]
    assert total(row.held for row in rows.balances.values()) == total(leg.held for leg in arbitrage_of(rows).legs)
    is_over = {side for side, _ in calls} == set(SIDES)
    assert rows.open_arbitrages == (0 if is_over else 1)
    assert (arbitrage_of(rows).state in ("closed", "residual")) == is_over
    for side in SIDES:
        assert {fill_key(one) for one in leg_of(rows, side).fills} <= ledger.keys()


def test_fills_that_an_earlier_version_entered_under_another_key_are_not_booked_again() -> None:
    rows = granted_rows()
    first = fill(leg_of(rows, "buy"), 1)
    report = OrderReport("order", is_final=True, filled=first.amount, fills=(first,))
    entered = finished(rows, "buy", report, SETTINGS, close)
    under_old_key = replace(entered, known_fills={f"{first.exchange}|{first.fill_id}"}, booked=())
    again = finished(under_old_key, "buy", report, SETTINGS, close)
    assert again is under_old_key
    later = fill(leg_of(rows, "buy"), 2)
    both = OrderReport("order", is_final=True, filled=Amount(first.amount + later.amount), fills=(first, later))
    assert finished(under_old_key, "buy", both, SETTINGS, close).booked == (later,)


def fills_of(rows: ReservationState, side: Side, numbers: list[int]) -> list[Fill]:
    return [fill(leg_of(rows, side), number) for number in numbers]


def granted_to(token: int, until: int, veto: Veto | None = None) -> dict[str, Lease]:
    """Beta's bot; alpha's is there anyway."""
    return {"alpha": Lease("alpha", "alpha-1", 3, LATER + 1), "beta": Lease("beta", "beta-1", token, until, veto=veto)}


def single_leg(rows: ReservationState, advance: Advance | None = None) -> ReservationState:
    """Return rows with a filled buy leg and a sell leg that is unfilled at LATER: `complete`, on beta, follows."""
    then = advance or complete("0.5")
    bought = finished(rows, "buy", filled(leg_of(rows, "buy")), SETTINGS, then)
    unsold = replace(bought, now=LATER, booked=())
    return finished(unsold, "sell", filled(leg_of(rows, "sell"), Decimal(0)), SETTINGS, then)


def waiting() -> ReservationState:
    """Return an added leg that nobody could be granted: beta's lease had run out."""
    rows = single_leg(replace(granted_rows(), by=BOT, leases=granted_to(4, LATER)))
    assert added_leg(rows).state == "reserved"
    return rows


def added_leg(rows: ReservationState) -> Leg:
    leg = arbitrage_of(rows).leg("complete")
    assert leg is not None
    return leg


def at_bitflyer(rows: ReservationState, owner: str | None) -> ReservationState:
    """Return rows whose added leg is on an exchange that cannot tell two orders apart; `owner` is in flight there."""
    arbitrage = arbitrage_of(rows)
    moved = tuple(replace(leg, exchange="bitflyer") if leg.role == "complete" else leg for leg in arbitrage.legs)
    rows = replace(rows, arbitrage=replace(arbitrage, legs=moved))
    leases = {"bitflyer": Lease("bitflyer", "bitflyer-1", 6, LATER + 1)}
    return replace(rows, leases=leases, in_flight={inflight_key(added_leg(rows)): owner})


SEND_BY = LATER + WAIT_WITHIN
AGAIN = granted_to(5, SEND_BY + 2)
"""A new bot acts for beta."""


@pytest.mark.parametrize(
    ("rows", "token"),
    [
        (replace(waiting(), now=LATER + 1, leases=AGAIN), 5),
        (replace(waiting(), now=SEND_BY, leases=AGAIN), 5),
        (replace(waiting(), now=LATER + 1, leases=granted_to(5, SEND_BY, "bot_draining")), 5),
        (replace(waiting(), now=LATER + 1, leases=granted_to(5, SEND_BY, "no_bot")), 5),
        (replace(waiting(), now=LATER + 1, leases=None), 0),
        (at_bitflyer(waiting(), None), 6),
        (at_bitflyer(waiting(), "opportunity-1:complete"), 6),
    ],
    ids=["a new bot", "just in time", "draining", "not ready yet", "without leases", "flight free", "its own flight"],
)
def test_a_reserved_leg_is_granted_to_the_bot_of_its_exchange_for_a_second(rows: ReservationState, token: int) -> None:
    after = granted(rows, "complete")
    leg = added_leg(after)
    assert (leg.state, leg.token, leg.times["granted"]) == ("granted", token, rows.now)
    assert arbitrage_of(after).send_by == rows.now + SEND_WITHIN
    assert leg.held == added_leg(rows).held == Decimal("0.5")
    assert [step.what for step in arbitrage_of(after).history[-2:]] == ["single_leg", "complete granted"]
    if rows.in_flight:
        assert after.in_flight == {inflight_key(leg): "opportunity-1:complete"}
    # once ever
    assert granted(after, "complete") is after


@pytest.mark.parametrize(
    "rows",
    [
        replace(waiting(), now=SEND_BY + 1, leases=AGAIN),
        replace(waiting(), now=SEND_BY + 1),
        replace(waiting(), now=LATER + 1, leases=AGAIN, settings=HALTED),
        replace(waiting(), now=LATER + 1, settings=HALTED),
        replace(at_bitflyer(waiting(), "another:sell"), settings=HALTED),
    ],
    ids=["too late", "too late without a bot", "halted", "halted without a bot", "halted behind another order"],
)
def test_what_can_be_posted_no_more_is_not_sent_and_keeps_its_hold_until_it_is_settled(rows: ReservationState) -> None:
    after = granted(rows, "complete")
    leg = added_leg(after)
    assert (leg.state, leg.token, "granted" in leg.times) == ("not_sent", 0, False)
    assert leg.held == Decimal("0.5")
    assert after.balances == rows.balances
    assert arbitrage_of(after).history[-1].what == "complete not_sent"
    settled = finished(after, "complete", None, SETTINGS, close)
    assert (arbitrage_of(settled).state, added_leg(settled).is_unposted) == ("closed", True)
    assert total(row.held for row in settled.balances.values()) == 0


def ended(rows: ReservationState) -> ReservationState:
    return replace(rows, arbitrage=replace(arbitrage_of(rows), state="residual"))


@pytest.mark.parametrize(
    ("rows", "role"),
    [
        (waiting(), "complete"),
        (replace(waiting(), now=SEND_BY), "complete"),
        (replace(waiting(), leases={}), "complete"),
        (at_bitflyer(waiting(), "another:sell"), "complete"),
        (replace(waiting(), leases=AGAIN), "reverse"),
        (replace(waiting(), leases=AGAIN), "buy"),
        (replace(granted_rows(), now=NOW + 9 * SEND_WITHIN, settings=HALTED), "buy"),
        (replace(ended(waiting()), leases=AGAIN), "complete"),
        (replace(waiting(), leases=AGAIN, arbitrage=None), "complete"),
    ],
    ids=["no bot", "still none", "never one", "flight busy", "no leg", "done", "granted before", "ended", "no trade"],
)
def test_a_leg_that_is_not_due_stays_as_it_is(rows: ReservationState, role: LegRole) -> None:
    assert granted(rows, role) is rows


def on_bitflyer(amount: str) -> Advance:
    """As `complete`, if two orders look alike."""
    plain = Completion(Decimal(amount), ZERO)

    def advance(arbitrage: Arbitrage, settings: Settings, now: int) -> Arbitrage:
        following = plain(arbitrage, settings, now)
        *before, last = following.legs
        if last.role != "complete" or arbitrage.leg("complete") is not None:
            return following
        return replace(following, legs=(*before, replace(last, exchange="bitflyer")))

    return advance


FLIGHT = "bitflyer|BTC/EUR|sell"
OWN = "opportunity-1:complete"


@pytest.mark.parametrize(
    ("leases", "advance", "owner", "state", "token", "claimed"),
    [
        (granted_to(4, LATER + 1), complete("0.5"), None, "granted", 4, None),
        (granted_to(4, LATER + 1, "bot_draining"), complete("0.5"), None, "granted", 4, None),
        (None, complete("0.5"), None, "granted", 0, None),
        (granted_to(4, LATER), complete("0.5"), None, "reserved", 0, None),
        ({}, complete("0.5"), None, "reserved", 0, None),
        (None, on_bitflyer("0.5"), None, "granted", 0, OWN),
        (None, on_bitflyer("0.5"), "another:sell", "reserved", 0, "another:sell"),
        ({}, on_bitflyer("0.5"), None, "reserved", 0, OWN),
    ],
    ids=[
        "its bot is there",
        "its bot drains",
        "nobody needs a lease",
        "its bot is gone",
        "there was never a bot",
        "alone in flight",
        "another in flight",
        "alone in flight without a bot",
    ],
)
def test_a_leg_that_follows_is_granted_at_once_where_it_can_be(
    leases: dict[str, Lease] | None,
    advance: Advance,
    owner: str | None,
    state: LegState,
    token: int,
    claimed: str | None,
) -> None:
    rows = granted_rows().with_balance(BalanceRow("bitflyer", "BTC", Decimal(10), ZERO))
    by = UNFENCED if leases is None else BOT
    rows = single_leg(replace(rows, by=by, leases=leases, in_flight={FLIGHT: owner}), advance)
    leg, arbitrage = added_leg(rows), arbitrage_of(rows)
    assert (leg.state, leg.token, leg.held) == (state, token, Decimal("0.5"))
    assert leg.times == {"reserved": LATER} | ({"granted": LATER} if state == "granted" else {})
    assert arbitrage.send_by == LATER + (SEND_WITHIN if state == "granted" else WAIT_WITHIN)
    assert rows.in_flight[FLIGHT] == claimed
    assert rows.balance(leg.exchange, "BTC").held == Decimal("0.5")
    assert [step.what for step in arbitrage.history[-2:]] == [f"complete {state}", "single_leg"]


@pytest.mark.parametrize(
    ("posted", "sent"),
    [
        ((NOW + 7, NOW + 9), NOW + 9),
        ((NOW + 9, NOW + 7), NOW + 9),
        ((NOW + 7, None), NOW + 7),
        ((None, None), None),
    ],
    ids=["the sell later", "the buy later", "one was only looked up", "both were"],
)
def test_a_trade_is_sent_when_the_later_of_its_orders_was_and_known_to_be_once_both_are_final(
    posted: tuple[int | None, int | None], sent: int | None
) -> None:
    rows = granted_rows()
    for side, at in zip(SIDES, posted, strict=True):
        assert "sent" not in arbitrage_of(rows).times
        report = replace(filled(leg_of(rows, side)), posted_at=at)
        rows = finished(replace(rows, now=LATER, booked=()), side, report, SETTINGS, close)
        assert leg_of(rows, side).times.get("sent") == at
    assert arbitrage_of(rows).times.get("sent") == sent
    assert arbitrage_of(rows).times["filled"] == LATER


def test_an_acknowledgement_says_which_order_it_is_and_nothing_else() -> None:
    rows = granted_rows()
    one = arbitrage_of(rows)
    known = finished(rows, "buy", open_order("order-1"), SETTINGS, close)
    assert arbitrage_of(known).legs == (replace(one.legs[0], exchange_order_id="order-1"), one.legs[1])
    assert arbitrage_of(known).times == one.times
    assert finished(known, "buy", open_order("order-2"), SETTINGS, close) is known
    waits = waiting()
    assert finished(waits, "complete", open_order("order-1"), SETTINGS, close) is waits


def open_order(exchange_order_id: str) -> OrderReport:
    return OrderReport(exchange_order_id, is_final=False, filled=Amount(ZERO), fills=())


def test_an_order_that_was_refused_at_the_wire_is_not_sent_and_nobody_looks_for_it() -> None:
    rows = granted_rows()
    refused = OrderReport("", True, Amount(ZERO), (), is_posted=False, reason="halted")
    after = finished(rows, "buy", refused, SETTINGS, close)
    denied = finished(rows, "buy", None, SETTINGS, close)
    assert (leg_of(after, "buy").state, leg_of(after, "buy").is_unposted) == ("not_sent", True)
    assert (leg_of(denied, "buy").state, leg_of(denied, "buy").is_unposted) == ("not_sent", False)
    assert leg_of(after, "buy").reason == "halted"
    assert after.balance("alpha", "USD") == denied.balance("alpha", "USD") == opened_rows().balance("alpha", "USD")


@pytest.mark.parametrize("state", ["reserved", "granted"])
def test_an_order_that_may_have_left_is_never_sent_again(state: LegState) -> None:
    denied = arbitrage_of(finished(granted_rows(), "buy", None, SETTINGS, close))
    again = replace(denied, legs=tuple(replace(leg, state=state) for leg in denied.legs if leg.role == "buy"))
    with pytest.raises(IllegalStepError, match=f"not_sent → {state}"):
        with_history(denied, again, MOMENT)


@given(calls=reports, cuts=st.lists(st.booleans(), min_size=8, max_size=8))
def test_results_are_booked_alike_in_one_transaction_or_in_many(calls: Reports, cuts: list[bool]) -> None:
    """While the arbitrage is open: after its end a late fill has a transaction of its own."""
    rows = granted_rows()
    results = []
    for side, numbers in calls:
        fills = tuple(fill(leg_of(rows, side), number) for number in numbers)
        report = OrderReport("order", is_final=True, filled=Amount(total(one.amount for one in fills)), fills=fills)
        results.append(result_of("opportunity-1", leg_of(rows, side), report))
        if {one.role for one in results} == set(SIDES):
            break
    at_once = booked(rows, results, SETTINGS, close)
    apart, ledger, waiting_results = rows, list[Fill](), list[OrderResult]()
    for result, is_cut in zip(results, cuts, strict=False):
        waiting_results.append(result)
        if is_cut or result is results[-1]:
            apart = booked(replace(apart, booked=()), waiting_results, SETTINGS, close)
            ledger += apart.booked
            waiting_results = []
    assert sorted(ledger, key=fill_key) == sorted(at_once.booked, key=fill_key)
    assert replace(apart, booked=(), arbitrage=None) == replace(at_once, booked=(), arbitrage=None)
    one, other = arbitrage_of(apart), arbitrage_of(at_once)
    assert replace(one, history=()) == replace(other, history=())


def test_what_nobody_can_say_ends_the_arbitrage_without_a_further_order() -> None:
    """As soon as its other leg has ended, and again after a late fill of that one."""
    rows = granted_rows()
    buy, sell = leg_of(rows, "buy"), leg_of(rows, "sell")
    lost = result_of("opportunity-1", buy, None, "order_lost")
    alone = booked(rows, [lost], SETTINGS, complete("0.5"))
    assert (arbitrage_of(alone).state, leg_of(alone, "buy").unresolved) == ("reserved", "order_lost")
    sold = result_of("opportunity-1", sell, filled(sell))
    after = booked(alone, [sold], SETTINGS, complete("0.5"))
    assert (arbitrage_of(after).state, arbitrage_of(after).reason) == ("residual", "order_lost")
    assert [leg.role for leg in arbitrage_of(after).legs] == ["buy", "sell"]
    late = result_of("opportunity-1", sell, filled(sell, Decimal("0.1"), "2"))
    again = booked(replace(after, booked=()), [late], SETTINGS, complete("0.5"))
    assert (arbitrage_of(again).state, arbitrage_of(again).reason) == ("residual", "order_lost")
    found = result_of("opportunity-1", buy, filled(buy))
    known = booked(replace(again, booked=()), [found], SETTINGS, close)
    assert (arbitrage_of(known).state, leg_of(known, "buy").unresolved) == ("closed", None)


def test_a_result_of_an_order_that_has_another_in_its_place_changes_nothing() -> None:
    rows = granted_rows()
    before = replace(leg_of(rows, "buy"), client_order_id="the one before")
    assert booked(rows, [result_of("opportunity-1", before, None)], SETTINGS, close) is rows


@pytest.mark.parametrize("fee_currency", ["BNB", "USD"], ids=["nobody can value it", "valued"])
@pytest.mark.parametrize(("later", "is_same_day"), [(3_600_000_000, True), (86_400_000_000, False)])
def test_what_an_arbitrage_counted_is_taken_back_on_the_day_that_counted_it_alone(
    later: int, is_same_day: bool, fee_currency: str
) -> None:
    rows, _ = reserved(opened_rows(), replace(request("2"), unit_notional=Decimal(100)))
    report = filled(leg_of(rows, "buy"))
    paid = replace(report.fills[0], fee=Decimal(50), fee_currency=fee_currency)
    ending = advancing(MARKETS)
    answers: list[tuple[Side, OrderReport]] = [
        ("buy", replace(report, fills=(paid,))),
        ("sell", filled(leg_of(rows, "sell"))),
    ]
    for role, one in answers:
        rows = finished(rows, role, one, SETTINGS, ending)
    counted = day_result(arbitrage_of(rows))
    assert (arbitrage_of(rows).state, rows.day_net) == ("closed", counted)
    assert counted < 0
    today = replace(rows, now=rows.now + later, day_net=rows.day_net if is_same_day else Decimal(7))
    assert today.reopened().day_net == (ZERO if is_same_day else Decimal(7))


def test_a_result_of_no_leg_is_a_bug() -> None:
    rows = granted_rows()
    other = replace(leg_of(rows, "buy"), role="flatten")
    with pytest.raises(IllegalStepError, match="no flatten leg"):
        booked(rows, [result_of("opportunity-1", other, None)], SETTINGS, close)
