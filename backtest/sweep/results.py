"""The result of one parameter set on the whole tick set or on one span of it, as a row of Parquet and back."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from backtest.result.performance import Performance, ReturnMoments
from backtest.result.trading_outcome import TradingOutcome
from backtest.sweep.parameter_grids import Point
from market.money import ZERO, decimal_of, optional_text, text_of
from market.trade.arbitrages import PROFIT_PARTS

WHOLE = -1
"""In place of a span's number: the whole tick set."""

_FIELDS: dict[str, pa.DataType] = {
    "set": pa.int32(),
    "span": pa.int32(),
    "parameters": pa.string(),
    "opportunities": pa.int64(),
    "trades": pa.int64(),
    "rejected": pa.int64(),
    **dict.fromkeys(PROFIT_PARTS, pa.string()),
    "drawdown": pa.string(),
    "missed": pa.string(),
    "return_on_capital": pa.string(),
    "turnover": pa.string(),
    "marked_gain": pa.string(),
    "sharpe": pa.float64(),
    "sortino": pa.float64(),
    "is_balanced": pa.bool_(),
    "digest": pa.string(),
    "cycles": pa.int64(),
    "moments": pa.list_(pa.float64()),
}
PERFORMANCE_AMOUNTS = ("return_on_capital", "turnover", "marked_gain")
"""Fields of the performance, by the same names in both."""
RESULT_SCHEMA = pa.schema(_FIELDS)
"""`span` -1: the whole set. Money as decimal strings, `parameters` as JSON; null: there is none, as of spans."""


@dataclass(frozen=True, slots=True)
class SetResult:
    """Money in the settlement currency; `profit` by the names of PROFIT_PARTS."""

    number: int
    """The number of the set, in the order of the grid."""
    span: int
    point: Point
    opportunities: int
    trades: int
    rejected: int
    profit: dict[str, Decimal]
    drawdown: Decimal
    """The maximum drawdown of the net profit, as a positive number."""
    is_balanced: bool
    digest: str
    """Digest of every fill, rejection and closing balance: two runs with one digest did the same."""
    missed: Decimal = ZERO
    """Once per episode that was not traded."""
    return_on_capital: Decimal | None = None
    """This and what follows: of the whole tick set alone, as `backtest.result.performance` defines them."""
    turnover: Decimal | None = None
    marked_gain: Decimal | None = None
    sharpe: float | None = None
    sortino: float | None = None
    moments: ReturnMoments | None = None
    cycles: int = 0
    """Trades on cycles, beside `trades` of pairs; all money is of both."""

    @property
    def net(self) -> Decimal:
        return self.profit["net"]


def result_of(
    number: int, span: int, point: Point, outcome: TradingOutcome, performance: Performance | None = None
) -> SetResult:
    result = SetResult(
        number=number,
        span=span,
        point=point,
        opportunities=outcome.opportunities,
        trades=outcome.trades,
        rejected=outcome.rejected,
        profit=outcome.profit.parts,
        drawdown=outcome.drawdown.depth,
        missed=outcome.missed,
        is_balanced=outcome.is_balanced,
        digest=digest_of(outcome),
        cycles=0 if outcome.cycles is None else len(outcome.cycles.trades),
    )
    if performance is None:
        return result
    return replace(
        result,
        return_on_capital=performance.return_on_capital,
        turnover=performance.turnover,
        marked_gain=performance.marked.gain,
        sharpe=performance.sharpe.value,
        sortino=performance.sortino.value,
        moments=performance.moments,
    )


def best_first(results: Iterable[SetResult]) -> list[SetResult]:
    """Sort by net, then the smaller drawdown, then the lower number: always the same order."""
    return sorted(results, key=lambda result: (-result.net, result.drawdown, result.number))


def digest_of(outcome: TradingOutcome) -> str:
    """Return 128 bits in hexadecimal digits."""
    words = [repr(fill) for fill in outcome.fills]
    words += [f"{reason} {rejected.count} {rejected.missed}" for reason, rejected in sorted(outcome.rejections.items())]
    words += [
        f"{exchange} {currency} {text_of(amount)}"
        for exchange, balances in sorted(outcome.after.items())
        for currency, amount in sorted(balances.items())
    ]
    return hashlib.blake2b("\n".join(words).encode(), digest_size=16).hexdigest()


def table_of(results: Sequence[SetResult]) -> pa.Table:
    """Return rows of RESULT_SCHEMA."""
    return pa.Table.from_pylist([_row_of(result) for result in results], schema=RESULT_SCHEMA)


def results_of(table: pa.Table) -> list[SetResult]:
    return [_result_of(row) for row in table.to_pylist()]


def _row_of(result: SetResult) -> dict[str, object]:
    return {
        "set": result.number,
        "span": result.span,
        "parameters": json.dumps({name: text_of(value) for name, value in result.point}),
        "opportunities": result.opportunities,
        "trades": result.trades,
        "rejected": result.rejected,
        **{name: text_of(amount) for name, amount in result.profit.items()},
        "drawdown": text_of(result.drawdown),
        "missed": text_of(result.missed),
        **{name: optional_text(getattr(result, name)) for name in PERFORMANCE_AMOUNTS},
        "sharpe": result.sharpe,
        "sortino": result.sortino,
        "is_balanced": result.is_balanced,
        "digest": result.digest,
        "cycles": result.cycles,
        "moments": None if result.moments is None else [float(one) for one in astuple(result.moments)],
    }


def _result_of(row: dict[str, Any]) -> SetResult:
    parameters: dict[str, str] = json.loads(row["parameters"])
    return SetResult(
        number=row["set"],
        span=row["span"],
        point=tuple((name, decimal_of(value)) for name, value in parameters.items()),
        opportunities=row["opportunities"],
        trades=row["trades"],
        rejected=row["rejected"],
        profit={name: decimal_of(row[name]) for name in PROFIT_PARTS},
        drawdown=decimal_of(row["drawdown"]),
        missed=decimal_of(row["missed"]),
        is_balanced=row["is_balanced"],
        digest=row["digest"],
        **{name: None if row[name] is None else decimal_of(row[name]) for name in PERFORMANCE_AMOUNTS},
        sharpe=row["sharpe"],
        sortino=row["sortino"],
        # what earlier versions wrote has none
        cycles=row.get("cycles") or 0,
        moments=_moments_of(row.get("moments")),
    )


def _moments_of(values: Sequence[float] | None) -> ReturnMoments | None:
    if values is None:
        return None
    returns, *others = values
    return ReturnMoments(int(returns), *others)
