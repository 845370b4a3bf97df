"""Parameters of one backtest; its result follows from these, the tick set and the code alone."""

from dataclasses import dataclass, field

from market.accounting.transfer_planning import TransferRules
from market.accounting.transfer_terms import TransferTerms
from market.decide.settings import Settings
from market.instruments.cycles import CycleTerms
from market.money import BoundedDecimal

Balances = dict[str, dict[str, BoundedDecimal]]
"""Exchange → currency → amount."""


@dataclass(frozen=True, slots=True)
class Latency:
    """How long an exchange takes from a bot's decision to the match of its order, milliseconds of market time.

    `constant_ms`, or drawn with equal chance from `samples_ms` (recorded ones), by the backtest's seed and the order's
    own id, so that neither the order of events nor the number of workers changes it.
    """

    constant_ms: float = 50.0
    samples_ms: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class FeeTier:
    """The taker fee from this volume of the last 30 days on, in the settlement currency."""

    volume: BoundedDecimal
    rate: BoundedDecimal


@dataclass(frozen=True, slots=True)
class Parameters:
    """All parameters; `settings` contain thresholds, sizes, limits and taker fees, as live."""

    settings: Settings
    balances: Balances
    """Opening balances."""
    latency: dict[str, Latency] = field(default_factory=dict)
    """Exchange → its latency; `Latency()` if there is none."""
    decision_ms: float = 5.0
    """From the row that made an opportunity to the bots' decision."""
    failed_share: float = 0.0
    """The share of orders that the exchange rejects, drawn by seed."""
    seed: int = 1
    follow_logged_settings: bool = False
    """Settings rows of the log change thresholds as they did then; else `settings` hold from end to end."""
    rate_limits: bool = False
    """New trades keep to the documented rate limits of the catalogue's exchanges, as live; others have none."""
    fee_tiers: dict[str, tuple[FeeTier, ...]] = field(default_factory=dict)
    """Exchange → its tiers, in place of its taker fee in the settings from the first day on; the tier is determined
    again at the first opportunity of each day (UTC). Detection uses the fees of the settings."""
    volumes: dict[str, BoundedDecimal] = field(default_factory=dict)
    """Exchange → amount traded there in the 30 days before, in the settlement currency."""
    transfers: tuple[TransferTerms, ...] = ()
    """What sending away from the exchanges costs."""
    rebalancing: TransferRules | None = None
    """Whether and when transfers of the rebalancing plan are made; None: none are."""
    cycles: CycleTerms | None = None
    """Which cycles are looked for and traded beside pairs of exchanges; None: none."""
