"""Refusals: the first of its kind in a second whole, the others counted on it; of all the most that one could bring."""

from bson.decimal128 import Decimal128
from pymongo.errors import DuplicateKeyError

from market.trade.arbitrages import Rejection
from store.server.documents import REFUSALS, refusal_document
from store.server.mongo_client import Database, Document


async def count_refusal(database: Database, refusal: Rejection, session_id: str) -> None:
    """Once per `refusal_id`, however often it is told. Raises the driver's errors."""
    first = refusal_document(refusal) | {"session_id": session_id}
    counts: Document = {"count": first.pop("count")}
    most: Document = {"tradable": Decimal128(refusal.tradable), "until": first.pop("until")}
    del first["tradable"]
    uncounted = {"_id": first["_id"], "refusal_ids": {"$ne": refusal.refusal_id}}
    counted: Document = {"$inc": counts, "$max": most, "$push": {"refusal_ids": refusal.refusal_id}}
    try:
        await database[REFUSALS].update_one(uncounted, counted | {"$setOnInsert": first}, upsert=True)
    except DuplicateKeyError:
        # counted before, so that the filter matched nothing; or another bot's insert came between
        await database[REFUSALS].update_one(uncounted, counted)
