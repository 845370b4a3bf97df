"""The server's own clock, for leases, holds and deadlines."""

from store.errors import StoreError
from store.server.client import Database, Document
from store.server.documents import CLAIMS, SESSION_CLAIM, microseconds_of

NOW: Document = {"now": "$$NOW"}
"""Projection of a document that has nothing but the time."""


async def server_now(database: Database) -> int:
    """Microseconds since the epoch, in steps of a millisecond. Raises StoreError in a database never prepared."""
    return time_in(await database[CLAIMS].find_one({"_id": SESSION_CLAIM}, NOW))


def time_in(document: Document | None) -> int:
    """`document`: the session's counter with `NOW`. Raises StoreError in a database never prepared."""
    if document is None:
        raise StoreError("The database was not prepared: the session's counter is missing.")
    return microseconds_of(document["now"])
