"""A backtest's result as `--json` writes it: money as decimal strings, times in microseconds UTC, shares as
fractions.
"""

from collections.abc import Sequence
from dataclasses import asdict

from backtest.parameters import Balances, Parameters
from backtest.report.cycle_rows import by_legs_row, cycles_row
from backtest.report.profit_rows import amounts_row, profit_row
from backtest.report.trade_lines import ends_of
from backtest.report.transfer_rows import transfer_rows
from backtest.result.backtest_result import BacktestResult
from backtest.result.performance import MarkedInventory, Performance, Ratio
from backtest.result.profit_breakdown import by_day, by_pair
from backtest.result.quote_spacing import MarketSpacing
from backtest.result.trading_outcome import Lifetime, TradingOutcome
from market.money import BPS, optional_text, text_of
from market.trade.arbitrages import Arbitrage
from market.trade.cycle_trades import states_by_reach
from tick_sets.sets.exchange_times import FeedDelay


def result_document(result: BacktestResult) -> dict[str, object]:
    """Return the document; the same command gives the same one, except for `seconds`."""
    return {
        **_data_rows(result),
        **_trading_rows(result.trading),
        "arbitrages_by_legs": by_legs_row(result.trading),
        "cycles_by_reach": states_by_reach(() if result.trading.cycles is None else result.trading.cycles.trades),
        "cycles": cycles_row(result.trading.cycles),
        **transfer_rows(result),
        **_performance_rows(result),
        "latency_costs": [
            # null: unknown from bars
            {"added_ms": cost.added_ms, "net": optional_text(cost.net), "trades": cost.trades}
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
        "is_of_bars": result.is_of_bars,
        "spacing": [_spacing_row(one) for one in result.spacing],
        "feed_delays": [_delay_row(one) for one in result.feed_delays],
    }


def _trading_rows(trading: TradingOutcome) -> dict[str, object]:
    return {
        "opportunities": trading.opportunities,
        "trades": trading.trades,
        "arbitrages_by_end": ends_of(trading.arbitrages),
        "rejections": trading.rejected,
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


def _performance_rows(result: BacktestResult) -> dict[str, object]:
    performance, trading, drawdown = result.performance, result.trading, result.trading.drawdown
    return {
        "drawdown": {
            "depth": text_of(drawdown.depth),
            "share": optional_text(result.figures.drawdown_share),
            "start": drawdown.start,
            "end": drawdown.end,
        },
        "missed": text_of(trading.missed),
        "performance": None if performance is None else _performance_row(performance),
        "by_pair": [
            {"base": line.names[0], "buy": line.names[1], "sell": line.names[2], **amounts_row(line)}
            for line in by_pair(trading.arbitrages)
        ],
        "by_day": [{"day": line.names[0], **amounts_row(line)} for line in by_day(trading.all_trades)],
    }


def _performance_row(performance: Performance) -> dict[str, object]:
    return {
        "capital": text_of(performance.capital),
        "return_on_capital": optional_text(performance.return_on_capital),
        "turnover": text_of(performance.turnover),
        "turnover_of_capital": optional_text(performance.turnover_of_capital),
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
    return {"value": None if ratio.value is None else round(ratio.value, 6), "why": ratio.reason}


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
        "rate_limits": parameters.rate_limits,
        "seed": parameters.seed,
    }


def lifetime_row(lifetimes: Sequence[Lifetime]) -> dict[str, float] | None:
    """Return the count, and percentiles in milliseconds by nearest rank; None without any."""
    if not lifetimes:
        return None
    ordered = sorted((one.end - one.start) / 1_000 for one in lifetimes)
    ranks = {f"p{share}": ordered[max(0, -(-share * len(ordered) // 100) - 1)] for share in (50, 90, 99)}
    return {"count": len(ordered), **ranks, "longest": ordered[-1]}


def _delay_row(one: FeedDelay) -> dict[str, object]:
    """Return microseconds from the exchange's time to the arrival; `age_from` says whether a quote's age counts from
    it."""
    return {
        "market": f"{one.exchange} {one.symbol}",
        "median": one.median,
        "p95": one.p95,
        "age_from": "exchange_time" if one.trust == "used" else "arrival",
    }


def _spacing_row(one: MarketSpacing) -> dict[str, object]:
    return {
        "exchange": one.exchange,
        "symbol": one.symbol,
        "is_of_bars": one.is_of_bars,
        "median_ms": _milliseconds(one.median),
        "p95_ms": _milliseconds(one.p95),
    }


def _milliseconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1_000


def _arbitrage_row(arbitrage: Arbitrage) -> dict[str, object]:
    opportunity = arbitrage.opportunity
    return {
        "arbitrage_id": arbitrage.arbitrage_id,
        "base": arbitrage.base,
        "buy": opportunity.buy.market_name,
        "sell": opportunity.sell.market_name,
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
