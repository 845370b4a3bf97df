"""Real services for tests, started once a session; a test that needs an absent one skips with its reason."""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from confluent_kafka import OFFSET_END, TopicPartition
from confluent_kafka.admin import AdminClient

from launch.errors import CannotStartError
from launch.setup.data_dir import home_folder, write_atomically
from launch.setup.jars import broker_classpath
from launch.setup.login_files import write_logins
from launch.setup.login_rights import ROLES, SUPERVISOR
from launch.setup.prerequisites import checked_java
from runtime.logins import Address, Login, login_of
from session.session import Session
from store.errors import StoreError
from store.server.embedded_mongod import OPTIONS, EmbeddedMongod, new_key, prepare
from store.server.replica_set import REPLICA_SET
from store.server.system_client import system_client
from streams.broker.embedded_broker import EmbeddedBroker, free_ports, wait_ready
from streams.topic_admin import client_settings
from tests.service_process import ServiceProcess

START_SECONDS = 60.0
LOGIN = Login("tests", secrets.token_urlsafe(16))
"""Login to every service that tests start; it may do everything."""
MONGODB_KEY = new_key()


def note_session(session: Session) -> None:
    """For processes of any role: what the session's supervisor would leave for them, with the logins of ours."""
    write_atomically(session.home / "run.json", session.to_json())
    for role in (SUPERVISOR, *ROLES):
        write_logins(session.home, role, login_of(session.services.kafka), login_of(session.services.mongodb))


@contextmanager
def kafka_process(home: Path, region_address: str | None = None) -> Iterator[ServiceProcess]:
    """Return a started broker with its data below `home`, stopped at the end; the caller awaits `wait_ready`."""
    port, controller_port = free_ports(2)
    try:
        jars = broker_classpath(home_folder())
        java = checked_java()
        broker = EmbeddedBroker(home, jars, port, controller_port, LOGIN, "controller", java, region_address)
    except CannotStartError as reason:
        pytest.skip(str(reason))
    broker.prepare()
    process = ServiceProcess(broker.command(), Address(broker.address, LOGIN), broker.folder / "broker.out")
    try:
        process.start()
        yield process
    finally:
        process.stop()


@contextmanager
def embedded_kafka(home: Path) -> Iterator[ServiceProcess]:
    """As `kafka_process`, and ready; for fixtures that run outside an event loop."""
    with kafka_process(home) as process:
        asyncio.run(wait_ready(process.address, START_SECONDS))
        yield process


def empty_topics(address: str) -> None:
    """Delete the rows of all topics: who shares a broker begins as on a new one, whoever used it before."""
    client = AdminClient(client_settings(address))
    known = client.list_topics(timeout=START_SECONDS).topics.values()
    ends = [
        TopicPartition(each.topic, partition, OFFSET_END)
        for each in known
        if each.topic is not None and not each.topic.startswith("__")
        for partition in each.partitions
    ]
    for emptied in client.delete_records(ends).values():
        emptied.result(START_SECONDS)


@contextmanager
def mongod_process(home: Path, options: tuple[str, ...] = OPTIONS) -> Iterator[ServiceProcess]:
    """Return a started mongod with its data below `home`, stopped at the end; the caller awaits `wait_primary`.

    Its address is the replica set's URI.
    """
    (port,) = free_ports(1)
    mongod = EmbeddedMongod(home, port, options, MONGODB_KEY)
    try:
        mongod.prepare()
    except StoreError as reason:
        pytest.skip(str(reason))
    process = ServiceProcess(mongod.command(), Address(mongod.uri, LOGIN), mongod.folder / "mongod.out")
    try:
        process.start()
        yield process
    finally:
        process.stop()


async def wait_primary(process: ServiceProcess) -> None:
    """Return once a mongod takes writes. Raises StoreUnavailableError after a minute."""
    place = urlsplit(process.address).netloc
    await prepare(place, MONGODB_KEY, (), START_SECONDS)
    client = system_client(place, f"replicaSet={REPLICA_SET}", MONGODB_KEY)
    try:
        if not (await client.admin.command("usersInfo", LOGIN.user))["users"]:
            await client.admin.command("createUser", LOGIN.user, pwd=LOGIN.password, roles=["root"])
    finally:
        client.close()


@contextmanager
def embedded_mongodb(home: Path) -> Iterator[ServiceProcess]:
    """As `mongod_process`, and primary; for fixtures that run outside an event loop."""
    with mongod_process(home) as process:
        asyncio.run(wait_primary(process))
        yield process
