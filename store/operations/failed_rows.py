"""The error store of stream apps in MongoDB: hosts add rows, users look at them, edit, give again and drop them."""

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError
from pymongo import ASCENDING, DESCENDING, ReturnDocument, UpdateOne
from pymongo.errors import BulkWriteError

from session.session import Session
from store.errors import StoreError
from store.records.failed_rows import (
    MOST_ERROR_CHARACTERS,
    MOST_FAILED_ROWS,
    FailedChoice,
    FailedRow,
    kept_values,
    place_of,
)
from store.server.client import Database, Document, connect, database_of, translated_errors
from store.server.clock import server_now
from store.server.documents import FAILED_ROWS, date_of

_ROW = TypeAdapter(FailedRow)
_KEY_IS_THERE = 11_000
"""MongoDB's code of a document whose id is there already."""


@asynccontextmanager
async def open_failed_rows(session: Session) -> AsyncGenerator["MongoFailedRows"]:
    """Raise StoreError if the address of MongoDB is none."""
    client = connect(session.services.mongodb)
    try:
        yield MongoFailedRows(database_of(client, session.services.database))
    finally:
        client.close()


class MongoFailedRows:
    """`store.ports.apps.FailedRows` in one database."""

    def __init__(self, database: Database, most: int = MOST_FAILED_ROWS) -> None:
        self._database, self._rows, self._most = database, database[FAILED_ROWS], most

    async def add(self, rows: Sequence[FailedRow]) -> int:
        if not rows:
            return 0
        with translated_errors():
            now = await server_now(self._database)
            updates = [_added(row, number, now) for number, row in enumerate(rows)]
            try:
                await self._rows.bulk_write(updates)
            except BulkWriteError as error:
                await self._add_again(updates, error)
            return sum([await self._drop_oldest(app) for app in {row.app for row in rows}])

    async def page(self, app: str, choice: FailedChoice, after: str = "", most: int = 100) -> list[FailedRow]:
        wanted = {**_filter(app, choice), "place": {"$gt": after}}
        with translated_errors():
            found = self._rows.find(wanted).sort("place", ASCENDING).limit(most)
            return [_row(one) async for one in found]

    async def count(self, app: str, choice: FailedChoice) -> int:
        with translated_errors():
            return await self._rows.count_documents(_filter(app, choice))

    async def edit(self, key: str, values: Mapping[str, Any], who: str) -> FailedRow | None:
        written, _ = kept_values(values)
        change = {"$set": {"values": written.decode(), "changed_by": who}}
        with translated_errors():
            found = await self._rows.find_one_and_update({"_id": key}, change, return_document=ReturnDocument.AFTER)
        return None if found is None else _row(found)

    async def claim(self, row: FailedRow, who: str) -> FailedRow | None:
        # null stands for none, also in rows of earlier versions
        free = {"_id": row.key, "occurrence": row.occurrence, "state": row.state, "claims": row.claims or None}
        change = {"$set": {"state": "replayed", "changed_by": who}, "$inc": {"claims": 1}}
        with translated_errors():
            found = await self._rows.find_one_and_update(free, change, return_document=ReturnDocument.AFTER)
        return None if found is None else _row(found)

    async def release(self, row: FailedRow, who: str) -> None:
        given = {"_id": row.key, "occurrence": row.occurrence}
        with translated_errors():
            await self._rows.update_one(given, {"$set": {"state": "waiting", "changed_by": who}})

    async def drop(self, keys: Sequence[str]) -> int:
        with translated_errors():
            return (await self._rows.delete_many({"_id": {"$in": list(keys)}})).deleted_count

    async def _add_again(self, updates: Sequence[UpdateOne], error: BulkWriteError) -> None:
        """Go on behind each row that is there already as this occurrence. Raises the driver's error."""
        while True:
            (first, *_) = error.details["writeErrors"]
            if first["code"] != _KEY_IS_THERE:
                raise error
            updates = updates[first["index"] + 1 :]
            if not updates:
                return
            try:
                await self._rows.bulk_write(updates)
            except BulkWriteError as next_error:
                error = next_error
            else:
                return

    async def _drop_oldest(self, app: str) -> int:
        found = self._rows.find({"app": app}, {"place": True}).sort("place", DESCENDING).skip(self._most).limit(1)
        async for newest_of_old in found:
            old = {"app": app, "place": {"$lte": newest_of_old["place"]}}
            return (await self._rows.delete_many(old)).deleted_count
        return 0


def _added(row: FailedRow, number: int, now: int) -> UpdateOne:
    """Return what adds the row, or one attempt; it finds none, and fails on its id, if the occurrence is there."""
    values, more = kept_values(row.values)
    occurrence = row.occurrence or f"{row.id}@{now}"
    changed: Document = {
        "kind": row.kind,
        "values": values.decode(),
        "error": row.error[:MOST_ERROR_CHARACTERS] + more,
        "at": now,
        "time": row.time,
        "occurrence": occurrence,
        "state": "waiting",
        "recorded_at": date_of(now),
    }
    place = place_of(now, number, row)
    first: Document = {"id": row.id, "app": row.app, "stream": row.stream, "first_at": now, "place": place}
    return UpdateOne(
        {"_id": row.key, "occurrence": {"$ne": occurrence}},
        {"$set": changed, "$setOnInsert": first, "$inc": {"attempts": 1}},
        upsert=True,
    )


def _filter(app: str, choice: FailedChoice) -> dict[str, Any]:
    wanted: dict[str, Any] = {"app": app}
    named = {"stream": choice.stream, "kind": choice.kind, "state": choice.state}
    wanted |= {name: value for name, value in named.items() if value is not None}
    if choice.keys is not None:
        wanted["_id"] = {"$in": list(choice.keys)}
    if choice.contains:
        pattern = {"$regex": re.escape(choice.contains), "$options": "i"}
        wanted["$or"] = [{"error": pattern}, {"values": pattern}]
    return wanted


def _row(document: Mapping[str, Any]) -> FailedRow:
    """Raise StoreError if the document is of another version of this program."""
    try:
        found = {name: value for name, value in document.items() if name not in ("_id", "recorded_at")}
        return _ROW.validate_python({**found, "values": orjson.loads(found["values"])})
    except (ValidationError, KeyError, ValueError) as error:
        raise StoreError(f"the failed row {document.get('_id')!r} is not as this version writes it: {error}") from error
