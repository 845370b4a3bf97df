"""Tables of stream apps in MongoDB: a document for each row, and how far each app's changes are in it.

Writing a change again, and all those that followed it, ends with the same rows. In a session with regions each region
has rows and places of its own: what an app has come to in one says nothing about another, which has a log of its own. A
row of a table that regions share is one document for all of them, and the change with the greatest stamp is in it.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from pymongo import ASCENDING, DeleteOne, UpdateOne

from session.session import Session
from store.server.client import Database, Document, connect, database_of, translated_errors
from store.server.documents import APP_TABLES, integer_of

_POSITION = "position"
_SHARED = "*"
"""In place of a region, and no name of one."""


@dataclass(frozen=True, slots=True)
class KeptChange:
    """A row's change. `key`: of the row in its collection; `row`: None if it is gone; `order`: of its first change,
    by which rows are read. `stamp`: of a table that regions share; `key` is then its key in all of them."""

    collection: str
    key: str
    number: int
    row: Mapping[str, Any] | None
    order: tuple[int, int, int]
    stamp: str | None = None


@dataclass(frozen=True, slots=True)
class KeptPlace:
    """How far an app's changes are in it. `next`: the offset behind the last record that was read; None before the
    first. `last`: the order of the last change, by version. `changed`: the offset of the last change, by collection."""

    next: int | None = None
    last: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)


@asynccontextmanager
async def open_app_tables(session: Session, app: str) -> AsyncGenerator["MongoAppTables"]:
    """Raise StoreError if the address of MongoDB is none."""
    client = connect(session.services.mongodb)
    try:
        yield MongoAppTables(database_of(client, session.services.database), app, session.place.region)
    finally:
        client.close()


class MongoAppTables:
    """The tables of one app, by its name, in one region; None: without regions. A partition of its log has rows of its
    own."""

    def __init__(self, database: Database, app: str, region: str | None = None) -> None:
        self._documents, self._app, self._region = database[APP_TABLES], app, region

    async def place(self, partition: int) -> KeptPlace:
        """Raise StoreError."""
        with translated_errors():
            document = await self._documents.find_one({"_id": self._id(partition, _POSITION)}) or {}
        if "next" not in document:
            return KeptPlace()
        last = {str(version): _order_of(order) for version, order in _row_of(document, "last").items()}
        changed = {str(name): integer_of(offset) for name, offset in _row_of(document, "changed").items()}
        return KeptPlace(integer_of(document["next"]), last, changed)

    async def write(self, partition: int, changes: Iterable[KeptChange], place: KeptPlace) -> None:
        """In their order; `place` is behind them. Raises StoreError."""
        updates = [self._written(partition, change) for change in changes]
        last = {version: list(order) for version, order in place.last.items()}
        at: Document = {"next": place.next, "last": last, "changed": dict(place.changed)}
        update = UpdateOne({"_id": self._id(partition, _POSITION)}, {"$set": at}, upsert=True)
        with translated_errors():
            await self._documents.bulk_write([*updates, update])

    async def rows(self, partition: int, collection: str) -> list[tuple[int, Mapping[str, Any]]]:
        """In the order in which they came, each with its number. Raises StoreError."""
        # None also finds the documents without a region
        wanted: Document = {
            "app": self._app,
            "collection": collection,
            "partition": partition,
            "region": self._region,
        }
        order = [("at", ASCENDING), ("place", ASCENDING), ("turn", ASCENDING), ("_id", ASCENDING)]
        with translated_errors():
            found = self._documents.find(wanted).sort(order)
            return [(integer_of(one.get("number")), _row_of(one)) async for one in found]

    async def shared_rows(
        self, partition: int, collection: str
    ) -> list[tuple[list[Any], Mapping[str, Any] | None, str]]:
        """Return the last changes of a table that regions share, each as `SHARED_CHANGE`
        (cep.apps.hosts.stored_tables). Raises StoreError."""
        wanted: Document = {"app": self._app, "collection": collection, "partition": partition, "region": _SHARED}
        with translated_errors():
            found = self._documents.find(wanted).sort([("stamp", ASCENDING), ("_id", ASCENDING)])
            return [(orjson.loads(str(one["key"])), _shared_row(one), str(one["stamp"])) async for one in found]

    async def forget(self, before: str) -> None:
        """Rows of tables that regions share which are gone, and whose stamps are less. Raises StoreError."""
        old: Document = {"app": self._app, "region": _SHARED, "row": None, "stamp": {"$lt": before}}
        with translated_errors():
            await self._documents.delete_many(old)

    def _written(self, partition: int, change: KeptChange) -> UpdateOne | DeleteOne:
        if change.stamp is not None:
            return self._unless_later(partition, change)
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
            "turn": change.order[2],
        }
        if self._region is not None:
            first["region"] = self._region
        return UpdateOne(is_it, {"$set": {"row": dict(change.row)}, "$setOnInsert": first}, upsert=True)

    def _unless_later(self, partition: int, change: KeptChange) -> UpdateOne:
        """Whoever writes first: of two regions' changes the greater stamp's is there in the end."""
        id_ = f"{self._app}:{_SHARED}/{partition}:{change.collection}:{change.key}"
        after: Document = {
            "_id": id_,
            "app": self._app,
            "collection": change.collection,
            "partition": partition,
            "region": _SHARED,
            "key": change.key,
            "row": None if change.row is None else dict(change.row),
            "stamp": change.stamp,
        }
        is_later: Document = {"$gt": [{"$literal": change.stamp}, {"$ifNull": ["$stamp", ""]}]}
        # a literal, since a value may begin with $
        written: Document = {"$replaceWith": {"$cond": [is_later, {"$literal": after}, "$$ROOT"]}}
        return UpdateOne({"_id": id_}, [written], upsert=True)

    def _id(self, partition: int, what: str) -> str:
        # a region's is no number, so it is no document of an app that runs without regions
        place = partition if self._region is None else f"{self._region}/{partition}"
        return f"{self._app}:{place}:{what}"


def _row_of(document: Document, name: str = "row") -> Mapping[str, Any]:
    row = document.get(name)
    return row if isinstance(row, dict) else {}


def _shared_row(document: Document) -> Mapping[str, Any] | None:
    return None if document.get("row") is None else _row_of(document)


def _order_of(value: Any) -> tuple[int, int, int]:
    time, place, turn = (integer_of(one) for one in value)
    return time, place, turn
