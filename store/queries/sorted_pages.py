"""Pages of a collection in the order of any column, with cursors that stay valid while rows are added."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from bson.decimal128 import Decimal128

from market.money import decimal_of
from store.errors import CursorError
from store.server.client import Database, Document, translated_errors

Key = Decimal128 | str | int | float | None


@dataclass(frozen=True, slots=True)
class Order:
    """By a column: `net` is the smallest first, `-net` the largest. Rows that have no value come last either way, and
    rows of the same value newest first."""

    column: str
    is_descending: bool = False

    @classmethod
    def of(cls, text: str) -> "Order":
        return cls(text.removeprefix("-"), text.startswith("-"))

    def __str__(self) -> str:
        return f"{'-' if self.is_descending else ''}{self.column}"


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Of a document in an order: its value, time and id."""

    key: Key
    at: int
    identity: str | int

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "RowPlace":
        return cls(document.get("key"), document["at"], document["_id"])


@dataclass(frozen=True, slots=True)
class SortedRead:
    """What to read: the documents of `collection` that are `wanted`, by the server's expression `key`. `before` are
    stages that leave some out, `after` stages for the rows of the page alone."""

    collection: str
    wanted: Document
    key: object
    before: Sequence[Document] = ()
    after: Sequence[Document] = ()


async def sorted_documents(
    database: Database, read: SortedRead, order: Order, after: RowPlace | None, limit: int
) -> list[dict[str, Any]]:
    """Return one more than `limit`, if there are; each has `_id`, `at`, `key`, and what `read.after` adds."""
    further: list[Document] = [] if after is None else [{"$match": behind(order, after)}]
    steps: list[Document] = [
        *keyed(read),
        *further,
        {"$sort": sorting(order)},
        {"$limit": limit + 1},
        *read.after,
    ]
    with translated_errors():
        return [document async for document in database[read.collection].aggregate(steps)]


def keyed(read: SortedRead) -> list[Document]:
    """Return the stages that leave of each document `_id`, `at`, `key`, and whether it has none."""
    return [
        {"$match": read.wanted},
        *read.before,
        {"$project": {"at": 1, "key": read.key}},
        {"$set": {"is_missing": {"$eq": [{"$ifNull": ["$key", None]}, None]}}},
    ]


def sorting(order: Order) -> Document:
    return {"is_missing": 1, "key": -1 if order.is_descending else 1, "at": -1, "_id": -1}


def behind(order: Order, place: RowPlace) -> Document:
    """Return the condition on keyed documents that come after `place`."""
    older: Document = {"$or": [{"at": {"$lt": place.at}}, {"at": place.at, "_id": {"$lt": place.identity}}]}
    if place.key is None:
        return {"is_missing": True, **older}
    beyond = {"$lt" if order.is_descending else "$gt": place.key}
    return {"$or": [{"is_missing": True}, {"key": beyond}, {"key": place.key, **older}]}


def cursor_of(order: Order, *places: RowPlace) -> str:
    """Return the cursor behind these places; it is of this order alone."""
    rows = [[_written(place.key), place.at, place.identity] for place in places]
    return urlsafe_b64encode(orjson.dumps([str(order), *rows])).decode()


def places_in(cursor: str, order: Order, count: int = 1) -> list[RowPlace]:
    """Return its `count` places. Raises CursorError if the cursor is not ours, or of another order."""
    try:
        name, *rows = orjson.loads(urlsafe_b64decode(cursor))
        places = [RowPlace(_read(key), at, identity) for key, at, identity in rows]
    except (ValueError, TypeError, ArithmeticError):
        # the last one: more digits than the server's decimals have
        raise CursorError from None
    if name != str(order) or len(places) != count or not all(map(_fits, places)):
        raise CursorError
    return places


def _written(key: Key) -> object:
    return {"decimal": str(key)} if isinstance(key, Decimal128) else key


def _read(written: object) -> Key:
    """Raise ValueError, TypeError."""
    if isinstance(written, dict):
        return Decimal128(decimal_of(written.get("decimal", "")))
    if written is None or isinstance(written, str | int | float):
        return written
    raise TypeError


def _fits(place: RowPlace) -> bool:
    """Whether MongoDB could have them."""
    return _is_integer(place.at) and (isinstance(place.identity, str) or _is_integer(place.identity))


def _is_integer(value: object) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63
