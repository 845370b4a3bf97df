"""Sizing against brute force over every lot there is, and its answers in plain cases."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.decide.settings import Settings
from market.decide.sizing import Sizing, SizingSide, common_step, displayed_amount, size, walk_terms
from market.instruments.markets import Market
from market.instruments.order_rules import rule_broken
from market.instruments.orders import LimitOrder
from market.prices.quotes import Level
from tests.market.brute_force import allowed, every_lot, price_reached, profit_at, taken, terms_of
from tests.market.samples import EUR_MARKET, EUR_RATE, JPY_MARKET, JPY_RATE, USD_MARKET, levels, settings_of

RATES = {"USD": None, "EUR": EUR_RATE, "JPY": JPY_RATE}
FEES = {"alpha": Decimal("0.001"), "beta": Decimal("0.0012"), "gamma": Decimal("0.0015")}
COARSE = Decimal("0.01")


def side_of(market: Market, side: str, book: tuple[Level, ...], free: str | None = None) -> SizingSide:
    known = None if free is None else Decimal(free)
    rate = RATES[market.quote_currency]
    return SizingSide("buy" if side == "buy" else "sell", market, book, FEES[market.exchange], rate, known)


def sized(buy: SizingSide, sell: SizingSide, settings: Settings) -> Sizing:
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


@pytest.mark.parametrize(("free", "notional"), [("100.1", "10000"), ("9000", "100")])
def test_the_buy_is_paid_and_counted_at_its_limit_price(free: str, notional: str) -> None:
    coarse = replace(USD_MARKET, lot_step=COARSE)
    buy = side_of(coarse, "buy", levels(("100", "9")), free)
    sell = side_of(replace(coarse, exchange="beta"), "sell", levels(("101", "9")))
    settings = settings_of(max_slippage_bps=600.0, max_notional=Decimal(notional))
    # 100 / 106: at the price seen it would be 1.00, at the bid 0.99
    assert sized(buy, sell, settings).amount == Decimal("0.94")


def test_what_is_left_after_a_fee_in_base_suffices_to_sell() -> None:
    buy = side_of(JPY_MARKET, "buy", levels(("9000000", "1")))
    sell = side_of(EUR_MARKET, "sell", levels(("60000", "1")), "0.9985")
    assert sized(buy, sell, settings_of(max_notional=Decimal(100_000))).amount == Decimal(1)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("0.001", "0.00000001", "0.001"), ("0.002", "0.003", "0.006"), ("1", "0.25", "1"), ("0.4", "0.6", "1.2")],
)
def test_common_step(one: str, other: str, expected: str) -> None:
    assert common_step(Decimal(one), Decimal(other)) == Decimal(expected)


def test_a_unit_pays_what_fees_and_both_fx_sides_leave() -> None:
    buy = side_of(EUR_MARKET, "buy", levels(("50000", "1")))
    sell = side_of(JPY_MARKET, "sell", levels(("9000000", "1")))
    cost = Fraction(50_000) * Fraction("1.1001")
    proceeds = Fraction(9_000_000) / Fraction("150.1")
    # one BTC bought pays the fee of JPY's exchange in BTC, too: so much less of it is sold
    proceeds *= Fraction("0.998502246630")
    expected = (proceeds - cost - cost * Fraction("0.0012")) * 10_000 / cost
    for above in (-0.001, 0.001):
        pays = walk_terms(buy, sell, settings_of(min_net_bps=float(expected) + above)).pays
        assert pays(Decimal(50_000), Decimal(9_000_000)) is (above < 0)


def test_displayed_amount() -> None:
    book = levels(("10", "1"), ("11", "2"))
    assert displayed_amount("buy", book, Decimal("10.5")) == 1
    assert displayed_amount("sell", tuple(reversed(book)), Decimal("10.5")) == 2


@pytest.mark.parametrize(("notional_cap", "expected"), [("601", "0.01"), ("0", None), ("-3", None), ("9000", "0.02")])
def test_a_bound_from_outside_counts_like_the_setting(notional_cap: str, expected: str | None) -> None:
    coarse = replace(USD_MARKET, lot_step=COARSE, minimum_amount=COARSE)
    buy = side_of(coarse, "buy", levels(("59000", "0.02")))
    sell = side_of(replace(coarse, exchange="beta"), "sell", levels(("60000", "0.02")))
    settings = settings_of(max_notional=Decimal(1_200))
    sizing = size(buy, sell, settings, Decimal(notional_cap))
    assert (sizing.amount if isinstance(sizing, Sizing) else sizing) == (
        "limit_reached" if expected is None else Decimal(expected)
    )


# The oracle: every number of lots there is, every rule asked of each anew, by its own arithmetic.


@st.composite
def markets(draw: st.DrawFn) -> Market:
    market = draw(st.sampled_from((USD_MARKET, EUR_MARKET, JPY_MARKET)))
    lot = draw(st.sampled_from(("0.01", "0.02", "0.03")))
    return replace(
        market,
        lot_step=Decimal(lot),
        minimum_amount=Decimal(lot) * draw(st.integers(1, 5)),
        minimum_notional=market.minimum_notional * draw(st.integers(0, 200)),
        fee_side=draw(st.sampled_from(("quote", "base", "received"))),
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
def trades(draw: st.DrawFn) -> tuple[SizingSide, SizingSide, Settings, Decimal | None]:
    buy_market, sell_market = draw(markets()), draw(markets())
    mids = {"USD": 6_000, "EUR": 5_454, "JPY": 900_000}
    asks = draw(books(mids[buy_market.quote_currency], mids[buy_market.quote_currency] // 1_000))
    bids = draw(books(mids[sell_market.quote_currency] * 105 // 100, -(mids[sell_market.quote_currency] // 1_000)))
    free = st.none() | st.integers(0, 4_000)
    free_quote, free_base = draw(free), draw(free)
    fees = st.sampled_from(("0", "0.0015", "0.03")).map(Decimal)
    buy = replace(side_of(buy_market, "buy", asks), fee_rate=draw(fees))
    sell = replace(side_of(sell_market, "sell", bids), fee_rate=draw(fees))
    if free_quote is not None:
        buy = replace(buy, free=Decimal(free_quote) * (150 if buy_market.quote_currency == "JPY" else 1))
    if free_base is not None:
        sell = replace(sell, free=Decimal(free_base) / 1_000)
    settings = settings_of(
        max_notional=Decimal(draw(st.integers(10, 5_000))),
        min_net_bps=float(draw(st.integers(0, 200))),
        asset_thresholds=draw(st.just({}) | st.fixed_dictionaries({buy_market.base: st.integers(0, 200).map(float)})),
        emit_net_bps=0.0,
        max_slippage_bps=draw(st.sampled_from((0.0, 1.0, 10.0, 400.0))),
    )
    return buy, sell, settings, draw(st.none() | st.integers(-10, 5_000).map(Decimal))


def profit_of(buy: SizingSide, sell: SizingSide, lots: Fraction) -> Fraction:
    profit = profit_at(buy.levels, sell.levels, terms_of(buy, sell), lots)
    assert profit is not None, lots
    return profit


@given(trade=trades())
def test_brings_the_most_of_all_lots_that_every_rule_allows(
    trade: tuple[SizingSide, SizingSide, Settings, Decimal | None],
) -> None:
    buy, sell, settings, notional_cap = trade
    profits = [
        (profit_of(buy, sell, lots), lots)
        for lots in every_lot(buy, sell)
        if allowed(buy, sell, settings, notional_cap, lots) and taken(buy, sell, settings, lots)
    ]
    sizing = size(buy, sell, settings, notional_cap)
    if not profits:
        assert not isinstance(sizing, Sizing)
        return
    assert isinstance(sizing, Sizing), sizing
    best, amount = max(profits)
    assert (Fraction(sizing.amount), sizing.walk.profit) == (amount, best)
    assert sizing.amount == sizing.walk.amount


@given(trade=trades())
def test_names_the_first_that_leaves_too_little(trade: tuple[SizingSide, SizingSide, Settings, Decimal | None]) -> None:
    buy, sell, settings, notional_cap = trade
    rich = (replace(buy, free=None), replace(sell, free=None))

    def any_fits(sides: tuple[SizingSide, SizingSide], bound: Decimal | None) -> bool:
        return any(
            allowed(*sides, settings, bound, lots) and taken(*sides, settings, lots) for lots in every_lot(*sides)
        )

    sizing = size(buy, sell, settings, notional_cap)
    if isinstance(sizing, Sizing):
        assert any_fits((buy, sell), notional_cap)
    elif not any_fits(rich, None):
        assert sizing == "too_small"
    else:
        assert sizing == ("insufficient_balance" if any_fits(rich, notional_cap) else "limit_reached")


@given(trade=trades())
def test_at_zero_no_amount_at_all_brings_more_but_the_next_lot_where_the_paying_units_end_inside_it(
    trade: tuple[SizingSide, SizingSide, Settings, Decimal | None],
) -> None:
    buy, sell = (replace(side, free=None) for side in trade[:2])
    settings = settings_of(min_net_bps=0.0, max_notional=Decimal(10_000_000))
    sizing = size(buy, sell, settings)
    if not isinstance(sizing, Sizing):
        return
    step, chosen = Fraction(sizing.amount_step), Fraction(sizing.amount)
    profits = {lots: profit_of(buy, sell, lots) for lots in every_lot(buy, sell)}
    most = max(profits.values())
    if most > sizing.walk.profit:
        assert most == profits[chosen + step]
        assert not allowed(buy, sell, settings, None, chosen + step)


def test_a_lot_that_gains_with_a_part_that_loses_is_left() -> None:
    whole = replace(USD_MARKET, lot_step=Decimal(1), minimum_amount=Decimal(1))
    buy = side_of(whole, "buy", levels(("100", "1.9"), ("104", "5")))
    sell = side_of(replace(whole, exchange="beta"), "sell", levels(("103", "9")))
    sizing = sized(buy, sell, settings_of(min_net_bps=0.0, max_slippage_bps=0.0))
    assert [sizing.amount, sizing.buy.limit_price] == [1, 100]
    # the second lot would bring 0.9 × 2.8 − 0.1 × 1.2 more, at a limit of 104 for all of it
    assert profit_of(buy, sell, Fraction(2)) > sizing.walk.profit


@given(trade=trades())
def test_both_legs_keep_the_rules_of_their_exchanges(
    trade: tuple[SizingSide, SizingSide, Settings, Decimal | None],
) -> None:
    buy, sell, settings, notional_cap = trade
    sizing = size(buy, sell, settings, notional_cap)
    if not isinstance(sizing, Sizing):
        return
    sold = Fraction(sizing.amount) * Fraction(sizing.factor)
    assert sold - Fraction(sell.market.lot_step) < sizing.sell.amount <= sold
    for side, leg in ((buy, sizing.buy), (sell, sizing.sell)):
        market, price = side.market, leg.limit_price
        order = LimitOrder("id", market.exchange, market.symbol, side.side, leg.amount, price, intended_at=0)
        assert rule_broken(order, market) is None
        assert leg.worst_price == price_reached(side.levels, Fraction(leg.amount))
        slack = leg.worst_price * Decimal(str(settings.max_slippage_bps)) / 10_000
        assert abs(leg.limit_price - leg.worst_price) <= slack
        assert leg.displayed >= leg.amount
