"""Which markets of an exchange move in a turn: those that somebody looks at move in each one, the others now
and then."""

from collections.abc import Collection, Sequence

from exchanges.simulated_markets import further_markets
from simulators.matching.listings import Listing

_FX_EVERY = 10
_RESTING_EVERY = 256
"""Turns: about ten seconds."""
_FURTHER = further_markets()


class MarketPace:
    """The pace of one exchange's markets. Those of the `bases` always count as looked at, if a session of ours may
    subscribe to them."""

    def __init__(self, listings: Sequence[Listing], bases: Collection[str]) -> None:
        self._listings = tuple(listings)
        self._bases = bases
        self._watched: frozenset[str] = frozenset()

    def watch(self, symbols: Collection[str]) -> None:
        """Look at these from now on, beside those of the bases."""
        self._watched = frozenset(symbols)

    def is_resting(self, listing: Listing) -> bool:
        """Return whether the market moves only now and then."""
        return self._every(listing) == _RESTING_EVERY

    def due(self, turn: int) -> list[tuple[Listing, int]]:
        """Return the markets that move in this turn, in the order of the list, with the turns since they last did."""
        due = []
        for number, listing in enumerate(self._listings):
            every = self._every(listing)
            # resting ones not all at once; in the first turn every market gets its book
            place = number if every == _RESTING_EVERY else 0
            if turn == 0 or (turn + place) % every == 0:
                due.append((listing, 1 if every == _FX_EVERY else every))
        return due

    def _every(self, listing: Listing) -> int:
        market = listing.market
        if market.is_fx:
            return _FX_EVERY
        is_looked_at = market.symbol in self._watched or (market.base in self._bases and market not in _FURTHER)
        return 1 if is_looked_at else _RESTING_EVERY
