"""Failures of exchanges, and their pauses."""

from pymongo import ASCENDING

from market.decide.circuit_breaker import Failure, Health, with_failure
from store.mongo.mongo_settings import MongoSettings
from store.preconditions import in_force
from store.server.documents import HEALTH, health_document, health_of
from store.server.mongo_client import Client, Database, Session, in_transaction, translated_errors
from store.server.server_time import server_now


class MongoHealth:
    """Of all exchanges in one database; it outlives sessions, as the exchanges do."""

    def __init__(self, client: Client, database: Database, settings: MongoSettings) -> None:
        self._client = client
        self._database = database
        self._settings = settings

    async def record(self, exchange: str, failure: Failure) -> Health:
        """Count one failure, once per id; returns the exchange's health. Raises StoreUnavailableError."""

        async def step(session: Session) -> Health:
            settings = in_force(await self._settings.current(session))
            found = await self._database[HEALTH].find_one({"_id": exchange}, session=session)
            before = Health(exchange) if found is None else health_of(found)
            after = with_failure(before, failure, settings, await server_now(self._database, session))
            if after is not before:
                document = health_document(after)
                await self._database[HEALTH].replace_one({"_id": exchange}, document, upsert=True, session=session)
            return after

        with translated_errors():
            return await in_transaction(self._client, step)

    async def all(self) -> list[Health]:
        """Of each exchange that ever failed, by name."""
        with translated_errors():
            return [health_of(document) async for document in self._database[HEALTH].find().sort("_id", ASCENDING)]
