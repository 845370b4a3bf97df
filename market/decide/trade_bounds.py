"""What counts as tradable. Pure.

The definition of an episode and of its missed profit is `market.prices.episodes`.
"""

from collections.abc import Mapping
from decimal import Decimal

from market.decide.settings import Settings
from market.prices.episodes import TradeBounds, tradable_profit
from market.prices.opportunities import Opportunity


def most_notional(opportunity: Opportunity, settings: Settings) -> Decimal:
    """Return what one trade may use while nothing else is open."""
    exchanges = (opportunity.buy.exchange, opportunity.sell.exchange)
    limits = (settings.asset_limit(opportunity.base), *map(settings.exchange_limit, exchanges))
    return min(settings.max_notional, settings.max_total_notional, *limits)


def settings_bounds(opportunity: Opportunity, settings: Settings | None) -> TradeBounds:
    """None: settings not known yet."""
    return TradeBounds() if settings is None else TradeBounds(notional=most_notional(opportunity, settings))


def bounds_now(opportunity: Opportunity, settings: Settings, free: Mapping[tuple[str, str], Decimal]) -> TradeBounds:
    """Return the same, and what lies free on both exchanges: (exchange, currency) → how much, as far as it is known."""
    return TradeBounds(
        notional=most_notional(opportunity, settings),
        quote=free.get((opportunity.buy.exchange, opportunity.buy.quote_currency)),
        base=free.get((opportunity.sell.exchange, opportunity.base)),
    )


def profit_now(opportunity: Opportunity, settings: Settings, free: Mapping[tuple[str, str], Decimal]) -> Decimal:
    """Return what one trade on it would bring within `bounds_now`, settlement currency."""
    return tradable_profit(opportunity, bounds_now(opportunity, settings, free))
