"""The tables of a backtest's report that say how it performed: return, ratios, marked inventory, by pair and by day."""

from collections.abc import Sequence
from decimal import Decimal

from backtest.report.performance_format import ratio_words, share_words
from backtest.report.report_tables import ReportTable, money
from backtest.result.backtest_result import BacktestResult, Drawdown, drawdown_of
from backtest.result.performance import Performance
from backtest.result.profit_breakdown import BreakdownLine, by_day, by_pair
from market.money import ZERO, total

NUMBERS = frozenset({1})


def performance_table(result: BacktestResult) -> ReportTable:
    """Figure, value, what it is."""
    performance, currency = result.performance, result.trading.profit.currency
    if performance is None:
        return ReportTable((), ())
    drawdown = drawdown_of(result.trading.equity)
    rows = (*_money_rows(performance, drawdown, currency, result.trading.profit.net), *_ratio_rows(performance))
    return ReportTable(("figure", "value", "what it is"), rows, NUMBERS)


def inventory_table(performance: Performance | None, currency: str) -> ReportTable:
    """What lay on the exchanges, marked to the market."""
    if performance is None:
        return ReportTable((), ())
    marked = performance.marked
    rows = [
        ("opening inventory", money(marked.opening), "at the opening mid: the capital"),
        ("closing inventory", money(marked.closing), "at the closing mid"),
        ("value without trading", money(marked.held), "the opening inventory at the closing mid"),
        ("marked gain", money(marked.gain), "closing inventory less the value without trading"),
        ("max drawdown of the marked gain", money(-marked.drawdown), "over the sampled moments"),
    ]
    if marked.unmarked:
        rows.append(("not marked", ", ".join(marked.unmarked), "no market prices it; it counts as zero"))
    return ReportTable(("inventory", currency, "what it is"), tuple(rows), NUMBERS)


def pair_table(result: BacktestResult) -> ReportTable:
    return _lines(("asset", "bought on", "sold on"), by_pair(result.trading.arbitrages), result)


def day_table(result: BacktestResult) -> ReportTable:
    return _lines(("day, UTC",), by_day(result.trading.arbitrages), result)


def _lines(names: tuple[str, ...], lines: Sequence[BreakdownLine], result: BacktestResult) -> ReportTable:
    rows = [(*line.names, *_line(line.trades, line.turnover, line.fees, line.net)) for line in lines]
    if len(rows) > 1:
        sums = [total(getattr(line, name) for line in lines) for name in ("turnover", "fees", "net")]
        rows.append(("all", *("" for _ in names[1:]), *_line(sum(line.trades for line in lines), *sums)))
    head = (*names, "trades", "turnover", "fees", f"net, {result.trading.profit.currency}")
    return ReportTable(head, tuple(rows), frozenset(range(len(names), len(head))), has_sum=len(rows) > 1)


def _line(trades: int, turned: Decimal = ZERO, fees: Decimal = ZERO, net: Decimal = ZERO) -> tuple[str, ...]:
    return f"{trades:,}", money(turned), money(fees), money(net)


def _money_rows(
    performance: Performance, drawdown: Drawdown, currency: str, net: Decimal
) -> tuple[tuple[str, str, str], ...]:
    drawdown_share = _signed(share_words(drawdown.share(performance.capital)))
    return (
        (f"capital, {currency}", money(performance.capital), "the opening balances at the opening mid"),
        (
            "return on capital",
            _signed(share_words(performance.return_on_capital)),
            f"net {money(net)} over capital; neither compounded nor annualised",
        ),
        (
            f"max drawdown, {currency}",
            money(-drawdown.depth),
            f"{drawdown_share} of capital and net profit at the highest point",
        ),
        (
            f"turnover, {currency}",
            money(performance.turnover),
            f"{share_words(performance.turnover_of_capital)} of capital; all fills, bought and sold, at FX mid",
        ),
    )


def _ratio_rows(performance: Performance) -> tuple[tuple[str, str, str], ...]:
    sharpe, sortino = performance.sharpe, performance.sortino
    return (
        ("Sharpe ratio", _signed(ratio_words(sharpe)), "mean over standard deviation of returns, annualised"),
        ("Sortino ratio", _signed(ratio_words(sortino)), "mean over downside deviation of returns, annualised"),
    )


def _signed(words: str) -> str:
    return f"−{words[1:]}" if words.startswith("-") else words
