from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
