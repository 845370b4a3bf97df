"""Real services for tests, started once a session; a test that needs an absent one skips with its reason."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from launch.errors import CannotStartError
from launch.home import home_folder
from launch.jars import broker_classpath
from launch.prerequisites import checked_java
from store.embedded_mongod import OPTIONS, EmbeddedMongod, prepare
from store.errors import StoreError
from streams.embedded_broker import EmbeddedBroker, free_ports, wait_ready
from tests.service_process import ServiceProcess

START_SECONDS = 60.0


@contextmanager
def kafka_process(home: Path) -> Iterator[ServiceProcess]:
    """A started broker with its data below `home`, stopped at the end; the caller awaits `wait_ready`."""
    port, controller_port = free_ports(2)
    try:
        broker = EmbeddedBroker(home, broker_classpath(home_folder()), port, controller_port, checked_java())
    except CannotStartError as reason:
        pytest.skip(str(reason))
    broker.prepare()
    process = ServiceProcess(broker.command(), broker.address, broker.folder / "broker.out")
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


@contextmanager
def mongod_process(home: Path, options: tuple[str, ...] = OPTIONS) -> Iterator[ServiceProcess]:
    """A started mongod with its data below `home`, stopped at the end; the caller awaits `wait_primary`.

    Its address is the replica set's URI.
    """
    (port,) = free_ports(1)
    mongod = EmbeddedMongod(home, port, options)
    try:
        mongod.prepare()
    except StoreError as reason:
        pytest.skip(str(reason))
    process = ServiceProcess(mongod.command(), mongod.uri, mongod.folder / "mongod.out")
    try:
        process.start()
        yield process
    finally:
        process.stop()


async def wait_primary(process: ServiceProcess) -> None:
    """Return once a mongod takes writes. Raises StoreUnavailableError after a minute."""
    await prepare(urlsplit(process.address).netloc, START_SECONDS)


@contextmanager
def embedded_mongodb(home: Path) -> Iterator[ServiceProcess]:
    """As `mongod_process`, and primary; for fixtures that run outside an event loop."""
    with mongod_process(home) as process:
        asyncio.run(wait_primary(process))
        yield process
