"""How many documents of each kind there are, counted by the server."""

from collections import Counter

from store.client import Database, Document, translated_errors
from store.documents import REFUSALS, integer_of


async def counts_by(
    database: Database, collection: str, wanted: Document, field: str, weight: int | str = 1
) -> dict[str, int]:
    """Value of `field` → sum of `weight` (a number, or the name of a field with `$`) over those `wanted`."""
    group: Document = {"_id": f"${field}", "count": {"$sum": weight}}
    counts: Counter[str] = Counter()
    with translated_errors():
        async for document in database[collection].aggregate([{"$match": wanted}, {"$group": group}]):
            counts[str(document["_id"])] += integer_of(document["count"])
    return dict(counts)


async def refusal_counts(database: Database, wanted: Document) -> dict[str, int]:
    """Reason → how many, those not stored whole included."""
    return await counts_by(database, REFUSALS, wanted, "reason", "$count")
