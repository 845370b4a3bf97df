import pytest

from market.quotes import Level
from pricefeeds.books import BookTop
from pricefeeds.comparison import ShownBooks, agrees, is_same
from tests.pricefeeds.samples import book, level


def side(*prices: int) -> tuple[Level, ...]:
    return tuple(level(str(price)) for price in prices)


def top(bids: tuple[Level, ...], asks: tuple[Level, ...]) -> BookTop:
    return BookTop(bids, asks)


BIDS, ASKS = side(*range(100, 91, -1)), side(*range(101, 110))
WHOLE = top(BIDS, ASKS)

OTHER_AMOUNTS = top((level("100", "7"), *BIDS[1:]), ASKS)
EMPTIER = top((level("100", "3"), *BIDS[1:]), ASKS)

# name: (by REST, shown by the stream, whether they agree)
COMPARISONS: dict[str, tuple[BookTop, list[BookTop], bool]] = {
    "the same": (WHOLE, [WHOLE], True),
    "another amount all the time": (OTHER_AMOUNTS, [WHOLE], False),
    "another amount of a level that changed meanwhile": (OTHER_AMOUNTS, [WHOLE, EMPTIER], True),
    "nothing shown": (WHOLE, [], False),
    "no bids by REST": (top((), ASKS), [WHOLE], False),
    "no asks by REST": (top(BIDS, ()), [WHOLE], False),
    "a level that the stream lacks": (WHOLE, [top(side(100, 99, 97, 96, 95), ASKS)], False),
    "a level that should be gone": (top(side(100, 98, 97, 96, 95, 94), ASKS), [WHOLE], False),
    "a level that should be gone, of asks": (top(BIDS, side(102, 103, 104, 105, 106)), [WHOLE], False),
    "a level that was gone for a moment": (
        top(side(100, 98, 97, 96, 95, 94), ASKS),
        [WHOLE, top(side(100, 98, 97, 96, 95), ASKS)],
        True,
    ),
    "a level that was there for a moment": (
        WHOLE,
        [top(side(100, 98, 97, 96, 95), ASKS), WHOLE, top(side(100, 98, 97, 96, 95), ASKS)],
        True,
    ),
    "a moment between two books": (
        top(side(101, 100, 99, 98, 97), side(102, 103, 104, 105)),
        [top(side(100, 99, 98, 97, 96), side(101, 102, 103, 104, 105)),
         top(side(101, 100, 99, 98, 97), side(102, 103, 104, 105, 106))],
        True,
    ),
    "beyond the compared levels": (top(side(100, 99, 98, 97, 96, 1), ASKS), [WHOLE], True),
}  # fmt: skip


@pytest.mark.parametrize(("rest", "shown", "expected"), COMPARISONS.values(), ids=COMPARISONS.keys())
def test_a_book_by_rest_is_a_moment_of_the_stream(rest: BookTop, shown: list[BookTop], expected: bool) -> None:
    assert agrees(rest, shown) is expected


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
    shown = ShownBooks(keep=100)
    books = [book(str(number), "1000") for number in range(1, 6)]
    for number, one in enumerate(books, start=1):
        shown.show(one, number * 10)
    assert shown.between(20, 40) == books[1:4]
    assert shown.between(25, 29) == books[1:2]
    assert shown.between(0, 15) == books[:1]
    assert shown.between(60, 90) == books[4:]
    assert shown.newest() == books[4]


def test_books_are_kept_as_long_as_they_are_needed_and_the_one_that_stood_then() -> None:
    shown = ShownBooks(keep=20)
    books = [book(str(number), "1000") for number in range(1, 6)]
    for number, one in enumerate(books, start=1):
        shown.show(one, number * 10)
    assert shown.between(0, 100) == books[1:]
    shown.show(books[0], 1_000)
    assert shown.between(0, 2_000) == [books[4], books[0]]


def test_no_book_was_shown_at_first() -> None:
    shown = ShownBooks(keep=1)
    assert (shown.newest(), shown.between(0, 10)) == (None, [])
