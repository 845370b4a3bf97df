"""The lines that `arbitrage backtest` prints of a result."""

from backtest.report.cycle_rows import cycle_lines
from backtest.report.figure_format import CANNOT_TELL, ratio_words, share_words
from backtest.report.trade_lines import bracketed, profit_lines, trade_lines
from backtest.report.transfer_rows import transfer_lines
from backtest.result.backtest_result import BacktestResult, LatencyCost
from backtest.result.quote_spacing import bars_words
from market.time_units import MICROSECONDS
from store.records.backtest_requests import BacktestFigures
from wording.labels import plain, reason_name


def result_lines(result: BacktestResult) -> list[str]:
    manifest, trading, figures = result.manifest, result.trading, result.figures
    recorded = (manifest.end_time - manifest.start_time) / MICROSECONDS
    rejected = {reason: one.count for reason, one in sorted(trading.rejections.items()) if one.count}
    bars = bars_words(result.spacing)
    currency = figures.currency
    lines = [
        f"backtest {manifest.name}: {manifest.title}",
        *(() if bars is None else (f"NOTE: {bars}",)),
        f"recorded {recorded:,.0f} s, tested in {sum(result.seconds.values()):.1f} s",
        f"quotes in       {manifest.quotes}",
        f"quotes rejected {sum(manifest.rejected.values())}{bracketed(manifest.rejected, plain)}",
        f"opportunities   {figures.opportunities}{bracketed(_parts(figures))}",
        *trade_lines(trading.arbitrages),
        f"rejections        {figures.rejections}{bracketed(rejected, reason_name)}",
    ]
    lines += cycle_lines(trading.cycles, currency)
    lines += profit_lines(trading.profit)
    lines += transfer_lines(result)
    lines += _performance_lines(result)
    lines += [_latency_line(cost, currency) for cost in result.latency_costs]
    return [*lines, "assumed:", *(f"  - {assumption}" for assumption in result.assumptions)]


def _parts(figures: BacktestFigures) -> dict[str, int]:
    """Return the outcomes of the opportunities; they sum to all of them."""
    parts = {"traded": figures.trades, "rejected": figures.rejections}
    neither = figures.opportunities - figures.trades - figures.rejections
    # over before a bot decided, or reserved and not filled
    return parts | ({"neither": neither} if neither else {})


def _performance_lines(result: BacktestResult) -> list[str]:
    figures, performance = result.figures, result.performance
    currency, share = figures.currency, figures.drawdown_share
    depth = f"max drawdown      {-figures.drawdown:>z14.2f} {currency}"
    missed = f"missed profit     {result.trading.missed:>z14.2f} {currency}  (once per episode, within the limits)"
    if performance is None:
        return [depth, missed]
    return [
        f"{depth}  ({share_words(None if share is None else -share)})",
        missed,
        f"capital           {performance.capital:>z14.2f} {currency}  (the opening balances at the opening mid)",
        f"return on capital {share_words(figures.return_on_capital):>14}",
        f"turnover          {performance.turnover:>z14.2f} {currency}"
        f"  ({share_words(performance.turnover_of_capital)} of capital)",
        f"marked gain       {performance.marked.gain:>z14.2f} {currency}"
        "  (closing inventory less the value without trading)",
        f"Sharpe            {ratio_words(performance.sharpe):>14}",
        f"Sortino           {ratio_words(performance.sortino):>14}",
        f"  {performance.definition}",
    ]


def _latency_line(cost: LatencyCost, currency: str) -> str:
    if cost.net is None:
        return f"{cost.added_ms:>5g} ms added    {CANNOT_TELL:>14}"
    return f"{cost.added_ms:>5g} ms added    {cost.net:>z14.2f} {currency}  ({cost.trades} trades)"
