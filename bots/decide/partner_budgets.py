"""Estimates the rate limit budgets of the other bots' accounts, so that no leg is reserved that could not be sent.

Each bot stores with its lease what its account has used; what has ended since is added from the legs in the store.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from exchanges.requests.rate_budget import RateBudget, account_budget
from exchanges.requests.rate_limits import entry_rules
from market.decide.place_values import LegPace
from market.trade.arbitrages import TradeOfLegs
from market.trade.leases import Lease
from runtime.clock import steady_now
from session.exchange_entries import ExchangeEntry

_MAX_REMEMBERED = 2_000
"""Legs remembered as counted: a leg is updated with each step of its arbitrage."""


@dataclass(slots=True)
class PartnerBudgets:
    """One budget per other exchange, spent as its legs end and replaced by what its own bot reports."""

    budgets: dict[str, RateBudget]
    clock: Callable[[], int] = steady_now
    _counted: dict[tuple[str, str], None] = field(default_factory=dict)
    _ended: deque[tuple[str, int]] = field(default_factory=lambda: deque(maxlen=_MAX_REMEMBERED))
    """(exchange, when the leg ended by the store's clock)."""
    _reported_at: dict[str, int] = field(default_factory=dict)

    def update(self, arbitrage: TradeOfLegs) -> None:
        """Count the legs that were posted and have ended."""
        for leg in arbitrage.legs:
            key = (leg.client_order_id, leg.exchange)
            if leg.is_final and "granted" in leg.times and key not in self._counted and leg.exchange in self.budgets:
                self._counted[key] = None
                self._ended.append((leg.exchange, leg.times.get("done", 0)))
                self.budgets[leg.exchange].record_leg()
        while len(self._counted) > _MAX_REMEMBERED:
            del self._counted[next(iter(self._counted))]

    def observe(self, lease: Lease, now: int) -> None:
        """`lease`: of one of the exchanges, with what its bot reported; `now`: the store's time, microseconds."""
        name = lease.exchange
        if name not in self.budgets or not lease.used or self._reported_at.get(name) == lease.used_at:
            return
        self._reported_at[name] = lease.used_at
        budget = account_budget(name, self.clock, self.budgets[name].rules)
        budget.take_over(lease.used, max(0, now - lease.used_at))
        for exchange, ended_at in self._ended:
            if exchange == name and ended_at > lease.used_at:
                budget.record_leg()
        self.budgets[name] = budget

    def legs_left(self, exchange: str, open_trades: Iterable[TradeOfLegs], reserving: int = 0) -> int | None:
        """Legs that `exchange` may still begin: its budget less its open legs, whose cost may not be spent yet, and
        those being reserved here. None without limits, or if the exchange is unknown."""
        budget = self.budgets.get(exchange)
        return less_open_legs(None if budget is None else budget.legs_left(), exchange, open_trades, reserving)

    def paces(self) -> dict[str, LegPace]:
        """Return exchange → its pace, of all with limits."""
        paces = {name: budget.pace() for name, budget in self.budgets.items()}
        return {name: pace for name, pace in paces.items() if pace is not None}


def less_open_legs(left: int | None, exchange: str, open_trades: Iterable[TradeOfLegs], reserving: int) -> int | None:
    """Return how many of `left`, the legs that rate limits allow, remain for new trades; None without limits."""
    if left is None:
        return None
    legs = (leg for trade in open_trades for leg in trade.legs)
    return left - reserving - sum(leg.exchange == exchange and not leg.is_final for leg in legs)


def partners_of(
    exchange: str, entries: Mapping[str, ExchangeEntry], clock: Callable[[], int] = steady_now
) -> PartnerBudgets:
    """Return all `entries` but `exchange`; one of unknown limits has no budget here, and so no limit."""
    rules = {name: entry_rules(entry) for name, entry in entries.items() if name != exchange}
    known = {name: one for name, one in rules.items() if one is not None}
    return PartnerBudgets({name: account_budget(name, clock, one) for name, one in known.items()}, clock)
