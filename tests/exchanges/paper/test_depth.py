"""What was taken from a level stays taken, whatever quotes follow, until the level itself changes."""

from decimal import Decimal

import pytest

from exchanges.paper.depth import Taken, TakenDepth
from market.instruments.orders import Side
from market.money import Price
from market.prices.quotes import Level, Quote
from tests.market.samples import levels

BIDS = (("99", "1"), ("98", "2"))
ASKS = (("101", "1"), ("102", "2"))
Book = tuple[tuple[str, str], ...]


def quote(asks: Book = ASKS, bids: Book = BIDS) -> Quote:
    return Quote("quote", "alpha", "us", "BTC/USD", "BTC", "USD", levels(*bids), levels(*asks), None, 1, 1)


def taken(price: str, shown: str, amount: str) -> Taken:
    return Taken(Price(Decimal(price)), Decimal(shown), Decimal(amount))


def level(price: str, amount: str) -> Level:
    (one,) = levels((price, amount))
    return one


@pytest.mark.parametrize(
    ("seen", "left"),
    [
        ([ASKS], "0.25"),
        ([(("100", "5"), *ASKS)], "0.25"),
        ([(("101", "1"),)], "0.25"),
        ([(("100", "5"),), ASKS], "0.25"),
        ([(("101", "1.5"), ("102", "2")), ASKS], "1"),
        ([(("101", "0.5"), ("102", "2")), ASKS], "1"),
        ([(("102", "2"),), ASKS], "1"),
        ([(("101.5", "1"), ("103", "1")), ASKS], "1"),
    ],
    ids=[
        "the same again",
        "a better level came",
        "the others went",
        "too deep to be shown for a while",
        "grew and shrank",
        "shrank and grew",
        "went and came back",
        "passed over and came back",
    ],
)
def test_a_level_bought_from(seen: list[Book], left: str) -> None:
    depth = TakenDepth()
    depth.take("BTC/USD", "buy", [taken("101", "1", "0.75")])
    for book in seen:
        depth.update(quote(book))
    assert depth.left("BTC/USD", "buy", level("101", "1")) == Decimal(left)


@pytest.mark.parametrize(("bids", "left"), [((("100", "4"), *BIDS), "0.5"), ((("98", "2"),), "1")])
def test_a_level_sold_into(bids: Book, left: str) -> None:
    depth = TakenDepth()
    depth.take("BTC/USD", "sell", [taken("99", "1", "0.5")])
    depth.update(quote(bids=bids))
    assert depth.left("BTC/USD", "sell", level("99", "1")) == Decimal(left)


def test_takings_add_up_and_end_with_their_level() -> None:
    depth = TakenDepth()
    depth.take("BTC/USD", "buy", [taken("101", "1", "0.25"), taken("102", "2", "1")])
    depth.take("BTC/USD", "buy", [taken("101", "1", "0.5")])
    assert depth.left("BTC/USD", "buy", level("101", "1")) == Decimal("0.25")
    assert depth.left("BTC/USD", "buy", level("102", "2")) == 1
    assert depth.left("BTC/USD", "buy", level("101", "3")) == 3, "another level, though no quote showed it yet"
    depth.take("BTC/USD", "buy", [taken("101", "3", "1")])
    assert depth.left("BTC/USD", "buy", level("101", "3")) == 2


@pytest.mark.parametrize(("symbol", "side"), [("BTC/EUR", "buy"), ("BTC/USD", "sell")])
def test_another_market_and_the_other_side_are_untouched(symbol: str, side: Side) -> None:
    depth = TakenDepth()
    depth.take("BTC/USD", "buy", [taken("101", "1", "1")])
    assert depth.left(symbol, side, level("101", "1")) == 1
