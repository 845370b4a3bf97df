"""What bots saw and rejected: opportunities, rejections and episodes, each in one bulk write a round.

Every operation is idempotent, so that a batch of which it is not known how much was written is written again as it is.
"""

from collections.abc import Mapping, Sequence

from bson.decimal128 import Decimal128
from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from market.prices.episodes import Episode
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Rejection
from runtime.clock import wall_now
from store.errors import StoreUnavailableError
from store.records.cycle_rejection import CycleRejection
from store.server.client import Database, Document, translated_errors
from store.server.cycle_rejections import cycle_rejection_update
from store.server.documents import (
    CYCLE_REJECTIONS,
    EPISODES,
    OPPORTUNITIES,
    REJECTIONS,
    episode_of,
    episode_update,
    opportunity_document,
    rejection_document,
)

DUPLICATE_KEY = 11_000


class MongoObservations:
    """Observations of one session."""

    def __init__(self, database: Database, session_id: str) -> None:
        self._database = database
        self._session_id = session_id

    async def save_opportunities(self, opportunities: Sequence[Opportunity]) -> None:
        """Those whose id is not known."""
        of_session = {"session_id": self._session_id}
        documents = [opportunity_document(opportunity) | of_session for opportunity in opportunities]
        await self._write(
            OPPORTUNITIES, [UpdateOne({"_id": each["_id"]}, {"$setOnInsert": each}, upsert=True) for each in documents]
        )

    async def reject(self, rejections: Sequence[Rejection]) -> None:
        """One whose key is taken was counted before, so that its filter matched nothing; or another process's insert
        came between, and the same update without an insert counts it."""
        inserts, updates = [], []
        for rejection in rejections:
            first = rejection_document(rejection) | {"session_id": self._session_id}
            for counted in ("count", "tradable", "until"):
                del first[counted]
            uncounted = {"_id": first["_id"], "rejection_ids": {"$ne": rejection.rejection_id}}
            inserts.append(UpdateOne(uncounted, _counting(rejection) | {"$setOnInsert": first}, upsert=True))
            updates.append(UpdateOne(uncounted, _counting(rejection)))
        taken = await self._write(REJECTIONS, inserts)
        await self._write(REJECTIONS, [updates[index] for index in taken])

    async def reject_cycles(self, rejections: Sequence[CycleRejection]) -> None:
        operations = [UpdateOne(*cycle_rejection_update(one, self._session_id), upsert=True) for one in rejections]
        taken = await self._write(CYCLE_REJECTIONS, operations)
        await self._write(CYCLE_REJECTIONS, [operations[index] for index in taken])

    async def save_episodes(self, episodes: Sequence[Episode]) -> None:
        updates = [episode_update(episode, self._session_id, wall_now()) for episode in episodes]
        operations = [UpdateOne(wanted, update, upsert=True) for wanted, update in updates]
        taken = await self._write(EPISODES, operations)
        await self._write(EPISODES, [operations[index] for index in taken])

    async def running_episodes(self, now: int) -> list[Episode]:
        wanted: Document = {"session_id": self._session_id, "until": {"$gte": now}}
        with translated_errors():
            return [episode_of(document) async for document in self._database[EPISODES].find(wanted).sort("at")]

    async def _write(self, collection: str, operations: Sequence[UpdateOne]) -> list[int]:
        """In no order; the numbers of those whose key another document had by then. Raises StoreError."""
        if not operations:
            return []
        with translated_errors():
            try:
                await self._database[collection].bulk_write(list(operations), ordered=False)
            except BulkWriteError as error:
                return taken_keys(error)
        return []


def _counting(rejection: Rejection) -> Document:
    return {
        "$inc": {"count": rejection.count},
        "$max": {"tradable": Decimal128(rejection.tradable), "until": rejection.until},
        "$push": {"rejection_ids": rejection.rejection_id},
    }


def taken_keys(error: BulkWriteError) -> list[int]:
    """Return the numbers of those whose key was taken. Raises StoreUnavailableError if anything else was in the way:
    all of it is to be written again."""
    details: Mapping[str, object] = error.details or {}
    failed = details.get("writeErrors")
    problems = failed if isinstance(failed, list) else []
    others = [each for each in problems if each.get("code") != DUPLICATE_KEY]
    if others or details.get("writeConcernErrors"):
        raise StoreUnavailableError(f"MongoDB did not write all of a batch: {error.details}") from error
    return [int(each["index"]) for each in problems]
