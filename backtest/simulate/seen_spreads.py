"""Statistics of the opportunities seen: how long spreads were profitable, by how much, and the missed profit."""

from collections import Counter
from collections.abc import Callable
from math import floor, inf

from backtest.result.trading_outcome import Lifetime
from market.money import ZERO
from market.prices.episodes import Episode, Episodes, EpisodeSample, TradeBounds, pair_of, tradable_profit
from market.prices.opportunities import Opportunity


class SpreadStatistics:
    """Sees each opportunity once, in the order of time, and what became of it."""

    def __init__(self) -> None:
        self.opportunities = 0
        self.currency = ""
        """The currency in which they settle; empty if there was none."""
        self.best_net_bps = -inf
        self._counts: Counter[int] = Counter()
        self._episodes = Episodes()

    def see(self, opportunity: Opportunity, reason: str | None, bounds: Callable[[Opportunity], TradeBounds]) -> None:
        """Count an opportunity. `reason`: why it was not traded; None if an arbitrage was begun. `bounds`: of one trade
        at that moment."""
        self.opportunities += 1
        self.currency = opportunity.currency
        self.best_net_bps = max(self.best_net_bps, opportunity.net_bps)
        self._counts[floor(opportunity.net_bps)] += 1
        pair, at = pair_of(opportunity), opportunity.event_time
        counts = reason is not None and self._episodes.could_miss_more(pair, at, opportunity.expected_profit)
        profit = tradable_profit(opportunity, bounds(opportunity)) if counts else ZERO
        self._episodes.add(EpisodeSample(pair, at, opportunity.expires_at, opportunity.net_bps, profit, reason))

    def episodes(self) -> tuple[Episode, ...]:
        """Return the episodes by their beginnings."""
        return self._episodes.all()

    def net_bps_counts(self) -> dict[int, int]:
        """Return floored bps → opportunities, ascending."""
        return dict(sorted(self._counts.items()))


def lifetime_of(episode: Episode) -> Lifetime:
    base, buy_exchange, _, sell_exchange, _ = episode.pair
    return Lifetime(base, buy_exchange, sell_exchange, episode.start, episode.end, episode.best_net_bps)
