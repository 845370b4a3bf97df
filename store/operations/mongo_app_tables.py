"""Tables of stream apps in MongoDB: a document for each row, and how far each app's changes are in it.

Writing a change again, and those that followed it, ends with the same rows.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pymongo import ASCENDING, DeleteOne, UpdateOne

from session.session import Session
from store.server.documents import APP_TABLES, integer_of
from store.server.mongo_client import Database, Document, connect, database_of, translated_errors

_POSITION = "position"


@dataclass(frozen=True, slots=True)
class KeptChange:
    """A row's change. `key`: of the row in its collection; `row`: None where it is gone; `order`: of its first change,
    by which rows are read."""

    collection: str
    key: str
    number: int
    row: Mapping[str, Any] | None
    order: tuple[int, int]


@asynccontextmanager
async def open_app_tables(session: Session, app: str) -> AsyncGenerator["MongoAppTables"]:
    """Raises StoreError where the address of MongoDB is none."""
    client = connect(session.mongodb)
    try:
        yield MongoAppTables(database_of(client, session.database), app)
    finally:
        client.close()


class MongoAppTables:
    """Of one app, by its name. A partition of its log has rows of its own."""

    def __init__(self, database: Database, app: str) -> None:
        self._documents, self._app = database[APP_TABLES], app

    async def position(self, partition: int) -> int | None:
        """The offset behind the last change that was written; None before the first. Raises StoreError."""
        with translated_errors():
            document = await self._documents.find_one({"_id": self._id(partition, _POSITION)})
        return None if document is None else integer_of(document.get("next"))

    async def write(self, partition: int, changes: Iterable[KeptChange], position: int) -> None:
        """In their order; `position` is behind them. Raises StoreError."""
        updates = [self._written(partition, change) for change in changes]
        at = UpdateOne({"_id": self._id(partition, _POSITION)}, {"$set": {"next": position}}, upsert=True)
        with translated_errors():
            await self._documents.bulk_write([*updates, at])

    async def rows(self, partition: int, collection: str) -> list[tuple[int, Mapping[str, Any]]]:
        """In the order in which they came, each with its number. Raises StoreError."""
        wanted: Document = {"app": self._app, "collection": collection, "partition": partition}
        order = [("at", ASCENDING), ("place", ASCENDING), ("_id", ASCENDING)]
        with translated_errors():
            found = self._documents.find(wanted).sort(order)
            return [(integer_of(one.get("number")), _row_of(one)) async for one in found]

    def _written(self, partition: int, change: KeptChange) -> UpdateOne | DeleteOne:
        is_it: Document = {"_id": self._id(partition, f"{change.collection}:{change.key}")}
        if change.row is None:
            return DeleteOne(is_it)
        first: Document = {
            "app": self._app,
            "collection": change.collection,
            "partition": partition,
            "number": change.number,
            "at": change.order[0],
            "place": change.order[1],
        }
        return UpdateOne(is_it, {"$set": {"row": dict(change.row)}, "$setOnInsert": first}, upsert=True)

    def _id(self, partition: int, what: str) -> str:
        return f"{self._app}:{partition}:{what}"


def _row_of(document: Document) -> Mapping[str, Any]:
    row = document.get("row")
    return row if isinstance(row, dict) else {}
