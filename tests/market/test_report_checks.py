"""Which reports of an order can be true of it; each lie is found by the check that the table names, and by no other."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.decide.market_rules import rules_of
from market.instruments.markets import Market
from market.instruments.orders import Fill, OrderReport, Side, StatedOrder
from market.money import ZERO, Amount, Price, total
from market.trade.arbitrages import Leg
from market.trade.report_checks import CHECKS, SETTLED_BY_BALANCES, ReportRules, Subject
from tests.market.samples import JPY_MARKET, USD_MARKET, fill_of, order_leg, settings_of

AMOUNT = Decimal("0.05")
LIMIT = {"BTC/USD": Decimal(6_000), "BTC/JPY": Decimal(900_000)}
MARKETS = {(market.exchange, market.symbol): market for market in (USD_MARKET, JPY_MARKET)}
FEES = {"alpha": Decimal("0.001"), "gamma": Decimal("0.0015")}
SETTINGS = settings_of(taker_fees=FEES, enabled_exchanges=tuple(FEES))
RULES = ReportRules(MARKETS, lambda: SETTINGS, lambda _exchange: ("BTC", "USD", "EUR", "XPT"))
EACH = [(market, side) for market in MARKETS.values() for side in ("buy", "sell")]


def leg_on(market: Market, side: Side) -> Leg:
    return order_leg(market, side, AMOUNT, LIMIT[market.symbol])


def stated(leg: Leg) -> StatedOrder:
    return StatedOrder(
        client_order_id=leg.client_order_id,
        symbol=leg.symbol,
        side=leg.side,
        amount=leg.amount,
        price=leg.limit_price,
        average=leg.limit_price,
        orders_of_fills=frozenset({"exchange-1"}),
    )


def report_of(leg: Leg, *fills: Fill) -> OrderReport:
    return OrderReport("exchange-1", True, Amount(total(one.amount for one in fills)), fills, stated=stated(leg))


def true_report(leg: Leg, market: Market, amount: Decimal = AMOUNT) -> OrderReport:
    fill = fill_of(market, leg.side, amount, leg.limit_price)
    fee = (amount if market.fee_side == "base" else fill.cost) * FEES[market.exchange]
    return report_of(leg, replace(fill, fee=fee))


def lied(report: OrderReport, lie: Mapping[str, Any]) -> OrderReport:
    """`fill.x` and `stated.x` are fields of the fill and of what is stated, the others of the report."""
    for place, value in lie.items():
        part, _, field = place.rpartition(".")
        if part == "fill":
            report = replace(report, fills=tuple(replace(one, **{field: value}) for one in report.fills))
        elif part == "stated":
            report = replace(report, stated=replace(report.stated or StatedOrder(), **{field: value}))
        else:
            report = replace(report, **{field: value})
    return report


ODD = Decimal("0.04999")
WITH_NOTHING = tuple(
    fill_of(USD_MARKET, "buy", amount, LIMIT["BTC/USD"], fill_id=name) for amount, name in ((AMOUNT, "1"), (ZERO, "2"))
)
TWICE: dict[str, Any] = {"filled": AMOUNT * 2, "fill.amount": AMOUNT * 2, "fill.cost": Decimal(600)}
LIES: list[tuple[Subject, dict[str, Any]]] = [
    ("order_id", {"exchange_order_id": ""}),
    ("order_id", {"exchange_order_id": "a\x00b"}),
    ("order_id", {"exchange_order_id": "{} "}),
    ("order_id", {"exchange_order_id": "x" * 101}),
    ("order_id", {"stated.orders_of_fills": frozenset({"exchange-1", "exchange-2"})}),
    ("client_id", {"stated.client_order_id": "another"}),
    ("symbol", {"stated.symbol": "ETH/USD"}),
    ("symbol", {"fill.symbol": "ETH/USD"}),
    ("symbol", {"fill.exchange": "beta"}),
    ("side", {"stated.side": "sell"}),
    ("side", {"fill.side": "sell"}),
    ("side", {"stated.side": "sell", "fill.side": "sell"}),
    ("terms", {"stated.amount": AMOUNT * 2}),
    ("terms", {"stated.price": Decimal(60_000)}),
    ("amount", {"filled": -AMOUNT, "fill.amount": -AMOUNT, "fill.cost": Decimal(-300)}),
    ("amount", {"filled": ZERO, "fill.amount": ZERO, "fill.cost": ZERO}),
    ("amount", {"fills": WITH_NOTHING}),
    ("sum", {"filled": AMOUNT / 2}),
    ("sum", {"fill.amount": AMOUNT / 2, "fill.cost": Decimal(150)}),
    ("time", {"fill.filled_at": 10**30}),
    ("time", {"fill.filled_at": -(10**17)}),
    ("overfilled", TWICE),
    ("steps", {"filled": ODD, "fill.amount": ODD, "fill.cost": ODD * LIMIT["BTC/USD"]}),
    ("price", {"fill.price": Decimal(6_001), "fill.cost": Decimal("300.05")}),
    ("price", {"fill.price": Decimal(60_000), "fill.cost": Decimal(3_000)}),
    ("price", {"fill.price": Decimal(600), "fill.cost": Decimal(30)}),
    ("price", {"fill.price": Decimal(-6_000), "fill.cost": Decimal(-300)}),
    ("price", {"fill.price": ZERO, "fill.cost": ZERO}),
    ("price", {"stated.average": Decimal(60_000)}),
    ("cost", {"fill.cost": Decimal(600)}),
    ("cost", {"fill.cost": Decimal(-300)}),
    ("cost", {"fill.cost": ZERO}),
    ("fee", {"fill.fee": Decimal("-0.3")}),
    ("fee", {"fill.fee": Decimal(30)}),
    ("fee", {"fill.fee": Decimal("0.005"), "fill.fee_currency": "BTC"}),
    ("fee", {"fill.fee": Decimal(-1), "fill.fee_currency": "BNB"}),
    ("fee_currency", {"fill.fee_currency": "XYZ"}),
]


@pytest.mark.parametrize(("subject", "lie"), LIES, ids=[f"{name} {list(lie)}" for name, lie in LIES])
def test_each_lie_is_found_by_its_check_alone(subject: Subject, lie: dict[str, Any]) -> None:
    leg = leg_on(USD_MARKET, "buy")
    report = lied(true_report(leg, USD_MARKET), lie)
    doubt = RULES.doubt(leg, report)
    assert doubt is not None
    assert doubt.subject == subject
    others = {name: check for name, check in CHECKS.items() if name != subject}
    left = ReportRules(MARKETS, lambda: SETTINGS, checks=others).doubt(leg, report)
    # a build without the check believes it, unless it is also something else
    assert left is None or left.subject != subject


def test_every_check_is_needed() -> None:
    """Each is the only one that finds some lie of the table, or an order that shrinks."""
    leg = leg_on(USD_MARKET, "buy")
    needed = set()
    for subject, lie in LIES:
        others = {name: check for name, check in CHECKS.items() if name != subject}
        if (
            ReportRules(MARKETS, lambda: SETTINGS, checks=others).doubt(leg, lied(true_report(leg, USD_MARKET), lie))
            is None
        ):
            needed.add(subject)
    assert needed | {"shrunk"} == set(CHECKS)


@pytest.mark.parametrize("seen", ["0.05", "0.0499", "0"])
def test_what_was_filled_does_not_shrink(seen: str) -> None:
    leg = leg_on(USD_MARKET, "buy")
    assert RULES.doubt(leg, true_report(leg, USD_MARKET), Decimal(seen)) is None
    doubt = RULES.doubt(leg, true_report(leg, USD_MARKET, Decimal("0.0498")), Decimal("0.0499"))
    assert doubt is not None
    assert doubt.subject == "shrunk"


def test_an_order_that_was_acknowledged_by_another_id() -> None:
    leg = replace(leg_on(USD_MARKET, "buy"), exchange_order_id="exchange-2")
    doubt = RULES.doubt(leg, true_report(leg, USD_MARKET))
    assert doubt is not None
    assert doubt.subject == "order_id"
    # the acknowledgement may have been the lie
    assert RULES.doubt_beside_balances(leg, true_report(leg, USD_MARKET)) is None


@pytest.mark.parametrize(("subject", "lie"), LIES, ids=[f"{name} {list(lie)}" for name, lie in LIES])
def test_balances_settle_only_what_the_books_have_a_place_for(subject: Subject, lie: dict[str, Any]) -> None:
    leg = leg_on(USD_MARKET, "buy")
    left = RULES.doubt_beside_balances(leg, lied(true_report(leg, USD_MARKET), lie))
    assert (left is None) == (subject in SETTLED_BY_BALANCES)


def honest(leg: Leg, market: Market) -> dict[str, OrderReport]:
    """Return what exchanges truly answer, and what looks odd in it."""
    limit, sign = leg.limit_price, 1 if leg.side == "buy" else -1
    better = Price(limit - sign * limit / 20)
    smallest = fill_of(market, leg.side, market.lot_step, limit)
    two = [replace(fill_of(market, leg.side, AMOUNT / 2, limit), fill_id=name) for name in ("a", "b")]
    true = true_report(leg, market)
    [fill] = true.fills
    return {
        "nothing filled": report_of(leg),
        "one fill": true,
        "two fills": report_of(leg, *two),
        "a part, then cancelled": true_report(leg, market, AMOUNT / 2),
        "a better price": report_of(leg, fill_of(market, leg.side, AMOUNT, better)),
        "a cost rounded down": report_of(leg, replace(fill, cost=fill.cost - Decimal("0.9"))),
        "a fee rounded up": report_of(leg, replace(smallest, fee=Decimal("0.01"), fee_currency=market.quote_currency)),
        "no fee": report_of(leg, replace(fill, fee=ZERO)),
        "a fee in base": report_of(leg, replace(fill, fee=AMOUNT / 500, fee_currency="BTC")),
        "a fee in the exchange's token": report_of(leg, replace(fill, fee=Decimal(50), fee_currency="BNB")),
        "a fee in Bybit's token": report_of(leg, replace(fill, fee=Decimal(50), fee_currency="MNT")),
        "a fee in whatever the account holds": report_of(leg, replace(fill, fee=Decimal(50), fee_currency="XPT")),
        "a higher fee than known": report_of(leg, replace(fill, fee=fill.fee * 3)),
        "a clock two minutes off": report_of(leg, replace(fill, filled_at=120_000_000)),
        "nothing said of the order": replace(true, stated=None),
        "some of it said": replace(true, stated=StatedOrder(side=leg.side)),
        "rejected": OrderReport("", True, Amount(ZERO), ()),
        "not posted": OrderReport("", True, Amount(ZERO), (), is_posted=False, reason="too late"),
    }


@pytest.mark.parametrize(("market", "side"), EACH)
@pytest.mark.parametrize("name", list(honest(leg_on(USD_MARKET, "buy"), USD_MARKET)))
def test_odd_but_honest_reports_are_believed(name: str, market: Market, side: Side) -> None:
    leg = leg_on(market, side)
    assert RULES.doubt(leg, honest(leg, market)[name]) is None


@pytest.mark.parametrize(
    ("began", "in_force", "ordered", "filled", "is_believed"),
    [
        # a finer step in force, a coarser one with orders that rest by the old one, and an order of a step between
        ("0.001", "0.0001", "0.05", "0.0123", True),
        ("0.0001", "0.01", "0.05", "0.0123", True),
        ("0.001", "0.01", "0.0512", "0.0123", True),
        ("0.001", "0.01", "0.05", "0.0123", False),
        ("0.001", "0.0001", "0.05", "0.01234", False),
    ],
)
def test_fills_are_held_to_the_step_in_force_and_to_that_of_the_start(
    began: str, in_force: str, ordered: str, filled: str, is_believed: bool
) -> None:
    market = replace(USD_MARKET, lot_step=Decimal(began))
    changed = rules_of(replace(market, lot_step=Decimal(in_force)))
    settings = SETTINGS.model_copy(update={"market_rules": {"alpha|BTC/USD": changed}})
    rules = ReportRules({("alpha", "BTC/USD"): market}, lambda: settings)
    leg = order_leg(market, "buy", Decimal(ordered), LIMIT["BTC/USD"])
    assert (rules.doubt(leg, true_report(leg, market, Decimal(filled))) is None) == is_believed


YEN = replace(JPY_MARKET, symbol="XLM/JPY", base="XLM", tick_size=Decimal("0.1"), lot_step=Decimal("0.01"))


@pytest.mark.parametrize(
    ("cost", "is_believed"), [("0", True), ("1", True), ("0.808", True), ("-0.1", False), ("2", False)]
)
def test_small_fills_are_booked_in_whole_yen(cost: str, is_believed: bool) -> None:
    """0.02 XLM at 40.4 yen."""
    market = replace(YEN, minimum_amount=Decimal("0.01"))
    leg = order_leg(market, "buy", Decimal(10), Decimal("40.4"))
    fill = replace(fill_of(market, "buy", Decimal("0.02"), leg.limit_price), cost=Decimal(cost), fee=ZERO)
    rules = ReportRules({(market.exchange, market.symbol): market}, lambda: SETTINGS)
    assert (rules.doubt(leg, report_of(leg, fill)) is None) == is_believed


def test_times_are_compared_by_the_clock_that_stamps_the_fills() -> None:
    leg = leg_on(USD_MARKET, "buy")
    recorded = lied(true_report(leg, USD_MARKET), {"fill.filled_at": -(10**14)})
    assert RULES.doubt(leg, recorded) is not None
    assert replace(RULES, on_exchange=lambda time: time - 10**14).doubt(leg, recorded) is None


def test_a_market_that_is_not_in_the_session_is_checked_for_all_but_steps() -> None:
    leg = leg_on(USD_MARKET, "buy")
    report = true_report(leg, USD_MARKET, Decimal("0.00001"))
    assert ReportRules().doubt(leg, report) is None
    assert RULES.doubt(leg, report) is not None
    assert ReportRules().doubt(leg, lied(report, {"fill.side": "sell"})) is not None


AMOUNTS = st.decimals(-1, 1, places=6)
PRICES = st.decimals(-20_000, 2_000_000, places=2)


@given(
    market=st.sampled_from(list(MARKETS.values())),
    side=st.sampled_from(["buy", "sell"]),
    fills=st.lists(
        st.tuples(AMOUNTS, PRICES, PRICES, AMOUNTS, st.sampled_from(["BTC", "USD", "JPY", "XYZ"])), max_size=3
    ),
    filled=st.none() | AMOUNTS,
    sides=st.sampled_from(["buy", "sell"]),
)
def test_nothing_is_booked_beyond_what_was_ordered(
    market: Market,
    side: Side,
    fills: list[tuple[Decimal, Decimal, Decimal, Decimal, str]],
    filled: Decimal | None,
    sides: Side,
) -> None:
    """Whatever is said in any field: what is believed moved at most what was ordered, the right way, within limits."""
    leg = leg_on(market, side)
    listed = tuple(
        Fill(str(place), market.exchange, market.symbol, sides, Price(price), Amount(amount), cost, fee, currency, 0)
        for place, (amount, price, cost, fee, currency) in enumerate(fills)
    )
    report = replace(report_of(leg, *listed), stated=None)
    if filled is not None:
        report = replace(report, filled=Amount(filled))
    if RULES.doubt(leg, report) is not None:
        return
    assert ZERO <= total(one.amount for one in listed) == report.filled <= leg.amount
    for one in listed:
        assert one.side == side
        assert one.amount > 0
        assert one.amount % market.lot_step == 0
        assert one.price <= leg.limit_price if side == "buy" else one.price >= leg.limit_price
        assert one.fee >= 0
        assert one.cost > 0 or (one.cost == 0 and market.quote_currency == "JPY" and one.price * one.amount < 20)
        assert one.fee_currency in (market.base, market.quote_currency)


@given(
    market=st.sampled_from(list(MARKETS.values())),
    side=st.sampled_from(["buy", "sell"]),
    lots=st.lists(st.integers(1, 10), max_size=5),
    better=st.lists(st.integers(0, 400), min_size=5, max_size=5),
)
def test_what_an_honest_exchange_fills_is_believed(
    market: Market, side: Side, lots: list[int], better: list[int]
) -> None:
    leg = leg_on(market, side)
    sign = 1 if side == "buy" else -1
    fills = []
    for place, count in enumerate(lots):
        price = Price(leg.limit_price - sign * better[place] * market.tick_size)
        fill = fill_of(market, side, count * market.lot_step, price)
        fills.append(replace(fill, fill_id=str(place), fee=fill.fee.quantize(market.lot_step)))
    assert RULES.doubt(leg, replace(report_of(leg, *fills), stated=None)) is None
