"""Reserving: limits one by one, and what must hold for any wishes in any order."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.instruments.orders import Side
from market.money import ZERO, floor_to_step, total
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage
from market.trade.inflight_orders import inflight_key
from market.trade.leases import UNFENCED, Actor, Lease
from market.trade.reservation_state import BalanceRow, PairRow, ReservationState, liquidity_key
from market.trade.reservations import SEND_WITHIN, LegRequest, Reservation, reserved
from tests.market.samples import settings_of
from tests.store.reservation_requests import STEP, opportunity, request

NOW = 1_700_000_000_000_000


def rows_of(usd: str = "1000", btc: str = "10") -> ReservationState:
    rows = ReservationState(now=NOW, opportunity=opportunity(), by=UNFENCED)
    rows = rows.with_balance(BalanceRow("alpha", "USD", Decimal(usd), ZERO))
    return rows.with_balance(BalanceRow("beta", "BTC", Decimal(btc), ZERO))


def totals(rows: ReservationState) -> Mapping[tuple[str, str], Decimal]:
    return {key: row.free + row.held for key, row in rows.balances.items()}


def used(side: Side, amount: str) -> ReservationState:
    """Return rows in which others took the quote's liquidity."""
    return replace(rows_of(), liquidity={liquidity_key(opportunity(), side): Decimal(amount)})


def displaying(side: Side, amount: str) -> Reservation:
    """One of the legs sees less than the other."""
    made = request("2")
    legs = tuple(replace(one, displayed=Decimal(amount)) if one.leg.side == side else one for one in made.legs)
    return replace(made, legs=legs)


def limited(**limits: Decimal) -> Reservation:
    """Return settings in which a unit counts 100."""
    return replace(request("2", settings=settings_of(**limits)), unit_notional=Decimal(100))


def at_bitflyer(side: Side) -> Reservation:
    """Its leg of `side` is on an exchange without client ids."""
    made = request()
    legs = tuple(
        replace(one, leg=replace(one.leg, exchange="bitflyer")) if one.leg.side == side else one for one in made.legs
    )
    return replace(made, legs=legs)


def in_flight(wanted: Reservation) -> ReservationState:
    """Another arbitrage's orders of the same symbols and sides have not landed."""
    rows = rows_of().with_balance(BalanceRow("bitflyer", "USD", Decimal(1_000), ZERO))
    rows = rows.with_balance(BalanceRow("bitflyer", "BTC", Decimal(10), ZERO))
    return replace(rows, in_flight={inflight_key(one.leg): "another:buy" for one in wanted.legs})


COOLING = settings_of(cool_down_ms=200)
REJECTED = [
    ("stopping", replace(rows_of(), reservations_open=False), request()),
    ("too_many_open", replace(rows_of(), open_arbitrages=4), request()),
    ("pair_busy", replace(rows_of(), pair=PairRow("another", 0)), request()),
    ("cooling_down", replace(rows_of(), pair=PairRow(None, NOW - 199_999)), request(settings=COOLING)),
    ("exchange_paused", replace(rows_of(), paused_until={"alpha": NOW + 1}), request()),
    ("exchange_paused", replace(rows_of(), paused_until={"beta": NOW + 1}), request()),
    ("unexplained_difference", replace(rows_of(), unexplained=("beta",)), request()),
    ("leg_in_flight", in_flight(at_bitflyer("buy")), at_bitflyer("buy")),
    ("leg_in_flight", in_flight(at_bitflyer("sell")), at_bitflyer("sell")),
    ("liquidity_used", used("buy", "5"), request()),
    ("liquidity_used", used("sell", "5"), request()),
    ("insufficient_balance", rows_of(usd="0"), request()),
    ("insufficient_balance", rows_of(btc="0"), request()),
    ("insufficient_balance", ReservationState(now=NOW, opportunity=opportunity(), by=UNFENCED), request()),
    ("too_small", rows_of(), request("0.00009")),
    ("too_small", rows_of(), request("0.0001", minimum="0", factor="0.5")),
]


@pytest.mark.parametrize(("reason", "rows", "wanted"), REJECTED)
def test_a_trade_is_rejected_whole_with_the_reason(reason: str, rows: ReservationState, wanted: Reservation) -> None:
    after, result = reserved(rows, wanted)
    assert (result.arbitrage, result.rejection) == (None, reason)
    assert after is rows


CAPS = {
    "amount": (rows_of(), request("1.5"), "too_small"),
    "amount off the step": (rows_of(), request("1.50009"), "too_small"),
    "displayed to buy": (rows_of(), displaying("buy", "1.5"), "liquidity_used"),
    "displayed to sell": (rows_of(), displaying("sell", "1.5"), "liquidity_used"),
    "left to buy": (used("buy", "3.5"), request("2"), "liquidity_used"),
    "left to sell": (used("sell", "3.5"), request("2"), "liquidity_used"),
    "balance to buy": (rows_of(usd="150.15"), request("2"), "insufficient_balance"),
    "balance to sell": (rows_of(btc="1.5"), request("2"), "insufficient_balance"),
    "total notional": (rows_of(), limited(max_total_notional=Decimal(150)), "total_limit"),
    "asset notional": (rows_of(), limited(max_asset_notional=Decimal(150)), "asset_limit"),
    "exchange notional": (rows_of(), limited(max_exchange_notional=Decimal(150)), "exchange_limit"),
}


@pytest.mark.parametrize("name", CAPS)
def test_both_legs_take_what_the_narrowest_limit_leaves_or_neither_anything(name: str) -> None:
    """Each of them leaves one and a half."""
    rows, wanted, reason = CAPS[name]
    after, result = reserved(rows, replace(wanted, minimum_amount=Decimal("1.5")))
    assert result.arbitrage is not None
    assert result.arbitrage == after.arbitrage
    assert [result.arbitrage.amount, *(leg.amount for leg in result.arbitrage.legs)] == [Decimal("1.5")] * 3
    assert after.balance("alpha", "USD").held == Decimal("150.15")
    assert after.balance("beta", "BTC").held == Decimal("1.5")
    unchanged, rejected = reserved(rows, replace(wanted, minimum_amount=Decimal("1.5001")))
    assert (rejected.arbitrage, rejected.rejection) == (None, reason)
    assert unchanged is rows


def test_one_step_reserves_and_grants_both_legs() -> None:
    after, result = reserved(rows_of(), request("1.23456"))
    arbitrage = result.arbitrage
    assert arbitrage is not None
    assert (arbitrage.state, arbitrage.amount, arbitrage.send_by) == ("reserved", Decimal("1.2345"), NOW + SEND_WITHIN)
    assert [(leg.role, leg.state, leg.amount, leg.held) for leg in arbitrage.legs] == [
        ("buy", "granted", Decimal("1.2345"), Decimal("1.2345") * Decimal("100.1")),
        ("sell", "granted", Decimal("1.2345"), Decimal("1.2345")),
    ]
    assert [leg.times for leg in arbitrage.legs] == [{"reserved": NOW, "granted": NOW}] * 2
    assert arbitrage.times["reserved"] == NOW
    assert [(step.what, step.at) for step in arbitrage.history] == [
        ("buy granted", NOW),
        ("sell granted", NOW),
        ("reserved", NOW),
    ]
    assert after.balance("alpha", "USD") == BalanceRow("alpha", "USD", Decimal("876.42655"), Decimal("123.57345"))
    assert after.balance("beta", "BTC") == BalanceRow("beta", "BTC", Decimal("8.7655"), Decimal("1.2345"))
    assert after.liquidity == {
        liquidity_key(opportunity(), "buy"): Decimal("1.2345"),
        liquidity_key(opportunity(), "sell"): Decimal("1.2345"),
    }
    assert (after.open_arbitrages, after.pair) == (1, PairRow("opportunity-1", NOW))


@pytest.mark.parametrize("side", ["buy", "sell"])
def test_a_leg_that_the_exchange_could_not_tell_from_another_is_the_only_one_in_flight(side: Side) -> None:
    wanted = at_bitflyer(side)
    rows = replace(in_flight(wanted), in_flight={})
    after, result = reserved(rows, wanted)
    assert result.rejection is None
    (key,) = (inflight_key(one.leg) for one in wanted.legs if one.leg.exchange == "bitflyer")
    assert after.in_flight == {key: f"opportunity-1:{side}"}


def test_the_notional_of_what_was_matched_counts_at_both_exchanges_once() -> None:
    after, result = reserved(rows_of(), replace(request("1.5"), unit_notional=Decimal(100)))
    assert result.arbitrage is not None
    assert result.arbitrage.notional == 150
    assert set(after.notional.values()) == {Decimal(150)}
    assert len(after.notional) == 4


def test_the_pair_is_free_again_once_it_cooled_down() -> None:
    rows = replace(rows_of(), pair=PairRow(None, NOW - 200_000))
    _, result = reserved(rows, request(settings=COOLING))
    assert result.rejection is None


def test_a_leg_pays_for_a_fee_in_base_by_its_factor() -> None:
    _, result = reserved(rows_of(), request("2", factor="0.999"))
    assert result.arbitrage is not None
    assert [leg.amount for leg in result.arbitrage.legs] == [Decimal(2), Decimal("1.998")]


def test_the_same_request_again_changes_nothing_however_late_it_comes() -> None:
    once, first = reserved(rows_of(), request())
    later = replace(once, now=NOW + 60_000_000)
    again, repeated = reserved(later, replace(request("9"), valid_until=NOW + 1))
    assert again is later
    assert repeated == first


@pytest.mark.parametrize(("valid_until", "rejection"), [(None, None), (NOW + 1, None), (NOW, "expired")])
def test_what_is_over_is_not_reserved(valid_until: int | None, rejection: str | None) -> None:
    rows = rows_of()
    after, result = reserved(rows, replace(request(), valid_until=valid_until))
    assert (result.rejection, after is rows) == (rejection, rejection is not None)


@pytest.mark.parametrize("side", ["buy", "sell"])
def test_a_leg_holds_one_currency_only(side: Side) -> None:
    made = request()
    legs = tuple(replace(one, hold_currency="EUR") if one.leg.side == side else one for one in made.legs)
    with pytest.raises(ValueError, match=f"a {side} leg of .* cannot hold EUR"):
        reserved(rows_of(), replace(made, legs=legs))


def test_an_order_of_one_leg_is_reserved_and_granted_alone() -> None:
    made = request("1.5")
    after, result = reserved(rows_of(btc="0"), replace(made, legs=made.legs[:1], strategy="ma"))
    assert result.arbitrage is not None
    assert [(leg.role, leg.state, leg.amount) for leg in result.arbitrage.legs] == [("buy", "granted", Decimal("1.5"))]
    assert (result.arbitrage.state, result.arbitrage.strategy) == ("reserved", "ma")
    assert after.balance("alpha", "USD").held == Decimal("150.15")


BOT = Actor("alpha-1", "alpha", 3)
READY = {
    "alpha": Lease("alpha", "alpha-1", 3, NOW + 1, veto=None),
    "beta": Lease("beta", "beta-1", 8, NOW + 1, veto=None),
}


def of_bot(leases: dict[str, Lease] | None) -> ReservationState:
    return replace(rows_of(), by=BOT, leases=leases)


def without(exchange: str) -> dict[str, Lease]:
    return {name: lease for name, lease in READY.items() if name != exchange}


def test_each_leg_is_granted_with_the_token_of_its_exchange() -> None:
    _, result = reserved(of_bot(READY), request())
    assert result.arbitrage is not None
    assert [(leg.exchange, leg.token) for leg in result.arbitrage.legs] == [("alpha", 3), ("beta", 8)]


def test_where_nobody_needs_a_lease_nobody_has_a_token() -> None:
    _, result = reserved(of_bot(None), request())
    assert result.arbitrage is not None
    assert [leg.token for leg in result.arbitrage.legs] == [0, 0]


@pytest.mark.parametrize("exchange", ["alpha", "beta"])
@pytest.mark.parametrize(
    ("changed", "rejection"),
    [
        (None, "no_bot"),
        ({"until": NOW}, "no_bot"),
        ({"veto": "no_bot"}, "no_bot"),
        ({"veto": "bot_draining"}, "bot_draining"),
        ({"veto": "account_rejected"}, "account_rejected"),
    ],
    ids=["nobody", "ran out", "not ready", "draining", "rejected"],
)
def test_both_legs_need_a_bot_that_is_willing(exchange: str, changed: dict[str, object] | None, rejection: str) -> None:
    leases = without(exchange)
    if changed is not None:
        leases[exchange] = replace(READY[exchange], **changed)  # type: ignore[arg-type]  # of a table of cases
    rows = of_bot(leases)
    after, result = reserved(rows, request())
    assert (result.arbitrage, result.rejection) == (None, rejection)
    assert after is rows


def test_others_leases_matter_to_nobody() -> None:
    others = READY | {"gamma": Lease("gamma", "gamma-1", 1, NOW, veto="bot_draining")}
    assert reserved(of_bot(others), request())[1].rejection is None


def test_an_order_of_one_leg_needs_its_own_bot_only() -> None:
    made = request()
    one = replace(made, legs=made.legs[:1], strategy="ma")
    assert reserved(of_bot(without("beta")), one)[1].rejection is None
    assert reserved(of_bot(without("alpha")), one)[1].rejection == "no_bot"


def test_a_missing_bot_is_the_reason_after_the_limits_and_before_an_order_in_flight_or_a_balance() -> None:
    busy = replace(in_flight(at_bitflyer("buy")), by=BOT, leases=without("beta"), balances={})
    ready = READY | {"bitflyer": Lease("bitflyer", "bitflyer-1", 1, NOW + 1, veto=None)}
    stopped = replace(busy, reservations_open=False)
    free = replace(busy, leases=ready, in_flight={})
    assert [
        reserved(rows, at_bitflyer("buy"))[1].rejection for rows in (stopped, busy, replace(busy, leases=ready))
    ] == [
        "stopping",
        "no_bot",
        "leg_in_flight",
    ]
    assert reserved(free, at_bitflyer("buy"))[1].rejection == "insufficient_balance"


amounts = st.decimals(min_value="0", max_value="20", places=6)
OPPORTUNITIES = tuple(opportunity(f"opportunity-{index}", sequence=index) for index in range(3))
MANY = settings_of(max_open_arbitrages=1_000)


@st.composite
def reservation_requests(draw: st.DrawFn) -> Reservation:
    """Draw requests of few opportunities, so that many come twice, some of them with other liquidity than before."""
    of = draw(st.sampled_from(OPPORTUNITIES))
    seen: Opportunity = draw(st.sampled_from([of, replace(of, sell=OPPORTUNITIES[0].sell)]))
    made = request(
        str(draw(amounts)), seen, MANY, minimum=str(draw(st.decimals(min_value="0", max_value="0.01", places=4)))
    )
    buy, sell = made.legs
    buy = replace(buy, hold_per_unit=draw(st.decimals(min_value="0.01", max_value="99999", places=5)))
    return replace(made, legs=(drawn(draw, buy), drawn(draw, sell)))


def drawn(draw: st.DrawFn, one: LegRequest) -> LegRequest:
    factor = Decimal(draw(st.sampled_from(["1", "0.999", "0.9985"])))
    return replace(one, displayed=draw(amounts), factor=factor)


@dataclass(slots=True)
class Books:
    """Rows of several opportunities, one after the other, as a store keeps them."""

    rows: ReservationState
    kept: dict[str, Arbitrage]

    def reserve(self, wanted: Reservation) -> tuple[ReservationState, Arbitrage | None]:
        """Return the rows before, and the arbitrage."""
        of = wanted.opportunity
        before = replace(self.rows, opportunity=of, arbitrage=self.kept.get(of.opportunity_id), pair=PairRow())
        self.rows, result = reserved(before, wanted)
        assert (self.rows is before) == (result.arbitrage is None or before.arbitrage is not None)
        if result.arbitrage is not None:
            self.kept.setdefault(of.opportunity_id, result.arbitrage)
        return before, result.arbitrage


@given(wishes=st.lists(reservation_requests(), max_size=6), usd=amounts, btc=amounts)
def test_no_requests_in_any_order_hold_more_than_there_is(
    wishes: list[Reservation], usd: Decimal, btc: Decimal
) -> None:
    start = rows_of(str(usd * 1_000), str(btc))
    books = Books(start, {})
    for wanted in wishes:
        before, arbitrage = books.reserve(wanted)
        assert totals(books.rows) == totals(start)
        assert all(row.free >= 0 and row.held >= 0 for row in books.rows.balances.values())
        assert books.rows.open_arbitrages == len(books.kept)
        assert total(row.held for row in books.rows.balances.values()) == total(
            leg.held for one in books.kept.values() for leg in one.legs
        )
        if before.arbitrage is not None:
            assert arbitrage == before.arbitrage
        elif arbitrage is not None:
            check_sizes(before, wanted, arbitrage)


def check_sizes(before: ReservationState, wanted: Reservation, arbitrage: Arbitrage) -> None:
    """Both legs, sized by their factors, within what each side shows and holds."""
    assert [leg.role for leg in arbitrage.legs] == ["buy", "sell"]
    assert arbitrage.amount == floor_to_step(arbitrage.amount, STEP)
    assert wanted.minimum_amount <= arbitrage.amount <= wanted.amount
    for leg, one in zip(arbitrage.legs, wanted.legs, strict=True):
        assert leg.amount == floor_to_step(arbitrage.amount * one.factor, one.step) > 0
        taken = before.liquidity.get(liquidity_key(wanted.opportunity, leg.side), ZERO)
        assert leg.amount <= arbitrage.amount <= one.displayed - taken
        assert leg.held == leg.amount * one.hold_per_unit <= before.balance(leg.exchange, one.hold_currency).free
