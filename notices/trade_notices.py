"""Notices of an arbitrage: its end, its single leg, and how that was resolved. Pure."""

from exchanges.labels import exchange_name, exchange_names
from market.money import BPS, ZERO, text_of
from market.trade.arbitrages import FINAL_STATES, Arbitrage, ArbitrageState, Leg, Transition
from notices.format import exact, signed_bps, signed_money
from session.notice_destinations import NoticeKind
from store.records.notice import Notice

SINGLE = "single_leg"
_RESOLVED = {"closed": "completed", "unwound": "unwound", "unfilled": "nothing was filled"}


def notices_of_arbitrage(arbitrage: Arbitrage, min_single_leg: int, now: int = 0) -> list[Notice]:
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


def _steps_of(arbitrage: Arbitrage) -> list[Transition]:
    steps: list[Transition] = []
    for step in arbitrage.history:
        if step.what in (*FINAL_STATES, SINGLE) and not (steps and steps[-1].what == step.what):
            steps.append(step)
    return steps


def _notice_of(arbitrage: Arbitrage, step: Transition, is_alarmed: bool) -> Notice | None:
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


def _closed_line(arbitrage: Arbitrage) -> str:
    return f"{_what_was_done(arbitrage)}{_outcome(arbitrage)}"


def _begun_line(arbitrage: Arbitrage, step: Transition) -> str:
    filled = [leg for leg in arbitrage.legs if leg.role in ("buy", "sell") and leg.filled > 0]
    sides = " and ".join(_leg_words(leg) for leg in filled) or "no fill is known yet"
    reason = "" if step.reason is None else f" ({step.reason})"
    return f"SINGLE LEG {_pair(arbitrage)}: {sides}{reason}; it is being unwound"


def _residual_line(arbitrage: Arbitrage, step: Transition) -> str:
    reason = "it could not be unwound" if step.reason is None else step.reason
    return f"RESIDUAL {_pair(arbitrage)} {exact(arbitrage.amount)}: {reason}; needs attention"


def _resolved_line(arbitrage: Arbitrage, state: str) -> str:
    return f"Single leg resolved {_pair(arbitrage)}: {_RESOLVED.get(state, state)}{_outcome(arbitrage)}"


def _what_was_done(arbitrage: Arbitrage) -> str:
    amount = exact(arbitrage.amount)
    if arbitrage.strategy == "ma":
        leg = arbitrage.legs[0]
        verb = "Bought" if leg.side == "buy" else "Sold"
        return f"{verb} {arbitrage.base} on {exchange_name(leg.exchange)} {amount} (moving average)"
    verb = "Unwound" if arbitrage.state == "unwound" else "Closed"
    return f"{verb} {_pair(arbitrage)} {amount}"


def _outcome(arbitrage: Arbitrage) -> str:
    profit = arbitrage.profit
    if profit is None or arbitrage.strategy == "ma":
        return ""
    text = f": {signed_money(profit.net, profit.currency)} net"
    if arbitrage.notional <= ZERO:
        return text
    return f"{text}, {signed_bps(profit.net * BPS / arbitrage.notional)}"


def _leg_words(leg: Leg) -> str:
    verb = "bought" if leg.side == "buy" else "sold"
    return f"{verb} {exact(leg.filled)} on {exchange_name(leg.exchange)}"


def _pair(arbitrage: Arbitrage) -> str:
    exchanges = dict.fromkeys((arbitrage.opportunity.buy.exchange, arbitrage.opportunity.sell.exchange))
    return f"{arbitrage.base} {exchange_names(exchanges)}"


def _facts(arbitrage: Arbitrage, step: Transition) -> dict[str, str]:
    state: ArbitrageState = arbitrage.state
    facts = {
        "arbitrage_id": arbitrage.arbitrage_id,
        "strategy": arbitrage.strategy,
        "base": arbitrage.base,
        "buy_exchange": arbitrage.opportunity.buy.exchange,
        "sell_exchange": arbitrage.opportunity.sell.exchange,
        "amount": text_of(arbitrage.amount),
        "step": step.what,
        "state": state,
    }
    if step.reason is not None:
        facts["reason"] = step.reason
    if arbitrage.profit is not None:
        facts |= {"net": text_of(arbitrage.profit.net), "currency": arbitrage.profit.currency}
    return facts
