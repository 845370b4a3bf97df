"""The MongoDB driver: connecting, retrying and translating its errors."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from bson.errors import BSONError
from motor.motor_asyncio import AsyncIOMotorClient, AsyncIOMotorClientSession, AsyncIOMotorDatabase
from pymongo.database import Database as PyMongoDatabase
from pymongo.errors import ConfigurationError, ConnectionFailure, OperationFailure, PyMongoError
from pymongo.monitoring import CommandListener, TopologyListener
from pymongo.read_concern import ReadConcern
from pymongo.read_preferences import Nearest
from pymongo.write_concern import WriteConcern

from runtime.logins import login_of
from store.errors import LoginRefusedError, StoreError, StoreUnavailableError

Document = dict[str, object]
Moment = AsyncIOMotorClientSession
"""A session of the driver whose reads are all of one moment."""
Client = AsyncIOMotorClient[Document]
Database = AsyncIOMotorDatabase[Document]
BlockingDatabase = PyMongoDatabase[Document]
"""The same database for a thread that may wait."""

REGION = "region"
"""Tag of each member of a replica set across regions, by which a client finds the one beside it."""
SELECTION_MS = 15_000
"""How long one call waits for a primary: a killed mongod is back within it."""
REACH_MS = 2_500
DURABLE = WriteConcern("majority", j=True)
AS_CONFIGURED = WriteConcern("majority")
"""In a replica set of ours: its configuration says whether journals are waited for."""
KEY_NOT_FOUND = 211
"""A member that has just started has not read yet what it checks cluster times with (mongodb.com, "Error Codes")."""
SNAPSHOT_TOO_OLD, SNAPSHOT_UNAVAILABLE = 239, 246
"""The next snapshot is of a later moment (mongodb.com, "Error Codes")."""
LOGIN_REFUSED = 18
"""By whatever mechanism it was (mongodb.com, "Error Codes")."""
QUICK = WriteConcern(1)
"""For reports that are repeated soon anyway."""
COMMITTED = ReadConcern("majority")
SNAPSHOT = ReadConcern("snapshot")
STREAMED = 200
"""Documents of one answer if many are read one by one. By itself MongoDB sends up to 16 MB at once, of which the driver
makes ten times as much memory before the first one is seen."""
Listener = TopologyListener | CommandListener


def connect(uri: str, selection_ms: int = SELECTION_MS, listeners: Sequence[Listener] = ()) -> Client:
    """Return a client; nothing is sent before its first use. `listeners` hear of primaries, or of each command.

    Raises StoreError if `uri` is none.
    """
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
            # a server that is alone has nothing to tell, and whoever waits for one asks; else each client has two more
            # connections, with a thread at either end
            serverMonitoringMode="auto" if listeners else "poll",
            event_listeners=listeners,
            **named,
        )
    return client


def database_of(client: Client, name: str, durable: WriteConcern = DURABLE) -> Database:
    """Return a database whose writes are acknowledged once journaled by a majority, and whose reads see no other."""
    return client.get_database(name, write_concern=durable, read_concern=COMMITTED)


def read_nearby(database: Database, region: str) -> Database:
    """`database` for reads and change streams that may lag: from the member in `region`, else from the nearest one that
    answers. Also they see only what a majority has. A stream stays with the member that it was opened at."""
    local = Nearest(tag_sets=[{REGION: region}, {}])
    return database.with_options(read_preference=local)


def blocking(database: Database) -> BlockingDatabase:
    """Return the driver's own database behind `database`, with the same connections and concerns."""
    own: BlockingDatabase = database.delegate
    return own


@asynccontextmanager
async def one_moment(database: Database) -> AsyncIterator[Moment]:
    """Read that are given it see what was committed at the first of them (mongodb.com, "Read Concern snapshot")."""
    with translated_errors():
        session = await database.client.start_session(snapshot=True)
    async with session:
        yield session


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate the driver's errors into StoreError, or StoreUnavailableError if a retry may help; LoginRefusedError
    if nothing helps but another login."""
    try:
        yield
    except ConnectionFailure as error:
        raise StoreUnavailableError(f"MongoDB is not reachable: {first_sentence(error)}") from error
    except ConfigurationError as error:
        raise StoreError(f"Not a MongoDB address: {error}") from error
    except PyMongoError as error:
        if is_passing(error):
            raise StoreUnavailableError(f"MongoDB is busy: {first_sentence(error)}") from error
        if isinstance(error, OperationFailure) and error.code == LOGIN_REFUSED:
            reason = first_sentence(error).rstrip(".")
            raise LoginRefusedError(
                f"MongoDB refused the login ({reason}); check its user and password, or certificate."
            ) from error
        raise StoreError(f"MongoDB rejected the request: {first_sentence(error)}") from error
    except BSONError as error:
        raise StoreError(f"MongoDB cannot store this value: {error}") from error


def is_passing(error: PyMongoError) -> bool:
    """Whether the same call may succeed in a moment."""
    labels = ("TransientTransactionError", "UnknownTransactionCommitResult", "RetryableWriteError")
    if isinstance(error, ConnectionFailure) or any(error.has_error_label(label) for label in labels):
        return True
    return isinstance(error, OperationFailure) and error.code in (
        KEY_NOT_FOUND,
        SNAPSHOT_TOO_OLD,
        SNAPSHOT_UNAVAILABLE,
    )


def first_sentence(error: PyMongoError) -> str:
    """Without the driver's dump of its whole topology."""
    text = str(error)
    for mark in (" (configured timeouts", ", Timeout:", ", full error:"):
        text = text.partition(mark)[0]
    return text


async def check_reachable(uri: str) -> None:
    """Return once a primary answers. Raises StoreUnavailableError within 3 s, StoreError if `uri` is no address."""
    client = connect(uri, REACH_MS)
    try:
        with translated_errors():
            hello = await client.admin.command("hello")
    except StoreUnavailableError as error:
        raise StoreUnavailableError(f"{error}{_advice(uri, str(error))}") from error
    finally:
        client.close()
    if not hello.get("setName"):
        raise StoreError(
            "MongoDB must be a replica set, of one node at least: transactions and change streams need it."
        )


def _advice(uri: str, reason: str) -> str:
    """As the end of a sentence, if the reason has to do with TLS."""
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        return "; its certificate must be valid today, for this host, and signed by the authority in mongodb_ca."
    if "connection closed" in reason and "tls=true" not in uri:
        return "; if it asks for TLS, set mongodb_ca."
    return ""
