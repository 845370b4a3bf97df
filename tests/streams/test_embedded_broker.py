"""The embedded broker as a process."""

import socket
from pathlib import Path

import pytest

from streams.admin import ensure_topics
from streams.embedded_broker import EmbeddedBroker, free_ports, server_properties, wait_ready
from streams.errors import StreamRefusedError, StreamUnavailableError
from streams.reader import TopicReader
from streams.topics import TICKS
from streams.writer import TopicWriter
from tests.services import LOGIN, START_SECONDS, kafka_process


def test_free_ports_differ_and_can_be_bound() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", port))


def test_it_binds_to_loopback_alone() -> None:
    properties = dict(line.split("=", 1) for line in server_properties(Path("data"), 1, 2, LOGIN, "x").splitlines())
    listeners = properties["listeners"] + "," + properties["advertised.listeners"]
    assert {listener.split("//")[1].split(":")[0] for listener in listeners.split(",")} == {"127.0.0.1"}


def test_a_java_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path, "nothing.jar", 1, 2, LOGIN, "controller", java=str(tmp_path / "java"))
    with pytest.raises(StreamRefusedError, match="cannot be run"):
        broker.prepare()


async def test_waiting_for_a_broker_ends_at_its_deadline() -> None:
    with pytest.raises(StreamUnavailableError, match="connection refused"):
        await wait_ready("127.0.0.1:9", 0.2)


async def test_data_outlives_a_stop_and_a_change_of_ports(tmp_path: Path) -> None:
    # in a folder whose name needs quoting on the way to Java
    home = tmp_path / 'with space and "quotes"'
    home.mkdir()
    for written in range(2):
        with kafka_process(home) as process:
            await wait_ready(process.address, START_SECONDS)
            await ensure_topics(process.address, 1)
            async with TopicReader(process.address, (TICKS,), "earliest") as reader:
                assert len([record async for record in reader.records_to_end()]) == written
            writer = TopicWriter(process.address)
            writer.write(TICKS, b"{}", "BTC", 0)
            # a broker's first seconds are slow; closing alone would give up after one and a half
            await writer.flush(START_SECONDS)
            await writer.close()
    assert "ERROR" not in (home / "kafka" / "broker.out").read_text()
