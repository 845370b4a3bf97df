"""Backtests from a program: what `arbitrage backtest` does, with a result to compute with."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from arbitrage.failures import one_sentence
from arbitrage.recorded import Ticks, open_tick_set
from arbitrage.tables import MONEY, TIME, Rows, rows_of
from backtest.report.result_document import result_document
from backtest.requested_backtest import RequestedBacktest, parameters_for
from backtest.result.backtest_result import BacktestResult
from backtest.result.performance import rounded
from backtest.run import run_backtest
from launch.commands.backtest import EVERY, backtest_workers
from launch.setup.data_dir import home_folder
from launch.supervisor.backtest_progress import Progress
from market.instruments.orders import Fill
from market.money import decimal_of
from market.trade.arbitrages import PROFIT_PARTS, Arbitrage
from runtime.errors import RefusedError
from store.records.backtest_requests import BacktestFigures

if TYPE_CHECKING:
    import pandas as pd

Values = Mapping[str, object]
"""Setting → value: a number, a word, names in a sequence, or a mapping of names and numbers."""

_TRADES: dict[str, pa.DataType] = {
    "time": TIME,
    "ended": TIME,
    "arbitrage_id": pa.string(),
    "base": pa.string(),
    "buy_exchange": pa.string(),
    "sell_exchange": pa.string(),
    "amount": pa.float64(),
    "net_bps_seen": pa.float64(),
    "state": pa.string(),
    "reason": pa.string(),
    **dict.fromkeys(PROFIT_PARTS, MONEY),
}
_FILLS: dict[str, pa.DataType] = {
    "time": TIME,
    "exchange": pa.string(),
    "symbol": pa.string(),
    "side": pa.string(),
    "price": pa.float64(),
    "amount": pa.float64(),
    "cost": pa.float64(),
    "fee": pa.float64(),
    "fee_currency": pa.string(),
}
_EQUITY: dict[str, pa.DataType] = {"time": TIME, "net": MONEY}
_GAIN: dict[str, pa.DataType] = {"time": TIME, "gain": MONEY}
_REJECTIONS: dict[str, pa.DataType] = {
    "reason": pa.string(),
    "count": pa.int64(),
    "episodes": pa.int64(),
    "missed": MONEY,
}


@dataclass(frozen=True)
class Backtest:
    """The result of one backtest. Money in `currency`, the set's settlement currency; tables oldest first.

    `result` has everything, exact; what is here is what people compute with.
    """

    result: BacktestResult

    def __repr__(self) -> str:
        return f"Backtest({len(self.trades)} trades, net {self.net} {self.currency})"

    @property
    def currency(self) -> str:
        return self.result.trading.profit.currency

    @property
    def net(self) -> Decimal:
        """Return the net profit: gross less decay, slippage, fees, FX and unwinding, to the last digit."""
        return self.result.trading.profit.net

    @property
    def is_balanced(self) -> bool:
        """Return whether opening balances + fills − fees equal closing balances, to the last digit."""
        return self.result.trading.is_balanced

    @property
    def figures(self) -> BacktestFigures:
        """Return the headline figures: capital, return on it, drawdown, turnover, Sharpe, Sortino."""
        return self.result.figures

    @property
    def trades(self) -> Rows:
        """Return one row per arbitrage that had a fill: when, where, `amount` in the base, the parts of its profit."""
        return rows_of((_trade(one) for one in self.result.trading.arbitrages if one.is_filled), _TRADES)

    @property
    def fills(self) -> Rows:
        """Return one row per fill: `price` and `cost` in the quote currency, `amount` in the base."""
        return rows_of((_fill(one) for one in self.result.trading.fills), _FILLS)

    @property
    def equity(self) -> Rows:
        """Return `time`, `net`: the net profit of all arbitrages that had ended by then; empty without any."""
        return rows_of((one._asdict() for one in self.result.trading.equity), _EQUITY)

    @property
    def gain(self) -> Rows:
        """Return `time`, `gain`: what trading made of the inventory, at the marks of regular moments."""
        performance = self.result.performance
        points = () if performance is None else performance.marked.points
        return rows_of((one._asdict() for one in points), _GAIN)

    @property
    def rejections(self) -> Rows:
        """Return one row per reason: sightings, episodes without any trade, and the profit missed on these."""
        found = self.result.trading.rejections
        rows = (
            {"reason": name, "count": one.count, "episodes": one.episodes, "missed": rounded(one.missed)}
            for name, one in found.items()
        )
        return rows_of(rows, _REJECTIONS)

    def returns(self) -> "pd.Series[float]":
        """Return the returns of capital + marked gain, one per whole interval, as quantstats takes them.

        The index is a DatetimeIndex of the intervals' ends, UTC without a zone; the values are fractions that
        compound to gain / capital. The interval is a day, an hour or a minute (`figures.ratios` says which); empty for
        a recording that has fewer than 30 minutes. Raises RefusedError without any capital.

        Example: `quantstats.stats.sharpe(result.returns(), periods=365)` for daily ones.
        """
        import pandas as pd  # noqa: PLC0415 - half a second, which the other results need not wait for

        performance = self.result.performance
        if performance is None or performance.capital <= 0:
            raise RefusedError(
                "This backtest has no returns: its opening balances have no price, so there is no capital."
            )
        points = performance.marked.points[:-1] if performance.interval_seconds is not None else ()
        worth = [float(performance.capital + point.gain) for point in points]
        times = pd.to_datetime([point.time for point in points], unit="us")
        return pd.Series(worth, index=pd.DatetimeIndex(times), name="arbitrage", dtype="float64").pct_change().dropna()

    def document(self) -> dict[str, object]:
        """Return what `arbitrage backtest --json` writes: money as decimal strings, times in microseconds UTC."""
        return result_document(self.result)

    def report(self) -> str:
        """Return the report as one HTML page without scripts or other hosts."""
        # charts cost a second to import
        from backtest.report.page import report_page  # noqa: PLC0415

        return report_page(self.result)


def backtest(
    ticks: Ticks | str | Path,
    *,
    settings: Values | None = None,
    fee_bps: Decimal | float | str | None = None,
    latency_ms: float | Mapping[str, float] = 50.0,
    failed_share: float = 0.0,
    added_ms: Sequence[float] = (),
    seed: int = 1,
    home: Path | None = None,
) -> Backtest:
    """Detect opportunities in recorded ticks and trade them with the bots' own decisions, on simulated accounts.

    `settings`: any of docs/tuning.md by name, the set's own otherwise. `fee_bps`: taker fee a side, every exchange.
    `latency_ms`: from decision to match, of all exchanges or by name ("*": all others). `failed_share`: of orders that
    the exchange rejects, 0 to 1. `added_ms`: trade again with orders so much later, for `result.latency_costs`. `seed`:
    of all random draws. The same arguments give the same result. Large sets (20 million rows) are searched by Spark.

    Raises RefusedError for an unknown setting, one out of bounds, or a set that cannot be traded; UnavailableError if
    workers stop or the set is rebuilt meanwhile.

    Example: `backtest("spring", settings={"min_net_bps": 7.5}, latency_ms={"kraken": 80, "*": 40}).net`.
    """
    folder = home or home_folder()
    tick_set = (ticks if isinstance(ticks, Ticks) else open_tick_set(ticks, home=folder)).tick_set
    with one_sentence():
        request = RequestedBacktest(
            values={name: text_of_setting(value) for name, value in (settings or {}).items()},
            fee_bps=None if fee_bps is None else _bps(fee_bps),
            latency_ms=dict(latency_ms) if isinstance(latency_ms, Mapping) else {EVERY: float(latency_ms)},
            failed_share=failed_share,
            seed=seed,
        )
        parameters = parameters_for(tick_set, request)
        with backtest_workers(folder, "local[*]", tick_set.manifest.rows, Progress(None)) as workers:
            return Backtest(run_backtest(workers, tick_set, parameters, added_ms=tuple(added_ms)))


def text_of_setting(value: object) -> str:
    """Return the value as people write it on the command line: names with commas, mappings as JSON."""
    if isinstance(value, Mapping):
        return json.dumps({str(name): value[name] for name in value}, default=str)
    if isinstance(value, str):
        return value
    return ",".join(map(str, value)) if isinstance(value, Sequence) else str(value)


def _bps(number: Decimal | float | str) -> Decimal:
    try:
        return decimal_of(str(number))
    except ValueError as error:
        raise RefusedError(f"fee_bps: {error}.") from None


def _trade(arbitrage: Arbitrage) -> dict[str, object]:
    opportunity, profit = arbitrage.opportunity, arbitrage.profit
    return {
        "time": opportunity.event_time,
        "ended": arbitrage.times.get("ended"),
        "arbitrage_id": arbitrage.arbitrage_id,
        "base": arbitrage.base,
        "buy_exchange": opportunity.buy.exchange,
        "sell_exchange": opportunity.sell.exchange,
        "amount": float(arbitrage.amount),
        "net_bps_seen": opportunity.net_bps,
        "state": arbitrage.state,
        "reason": arbitrage.reason,
        **({} if profit is None else profit.parts),
    }


def _fill(fill: Fill) -> dict[str, object]:
    return {
        "time": fill.filled_at,
        "exchange": fill.exchange,
        "symbol": fill.symbol,
        "side": fill.side,
        "price": float(fill.price),
        "amount": float(fill.amount),
        "cost": float(fill.cost),
        "fee": float(fill.fee),
        "fee_currency": fill.fee_currency,
    }
