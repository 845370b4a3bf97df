"""Real services for tests, started once a session; a test that needs an absent one skips with its reason."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from launch.errors import CannotStartError
from launch.home import home_folder
from launch.jars import broker_classpath
from launch.prerequisites import checked_java
from store.embedded_mongod import OPTIONS, EmbeddedMongod, MongodProcess, mongod_program, running_mongod
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
def mongod_process(home: Path, options: tuple[str, ...] = OPTIONS) -> Iterator[MongodProcess]:
    """A started mongod with its data below `home`, stopped at the end; the caller awaits `wait_ready`."""
    try:
        mongod_program()
    except StoreError as reason:
        pytest.skip(str(reason))
    (port,) = free_ports(1)
    with running_mongod(EmbeddedMongod(home, port, options)) as process:
        yield process


@contextmanager
def embedded_mongodb(home: Path) -> Iterator[MongodProcess]:
    """As `mongod_process`, and primary; for fixtures that run outside an event loop."""
    with mongod_process(home) as process:
        asyncio.run(process.mongod.wait_ready(START_SECONDS))
        yield process
