"""The MongoDB driver: connecting, retrying and translating its errors."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from bson.errors import BSONError
from motor.motor_asyncio import AsyncIOMotorClient, AsyncIOMotorClientSession, AsyncIOMotorDatabase
from pymongo.errors import ConfigurationError, ConnectionFailure, PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from market.time_units import MICROSECONDS
from session.backoff import backoff
from session.clock import SystemClock, wall_now
from session.logins import login_of
from store.errors import StoreError, StoreUnavailableError

Document = dict[str, object]
Client = AsyncIOMotorClient[Document]
Database = AsyncIOMotorDatabase[Document]
Session = AsyncIOMotorClientSession

Result = TypeVar("Result")

SELECTION_MS = 15_000
"""How long one call waits for a primary: a killed mongod is back within it."""
REACH_MS = 2_500
TRANSACTION_SECONDS = 20.0
"""How long a transaction that meets others, or loses its server, is tried again."""
DURABLE = WriteConcern("majority", j=True)
QUICK = WriteConcern(1)
"""For reports that are repeated soon anyway."""
COMMITTED = ReadConcern("majority")
SNAPSHOT = ReadConcern("snapshot")

log = logging.getLogger(__name__)


def connect(uri: str, selection_ms: int = SELECTION_MS) -> Client:
    """A client; nothing is sent before its first use. Raises StoreError where `uri` is none."""
    login = login_of(uri)
    named: dict[str, Any] = {} if login is None else {"username": login.user, "password": login.password}
    with translated_errors():
        client: Client = AsyncIOMotorClient(
            # as plain text: the driver stores what it is given
            str(uri),
            serverSelectionTimeoutMS=selection_ms,
            connectTimeoutMS=2_000,
            retryReads=True,
            retryWrites=True,
            **named,
        )
    return client


def database_of(client: Client, name: str) -> Database:
    """Writes are acknowledged once journaled by a majority, and reads see no other."""
    return client.get_database(name, write_concern=DURABLE, read_concern=COMMITTED)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate the driver's errors into StoreError, or StoreUnavailableError where a retry may help."""
    try:
        yield
    except ConnectionFailure as error:
        raise StoreUnavailableError(f"MongoDB is not reachable: {first_sentence(error)}") from error
    except ConfigurationError as error:
        raise StoreError(f"Not a MongoDB address: {error}") from error
    except PyMongoError as error:
        if is_passing(error):
            raise StoreUnavailableError(f"MongoDB is busy: {first_sentence(error)}") from error
        raise StoreError(f"MongoDB rejected the request: {first_sentence(error)}") from error
    except BSONError as error:
        raise StoreError(f"MongoDB cannot store this value: {error}") from error


def is_passing(error: PyMongoError) -> bool:
    """Whether the same call may succeed in a moment."""
    labels = ("TransientTransactionError", "UnknownTransactionCommitResult", "RetryableWriteError")
    return isinstance(error, ConnectionFailure) or any(error.has_error_label(label) for label in labels)


def first_sentence(error: PyMongoError) -> str:
    """Without the driver's dump of its whole topology."""
    text = str(error)
    for mark in (" (configured timeouts", ", Timeout:", ", full error:"):
        text = text.partition(mark)[0]
    return text


async def check_reachable(uri: str) -> None:
    """Return once a primary answers. Raises StoreUnavailableError within 3 s, StoreError where `uri` is no address."""
    client = connect(uri, REACH_MS)
    try:
        with translated_errors():
            hello = await client.admin.command("hello")
    finally:
        client.close()
    if not hello.get("setName"):
        raise StoreError(
            "MongoDB must be a replica set, of one node at least: transactions and change streams need it."
        )


async def in_transaction(client: Client, step: Callable[[Session], Awaitable[Result]]) -> Result:
    """What `step` returns, once its transaction is committed; it runs again where another one came between.

    Raises the driver's error where it never succeeds, also where it is unknown whether the last commit came through.
    """
    deadline = wall_now() + int(TRANSACTION_SECONDS * MICROSECONDS)
    delays = backoff(first=0.002, longest=0.25)
    async with await client.start_session() as session:
        while True:
            try:
                async with session.start_transaction(read_concern=SNAPSHOT, write_concern=DURABLE):
                    result = await step(session)
            except PyMongoError as error:
                if not error.has_error_label("TransientTransactionError") or wall_now() > deadline:
                    raise
                log.debug("transaction conflict, retried", extra={"error": first_sentence(error)})
            else:
                return result
            await SystemClock().sleep(next(delays))
