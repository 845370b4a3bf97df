"""Failures of exchanges, and their pauses."""

from pymongo import ASCENDING, ReplaceOne

from market.decide.circuit_breaker import Failure, Health, with_failure
from store.mongo.settings import settings_in
from store.preconditions import in_force
from store.server.client import Database, translated_errors
from store.server.documents import HEALTH, health_document, health_of
from store.server.transactions import Transaction, in_transaction


class MongoHealth:
    """Health of all exchanges in one database; it outlives sessions, as the exchanges do."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(self, exchange: str, failure: Failure) -> Health:
        """Count one failure, once per id; returns the exchange's health. Raises StoreUnavailableError."""

        def step(transaction: Transaction) -> Health:
            settings = in_force(settings_in(transaction))
            found = transaction.find_one(HEALTH, {"_id": exchange})
            before = Health(exchange) if found is None else health_of(found)
            after = with_failure(before, failure, settings, transaction.now())
            if after is not before:
                transaction.write(HEALTH, [ReplaceOne({"_id": exchange}, health_document(after), upsert=True)])
            return after

        return await in_transaction(self._database, step)

    async def all(self) -> list[Health]:
        """Return the health of each exchange that ever failed, by name."""
        with translated_errors():
            return [health_of(document) async for document in self._database[HEALTH].find().sort("_id", ASCENDING)]
