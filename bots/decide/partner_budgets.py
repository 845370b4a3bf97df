"""What the rate limits of the other exchanges let their bots begin, as far as the arbitrages of all show it.

Each bot alone knows its own account's budget. What its partners have is worked out from the legs that everybody sees,
so that no leg is reserved whose partner would be rejected. A guess: the partner's own word counts.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from exchanges.requests.rate_budget import RateBudget, account_budget
from market.trade.arbitrages import Arbitrage

_REMEMBERED = 2_000
"""Legs: one is seen again with each step of its arbitrage."""


@dataclass(slots=True)
class PartnerBudgets:
    """One budget for each of the others, spent as their legs are sent.

    A partner's own reads, retries and switches cannot be seen from here. Where it let a half reservation expire, it had
    less than was thought: so much is taken from the guess.
    """

    budgets: dict[str, RateBudget]
    _seen: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def see(self, arbitrage: Arbitrage) -> None:
        for leg in arbitrage.legs:
            if "sending" in leg.times:
                self._spend(arbitrage.arbitrage_id, leg.role, leg.exchange)
        if arbitrage.state == "expired":
            for exchange in _exchanges_of(arbitrage) - {leg.exchange for leg in arbitrage.legs}:
                self._spend(arbitrage.arbitrage_id, "expired", exchange)

    def legs_left(self, exchange: str, open_arbitrages: Iterable[Arbitrage], attempting: int = 0) -> int | None:
        """Less those that it has still to send or to join, and those that this bot is just asking for; None where
        nothing limits them, or nobody knows."""
        budget = self.budgets.get(exchange)
        left = None if budget is None else budget.legs_left()
        if left is None:
            return None
        return left - attempting - sum(_waits_for(exchange, one) for one in open_arbitrages)

    def _spend(self, arbitrage_id: str, what: str, exchange: str) -> None:
        budget = self.budgets.get(exchange)
        if budget is not None and (arbitrage_id, what) not in self._seen:
            self._seen.append((arbitrage_id, what))
            budget.record_leg()


def partners_of(exchange: str, exchanges: Iterable[str]) -> PartnerBudgets:
    return PartnerBudgets({name: account_budget(name) for name in exchanges if name != exchange})


def _exchanges_of(arbitrage: Arbitrage) -> set[str]:
    return {arbitrage.opportunity.buy.exchange, arbitrage.opportunity.sell.exchange}


def _waits_for(exchange: str, arbitrage: Arbitrage) -> int:
    """How many legs the exchange has still to send: reserved ones, and the one that a half reservation lacks."""
    own = [leg for leg in arbitrage.legs if leg.exchange == exchange]
    is_lacking = arbitrage.state == "awaiting_second_leg" and not own and exchange in _exchanges_of(arbitrage)
    return sum(leg.state == "reserved" for leg in own) + is_lacking
