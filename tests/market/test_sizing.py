"""Sizing against a brute-force oracle that walks lot by lot, and its answers in plain cases."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.fees import sell_factor
from market.markets import Market
from market.money import floor_to_step
from market.quotes import Level
from market.settings import Settings
from market.sizing import BookSide, Sizing, common_step, displayed_amount, net_bps, size, worst_price
from tests.market.samples import EUR_MARKET, EUR_RATE, JPY_MARKET, JPY_RATE, USD_MARKET, levels, settings_of

RATES = {"USD": None, "EUR": EUR_RATE, "JPY": JPY_RATE}
FEES = {"alpha": Decimal("0.001"), "beta": Decimal("0.0012"), "gamma": Decimal("0.0015")}
COARSE = Decimal("0.01")


def side_of(market: Market, side: str, book: tuple[Level, ...], free: str | None = None) -> BookSide:
    known = None if free is None else Decimal(free)
    rate = RATES[market.quote_currency]
    return BookSide("buy" if side == "buy" else "sell", market, book, FEES[market.exchange], rate, known)


def sized(buy: BookSide, sell: BookSide, settings: Settings) -> Sizing:
    sizing = size(buy, sell, settings)
    assert isinstance(sizing, Sizing), sizing
    return sizing


def test_walks_on_while_the_margin_pays() -> None:
    buy = side_of(USD_MARKET, "buy", levels(("60000", "0.004"), ("60010", "0.004"), ("60200", "1")))
    other = replace(USD_MARKET, exchange="beta")
    sell = side_of(other, "sell", levels(("60300", "0.006"), ("60250", "1")))
    settings = settings_of(min_net_bps=10.0, max_slippage_bps=0.0)
    sizing = sized(buy, sell, settings)
    # 60010 → 60250 still brings 17.9 bps, 60200 → 60250 does not
    assert sizing.amount == Decimal("0.008")
    assert [sizing.buy.worst_price, sizing.sell.worst_price] == [Decimal(60010), Decimal(60250)]
    assert [sizing.buy.limit_price, sizing.sell.limit_price] == [Decimal(60010), Decimal(60250)]
    assert (sizing.buy.displayed, sizing.sell.displayed) == (Decimal("0.008"), Decimal("1.006"))


@pytest.mark.parametrize(
    ("slack_bps", "buy_limit", "sell_limit"),
    [(0.0, "60000.00", "60300.00"), (1.0, "60006.00", "60293.97"), (0.001, "60000.00", "60300.00")],
)
def test_limits_are_widened_to_a_tick_within_the_slippage(slack_bps: float, buy_limit: str, sell_limit: str) -> None:
    buy = side_of(USD_MARKET, "buy", levels(("60000", "0.004")))
    sell = side_of(replace(USD_MARKET, exchange="beta"), "sell", levels(("60300", "0.006")))
    sizing = sized(buy, sell, settings_of(max_slippage_bps=slack_bps))
    assert sizing.buy.limit_price == Decimal(buy_limit)
    assert sizing.sell.limit_price == Decimal(sell_limit)


@pytest.mark.parametrize(
    ("changes", "free", "expected"),
    [
        ({"max_notional": Decimal("0.5")}, None, "too_small"),
        ({"min_net_bps": 500.0}, None, "too_small"),
        ({}, "1", "insufficient_balance"),
        ({}, "-5", "insufficient_balance"),
    ],
)
def test_says_why_nothing_can_be_traded(changes: dict[str, object], free: str | None, expected: str) -> None:
    buy = side_of(USD_MARKET, "buy", levels(("60000", "0.004")), free)
    sell = side_of(replace(USD_MARKET, exchange="beta"), "sell", levels(("60300", "0.006")))
    assert size(buy, sell, settings_of(**changes)) == expected


def test_a_fee_in_base_is_not_sold_twice() -> None:
    buy = side_of(JPY_MARKET, "buy", levels(("9000000", "1")))
    sell = side_of(EUR_MARKET, "sell", levels(("60000", "1")))
    sizing = sized(buy, sell, settings_of(max_notional=Decimal(100_000)))
    assert sizing.factor == Decimal("0.9985")
    assert sizing.amount == Decimal(1)
    assert sizing.sell.amount == Decimal("0.9985")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("0.001", "0.00000001", "0.001"), ("0.002", "0.003", "0.006"), ("1", "0.25", "1"), ("0.4", "0.6", "1.2")],
)
def test_common_step(one: str, other: str, expected: str) -> None:
    assert common_step(Decimal(one), Decimal(other)) == Decimal(expected)


def test_net_bps_is_what_fees_and_both_fx_sides_leave() -> None:
    buy = side_of(EUR_MARKET, "buy", levels(("50000", "1")))
    sell = side_of(JPY_MARKET, "sell", levels(("9000000", "1")))
    cost = Fraction(50_000) * Fraction("1.1001")
    proceeds = Fraction(9_000_000) / Fraction("150.1")
    expected = (proceeds - cost - cost * Fraction("0.0012") - proceeds * Fraction("0.0015")) * 10_000 / cost
    assert net_bps(buy, sell, Decimal(50_000), Decimal(9_000_000)) == expected


def test_worst_price_and_displayed_amount() -> None:
    book = levels(("10", "1"), ("11", "2"))
    assert [worst_price(book, Decimal(amount)) for amount in ("0.5", "1", "1.1", "9")] == [10, 10, 11, 11]
    assert displayed_amount("buy", book, Decimal("10.5")) == 1
    assert displayed_amount("sell", tuple(reversed(book)), Decimal("10.5")) == 2


# The oracle: one lot after the other, every rule asked anew, in settlement currency, by its own arithmetic.

markets_for_property = st.sampled_from(
    [replace(market, lot_step=COARSE, minimum_amount=COARSE) for market in (USD_MARKET, EUR_MARKET, JPY_MARKET)]
)


@st.composite
def books(draw: st.DrawFn, best: int, step: int) -> tuple[Level, ...]:
    rows = draw(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 40)), min_size=1, max_size=6))
    price, book = best, []
    for distance, lots in rows:
        price += step * (distance + 1)
        book.append((str(price), str(lots * Decimal("0.005"))))
    return levels(*book)


@st.composite
def trades(draw: st.DrawFn) -> tuple[BookSide, BookSide, Settings]:
    buy_market, sell_market = draw(markets_for_property), draw(markets_for_property)
    mids = {"USD": 6_000, "EUR": 5_454, "JPY": 900_000}
    asks = draw(books(mids[buy_market.quote_currency], mids[buy_market.quote_currency] // 1_000))
    bids = draw(books(mids[sell_market.quote_currency] * 103 // 100, -(mids[sell_market.quote_currency] // 1_000)))
    free = st.none() | st.integers(0, 4_000)
    free_quote, free_base = draw(free), draw(free)
    buy = side_of(buy_market, "buy", asks)
    sell = side_of(sell_market, "sell", bids)
    if free_quote is not None:
        buy = replace(buy, free=Decimal(free_quote) * (150 if buy_market.quote_currency == "JPY" else 1))
    if free_base is not None:
        sell = replace(sell, free=Decimal(free_base) / 1_000)
    settings = settings_of(
        max_notional=Decimal(draw(st.integers(10, 5_000))),
        min_net_bps=float(draw(st.integers(0, 200))),
        max_slippage_bps=float(draw(st.integers(0, 10))),
    )
    return buy, sell, settings


def settled(side: BookSide, price: Decimal) -> Fraction:
    rate = side.rate
    if rate is None:
        return Fraction(price)
    one = Decimal(1)
    unit = rate.paid(one) if side.side == "buy" else rate.received(one)
    exact = {"EUR": Fraction(unit), "JPY": 1 / Fraction(rate.bid if side.side == "buy" else rate.ask)}
    return Fraction(price) * exact[rate.currency]


def allowed(buy: BookSide, sell: BookSide, settings: Settings, amount: Decimal) -> bool:
    """Whether `amount` may be traded; amounts that the books cannot show may not."""
    factor = sell_factor(buy.market, buy.fee_rate, sell.market, sell.fee_rate)
    if sum(level.amount for level in buy.levels) < amount or sum(row.amount for row in sell.levels) < amount * factor:
        return False
    ask, bid = worst_price(buy.levels, amount), worst_price(sell.levels, amount * factor)
    cost, proceeds = settled(buy, ask), settled(sell, bid)
    net = proceeds * (1 - Fraction(sell.fee_rate)) - cost * (1 + Fraction(buy.fee_rate))
    if net * 10_000 < Fraction(str(settings.min_net_bps)) * cost:
        return False
    limit = buy.limit(ask, settings.max_slippage_bps)
    dearer = max(settled(buy, limit), settled(sell, sell.levels[0].price))
    if dearer * Fraction(amount) > Fraction(settings.max_notional):
        return False
    quote_fee = buy.fee_rate if buy.market.fee_side == "quote" else 0
    base_fee = sell.fee_rate if sell.market.fee_side == "base" else 0
    if buy.free is not None and limit * (1 + quote_fee) * amount > buy.free:
        return False
    return sell.free is None or amount * factor * (1 + base_fee) <= sell.free


@given(trade=trades())
def test_equals_brute_force(trade: tuple[BookSide, BookSide, Settings]) -> None:
    buy, sell, settings = trade
    best = Decimal(0)
    for lots in count(1):
        if not allowed(buy, sell, settings, lots * COARSE):
            break
        best = lots * COARSE
    sizing = size(buy, sell, settings)
    if isinstance(sizing, Sizing):
        assert sizing.amount == best
        assert sizing.amount >= sizing.minimum_amount
        assert sizing.sell.amount == floor_to_step(best * sizing.factor, COARSE)
        assert sizing.buy.displayed >= sizing.buy.amount
        assert sizing.sell.displayed >= sizing.sell.amount
    else:
        assert best < Decimal("0.03")


@given(trade=trades())
def test_both_legs_keep_the_rules_of_their_exchanges(trade: tuple[BookSide, BookSide, Settings]) -> None:
    buy, sell, settings = trade
    sizing = size(buy, sell, settings)
    if not isinstance(sizing, Sizing):
        return
    for side, leg in ((buy, sizing.buy), (sell, sizing.sell)):
        market = side.market
        assert leg.amount % market.lot_step == 0
        assert leg.limit_price % market.tick_size == 0
        assert leg.amount >= market.minimum_amount
        assert leg.amount * leg.limit_price >= market.minimum_notional
        slack = leg.worst_price * Decimal(str(settings.max_slippage_bps)) / 10_000
        assert abs(leg.limit_price - leg.worst_price) <= slack
