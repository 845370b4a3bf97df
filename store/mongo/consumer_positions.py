"""Consumer offsets and change stream lag of each bot: one row each, overwritten, for monitoring."""

from pydantic import TypeAdapter, ValidationError
from pymongo import ASCENDING

from store.errors import StoreError
from store.records.consumer_position import ConsumerPosition
from store.server.client import QUICK, Database, Document, translated_errors
from store.server.documents import CONSUMER_POSITIONS, microseconds_of

_POSITION = TypeAdapter(ConsumerPosition)


class ConsumerPositions:
    """The positions of all bots on one database. `reported_at` is the time of the report; rows of ended processes grow
    old."""

    def __init__(self, database: Database) -> None:
        self._rows = database.get_collection(CONSUMER_POSITIONS, write_concern=QUICK)

    async def record(self, position: ConsumerPosition) -> None:
        """`reported_at` is set by the server. Raises StoreUnavailableError."""
        row: Document = {str(name): {"$literal": value} for name, value in _POSITION.dump_python(position).items()}
        with translated_errors():
            await self._rows.update_one({"_id": position.part}, [{"$set": row | {"reported_at": "$$NOW"}}], upsert=True)

    async def all(self) -> list[ConsumerPosition]:
        """By part. Raises StoreUnavailableError; StoreError if a row is of another version of this program."""
        with translated_errors():
            return [_position_of(document) async for document in self._rows.find().sort("_id", ASCENDING)]


def _position_of(document: Document) -> ConsumerPosition:
    try:
        return _POSITION.validate_python({**document, "reported_at": microseconds_of(document.get("reported_at"))})
    except ValidationError as error:
        raise StoreError(
            f"consumer position {document.get('_id')!r} was written by another version of this program"
        ) from error
