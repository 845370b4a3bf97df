"""The best levels of an order book."""

from dataclasses import dataclass

from market.prices.quotes import Level


@dataclass(frozen=True, slots=True)
class BookTop:
    """Up to ten levels a side, best first; `exchange_time` in microseconds UTC, None if the exchange gives none."""

    bids: tuple[Level, ...]
    asks: tuple[Level, ...]
    exchange_time: int | None = None
