"""Statistics of the opportunities seen: how long spreads were profitable, by how much, and the missed profit."""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from math import floor, inf

from backtest.detect.sightings import Sighting
from backtest.result.trading_outcome import Lifetime
from market.money import ZERO
from market.prices.episodes import Episode, Episodes


class SpreadStatistics:
    """Sees each opportunity once, in the order of time, and what became of it."""

    def __init__(self) -> None:
        self.opportunities = 0
        self.currency = ""
        """The currency in which they settle; empty if there was none."""
        self.best_net_bps = -inf
        self._counts: Counter[int] = Counter()
        self._episodes = Episodes()

    def see(self, one: Sighting, reason: str | None, tradable: Callable[[Sighting], Decimal]) -> None:
        """Count an opportunity. `reason`: why it was not traded; None if an arbitrage was begun. `tradable` returns
        what one trade on it could have had at that moment; asked only if it matters."""
        self.opportunities += 1
        self.currency = one.currency
        self.best_net_bps = max(self.best_net_bps, one.net_bps)
        self._counts[floor(one.net_bps)] += 1
        at = one.event_time
        run = self._episodes.run_at(one.pair, at)
        could_miss = reason is not None and run.could_miss_more(one.expected_profit)
        run.see(at, one.expires_at, one.net_bps)
        run.decide(reason, at, tradable(one) if could_miss else ZERO)

    def episodes(self) -> tuple[Episode, ...]:
        """Return the episodes by their beginnings."""
        return self._episodes.all()

    def net_bps_counts(self) -> dict[int, int]:
        """Return floored bps → opportunities, ascending."""
        return dict(sorted(self._counts.items()))


def lifetime_of(episode: Episode) -> Lifetime:
    base, buy_exchange, _, sell_exchange, _ = episode.pair
    return Lifetime(base, buy_exchange, sell_exchange, episode.start, episode.end, episode.best_net_bps)
