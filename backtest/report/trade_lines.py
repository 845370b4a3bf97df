"""Trades and their end states, as `arbitrage backtest` and `arbitrage replay` print them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from market.trade.arbitrages import Arbitrage, ProfitAndLoss
from wording.labels import PROFIT_PARTS, state_name


def ends_of(arbitrages: Iterable[Arbitrage]) -> dict[str, int]:
    """Return state → how many ended in it."""
    return dict(sorted(Counter(arbitrage.state for arbitrage in arbitrages).items()))


def trade_lines(arbitrages: Sequence[Arbitrage]) -> list[str]:
    """Return the lines. The counts in brackets sum to the number before them, so arbitrages without a fill have their
    own line."""
    traded = [arbitrage for arbitrage in arbitrages if arbitrage.is_filled]
    empty = [arbitrage for arbitrage in arbitrages if not arbitrage.is_filled]
    lines = [f"trades          {len(traded)}{bracketed(ends_of(traded), state_name)}"]
    if empty:
        lines.append(f"no fill         {len(empty)}{bracketed(ends_of(empty), state_name)}: not counted as trades")
    return lines


def profit_lines(profit: ProfitAndLoss) -> list[str]:
    """Return a line for each part, the net last."""
    return [f"p&l {PROFIT_PARTS[part]:<17} {amount:>z10.2f} {profit.currency}" for part, amount in profit.parts.items()]


def bracketed(counts: Mapping[str, int], name: Callable[[str], str] = str) -> str:
    return f"  ({', '.join(f'{name(key)} {count}' for key, count in counts.items())})" if counts else ""
