"""Rejections: the first of its kind in a second whole, the others counted on it; of all the most that one could
bring."""

from bson.decimal128 import Decimal128
from pymongo.errors import DuplicateKeyError

from market.trade.arbitrages import Rejection
from store.server.documents import REJECTIONS, rejection_document
from store.server.mongo_client import Database, Document


async def count_rejection(database: Database, rejection: Rejection, session_id: str) -> None:
    """Count a rejection, once per `rejection_id`. Raises the driver's errors."""
    first = rejection_document(rejection) | {"session_id": session_id}
    counts: Document = {"count": first.pop("count")}
    most: Document = {"tradable": Decimal128(rejection.tradable), "until": first.pop("until")}
    del first["tradable"]
    uncounted = {"_id": first["_id"], "rejection_ids": {"$ne": rejection.rejection_id}}
    counted: Document = {"$inc": counts, "$max": most, "$push": {"rejection_ids": rejection.rejection_id}}
    try:
        await database[REJECTIONS].update_one(uncounted, counted | {"$setOnInsert": first}, upsert=True)
    except DuplicateKeyError:
        # counted before, so that the filter matched nothing; or another bot's insert came between
        await database[REJECTIONS].update_one(uncounted, counted)
