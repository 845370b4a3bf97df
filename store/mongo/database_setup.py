"""Making a database ready for a session."""

from market.decide.settings import Settings, with_new_exchanges
from session.session import Session
from store.mongo.mongo_store import open_store
from store.server.mongo_client import check_reachable


async def prepare_database(session: Session, settings: Settings) -> Settings:
    """Collections, indexes, and `settings` as the first version unless there are any; those in force.

    Exchanges of `settings` that the ones in force have never heard of join them.
    Raises StoreUnavailableError within 3 s where MongoDB is not reached, StoreError where its address is none.
    """
    await check_reachable(session.mongodb)
    async with await open_store(session) as store:
        stored = await store.settings.create(settings)
        widened = with_new_exchanges(stored, settings)
        return stored if widened is None else await store.settings.change(widened, stored.version, "start")
