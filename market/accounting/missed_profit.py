"""What counts as tradable, and how rejections and arbitrages become episode samples. Pure.

The definition of an episode and of its missed profit is `market.accounting.episodes`.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from market.accounting.episodes import EpisodeSample, TradeBounds, episodes_of, missed_by_reason
from market.decide.settings import Settings
from market.money import ZERO
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, ArbitrageState, Rejection

TAKEN_STATES: tuple[ArbitrageState, ...] = ("reserved", "single_leg", "closed", "unwound", "residual", "unfilled")
"""Of arbitrages of which both legs were reserved."""


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


def rejected_sample(rejection: Rejection) -> EpisodeSample:
    """All that were counted with it in its second."""
    return EpisodeSample(
        pair=(rejection.base, rejection.buy_exchange, "", rejection.sell_exchange, ""),
        at=rejection.rejected_at,
        expires_at=max(rejection.until, rejection.rejected_at),
        net_bps=rejection.net_bps,
        profit=max(rejection.tradable, ZERO),
        reason=rejection.reason,
    )


def taken_sample(arbitrage: Arbitrage) -> EpisodeSample:
    """From when its first leg was reserved."""
    opportunity = arbitrage.opportunity
    at = min(leg.times["reserved"] for leg in arbitrage.legs if "reserved" in leg.times)
    return EpisodeSample(
        pair=(arbitrage.base, opportunity.buy.exchange, "", opportunity.sell.exchange, ""),
        at=at,
        expires_at=at + opportunity.expires_at - opportunity.event_time,
        net_bps=opportunity.net_bps,
        profit=ZERO,
        reason=None,
    )


def missed_profit(samples: Iterable[EpisodeSample]) -> dict[str, Decimal]:
    """Reason → missed profit of the episodes whose best sighting it rejected, in any order of `samples`."""
    ordered = sorted(samples, key=lambda one: one.at)
    return {reason: missed.profit for reason, missed in missed_by_reason(episodes_of(ordered)).items()}


def missed_of(rejections: Iterable[Rejection], arbitrages: Iterable[Arbitrage]) -> dict[str, Decimal]:
    """The same of all that a session rejected and began."""
    taken = (one for one in arbitrages if one.state in TAKEN_STATES and one.strategy != "ma")
    return missed_profit((*map(rejected_sample, rejections), *map(taken_sample, taken)))
