"""Kraken's checksum against recorded ones, and its depth views against the book they show."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.instruments.orders import Side
from simulators.kraken.market_channels import DepthView
from simulators.matching.engine import BookOrder, MatchingBook
from simulators.matching.listings import listings_of
from tests.simulators.kraken_checksum import checksum

Levels = list[tuple[str, str]]

RECORDING = Path(__file__).parents[3] / "shared/data/wire/cryptofeed/KRAKEN.ws.50.0"


def test_checksum_of_recorded_books() -> None:
    if not RECORDING.exists():
        pytest.skip(f"no recording at {RECORDING}")
    books: dict[str, dict[str, dict[str, str]]] = {}
    checked = 0
    for line in RECORDING.read_text().splitlines():
        _, _, text = line.partition(": ")
        message = json.loads(text) if text.startswith("[") else None
        if not isinstance(message, list):
            continue
        pair, parts = message[-1], [part for part in message[1:-2] if isinstance(part, dict)]
        if any("as" in part for part in parts):
            books[pair] = {"a": _texts(parts[0]["as"]), "b": _texts(parts[0]["bs"])}
            continue
        expected = next((part["c"] for part in parts if isinstance(part.get("c"), str)), None)
        for part in parts:
            for side in ("a", "b"):
                books[pair][side].update(_texts(part.get(side, ())))
        if expected is not None:
            assert checksum(_best(books[pair]["a"], 1), _best(books[pair]["b"], -1)) == int(expected)
            checked += 1
    assert checked > 1_000


def _texts(rows: Any) -> dict[str, str]:
    return {row[0]: row[1] for row in rows}


def _best(levels: dict[str, str], sign: int) -> list[tuple[str, str]]:
    return sorted(
        ((price, amount) for price, amount in levels.items() if float(amount)),
        key=lambda level: sign * float(level[0]),
    )[:10]


rows = st.lists(
    st.tuples(st.sampled_from(("buy", "sell")), st.integers(1, 60), st.integers(1, 9), st.integers(0, 40)), max_size=40
)


@given(rows)
def test_readers_that_truncate_see_the_book(orders: list[tuple[Side, int, int, int]]) -> None:
    """A reader keeps its best ten levels a side and applies each update; checksums agree at each step. The digits on
    the wire are those of the checksum, so a reader needs no table of decimals."""
    listing = next(row for row in listings_of("kraken") if row.market.symbol == "BTC/USD")
    book, view = MatchingBook(), DepthView(listing, 10)
    seen = _read({}, view.snapshot(book))
    for number, (side, away, lots, cancelled) in enumerate(orders):
        ticks = 600_000 - away if side == "buy" else 600_000 + away
        book.submit(BookOrder(str(number), "maker", side, ticks, lots), rests=True)
        book.cancel(str(cancelled))
        update = view.update(book)
        if update is not None:
            seen = _read(seen, update)
        asks = [(listing.price_text(t), listing.amount_text(n)) for t, n in book.levels("sell", 10)]
        bids = [(listing.price_text(t), listing.amount_text(n)) for t, n in book.levels("buy", 10)]
        assert seen.get("asks", []) == asks
        assert seen.get("bids", []) == bids
        if update is not None:
            assert update["checksum"] == checksum(asks, bids)


def _read(seen: dict[str, Levels], message: dict[str, object]) -> dict[str, Levels]:
    """Return levels as texts, as they came."""
    sent = json.loads(orjson.dumps(message), parse_float=str, parse_int=str)
    result = {}
    for name, sign in (("asks", 1), ("bids", -1)):
        levels = dict(seen.get(name, []))
        levels.update((level["price"], level["qty"]) for level in sent[name])
        result[name] = _best(levels, sign)
    return result
