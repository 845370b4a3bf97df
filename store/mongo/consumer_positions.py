"""How far each bot has read: one row each, written over and over, for people to look at."""

from pydantic import TypeAdapter, ValidationError
from pymongo import ASCENDING

from session.lag import ConsumerPosition
from store.errors import StoreError
from store.server.documents import REACH, microseconds_of
from store.server.mongo_client import QUICK, Database, Document, translated_errors

_REACH = TypeAdapter(ConsumerPosition)


class ConsumerPositions:
    """Of all processes on one database. A row says when it was told; those of processes that are gone grow old."""

    def __init__(self, database: Database) -> None:
        self._rows = database.get_collection(REACH, write_concern=QUICK)

    async def note(self, reach: ConsumerPosition) -> None:
        """`told_at` is set by the server. Raises StoreUnavailableError."""
        told: Document = {str(name): {"$literal": value} for name, value in _REACH.dump_python(reach).items()}
        with translated_errors():
            await self._rows.update_one({"_id": reach.part}, [{"$set": told | {"told_at": "$$NOW"}}], upsert=True)

    async def all(self) -> list[ConsumerPosition]:
        """By part. Raises StoreUnavailableError; StoreError where a row is of another version of this program."""
        with translated_errors():
            return [_reach_of(document) async for document in self._rows.find().sort("_id", ASCENDING)]


def _reach_of(document: Document) -> ConsumerPosition:
    try:
        return _REACH.validate_python({**document, "told_at": microseconds_of(document.get("told_at"))})
    except ValidationError as error:
        raise StoreError(f"reach {document.get('_id')!r} is not as this version writes it") from error
