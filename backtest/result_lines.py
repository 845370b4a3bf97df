"""What `arbitrage backtest` prints of a result, a line each."""

from collections.abc import Mapping

from backtest.result import BacktestResult, drawdown_of
from backtest.result_document import ends_of
from market.arbitrages import PROFIT_PARTS
from market.clock import MICROSECONDS


def result_lines(result: BacktestResult) -> list[str]:
    manifest, trading = result.manifest, result.trading
    recorded = (manifest.end_time - manifest.start_time) / MICROSECONDS
    refused = {reason: one.count for reason, one in sorted(trading.refusals.items())}
    currency = trading.profit.currency
    lines = [
        f"backtest {manifest.name}: {manifest.title}",
        f"recorded {recorded:,.0f} s, tested in {sum(result.seconds.values()):.1f} s",
        f"quotes in       {manifest.quotes}",
        f"quotes rejected {sum(manifest.rejected.values())}{_bracketed(manifest.rejected)}",
        f"opportunities   {trading.opportunities}",
        f"trades          {trading.trades}{_bracketed(ends_of(trading.arbitrages))}",
        f"refusals        {sum(refused.values())}{_bracketed(refused)}",
    ]
    lines += [f"p&l {part:<13} {getattr(trading.profit, part):>z14.2f} {currency}" for part in PROFIT_PARTS]
    lines.append(f"deepest fall      {drawdown_of(trading.equity).depth:>z14.2f} {currency}")
    lines += [
        f"{cost.added_ms:>5g} ms later    {cost.net:>z14.2f} {currency}  ({cost.trades} trades)"
        for cost in result.latency_costs
    ]
    return [*lines, "assumed:", *(f"  - {assumption}" for assumption in result.assumptions)]


def _bracketed(counts: Mapping[str, int]) -> str:
    return f"  ({', '.join(f'{name} {count}' for name, count in counts.items())})" if counts else ""
