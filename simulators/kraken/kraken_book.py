"""Kraken's WebSocket v2 `book` channel: depth-limited snapshots and updates, each with a CRC32 of the top ten."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from zlib import crc32

import orjson

from market.instruments.orders import Side
from simulators.matching.listings import Listing
from simulators.matching.matching_engine import MatchingBook
from simulators.web.json_digits import exact

DEPTHS = (10, 25, 100, 500, 1000)
_SIDES: tuple[tuple[str, Side], ...] = (("asks", "sell"), ("bids", "buy"))

Levels = list[tuple[int, int]]


def checksum(asks: Iterable[tuple[str, str]], bids: Iterable[tuple[str, str]]) -> int:
    """CRC32 as Kraken defines it: digits of price and amount of ten asks, then ten bids, leading zeros stripped."""
    digits = [
        _digits(price) + _digits(amount) for levels in (asks, bids) for price, amount in itertools.islice(levels, 10)
    ]
    return crc32("".join(digits).encode())


def _digits(text: str) -> str:
    return text.replace(".", "").lstrip("0")


@dataclass(slots=True)
class DepthView:
    """The best `depth` levels of a book as its readers know them."""

    listing: Listing
    depth: int
    known: dict[Side, Levels] = field(default_factory=dict)

    def snapshot(self, book: MatchingBook) -> dict[str, object]:
        """The whole view as it is published now; readers that know an older one get the difference by `update`."""
        row: dict[str, object] = {"symbol": self.listing.market.symbol}
        for name, side in _SIDES:
            levels = self.known.setdefault(side, book.levels(side, self.depth))
            row[name] = [self._level(ticks, lots) for ticks, lots in levels]
        row["checksum"] = self._checksum()
        return row

    def update(self, book: MatchingBook) -> dict[str, object] | None:
        """What changed since the last call, None where nothing did.

        A level pushed out of the depth is not mentioned, readers drop it; one that comes back in is sent again.
        """
        row: dict[str, object] = {"symbol": self.listing.market.symbol}
        changed = False
        for name, side in _SIDES:
            before, after = self.known.get(side, []), book.levels(side, self.depth)
            rows = self._difference(before, after, side)
            changed = changed or bool(rows)
            row[name], self.known[side] = rows, after
        if not changed:
            return None
        row["checksum"] = self._checksum()
        return row

    def _difference(self, before: Levels, after: Levels, side: Side) -> list[dict[str, orjson.Fragment]]:
        old, new = dict(before), dict(after)
        sign = 1 if side == "sell" else -1
        is_full = len(after) == self.depth
        worst = after[-1][0] * sign if after else 0
        gone = [t for t in old if t not in new and not (is_full and t * sign > worst)]
        rows = [self._level(ticks, 0) for ticks in gone]
        return rows + [self._level(ticks, lots) for ticks, lots in after if old.get(ticks) != lots]

    def _checksum(self) -> int:
        asks, bids = (
            [(self.listing.price_text(ticks), self.listing.amount_text(lots)) for ticks, lots in self.known[side]]
            for _, side in _SIDES
        )
        return checksum(asks, bids)

    def _level(self, ticks: int, lots: int) -> dict[str, orjson.Fragment]:
        return {"price": exact(self.listing.price_text(ticks)), "qty": exact(self.listing.amount_text(lots))}
