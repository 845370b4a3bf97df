"""The risk checks: every reason not to open a trade, as pure functions in one order. The first that rejects is
recorded.

The process that decides runs them before sizing. The store repeats those that two processes could pass at the same
time, inside the transaction that reserves. A check whose facts are not known where it runs rejects nothing.
docs/risk.md has the table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Literal

from market.decide.decision_context import DecisionContext, notional_keys
from market.decide.kill_switch import HALTED, permits_new, permits_orders
from market.decide.market_rules import is_closed
from market.decide.quarantine import is_absurd
from market.decide.settings import Settings
from market.decide.trade_bounds import profit_now
from market.money import ZERO
from market.prices.opportunities import Opportunity, OpportunityLeg

Place = Literal["decider", "reservation", "grant", "wire"]
"""Where a check runs: in the process that decides, in the transaction that reserves and grants both legs, in one that
grants a later leg, and right before the order is posted."""


Fact = Literal["now", "risk"]
"""A field of `DecisionContext` that is not known everywhere."""

OUTBID, RATE_BUDGET = "outbid", "rate_budget"
FOR_PLACES = frozenset((OUTBID, RATE_BUDGET))
"""The reasons of what would be traded if the rate limits allowed more."""
CLOCKS_MAY_DIFFER = 500_000
"""Microseconds that clocks of two machines may be apart; those that NTP sets are apart by milliseconds."""


@dataclass(frozen=True, slots=True)
class Check:
    """One risk check; `rejects` is True only if the facts it needs are known."""

    reason: str
    rejects: Callable[[DecisionContext], bool]
    settings: tuple[str, ...]
    asked: tuple[Place, ...]
    needs: Fact | None = None
    """What it needs beside the opportunity and the settings."""


def first_rejection(context: DecisionContext) -> str | None:
    """Return the reason of the first check that rejects, None if it may be traded."""
    asked = _ASKED[context.now is not None, context.risk is not None]
    for check in asked:  # a generator costs as much again as the checks, hundreds of times a second
        if check.rejects(context):
            return check.reason
    return None


def forbidden(opportunity: Opportunity, settings: Settings) -> str | None:
    """Return the first reason that the settings alone give, of a leg that joins too; None if there is none."""
    return first_rejection(DecisionContext(opportunity, settings))


def notional_left(context: DecisionContext) -> tuple[Decimal | None, str]:
    """Return the notional that may still be traded and the limit that binds; None if the risk state is not known."""
    risk = context.risk
    if risk is None:
        return None, ""
    left: list[tuple[Decimal, str]] = []
    for key in notional_keys(context.opportunity):
        most, reason = limit_of(key, context.settings)
        left.append((most - risk.notional.get(key, ZERO), reason))
    return min(left)


def limit_of(key: str, settings: Settings) -> tuple[Decimal, str]:
    """Return the maximum notional of one of `notional_keys`, and the reason if it is reached."""
    if key == "total":
        return settings.max_total_notional, "total_limit"
    if key.startswith("base|"):
        return settings.asset_limit(key.removeprefix("base|")), "asset_limit"
    return settings.exchange_limit(key.removeprefix("exchange|")), "exchange_limit"


def _is_halted(context: DecisionContext) -> bool:
    return not permits_orders(context.settings.trading_state)


def _is_reduce_only(context: DecisionContext) -> bool:
    state = context.settings.trading_state
    return permits_orders(state) and not permits_new(state)


def _has_a_disabled_exchange(context: DecisionContext) -> bool:
    opportunity, enabled = context.opportunity, context.settings.enabled_exchanges
    return opportunity.buy.exchange not in enabled or opportunity.sell.exchange not in enabled


def _has_a_disabled_asset(context: DecisionContext) -> bool:
    return context.opportunity.base in context.settings.disabled_assets


def _has_a_closed_market(context: DecisionContext) -> bool:
    if not context.settings.market_rules:
        return False
    legs = (context.opportunity.buy, context.opportunity.sell)
    return any(is_closed(leg.exchange, leg.symbol, context.settings) for leg in legs)


def _is_below_threshold(context: DecisionContext) -> bool:
    """Tell if the net spread is too small; a trade on one exchange alone has no spread."""
    opportunity = context.opportunity
    buy, sell = opportunity.buy.exchange, opportunity.sell.exchange
    return buy != sell and opportunity.net_bps < context.threshold


def _is_stale(context: DecisionContext) -> bool:
    """Ages grow on from the detection: what was fresh enough then may not be so any more."""
    opportunity = context.opportunity
    if context.now is None:
        return False
    oldest = max(opportunity.buy.age, opportunity.sell.age)
    return is_too_old(oldest, context.now - opportunity.event_time, context.settings)


def is_too_old(oldest: int, since: int, settings: Settings) -> bool:
    """Return whether the older quote, of that age at the detection, is too old so much later; all in microseconds."""
    return oldest + max(0, since) > settings.max_quote_age_ms * 1_000


def _is_ahead(context: DecisionContext) -> bool:
    """Tell if a quote comes from the future: the clock beside its exchange is ahead of this one, or this one is behind.
    On its way here it only grows older, so the clocks differ by more than that."""
    opportunity = context.opportunity
    if context.now is None:
        return False
    return is_too_new(min(opportunity.buy.age, opportunity.sell.age), context.now - opportunity.event_time)


def is_too_new(newest: int, since: int) -> bool:
    """Return whether the newer quote, of that age at the detection, is from the future so much later; all in
    microseconds."""
    return -min(0, newest) > since + CLOCKS_MAY_DIFFER


def _is_crossed(context: DecisionContext) -> bool:
    """Return a feed lets no crossed book through; levels out of order are what is left to see of a broken one."""
    if context.now is None:
        return False
    return not (_is_in_order(context.opportunity.buy, 1) and _is_in_order(context.opportunity.sell, -1))


def _is_in_order(leg: OpportunityLeg, sign: int) -> bool:
    """Asks (sign 1) rise, bids (sign -1) fall."""
    if len(leg.levels) < 2:
        return True
    prices = [level.price for level in leg.levels]
    return all((later - earlier) * sign > 0 for earlier, later in pairwise(prices))


def _is_quarantined(context: DecisionContext) -> bool:
    return context.now is not None and is_absurd(context.opportunity, context.history, context.settings)


def _is_fleeting(context: DecisionContext) -> bool:
    least = context.settings.min_share_above_10s
    if context.now is None or context.only_side is not None or least <= 0:
        return False
    return context.window is None or context.window.share_above < least


def _is_stopping(context: DecisionContext) -> bool:
    return context.risk is not None and not context.risk.reservations_open


def _has_lost_enough(context: DecisionContext) -> bool:
    return context.risk is not None and -context.risk.day_net >= context.settings.max_daily_loss


def _is_paused(context: DecisionContext) -> bool:
    """Switching the breaker off also ends its pauses."""
    risk = context.risk
    if risk is None or context.settings.breaker_failures == 0:
        return False
    return any(risk.now < risk.paused_until.get(name, 0) for name in _exchanges_of(context))


def _is_unexplained(context: DecisionContext) -> bool:
    """Somebody else may trade on the account of one of both exchanges."""
    risk = context.risk
    return risk is not None and any(name in risk.unexplained for name in _exchanges_of(context))


def _has_too_many_open(context: DecisionContext) -> bool:
    return context.risk is not None and context.risk.open_arbitrages >= context.settings.max_open_arbitrages


def _is_busy(context: DecisionContext) -> bool:
    return context.risk is not None and context.risk.pair_busy


def _is_cooling_down(context: DecisionContext) -> bool:
    risk = context.risk
    return risk is not None and risk.now - risk.pair_reserved_at < context.settings.cool_down_ms * 1_000


def _reaches_total(context: DecisionContext) -> bool:
    return _reaches(context, "total", context.settings.max_total_notional)


def _reaches_asset(context: DecisionContext) -> bool:
    base = context.opportunity.base
    return _reaches(context, f"base|{base}", context.settings.asset_limit(base))


def _reaches_exchange(context: DecisionContext) -> bool:
    limit_at = context.settings.exchange_limit
    return any(_reaches(context, f"exchange|{name}", limit_at(name)) for name in _exchanges_of(context))


def _reaches(context: DecisionContext, key: str, limit: Decimal) -> bool:
    return context.risk is not None and context.risk.notional.get(key, ZERO) >= limit


def _is_exposed(context: DecisionContext) -> bool:
    """Both legs of an arbitrage leave the base where it is, but either alone moves it: beyond the limit no more of that
    is risked. A single order is rejected only if it increases the exposure."""
    opportunity = context.opportunity
    if context.now is None:
        return False
    drift = context.drift.get(opportunity.base, ZERO)
    if drift == 0:
        return context.only_side is None and context.settings.max_exposure <= 0
    if context.only_side is not None and drift * (1 if context.only_side == "buy" else -1) <= 0:
        return False
    return abs(drift) * _base_price(opportunity) >= context.settings.max_exposure


def _has_drifted(context: DecisionContext) -> bool:
    """Buying takes more of its currency away, selling brings more of its own: rejected only if that is so
    already."""
    opportunity = context.opportunity
    if context.now is None:
        return False
    if context.only_side is None and opportunity.buy.quote_currency == opportunity.sell.quote_currency:
        return False
    moves: list[tuple[str, int]] = []
    if context.only_side != "sell":
        moves.append((opportunity.buy.quote_currency, -1))
    if context.only_side != "buy":
        moves.append((opportunity.sell.quote_currency, 1))
    if len({currency for currency, _ in moves}) < len(moves):
        return False
    drifts = [(currency, context.drift.get(currency, ZERO) * sign) for currency, sign in moves]
    return any(
        worse >= 0 and _value(opportunity, currency, worse) >= context.settings.max_currency_drift
        for currency, worse in drifts
    )


def _is_outbid(context: DecisionContext) -> bool:
    """Tell if the exchanges' places are worth more than a trade on it would bring."""
    value = context.place_value
    if value is None or value <= 0:
        return False
    return profit_now(context.opportunity, context.settings, context.free) < value


def _lacks_rate_budget(context: DecisionContext) -> bool:
    """Its order would have to wait past its time, or be turned away."""
    return context.legs_left is not None and context.legs_left < 1


def _exchanges_of(context: DecisionContext) -> tuple[str, str]:
    return context.opportunity.buy.exchange, context.opportunity.sell.exchange


def _value(opportunity: Opportunity, currency: str, amount: Decimal) -> Decimal:
    """In the settlement currency, at FX mid; a currency without a rate is the settlement currency itself."""
    rate = opportunity.rate(currency)
    return amount if rate is None else rate.at_mid(amount)


def _base_price(opportunity: Opportunity) -> Decimal:
    """Where it is bought, at FX mid."""
    return _value(opportunity, opportunity.buy.quote_currency, opportunity.buy.price)


_DECIDER: tuple[Place, ...] = ("decider",)
_BEGIN: tuple[Place, ...] = ("decider", "reservation")
_THRESHOLDS = ("min_net_bps", "asset_thresholds", "pair_thresholds", "rebalancing_bps")
_OF_QUARANTINE = ("quarantine_deviations", "quarantine_floor_bps", "quarantine_ceiling_bps")

CHECKS: tuple[Check, ...] = (
    Check(HALTED, _is_halted, ("trading_state",), (*_BEGIN, "grant", "wire")),
    Check("reduce_only", _is_reduce_only, ("trading_state",), _BEGIN),
    Check("exchange_disabled", _has_a_disabled_exchange, ("enabled_exchanges",), _BEGIN),
    Check("asset_disabled", _has_a_disabled_asset, ("disabled_assets",), _BEGIN),
    Check("market_closed", _has_a_closed_market, ("market_rules",), _BEGIN),
    Check("below_threshold", _is_below_threshold, _THRESHOLDS, _BEGIN),
    Check("stale", _is_stale, ("max_quote_age_ms",), _DECIDER, "now"),
    Check("clock_ahead", _is_ahead, (), _DECIDER, "now"),
    Check("crossed", _is_crossed, (), _DECIDER, "now"),
    Check("quarantined", _is_quarantined, _OF_QUARANTINE, _DECIDER, "now"),
    Check("not_persistent", _is_fleeting, ("min_share_above_10s",), _DECIDER, "now"),
    Check("stopping", _is_stopping, (), _BEGIN, "risk"),
    Check("daily_loss", _has_lost_enough, ("max_daily_loss",), ("reservation",), "risk"),
    Check("exchange_paused", _is_paused, ("breaker_failures", "breaker_window_ms", "breaker_pause_ms"), _BEGIN, "risk"),
    Check("unexplained_difference", _is_unexplained, (), _BEGIN, "risk"),
    Check("too_many_open", _has_too_many_open, ("max_open_arbitrages",), _BEGIN, "risk"),
    Check("pair_busy", _is_busy, (), _BEGIN, "risk"),
    Check("cooling_down", _is_cooling_down, ("cool_down_ms",), _BEGIN, "risk"),
    Check("total_limit", _reaches_total, ("max_total_notional",), _BEGIN, "risk"),
    Check("asset_limit", _reaches_asset, ("max_asset_notional", "asset_limits"), _BEGIN, "risk"),
    Check("exchange_limit", _reaches_exchange, ("max_exchange_notional", "exchange_limits"), _BEGIN, "risk"),
    Check("exposure", _is_exposed, ("max_exposure",), _DECIDER, "now"),
    Check("currency_drift", _has_drifted, ("max_currency_drift",), _DECIDER, "now"),
    Check(OUTBID, _is_outbid, ("place_value_share",), _DECIDER),
    Check(RATE_BUDGET, _lacks_rate_budget, (), ("decider", "wire")),
)
"""In the order in which they run; sizing, which costs most, comes after all of them."""

_ASKED: dict[tuple[bool, bool], tuple[Check, ...]] = {
    (has_now, has_risk): tuple(check for check in CHECKS if {None: True, "now": has_now, "risk": has_risk}[check.needs])
    for has_now in (False, True)
    for has_risk in (False, True)
}
"""Whether the time and the risk state are known → the checks that may reject."""

SIZED = (
    "recheck_failed",
    "no_decider",
    "no_bot",
    "bot_draining",
    "account_rejected",
    "leg_in_flight",
    "too_small",
    "insufficient_balance",
    "liquidity_used",
)
"""Reasons of what follows: the exact computation, sizing, and the rows that a leg needs."""

REASONS: tuple[str, ...] = (*(check.reason for check in CHECKS), *SIZED)
"""Every reason against an opportunity."""
