"""Performance, breakdown and spacing of a backtest as rows of its JSON: money as decimal strings, times in microseconds
UTC, shares as fractions."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from backtest.result.backtest_result import BacktestResult, drawdown_of
from backtest.result.performance import MarkedInventory, Performance, Ratio
from backtest.result.profit_breakdown import BreakdownLine, by_day, by_pair
from backtest.result.quote_spacing import MarketSpacing
from market.money import text_of


def performance_rows(result: BacktestResult) -> dict[str, object]:
    performance, trading = result.performance, result.trading
    drawdown = drawdown_of(trading.equity)
    share = None if performance is None else drawdown.share(performance.capital)
    return {
        "drawdown": {
            "depth": text_of(drawdown.depth),
            "share": _optional(share),
            "start": drawdown.start,
            "end": drawdown.end,
        },
        "missed": text_of(trading.missed),
        "performance": None if performance is None else _performance_row(performance),
        "by_pair": [
            {"base": line.names[0], "buy": line.names[1], "sell": line.names[2], **_amounts(line)}
            for line in by_pair(trading.arbitrages)
        ],
        "by_day": [{"day": line.names[0], **_amounts(line)} for line in by_day(trading.arbitrages)],
    }


def bars_rows(result: BacktestResult) -> dict[str, object]:
    """What the data are made of."""
    return {"is_of_bars": result.is_of_bars, "spacing": list(_spacing_rows(result.spacing))}


def _performance_row(performance: Performance) -> dict[str, object]:
    return {
        "capital": text_of(performance.capital),
        "return_on_capital": _optional(performance.return_on_capital),
        "turnover": text_of(performance.turnover),
        "turnover_of_capital": _optional(performance.turnover_of_capital),
        "sharpe": _ratio(performance.sharpe),
        "sortino": _ratio(performance.sortino),
        "ratios": {
            "definition": performance.definition,
            "interval_seconds": performance.interval_seconds,
            "returns": performance.returns,
        },
        "marked": _marked_row(performance.marked),
    }


def _marked_row(marked: MarkedInventory) -> dict[str, object]:
    return {
        "opening": text_of(marked.opening),
        "closing": text_of(marked.closing),
        "held": text_of(marked.held),
        "gain": text_of(marked.gain),
        "drawdown": text_of(marked.drawdown),
        "unmarked": list(marked.unmarked),
        "points": [[point.time, text_of(point.gain)] for point in marked.points],
    }


def _ratio(ratio: Ratio) -> dict[str, object]:
    return {"value": None if ratio.value is None else round(ratio.value, 6), "why": ratio.why}


def _amounts(line: BreakdownLine) -> dict[str, object]:
    return {
        "trades": line.trades,
        "turnover": text_of(line.turnover),
        "fees": text_of(line.fees),
        "net": text_of(line.net),
    }


def _spacing_rows(spacing: Sequence[MarketSpacing]) -> Iterable[dict[str, object]]:
    for one in spacing:
        yield {
            "exchange": one.exchange,
            "symbol": one.symbol,
            "is_of_bars": one.is_of_bars,
            "median_ms": _milliseconds(one.median),
            "p95_ms": _milliseconds(one.p95),
        }


def _milliseconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1_000


def _optional(number: Decimal | None) -> str | None:
    return None if number is None else text_of(number)
