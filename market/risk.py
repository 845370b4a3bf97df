"""The limits that every reservation is held against: small questions, asked in one order; the first no is the reason.

They are asked inside the transaction that reserves, so that two bots cannot both pass one limit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from market.money import ZERO
from market.opportunities import Opportunity
from market.settings import Settings


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands open at `now` (the server's, microseconds); money in the settlement currency."""

    now: int
    settings: Settings
    reservations_open: bool
    open_arbitrages: int
    notional: Mapping[str, Decimal]
    """`notional_keys` → of the open arbitrages."""
    day_net: Decimal
    paused_until: Mapping[str, int]
    """Exchange → until when it takes no part."""
    pair_busy: bool
    pair_reserved_at: int


Limit = Callable[[Opportunity, Standing], bool]
"""Whether it is reached."""


def hard_limit(opportunity: Opportunity, standing: Standing) -> str | None:
    """The first limit that forbids a further arbitrage, whatever its size; None where none does."""
    return next((reason for reason, is_reached in _LIMITS if is_reached(opportunity, standing)), None)


def notional_keys(opportunity: Opportunity) -> tuple[str, ...]:
    """The sums that its notional counts in; each key once."""
    exchanges = dict.fromkeys((opportunity.buy.exchange, opportunity.sell.exchange))
    return ("total", f"base|{opportunity.base}", *(f"exchange|{name}" for name in exchanges))


def notional_left(opportunity: Opportunity, standing: Standing) -> tuple[Decimal, str]:
    """How much more may be traded, and the limit that says so."""
    settings = standing.settings
    limits = {"total": (settings.max_total_notional, "total_limit")}
    limits[f"base|{opportunity.base}"] = (settings.max_asset_notional, "asset_limit")
    for name in (opportunity.buy.exchange, opportunity.sell.exchange):
        limits[f"exchange|{name}"] = (settings.max_exchange_notional, "exchange_limit")
    return min((most - standing.notional.get(key, ZERO), reason) for key, (most, reason) in limits.items())


def _is_stopping(_: Opportunity, standing: Standing) -> bool:
    return not standing.reservations_open


def _has_lost_enough(_: Opportunity, standing: Standing) -> bool:
    return -standing.day_net >= standing.settings.max_daily_loss


def _is_paused(opportunity: Opportunity, standing: Standing) -> bool:
    exchanges = (opportunity.buy.exchange, opportunity.sell.exchange)
    return any(standing.now < standing.paused_until.get(name, 0) for name in exchanges)


def _has_too_many_open(_: Opportunity, standing: Standing) -> bool:
    return standing.open_arbitrages >= standing.settings.max_open_arbitrages


def _is_busy(_: Opportunity, standing: Standing) -> bool:
    return standing.pair_busy


def _is_cooling_down(_: Opportunity, standing: Standing) -> bool:
    return standing.now - standing.pair_reserved_at < standing.settings.cool_down_ms * 1_000


_LIMITS: tuple[tuple[str, Limit], ...] = (
    ("stopping", _is_stopping),
    ("daily_loss", _has_lost_enough),
    ("exchange_paused", _is_paused),
    ("too_many_open", _has_too_many_open),
    ("pair_busy", _is_busy),
    ("cooling_down", _is_cooling_down),
)
