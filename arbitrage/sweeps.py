"""Sweeps from a program: many parameter sets over one tick set, with a walk-forward split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from arbitrage.backtests import Values, text_of_setting
from arbitrage.failures import one_sentence
from arbitrage.recorded import Ticks, open_tick_set
from arbitrage.tables import MONEY, TIME, Rows, rows_of
from backtest.result.performance import rounded
from backtest.sweep.parameter_grids import Point
from backtest.sweep.results import SetResult, best_first
from backtest.sweep.tables import SweepTable, sweep_json
from launch.commands.sweep import SweepOptions, finished_sweep
from launch.setup.data_dir import home_folder

Number = Decimal | float | str

_RESULT: dict[str, pa.DataType] = {
    "opportunities": pa.int64(),
    "trades": pa.int64(),
    "rejected": pa.int64(),
    "net": MONEY,
    "drawdown": MONEY,
    "missed": MONEY,
    "return_on_capital": pa.float64(),
    "sharpe": pa.float64(),
    "sortino": pa.float64(),
    "balanced": pa.bool_(),
}
_FOLD: dict[str, pa.DataType] = {
    "training_start": TIME,
    "test_start": TIME,
    "test_end": TIME,
    "set": pa.int64(),
    "in_sample": MONEY,
    "out_of_sample": MONEY,
}


@dataclass(frozen=True, slots=True)
class Sweep:
    """The results of a sweep. Money in `currency`, the set's settlement currency."""

    table: SweepTable

    def __repr__(self) -> str:
        return f"Sweep({self.table.definition.name}: {len(self.table.results):,} sets, best net {self.best_net})"

    @property
    def currency(self) -> str:
        return self.table.currency

    @property
    def best(self) -> dict[str, Decimal]:
        """Return the varied values of the set with the most net profit; of equal ones the smaller drawdown."""
        return dict(best_first(self.table.results)[0].point)

    @property
    def best_net(self) -> Decimal:
        """Return the net profit of the best set, in sample."""
        return best_first(self.table.results)[0].net

    @property
    def deflated_sharpe(self) -> float | None:
        """Return the probability that the best set is more than the luck of many tries (Bailey and López de Prado
        2014); None if it has fewer than 30 returns, or they do not vary. Below 0.95: do not believe it."""
        found = self.table.deflated
        return None if found is None else found.probability

    @property
    def results(self) -> Rows:
        """Return one row per set: a column for each varied name, as doubles, then counts, money, ratios, `balanced`."""
        names = dict.fromkeys(self.table.definition.grid.names, pa.float64())
        columns: dict[str, pa.DataType] = {"set": pa.int64(), **names, **_RESULT}
        return rows_of((_result(one) for one in self.table.results), columns)

    @property
    def folds(self) -> Rows:
        """Return one row per fold of the walk-forward split: the set chosen in training and its profit there and on the
        span after it, where nothing of it was known. Empty without `folds`."""
        forward = self.table.forward
        names = dict.fromkeys(self.table.definition.grid.names, pa.float64())
        rows = (
            {
                "training_start": fold.training.start,
                "test_start": fold.test.start,
                "test_end": fold.test.end,
                "set": fold.chosen.number,
                "in_sample": rounded(fold.chosen.net),
                "out_of_sample": rounded(fold.tested.net),
                **_doubles(fold.chosen.point),
            }
            for fold in (() if forward is None else forward.folds)
        )
        return rows_of(rows, {**_FOLD, **names})

    def document(self) -> dict[str, object]:
        """Return what `arbitrage sweep --json` writes: money as decimal strings, times in microseconds UTC."""
        return sweep_json(self.table)


def sweep(
    ticks: Ticks | str | Path,
    grid: Mapping[str, Sequence[Number]],
    *,
    settings: Values | None = None,
    folds: int | None = None,
    fee_bps: Decimal | None = None,
    seed: int = 1,
    name: str | None = None,
    home: Path | None = None,
) -> Sweep:
    """Backtest every combination of the grid's values over one tick set, on all cores; what is done is kept.

    `grid`: name → values, of any numeric setting, `fee_bps`, `latency_ms` (or of one exchange, `latency_ms.kraken`),
    `decision_ms`, `failed_share`, `seed`. `settings`, `fee_bps`: what is not varied. `folds`: of a walk-forward split,
    in which each span is traded with the best set of the span before. `name`: of the sweep in the data folder; a call
    with the same arguments goes on if it was stopped. Raises RefusedError for a name, value or set that does not do,
    UnavailableError if a worker stopped.

    Example: `sweep("spring", {"min_net_bps": [0, 5, 10], "latency_ms": [20, 80]}, folds=4).folds.to_pandas()`.
    """
    folder = home or home_folder()
    opened = ticks if isinstance(ticks, Ticks) else open_tick_set(ticks, home=folder)
    options = SweepOptions(
        names=(str(opened.tick_set.folder),),
        grid=tuple(f"{one}={','.join(map(str, values))}" for one, values in grid.items()),
        seed=seed,
        folds=folds,
        values=tuple(f"{one}={text_of_setting(value)}" for one, value in (settings or {}).items()),
        fee_bps=fee_bps,
        name=name,
    )
    with one_sentence():
        return Sweep(finished_sweep(folder, options, _nothing))


def _result(result: SetResult) -> dict[str, object]:
    share = result.return_on_capital
    return {
        "set": result.number,
        **_doubles(result.point),
        "opportunities": result.opportunities,
        "trades": result.trades,
        "rejected": result.rejected,
        "net": rounded(result.net),
        "drawdown": rounded(result.drawdown),
        "missed": rounded(result.missed),
        "return_on_capital": None if share is None else float(share),
        "sharpe": result.sharpe,
        "sortino": result.sortino,
        "balanced": result.is_balanced,
    }


def _doubles(point: Point) -> dict[str, float]:
    return {name: float(value) for name, value in point}


def _nothing(_: str) -> None:
    """Print nothing: the caller asks for what it wants to see."""
