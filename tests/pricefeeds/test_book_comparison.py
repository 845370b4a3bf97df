import pytest

from market.prices.book_top import BookTop
from market.prices.quotes import Level
from pricefeeds.quoting.book_comparison import RecentBooks, doubts, is_same
from tests.pricefeeds.samples import book, level


def side(*prices: int) -> tuple[Level, ...]:
    return tuple(level(str(price)) for price in prices)


def top(bids: tuple[Level, ...], asks: tuple[Level, ...]) -> BookTop:
    return BookTop(bids, asks)


BIDS, ASKS = side(*range(100, 91, -1)), side(*range(101, 110))
WHOLE = top(BIDS, ASKS)

OTHER_AMOUNT = top((level("100", "7"), *BIDS[1:]), ASKS)
CHANGED = top((level("100", "3"), *BIDS[1:]), ASKS)
GONE = top((BIDS[0], *BIDS[2:]), ASKS)

# name: (by REST, shown by the stream, doubts as side, price and amount)
COMPARISONS: dict[str, tuple[BookTop, list[BookTop], set[tuple[str, int, int | None]]]] = {
    "the same": (WHOLE, [WHOLE], set()),
    "another amount all the time": (OTHER_AMOUNT, [WHOLE], {("bid", 100, 1)}),
    "another amount of a level that changed meanwhile": (OTHER_AMOUNT, [WHOLE, CHANGED], set()),
    "a level that the stream lacks": (WHOLE, [GONE], {("bid", 99, None)}),
    "a level that should be gone": (GONE, [WHOLE], {("bid", 99, 1)}),
    "a level that was gone for a moment": (GONE, [WHOLE, GONE, WHOLE], set()),
    "a level that was there for a moment": (WHOLE, [GONE, WHOLE, GONE], set()),
    "asks": (
        top(BIDS, side(102, 103, 104, 105, 106)), [top(BIDS, side(101, 103, 104, 105, 106))],
        {("ask", 101, 1), ("ask", 102, None)},
    ),
    "a moment between two books": (
        top(side(101, 100, 99, 98, 97), side(102, 103, 104, 105, 106)),
        [top(side(100, 99, 98, 97, 96), side(101, 102, 103, 104, 105)),
         top(side(101, 100, 99, 98, 97), side(102, 103, 104, 105, 106))],
        set(),
    ),
    "beyond the compared levels": (top((*BIDS[:8], *side(2, 1)), ASKS), [WHOLE], set()),
    "a level beyond the very best": (top((*BIDS[:7], *side(92, 91, 90)), ASKS), [WHOLE], {("bid", 93, 1)}),
    "no bids by REST": (top((), ASKS), [WHOLE], {("bid", price, 1) for price in range(93, 101)}),
    "nothing shown": (book("1", "2"), [], {("bid", 1, None), ("ask", 2, None)}),
}  # fmt: skip


@pytest.mark.parametrize(("rest", "shown", "expected"), COMPARISONS.values(), ids=COMPARISONS.keys())
def test_what_speaks_against_a_book_by_rest(
    rest: BookTop, shown: list[BookTop], expected: set[tuple[str, int, int | None]]
) -> None:
    found = doubts(rest, shown)
    assert {(side, int(price), None if amount is None else int(amount)) for side, price, amount in found} == expected


def test_a_price_in_between_is_no_doubt_at_the_second_look() -> None:
    """As if changes came in batches: REST meets a price that is gone again when the batch is sent."""
    before, after = book("100", "110"), book("102", "110")
    first = doubts(book("101", "110"), [before, after])
    second = doubts(book("103", "110"), [before, after, book("104", "110")])
    assert first
    assert second
    assert not first & second


SAME: dict[str, tuple[BookTop, BookTop | None, bool]] = {
    "equal": (WHOLE, WHOLE, True),
    "equal where it is compared": (top(BIDS[:5], ASKS[:5]), WHOLE, True),
    "another amount": (book("100", "101", "2"), book("100", "101", "1"), False),
    "another price": (book("100", "101"), book("100", "102"), False),
    "nothing shown": (WHOLE, None, False),
    "empty both": (top((), ()), top((), ()), False),
}


@pytest.mark.parametrize(("rest", "shown", "expected"), SAME.values(), ids=SAME.keys())
def test_a_quiet_book_is_the_same_to_the_amounts(rest: BookTop, shown: BookTop | None, expected: bool) -> None:
    assert is_same(rest, shown) is expected


def test_books_between_two_times_begin_with_the_one_that_stood() -> None:
    shown = RecentBooks(keep=100)
    books = [book(str(number), "1000") for number in range(1, 6)]
    for number, one in enumerate(books, start=1):
        shown.add(one, number * 10)
    assert shown.between(20, 40) == books[1:4]
    assert shown.between(25, 29) == books[1:2]
    assert shown.between(0, 15) == books[:1]
    assert shown.between(60, 90) == books[4:]
    assert shown.newest() == books[4]


def test_books_are_kept_as_long_as_they_are_needed_and_the_one_that_stood_then() -> None:
    shown = RecentBooks(keep=20)
    books = [book(str(number), "1000") for number in range(1, 6)]
    for number, one in enumerate(books, start=1):
        shown.add(one, number * 10)
    assert shown.between(0, 100) == books[1:]
    shown.add(books[0], 1_000)
    assert shown.between(0, 2_000) == [books[4], books[0]]


def test_no_book_was_shown_at_first() -> None:
    shown = RecentBooks(keep=1)
    assert (shown.newest(), shown.between(0, 10)) == (None, [])
