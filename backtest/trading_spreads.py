"""What opportunities tell without any trading: how long spreads paid, and how much."""

from collections import Counter
from dataclasses import replace
from math import floor

from backtest.outcome import Lifetime
from market.opportunities import Opportunity

_Pair = tuple[str, str, str]


class Spreads:
    """Sees each opportunity once, in the order of time."""

    def __init__(self) -> None:
        self.opportunities = 0
        self.currency = ""
        """In which they settle; empty where there was none."""
        self._counts: Counter[int] = Counter()
        self._open: dict[_Pair, tuple[Lifetime, int]] = {}
        """With the time until which the next row still belongs to it."""
        self._closed: list[Lifetime] = []

    def see(self, opportunity: Opportunity) -> None:
        self.opportunities += 1
        self.currency = opportunity.currency
        self._counts[floor(opportunity.net_bps)] += 1
        pair = (opportunity.base, opportunity.buy.exchange, opportunity.sell.exchange)
        known = self._open.get(pair)
        time = opportunity.event_time
        if known is not None and time <= known[1]:
            best = max(known[0].best_net_bps, opportunity.net_bps)
            self._open[pair] = (replace(known[0], end=time, best_net_bps=best), opportunity.expires_at)
            return
        if known is not None:
            self._closed.append(known[0])
        self._open[pair] = (Lifetime(*pair, time, time, opportunity.net_bps), opportunity.expires_at)

    def lifetimes(self) -> tuple[Lifetime, ...]:
        """By their beginnings. A row at which the pair did not pay makes no opportunity, so a break is taken to be one
        where none came for as long as an opportunity lives."""
        every = [*self._closed, *(lifetime for lifetime, _ in self._open.values())]
        return tuple(sorted(every, key=lambda one: (one.start, one.base, one.buy_exchange, one.sell_exchange)))

    def net_bps_counts(self) -> dict[int, int]:
        """Floored bps → opportunities, ascending."""
        return dict(sorted(self._counts.items()))
