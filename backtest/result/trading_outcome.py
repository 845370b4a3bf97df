"""The outcome of trading in a backtest, which its report, its JSON and the sweeps read. Money in the settlement
currency.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from backtest.result.cycles_found import CyclesFound
from market.accounting.equity_curve import EquityDrawdown, drawdown_of
from market.accounting.transfer_lifecycle import MoneyTransfer
from market.instruments.orders import Fill
from market.money import ZERO, total
from market.trade.arbitrages import Arbitrage, ProfitAndLoss
from market.trade.cycle_trades import CycleTrade


@dataclass(frozen=True, slots=True)
class RejectedSum:
    """Opportunities rejected for one reason: `count` sightings, and the `episodes` without any trade. `missed`: the
    most that one trade on each of these would have earned (`market.prices.episodes`). An episode counts under one
    reason only."""

    count: int
    episodes: int = 0
    missed: Decimal = ZERO


class SimulatedEquityPoint(NamedTuple):
    """Net profit of all arbitrages and cycles that had ended at `time`, microseconds UTC."""

    time: int
    net: Decimal


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long a pair of markets was profitable without a break, from the first to the last row: microseconds UTC."""

    base: str
    buy_exchange: str
    sell_exchange: str
    start: int
    end: int
    best_net_bps: float


@dataclass(frozen=True, slots=True)
class TradingOutcome:
    """The outcome of trading on a sequence of opportunities."""

    opportunities: int
    """Distinct ids."""
    arbitrages: tuple[Arbitrage, ...]
    """By the time they began."""
    rejections: dict[str, RejectedSum]
    """By reason; `expired`: no bot had decided in time."""
    profit: ProfitAndLoss
    """Sum over the arbitrages, and the trades of cycles."""
    equity: tuple[SimulatedEquityPoint, ...]
    fills: tuple[Fill, ...]
    before: dict[str, dict[str, Decimal]]
    after: dict[str, dict[str, Decimal]]
    is_balanced: bool
    """Before + fills − fees = after, to the last digit, the two sides from different sources."""
    lifetimes: tuple[Lifetime, ...] = ()
    """One lifetime of each episode."""
    net_bps_counts: dict[int, int] = field(default_factory=dict)
    """Opportunities by net bps, floored to whole ones."""
    assumptions: tuple[str, ...] = ()
    """Assumptions of this run, as text."""
    transfers: tuple[MoneyTransfer, ...] = ()
    """Of the rebalancing plan, by the time they began; what they cost is no part of the profit."""
    cycles: CyclesFound | None = None
    """Those found and traded beside the pairs of exchanges; None if they were not asked for. Their profit, fills and
    balances are in the sums above; `arbitrages` and what is counted of them are of pairs alone."""

    @property
    def all_trades(self) -> tuple[Arbitrage | CycleTrade, ...]:
        """Return the arbitrages of pairs, then the trades of cycles."""
        return (*self.arbitrages, *(() if self.cycles is None else self.cycles.trades))

    @property
    def missed(self) -> Decimal:
        """Return profit missed, once per episode that was not traded."""
        return total(rejected.missed for rejected in self.rejections.values())

    @property
    def rejected(self) -> int:
        """Return opportunities rejected, for any reason."""
        return sum(rejected.count for rejected in self.rejections.values())

    @property
    def trades(self) -> int:
        """Return the number of arbitrages with at least one fill."""
        return sum(arbitrage.is_filled for arbitrage in self.arbitrages)

    @property
    def drawdown(self) -> EquityDrawdown:
        """Return the maximum drawdown of the equity."""
        return drawdown_of(self.equity)
