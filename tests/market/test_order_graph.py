"""The walk on recorded books of several exchanges (order-graph, CC0), against figures that others reckoned."""

import json
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from market.decide.book_walk import WalkTerms, walk_books
from market.money import EXACT, Amount, Price
from market.prices.quotes import Level

BOOKS = Path(__file__).parents[2].parent / "shared" / "data" / "books"
FILES = {"1-ob": "order-graph_2019-03_1-ob.json", "run1-1": "order-graph_2019-04_run1-1.json"}

pytestmark = pytest.mark.skipif(
    not all((BOOKS / name).exists() for name in FILES.values()), reason=f"the recorded books are not in {BOOKS}"
)

Sides = tuple[tuple[Level, ...], tuple[Level, ...]]
"""Asks and bids."""


@cache
def books_of(file: str, base: str) -> dict[str, Sides]:
    """Exchange → its book against USD."""
    books = json.loads((BOOKS / FILES[file]).read_text())
    wanted = [book for book in books if (book["base"], book["quote"]) == (base, "USD")]
    return {book["venue"]: (levels_of(book["asks"]), levels_of(book["bids"])) for book in wanted}


def levels_of(rows: list[dict[str, dict[str, int]]]) -> tuple[Level, ...]:
    return tuple(Level(Price(exactly(row["price"])), Amount(exactly(row["qty"]))) for row in rows)


def exactly(ratio: dict[str, int]) -> Decimal:
    """Raise ArithmeticError for a ratio that no decimal equals."""
    return EXACT.divide(Decimal(ratio["numerator"]), Decimal(ratio["denominator"]))


def merged(books: dict[str, Sides]) -> Sides:
    asks = sorted(level for book in books.values() for level in book[0])
    bids = sorted((level for book in books.values() for level in book[1]), reverse=True)
    return tuple(asks), tuple(bids)


def is_printed(number: Fraction, text: str) -> bool:
    """Whether `text` is `number` to its last digit; exactly halfway between two, either may have been printed."""
    digits = len(text.split(".")[1])
    return abs(number - Fraction(text)) <= Fraction(Decimal(5).scaleb(-digits - 1))


@pytest.mark.parametrize(
    ("file", "base", "fee_bps", "amount", "profit"),
    [
        ("1-ob", "BTC", 0, "520.818638", "19143.08"),
        ("1-ob", "BTC", 10, "472.406475", "15286.78"),
        ("1-ob", "BTC", 25, "408.802811", "10115.66"),
        ("1-ob", "ETH", 0, "5086.245759", "5339.32"),
        ("1-ob", "ETH", 10, "4358.012667", "4010.41"),
        ("1-ob", "ETH", 25, "3072.059174", "2622.84"),
        ("run1-1", "BTC", 0, "97.706799", "1435.05"),
        ("run1-1", "BTC", 10, "71.657997", "590.16"),
        ("run1-1", "BTC", 25, "7.560506", "16.86"),
        ("run1-1", "ETH", 0, "1241.550116", "474.75"),
        ("run1-1", "ETH", 10, "635.159641", "173.21"),
        ("run1-1", "ETH", 25, "5.124992", "0.31"),
    ],
)
def test_all_exchanges_of_a_file_merged(file: str, base: str, fee_bps: int, amount: str, profit: str) -> None:
    asks, bids = merged(books_of(file, base))
    fee = Decimal(fee_bps).scaleb(-4)
    walk = walk_books(asks, bids, WalkTerms(fee, fee))
    assert is_printed(walk.amount, amount), float(walk.amount)
    assert is_printed(walk.profit, profit), float(walk.profit)
    assert walk.profit == walk.proceeds - walk.cost


@pytest.mark.parametrize(
    ("buy", "sell", "amount", "profit"),
    [
        ("coinbase", "bitfinex", "148.60387699", "8755.72732"),
        ("bitstamp", "bitfinex", "384.61936726", "12057.22401"),
    ],
)
def test_one_pair_of_exchanges_at_no_fee(buy: str, sell: str, amount: str, profit: str) -> None:
    books = books_of("1-ob", "BTC")
    walk = walk_books(books[buy][0], books[sell][1], WalkTerms())
    assert walk.amount == Fraction(amount)
    assert is_printed(walk.profit, profit), float(walk.profit)


def test_what_costs_no_fee_and_brings_nothing_is_left() -> None:
    """13.61461321 ETH of one file meet at the very same price."""
    asks, bids = merged(books_of("run1-1", "ETH"))
    strict, even = walk_books(asks, bids, WalkTerms()), walk_books(asks, bids, WalkTerms(min_bps=Decimal(0)))
    assert even.amount - strict.amount == Fraction("13.61461321")
    assert even.profit == strict.profit


@pytest.mark.parametrize(
    ("file", "base", "ask", "bid", "bps"),
    [
        ("1-ob", "BTC", "3906", "3973.4", "172.56"),
        ("1-ob", "ETH", "132.75", "135.02", "171.00"),
        ("run1-1", "BTC", "5073.91", "5103.6", "58.52"),
        ("run1-1", "ETH", "163.62", "164.5", "53.78"),
    ],
)
def test_best_prices_and_their_spread(file: str, base: str, ask: str, bid: str, bps: str) -> None:
    asks, bids = merged(books_of(file, base))
    assert (asks[0].price, bids[0].price) == (Decimal(ask), Decimal(bid))
    assert is_printed((Fraction(bids[0].price) / Fraction(asks[0].price) - 1) * 10_000, bps)
