"""What a check of a cycle looked at and its limit, in figures, as `check_figures` says of pairs. Pure."""

from collections.abc import Callable

from market.decide.check_figures import NOTHING, Compared, double_text, milliseconds
from market.decide.cycle_checks import CycleContext, cycle_assets, cycle_notional_keys
from market.decide.quarantine import absurd_above_bps
from market.decide.risk_checks import RATE_BUDGET, limit_of
from market.money import ZERO, text_of


def cycle_figure(reason: str, context: CycleContext) -> Compared:
    """Return value, limit and unit; nothing of a check that is yes or no, and of what sizing alone finds."""
    compare = _COMPARED.get(reason)
    return NOTHING if compare is None else compare(context)


def _state(context: CycleContext) -> Compared:
    return context.settings.trading_state, "running", ""


def _threshold(context: CycleContext) -> Compared:
    return double_text(context.net_bps), double_text(context.settings.cycle_threshold(context.cycle)[0]), "bps"


def _quarantine(context: CycleContext) -> Compared:
    limit = absurd_above_bps((), context.settings)
    return double_text(context.net_bps), None if limit is None else double_text(limit), "bps"


def _loss(context: CycleContext) -> Compared:
    return text_of(-context.risk.day_net), text_of(context.settings.max_daily_loss), "money"


def _open(context: CycleContext) -> Compared:
    return str(context.risk.open_arbitrages), str(context.settings.max_open_arbitrages), ""


def _cool_down(context: CycleContext) -> Compared:
    since = context.risk.now - context.risk.pair_reserved_at
    return milliseconds(since), str(context.settings.cool_down_ms), "ms"


def _notional(start: str) -> Callable[[CycleContext], Compared]:
    def compared(context: CycleContext) -> Compared:
        counted = context.risk.notional
        keys = [key for key in cycle_notional_keys(context.cycle) if key.startswith(start)]
        if not keys:
            return NOTHING
        # the sum that is nearest to its limit
        key = min(keys, key=lambda one: limit_of(one, context.settings)[0] - counted.get(one, ZERO))
        return text_of(counted.get(key, ZERO)), text_of(limit_of(key, context.settings)[0]), "money"

    return compared


def _exposure(context: CycleContext) -> Compared:
    worth = context.worth
    drifts = (abs(context.drift.get(one, ZERO)) * worth.get(one, ZERO) for one in cycle_assets(context.cycle))
    return text_of(max(drifts, default=ZERO)), text_of(context.settings.max_exposure), "money"


def _budget(context: CycleContext) -> Compared:
    places = [leg.market.exchange for leg in context.cycle.legs]
    known = [(left - places.count(name), left, name) for name, left in context.legs_left.items() if left is not None]
    if not known:
        return NOTHING
    _, left, name = min(known)
    return str(left), str(places.count(name)), ""


_COMPARED: dict[str, Callable[[CycleContext], Compared]] = {
    "halted": _state,
    "reduce_only": _state,
    "below_threshold": _threshold,
    "quarantined": _quarantine,
    "daily_loss": _loss,
    "too_many_open": _open,
    "cooling_down": _cool_down,
    "total_limit": _notional("total"),
    "asset_limit": _notional("base|"),
    "exchange_limit": _notional("exchange|"),
    "exposure": _exposure,
    RATE_BUDGET: _budget,
}
