"""Which quote a local paper account believes in, whatever rows come in which order."""

from collections.abc import Sequence

import pytest

from exchanges.paper.quotes import PaperQuotes
from market.prices.quotes import FeedMark, MarkKind, Quote
from tests.market.samples import levels

Row = tuple[str, int]
"""Kind and sequence."""


@pytest.mark.parametrize(
    ("rows", "newest", "verified"),
    [
        ([], None, None),
        ([("quote", 5)], 5, 5),
        ([("quote", 5), ("quote", 4)], 5, 5),
        ([("quote", 5), ("quote", 5)], 5, 5),
        ([("quote", 5), ("quote", 6)], 6, 6),
        ([("quote", 5), ("alive", 6)], 5, 6),
        ([("quote", 5), ("alive", 4)], 5, 5),
        ([("quote", 5), ("alive", 7), ("alive", 6)], 5, 7),
        ([("alive", 5)], None, None),
        ([("quote", 5), ("withdrawn", 6)], None, None),
        ([("quote", 5), ("withdrawn", 5)], 5, 5),
        ([("quote", 5), ("withdrawn", 6), ("quote", 5)], None, None),
        ([("quote", 5), ("withdrawn", 6), ("alive", 7)], None, None),
        ([("quote", 5), ("withdrawn", 6), ("quote", 7)], 7, 7),
        ([("quote", 5), ("withdrawn", 6), ("quote", 6)], 6, 6),
        ([("quote", 5), ("withdrawn", 6), ("quote", 6), ("withdrawn", 6)], 6, 6),
    ],
    ids=lambda value: " ".join(f"{kind}{number}" for kind, number in value) if isinstance(value, list) else None,
)
def test_the_newest_quote(rows: Sequence[Row], newest: int | None, verified: int | None) -> None:
    quotes = PaperQuotes()
    for kind, sequence in rows:
        if kind == "quote":
            quotes.update(quote(sequence))
        else:
            quotes.mark(mark("withdrawn" if kind == "withdrawn" else "alive", sequence))
    found = quotes.newest("BTC/USD")
    assert (None if found is None else found.sequence) == newest
    if verified is not None:
        assert quotes.age("BTC/USD", 100) == 100 - verified
    assert quotes.newest("BTC/EUR") is None


def quote(sequence: int) -> Quote:
    book = (levels(("99", "1")), levels(("101", "1")))
    return Quote("quote", "alpha", "us", "BTC/USD", "BTC", "USD", *book, None, sequence, sequence)


def mark(kind: MarkKind, sequence: int) -> FeedMark:
    return FeedMark(kind, "alpha", "us", "BTC/USD", "BTC", "USD", sequence, sequence)
