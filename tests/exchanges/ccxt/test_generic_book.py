"""What ccxt has read, as books and faults."""

import pytest

from exchanges.books.errors import FrameRejectedError
from exchanges.books.frames import level_of
from exchanges.books.port import WireOutput
from exchanges.ccxt.book_stream import book_text, fault_text
from exchanges.ccxt.generic_book import GenericBooks, GenericWire, parse_rest_book
from exchanges.simulated_markets import paper_markets
from market.prices.book_top import BookTop
from market.prices.order_book import top_of
from market.prices.quotes import Level

BOOK = {"bids": [[100.1, 1e-08, 7], [99, 2]], "asks": [[100.5, 0.30000000000000004]], "timestamp": None, "nonce": None}


def level(price: str, amount: str) -> Level:
    return level_of(price, amount)


def heard(*texts: str) -> list[WireOutput]:
    books = GenericBooks()
    assert books.open(0) == []
    return [output for text in texts for output in books.take_frame(text, 0)]


def test_floats_keep_the_exchanges_digits() -> None:
    asks = [level("100.5", "0.30000000000000004")]
    assert heard(book_text(BOOK)) == [top_of([level("100.1", "0.00000001"), level("99", "2")], asks)]


def test_the_time_comes_in_milliseconds() -> None:
    [top] = heard(book_text({**BOOK, "timestamp": 1_700_000_000_123}))
    assert isinstance(top, BookTop)
    assert top.exchange_time == 1_700_000_000_123_000


def test_the_ten_best_levels_a_side() -> None:
    [top] = heard(book_text({**BOOK, "bids": [[float(price), 1] for price in range(90, 60, -1)]}))
    assert isinstance(top, BookTop)
    assert [one.price for one in top.bids] == list(range(90, 80, -1))


def test_numbers_may_stand_still_and_leap_forward() -> None:
    assert len(heard(*(book_text({**BOOK, "nonce": nonce}) for nonce in (5, 5, 900)), book_text(BOOK))) == 4


FAULTS = {
    "a number that goes backwards": (book_text({**BOOK, "nonce": 4}), "sequence_gap"),
    "ccxt could not read it": (fault_text("malformed", "TypeError"), "malformed"),
    "ccxt found it wrong": (fault_text("checksum", "another sum"), "checksum"),
    "a fault that nobody knows": ('{"fault": "later", "detail": ""}', "malformed"),
    "no JSON": ("{", "malformed"),
    "no sides": ("{}", "malformed"),
    "a negative price": (book_text({**BOOK, "bids": [[-1.0, 1.0]]}), "malformed"),
    "not a number": (book_text({**BOOK, "timestamp": -1}), "malformed"),
}


@pytest.mark.parametrize(("text", "kind"), FAULTS.values(), ids=FAULTS)
def test_what_cannot_be_true_is_rejected(text: str, kind: str) -> None:
    with pytest.raises(FrameRejectedError) as rejected:
        heard(book_text({**BOOK, "nonce": 5}), text)
    assert rejected.value.kind == kind


@pytest.mark.parametrize("empty", ["bids", "asks"])
def test_an_empty_book_by_rest_is_an_answer_that_ccxt_could_not_read(empty: str) -> None:
    with pytest.raises(FrameRejectedError, match="an empty book by REST"):
        parse_rest_book(book_text({**BOOK, empty: []}).encode())


def test_the_path_of_a_book_is_its_symbol() -> None:
    wire, market = GenericWire(), paper_markets()[0]
    assert wire.rest_book(market) == market.symbol
    assert wire.parse_rest_book(book_text(BOOK).encode()).asks == (level("100.5", "0.30000000000000004"),)
