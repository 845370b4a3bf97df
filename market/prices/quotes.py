"""A quote: the best bid and ask of one symbol on one exchange at one moment, with the depth behind it."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

from market.money import Amount, Price

MAX_LEVELS = 10

QuoteKind = Literal["quote", "fx"]
MarkKind = Literal["alive", "withdrawn", "fx_alive", "fx_withdrawn"]


class Level(NamedTuple):
    """One price level of an order book, amounts in base currency."""

    price: Price
    amount: Amount


@dataclass(frozen=True, slots=True)
class Quote:
    """Up to ten levels a side, best first; times in microseconds UTC.

    `kind` is "fx" if base and quote are both currencies that settle trades.
    """

    kind: QuoteKind
    exchange: str
    region: str
    symbol: str
    base: str
    quote_currency: str
    bids: tuple[Level, ...]
    asks: tuple[Level, ...]
    exchange_time: int | None
    received_time: int
    sequence: int

    @property
    def bid(self) -> Price:
        return self.bids[0].price

    @property
    def ask(self) -> Price:
        return self.asks[0].price

    @property
    def quote_id(self) -> str:
        return f"{self.exchange}:{self.symbol}:{self.sequence}"


@dataclass(frozen=True, slots=True)
class FeedMark:
    """A feed's word on its newest quote: still true (`alive`) or gone at once (`withdrawn`)."""

    kind: MarkKind
    exchange: str
    region: str
    symbol: str
    base: str
    quote_currency: str
    received_time: int
    sequence: int


def next_sequence(last: int, received_time: int) -> int:
    """Return a strictly growing sequence that needs no memory beyond the last record written."""
    return max(last + 1, received_time)


def rejection_of(
    quote: Quote, last_received: int, last_mid: Decimal | None = None, bound: Decimal = Decimal("0.5")
) -> str | None:
    """Why a quote must not enter the log, or None.

    `bound` is the largest believable move of the mid against the last accepted one (a fraction). An FX rate is never
    traded, so its amounts may be 0 (unknown).
    """
    if not quote.bids or not quote.asks:
        return "empty"
    if not _are_possible(quote.bids, quote.kind) or not _are_possible(quote.asks, quote.kind):
        return "out_of_bounds"
    if quote.bid >= quote.ask:
        return "crossed"
    if quote.received_time < last_received:
        return "backwards"
    if last_mid is not None and abs((quote.bid + quote.ask) / 2 - last_mid) > bound * last_mid:
        return "out_of_bounds"
    return None


def _are_possible(levels: tuple[Level, ...], kind: QuoteKind) -> bool:
    for price, amount in levels:  # noqa: SIM110 - a generator costs twice as much, and this is done per book
        if price <= 0 or amount < 0 or (amount == 0 and kind != "fx"):
            return False
    return True
