"""Arbitrages as they lie in MongoDB: one, those open, and each change."""

from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from functools import partial

from pymongo import ASCENDING

from market.trade.arbitrages import OPEN_STATES, Arbitrage
from store.server.change_streams import ChangeFollower, ChangeStreamProgress, read_until_reachable
from store.server.documents import ARBITRAGES, arbitrage_of, integer_of
from store.server.mongo_client import Database, Document, translated_errors

OLDEST_FIRST = [("at", ASCENDING), ("_id", ASCENDING)]
OPEN: Document = {"state": {"$in": list(OPEN_STATES)}}
MAX_REMEMBERED = 10_000
"""How many arbitrages a watcher remembers the last delivered state of."""


async def read_arbitrages(database: Database, wanted: Document, fields: Document | None = None) -> list[Arbitrage]:
    """Oldest first; `fields`: a projection."""
    return [arbitrage_of(document) for document in await _documents(database, wanted, fields)]


async def watch_arbitrages(
    database: Database, progress: ChangeStreamProgress | None = None
) -> AsyncGenerator[Arbitrage]:
    """First those open, then each change; where history was lost, those open now or when last delivered.

    The states of one arbitrage never go back.
    """
    delivered = _Delivered()
    async with ChangeFollower(database[ARBITRAGES], progress=progress) as changes:
        while True:
            change = await changes.next()
            if change is None:
                # the stream repeats changes from here on, some of which this read has already delivered
                found = await read_until_reachable(partial(_documents, database, _open_or_among(delivered.open)))
            else:
                document = change.get("fullDocument")
                found = [document] if isinstance(document, dict) else []
            for document in found:
                if delivered.is_new(document):
                    yield arbitrage_of(document)


@dataclass(slots=True)
class _Delivered:
    """The last state that a watcher got of each arbitrage."""

    open: set[str] = field(default_factory=set)
    revisions: dict[str, int] = field(default_factory=dict)

    def is_new(self, document: Document) -> bool:
        """Whether the document is newer than the last delivered; remembers it."""
        key, revision = str(document["_id"]), integer_of(document["revision"])
        if revision <= self.revisions.get(key, 0):
            return False
        self.revisions.pop(key, None)
        self.revisions[key] = revision
        if len(self.revisions) > MAX_REMEMBERED:
            del self.revisions[next(iter(self.revisions))]
        if document["state"] in OPEN_STATES:
            self.open.add(key)
        else:
            self.open.discard(key)
        return True


async def _documents(database: Database, wanted: Document, fields: Document | None = None) -> list[Document]:
    with translated_errors():
        return [document async for document in database[ARBITRAGES].find(wanted, fields).sort(OLDEST_FIRST)]


def _open_or_among(arbitrage_ids: Iterable[str]) -> Document:
    return {"$or": [OPEN, {"_id": {"$in": list(arbitrage_ids)}}]}
