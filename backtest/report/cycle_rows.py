"""The cycles of a backtest's result as rows of its JSON, and as lines."""

from backtest.report.trade_lines import bracketed, ends_of
from backtest.result.cycles_found import SIZED, CycleEpisode, CyclesFound
from backtest.result.trading_outcome import TradingOutcome
from market.decide.cycle_sizing import SizedCycle
from market.money import text_of
from wording.labels import reason_name


def by_legs_row(trading: TradingOutcome, found: CyclesFound | None) -> dict[str, dict[str, int]]:
    """Return number of legs → state → how many: arbitrages of pairs by their ends, cycles by what could be sized."""
    of_cycles = {} if found is None else {str(legs): dict(states) for legs, states in found.by_legs.items()}
    return {"2": ends_of(trading.arbitrages)} | of_cycles


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
        "profit": {currency: text_of(amount) for currency, amount in found.profits.items()},
        "episodes": [_episode_row(episode) for episode in found.episodes],
    }


def _episode_row(episode: CycleEpisode) -> dict[str, object]:
    sized = episode.sized
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
        "currency": episode.currency,
        "sized": None if sized is None else _sized_row(episode, sized),
    }


def _sized_row(episode: CycleEpisode, sized: SizedCycle) -> dict[str, object]:
    return {
        "at": episode.sized_at,
        "gives": text_of(sized.given),
        "brings": text_of(sized.received),
        "profit": text_of(sized.profit),
        "gap": text_of(sized.gap),
        "orders": [
            {
                "exchange": leg.market.exchange,
                "symbol": leg.market.symbol,
                "side": leg.side,
                "amount": text_of(order.amount),
                "limit_price": text_of(order.limit_price),
                "gives": text_of(order.gives),
                "brings": text_of(order.brings),
                "dust": text_of(order.dust),
            }
            for leg, order in zip(episode.cycle.legs, sized.legs, strict=True)
        ],
    }


def cycle_lines(found: CyclesFound | None) -> list[str]:
    """Return the lines of the terminal; none if cycles were not looked for."""
    if found is None:
        return []
    lines = [f"cycles watched  {found.watched}", *(f"  - {reason}" for reason in found.reasons)]
    for legs, states in found.by_legs.items():
        lines.append(f"  of {legs} legs     {sum(states.values())}{bracketed(states, _state_name)}")
    lines += [
        f"  would bring   {amount:>z14.2f} {currency}  (sized, not executed)"
        for currency, amount in found.profits.items()
    ]
    return lines


def _state_name(state: str) -> str:
    return state if state == SIZED else reason_name(state)
