"""The port of a market's prices: mids as time passes, and how other participants react to them."""

from collections.abc import Sequence
from typing import Protocol

from market.instruments.orders import Side
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade

MarketOrder = tuple[Side, int]
"""Side and lots of an order at the market."""


class MarketPrices(Protocol):
    """Advance in turns: one exchange a step, or all of them. The same seed and steps give the same prices."""

    def advance_latent(self, seconds: float) -> None:
        """Advance what all exchanges share."""
        ...

    def advance_exchange(self, name: str, seconds: float) -> None:
        """Advance one exchange's prices."""
        ...

    def prolong_opening(self) -> None:
        """Prolong what a market has for its beginning, because nobody detects anything yet."""
        ...

    def mid(self, listing: Listing) -> float:
        """Return the mid in the market's quote currency."""
        ...

    def heeds_trades(self, listing: Listing) -> bool:
        """Return whether a trade on this market would change prices now, or competitors may send orders to it."""
        ...

    def orders(self, listing: Listing) -> Sequence[MarketOrder]:
        """Return what competitors send to this market in this turn."""
        ...

    def traded(self, listing: Listing, trades: Sequence[PublicTrade]) -> None:
        """Take note of all trades on this market in this turn."""
        ...
