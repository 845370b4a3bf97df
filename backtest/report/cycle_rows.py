"""The cycles of a backtest's result as rows of its JSON, and as lines."""

from backtest.report.profit_rows import amounts_row, profit_row
from backtest.report.trade_lines import bracketed, ends_of
from backtest.result.cycles_found import CycleEpisode, CyclesFound
from backtest.result.profit_breakdown import by_cycle
from backtest.result.trading_outcome import TradingOutcome
from market.decide.cycle_sizing import SizedCycleLeg
from market.instruments.cycles import CycleLeg
from market.money import text_of, total
from market.trade.cycle_trades import CycleOrder, CycleTrade
from wording.labels import reason_name, state_name


def by_legs_row(trading: TradingOutcome) -> dict[str, dict[str, int]]:
    """Return number of legs → state → how many: arbitrages of pairs and trades of cycles by their ends."""
    of_cycles = {} if trading.cycles is None else trading.cycles.by_legs
    return {"2": ends_of(trading.arbitrages)} | {str(legs): dict(states) for legs, states in of_cycles.items()}


def cycles_row(found: CyclesFound | None) -> dict[str, object] | None:
    """None if cycles were not looked for."""
    if found is None:
        return None
    return {
        "max_legs": found.terms.max_legs,
        "within": sorted(found.terms.within),
        "across": sorted(found.terms.across),
        "watched": found.watched,
        "why_not": list(found.reasons),
        "sightings": found.sightings,
        "not_traded": {str(legs): dict(reasons) for legs, reasons in found.not_traded.items()},
        "by_cycle": [
            {"legs": int(line.names[0]), "cycle": line.names[1], **amounts_row(line)} for line in by_cycle(found.trades)
        ],
        "trades": [_trade_row(trade) for trade in found.trades],
        "episodes": [_episode_row(episode) for episode in found.episodes],
    }


def _episode_row(episode: CycleEpisode) -> dict[str, object]:
    return {
        "id": episode.first_id,
        "cycle": episode.cycle.cycle_id,
        "legs": len(episode.cycle.legs),
        "start": episode.start,
        "end": episode.end,
        "sightings": episode.sightings,
        "net_bps": episode.net_bps,
        "best_net_bps": episode.best_net_bps,
        "state": episode.state,
        "trades": list(episode.trades),
    }


def _trade_row(trade: CycleTrade) -> dict[str, object]:
    planned = trade.planned
    return {
        "id": trade.trade_id,
        "cycle": trade.cycle.cycle_id,
        "legs": len(trade.cycle.legs),
        "event_time": trade.times["event"],
        "ended_at": trade.times.get("ended"),
        "net_bps": trade.net_bps,
        "state": trade.state,
        "reason": trade.reason,
        "currency": trade.cycle.currency,
        "threshold": {"bps": trade.threshold[0], "of": trade.threshold[1]},
        "max_notional": {"amount": text_of(trade.most[0]), "of": trade.most[1]},
        "pnl": None if trade.profit is None else profit_row(trade.profit),
        "flows": {currency: text_of(flow) for currency, flow in sorted(trade.flows.items())},
        "planned": {
            "gives": text_of(planned.given),
            "brings": text_of(planned.received),
            "profit": text_of(planned.profit),
            "gap": text_of(planned.gap),
            "legs": [_leg_row(leg, sized) for leg, sized in zip(trade.cycle.legs, planned.legs, strict=True)],
        },
        "orders": [_order_row(order) for order in trade.orders],
    }


def _leg_row(leg: CycleLeg, sized: SizedCycleLeg) -> dict[str, object]:
    return {
        "exchange": leg.market.exchange,
        "symbol": leg.market.symbol,
        "side": leg.side,
        "amount": text_of(sized.amount),
        "limit_price": text_of(sized.limit_price),
        "gives": text_of(sized.gives),
        "brings": text_of(sized.brings),
        "dust": text_of(sized.dust),
    }


def _order_row(order: CycleOrder) -> dict[str, object]:
    return {
        "name": order.name,
        "exchange": order.market.exchange,
        "symbol": order.market.symbol,
        "side": order.side,
        "amount": text_of(order.amount),
        "limit_price": text_of(order.limit_price),
        "state": order.state,
        "reason": order.leg.reason,
        "filled": text_of(order.filled),
        "cost": text_of(order.cost),
    }


def cycle_lines(found: CyclesFound | None, currency: str) -> list[str]:
    """Return the lines of the terminal; none if cycles were not looked for. `currency`: the settlement currency."""
    if found is None:
        return []
    lines = [f"cycles watched  {found.watched}", *(f"  - {reason}" for reason in found.reasons)]
    for legs, states in found.by_legs.items():
        missed = found.not_traded[legs]
        lines.append(f"  of {legs} legs     {sum(states.values())}{bracketed(states, state_name)}")
        if missed:
            lines.append(f"    not traded  {sum(missed.values())} episodes{bracketed(missed, reason_name)}")
    net = total(trade.profit.net for trade in found.trades if trade.profit is not None)
    return [*lines, f"  net of cycles {net:>z14.2f} {currency}"]
