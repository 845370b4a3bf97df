"""Real messages recorded from the exchanges, beside the checkout; tests of them skip if they are not there."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from exchanges.books.port import Conversation, FetchSnapshot
from exchanges.simulated_markets import paper_markets
from market.instruments.markets import Market
from market.prices.book_top import BookTop

FOLDER = Path(__file__).parents[3].parent / "shared" / "data" / "wire" / "cryptofeed"
_MICROSECONDS = 1_000_000


def market_of(base: str, quote_currency: str) -> Market:
    market = paper_markets()[0]
    return replace(market, symbol=f"{base}/{quote_currency}", base=base, quote_currency=quote_currency)


def recorded_lines(name: str) -> list[str]:
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path.read_text().splitlines()


def received_frames(name: str) -> Iterator[tuple[int, str]]:
    """Microseconds and text of each message that came in, in order."""
    for line in recorded_lines(name):
        moment, separator, frame = line.partition(": ")
        if separator and moment.replace(".", "").isdigit():
            yield int(float(moment) * _MICROSECONDS), frame


def fetched_bodies(name: str) -> Iterator[tuple[str, bytes]]:
    """Address and body of each REST answer, in order."""
    for line in recorded_lines(name):
        head, separator, body = line.partition(": ")
        if separator and head.startswith("https://"):
            yield head.split(" -> ")[0], body.encode()


class Listener:
    """Hears all frames of one symbol, as a feed would, and keeps the books that came out."""

    def __init__(self, conversation: Conversation, snapshots: Mapping[str, bytes] | None = None) -> None:
        self.tops: list[BookTop] = []
        self.fetched: list[str] = []
        self._conversation = conversation
        self._snapshots = snapshots or {}

    def take_frame(self, frame: str, now: int) -> None:
        for heard in self._conversation.take_frame(frame, now):
            if isinstance(heard, FetchSnapshot):
                self.fetched.append(heard.path)
                answer = self._conversation.take_snapshot(self._snapshots[heard.path], now)
                self.tops += [top for top in answer if isinstance(top, BookTop)]
            elif isinstance(heard, BookTop):
                self.tops.append(heard)


def is_crossed(top: BookTop) -> bool:
    return bool(top.bids and top.asks) and top.bids[0].price >= top.asks[0].price
