"""Each risk check with the value it looked at and its limit: what `risk_checks` decided, in figures. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from market.decide.decision_context import DecisionContext, RiskState, currencies_of
from market.decide.quarantine import absurd_above_bps
from market.decide.risk_checks import CHECKS, CLOCKS_MAY_DIFFER, Check, limit_of
from market.decide.trade_bounds import profit_now
from market.money import ZERO, decimal_of_double, text_of

FigureUnit = Literal["", "bps", "ms", "money", "share"]
"""Of value and limit; money is in the settlement currency."""


@dataclass(frozen=True, slots=True)
class CheckFigure:
    """`value` was compared with `limit`; None: not known where it ran, or the check has none. `settings` name what it
    depends on."""

    reason: str
    passed: bool
    value: str | None
    limit: str | None
    unit: FigureUnit
    settings: tuple[str, ...]
    known: bool
    """Whether it ran: the facts it needs were known."""


Compared = tuple[str | None, str | None, FigureUnit]
"""Value, limit and their unit."""
NOTHING: Compared = (None, None, "")
_NO_RISK = RiskState(
    0, reservations_open=True, open_arbitrages=0, notional={}, paused_until={}, pair_busy=False, pair_reserved_at=0
)


def check_figures(context: DecisionContext) -> tuple[CheckFigure, ...]:
    """Return all checks in the order in which they run, whether an earlier one rejected or not."""
    return tuple(_figure(check, context) for check in CHECKS)


def _figure(check: Check, context: DecisionContext) -> CheckFigure:
    is_known = {None: True, "now": context.now is not None, "risk": context.risk is not None}[check.needs]
    compare = _COMPARED.get(check.reason)
    value, limit, unit = compare(context) if is_known and compare is not None else NOTHING
    return CheckFigure(check.reason, not check.rejects(context), value, limit, unit, check.settings, is_known)


def _threshold(context: DecisionContext) -> Compared:
    return double_text(context.opportunity.net_bps), double_text(context.threshold), "bps"


def _age(context: DecisionContext) -> Compared:
    opportunity = context.opportunity
    since = max(0, (context.now or 0) - opportunity.event_time)
    oldest = max(opportunity.buy.age, opportunity.sell.age)
    return milliseconds(oldest + since), str(context.settings.max_quote_age_ms), "ms"


def _ahead(context: DecisionContext) -> Compared:
    opportunity = context.opportunity
    since = (context.now or 0) - opportunity.event_time
    newest = -min(0, opportunity.buy.age, opportunity.sell.age)
    return milliseconds(newest), milliseconds(since + CLOCKS_MAY_DIFFER), "ms"


def _quarantine(context: DecisionContext) -> Compared:
    limit = absurd_above_bps(context.history, context.settings)
    return double_text(context.opportunity.net_bps), None if limit is None else double_text(limit), "bps"


def _persistence(context: DecisionContext) -> Compared:
    share = None if context.window is None else double_text(context.window.share_above)
    return share, double_text(context.settings.min_share_above_10s), "share"


def _open(context: DecisionContext) -> Compared:
    risk = _risk(context)
    return str(risk.open_arbitrages), str(context.settings.max_open_arbitrages), ""


def _cool_down(context: DecisionContext) -> Compared:
    risk = _risk(context)
    since = milliseconds(risk.now - risk.pair_reserved_at) if risk.pair_reserved_at else None
    return since, str(context.settings.cool_down_ms), "ms"


def _loss(context: DecisionContext) -> Compared:
    return text_of(-_risk(context).day_net), text_of(context.settings.max_daily_loss), "money"


def _notional(prefix: str) -> Callable[[DecisionContext], Compared]:
    def compared(context: DecisionContext) -> Compared:
        risk = _risk(context)
        opportunity = context.opportunity
        names = {"base": (opportunity.base,), "exchange": (opportunity.buy.exchange, opportunity.sell.exchange)}
        keys = [f"{prefix}|{name}" for name in names[prefix]] if prefix in names else [prefix]
        # the sum that is nearest to its limit
        left = min((limit_of(key, context.settings)[0] - risk.notional.get(key, ZERO), key) for key in keys)
        key = left[1]
        return text_of(risk.notional.get(key, ZERO)), text_of(limit_of(key, context.settings)[0]), "money"

    return compared


def _exposure(context: DecisionContext) -> Compared:
    opportunity = context.opportunity
    price = _value(context, opportunity.buy.quote_currency, opportunity.buy.price)
    drift = abs(context.drift.get(opportunity.base, ZERO))
    return text_of(drift * price), text_of(context.settings.max_exposure), "money"


def _drift(context: DecisionContext) -> Compared:
    moved = currencies_of(context.opportunity)[1:]
    worst = max((_value(context, name, abs(context.drift.get(name, ZERO))) for name in moved), default=ZERO)
    return text_of(worst), text_of(context.settings.max_currency_drift), "money"


def _budget(context: DecisionContext) -> Compared:
    return None if context.legs_left is None else str(context.legs_left), "1", ""


def _place(context: DecisionContext) -> Compared:
    if context.place_value is None:
        return NOTHING
    profit = profit_now(context.opportunity, context.settings, context.free)
    return text_of(profit), text_of(context.place_value), "money"


def _state(context: DecisionContext) -> Compared:
    return context.settings.trading_state, "running", ""


def _value(context: DecisionContext, currency: str, amount: Decimal) -> Decimal:
    rate = context.opportunity.rate(currency)
    return amount if rate is None else rate.at_mid(amount)


def _risk(context: DecisionContext) -> RiskState:
    """Only asked if it is known."""
    return context.risk or _NO_RISK


def double_text(number: float) -> str:
    return text_of(decimal_of_double(number))


def milliseconds(microseconds: int) -> str:
    return double_text(microseconds / 1_000)


_COMPARED: dict[str, Callable[[DecisionContext], Compared]] = {
    "halted": _state,
    "reduce_only": _state,
    "below_threshold": _threshold,
    "stale": _age,
    "clock_ahead": _ahead,
    "quarantined": _quarantine,
    "not_persistent": _persistence,
    "daily_loss": _loss,
    "too_many_open": _open,
    "cooling_down": _cool_down,
    "total_limit": _notional("total"),
    "asset_limit": _notional("base"),
    "exchange_limit": _notional("exchange"),
    "exposure": _exposure,
    "currency_drift": _drift,
    "outbid": _place,
    "rate_budget": _budget,
}
"""Check → what it compares; the others are yes or no."""
