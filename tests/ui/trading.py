"""One arbitrage carried through a store, as two bots would."""

from typing import Any

from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage
from market.trade.leases import UNFENCED
from store.mongo.store import MongoTradeStore
from store.ports.trading import TradeStore
from store.server.documents import ARBITRAGES
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


async def made_worst(store: MongoTradeStore, identity: str) -> None:
    """As if a third order had closed it at a loss."""
    arbitrages = store._database[ARBITRAGES]
    document: Any = await arbitrages.find_one({"_id": identity})
    leg = {**document["legs"][1], "role": "complete"}
    changes = {"profit.unwinding": "-3.5", "profit.net": "-2.5"}
    await arbitrages.update_one({"_id": identity}, {"$push": {"legs": leg}, "$set": changes})
