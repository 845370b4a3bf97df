"""Whether the settings let an opportunity be traded at all, whatever its size."""

from market.opportunities import Opportunity
from market.settings import Settings


def forbidden(opportunity: Opportunity, settings: Settings) -> str | None:
    """The first reason against it, or None."""
    if settings.trading_state != "running":
        return settings.trading_state
    if not {opportunity.buy.exchange, opportunity.sell.exchange} <= set(settings.enabled_exchanges):
        return "exchange_disabled"
    return "below_threshold" if opportunity.net_bps < settings.min_net_bps else None
