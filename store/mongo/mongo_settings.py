"""The settings in force and all their versions: who changed what, when."""

from collections.abc import AsyncGenerator
from functools import partial

from pymongo import ASCENDING

from market.decide.settings import Settings
from store.server.change_streams import ChangeFollower, ChangeStreamProgress, read_until_reachable
from store.server.documents import SETTINGS, SETTINGS_ID, SETTINGS_VERSIONS, settings_document, settings_of, version_of
from store.server.mongo_client import Client, Database, Document, Session, in_transaction, translated_errors
from store.server.server_time import server_now
from store.settings_versions import Following, SettingsVersions


class MongoSettings(SettingsVersions):
    """Of one database; every change is one transaction."""

    def __init__(self, client: Client, database: Database, progress: ChangeStreamProgress | None = None) -> None:
        self._progress = progress
        self._client = client
        self._database = database

    async def current(self, session: Session | None = None) -> Settings | None:
        """Those in force."""
        with translated_errors():
            document = await self._database[SETTINGS].find_one({"_id": SETTINGS_ID}, session=session)
        return None if document is None else settings_of(document)

    async def put(self, following: Following, who: str) -> Settings | None:
        async def step(session: Session) -> Settings | None:
            current = await self.current(session)
            after = following(current)
            if after is not None and after is not current:
                await self._store(session, current, after, who)
            return after

        with translated_errors():
            return await in_transaction(self._client, step)

    async def watch(self) -> AsyncGenerator[Settings]:
        """Those in force, then each later version once, in order, whatever happens to the connection."""
        seen: int | None = None
        async with ChangeFollower(self._database[SETTINGS_VERSIONS], progress=self._progress) as changes:
            while True:
                await changes.next()
                for settings in await read_until_reachable(partial(self._later_than, seen)):
                    seen = settings.version
                    yield settings

    async def _later_than(self, version: int | None) -> list[Settings]:
        """Later versions, oldest first; only those in force where none is known."""
        if version is None:
            current = await self.current()
            return [] if current is None else [current]
        with translated_errors():
            found = self._database[SETTINGS_VERSIONS].find({"_id": {"$gt": version}}).sort("_id", ASCENDING)
            return [version_of(document).after async for document in found]

    async def _store(self, session: Session, before: Settings | None, after: Settings, who: str) -> None:
        now = await server_now(self._database, session)
        document = settings_document(after)
        await self._database[SETTINGS].replace_one({"_id": SETTINGS_ID}, document, upsert=True, session=session)
        version: Document = {
            "_id": after.version,
            "at": now,
            "who": who,
            "before": None if before is None else settings_document(before),
            "after": document,
        }
        await self._database[SETTINGS_VERSIONS].insert_one(version, session=session)
