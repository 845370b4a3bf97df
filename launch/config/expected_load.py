"""The load that a session's markets put on its log, as measured (docs/benchmarks.md). Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from market.instruments.markets import Market

QUOTES_EACH = 25
"""Quotes a second of one market, as a simulated exchange moves it and a busy real one does."""
PARTITION_QUOTES = 4_000
"""Quotes a second that detection follows in one partition, with most of a core."""


@dataclass(frozen=True, slots=True)
class ExpectedLoad:
    """`pairs`: of markets of one asset, which detection compares with each quote."""

    assets: int
    exchanges: int
    markets: int
    pairs: int

    @property
    def quotes(self) -> int:
        """Return the quotes a second of all markets."""
        return self.markets * QUOTES_EACH

    @property
    def partitions(self) -> int:
        """Return the partitions that the log needs. An asset lives in one, so more than there are assets would stay
        empty."""
        return min(ceil(self.quotes / PARTITION_QUOTES), self.assets)


def expected_load(markets: Iterable[Market]) -> ExpectedLoad:
    traded = [market for market in markets if not market.is_fx]
    counts = [sum(market.base == base for market in traded) for base in {market.base for market in traded}]
    return ExpectedLoad(
        assets=len(counts),
        exchanges=len({market.exchange for market in traded}),
        markets=len(traded),
        pairs=sum(count * (count - 1) // 2 for count in counts),
    )
