"""Books of any exchange that ccxt knows, as `exchanges.ccxt` writes them: `{"bids": [[price, amount], …], "asks",
"timestamp" (milliseconds), "nonce"}`, the last two if the exchange has them, or `{"fault", "detail"}`."""

from dataclasses import dataclass, field

from exchanges.books.errors import FrameFault, FrameRejectedError
from exchanges.books.frames import Fields, count_in, fields_of, levels_in, malformed, text_in
from exchanges.books.port import Conversation, ServerTime, WireOutput
from exchanges.credentials import Credentials
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.order_book import top_of

_MICROS_OF_MS = 1_000
_FAULTS: dict[object, FrameFault] = {"malformed": "malformed", "checksum": "checksum"}


class GenericBooks:
    """One symbol. ccxt keeps the book; a number that goes backwards is all that can show here that it is wrong."""

    def __init__(self) -> None:
        self._last_nonce = 0

    def open(self, now: int) -> list[WireOutput]:
        return []

    def take_frame(self, frame: str | bytes, now: int) -> list[WireOutput]:
        fields = fields_of(frame)
        if "fault" in fields:
            kind = _FAULTS.get(fields["fault"], "malformed")
            raise FrameRejectedError(kind, text_in(fields, "detail"))
        nonce = count_in(fields, "nonce") if "nonce" in fields else self._last_nonce
        if nonce < self._last_nonce:
            raise FrameRejectedError("sequence_gap", f"{nonce} after {self._last_nonce}")
        self._last_nonce = nonce
        return [_top_of(fields)]

    def take_snapshot(self, body: bytes, now: int) -> list[WireOutput]:
        """Not used: ccxt fetches snapshots itself."""
        return []


def parse_rest_book(body: bytes) -> BookTop:
    """Raise FrameRejectedError, also for an empty book: ccxt makes one of an answer that it cannot read."""
    top = _top_of(fields_of(body))
    if not (top.bids and top.asks):
        raise malformed("an empty book by REST")
    return top


def _top_of(fields: Fields) -> BookTop:
    time = count_in(fields, "timestamp") * _MICROS_OF_MS if "timestamp" in fields else None
    return top_of(levels_in(fields, "bids"), levels_in(fields, "asks"), time)


@dataclass(frozen=True, slots=True)
class GenericWire:
    """The parser of an exchange without one of our own; the path of a book by REST is its symbol."""

    server_time: ServerTime | None = field(default=None, init=False)
    """The exchange's clock is estimated from its messages."""
    detects_loss: bool = field(default=False, init=False)
    """What ccxt itself notices of lost messages differs from exchange to exchange."""

    def conversation(self, _market: Market, _keys: Credentials | None) -> Conversation:
        return GenericBooks()

    def rest_book(self, market: Market) -> str:
        return market.symbol

    def parse_rest_book(self, body: bytes) -> BookTop:
        return parse_rest_book(body)
