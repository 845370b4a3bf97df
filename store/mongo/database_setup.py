"""Making a database ready for a session."""

from market.decide.settings import Settings, of_next_session
from session.session import Session
from store.mongo.store import open_store
from store.server.client import check_reachable


async def prepare_database(session: Session, settings: Settings) -> Settings:
    """Make collections and indexes, store `settings` as the first version unless there are any, and return those in
    force.

    What `of_next_session` says changes those in force.
    Raises StoreUnavailableError within 3 s if MongoDB is not reached, StoreError if its address is none.
    """
    await check_reachable(session.services.mongodb)
    async with await open_store(session) as store:
        stored = await store.settings.create(settings)
        is_asked = session.mode in ("sandbox", "live")
        # from those in force: each region's start does this at the same time
        return (
            await store.settings.amend(
                lambda known: of_next_session(known, settings, is_asked=is_asked) or known, "start"
            )
            or stored
        )
