"""Several MongoDB reads in one round trip: within a transaction round trips cost more than the reads."""

from collections.abc import Sequence
from dataclasses import dataclass

from store.errors import StoreError
from store.server.documents import CLAIMS, SESSION_CLAIM, microseconds_of
from store.server.mongo_client import Database, Document, Session


@dataclass(frozen=True, slots=True)
class BatchedRead:
    """Documents of one collection."""

    collection: str
    wanted: Document


async def read_batch(
    database: Database, session: Session, reads: Sequence[BatchedRead]
) -> tuple[int, list[list[Document]]]:
    """The server's time, and the documents of each read, in the order of `reads`.

    The session's counter, which is always there, stands in for a query without a collection; a transaction takes no
    `$unionWith` (mongodb.com, "Transactions and Operations"). Raises StoreError in a database never prepared.
    """
    lookups: list[Document] = [
        {"$lookup": {"from": read.collection, "pipeline": [{"$match": read.wanted}], "as": str(number)}}
        for number, read in enumerate(reads)
    ]
    start: list[Document] = [{"$match": {"_id": SESSION_CLAIM}}, {"$project": {"now": "$$NOW"}}]
    async for document in database[CLAIMS].aggregate([*start, *lookups], session=session):
        now = microseconds_of(document["now"])
        return now, [_documents(document[str(number)]) for number in range(len(reads))]
    raise StoreError("The database was not prepared: the session's counter is missing.")


def _documents(result: object) -> list[Document]:
    return result if isinstance(result, list) else []
