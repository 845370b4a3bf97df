"""The kept book against a dictionary that is sorted whole each time."""

from decimal import Decimal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from market.money import Amount, Price
from market.prices.order_book import BookSide, OrderBook, top_of
from market.prices.quotes import MAX_LEVELS, Level
from tests.pricefeeds.samples import level

DEPTH = 12
prices = st.integers(1, 40).map(lambda ticks: Price(Decimal(ticks).scaleb(-1)))
amounts = st.integers(0, 5).map(lambda lots: Amount(Decimal(lots).scaleb(-8)))
sides = st.lists(st.builds(Level, prices, amounts), max_size=25)
Naive = dict[Decimal, Level]


class KeptBook(RuleBasedStateMachine):
    """Any sequence of snapshots, changes and cuts."""

    def __init__(self) -> None:
        super().__init__()
        self.book = OrderBook()
        self.bids: Naive = {}
        self.asks: Naive = {}

    @rule(bids=sides, asks=sides)
    def restart(self, bids: list[Level], asks: list[Level]) -> None:
        self.book.restart(bids, asks)
        self.bids, self.asks = {}, {}
        put_all(self.bids, bids)
        put_all(self.asks, asks)

    @rule(bids=sides, asks=sides)
    def apply(self, bids: list[Level], asks: list[Level]) -> None:
        self.book.apply(bids, asks)
        put_all(self.bids, bids)
        put_all(self.asks, asks)

    @rule()
    def cut(self) -> None:
        self.book.cut(DEPTH)
        self.bids = {entry.price: entry for entry in sorted(self.bids.values(), reverse=True)[:DEPTH]}
        self.asks = {entry.price: entry for entry in sorted(self.asks.values())[:DEPTH]}

    @invariant()
    def best_levels_are_those_of_the_dictionary(self) -> None:
        top = self.book.top()
        assert top.bids == tuple(sorted(self.bids.values(), reverse=True)[:MAX_LEVELS])
        assert top.asks == tuple(sorted(self.asks.values())[:MAX_LEVELS])
        assert (len(self.book.bids), len(self.book.asks)) == (len(self.bids), len(self.asks))


def put_all(side: Naive, levels: list[Level]) -> None:
    for entry in levels:
        side.pop(entry.price, None)
        if entry.amount:
            side[entry.price] = entry


KeptBook.TestCase.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
TestKeptBook = KeptBook.TestCase


@pytest.mark.soak
def test_a_kept_book_over_many_more_histories() -> None:
    examples = settings(max_examples=500, stateful_step_count=30, deadline=None)
    run_state_machine_as_test(KeptBook, settings=examples)


def test_unchanged_best_levels_are_the_same_tuple() -> None:
    side = BookSide(is_bids=True)
    side.restart(level(str(price)) for price in range(1, 30))
    best = side.best()
    side.put(level("5", "0"))
    side.put(level("19", "7"))
    assert side.best() is best
    side.put(level("20", "7"))
    assert side.best() is not best
    assert side.best()[-1] == level("20", "7")


def test_digits_are_kept_whatever_the_precision_of_the_context() -> None:
    long = "123456789012345678.123456789012345678"
    top = top_of([level(long, "0.10000000")], [level(long)], 7)
    assert (str(top.bids[0].price), str(top.bids[0].amount)) == (long, "0.10000000")
    assert str(top.asks[0].price) == long
    assert top.exchange_time == 7
