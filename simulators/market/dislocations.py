"""Dislocations of one asset: for a moment one exchange's price leaves the others, and people close the gap.

A dislocation ends by a new quote of its exchange, by a competitor's market order, or once all that was open at the
wrong price is traded, whoever traded it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from market.instruments.orders import Side
from simulators.market.terms import DislocationTerms


@dataclass(slots=True)
class Dislocation:
    """A dislocation of `size` in bps, below 0 if the exchange is cheap."""

    size: float
    seconds: float
    """Dollars left of it."""
    open_dollars: float
    is_taken: bool
    """Whether a competitor ends it."""

    @property
    def closing_side(self) -> Side:
        """Return the side of the orders that profit from it."""
        return "buy" if self.size < 0 else "sell"


class Dislocations:
    """The dislocations of one asset on the exchanges that list it; one at a time on each."""

    def __init__(self, seed: int, base: str, exchanges: Sequence[str], terms: DislocationTerms) -> None:
        self._random = Random(f"{seed}:{base}:dislocations")  # noqa: S311 – prices, not secrets
        self._exchanges = tuple(exchanges)
        self._terms = terms
        self._open: dict[str, Dislocation] = {}
        self._time = 0.0
        self._next = terms.first_after
        self._opening_until = terms.opening_seconds

    def advance(self, seconds: float) -> None:
        """Begin the dislocations that are due."""
        self._time += seconds
        while self._next <= self._time:
            self._next += self._pause()
            self._begin()

    def prolong_opening(self) -> None:
        """Prolong the opening by two more dislocations, if the market has an opening at all."""
        if self._terms.opening_seconds:
            self._opening_until = max(self._opening_until, self._time + 2 * self._terms.opening_every)

    def advance_exchange(self, exchange: str, seconds: float) -> None:
        """End a dislocation that nobody trades; one that a competitor takes waits for `taken`."""
        dislocation = self._open.get(exchange)
        if dislocation is None:
            return
        dislocation.seconds -= seconds
        if dislocation.seconds <= 0 and not dislocation.is_taken:
            del self._open[exchange]

    def is_open(self, exchange: str) -> bool:
        return exchange in self._open

    def away(self, exchange: str) -> float:
        """Return the bps by which its price has left the others."""
        dislocation = self._open.get(exchange)
        return dislocation.size if dislocation is not None else 0.0

    def taken(self, exchange: str) -> tuple[Side, float] | None:
        """Return side and dollars of the order by which a competitor ends the exchange's dislocation now, if
        one does."""
        dislocation = self._open.get(exchange)
        if dislocation is None or not dislocation.is_taken or dislocation.seconds > 0:
            return None
        del self._open[exchange]
        return dislocation.closing_side, dislocation.open_dollars

    def traded(self, exchange: str, side: Side, dollars: float) -> None:
        """Take off what somebody traded on that side."""
        dislocation = self._open.get(exchange)
        if dislocation is None or side != dislocation.closing_side:
            return
        dislocation.open_dollars -= dollars
        if dislocation.open_dollars <= 0:
            del self._open[exchange]

    def _pause(self) -> float:
        if self._next < self._opening_until:
            return self._terms.opening_every
        return self._random.expovariate(self._terms.per_minute / 60)

    def _begin(self) -> None:
        random, terms = self._random, self._terms
        quiet = [exchange for exchange in self._exchanges if exchange not in self._open]
        if not quiet:
            return
        size = min(terms.largest, random.lognormvariate(math.log(terms.size), terms.size_spread))
        exchange = random.choice(quiet)
        self._open[exchange] = Dislocation(
            size=random.choice((-1, 1)) * size,
            seconds=min(terms.longest, random.lognormvariate(math.log(terms.seconds), terms.seconds_spread)),
            open_dollars=random.lognormvariate(math.log(terms.open_dollars), terms.open_spread),
            is_taken=random.random() < terms.taken_share,
        )
