"""The claim of a leg to be the one in flight, in the transaction that lets it be sent."""

from market.trade.arbitrages import Arbitrage, LegRole
from market.trade.inflight_orders import allows_one_in_flight, inflight_key, inflight_owner
from store.server.documents import CLAIMS
from store.server.mongo_client import Database, Session

FLIGHT = "flight|"
"""Prefix of the claims."""


async def may_be_in_flight(database: Database, session: Session, arbitrage: Arbitrage, role: LegRole) -> bool:
    """Whether the leg that is now `sending` may be posted: it has the claim, or takes a free one. False: another leg
    is in flight that the exchange could not tell from it.
    """
    leg = arbitrage.leg(role)
    if leg is None or leg.state != "sending" or not allows_one_in_flight(leg):
        return True
    key, own = {"_id": FLIGHT + inflight_key(leg)}, inflight_owner(arbitrage.arbitrage_id, leg)
    claim = await database[CLAIMS].find_one(key, session=session)
    owner = None if claim is None else claim.get("arbitrage_id")
    if owner is None:
        await database[CLAIMS].update_one(key, {"$set": {"arbitrage_id": own}}, upsert=True, session=session)
    return owner in (None, own)
