"""A backtest's result as `--json` writes it: money as decimal strings, times in microseconds UTC."""

from collections.abc import Sequence
from dataclasses import asdict

from backtest.backtest_parameters import Balances, Parameters
from backtest.report.performance_document import bars_rows, performance_rows
from backtest.result.backtest_result import BacktestResult
from backtest.result.trade_lines import ends_of
from backtest.result.trading_outcome import Lifetime, TradingOutcome
from market.money import BPS, text_of
from market.trade.arbitrages import PROFIT_PARTS, Arbitrage, ProfitAndLoss


def result_document(result: BacktestResult) -> dict[str, object]:
    """Alike for the same command, all but `seconds`."""
    return {
        **_data_rows(result),
        **bars_rows(result),
        **_trading_rows(result.trading),
        **performance_rows(result),
        "latency_costs": [
            {
                "added_ms": cost.added_ms,
                # null: the data cannot tell
                "net": None if cost.net is None else text_of(cost.net),
                "trades": cost.trades,
            }
            for cost in result.latency_costs
        ],
        "assumptions": list(result.assumptions),
        **_parameter_rows(result.parameters),
        "versions": result.versions,
        "command": result.command,
        "seconds": {stage: round(seconds, 3) for stage, seconds in result.seconds.items()},
    }


def _data_rows(result: BacktestResult) -> dict[str, object]:
    manifest, detection = result.manifest, result.detection
    return {
        "tick_set": manifest.name,
        "title": manifest.title,
        "start_time": manifest.start_time,
        "end_time": manifest.end_time,
        "rows": manifest.rows,
        "quotes": manifest.quotes,
        "rejected": sum(manifest.rejected.values()),
        "rejected_by_reason": manifest.rejected,
        "quality": [asdict(market) for market in result.quality],
        "detection": {
            "rows": detection.rows,
            "messages": detection.messages,
            "opportunities": detection.opportunities,
            "by_base": detection.by_base,
            "by_pair": {f"{buy} > {sell}": count for (buy, sell), count in detection.by_pair.items()},
        },
    }


def _trading_rows(trading: TradingOutcome) -> dict[str, object]:
    return {
        "opportunities": trading.opportunities,
        "trades": trading.trades,
        "arbitrages_by_end": ends_of(trading.arbitrages),
        "rejections": sum(rejected.count for rejected in trading.rejections.values()),
        "rejections_by_reason": {
            reason: {"count": rejected.count, "episodes": rejected.episodes, "missed": text_of(rejected.missed)}
            for reason, rejected in sorted(trading.rejections.items())
        },
        "pnl": profit_row(trading.profit),
        "equity_end": text_of(trading.equity[-1].net) if trading.equity else "0",
        "balanced": trading.is_balanced,
        "balances_before": _balance_rows(trading.before),
        "balances_after": _balance_rows(trading.after),
        "lifetimes_ms": lifetime_row(trading.lifetimes),
        "net_bps_counts": {str(bps): count for bps, count in sorted(trading.net_bps_counts.items())},
        "arbitrages": [_arbitrage_row(arbitrage) for arbitrage in trading.arbitrages],
    }


def _parameter_rows(parameters: Parameters) -> dict[str, object]:
    return {
        "settings": parameters.settings.model_dump(mode="json"),
        "latency": {exchange: asdict(latency) for exchange, latency in sorted(parameters.latency.items())},
        "fee_tiers": {
            exchange: [{"volume": text_of(tier.volume), "bps": text_of(tier.rate * BPS)} for tier in tiers]
            for exchange, tiers in sorted(parameters.fee_tiers.items())
        },
        "decision_ms": parameters.decision_ms,
        "failed_share": parameters.failed_share,
        "follow_logged_settings": parameters.follow_logged_settings,
        "seed": parameters.seed,
    }


def profit_row(profit: ProfitAndLoss) -> dict[str, str]:
    """Its currency, and each part."""
    return {"currency": profit.currency} | {part: text_of(getattr(profit, part)) for part in PROFIT_PARTS}


def lifetime_row(lifetimes: Sequence[Lifetime]) -> dict[str, float] | None:
    """How many, and milliseconds by nearest rank; None without any."""
    if not lifetimes:
        return None
    ordered = sorted((one.end - one.start) / 1_000 for one in lifetimes)
    ranks = {f"p{share}": ordered[max(0, -(-share * len(ordered) // 100) - 1)] for share in (50, 90, 99)}
    return {"count": len(ordered), **ranks, "longest": ordered[-1]}


def _arbitrage_row(arbitrage: Arbitrage) -> dict[str, object]:
    opportunity = arbitrage.opportunity
    return {
        "arbitrage_id": arbitrage.arbitrage_id,
        "base": arbitrage.base,
        "buy": f"{opportunity.buy.exchange} {opportunity.buy.symbol}",
        "sell": f"{opportunity.sell.exchange} {opportunity.sell.symbol}",
        "event_time": opportunity.event_time,
        "net_bps": opportunity.net_bps,
        "state": arbitrage.state,
        "reason": arbitrage.reason,
        "amount": text_of(arbitrage.amount),
        "filled": {leg.role: text_of(leg.filled) for leg in arbitrage.legs},
        "pnl": None if arbitrage.profit is None else profit_row(arbitrage.profit),
    }


def _balance_rows(balances: Balances) -> dict[str, dict[str, str]]:
    return {
        exchange: {currency: text_of(amount) for currency, amount in sorted(rows.items())}
        for exchange, rows in sorted(balances.items())
    }
