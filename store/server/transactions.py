"""Transactions on MongoDB. A body runs in a thread of its own, so that only one hop lies between it and the event
loop: per command, the asynchronous driver's hops cost more than the commands."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pymongo import DeleteMany, InsertOne, ReplaceOne, UpdateOne
from pymongo.client_session import ClientSession
from pymongo.errors import PyMongoError

from market.time_units import MICROSECONDS
from runtime.backoff import backoff
from runtime.clock import SystemClock, steady_now
from store.server.client import (
    SNAPSHOT,
    BlockingDatabase,
    Database,
    Document,
    blocking,
    first_sentence,
    translated_errors,
)
from store.server.clock import NOW, time_in
from store.server.documents import CLAIMS, SESSION_CLAIM

TRANSACTION_SECONDS = 20.0
"""How long a transaction that meets others, or loses its server, is tried again."""

Write = InsertOne[Document] | ReplaceOne[Document] | UpdateOne | DeleteMany
Result = TypeVar("Result")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction under way. Its calls block, so it is used only in the thread that `in_transaction` runs it in."""

    database: BlockingDatabase
    session: ClientSession

    def find_one(self, collection: str, wanted: Document, fields: Document | None = None) -> Document | None:
        return self.database[collection].find_one(wanted, fields, session=self.session)

    def find(self, collection: str, wanted: Document, order: Sequence[tuple[str, int]] | None = None) -> list[Document]:
        return list(self.database[collection].find(wanted, sort=order, session=self.session))

    def aggregate(self, collection: str, pipeline: Sequence[Document]) -> list[Document]:
        return list(self.database[collection].aggregate(pipeline, session=self.session))

    def write(self, collection: str, writes: Sequence[Write]) -> None:
        """All of `writes` in one command; none if there are none."""
        if writes:
            self.database[collection].bulk_write(writes, session=self.session)

    def now(self) -> int:
        """Return the server's time, microseconds. Raises StoreError in a database never prepared."""
        return time_in(self.find_one(CLAIMS, {"_id": SESSION_CLAIM}, NOW))


async def in_discarded_transaction(database: Database, step: Callable[[Transaction], object]) -> None:
    """Run `step` once, in a transaction that is rolled back whatever it wrote: nobody sees anything of it. Raises
    StoreUnavailableError, StoreError."""
    own = blocking(database)

    def attempt() -> None:
        with own.client.start_session() as session:
            session.start_transaction(SNAPSHOT, own.write_concern)
            try:
                step(Transaction(own, session))
            finally:
                session.abort_transaction()

    with translated_errors():
        await asyncio.get_running_loop().run_in_executor(None, attempt)


async def in_transaction(database: Database, step: Callable[[Transaction], Result]) -> Result:
    """Return what `step` returns, once its transaction is committed as the database's writes are; it runs again if
    another one came between.

    Raises StoreUnavailableError if it never succeeds, also if it is unknown whether the last commit came through;
    StoreError. A caller that is cancelled meanwhile does not learn whether it was committed.
    """
    deadline = steady_now() + int(TRANSACTION_SECONDS * MICROSECONDS)
    delays = backoff(first=0.002, longest=0.25)
    own = blocking(database)

    def attempt() -> Result:
        with own.client.start_session() as session, session.start_transaction(SNAPSHOT, own.write_concern):
            return step(Transaction(own, session))

    with translated_errors():
        while True:
            try:
                return await asyncio.get_running_loop().run_in_executor(None, attempt)
            except PyMongoError as error:
                if not error.has_error_label("TransientTransactionError") or steady_now() > deadline:
                    raise
                log.debug("transaction conflict, retried", extra={"error": first_sentence(error)})
            await SystemClock().sleep(next(delays))
