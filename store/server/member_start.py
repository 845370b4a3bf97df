"""The start of one member of a replica set with a member per region: the set is made once, whoever is called first."""

import logging
from collections.abc import Sequence

from motor.motor_asyncio import AsyncIOMotorClient
from pymongo.errors import OperationFailure, PyMongoError

from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now
from store.errors import StoreError, StoreUnavailableError
from store.server.client import Document, first_sentence
from store.server.database_users import DatabaseUser, set_users
from store.server.replica_set import ReplicaSet
from store.server.system_client import NOT_YET_INITIALIZED, system_client

POLL_SECONDS = 0.2
INVALID_CONFIGURATION = 93

log = logging.getLogger(__name__)


async def prepare_member(
    wanted: ReplicaSet,
    address: str,
    key: str,
    users: tuple[DatabaseUser, ...],
    seconds: float,
    options: Sequence[str] = (),
) -> None:
    """Return once the member at `address` follows a primary, or is it, and the set is as `wanted` with these users.

    Every member's start calls it; a call changes only what is not there yet. The first member initiates the set, for
    which MongoDB asks all of them: the first start needs each one, later ones a majority. Where the addresses have
    changed, the first member brings the new ones to the others. `options`: of its address, as "tls=true".

    Raises StoreUnavailableError after `seconds`, StoreError if the data is of other regions.
    """
    deadline = steady_now() + int(seconds * MICROSECONDS)
    reason = "there is no primary yet"
    while True:
        # a new client each time: one that met the node before it was in a set has no sessions
        client = system_client(address, "&".join(("directConnection=true", *options)), key)
        try:
            if await _is_member(client, wanted, address, users):
                return
        except PyMongoError as error:
            if isinstance(error, OperationFailure) and error.code == INVALID_CONFIGURATION:
                raise StoreError(f"MongoDB at {address} cannot be in this replica set: {error}") from error
            reason = first_sentence(error)
            log.debug("member is not ready yet", extra={"address": address, "error": reason})
        finally:
            client.close()
        if steady_now() >= deadline:
            raise StoreUnavailableError(f"MongoDB at {address} was not ready within {seconds:.0f} s: {reason}")
        await SystemClock().sleep(POLL_SECONDS)


async def _is_member(
    client: AsyncIOMotorClient[Document], wanted: ReplicaSet, address: str, users: tuple[DatabaseUser, ...]
) -> bool:
    """One step towards it. Raises the driver's errors, StoreError."""
    hello = await client.admin.command("hello")
    if not hello.get("setName"):
        if address == wanted.members[0].address:
            await _bring(client, wanted)
        return False
    if hello.get("isWritablePrimary"):
        await _change(client, wanted, force=False)
        await set_users(client, users)
        return True
    if not hello.get("secondary") or not hello.get("primary"):
        return False
    known = (await client.admin.command("usersInfo", {"forAllDBs": True}))["users"]
    return {user.login.user for user in users} <= {one["user"] for one in known}


async def _bring(client: AsyncIOMotorClient[Document], wanted: ReplicaSet) -> None:
    """Make the set, or bring it to new addresses: a node that is not in its own configuration serves nobody."""
    try:
        # by force, since without known addresses there is no primary to ask; who has fewer writes is not elected
        await _change(client, wanted, force=True)
    except OperationFailure as error:
        if error.code != NOT_YET_INITIALIZED:
            raise
        await client.admin.command("replSetInitiate", wanted.configuration())


async def _change(client: AsyncIOMotorClient[Document], wanted: ReplicaSet, *, force: bool) -> None:
    known = (await client.admin.command("replSetGetConfig"))["config"]
    changed = wanted.updated(known)
    if changed is not None:
        await client.admin.command("replSetReconfig", changed, force=force)
