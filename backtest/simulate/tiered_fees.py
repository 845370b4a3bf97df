"""Taker fees by the volume of the last 30 days, as exchanges with tiers take them."""

from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal

from backtest.parameters import FeeTier
from market.money import ZERO, total
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Leg

DAY = 86_400 * MICROSECONDS
DAYS = 30


class TieredFees:
    """What was traded on each exchange, and the fees that follow."""

    def __init__(self, tiers: Mapping[str, tuple[FeeTier, ...]], volumes: Mapping[str, Decimal]) -> None:
        """Take `volumes`, which were traded before the first day."""
        self._tiers = tiers
        self._before = volumes
        self._by_day: dict[str, dict[int, Decimal]] = defaultdict(dict)
        self._first: int | None = None
        self._day: int | None = None
        self.today: dict[str, Decimal] = {}
        """Exchange with tiers → its fee; empty before the first day."""

    def see(self, opportunity: Opportunity, leg: Leg, time: int) -> None:
        """Add the fills of a leg, at FX mid; those that no rate converts count as they are."""
        if leg.exchange not in self._tiers or not leg.fills:
            return
        rate = opportunity.rate(leg.quote_currency)
        self.add(leg.exchange, leg.cost if rate is None else rate.at_mid(leg.cost), time)

    def add(self, exchange: str, value: Decimal, time: int) -> None:
        """Add what was traded on an exchange, in the settlement currency."""
        days = self._by_day[exchange]
        days[time // DAY] = days.get(time // DAY, ZERO) + value

    def see_day(self, time: int) -> bool:
        """Return whether `time` lies on another day than before, which has fees of its own."""
        day = time // DAY
        if not self._tiers or day == self._day:
            return False
        self._day = day
        self._first = day if self._first is None else self._first
        self.today = {exchange: self._rate(exchange, day, self._first) for exchange in self._tiers}
        return True

    def _rate(self, exchange: str, day: int, first: int) -> Decimal:
        """Return the rate of the highest tier reached, or of the lowest if none is."""
        volume = total(value for on, value in self._by_day[exchange].items() if on > day - DAYS)
        if day - first < DAYS:
            volume += self._before.get(exchange, ZERO)
        tiers = sorted(self._tiers[exchange], key=lambda tier: tier.volume)
        return next((tier.rate for tier in reversed(tiers) if tier.volume <= volume), tiers[0].rate)
