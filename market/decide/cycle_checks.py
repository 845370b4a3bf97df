"""The risk checks of a cycle: why it may not be traded, in the order of those of pairs (docs/risk.md). Pure.

What a check needs of the pair of a pair's trade it takes of the cycle: each of its exchanges, each asset on its path,
and the cycle itself in place of the pair. Rules that need a pair's earlier spreads have no part here. Both legs of a
pair may move a quote currency one way for good; a cycle leaves every currency but its first as it was, and of that it
brings more, so it has no drift.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from market.decide.decision_context import RiskState
from market.decide.kill_switch import HALTED, permits_new, permits_orders
from market.decide.market_rules import is_closed
from market.decide.quarantine import absurd_above_bps
from market.decide.risk_checks import RATE_BUDGET, limit_of
from market.decide.settings import Settings
from market.instruments.assets import is_currency
from market.instruments.cycles import Cycle
from market.money import ZERO


@dataclass(frozen=True, slots=True)
class CycleContext:
    """A cycle that was found to pay `net_bps` at the best prices, and all that is known when it is asked about.

    `unit`: what one of its first currency counts in the settlement currency; None if nothing prices it. `worth`: the
    same of every asset and currency that is priced."""

    cycle: Cycle
    net_bps: float
    settings: Settings
    risk: RiskState
    """`pair_busy` and `pair_reserved_at` are of the cycle."""
    worth: Mapping[str, Decimal]
    drift: Mapping[str, Decimal] = field(default_factory=dict)
    """Currency → how much more of it lies on all exchanges together than at the opening."""
    legs_left: Mapping[str, int | None] = field(default_factory=dict)
    """Exchange → how many legs its rate limits allow; None without limits."""

    @property
    def unit(self) -> Decimal | None:
        found = self.worth.get(self.cycle.currency)
        return found if found is not None and found > ZERO else None


def cycle_rejection(context: CycleContext) -> str | None:
    """Return the reason of the first check that rejects; None if it may be traded."""
    return next((reason for reason, rejects in _CHECKS if rejects(context)), None)


def cycle_notional_keys(cycle: Cycle) -> tuple[str, ...]:
    """Return the sums that its notional counts in, each once: as `notional_keys`, of every asset on its path."""
    return (
        "total",
        *(f"base|{asset}" for asset in cycle_assets(cycle)),
        *(f"exchange|{exchange}" for exchange in cycle.exchanges),
    )


def cycle_notional_left(context: CycleContext) -> tuple[Decimal, str]:
    """Return the notional that may still be traded, in the settlement currency, and the limit that binds."""
    left: list[tuple[Decimal, str]] = []
    for key in cycle_notional_keys(context.cycle):
        most, reason = limit_of(key, context.settings)
        left.append((most - context.risk.notional.get(key, ZERO), reason))
    return min(left)


def cycle_assets(cycle: Cycle) -> Iterator[str]:
    """Return what is traded on its path beside currencies."""
    return (leg.gives for leg in cycle.legs if not is_currency(leg.gives))


def _has_a_disabled_exchange(context: CycleContext) -> bool:
    return not set(context.cycle.exchanges) <= set(context.settings.enabled_exchanges)


def _has_a_closed_market(context: CycleContext) -> bool:
    legs = context.cycle.legs
    return any(is_closed(leg.market.exchange, leg.market.symbol, context.settings) for leg in legs)


def _is_quarantined(context: CycleContext) -> bool:
    ceiling = absurd_above_bps((), context.settings)
    return ceiling is not None and context.net_bps > ceiling


def _is_paused(context: CycleContext) -> bool:
    risk = context.risk
    if context.settings.breaker_failures == 0:
        return False
    return any(risk.now < risk.paused_until.get(name, 0) for name in context.cycle.exchanges)


def _is_cooling_down(context: CycleContext) -> bool:
    risk = context.risk
    return risk.now - risk.pair_reserved_at < context.settings.cool_down_ms * 1_000


def _reaches(keys: Iterable[str], context: CycleContext) -> bool:
    risk = context.risk
    return any(risk.notional.get(key, ZERO) >= limit_of(key, context.settings)[0] for key in keys)


def _reaches_some(start: str) -> Callable[[CycleContext], bool]:
    def rejects(context: CycleContext) -> bool:
        return _reaches((key for key in cycle_notional_keys(context.cycle) if key.startswith(start)), context)

    return rejects


def _is_exposed(context: CycleContext) -> bool:
    # a cycle leaves its assets where they are, but any of its legs alone moves one
    most = context.settings.max_exposure
    return any(
        abs(context.drift.get(asset, ZERO)) * context.worth.get(asset, ZERO) >= most
        for asset in cycle_assets(context.cycle)
    )


def _lacks_rate_budget(context: CycleContext) -> bool:
    wanted: dict[str, int] = {}
    for leg in context.cycle.legs:
        wanted[leg.market.exchange] = wanted.get(leg.market.exchange, 0) + 1
    left = context.legs_left
    return any((most := left.get(name)) is not None and most < count for name, count in wanted.items())


_CHECKS: tuple[tuple[str, Callable[[CycleContext], bool]], ...] = (
    (HALTED, lambda context: not permits_orders(context.settings.trading_state)),
    ("reduce_only", lambda context: not permits_new(context.settings.trading_state)),
    ("exchange_disabled", _has_a_disabled_exchange),
    ("asset_disabled", lambda one: any(leg.gives in one.settings.disabled_assets for leg in one.cycle.legs)),
    ("market_closed", _has_a_closed_market),
    ("below_threshold", lambda context: context.net_bps < context.settings.cycle_threshold(context.cycle)[0]),
    ("no_rate", lambda context: context.unit is None),
    ("quarantined", _is_quarantined),
    ("stopping", lambda context: not context.risk.reservations_open),
    ("daily_loss", lambda context: -context.risk.day_net >= context.settings.max_daily_loss),
    ("exchange_paused", _is_paused),
    ("unexplained_difference", lambda one: not {*one.risk.unexplained}.isdisjoint(one.cycle.exchanges)),
    ("too_many_open", lambda context: context.risk.open_arbitrages >= context.settings.max_open_arbitrages),
    ("cycle_busy", lambda context: context.risk.pair_busy),
    ("cooling_down", _is_cooling_down),
    ("total_limit", _reaches_some("total")),
    ("asset_limit", _reaches_some("base|")),
    ("exchange_limit", _reaches_some("exchange|")),
    ("exposure", _is_exposed),
    (RATE_BUDGET, _lacks_rate_budget),
)
"""In the order in which they run."""
CYCLE_REASONS: tuple[str, ...] = (
    *(reason for reason, _ in _CHECKS),
    *("no_bot", "bot_draining", "leg_in_flight", "too_small", "limit_reached"),
    *("insufficient_balance", "liquidity_used", "expired"),
)
"""Why a cycle may not be traded: the checks', who would send its legs, sizing, and the time it took."""
