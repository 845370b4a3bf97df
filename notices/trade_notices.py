"""Notices of an arbitrage or a trade on a cycle: its end, its single leg, and how that was resolved. Pure."""

from exchanges.labels import exchange_name, exchange_names
from market.money import BPS, ZERO, text_of
from market.trade.arbitrages import FINAL_STATES, Arbitrage, Leg, Transition
from market.trade.cycle_trades import CycleTrade
from notices.format import exact, signed_bps, signed_money
from session.notice_destinations import NoticeKind
from store.records.notice import Notice

SINGLE = "single_leg"
Trade = Arbitrage | CycleTrade
_RESOLVED = {"closed": "completed", "unwound": "unwound", "unfilled": "nothing was filled"}


def notices_of_trade(arbitrage: Trade, min_single_leg: int, now: int = 0) -> list[Notice]:
    """Return one notice for each relevant step, oldest first; the same document gives the same ids.

    A single leg that was resolved within `min_single_leg` (microseconds) gets none: only the end of the trade is
    reported. One that is still open is reported once it has lasted that long at `now` (0: unknown). A single leg after
    an end is reported at once. A step that is repeated with another reason but the same state is reported once.
    """
    notices: list[Notice] = []
    is_alarmed = False
    steps = _steps_of(arbitrage)
    for place, step in enumerate(steps):
        until = steps[place + 1].at if place + 1 < len(steps) else max(now, step.at)
        if step.what == SINGLE and place == 0 and until - step.at < min_single_leg:
            continue
        notice = _notice_of(arbitrage, step, is_alarmed)
        is_alarmed = step.what in (SINGLE, "residual")
        if notice is not None:
            notices.append(notice)
    return notices


def _steps_of(arbitrage: Trade) -> list[Transition]:
    steps: list[Transition] = []
    for step in arbitrage.history:
        if step.what in (*FINAL_STATES, SINGLE) and not (steps and steps[-1].what == step.what):
            steps.append(step)
    return steps


def _notice_of(arbitrage: Trade, step: Transition, is_alarmed: bool) -> Notice | None:
    """Return the step's notice, if it has one. `is_alarmed`: a notice of the single leg was made."""
    kind: NoticeKind = "single_legs"
    if step.what == SINGLE:
        event, line = "single_leg_opened", _begun_line(arbitrage, step)
    elif step.what == "residual":
        event, line = "single_leg_residual", _residual_line(arbitrage, step)
    elif is_alarmed:
        event, line = "single_leg_resolved", _resolved_line(arbitrage, step.what)
    elif step.what in ("closed", "unwound"):
        kind, event, line = "trades", "trade_closed", _closed_line(arbitrage)
    else:
        return None
    return Notice(
        notice_id=f"arbitrage:{arbitrage.arbitrage_id}:{event}:{step.at}",
        kind=kind,
        event=event,
        at=step.at,
        line=line,
        facts=_facts(arbitrage, step),
    )


def _closed_line(arbitrage: Trade) -> str:
    return f"{_what_was_done(arbitrage)}{_outcome(arbitrage)}"


def _begun_line(arbitrage: Trade, step: Transition) -> str:
    firsts = [leg for leg in arbitrage.legs if leg.role in ("buy", "sell") or leg.role.startswith("leg")]
    filled = [leg for leg in firsts if leg.filled > 0]
    sides = " and ".join(_leg_words(leg) for leg in filled) or "no fill is known yet"
    reason = "" if step.reason is None else f" ({step.reason})"
    return f"SINGLE LEG {_place(arbitrage)}: {sides}{reason}; it is being unwound"


def _residual_line(arbitrage: Trade, step: Transition) -> str:
    reason = "it could not be unwound" if step.reason is None else step.reason
    return f"RESIDUAL {_place(arbitrage)} {_amount(arbitrage)}: {reason}; needs attention"


def _resolved_line(arbitrage: Trade, state: str) -> str:
    return f"Single leg resolved {_place(arbitrage)}: {_RESOLVED.get(state, state)}{_outcome(arbitrage)}"


def _what_was_done(arbitrage: Trade) -> str:
    amount = _amount(arbitrage)
    if isinstance(arbitrage, Arbitrage) and arbitrage.strategy == "ma":
        leg = arbitrage.legs[0]
        verb = "Bought" if leg.side == "buy" else "Sold"
        return f"{verb} {arbitrage.base} on {exchange_name(leg.exchange)} {amount} (moving average)"
    verb = "Unwound" if arbitrage.state == "unwound" else "Closed"
    return f"{verb} {_place(arbitrage)} {amount}"


def _outcome(arbitrage: Trade) -> str:
    profit = arbitrage.profit
    if profit is None or (isinstance(arbitrage, Arbitrage) and arbitrage.strategy == "ma"):
        return ""
    text = f": {signed_money(profit.net, profit.currency)} net"
    if arbitrage.notional <= ZERO:
        return text
    return f"{text}, {signed_bps(profit.net * BPS / arbitrage.notional)}"


def _leg_words(leg: Leg) -> str:
    verb = "bought" if leg.side == "buy" else "sold"
    base = f" {leg.base}" if leg.role.startswith("leg") else ""
    return f"{verb} {exact(leg.filled)}{base} on {exchange_name(leg.exchange)}"


def _amount(arbitrage: Trade) -> str:
    """Return what was matched, or what a cycle was to give."""
    if isinstance(arbitrage, CycleTrade):
        return f"of {exact(arbitrage.planned.given)} {arbitrage.cycle.currency}"
    return exact(arbitrage.amount)


def _place(arbitrage: Trade) -> str:
    if isinstance(arbitrage, CycleTrade):
        symbols = ", ".join(leg.market.symbol for leg in arbitrage.cycle.legs)
        return f"cycle {symbols} {exchange_names(arbitrage.cycle.exchanges)}"
    exchanges = dict.fromkeys((arbitrage.opportunity.buy.exchange, arbitrage.opportunity.sell.exchange))
    return f"{arbitrage.base} {exchange_names(exchanges)}"


def _facts(arbitrage: Trade, step: Transition) -> dict[str, str]:
    facts = {
        "arbitrage_id": arbitrage.arbitrage_id,
        **_own_facts(arbitrage),
        "step": step.what,
        "state": arbitrage.state,
    }
    if step.reason is not None:
        facts["reason"] = step.reason
    if arbitrage.profit is not None:
        facts |= {"net": text_of(arbitrage.profit.net), "currency": arbitrage.profit.currency}
    return facts


def _own_facts(trade: Trade) -> dict[str, str]:
    if isinstance(trade, CycleTrade):
        amount = text_of(trade.planned.given)
        return {"strategy": "cycle", "cycle": trade.cycle.cycle_id, "amount": amount, "base": trade.cycle.currency}
    return {
        "strategy": trade.strategy,
        "base": trade.base,
        "buy_exchange": trade.opportunity.buy.exchange,
        "sell_exchange": trade.opportunity.sell.exchange,
        "amount": text_of(trade.amount),
    }
