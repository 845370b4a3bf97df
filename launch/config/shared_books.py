"""Exchanges of a session with one order book: there is no arbitrage between them, and our orders would meet there."""

from collections.abc import Iterator
from itertools import combinations

from exchanges.catalogue import facts_of
from launch.errors import CannotStartError
from session.session import Session


def check_books_apart(session: Session) -> None:
    """Raise CannotStartError if two exchanges of a session with money have one order book of a
    market."""
    for first, second, symbol in _shared(session):
        raise CannotStartError(
            f"{first} and {second} have one order book of {symbol}: their prices are the same, and our orders would "
            "trade with each other; leave one of them out of `exchanges`, or give them other [markets]."
        )


def shared_book_notes(session: Session) -> list[str]:
    """Return a sentence for each such pair, for paper trading."""
    return [
        f"note: {first} and {second} have one order book of {symbol}; with money such a session does not start"
        for first, second, symbol in _shared(session)
    ]


def _shared(session: Session) -> Iterator[tuple[str, str, str]]:
    """Yield two exchanges with one order book, and a market that both trade; each two once."""
    symbols: dict[str, set[str]] = {}
    for market in session.traded:
        symbols.setdefault(market.exchange, set()).add(market.symbol)
    for first, second in combinations(symbols, 2):
        both = symbols[first] & symbols[second]
        if both and _have_one_book(session.entry_of(first).ccxt, session.entry_of(second).ccxt):
            yield first, second, min(both)


def _have_one_book(first: str, second: str) -> bool:
    facts = facts_of(first)
    return first == second or (facts is not None and second in facts.one_book_with)
