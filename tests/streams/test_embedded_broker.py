"""The embedded broker as a process."""

import socket
from pathlib import Path

import pytest

from launch.errors import CannotStartError
from launch.setup.data_dir import home_folder
from launch.setup.jars import broker_classpath
from runtime.clock import wall_now
from runtime.logins import Login
from streams.broker.embedded_broker import (
    ASIDE_DAYS,
    DAY,
    JVM_FLAGS,
    EmbeddedBroker,
    drop_old_asides,
    free_ports,
    server_properties,
    wait_ready,
)
from streams.errors import StreamRejectedError, StreamUnavailableError
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import TICKS
from tests.java_options import java_starts_without
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


def test_a_regions_broker_listens_at_the_regions_address_too() -> None:
    text = server_properties(Path("data"), 1, 2, LOGIN, "x", "10.0.0.7:3")
    properties = dict(line.split("=", 1) for line in text.splitlines())
    plain = dict(line.split("=", 1) for line in server_properties(Path("data"), 1, 2, LOGIN, "x").splitlines())
    changed = {name: value for name, value in properties.items() if plain.get(name) != value}
    jaas = changed.pop("listener.name.region.scram-sha-256.sasl.jaas.config")
    assert jaas == plain["listener.name.client.scram-sha-256.sasl.jaas.config"]
    assert changed == {
        "listeners": "CLIENT://127.0.0.1:1,REGION://10.0.0.7:3,CONTROLLER://127.0.0.1:2",
        "advertised.listeners": "CLIENT://127.0.0.1:1,REGION://10.0.0.7:3",
        "listener.security.protocol.map": ("CLIENT:SASL_PLAINTEXT,REGION:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"),
    }


def test_a_java_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path, "nothing.jar", 1, 2, LOGIN, "controller", java=str(tmp_path / "java"))
    with pytest.raises(StreamRejectedError, match="cannot be run"):
        broker.prepare()


def test_another_java_starts_with_options_that_it_does_not_know() -> None:
    java_starts_without("ArchiveRelocationMode", JVM_FLAGS)


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


def test_logs_that_were_put_aside_go_once_nothing_in_them_would_be_kept(tmp_path: Path) -> None:
    now = wall_now()
    old, new, others = (tmp_path / name for name in (f"kafka-{now - ASIDE_DAYS * DAY}", f"kafka-{now}", "kafka-mine"))
    for folder in (old, new, others):
        (folder / "log").mkdir(parents=True)
    drop_old_asides(tmp_path, now)
    assert [folder.exists() for folder in (old, new, others)] == [False, True, True]


def test_a_log_that_does_not_know_its_owner_is_put_aside(tmp_path: Path) -> None:
    def prepared(owner: Login) -> Path | None:
        jars = broker_classpath(home_folder())
        return EmbeddedBroker(tmp_path, jars, 1, 2, owner, "controller").prepare()

    try:
        assert prepared(LOGIN) is None
    except CannotStartError as reason:
        pytest.skip(str(reason))
    assert prepared(LOGIN) is None
    (tmp_path / "kafka" / "owner").unlink()
    aside = prepared(LOGIN)
    assert aside is not None
    assert (aside / "log" / "meta.properties").exists()
    assert (tmp_path / "kafka" / "log" / "meta.properties").exists()
    assert LOGIN.password not in (tmp_path / "kafka" / "java.arguments").read_text()
    assert not (tmp_path / "kafka" / "format.arguments").exists()
    assert (tmp_path / "kafka" / "server.properties").stat().st_mode & 0o777 == 0o600
