"""Kraken's book of a fixed depth, whose ten best levels are checked against the CRC32 that each message carries."""

from collections.abc import Iterable
from zlib import crc32

from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook
from market.prices.quotes import Level
from pricefeeds.errors import FrameRejectedError

DEPTHS = (10, 25, 100, 500, 1000)


class CheckedBook:
    """The levels keep the exchange's own digits, trailing zeros included: the checksum is computed from them."""

    def __init__(self, depth: int) -> None:
        self._book = OrderBook()
        self._depth = depth
        self._asks = _Digits()
        self._bids = _Digits()

    def restart(self, bids: Iterable[Level], asks: Iterable[Level]) -> None:
        self._book.restart(bids, asks)
        self._book.cut(self._depth)

    def apply(self, bids: Iterable[Level], asks: Iterable[Level]) -> None:
        """Kraken does not announce a level that is pushed out of the depth, so it is cut off here."""
        self._book.apply(bids, asks)
        self._book.cut(self._depth)

    def check(self, checksum: int) -> None:
        """Raises FrameRejectedError "checksum" where the book differs from the exchange's."""
        digits = self._asks.of(self._book.asks.best()) + self._bids.of(self._book.bids.best())
        own = crc32(digits.encode())
        if own != checksum:
            raise FrameRejectedError("checksum", f"the exchange's book is {checksum}, ours {own}")

    def top(self, exchange_time: int | None = None) -> BookTop:
        return self._book.top(exchange_time)


class _Digits:
    """One side's digits, computed only for levels that are new since the last call."""

    def __init__(self) -> None:
        self._levels: tuple[Level, ...] = ()
        self._known: dict[Level, str] = {}
        self._digits = ""

    def of(self, levels: tuple[Level, ...]) -> str:
        if levels is not self._levels:
            self._known = {level: self._known.get(level) or level_digits(level) for level in levels}
            self._levels, self._digits = levels, "".join(self._known.values())
        return self._digits


def level_digits(level: Level) -> str:
    """Price and amount without point and leading zeros, as the exchange concatenates them."""
    return "".join([format(number, "f").replace(".", "").lstrip("0") for number in level])
