"""Requested backtests: the request, its job and figures, and the tick sets to choose from."""

from dataclasses import dataclass, field
from typing import Literal

from market.accounting.equity_curve import EquityPoint
from market.money import BoundedDecimal

BacktestState = Literal["queued", "running", "done", "failed", "cancelled"]

ENDED_STATES: tuple[BacktestState, ...] = ("done", "failed", "cancelled")
MAX_ATTEMPTS = 2
"""A job whose process vanished runs once more, but one that crashes its process must not be retried endlessly."""


@dataclass(frozen=True, slots=True)
class BacktestRequest:
    """What to run. None: as in the tick set's own settings."""

    tick_set: str
    settings: dict[str, str] = field(default_factory=dict)
    """Name of a setting → its value, as text."""
    fee_bps: BoundedDecimal | None = None
    """Taker fee a side, on every exchange."""
    latency_ms: float | None = None
    """On every exchange."""
    seed: int = 1
    cores: int = 1
    fee_tiers: dict[str, str] = field(default_factory=dict)
    """Exchange → its fees by volume as `volume:bps,volume:bps`, in place of its taker fee."""
    failed_percent: float = 0.0
    """The share of orders that exchanges reject, percent."""


@dataclass(frozen=True, slots=True)
class BacktestFigures:
    """What is compared from one backtest to the next; money in `currency`."""

    quotes: int
    opportunities: int
    trades: int
    rejections: int
    net: BoundedDecimal
    fees: BoundedDecimal
    drawdown: BoundedDecimal
    """Maximum drawdown: the largest fall of the equity from a previous high, at least 0."""
    currency: str
    is_balanced: bool
    equity: tuple[EquityPoint, ...] = ()
    """Net profit over the time of the ticks, thinned; empty in what earlier versions stored, and in lists."""
    is_of_bars: bool = False
    """Prices are from bars: a fill is at a bar's last price."""
    missed: BoundedDecimal | None = None
    """Missed profit, once per episode; this and the following are None in what earlier versions stored."""
    capital: BoundedDecimal | None = None
    """The opening balances at the opening marks."""
    return_on_capital: BoundedDecimal | None = None
    """Net over capital, a fraction."""
    drawdown_share: BoundedDecimal | None = None
    """The drawdown as a share of the capital and the net profit at the highest point."""
    turnover: BoundedDecimal | None = None
    marked_gain: BoundedDecimal | None = None
    """What is held at the end less what was held at the opening, both at the closing marks."""
    sharpe: float | None = None
    """Annualised, as `ratios` says; None with too few samples."""
    sortino: float | None = None
    ratios: str = ""
    """What Sharpe and Sortino are made of."""
    settings: dict[str, str] = field(default_factory=dict)
    """All settings it ran with, as `market.decide.settings_texts`; empty in what earlier versions stored, and in
    lists."""
    since: int | None = None
    """When the ticks that it ran on began, microseconds UTC: its tick set may have got more since."""
    until: int | None = None
    """After their end; both are None in what earlier versions stored."""


@dataclass(frozen=True, slots=True)
class BacktestTrade:
    """One arbitrage with at least one fill; money in the settlement currency, times in microseconds UTC."""

    number: int
    """From 1, in the order in which they began."""
    event_time: int
    base: str
    bought_on: str
    """Exchange and symbol."""
    sold_on: str
    amount: BoundedDecimal
    net_bps: float
    """As detected."""
    state: str
    reason: str | None
    net: BoundedDecimal | None
    ended_at: int | None
    fees: BoundedDecimal | None = None
    """None in what earlier versions stored."""


@dataclass(frozen=True, slots=True)
class BacktestJob:
    """Times are the server's, microseconds."""

    job_id: str
    request: BacktestRequest
    who: str
    asked_at: int
    state: BacktestState = "queued"
    stage: str = ""
    """The current stage."""
    share: float = 0.0
    """The share of that stage, 0 to 1."""
    attempts: int = 0
    runner: str | None = None
    """The runner; others leave the job alone while its heartbeat `heartbeat_at` is recent."""
    heartbeat_at: int | None = None
    started_at: int | None = None
    ended_at: int | None = None
    is_cancel_asked: bool = False
    reason: str | None = None
    """Why it failed or was cancelled."""
    figures: BacktestFigures | None = None
    has_report: bool = False


@dataclass(frozen=True, slots=True)
class TickSetSummary:
    """One set of recorded ticks that can be named in a request; times in microseconds UTC."""

    name: str
    title: str
    exchanges: tuple[str, ...]
    bases: tuple[str, ...]
    quotes: int
    start_time: int
    end_time: int
    is_of_bars: bool = False
    lacking: str | None = None
    """Why no backtest can run on it; None if one can, and in what earlier versions stored."""
