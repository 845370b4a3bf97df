"""What a sum of money buys: never more than it pays for, and not a lot less."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from market.money import total
from simulators.matching.engine import BookOrder, MatchingBook
from simulators.matching.listings import listings_of
from simulators.matching.order_admission import lots_within

[LISTING] = listings_of("coinbaseexchange", ("BTC",))
asks = st.dictionaries(st.integers(5_999_000, 6_001_000), st.integers(1, 10**8), min_size=1, max_size=8)


@given(asks, st.integers(1, 10**7))
def test_it_buys_what_it_pays_for(asks: dict[int, int], cents: int) -> None:
    funds = Decimal(cents) / 100
    book = MatchingBook()
    for ticks, lots in asks.items():
        book.submit(BookOrder(str(ticks), "maker", "sell", ticks, lots), rests=True)
    lots = lots_within(LISTING, book, funds)

    def price_of(lots: int) -> Decimal:
        order = BookOrder("mine", "me", "buy", 10**9, lots)
        copy = MatchingBook()
        for ticks, shown in asks.items():
            copy.submit(BookOrder(str(ticks), "maker", "sell", ticks, shown), rests=True)
        costs = [(LISTING.cost(match.ticks, match.lots), match.lots) for match in copy.submit(order, rests=False)]
        return total(cost + LISTING.fee("buy", cost, filled, "taker")[1] for cost, filled in costs)

    assert price_of(lots) <= funds
    if lots < sum(asks.values()):
        assert price_of(lots + 1) > funds


@given(asks, st.integers(1, 10**7))
def test_it_sells_what_brings_it_and_no_more(bids: dict[int, int], cents: int) -> None:
    [listing] = listings_of("binance", ("BTC",))
    funds = Decimal(cents) / 100
    book = MatchingBook()
    for ticks, lots in bids.items():
        book.submit(BookOrder(str(ticks), "maker", "buy", ticks, lots), rests=True)
    wanted = lots_within(listing, book, funds, "sell")

    def earned(lots: int) -> Decimal:
        left, costs = lots, []
        for ticks in sorted(bids, reverse=True):
            costs.append(listing.cost(ticks, min(left, bids[ticks])))
            left -= min(left, bids[ticks])
        return total(costs)

    assert earned(wanted) <= funds
    if wanted < sum(bids.values()):
        assert earned(wanted + 1) > funds
