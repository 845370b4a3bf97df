"""Estimates the rate limit budgets of the other bots from the legs in the store.

Only a bot itself knows its account's budget. The estimate keeps a bot from reserving a leg whose counterpart would be
rejected; the other bot's own check decides.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from exchanges.requests.rate_budget import RateBudget, account_budget
from market.trade.arbitrages import Arbitrage

_MAX_REMEMBERED = 2_000
"""Legs remembered as counted: a leg is updated with each step of its arbitrage."""


@dataclass(slots=True)
class PartnerBudgets:
    """One budget per other exchange, spent as its legs are sent.

    The other bot's reads, retries and dead man's switch are not visible here. Where it let a reservation awaiting its
    second leg expire, it had less than estimated: one leg more is deducted.
    """

    budgets: dict[str, RateBudget]
    _counted: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=_MAX_REMEMBERED))

    def update(self, arbitrage: Arbitrage) -> None:
        for leg in arbitrage.legs:
            if "sending" in leg.times:
                self._spend(arbitrage.arbitrage_id, leg.role, leg.exchange)
        if arbitrage.state == "expired":
            for exchange in _exchanges_of(arbitrage) - {leg.exchange for leg in arbitrage.legs}:
                self._spend(arbitrage.arbitrage_id, "expired", exchange)

    def legs_left(self, exchange: str, open_arbitrages: Iterable[Arbitrage], reserving: int = 0) -> int | None:
        """Legs that `exchange` may still begin: its budget less the legs that it has still to send or join and those
        being reserved here. None without limits, or where the exchange is unknown."""
        budget = self.budgets.get(exchange)
        left = None if budget is None else budget.legs_left()
        if left is None:
            return None
        return left - reserving - sum(_legs_still_to_send(exchange, one) for one in open_arbitrages)

    def _spend(self, arbitrage_id: str, what: str, exchange: str) -> None:
        budget = self.budgets.get(exchange)
        if budget is not None and (arbitrage_id, what) not in self._counted:
            self._counted.append((arbitrage_id, what))
            budget.record_leg()


def partners_of(exchange: str, exchanges: Iterable[str]) -> PartnerBudgets:
    return PartnerBudgets({name: account_budget(name) for name in exchanges if name != exchange})


def _exchanges_of(arbitrage: Arbitrage) -> set[str]:
    return {arbitrage.opportunity.buy.exchange, arbitrage.opportunity.sell.exchange}


def _legs_still_to_send(exchange: str, arbitrage: Arbitrage) -> int:
    """How many legs the exchange has still to send: reserved ones, and the missing second leg."""
    own = [leg for leg in arbitrage.legs if leg.exchange == exchange]
    is_lacking = arbitrage.state == "awaiting_second_leg" and not own and exchange in _exchanges_of(arbitrage)
    return sum(leg.state == "reserved" for leg in own) + is_lacking
