"""The result of a backtest: data, parameters, detection, trading, and how to reproduce it. The one model that the page,
the JSON, the lines and the dashboard's figures are made from.
"""

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING

from backtest.parameters import FeeTier, Latency, Parameters
from backtest.result.cycles_found import cycle_assumptions
from backtest.result.data_quality import MarketQuality
from backtest.result.inventory_outages import Outage
from backtest.result.performance import Performance, share_of
from backtest.result.quote_ages import quote_age_words
from backtest.result.quote_spacing import (
    MarketSpacing,
    age_words,
    bars_words,
    is_of_bars,
    rate_words,
)
from backtest.result.trading_outcome import TradingOutcome
from market.accounting.equity_curve import thinned
from market.decide.settings_texts import settings_texts
from market.money import BPS, ZERO, text_of
from store.records.backtest_requests import BacktestFigures
from tick_sets.sets.exchange_times import FeedDelay
from tick_sets.sets.manifest import Manifest

if TYPE_CHECKING:  # reading results needs neither Spark nor the kernel
    from backtest.detect.batch_detection import DetectionSummary


STORED_SPANS = 150
"""The equity in the figures has at most this many spans: several backtests are compared in one chart."""


@dataclass(frozen=True, slots=True)
class LatencyCost:
    """The same backtest with every order `added_ms` later at its exchange. None: unknown, because the data do not show
    what was quoted between two bars."""

    added_ms: float
    net: Decimal | None
    trades: int | None


@dataclass(frozen=True)
class BacktestResult:
    """The result; all but `seconds` follows from the tick set, the parameters and the code."""

    manifest: Manifest
    parameters: Parameters
    detection: "DetectionSummary"
    trading: TradingOutcome
    seconds: dict[str, float]
    """Stage → how long it took by the wall."""
    versions: dict[str, str]
    quality: tuple[MarketQuality, ...] = ()
    latency_costs: tuple[LatencyCost, ...] = ()
    """By added milliseconds; empty if they were not asked for."""
    without_depth: tuple[str, ...] = ()
    """Markets, as `exchange symbol`, of which only the best level was recorded."""
    command: str = ""
    """The command that repeats it."""
    spacing: tuple[MarketSpacing, ...] = ()
    feed_delays: tuple[FeedDelay, ...] = ()
    performance: Performance | None = None
    outages: tuple[Outage, ...] = ()
    """What ran out where."""

    @property
    def is_of_bars(self) -> bool:
        """Return whether anything that was traded is known by bars alone."""
        return is_of_bars(self.manifest)

    @cached_property
    def figures(self) -> BacktestFigures:
        """Return the headline figures, which are compared from one backtest to the next."""
        trading, performance, drawdown = self.trading, self.performance, self.trading.drawdown
        figures = BacktestFigures(
            quotes=self.manifest.quotes,
            opportunities=trading.opportunities,
            trades=trading.trades,
            rejections=trading.rejected,
            net=trading.profit.net,
            fees=trading.profit.fees,
            drawdown=drawdown.depth,
            currency=trading.profit.currency,
            is_balanced=trading.is_balanced,
            equity=thinned(trading.equity, STORED_SPANS),
            is_of_bars=self.is_of_bars,
            missed=trading.missed,
            settings=settings_texts(self.parameters.settings),
            since=self.manifest.start_time,
            until=self.manifest.end_time + 1,
        )
        if performance is None:
            return figures
        return replace(
            figures,
            capital=performance.capital,
            return_on_capital=performance.return_on_capital,
            drawdown_share=share_of(drawdown.depth, performance.capital + drawdown.highest),
            turnover=performance.turnover,
            marked_gain=performance.marked.gain,
            sharpe=performance.sharpe.value,
            sortino=performance.sortino.value,
            ratios=performance.definition,
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return as text everything that the result rests on beside the ticks."""
        bars = bars_words(self.spacing)
        return (
            *(() if bars is None else (bars,)),
            *self.manifest.assumptions,
            age_words(self.parameters.settings.max_quote_age_ms, self.spacing),
            *rate_words(self.parameters.settings.max_quote_age_ms, self.spacing),
            *quote_age_words(self.feed_delays, self.parameters.settings.max_quote_age_ms),
            _depth_words(self.without_depth),
            _fee_words(self.parameters),
            *_latency_words(self.parameters),
            *_further_words(self.parameters),
            *self.trading.assumptions,
            *cycle_assumptions(self.trading.cycles),
        )


def _depth_words(without_depth: tuple[str, ...]) -> str:
    if not without_depth:
        return "orders walk the recorded levels, and take no more of a quote than it showed"
    return f"at most the displayed best amounts are traded where no depth is recorded: {', '.join(without_depth)}"


def _fee_words(parameters: Parameters) -> str:
    fees = (f"{exchange} {text_of(rate * BPS)}" for exchange, rate in parameters.settings.taker_fees.items())
    words = f"taker fees in bps a side: {', '.join(fees)}"
    if parameters.fee_tiers:
        words += f"; by the volume of 30 days: {', '.join(map(_tier_words, sorted(parameters.fee_tiers.items())))}"
    of_tiers = (step.rate for steps in parameters.fee_tiers.values() for step in steps)
    if min((*parameters.settings.taker_fees.values(), *of_tiers), default=ZERO) < 0:
        words += "; those below 0 are rebates, as makers get them, while every order here takes what is shown"
    return words


def _tier_words(tiers: tuple[str, tuple[FeeTier, ...]]) -> str:
    exchange, steps = tiers
    return f"{exchange} {', '.join(f'{text_of(step.rate * BPS)} from {text_of(step.volume)} on' for step in steps)}"


def _latency_words(parameters: Parameters) -> list[str]:
    """Return the latencies in words; exchanges with the same latency share a line."""
    exchanges: dict[Latency, list[str]] = {}
    for exchange in parameters.settings.taker_fees:
        exchanges.setdefault(parameters.latency.get(exchange, Latency()), []).append(exchange)
    words = [f"{_one_latency(latency)} ({', '.join(names)})" for latency, names in exchanges.items()]
    return [*words, f"the bots decide {parameters.decision_ms:g} ms after the row that made an opportunity"]


def _one_latency(latency: Latency) -> str:
    if not latency.samples_ms:
        return f"an order is matched {latency.constant_ms:g} ms after the decision"
    ordered = sorted(latency.samples_ms)
    return (
        f"an order is matched after one of {len(ordered)} recorded latencies, drawn by seed: "
        f"median {ordered[len(ordered) // 2]:g} ms, from {ordered[0]:g} to {ordered[-1]:g} ms"
    )


def _further_words(parameters: Parameters) -> list[str]:
    words = [
        "the settings follow the recorded log"
        if parameters.follow_logged_settings
        else "one version of the settings holds throughout"
    ]
    if parameters.failed_share:
        words.append(f"{parameters.failed_share:.1%} of orders are rejected by the exchange, drawn by seed")
    return [
        *words,
        "other traders do not react to our orders; what they took is gone until the exchange shows another amount",
    ]
