"""The walk against brute force over whole books, and its answers in plain cases."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.decide.book_walk import NO_LIMITS, WalkLimits, WalkTerms, walk_books
from market.prices.quotes import Level
from tests.market.brute_force import corners, cost_of, proceeds_of, profit_at, settled
from tests.market.samples import EUR_RATE, JPY_RATE, levels

FREE = WalkTerms()
ASKS = levels(("100", "1"), ("101", "2"), ("103", "5"))
BIDS = levels(("105", "2"), ("102", "2"), ("101", "9"))


def test_walks_both_books_while_a_unit_brings_anything() -> None:
    walk = walk_books(ASKS, BIDS, FREE)
    # 1 at 100 → 105, 1 at 101 → 105, 1 at 101 → 102; then 103 → 102 loses
    assert [walk.amount, walk.cost, walk.proceeds, walk.profit] == [3, 302, 312, 10]
    assert (walk.worst_ask, walk.worst_bid) == (ASKS[1], BIDS[1])


@pytest.mark.parametrize(
    ("terms", "amount", "profit"),
    [
        (FREE, 3, 10),
        (replace(FREE, min_bps=Decimal(0)), 3, 10),
        (replace(FREE, min_bps=Decimal(100)), 2, 9),
        (replace(FREE, min_bps=Decimal(500)), 1, 5),
        (replace(FREE, min_bps=Decimal("500.1")), 0, 0),
        (replace(FREE, min_bps=Decimal(-1_000)), 8, 1),
        (WalkTerms(buy_fee=Decimal("0.01")), 2, "6.99"),
        (WalkTerms(sell_fee=Decimal("0.01")), 2, "6.9"),
        (WalkTerms(buy_fee=Decimal("0.05")), 0, 0),
        (WalkTerms(factor=Decimal("0.5")), 0, 0),
        (WalkTerms(sell_rate=replace(EUR_RATE, bid=Decimal(2))), 8, "819"),
        (WalkTerms(buy_rate=replace(JPY_RATE, bid=Decimal(2))), 8, "409.5"),
    ],
)
def test_fees_rates_and_the_least_margin_decide_where_it_ends(terms: WalkTerms, amount: int, profit: int | str) -> None:
    walk = walk_books(ASKS, BIDS, terms)
    assert [walk.amount, walk.profit] == [amount, Fraction(profit)]


def test_a_unit_that_brings_nothing_is_left_unless_it_is_asked_for() -> None:
    even = levels(("100", "1"), ("105", "3"))
    assert walk_books(even, BIDS, FREE).amount == 1
    assert walk_books(even, BIDS, replace(FREE, min_bps=Decimal(0))).amount == 2


@pytest.mark.parametrize(
    ("limits", "amount", "worst_ask"),
    [
        (WalkLimits(max_amount=Fraction(5, 2)), "2.5", "101"),
        (WalkLimits(max_amount=Fraction(0)), "0", None),
        (WalkLimits(budget=Fraction(50)), "0.5", "100"),
        (WalkLimits(budget=Fraction(202)), "2", "101"),
        # at 101 there is money for 1.00 at most, which the first level gave already
        (WalkLimits(budget=Fraction(101)), "1", "100"),
        (WalkLimits(budget=Fraction(100)), "1", "100"),
        (WalkLimits(budget=Fraction(200), limit=lambda ask: ask * 2), "1", "100"),
        (WalkLimits(max_amount=Fraction(3, 2), budget=Fraction(10_000)), "1.5", "101"),
    ],
)
def test_a_limit_ends_it_before_depth_does(limits: WalkLimits, amount: str, worst_ask: str | None) -> None:
    walk = walk_books(ASKS, BIDS, FREE, limits)
    assert walk.amount == Fraction(amount)
    assert walk.worst_ask == (None if worst_ask is None else next(row for row in ASKS if str(row.price) == worst_ask))


@pytest.mark.parametrize(("asks", "bids"), [((), BIDS), (ASKS, ()), ((), ()), (BIDS, ASKS[::-1][:1])])
def test_nothing_to_trade(asks: tuple[Level, ...], bids: tuple[Level, ...]) -> None:
    walk = walk_books(asks, bids, FREE)
    assert [walk.amount, walk.cost, walk.proceeds] == [0, 0, 0]
    assert (walk.worst_ask, walk.worst_bid) == (None, None)


def test_a_level_without_an_amount_is_passed_over() -> None:
    walk = walk_books(levels(("99", "0"), ("100", "1")), levels(("106", "0"), ("105", "2")), FREE)
    assert [walk.amount, walk.profit] == [1, 5]


def test_cut_to_a_lot() -> None:
    walk = walk_books(ASKS, BIDS, FREE, WalkLimits(max_amount=Fraction("2.99")))
    assert [walk.floored(Decimal(step)) for step in ("1", "0.25", "0.3", "4")] == [
        2,
        Decimal("2.75"),
        Decimal("2.7"),
        0,
    ]
    cut = walk.cut(Decimal(2))
    assert [cut.amount, cut.cost, cut.proceeds] == [2, 201, 210]
    assert (cut.worst_ask, cut.worst_bid) == (ASKS[1], BIDS[0])
    assert walk.cut(Decimal(5)) == walk
    assert [walk.bid_reached(Decimal(sold)) for sold in ("0.1", "2", "2.1", "3")] == [BIDS[0]] * 2 + [BIDS[1]] * 2
    with pytest.raises(LookupError, match=r"before 3\.1 are sold"):
        walk.bid_reached(Decimal("3.1"))


def test_digits_beyond_any_context_are_kept() -> None:
    tiny = "0.0000000000000000000000000000000000000000000000000001"
    asks = levels(("1." + "1" * 40, "1" + tiny[1:]))
    bids = levels(("1." + "1" * 39 + "2", "9"))
    walk = walk_books(asks, bids, WalkTerms(factor=Decimal("0.999999999999")))
    assert walk.amount == 0, "what is left of the factor loses more than the last digit brings"
    walk = walk_books(asks, bids, FREE)
    assert [walk.amount, walk.profit] == [1 + Fraction(tiny), (1 + Fraction(tiny)) / 10**40]


def test_a_float_is_rejected() -> None:
    with pytest.raises(TypeError):
        walk_books([Level(100.0, 1.0)], BIDS, FREE)  # type: ignore[arg-type]  # what a careless caller would do


# Any two books, crossed or not; the tick and the lots are coarse, so that levels of both often end together.


@st.composite
def books(draw: st.DrawFn, best: int, sign: int) -> tuple[Level, ...]:
    rows = draw(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 12)), max_size=7))
    price, book = best, []
    for distance, lots in rows:
        price += sign * distance
        book.append((f"{price / 10:.1f}", str(Decimal(lots) / 4)))
    return levels(*book)


fees = st.sampled_from(["0", "0.001", "0.0025", "0.0123456789"]).map(Decimal)
rates = st.sampled_from([None, EUR_RATE, replace(EUR_RATE, inverted=True)])
terms_of = st.builds(
    WalkTerms, fees, fees, rates, rates, st.sampled_from(["1", "0.9985", "0.998003992015"]).map(Decimal), st.none()
)


@given(asks=books(1_000, 1), bids=books(1_060, -1), terms=terms_of)
def test_no_other_amount_brings_more_and_no_smaller_one_as_much(
    asks: tuple[Level, ...], bids: tuple[Level, ...], terms: WalkTerms
) -> None:
    profits = [(profit_at(asks, bids, terms, amount), amount) for amount in corners(asks, bids, terms)]
    shown = [(Fraction(0), Fraction(0)), *((profit, -amount) for profit, amount in profits if profit is not None)]
    best, amount = max(shown)
    walk = walk_books(asks, bids, terms)
    assert (walk.profit, walk.amount) == (best, -amount)
    assert (walk.cost, walk.proceeds) == (cost_of(asks, terms, walk.amount), proceeds_of(bids, terms, walk.amount))


@given(asks=books(1_000, 1), bids=books(1_060, -1), terms=terms_of, bps=st.integers(-300, 600))
def test_every_unit_before_its_end_brings_the_least_margin_and_none_behind_it(
    asks: tuple[Level, ...], bids: tuple[Level, ...], terms: WalkTerms, bps: int
) -> None:
    ends = corners(asks, bids, terms)
    sums = [(end, cost_of(asks, terms, end), proceeds_of(bids, terms, end)) for end in ends]
    expected = Fraction(0)
    for (_, cost, proceeds), (end, next_cost, next_proceeds) in pairwise(sums):
        if cost is None or proceeds is None or next_cost is None or next_proceeds is None:
            break
        spent, gained = next_cost - cost, next_proceeds - proceeds
        if gained - spent < Fraction(bps, 10_000) * spent / (1 + Fraction(terms.buy_fee)):
            break
        expected = end
    assert walk_books(asks, bids, replace(terms, min_bps=Decimal(bps))).amount == expected


@given(
    asks=books(1_000, 1),
    bids=books(1_060, -1),
    terms=terms_of,
    most=st.integers(0, 40),
    budget=st.integers(0, 2_000),
)
def test_limits_cut_the_same_walk(
    asks: tuple[Level, ...], bids: tuple[Level, ...], terms: WalkTerms, most: int, budget: int
) -> None:
    limits = WalkLimits(Fraction(most, 8), Fraction(budget), limit=lambda ask: ask + 1)
    whole, limited = walk_books(asks, bids, terms, NO_LIMITS), walk_books(asks, bids, terms, limits)
    expected = Fraction(0)
    bought = Fraction(0)
    for level in asks:
        here = min(Fraction(most, 8), Fraction(budget) / (Fraction(level.price) + 1), whole.amount)
        end = bought + Fraction(level.amount)
        expected = max(expected, min(end, here)) if level.amount and here > bought else expected
        bought = end
    assert limited.amount == expected


@given(
    price=st.integers(1, 10**9),
    bid=st.integers(1, 10**9),
    terms=terms_of,
    above=st.sampled_from([Fraction(-1, 10**6), Fraction(0), Fraction(1, 10**6)]),
)
def test_a_unit_pays_if_it_brings_the_minimum_to_the_last_digit(
    price: int, bid: int, terms: WalkTerms, above: Fraction
) -> None:
    paid = settled(terms.buy_rate, "buy", Fraction(price))
    received = settled(terms.sell_rate, "sell", Fraction(bid)) * Fraction(terms.factor) * (1 - Fraction(terms.sell_fee))
    brought = (received - paid * (1 + Fraction(terms.buy_fee))) * 10_000 / paid
    # near what it brings, as far as a decimal of 12 places can say it
    least = Decimal(int((brought + above) * 10**12)).scaleb(-12)
    pays = replace(terms, min_bps=least).pays
    assert pays(Decimal(price), Decimal(bid)) is (brought >= Fraction(least))
