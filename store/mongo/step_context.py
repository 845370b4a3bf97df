"""What every step of an arbitrage begins with, in one read: the arbitrage, the settings in force, the actor's lease."""

from dataclasses import dataclass

from market.decide.settings import Settings
from market.trade.leases import Actor
from store.errors import StoreError
from store.mongo.batched_reads import BatchedRead, read_batch
from store.mongo.mongo_arbitrages import StoredArbitrage, stored_arbitrage
from store.mongo.mongo_leases import check_lease
from store.server.documents import ARBITRAGES, LEASES, SETTINGS, SETTINGS_ID, settings_of
from store.server.mongo_client import Database, Document, Session


@dataclass(frozen=True, slots=True)
class StepContext:
    """As one transaction sees it."""

    stored: StoredArbitrage | None
    current: Settings | None

    def known(self, arbitrage_id: str) -> StoredArbitrage:
        """Raises StoreError where there is no such arbitrage."""
        if self.stored is None:
            raise StoreError(f"there is no arbitrage {arbitrage_id}")
        return self.stored

    def settings(self) -> Settings:
        """Raises StoreError where there are none yet."""
        if self.current is None:
            raise StoreError("there are no settings yet")
        return self.current


async def read_step_context(database: Database, session: Session, arbitrage_id: str, by: Actor) -> StepContext:
    """Raises FencedOutError where a later process acts for the actor's exchange."""
    reads = [
        BatchedRead(ARBITRAGES, {"_id": arbitrage_id}, {"now": "$$NOW"}),
        BatchedRead(SETTINGS, {"_id": SETTINGS_ID}),
    ]
    if by.exchange is not None:
        reads.append(BatchedRead(LEASES, {"_id": by.exchange}))
    arbitrages, settings, *leases = await read_batch(database, session, reads)
    if by.exchange is not None:
        check_lease(_only(leases[0]), by)
    arbitrage, in_force = _only(arbitrages), _only(settings)
    return StepContext(
        None if arbitrage is None else stored_arbitrage(arbitrage),
        None if in_force is None else settings_of(in_force),
    )


def _only(documents: list[Document]) -> Document | None:
    return documents[0] if documents else None
