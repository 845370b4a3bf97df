"""Reading a collection page by page, newest first."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import orjson
from pymongo import DESCENDING

from store.errors import CursorError
from store.server.client import Database, Document, translated_errors

MAX_ROWS = 500
NEWEST_FIRST = [("at", DESCENDING), ("_id", DESCENDING)]

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """`next_cursor` None at the end. A cursor is opaque, and stays valid while rows are added and old ones deleted."""

    items: tuple[Item, ...]
    next_cursor: str | None


async def read_page(
    database: Database,
    collection: str,
    item_of: Callable[[Mapping[str, object]], Item],
    wanted: Mapping[str, object],
    cursor: str | None,
    limit: int,
    stages: Sequence[Document] = (),
) -> Page[Item]:
    """At most `limit` (1 to 500) of those `wanted`, by (time, id), after the server's `stages`, which may add fields
    and leave some out. Raises CursorError if `cursor` is not ours.
    """
    limit = max(1, min(limit, MAX_ROWS))
    query = dict(wanted) if cursor is None else {"$and": [dict(wanted), older_than(cursor)]}
    with translated_errors():
        if stages:
            steps: list[Document] = [{"$match": query}, {"$sort": dict(NEWEST_FIRST)}, *stages, {"$limit": limit + 1}]
            documents = [document async for document in database[collection].aggregate(steps)]
        else:
            found = database[collection].find(query).sort(NEWEST_FIRST).limit(limit + 1)
            documents = [document async for document in found]
    items = tuple(item_of(document) for document in documents[:limit])
    last = documents[limit - 1] if len(documents) > limit else None
    return Page(items, None if last is None else cursor_after(last["at"], last["_id"]))


def cursor_after(at: object, key: object) -> str:
    """Behind the document of that time and id."""
    return urlsafe_b64encode(orjson.dumps([at, key])).decode()


def older_than(cursor: str, field: str = "at") -> Document:
    """Return the condition on (`field`, id). Raises CursorError if `cursor` is not ours."""
    try:
        at, key = orjson.loads(urlsafe_b64decode(cursor))
    except ValueError:
        raise CursorError from None
    if not _fits(at) or not (isinstance(key, str) or _fits(key)):
        raise CursorError
    return {"$or": [{field: {"$lt": at}}, {field: at, "_id": {"$lt": key}}]}


def _fits(value: object) -> bool:
    """Whether MongoDB could have it as an integer."""
    return type(value) is int and -(2**63) <= value < 2**63
