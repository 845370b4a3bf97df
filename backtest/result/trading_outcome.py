"""What a backtest came to, as its report, its JSON and the sweeps read it. Money in the settlement currency."""

from dataclasses import dataclass, field
from decimal import Decimal

from backtest.result.trade_lines import traded_of
from market.instruments.orders import Fill
from market.money import ZERO, total
from market.trade.arbitrages import Arbitrage, ProfitAndLoss


@dataclass(frozen=True, slots=True)
class RejectedSum:
    """Opportunities rejected for one reason: `count` sightings. `episodes` of them that were traded at no sighting, and
    what one trade on each would have brought at most (`market.accounting.episodes`); an episode counts under one
    reason alone."""

    count: int
    episodes: int = 0
    missed: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class SimulatedEquityPoint:
    """Net profit of all arbitrages that had ended at `time`, microseconds UTC."""

    time: int
    net: Decimal


@dataclass(frozen=True, slots=True)
class Lifetime:
    """From the first to the last row, without a break, at which a pair of markets paid: microseconds UTC."""

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
    rejections: dict[str, RejectedSum]
    """By reason; `expired`: nobody had decided in time."""
    profit: ProfitAndLoss
    """Sum over the arbitrages."""
    equity: tuple[SimulatedEquityPoint, ...]
    fills: tuple[Fill, ...]
    before: dict[str, dict[str, Decimal]]
    after: dict[str, dict[str, Decimal]]
    is_balanced: bool
    """Before + fills − fees = after, to the last digit, the two sides from different sources."""
    lifetimes: tuple[Lifetime, ...] = ()
    """Of each episode."""
    net_bps_counts: dict[int, int] = field(default_factory=dict)
    """Opportunities by net bps, floored to whole ones."""
    assumptions: tuple[str, ...] = ()
    """What this very run took for granted, in words."""

    @property
    def missed(self) -> Decimal:
        """Profit missed, once per episode that was not traded."""
        return total(rejected.missed for rejected in self.rejections.values())

    @property
    def trades(self) -> int:
        """Arbitrages of which anything was bought or sold."""
        return len(traded_of(self.arbitrages))
