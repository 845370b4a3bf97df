"""What counts as tradable. Pure.

The definition of an episode and of its missed profit is `market.accounting.episodes`.
"""

from collections.abc import Mapping
from decimal import Decimal

from market.accounting.episodes import TradeBounds
from market.decide.settings import Settings
from market.prices.opportunities import Opportunity


def settings_bounds(settings: Settings | None) -> TradeBounds:
    """What one trade may use while nothing else is open. None: settings not known yet."""
    if settings is None:
        return TradeBounds()
    limits = (settings.max_exchange_notional, settings.max_asset_notional, settings.max_total_notional)
    return TradeBounds(notional=min(settings.max_notional, *limits))


def bounds_now(opportunity: Opportunity, settings: Settings, free: Mapping[tuple[str, str], Decimal]) -> TradeBounds:
    """The same, and what lies free on both exchanges: (exchange, currency) → how much, as far as it is known."""
    return TradeBounds(
        notional=settings_bounds(settings).notional,
        quote=free.get((opportunity.buy.exchange, opportunity.buy.quote_currency)),
        base=free.get((opportunity.sell.exchange, opportunity.base)),
    )
