"""Whether the settings let an opportunity be traded at all, whatever its size."""

from market.opportunities import Opportunity
from market.settings import Settings


def forbidden(opportunity: Opportunity, settings: Settings) -> str | None:
    """The first reason against it, or None. A trade on one exchange alone has no spread to compare."""
    if settings.trading_state != "running":
        return settings.trading_state
    exchanges = {opportunity.buy.exchange, opportunity.sell.exchange}
    if not exchanges <= set(settings.enabled_exchanges):
        return "exchange_disabled"
    is_below = len(exchanges) > 1 and opportunity.net_bps < settings.min_net_bps
    return "below_threshold" if is_below else None
