"""Rows of REST: backtests, their figures and trades, and tick sets. Decimals are strings."""

from typing_extensions import TypedDict

from store.records.backtest_requests import BacktestJob
from ui.rows.attribute import row_from


class FiguresRow(TypedDict):
    """Money as decimal strings in `currency`; shares as fractions. `is_of_bars`: prices are from bars, so a fill is at
    a bar's last price. `missed`: profit missed, once per episode. Figures that an earlier version did not compute are
    null, and so is a ratio of too few samples. `ratios` defines Sharpe and Sortino."""

    quotes: int
    opportunities: int
    trades: int
    rejections: int
    net: str
    fees: str
    drawdown: str
    currency: str
    is_balanced: bool
    is_of_bars: bool
    missed: str | None
    capital: str | None
    return_on_capital: str | None
    drawdown_share: str | None
    turnover: str | None
    marked_gain: str | None
    sharpe: float | None
    sortino: float | None
    ratios: str


class RequestRow(TypedDict):
    tick_set: str
    settings: dict[str, str]
    fee_bps: str | None
    latency_ms: float | None
    seed: int
    cores: int
    fee_tiers: dict[str, str]
    failed_percent: float


class BacktestRow(TypedDict):
    """`share` of `stage`, 0 to 1; times in microseconds of the server's clock; `figures` once it is done."""

    backtest_id: str
    state: str
    stage: str
    share: float
    who: str
    asked_at: int
    started_at: int | None
    ended_at: int | None
    attempts: int
    is_cancel_asked: bool
    reason: str | None
    request: RequestRow
    figures: FiguresRow | None
    report: str | None


class TickSetRow(TypedDict):
    """Recorded ticks that a backtest can name; times in microseconds UTC. `is_of_bars`: at least one traded market is
    known only from bars. `lacking`: why no backtest can run on it; null if one can."""

    name: str
    title: str
    exchanges: list[str]
    bases: list[str]
    quotes: int
    start_time: int
    end_time: int
    is_of_bars: bool
    lacking: str | None


class BacktestTradeRow(TypedDict):
    """`number` from 1, in the order in which they began; money as decimal strings, times in microseconds UTC."""

    number: int
    event_time: int
    base: str
    bought_on: str
    sold_on: str
    amount: str
    net_bps: float
    state: str
    reason: str | None
    net: str | None
    ended_at: int | None
    fees: str | None


def backtest_row(job: BacktestJob) -> BacktestRow:
    return row_from(
        BacktestRow,
        job,
        backtest_id=job.job_id,
        request=row_from(RequestRow, job.request),
        figures=None if job.figures is None else row_from(FiguresRow, job.figures),
        report=f"/api/backtests/{job.job_id}/report" if job.has_report else None,
    )
