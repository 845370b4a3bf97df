"""What fills do to the books, in whatever portions and order they are reported."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.instruments.orders import Fill, OrderReport, Side
from market.money import ZERO, Amount, Price, total
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.leases import UNFENCED
from market.trade.leg_lifecycle import finished, sending
from market.trade.lifecycle import IllegalStepError, Moment, with_history
from market.trade.reservation_state import BalanceRow, ReservationState, fill_key
from market.trade.reservations import reserved
from tests.store.reservation_requests import OPENING, SETTINGS, close, opportunity, request

NOW = 1_700_000_000_000_000
MOMENT = Moment(NOW, UNFENCED)
SIDES: tuple[Side, Side] = ("buy", "sell")

Reports = list[tuple[Side, list[int]]]
"""Which fills of which leg are reported, call by call."""


def sending_rows() -> ReservationState:
    rows = ReservationState(now=NOW, opportunity=opportunity(), by=UNFENCED)
    for exchange, amounts in OPENING.items():
        for currency, amount in amounts.items():
            rows = rows.with_balance(BalanceRow(exchange, currency, amount, ZERO))
    for side in SIDES:
        rows, _ = reserved(rows, request(side, "2"))
    one = sending(arbitrage_of(rows), "buy", MOMENT, SETTINGS)
    return replace(rows, arbitrage=sending(one, "sell", MOMENT, SETTINGS))


def arbitrage_of(rows: ReservationState) -> Arbitrage:
    assert rows.arbitrage is not None
    return rows.arbitrage


def leg_of(rows: ReservationState, side: Side) -> Leg:
    leg = arbitrage_of(rows).leg(side)
    assert leg is not None
    return leg


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
    rows = sending_rows()
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
    rows = sending_rows()
    first = fill(leg_of(rows, "buy"), 1)
    report = OrderReport("order", is_final=True, filled=first.amount, fills=(first,))
    booked = finished(rows, "buy", report, SETTINGS, close)
    under_old_key = replace(booked, known_fills={f"{first.exchange}|{first.fill_id}"}, booked=())
    again = finished(under_old_key, "buy", report, SETTINGS, close)
    assert again is under_old_key
    later = fill(leg_of(rows, "buy"), 2)
    both = OrderReport("order", is_final=True, filled=Amount(first.amount + later.amount), fills=(first, later))
    assert finished(under_old_key, "buy", both, SETTINGS, close).booked == (later,)


def fills_of(rows: ReservationState, side: Side, numbers: list[int]) -> list[Fill]:
    return [fill(leg_of(rows, side), number) for number in numbers]


def test_a_leg_is_marked_sent_only_when_the_last_one_left() -> None:
    rows = sending_rows()
    first = replace(arbitrage_of(rows), times={}, legs=tuple(replace(leg, state="reserved") for leg in legs(rows)))
    one = sending(first, "buy", Moment(NOW + 1, UNFENCED), SETTINGS)
    both = sending(one, "sell", Moment(NOW + 2, UNFENCED), SETTINGS)
    assert "sent" not in one.times
    assert both.times["sent"] == NOW + 2
    assert sending(both, "sell", Moment(NOW + 3, UNFENCED), SETTINGS) is both


def legs(rows: ReservationState) -> tuple[Leg, ...]:
    return arbitrage_of(rows).legs


def test_a_leg_that_was_once_being_sent_is_never_reserved_again() -> None:
    denied = arbitrage_of(finished(sending_rows(), "buy", None, SETTINGS, close))
    again = replace(denied, legs=tuple(replace(leg, state="reserved") for leg in denied.legs if leg.role == "buy"))
    with pytest.raises(IllegalStepError, match="not_sent → reserved"):
        with_history(denied, again, MOMENT)
