"""Profit and loss of a backtest by day, and by pair of markets and cycle; each sums to the whole, to the last digit."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TypeVar

from backtest.result.performance import rounded, turnover
from market.money import ZERO
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from market.trade.cycle_trades import CycleTrade

Trade = TypeVar("Trade", bound=Arbitrage | CycleTrade)


@dataclass(frozen=True, slots=True)
class BreakdownLine:
    """All trades of one kind that ended with a profit or a loss. `trades`: those of which anything was filled."""

    names: tuple[str, ...]
    trades: int
    turnover: Decimal
    fees: Decimal
    net: Decimal


def by_pair(arbitrages: Iterable[Arbitrage]) -> tuple[BreakdownLine, ...]:
    """Return lines of asset, market where it was bought, market where it was sold; the most net first."""
    lines = _lines(arbitrages, _pair)
    return tuple(sorted(lines, key=lambda line: (-line.net, line.names)))


def by_cycle(trades: Iterable[CycleTrade]) -> tuple[BreakdownLine, ...]:
    """Return lines of the number of legs and the cycle in words; the most net first."""
    lines = _lines(trades, lambda trade: (str(len(trade.cycle.legs)), trade.cycle.words))
    return tuple(sorted(lines, key=lambda line: (-line.net, line.names)))


def by_day(trades: Iterable[Arbitrage | CycleTrade]) -> tuple[BreakdownLine, ...]:
    """Return lines by UTC day of the end, in recorded time; oldest first. A day without an end has no line."""
    return tuple(sorted(_lines(trades, _day), key=lambda line: line.names))


def _lines(trades: Iterable[Trade], names: Callable[[Trade], tuple[str, ...]]) -> list[BreakdownLine]:
    groups: dict[tuple[str, ...], list[Trade]] = {}
    for one in trades:
        if one.profit is not None:
            groups.setdefault(names(one), []).append(one)
    return [_line(key, group) for key, group in groups.items()]


def _line(names: tuple[str, ...], group: Sequence[Arbitrage | CycleTrade]) -> BreakdownLine:
    profits = [one.profit for one in group if one.profit is not None]
    return BreakdownLine(
        names=names,
        trades=sum(one.is_filled for one in group),
        turnover=rounded(turnover(group)),
        fees=sum((one.fees for one in profits), ZERO),
        net=sum((one.net for one in profits), ZERO),
    )


def _pair(arbitrage: Arbitrage) -> tuple[str, ...]:
    buy, sell = arbitrage.opportunity.buy, arbitrage.opportunity.sell
    return arbitrage.base, buy.market_name, sell.market_name


def _day(trade: Arbitrage | CycleTrade) -> tuple[str, ...]:
    return (f"{datetime.fromtimestamp(trade.times['ended'] // MICROSECONDS, UTC):%Y-%m-%d}",)
