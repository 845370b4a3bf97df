"""What opportunities tell without any trading: how long spreads paid, and how much."""

from collections import Counter
from dataclasses import dataclass
from math import floor, inf

from backtest.outcome import Lifetime
from market.opportunities import Opportunity

_Pair = tuple[str, str, str]


@dataclass(slots=True)
class _Spread:
    """A row of opportunities of one pair without a break."""

    start: int
    end: int
    best_net_bps: float
    until: int
    """The next row up to then still belongs to it, microseconds."""


class Spreads:
    """Sees each opportunity once, in the order of time."""

    def __init__(self) -> None:
        self.opportunities = 0
        self.currency = ""
        """In which they settle; empty where there was none."""
        self.best_net_bps = -inf
        self._counts: Counter[int] = Counter()
        self._of: dict[_Pair, list[_Spread]] = {}

    def see(self, opportunity: Opportunity) -> None:
        self.opportunities += 1
        self.currency = opportunity.currency
        net_bps, time = opportunity.net_bps, opportunity.event_time
        self.best_net_bps = max(self.best_net_bps, net_bps)
        self._counts[floor(net_bps)] += 1
        spreads = self._of.setdefault((opportunity.base, opportunity.buy.exchange, opportunity.sell.exchange), [])
        if not spreads or time > spreads[-1].until:
            spreads.append(_Spread(time, time, net_bps, opportunity.expires_at))
            return
        last = spreads[-1]
        last.end, last.until = time, opportunity.expires_at
        last.best_net_bps = max(last.best_net_bps, net_bps)

    def lifetimes(self) -> tuple[Lifetime, ...]:
        """By their beginnings. A row at which the pair did not pay makes no opportunity, so a break is taken to be one
        where none came for as long as an opportunity lives."""
        every = [
            Lifetime(*pair, spread.start, spread.end, spread.best_net_bps)
            for pair, spreads in self._of.items()
            for spread in spreads
        ]
        return tuple(sorted(every, key=lambda one: (one.start, one.base, one.buy_exchange, one.sell_exchange)))

    def net_bps_counts(self) -> dict[int, int]:
        """Floored bps → opportunities, ascending."""
        return dict(sorted(self._counts.items()))
