"""What runs share of sizing is what sizing answers each of them."""

from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from market.decide.shared_sizes import SharedSizes
from market.decide.sizing import SizingSide, size, walk_terms
from market.prices.quotes import Level
from tests.market.samples import EUR_MARKET, EUR_RATE, USD_MARKET, levels, settings_of

BUY = replace(USD_MARKET, minimum_notional=Decimal(10), fee_side="base")
SELL = replace(USD_MARKET, exchange="beta", lot_step=Decimal("0.0005"))
ASKS = (levels(("10000", "0.01"), ("10020", "0.02")), levels(("10010", "0.3")))
BIDS = (levels(("10050", "0.015"), ("10040", "5")), levels(("10005", "1")))
amounts = st.sampled_from([None, *map(Decimal, ("0", "0.001", "0.0203", "0.5", "9.99", "55.7", "101", "5000"))])


def sides(asks: tuple[Level, ...], bids: tuple[Level, ...]) -> tuple[SizingSide, SizingSide]:
    fee = Decimal("0.001")
    return SizingSide("buy", BUY, asks, fee, None), SizingSide("sell", SELL, bids, fee, None)


asked = st.tuples(
    st.sampled_from(ASKS),
    st.sampled_from(BIDS),
    amounts,
    amounts,
    st.sampled_from([0.0, 10.0, 30.0]),
    st.sampled_from([Decimal(5), Decimal(100), Decimal(3_000)]),
    st.sampled_from([None, Decimal(-1), Decimal(60), Decimal(100), Decimal(9_000)]),
)


@given(st.lists(asked, max_size=30))
def test_it_answers_as_sizing_whatever_was_asked_before(
    questions: list[
        tuple[tuple[Level, ...], tuple[Level, ...], Decimal | None, Decimal | None, float, Decimal, Decimal | None]
    ],
) -> None:
    shared = SharedSizes()
    for asks, bids, quote, base, least, notional, cap in questions:
        buy, sell = sides(asks, bids)
        buy, sell = replace(buy, free=quote), replace(sell, free=base)
        settings = settings_of(min_net_bps=least, max_notional=notional, emit_net_bps=0.0)
        terms = walk_terms(buy, sell, settings)
        assert shared(buy, sell, settings, cap, terms) == size(buy, sell, settings, cap, terms)


def test_what_no_balance_limits_is_sized_once() -> None:
    shared, settings = SharedSizes(), settings_of()
    buy, sell = sides(ASKS[0], BIDS[0])
    first, second = (
        shared(replace(buy, free=Decimal(free)), sell, settings, Decimal(9_000), walk_terms(buy, sell, settings))
        for free in ("5000", "6000")
    )
    assert first is second


def test_books_with_a_rate_are_sized_each_time() -> None:
    shared, settings = SharedSizes(), settings_of()
    buy, sell = sides(ASKS[0], BIDS[0])
    sell = replace(sell, market=replace(EUR_MARKET, lot_step=SELL.lot_step), rate=EUR_RATE)
    terms = walk_terms(buy, sell, settings)
    assert shared(buy, sell, settings, None, terms) == size(buy, sell, settings, None, terms)
