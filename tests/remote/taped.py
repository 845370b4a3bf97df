"""A tape of opportunities, and what a session under the settings in its store does with it."""

from dataclasses import replace
from decimal import Decimal

from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Rejection
from runtime.clock import wall_now
from store.mongo.store import MongoTradeStore
from tests.store.reservation_requests import episode_of
from tests.store.reservation_requests import opportunity as requested
from tests.ui.trading import traded

SECOND = 1_000_000
TAPE = (4.0, 6.5, 9.0, 12.0, 7.0, 5.5, 30.0, 8.5)
"""Net bps of sightings ten seconds apart, each an episode of its own."""
BELOW = "below_threshold"


async def played(store: MongoTradeStore, tape: str) -> list[str]:
    """Trade what passes the threshold in force, reject the rest; return the ids of what was traded."""
    settings = await store.settings.current()
    assert settings is not None
    done, begun = [], wall_now() - 600 * SECOND
    for number, net_bps in enumerate(TAPE):
        one = _seen(f"{tape}-{number}", number, net_bps, begun + number * 10 * SECOND)
        passes = net_bps >= settings.threshold(one.base, one.buy.exchange, one.sell.exchange)
        await store.save_opportunities([one])
        if passes:
            await traded(store, one, "0.01")
            done.append(one.opportunity_id)
        else:
            await store.reject([_rejected(one)])
        await store.save_episodes([episode_of(one, None if passes else BELOW)])
    return done


def _seen(identity: str, number: int, net_bps: float, at: int) -> Opportunity:
    made = requested(identity, wall_now() + number)
    return replace(made, net_bps=net_bps, event_time=at, expires_at=at + SECOND)


def _rejected(of: Opportunity) -> Rejection:
    return Rejection(
        rejection_id=f"{of.opportunity_id}:{BELOW}",
        opportunity_id=of.opportunity_id,
        base=of.base,
        buy_exchange=of.buy.exchange,
        sell_exchange=of.sell.exchange,
        exchange="alpha",
        reason=BELOW,
        net_bps=of.net_bps,
        expected_profit=Decimal(2),
        rejected_at=of.event_time,
        tradable=Decimal(2),
        until=of.event_time + SECOND // 2,
    )
