"""Kraken's book of a fixed depth, whose ten best levels are checked against the CRC32 that each message carries."""

from collections.abc import Iterable
from zlib import crc32

from market.quotes import Level
from pricefeeds.books import BookTop
from pricefeeds.errors import FrameRefusedError
from pricefeeds.wire.orderbook import OrderBook

DEPTHS = (10, 25, 100, 500, 1000)


class CheckedBook:
    """The levels keep the exchange's own digits, trailing zeros included: the checksum is made of them."""

    def __init__(self, depth: int) -> None:
        self._book = OrderBook()
        self._depth = depth
        self._digits: dict[str, tuple[tuple[Level, ...], str]] = {"asks": ((), ""), "bids": ((), "")}
        """Per side, the best levels and their digits, kept while those do not change."""

    def restart(self, bids: Iterable[Level], asks: Iterable[Level]) -> None:
        self._book.restart(bids, asks)

    def apply(self, bids: Iterable[Level], asks: Iterable[Level]) -> None:
        """A level that the others push out of the depth is never said to be gone, so it is cut off here."""
        self._book.apply(bids, asks)
        self._book.cut(self._depth)

    def check(self, checksum: int) -> None:
        """Raises FrameRefusedError "checksum" where the book is not the exchange's."""
        own = crc32((self._side("asks", self._book.asks.best()) + self._side("bids", self._book.bids.best())).encode())
        if own != checksum:
            raise FrameRefusedError("checksum", f"the exchange's book is {checksum}, ours {own}")

    def top(self, exchange_time: int | None = None) -> BookTop:
        return self._book.top(exchange_time)

    def _side(self, name: str, levels: tuple[Level, ...]) -> str:
        known, digits = self._digits[name]
        if known is not levels:
            digits = digits_of(levels)
            self._digits[name] = (levels, digits)
        return digits


def digits_of(levels: Iterable[Level]) -> str:
    """Price and amount of each level without point and leading zeros, as the exchange strings them together."""
    return "".join([format(number, "f").replace(".", "").lstrip("0") for level in levels for number in level])
