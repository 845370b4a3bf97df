"""What `arbitrage backtest` prints of a result, a line each."""

from decimal import Decimal

from backtest.report.performance_format import CANNOT_TELL, ratio_words, share_words
from backtest.result.backtest_result import BacktestResult, LatencyCost, drawdown_of
from backtest.result.quote_spacing import bars_words
from backtest.result.trade_lines import bracketed, trade_lines
from backtest.result.trading_outcome import TradingOutcome
from market.time_units import MICROSECONDS
from market.trade.arbitrages import PROFIT_PARTS


def result_lines(result: BacktestResult) -> list[str]:
    manifest, trading = result.manifest, result.trading
    recorded = (manifest.end_time - manifest.start_time) / MICROSECONDS
    rejected = {reason: one.count for reason, one in sorted(trading.rejections.items()) if one.count}
    bars = bars_words(result.spacing)
    currency = trading.profit.currency
    lines = [
        f"backtest {manifest.name}: {manifest.title}",
        *(() if bars is None else (f"NOTE: {bars}",)),
        f"recorded {recorded:,.0f} s, tested in {sum(result.seconds.values()):.1f} s",
        f"quotes in       {manifest.quotes}",
        f"quotes rejected {sum(manifest.rejected.values())}{bracketed(manifest.rejected)}",
        f"opportunities   {trading.opportunities}{bracketed(_parts(trading))}",
        *trade_lines(trading.arbitrages),
        f"rejections        {sum(rejected.values())}{bracketed(rejected)}",
    ]
    lines += [f"p&l {part:<13} {getattr(trading.profit, part):>z14.2f} {currency}" for part in PROFIT_PARTS]
    lines += _performance_lines(result)
    lines += [_latency_line(cost, currency) for cost in result.latency_costs]
    return [*lines, "assumed:", *(f"  - {assumption}" for assumption in result.assumptions)]


def _parts(trading: TradingOutcome) -> dict[str, int]:
    """What became of the opportunities; they sum to all of them."""
    rejected = sum(one.count for one in trading.rejections.values())
    parts = {"traded": trading.trades, "rejected": rejected}
    neither = trading.opportunities - trading.trades - rejected
    # over before anybody decided, or reserved and not filled
    return parts | ({"neither": neither} if neither else {})


def _performance_lines(result: BacktestResult) -> list[str]:
    trading, performance = result.trading, result.performance
    currency, fall = trading.profit.currency, drawdown_of(trading.equity)
    depth = f"max drawdown      {-fall.depth:>z14.2f} {currency}"
    missed = f"missed profit     {trading.missed:>z14.2f} {currency}  (once per episode, within the limits)"
    if performance is None:
        return [depth, missed]
    return [
        f"{depth}  ({share_words(_negative(fall.share(performance.capital)))})",
        missed,
        f"capital           {performance.capital:>z14.2f} {currency}  (the opening balances at the opening mid)",
        f"return on capital {share_words(performance.return_on_capital):>14}",
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


def _negative(share: Decimal | None) -> Decimal | None:
    return None if share is None else -share
