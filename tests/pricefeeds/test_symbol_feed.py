from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.decide.usable_depth import offer_the_same
from market.money import ZERO
from market.prices.book_top import BookTop
from market.prices.quotes import FeedMark, Quote
from pricefeeds.quoting.symbol_feed import RejectedQuote, Row, SymbolFeed
from tests.pricefeeds.samples import FX_MARKET, MARKET, book, level


def kinds(rows: list[Row]) -> list[str]:
    return [row.reason if isinstance(row, RejectedQuote) else row.kind for row in rows]


def fed(*books: BookTop) -> SymbolFeed:
    feed = SymbolFeed(MARKET, last_sequence=0, now=0)
    for number, top in enumerate(books, start=1):
        feed.take(top, number * 1_000)
    return feed


# name: (books before, the book, what comes out)
GUARDS: dict[str, tuple[list[BookTop], BookTop, list[str]]] = {
    "first": ([], book("100", "101"), ["quote"]),
    "changed price": ([book("100", "101")], book("100.5", "101"), ["quote"]),
    "changed amount": ([book("100", "101")], book("100", "101", "2"), ["quote"]),
    "same ten levels": ([book("100", "101")], book("100", "101"), []),
    "crossed": ([book("100", "101")], book("102", "101"), ["crossed", "withdrawn"]),
    "touching": ([book("100", "101")], book("101", "101"), ["crossed", "withdrawn"]),
    "crossed, nothing to withdraw": ([], book("102", "101"), ["crossed"]),
    "no bids": ([book("100", "101")], BookTop((), (level("101"),)), ["empty", "withdrawn"]),
    "no asks": ([book("100", "101")], BookTop((level("100"),), ()), ["empty", "withdrawn"]),
    "price 0": ([book("100", "101")], book("0", "101"), ["out_of_bounds", "withdrawn"]),
    "negative amount": ([book("100", "101")], book("100", "101", "-1"), ["out_of_bounds", "withdrawn"]),
    "leap of the mid": ([book("100", "101")], book("200", "201"), ["out_of_bounds", "withdrawn"]),
    "fall of the mid": ([book("100", "101")], book("40", "41"), ["out_of_bounds", "withdrawn"]),
    "largest believable move": ([book("100", "100.5")], book("149", "150"), ["quote"]),
    "leap after a withdrawal": ([book("100", "101"), book("9", "1")], book("200", "201"), ["out_of_bounds"]),
    "leap repeated": ([book("100", "101"), book("999", "1000")], book("999", "1000"), ["out_of_bounds"]),
    "back after a leap": ([book("100", "101"), book("999", "1000")], book("100", "101"), ["quote"]),
}


@pytest.mark.parametrize(("before", "top", "expected"), GUARDS.values(), ids=GUARDS.keys())
def test_a_book_becomes_rows(before: list[BookTop], top: BookTop, expected: list[str]) -> None:
    assert kinds(fed(*before).take(top, 1_000_000)) == expected


def test_a_book_from_before_the_last_one_is_rejected_as_backwards() -> None:
    feed = SymbolFeed(MARKET, 0, 0)
    feed.take(book("100", "101"), 2_000)
    assert kinds(feed.take(book("100", "102"), 1_999)) == ["backwards", "withdrawn"]


OLD, NEW, OTHER = book("100", "101"), book("999", "1000"), book("3000", "3001")
# name: (books after an accepted OLD, milliseconds between them, what the last one is)
LEAPS: dict[str, tuple[list[BookTop], int, str]] = {
    "for three seconds": ([NEW] * 5, 750, "quote"),
    "not yet three seconds": ([NEW] * 20, 100, "out_of_bounds"),
    "too few books": ([NEW] * 4, 5_000, "out_of_bounds"),
    "interrupted by the old price": ([NEW] * 3 + [OLD] + [NEW] * 4, 1_000, "out_of_bounds"),
    "interrupted by an impossible book": ([NEW] * 3 + [book("9", "1")] + [NEW] * 4, 1_000, "out_of_bounds"),
    "of many minds": ([NEW, OTHER] * 5, 1_000, "out_of_bounds"),
}


@pytest.mark.parametrize(("books", "apart", "expected"), LEAPS.values(), ids=LEAPS.keys())
def test_a_leap_is_believed_once_it_has_stood(books: list[BookTop], apart: int, expected: str) -> None:
    feed = fed(OLD)
    rows = [feed.take(top, number * apart * 1_000) for number, top in enumerate(books, start=1)]
    assert kinds(rows[-1])[0] == expected
    if expected == "quote":
        assert kinds(feed.take(OLD, 60_000_000)) == ["out_of_bounds", "withdrawn"]


def test_a_lost_connection_ends_no_leap() -> None:
    feed = fed(OLD, *[NEW] * 4)
    feed.withdraw("stale", 2_000_000)
    assert kinds(feed.take(NEW, 4_000_000)) == ["quote"]


def test_rejected_quotes_are_counted_by_reason() -> None:
    feed = fed(book("3", "2"), book("3", "2"), book("0", "1"), book("1", "2"))
    assert feed.state.rejected == {"crossed": 2, "out_of_bounds": 1}
    assert (feed.state.quotes, feed.state.status) == (1, "live")


def test_alive_only_while_a_quote_stands_in_the_log() -> None:
    feed = SymbolFeed(MARKET, 0, 0)
    assert feed.alive(1) == []
    feed.take(book("100", "101"), 2)
    assert kinds(feed.alive(3)) == ["alive"]
    assert kinds(feed.withdraw("stale", 4)) == ["withdrawn"]
    assert feed.alive(5) == []
    assert feed.withdraw("down", 6) == []


def test_an_unchanged_book_is_published_again_after_it_was_withdrawn() -> None:
    feed = fed(book("100", "101"))
    feed.withdraw("stale", 5_000)
    assert kinds(feed.take(book("100", "101"), 6_000)) == ["quote"]


def deep(*amounts: str, bid: str = "100") -> BookTop:
    """Bids downwards from `bid` in steps of 1, one of each amount; one ask that stays."""
    bids = tuple(level(str(int(bid) - depth), amount) for depth, amount in enumerate(amounts))
    return BookTop(bids, (level("101", "50"),))


# name: (the book in the log, a later one, what comes out at once, and with the next second)
DEPTHS: dict[str, tuple[BookTop, BookTop, list[str], str]] = {
    "behind the depth": (deep("10", "1"), deep("10", "2"), [], "quote"),
    "within the depth": (deep("9", "1"), deep("9", "2"), ["quote"], "alive"),
    "more than enough stays": (deep("30"), deep("10"), [], "quote"),
    "less than enough stays": (deep("30"), deep("9"), ["quote"], "alive"),
    "another best price": (deep("30"), deep("30", bid="99"), ["quote"], "alive"),
    "the same": (deep("30"), deep("30"), [], "alive"),
}


@pytest.mark.parametrize(("before", "later", "at_once", "renewal"), DEPTHS.values(), ids=DEPTHS.keys())
def test_what_no_trade_can_use_is_written_with_the_next_renewal(
    before: BookTop, later: BookTop, at_once: list[str], renewal: str
) -> None:
    feed = SymbolFeed(MARKET, 0, 0)
    feed.look_down_to(Decimal(1_000))
    feed.take(before, 1_000)
    assert kinds(feed.take(later, 2_000)) == at_once
    assert kinds(feed.alive(3_000)) == [renewal]
    assert kinds(feed.alive(4_000)) == ["alive"]


def test_a_renewal_is_the_newest_book_in_force_at_its_own_time() -> None:
    feed = SymbolFeed(MARKET, 0, 0)
    feed.look_down_to(Decimal(1_000))
    for number, amount in enumerate(("30", "20", "15"), start=1):
        feed.take(deep(amount), number * 1_000)
    [quote] = feed.alive(9_000)
    assert isinstance(quote, Quote)
    assert (quote.bids, quote.received_time, quote.sequence) == (deep("15").bids, 9_000, 9_000)


def test_a_book_that_is_back_as_it_was_is_another_quote() -> None:
    """What trades took out of it is there again; by the former quote's id it would count as used."""
    feed = SymbolFeed(MARKET, 0, 0)
    feed.look_down_to(Decimal(1_000))
    for number, amount in enumerate(("30", "20", "30"), start=1):
        feed.take(deep(amount), number * 1_000)
    assert kinds(feed.alive(9_000)) == ["quote"]
    assert kinds(feed.alive(10_000)) == ["alive"]


def test_small_steps_that_add_up_are_written() -> None:
    """Each is compared with what the log shows, not with the one before."""
    feed = SymbolFeed(MARKET, 0, 0)
    feed.look_down_to(Decimal(1_000))
    rows = [kinds(feed.take(deep(amount), number)) for number, amount in enumerate(("12", "11", "10", "9"), start=1)]
    assert rows == [["quote"], [], [], ["quote"]]


def test_nothing_that_waited_outlives_a_withdrawal() -> None:
    feed = SymbolFeed(MARKET, 0, 0)
    feed.look_down_to(Decimal(1_000))
    feed.take(deep("30"), 1_000)
    feed.take(deep("20"), 2_000)
    assert kinds(feed.withdraw("stale", 3_000)) == ["withdrawn"]
    assert feed.alive(4_000) == []
    assert kinds(feed.take(deep("20"), 5_000)) == ["quote"]


def test_until_the_depth_is_known_every_change_is_written() -> None:
    feed = fed(deep("30", "1"))
    assert kinds(feed.take(deep("30", "2"), 9_000)) == ["quote"]


def test_of_a_rate_only_its_prices_count() -> None:
    feed = SymbolFeed(FX_MARKET, 0, 0)
    feed.look_down_to(ZERO)
    feed.take(book("1.08", "1.09", "5"), 1)
    assert kinds(feed.take(book("1.08", "1.09", "7"), 2)) == []
    assert kinds(feed.take(book("1.07", "1.09", "7"), 3)) == ["fx"]


BOOKS = st.lists(st.lists(st.sampled_from(["1", "4", "9", "10", "30"]), min_size=1, max_size=4), min_size=1, max_size=8)


@given(amounts=BOOKS)
def test_the_log_always_offers_what_the_exchange_does_and_all_of_it_after_a_second(amounts: list[list[str]]) -> None:
    feed, shown = SymbolFeed(MARKET, 0, 0), list[Row]()
    feed.look_down_to(Decimal(1_000))
    for number, one in enumerate(amounts, start=1):
        top = deep(*one)
        shown += feed.take(top, number)
        newest = shown[-1]
        assert isinstance(newest, Quote)
        assert offer_the_same(newest.bids, top.bids, Decimal(1_000))
    shown += feed.alive(1_000)
    quotes = [row for row in shown if isinstance(row, Quote)]
    assert quotes[-1].bids == deep(*amounts[-1]).bids


def test_fx_marks_and_quotes_say_so_and_may_lack_amounts() -> None:
    feed = SymbolFeed(FX_MARKET, 0, 0)
    rows = [*feed.take(book("1.08", "1.09", "0"), 1), *feed.alive(2), *feed.withdraw("down", 3)]
    assert kinds(rows) == ["fx", "fx_alive", "fx_withdrawn"]


def test_status_keeps_the_time_of_its_change() -> None:
    feed = SymbolFeed(MARKET, 0, 0)
    feed.take(book("100", "101"), 10)
    feed.take(book("100", "102"), 20)
    assert (feed.state.status, feed.state.changed_at, feed.state.last_received) == ("live", 10, 20)
    feed.withdraw("stale", 30)
    assert (feed.state.status, feed.state.changed_at, feed.state.last_received) == ("stale", 30, 20)


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["take", "alive", "lose"]), st.integers(0, 50), st.integers(90, 110), st.integers(90, 110)
    ),
    max_size=60,
)


@given(last_sequence=st.integers(0, 200), actions=ACTIONS)
def test_sequences_grow_and_withdrawn_ends_what_a_quote_began(
    last_sequence: int, actions: list[tuple[str, int, int, int]]
) -> None:
    """Whatever arrives in whatever time, also with a clock that steps back."""
    feed, now, rows = SymbolFeed(MARKET, last_sequence, 0), 100, list[Row]()
    for action, step, bid, ask in actions:
        now += step - 10
        if action == "take":
            rows += feed.take(book(str(bid), str(ask)), now)
        else:
            rows += feed.alive(now) if action == "alive" else feed.withdraw("down", now)
    logged = [row for row in rows if isinstance(row, Quote | FeedMark)]
    sequences = [last_sequence, *(row.sequence for row in logged)]
    assert all(before < after for before, after in pairwise(sequences))
    assert all(row.sequence >= row.received_time for row in logged)
    in_force = False
    for row in logged:
        assert in_force or row.kind == "quote"
        in_force = row.kind != "withdrawn"
