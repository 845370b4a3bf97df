"""The server's own clock, for leases, holds and deadlines."""

from store.errors import StoreError
from store.server.documents import CLAIMS, SESSION_CLAIM, microseconds_of
from store.server.mongo_client import Database, Session


async def server_now(database: Database, session: Session | None = None) -> int:
    """Microseconds since the epoch, in steps of a millisecond. Raises StoreError in a database never prepared."""
    document = await database[CLAIMS].find_one({"_id": SESSION_CLAIM}, {"now": "$$NOW"}, session=session)
    if document is None:
        raise StoreError("The database was not prepared: the session's counter is missing.")
    return microseconds_of(document["now"])
