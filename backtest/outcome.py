"""What a backtest came to, as its report, its JSON and the sweeps read it. Money in the settlement currency."""

from dataclasses import dataclass, field
from decimal import Decimal

from market.arbitrages import Arbitrage, ProfitAndLoss
from market.orders import Fill


@dataclass(frozen=True, slots=True)
class RefusedSum:
    """Opportunities refused for one reason, and what they were expected to bring."""

    count: int
    forgone: Decimal


@dataclass(frozen=True, slots=True)
class EquityPoint:
    """Net profit of all arbitrages that had ended at `time`, microseconds UTC."""

    time: int
    net: Decimal


@dataclass(frozen=True, slots=True)
class Lifetime:
    """From the first to the last row, without a break, at which a pair's spread paid: microseconds UTC."""

    base: str
    buy_exchange: str
    sell_exchange: str
    start: int
    end: int
    best_net_bps: float


@dataclass(frozen=True, slots=True)
class TradingOutcome:
    """What trading on a row of opportunities came to."""

    opportunities: int
    """Distinct ids."""
    arbitrages: tuple[Arbitrage, ...]
    """By the time they began."""
    refusals: dict[str, RefusedSum]
    profit: ProfitAndLoss
    """Sum over the arbitrages."""
    equity: tuple[EquityPoint, ...]
    fills: tuple[Fill, ...]
    before: dict[str, dict[str, Decimal]]
    after: dict[str, dict[str, Decimal]]
    is_balanced: bool
    """Before + fills − fees = after, to the last digit, the two sides from different sources."""
    lifetimes: tuple[Lifetime, ...] = ()
    net_bps_counts: dict[int, int] = field(default_factory=dict)
    """Opportunities by net bps, floored to whole ones."""
    assumptions: tuple[str, ...] = ()
    """What this very run took for granted, in words."""

    @property
    def trades(self) -> int:
        """Arbitrages of which anything was bought or sold."""
        return sum(any(leg.fills for leg in arbitrage.legs) for arbitrage in self.arbitrages)
