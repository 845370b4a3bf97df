"""How an exchange counts requests: its limits, and what each request weighs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from exchanges.rate_counters import Limit

Weights = Mapping[str, int]
"""Weight of a request, by limit."""

BOTS_SHARE = Fraction(1, 2)
"""The bot's share of an address's limits; the feeds keep to the rest by `feed_rest_seconds` of its facts."""
WHOLE = Fraction(1)
POLLS_SHARE = Fraction(2, 5)
"""Share of polls in every limit that counts reads."""
OF_ORDERS = frozenset({"orders", "small orders", "engine"})
"""Limits that count orders only."""


@dataclass(frozen=True, slots=True)
class CountedRequest:
    """One request as ccxt is about to make it; `cost` in ccxt's own units."""

    is_private: bool
    method: str
    path: str
    parameters: Mapping[str, Any]
    cost: float = 1.0


@dataclass(frozen=True, slots=True)
class LimitRules:
    """One exchange's limits, and how they are used and divided."""

    limits: Mapping[str, Limit]
    of_the_address: frozenset[str]
    """Limits of an address, which all processes of this machine share; the others are the account's."""
    order: Weights
    """Weights of an order, of a small one if those weigh more."""
    leg: Weights
    """Weights of one leg: its order, and one read of its state and fills."""
    count: Callable[[CountedRequest], Weights]
    bots_share: Fraction = BOTS_SHARE
    polls_share: Fraction = POLLS_SHARE
    at_one_address: int = 1
    """Exchanges of the session that share the limits of the address."""

    def share_of_address(self, share: Fraction = WHOLE) -> Mapping[str, Limit]:
        """All limits; of those of the address only `share` of what is this exchange's."""
        own = share / self.at_one_address
        return {
            name: limit.share_of(own) if name in self.of_the_address and own < WHOLE else limit
            for name, limit in self.limits.items()
        }
