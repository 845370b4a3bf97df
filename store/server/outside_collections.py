"""Collections of MongoDB that are not the product's: written row by row, and followed by their changes."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import orjson
from bson import json_util
from bson.decimal128 import Decimal128
from bson.errors import BSONError
from bson.objectid import ObjectId
from pymongo import ReplaceOne
from pymongo.errors import BulkWriteError

from store.errors import StoreError, StoreUnavailableError
from store.server.change_streams import ChangeFollower
from store.server.client import connect, database_of, translated_errors
from store.server.documents import microseconds_of

SELECTION_MS = 5_000
OF_THE_DOCUMENT = frozenset((2, 9, 14, 52, 54, 55, 56, 57, 66, 121, 10334, 11000, 11001, 17280))
"""Codes of what a collection will never take: values, names of fields, a size, a rule or a unique index that it breaks.
Any other, such as a right that the login does not have, says nothing about the document."""


class DocumentRefusedError(StoreError):
    """The collection takes a document not, however often it is written."""


class OutsideCollection:
    """A collection of a server of others. Close it."""

    def __init__(self, address: str, database: str, collection: str) -> None:
        """Raise StoreError if the address is none."""
        self._client = connect(address, SELECTION_MS)
        self._collection = database_of(self._client, database)[collection]

    async def close(self) -> None:
        # the driver says goodbye to the server and waits for it, which may be slow
        await asyncio.to_thread(self._client.close)

    async def replace(self, documents: Sequence[Mapping[str, Any]]) -> None:
        """Write documents in their order, each in place of the one with its `_id`, so that one may be written again.
        Returns once a majority has them. Raises DocumentRefusedError; StoreError: try again. Some may be written."""
        writes = [ReplaceOne({"_id": one["_id"]}, dict(one), upsert=True) for one in documents]
        with translated_errors():
            try:
                await self._collection.bulk_write(writes)
            except (BSONError, OverflowError) as error:
                raise DocumentRefusedError(f"MongoDB cannot store a value ({error})") from None
            except BulkWriteError as error:
                details: Mapping[str, Any] = error.details or {}
                first: Mapping[str, Any] = next(iter(details.get("writeErrors", ())), {})
                code = first.get("code")
                if code in OF_THE_DOCUMENT:
                    raise DocumentRefusedError(f"MongoDB refused a document (code {code})") from None
                raise StoreUnavailableError(f"MongoDB did not write all documents (code {code or '?'})") from None

    def follow(self, operations: Sequence[str], after: str | None) -> "OutsideChanges":
        """`operations`: which changes. `after`: the token of the last one that was taken; None: from now on."""
        return OutsideChanges(self._collection, operations, after)


class OutsideChanges:
    """Changes of a collection, each as JSON: the document, or after a deletion its `_id` alone."""

    def __init__(self, collection: Any, operations: Sequence[str], after: str | None) -> None:
        pipeline = [{"$match": {"operationType": {"$in": list(operations)}}}]
        token = None if after is None else json_util.loads(after)
        self._follower = ChangeFollower(collection, pipeline, token)

    async def __aenter__(self) -> Self:
        await self._follower.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._follower.__aexit__(kind, error, trace)

    async def next(self) -> tuple[bytes, str] | None:
        """Return the next change and its operation; None if the stream begins with what comes now, at first and
        whenever its history was lost. Raises StoreError."""
        change = await self._follower.next()
        if change is None:
            return None
        document = change.get("fullDocument") or change.get("documentKey")
        return orjson.dumps(document, default=_plain, option=orjson.OPT_PASSTHROUGH_DATETIME), str(
            change["operationType"]
        )

    @property
    def token(self) -> str | None:
        """Return by which the stream goes on behind the last change; None before the first answer."""
        token = self._follower.token
        return None if token is None else json_util.dumps(token)


def _plain(value: object) -> object:
    """Return what JSON has instead of a value of MongoDB: times are milliseconds UTC, ids and decimals texts."""
    match value:
        case datetime():
            return microseconds_of(value) // 1_000
        case ObjectId() | Decimal128():
            return str(value)
        case bytes():
            return value.hex()
        case _:
            return str(value)
