"""Three real mongods on loopback, one for each of three regions, in one replica set."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime.clock import SystemClock
from runtime.logins import Address
from store.errors import StoreError
from store.mongo.store import MongoTradeStore
from store.server.client import Listener, connect, database_of, read_nearby
from store.server.database_users import DatabaseUser
from store.server.deciding_region import Standpoint, connect_watched
from store.server.embedded_mongod import OPTIONS, EmbeddedMongod
from store.server.replica_set import ReplicaSet, regional_set
from store.server.system_client import system_client
from streams.broker.embedded_broker import free_ports
from tests.service_process import ServiceProcess
from tests.services import LOGIN, MONGODB_KEY, START_SECONDS

REGIONS = ("us", "eu", "jp")
DATABASE = "regions"
SESSION = "session-1"
QUICK_MS = 2_000
"""Election timeout if it does not matter who is primary, and when; a new set waits for its first one as long."""
CALM_MS = 10_000
"""Where nobody but a killed member shall lose the role: a busy machine silences a member for seconds."""


class RegionalMongods:
    """One start of them, each on a port of this start."""

    def __init__(self, home: Path, regions: tuple[str, ...], election_ms: int, options: tuple[str, ...]) -> None:
        ports = free_ports(len(regions))
        self.replica_set: ReplicaSet = regional_set(
            {region: f"127.0.0.1:{port}" for region, port in zip(regions, ports, strict=True)}, election_ms
        )
        self.members = {
            region: EmbeddedMongod(
                home / region,
                port,
                options,
                key=MONGODB_KEY,
                users=(DatabaseUser(LOGIN, DATABASE, None),),
                replica_set=self.replica_set,
            )
            for region, port in zip(regions, ports, strict=True)
        }
        self.processes: dict[str, ServiceProcess] = {}

    def start(self) -> None:
        for region, member in self.members.items():
            try:
                member.prepare()
            except StoreError as reason:
                pytest.skip(str(reason))
            process = ServiceProcess(member.command(), Address(member.uri, LOGIN), member.folder / "mongod.out")
            self.processes[region] = process
            process.start()

    def stop(self) -> None:
        # at once: a primary that stops waits for others that take its role
        with ThreadPoolExecutor(len(REGIONS)) as threads:
            list(threads.map(ServiceProcess.stop, self.processes.values()))

    async def wait_ready(self) -> None:
        """As the starts of all regions do at the same time."""
        await asyncio.gather(*(member.wait_ready(START_SECONDS) for member in self.members.values()))

    def store(
        self, region: str, listeners: Sequence[Listener] = (), kind: type[MongoTradeStore] = MongoTradeStore
    ) -> MongoTradeStore:
        """Return the store of a process in that region."""
        client, watch = connect_watched(Address(self.replica_set.uri, LOGIN), listeners)
        return kind(client, DATABASE, SESSION, Standpoint(region, watch))

    async def read_from(self, region: str) -> str:
        """Return the address of the member that a process in that region reads nearby from."""
        client = connect(Address(self.replica_set.uri, LOGIN))
        try:
            await client.admin.command("ping")
            while len(client.delegate.nodes) < len(self.members):
                await SystemClock().sleep(0.01)
            nearby = read_nearby(database_of(client, DATABASE), region)
            return str((await nearby.command("hello", read_preference=nearby.read_preference))["me"])
        finally:
            client.close()

    async def configuration(self, region: str) -> dict[str, Any]:
        """As that region's member knows it."""
        client = system_client(self.members[region].address, "directConnection=true", MONGODB_KEY)
        try:
            config: dict[str, Any] = (await client.admin.command("replSetGetConfig"))["config"]
            # counts elections, if there is one
            config.pop("term", None)
        finally:
            client.close()
        return config


@contextmanager
def regional_mongods(
    home: Path, regions: tuple[str, ...] = REGIONS, election_ms: int = QUICK_MS, options: tuple[str, ...] = OPTIONS
) -> Iterator[RegionalMongods]:
    """Yield started mongods, and stop them at the end; the caller awaits `wait_ready`. `options`: as of
    `EmbeddedMongod`."""
    mongods = RegionalMongods(home, regions, election_ms, options)
    try:
        mongods.start()
        yield mongods
    finally:
        mongods.stop()
