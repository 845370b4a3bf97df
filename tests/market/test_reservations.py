"""Reserving: limits one by one, and what must hold for any wishes in any order."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.instruments.orders import Side
from market.money import ZERO, floor_to_step
from market.trade.leases import UNFENCED
from market.trade.reservation_state import BalanceRow, PairRow, ReservationState, half_key, liquidity_key
from market.trade.reservations import RESERVE_WITHIN, SEND_WITHIN, Reservation, expired, reserved
from tests.market.samples import settings_of
from tests.store.reservation_requests import STEP, opportunity, request

NOW = 1_700_000_000_000_000


def rows_of(usd: str = "1000", btc: str = "10") -> ReservationState:
    rows = ReservationState(now=NOW, opportunity=opportunity(), by=UNFENCED)
    rows = rows.with_balance(BalanceRow("alpha", "USD", Decimal(usd), ZERO))
    return rows.with_balance(BalanceRow("beta", "BTC", Decimal(btc), ZERO))


def totals(rows: ReservationState) -> Mapping[tuple[str, str], Decimal]:
    return {key: row.free + row.held for key, row in rows.balances.items()}


BUY_LIQUIDITY = liquidity_key(opportunity(), "buy")

REJECTED = [
    ("stopping", replace(rows_of(), reservations_open=False), request("buy")),
    ("too_many_open", replace(rows_of(), open_arbitrages=4), request("buy")),
    ("pair_busy", replace(rows_of(), pair=PairRow("another", 0)), request("buy")),
    ("pair_busy", replace(rows_of(), awaiting_second_leg={half_key(opportunity(), "buy"): "another"}), request("buy")),
    (
        "cooling_down",
        replace(rows_of(), pair=PairRow(None, NOW - 199_999)),
        request("buy", settings=settings_of(cool_down_ms=200)),
    ),
    ("liquidity_used", replace(rows_of(), liquidity={BUY_LIQUIDITY: Decimal(5)}), request("buy")),
    ("liquidity_used", replace(rows_of(), liquidity={BUY_LIQUIDITY: Decimal("4.5")}), request("buy", minimum="1")),
    ("insufficient_balance", rows_of(usd="0"), request("buy")),
    ("insufficient_balance", rows_of(usd="99"), request("buy", minimum="1")),
    ("insufficient_balance", ReservationState(now=NOW, opportunity=opportunity(), by=UNFENCED), request("buy")),
    ("too_small", rows_of(), request("buy", "0.5", minimum="1")),
    ("too_small", rows_of(), request("buy", "0.00009")),
    ("too_small", rows_of(), request("sell", "0.0001", minimum="0", factor="0.5")),
]


@pytest.mark.parametrize(("reason", "rows", "wanted"), REJECTED)
def test_a_first_leg_is_rejected_with_the_reason(reason: str, rows: ReservationState, wanted: Reservation) -> None:
    after, result = reserved(rows, wanted)
    assert (result.arbitrage, result.rejection) == (None, reason)
    assert after is rows


def test_the_pair_is_free_again_once_it_cooled_down() -> None:
    rows = replace(rows_of(), pair=PairRow(None, NOW - 200_000))
    _, result = reserved(rows, request("buy", settings=settings_of(cool_down_ms=200)))
    assert result.rejection is None


def test_the_first_takes_what_is_left_of_balance_and_liquidity() -> None:
    _, by_balance = reserved(rows_of(usd="150.15"), request("buy", "2"))
    _, by_liquidity = reserved(replace(rows_of(), liquidity={BUY_LIQUIDITY: Decimal("4.3")}), request("buy", "2"))
    assert by_balance.arbitrage is not None
    assert by_liquidity.arbitrage is not None
    assert by_balance.arbitrage.amount == Decimal("1.5")
    assert by_liquidity.arbitrage.amount == Decimal("0.7")


def test_the_second_fixes_the_amount_and_trims_the_first() -> None:
    half, _ = reserved(rows_of(), request("buy", "2"))
    after, result = reserved(replace(half, now=NOW + 1_000), request("sell", "1.23456"))
    arbitrage = result.arbitrage
    assert arbitrage is not None
    assert arbitrage.state == "reserved"
    assert [leg.amount for leg in arbitrage.legs] == [Decimal("1.2345"), Decimal("1.2345")]
    assert arbitrage.legs[0].held == Decimal("1.2345") * Decimal("100.1") == after.balance("alpha", "USD").held
    assert arbitrage.send_by == NOW + 1_000 + SEND_WITHIN
    assert set(after.liquidity.values()) == {Decimal("1.2345")}
    assert set(after.awaiting_second_leg.values()) == {None}
    assert after.open_arbitrages == 1


def test_a_leg_pays_for_a_fee_in_base_by_its_factor() -> None:
    half, _ = reserved(rows_of(), request("buy", "2"))
    _, result = reserved(half, request("sell", "2", factor="0.999"))
    assert result.arbitrage is not None
    assert [leg.amount for leg in result.arbitrage.legs] == [Decimal(2), Decimal("1.998")]


def test_the_same_request_again_changes_nothing() -> None:
    half, first = reserved(rows_of(), request("buy"))
    again, repeated = reserved(half, request("buy"))
    assert again is half
    assert repeated == first


@pytest.mark.parametrize("late_by", [0, 1])
def test_a_half_reservation_is_joined_in_time_or_expired_never_both(late_by: int) -> None:
    half, _ = reserved(rows_of(), request("buy"))
    then = replace(half, now=NOW + RESERVE_WITHIN + late_by)
    joined, result = reserved(then, request("sell"))
    ended = expired(then)
    assert (joined is then, ended is then) == ((True, False) if late_by else (False, True))
    assert result.rejection == ("expired" if late_by else None)


def test_expiry_gives_everything_back() -> None:
    half, _ = reserved(rows_of(), request("buy"))
    ended = expired(replace(half, now=NOW + RESERVE_WITHIN + 1))
    assert ended.arbitrage is not None
    assert (ended.arbitrage.state, ended.arbitrage.reason) == ("expired", "no_counterpart")
    assert ended.balance("alpha", "USD") == rows_of().balance("alpha", "USD")
    assert ended.liquidity[BUY_LIQUIDITY] == 0
    assert (ended.open_arbitrages, ended.pair.arbitrage_id) == (0, None)
    _, result = reserved(ended, request("sell"))
    assert result.rejection == "expired"


def test_a_leg_holds_one_currency_only() -> None:
    with pytest.raises(ValueError, match="cannot hold EUR"):
        reserved(rows_of(), replace(request("sell"), hold_currency="EUR"))


amounts = st.decimals(min_value="0", max_value="20", places=6)
sides: st.SearchStrategy[tuple[Side, Side]] = st.sampled_from([("buy", "sell"), ("sell", "buy")])


@st.composite
def reservation_requests(draw: st.DrawFn, side: Side) -> Reservation:
    one = request(
        side,
        str(draw(amounts)),
        displayed=str(draw(amounts)),
        minimum=str(draw(st.decimals(min_value="0", max_value="0.01", places=4))),
        factor=str(draw(st.sampled_from(["1", "0.999", "0.9985"]))),
    )
    if side == "buy":
        return replace(one, hold_per_unit=draw(st.decimals(min_value="0.01", max_value="99999", places=5)))
    return one


@given(
    first=reservation_requests("buy"),
    second=reservation_requests("sell"),
    order=st.booleans(),
    usd=amounts,
    btc=amounts,
)
def test_no_requests_hold_more_than_there_is(
    first: Reservation, second: Reservation, order: bool, usd: Decimal, btc: Decimal
) -> None:
    start = rows_of(str(usd * 1_000), str(btc))
    one, other = (first, second) if order else (second, first)
    half, opened = reserved(start, one)
    after, joined = reserved(half, other)
    for rows in (half, after, expired(replace(half, now=NOW + RESERVE_WITHIN + 1))):
        assert totals(rows) == totals(start)
        assert all(row.free >= 0 and row.held >= 0 for row in rows.balances.values())
    if opened.arbitrage is not None and joined.arbitrage is not None and joined.arbitrage.state == "reserved":
        arbitrage = joined.arbitrage
        assert arbitrage.amount <= opened.arbitrage.amount
        assert arbitrage.amount == floor_to_step(arbitrage.amount, STEP)
        assert arbitrage.amount >= max(first.minimum_amount, second.minimum_amount)
        for wanted in (first, second):
            leg = arbitrage.leg(wanted.leg.role)
            assert leg is not None
            assert leg.amount == floor_to_step(arbitrage.amount * wanted.leg_factor, wanted.leg_step)
            assert leg.amount <= min(wanted.leg.amount, wanted.displayed_amount)
            assert (
                after.balance(leg.exchange, wanted.hold_currency).held == leg.held == leg.amount * wanted.hold_per_unit
            )


@given(steps=st.lists(st.tuples(st.sampled_from(["buy", "sell"]), st.integers(0, 400_000)), max_size=12))
def test_any_interleaving_gives_one_reservation_per_leg(steps: list[tuple[Side, int]]) -> None:
    rows = start = rows_of()
    seen = set()
    for side, pause in steps:
        rows = replace(rows, now=rows.now + pause)
        rows, _ = reserved(expired(rows), request(side))
        if rows.arbitrage is not None:
            seen.add(rows.arbitrage.state)
            assert len({leg.role for leg in rows.arbitrage.legs}) == len(rows.arbitrage.legs) <= 2
            assert (rows.arbitrage.state == "reserved") == (len(rows.arbitrage.legs) == 2)
            assert rows.open_arbitrages == (0 if rows.arbitrage.state == "expired" else 1)
    assert not {"expired", "reserved"} <= seen
    assert totals(rows) == totals(start)
