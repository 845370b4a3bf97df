"""What the rate limits of the other exchanges let their bots begin, as far as the arbitrages of all show it.

Each bot alone knows its own account's budget. What its partners have is worked out from the legs that everybody sees,
so that no leg is reserved whose partner would be refused. A guess: the partner's own word counts.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from exchanges.budget import RateBudget, account_budget
from market.arbitrages import Arbitrage, LegRole

_REMEMBERED = 2_000
"""Legs: one is seen again with each step of its arbitrage."""


@dataclass(slots=True)
class Partners:
    """One budget for each of the others, spent as their legs are sent."""

    budgets: dict[str, RateBudget]
    _seen: deque[tuple[str, LegRole]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def see(self, arbitrage: Arbitrage) -> None:
        for leg in arbitrage.legs:
            key, budget = (arbitrage.arbitrage_id, leg.role), self.budgets.get(leg.exchange)
            if budget is not None and "sending" in leg.times and key not in self._seen:
                self._seen.append(key)
                budget.note_leg()

    def legs_left(self, exchange: str, open_arbitrages: Iterable[Arbitrage]) -> int | None:
        """Less those that wait to be sent; None where nothing limits them, or nobody knows."""
        budget = self.budgets.get(exchange)
        left = None if budget is None else budget.legs_left()
        if left is None:
            return None
        legs = (leg for one in open_arbitrages for leg in one.legs)
        return left - sum(leg.exchange == exchange and leg.state == "reserved" for leg in legs)


def partners_of(exchange: str, exchanges: Iterable[str]) -> Partners:
    return Partners({name: account_budget(name) for name in exchanges if name != exchange})
