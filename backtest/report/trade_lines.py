"""Trades and their end states, as `arbitrage backtest` and `arbitrage replay` print them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from market.trade.arbitrages import Arbitrage


def ends_of(arbitrages: Iterable[Arbitrage]) -> dict[str, int]:
    """Return state → how many ended in it."""
    return dict(sorted(Counter(arbitrage.state for arbitrage in arbitrages).items()))


def trade_lines(arbitrages: Sequence[Arbitrage]) -> list[str]:
    """Return the lines. The counts in brackets sum to the number before them, so arbitrages without a fill have their
    own line."""
    traded = [arbitrage for arbitrage in arbitrages if arbitrage.is_filled]
    empty = [arbitrage for arbitrage in arbitrages if not arbitrage.is_filled]
    lines = [f"trades          {len(traded)}{bracketed(ends_of(traded))}"]
    if empty:
        lines.append(f"no fill         {len(empty)}{bracketed(ends_of(empty))}: not counted as trades")
    return lines


def bracketed(counts: Mapping[str, int]) -> str:
    return f"  ({', '.join(f'{name} {count}' for name, count in counts.items())})" if counts else ""
