"""Trades and how they ended, as `arbitrage backtest` and `arbitrage replay` print them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from market.trade.arbitrages import Arbitrage


def traded_of(arbitrages: Iterable[Arbitrage]) -> list[Arbitrage]:
    """Those of which anything was bought or sold; a half reservation that expired is none."""
    return [arbitrage for arbitrage in arbitrages if _is_filled(arbitrage)]


def ends_of(arbitrages: Iterable[Arbitrage]) -> dict[str, int]:
    """State → how many ended in it."""
    return dict(sorted(Counter(arbitrage.state for arbitrage in arbitrages).items()))


def trade_lines(arbitrages: Sequence[Arbitrage]) -> list[str]:
    """What stands in brackets sums to the number before them, so what was begun and never filled has its own line."""
    traded = traded_of(arbitrages)
    empty = [arbitrage for arbitrage in arbitrages if not _is_filled(arbitrage)]
    lines = [f"trades          {len(traded)}{bracketed(ends_of(traded))}"]
    if empty:
        lines.append(f"no fill         {len(empty)}{bracketed(ends_of(empty))}: not counted as trades")
    return lines


def bracketed(counts: Mapping[str, int]) -> str:
    return f"  ({', '.join(f'{name} {count}' for name, count in counts.items())})" if counts else ""


def _is_filled(arbitrage: Arbitrage) -> bool:
    return any(leg.fills for leg in arbitrage.legs)
