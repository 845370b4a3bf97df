"""One arbitrage carried through a store, as two bots would."""

from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage
from market.trade.leases import UNFENCED
from store.ports.trading import TradeStore
from tests.store.booking import finish_leg
from tests.store.reservation_requests import close, filled, granted, reserved


async def traded(store: TradeStore, of: Opportunity, amount: str = "0.5") -> Arbitrage:
    """Reserved, both legs filled, closed."""
    arbitrage = await reserved(store, of, amount)
    roles = ("buy", "sell")
    for leg in [await granted(store, of.opportunity_id, "buy"), await granted(store, of.opportunity_id, "sell")]:
        assert leg.role in roles
        arbitrage = await finish_leg(store, of.opportunity_id, leg.role, filled(leg), close, UNFENCED)
    assert arbitrage.state == "closed"
    return arbitrage
