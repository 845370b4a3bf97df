"""What a book offers behind the depth that trades can use decides nothing."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.decide.book_walk import WalkLimits, WalkTerms, walk_books
from market.decide.settings import Settings
from market.decide.usable_depth import offer_the_same, usable_notional
from market.instruments.markets import Market
from market.money import Amount, Price
from market.prices.quotes import Level
from tests.market.samples import EUR_MARKET, JPY_MARKET, USD_MARKET, settings_of

Pair = tuple[int, int]

# name: (one side's (price, amount), the same side later, notional, whether both offer the same)
BOOKS: dict[str, tuple[list[Pair], list[Pair], int, bool]] = {
    "equal": ([(10, 1), (11, 1)], [(10, 1), (11, 1)], 1_000, True),
    "another best price": ([(10, 100)], [(11, 100)], 1, False),
    "another best price, prices alone": ([(10, 1)], [(11, 1)], 0, False),
    "another amount, prices alone": ([(10, 1)], [(10, 9)], 0, True),
    "no amounts, prices alone": ([(10, 0)], [(10, 0)], 0, True),
    "enough at the best price in both": ([(10, 8)], [(10, 5)], 50, True),
    "just too little at the best price": ([(10, 8)], [(10, 5)], 51, False),
    "too little at the best price before": ([(10, 5)], [(10, 8)], 51, False),
    "another price behind it": ([(10, 5), (11, 1)], [(10, 5), (12, 1)], 50, True),
    "another price within it": ([(10, 5), (11, 1)], [(10, 5), (12, 1)], 51, False),
    "one level more behind it": ([(10, 5)], [(10, 5), (12, 1)], 50, True),
    "one level more within it": ([(10, 5)], [(10, 5), (12, 1)], 51, False),
    "neither has so much": ([(10, 5)], [(10, 5)], 51, True),
}


def side(levels: list[Pair]) -> tuple[Level, ...]:
    return tuple(Level(Price(Decimal(price)), Amount(Decimal(amount))) for price, amount in levels)


@pytest.mark.parametrize(("before", "after", "notional", "expected"), BOOKS.values(), ids=BOOKS.keys())
def test_two_books_offer_the_same_up_to_a_notional(
    before: list[Pair], after: list[Pair], notional: int, expected: bool
) -> None:
    assert offer_the_same(side(before), side(after), Decimal(notional)) is expected


# name: (market, settings, what is used of its book at most, in its own currency)
DEPTHS: dict[str, tuple[Market, Settings, int | None]] = {
    "what may be open at once": (USD_MARKET, settings_of(max_open_arbitrages=3, max_notional=100, ma_notional=10), 388),
    "what the exchange may have": (USD_MARKET, settings_of(exchange_limits={"alpha": 1_000}, ma_notional=10), 1_263),
    "what all may have": (USD_MARKET, settings_of(max_total_notional=200, ma_notional=10), 263),
    "another exchange's limit": (USD_MARKET, settings_of(exchange_limits={"beta": 1_000}), 5_125),
    "euro": (EUR_MARKET, settings_of(), 7_455),
    "yen": (JPY_MARKET, settings_of(), 1_171_429),
    "a dollar of another issuer": (replace(USD_MARKET, quote_currency="USDT"), settings_of(), 5_125),
    "quotes stay fresh by their changes alone": (USD_MARKET, settings_of(max_quote_age_ms=1_499), 10**18),
    "a second may pass": (USD_MARKET, settings_of(max_quote_age_ms=1_500), 5_125),
    "a currency of unknown worth": (replace(USD_MARKET, quote_currency="TRY"), settings_of(), None),
    "a rate": (replace(USD_MARKET, is_fx=True), settings_of(), 0),
}


# name: (market of a cycle, settings, what is used of its book at most, in its own currency)
DEPTHS_IN_CYCLES: dict[str, tuple[Market, Settings, int | None]] = {
    "a rate that is traded": (replace(USD_MARKET, is_fx=True), settings_of(), 5_125),
    "a coin priced in a coin": (replace(USD_MARKET, quote_currency="BTC"), settings_of(), None),
    "what a cycle may give": (
        USD_MARKET, settings_of(max_notional=100, cycle_notionals={"alpha": 500}, ma_notional=10), 2_513
    ),
    "less than others may give": (
        USD_MARKET, settings_of(max_notional=100, cycle_notionals={"alpha": 50}, ma_notional=10), 513
    ),
}  # fmt: skip


@pytest.mark.parametrize(("market", "settings", "expected"), DEPTHS_IN_CYCLES.values(), ids=DEPTHS_IN_CYCLES.keys())
def test_cycles_reach_into_rates_and_as_deep_as_each_may(
    market: Market, settings: Settings, expected: int | None
) -> None:
    assert usable_notional(settings, market, "USD", is_in_cycle=True) == expected


@pytest.mark.parametrize(("market", "settings", "expected"), DEPTHS.values(), ids=DEPTHS.keys())
def test_limits_say_how_deep_trades_reach(market: Market, settings: Settings, expected: int | None) -> None:
    assert usable_notional(settings, market, "USD") == expected


LEVELS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 6)), min_size=1, max_size=6)


def ladder(steps: list[Pair], first: int, direction: int) -> tuple[Level, ...]:
    """From the best price on, each level some ticks behind the one before."""
    places = accumulate((step for step, _ in steps), initial=0)
    return side([(first + direction * at, amount) for at, (_, amount) in zip(places, steps, strict=False)])


@given(asks=LEVELS, later=LEVELS, bids=LEVELS, notional=st.integers(0, 400), share=st.fractions(0, 1))
def test_no_buy_within_the_depth_sees_what_is_behind_it(
    asks: list[Pair], later: list[Pair], bids: list[Pair], notional: int, share: Fraction
) -> None:
    before, after = ladder(asks, 20, 1), ladder([*asks[:1], *later], 20, 1)
    if offer_the_same(before, after, Decimal(notional)):
        limits = WalkLimits(budget=share * notional)
        walks = [walk_books(one, ladder(bids, 30, -1), WalkTerms(), limits) for one in (before, after)]
        assert len({(walk.amount, walk.cost, walk.proceeds, walk.worst_bid) for walk in walks}) == 1


@given(bids=LEVELS, later=LEVELS, asks=LEVELS, notional=st.integers(0, 400), share=st.fractions(0, 1))
def test_no_sale_within_the_depth_sees_what_is_behind_it(
    bids: list[Pair], later: list[Pair], asks: list[Pair], notional: int, share: Fraction
) -> None:
    before, after = ladder(bids, 60, -1), ladder([*bids[:1], *later], 60, -1)
    if offer_the_same(before, after, Decimal(notional)):
        # as sizing counts it: at the best bid
        limits = WalkLimits(max_amount=share * notional / 60)
        walks = [walk_books(ladder(asks, 20, 1), one, WalkTerms(), limits) for one in (before, after)]
        assert len({(walk.amount, walk.cost, walk.proceeds, walk.worst_ask) for walk in walks}) == 1
