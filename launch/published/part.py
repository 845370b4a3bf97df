"""The part of a session that runs its published apps: the process `apps`."""

from collections.abc import Callable
from multiprocessing.context import ForkServerContext

from cep.apps.functions.operator_terms import OperatorTerms
from launch.published.door_server import DoorServer
from launch.published.host import PublishedApps
from runtime.backoff import retry_on
from session.session import Session
from store.errors import StoreUnavailableError
from store.mongo.store import MongoTradeStore, open_store


async def run_published(
    session: Session, terms: OperatorTerms, context: ForkServerContext, ready: Callable[[], None]
) -> None:
    """Run them until cancelled. Raises StoreError, OSError."""

    async def opened() -> MongoTradeStore:
        return await open_store(session)

    async with await retry_on(opened, (StoreUnavailableError,), lambda _: None) as store:
        apps = PublishedApps(session, store.apps, terms, context)
        async with DoorServer(apps, terms).opened():
            await apps.run(ready)
